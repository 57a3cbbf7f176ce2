//! What a store's refusal means: the kind by HTTP status and S3 error code, the message by what helps. Texts of
//! answers may repeat a session token, so only code and message of an answer are kept, and no cause behind them.

use object_store::Error as StoreError;

use crate::error::{Error, ErrorKind};
use crate::storage::Location;
use crate::storage::failure::{kind_of, root_cause};

const REASON_LENGTH_MAX: usize = 300;
/// How the client's texts introduce the status and the code of a single deletion.
const STATUS: &str = "status code: ";
const DELETE_CODE: &str = "(code: ";

/// The error of `action` on a location in S3.
pub(in crate::storage) fn s3_error(
    error: &StoreError,
    action: &'static str,
    location: &Location,
) -> Error {
    let text = root_cause(error);
    let answer = Answer::parse(&text);
    let kind = match error {
        StoreError::Generic { .. } => answer.kind().unwrap_or_else(|| kind_of(error)),
        _ => kind_of(error),
    };
    let message = match kind {
        ErrorKind::NotFound if answer.code == Some("NoSuchBucket") => format!(
            "the bucket s3://{} does not exist",
            location.bucket().unwrap_or_default()
        ),
        ErrorKind::NotFound => format!("{location} does not exist"),
        ErrorKind::AlreadyExists => format!("{location} exists already"),
        _ => format!("cannot {action} {location}: {}", answer.reason(&text)),
    };
    Error::new(kind, message)
}

/// What can be told from the text of an error.
struct Answer<'t> {
    status: Option<u16>,
    code: Option<&'t str>,
    message: Option<&'t str>,
    redirect: bool,
}

impl<'t> Answer<'t> {
    fn parse(text: &'t str) -> Answer<'t> {
        let status = between(text, STATUS, " ").or_else(|| between(text, STATUS, ":"));
        let status = status.and_then(|digits| digits.parse().ok());
        Answer {
            status,
            code: between(text, "<Code>", "</Code>").or_else(|| between(text, DELETE_CODE, ")")),
            message: between(text, "<Message>", "</Message>"),
            redirect: text.contains("redirect without LOCATION"),
        }
    }

    fn kind(&self) -> Option<ErrorKind> {
        if self.redirect {
            return Some(ErrorKind::InvalidInput);
        }
        let Some(code) = self.code else {
            return self.kind_by_status();
        };
        let by_code = match code {
            "AccessDenied"
            | "ExpiredToken"
            | "InvalidToken"
            | "InvalidAccessKeyId"
            | "SignatureDoesNotMatch" => ErrorKind::PermissionDenied,
            "NoSuchBucket" | "NoSuchKey" => ErrorKind::NotFound,
            "NotImplemented" => ErrorKind::Unsupported,
            "RequestTimeout" | "InternalError" | "SlowDown" | "ServiceUnavailable" => {
                ErrorKind::Unavailable
            }
            _ => return self.kind_by_status(),
        };
        Some(by_code)
    }

    fn kind_by_status(&self) -> Option<ErrorKind> {
        Some(match self.status? {
            401 | 403 => ErrorKind::PermissionDenied,
            404 => ErrorKind::NotFound,
            405 | 501 => ErrorKind::Unsupported,
            409 | 412 => ErrorKind::Conflict,
            // A range beyond the end is told apart by the size of the file.
            408 | 416 | 429 | 500..=599 => ErrorKind::Unavailable,
            301 | 302 | 307 | 308 | 400..=499 => ErrorKind::InvalidInput,
            _ => return None,
        })
    }

    fn reason(&self, text: &str) -> String {
        if self.redirect || matches!(self.status, Some(301 | 302 | 307 | 308)) {
            return "the bucket lies in another region; give client.region".to_string();
        }
        let reason = match (self.status, self.code, self.message) {
            (_, Some(code), Some(message)) => format!("{code}: {message}"),
            (_, Some(code), None) => format!("the store answers {code}"),
            (Some(status), None, _) => format!("the store answers with status {status}"),
            (None, None, _) => text.to_string(),
        };
        match reason.char_indices().nth(REASON_LENGTH_MAX) {
            Some((end, _)) => format!("{}..", reason.get(..end).unwrap_or_default()),
            None => reason,
        }
    }
}

fn between<'t>(text: &'t str, start: &str, end: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(start)?;
    rest.split_once(end).map(|(found, _)| found)
}
