//! Requests to the server: the token, the headers, the bounded answer, and what a refusal means. Redirects are not
//! followed, since they would carry the token elsewhere. Tokens and credentials are in no error.

use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use reqwest::{Method, StatusCode};
use serde::de::DeserializeOwned;
use tokio::sync::Mutex;

use super::model::{Failure, Token};
use super::options::{Login, RestOptions};
use crate::error::{Error, ErrorKind, Result};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);
/// The longest answer: metadata of a table.
const ANSWER_BYTES_MAX: usize = 512 << 20;
const MESSAGE_LENGTH_MAX: usize = 500;
/// How often a request that changes nothing is sent.
const TRIES_MAX: u32 = 4;
const WAIT: Duration = Duration::from_millis(200);
/// Where the server does not say how long a token lives.
const TOKEN_LIFE: Duration = Duration::from_secs(3600);
/// Which part of its life a token is used for, in percent.
const TOKEN_USE: u32 = 80;

/// A client of one server.
pub(super) struct Http {
    client: reqwest::Client,
    options: RestOptions,
    token: Mutex<Option<LivingToken>>,
}

#[derive(Clone)]
struct LivingToken {
    text: String,
    until: Instant,
}

/// One request.
pub(super) struct Request<'r> {
    pub(super) method: Method,
    /// Below the address of the server, encoded.
    pub(super) path: &'r str,
    pub(super) query: &'r [(&'r str, &'r str)],
    pub(super) body: Option<Vec<u8>>,
    /// What is asked for, for errors.
    pub(super) what: &'r str,
}

/// What the server answered.
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) body: Bytes,
}

impl Http {
    pub(super) fn new(options: RestOptions) -> Result<Http> {
        let client = reqwest::Client::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .timeout(REQUEST_TIMEOUT)
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .map_err(|error| Error::internal(format!("cannot make an HTTP client: {error}")))?;
        Ok(Http {
            client,
            options,
            token: Mutex::new(None),
        })
    }

    pub(super) fn options(&self) -> &RestOptions {
        &self.options
    }

    /// The answer as JSON; a refusal as an error.
    pub(super) async fn json<T: DeserializeOwned>(&self, request: Request<'_>) -> Result<T> {
        let what = request.what;
        let answer = self.send(request).await?;
        serde_json::from_slice(&answer.body).map_err(|error| {
            Error::corrupt(format!(
                "the catalog's answer about {what} is damaged: {error}"
            ))
        })
    }

    /// The answer of a request that went well. What only reads is sent again where the server does not answer.
    pub(super) async fn send(&self, request: Request<'_>) -> Result<Answer> {
        let tries = match request.method {
            Method::GET | Method::HEAD => TRIES_MAX,
            _ => 1,
        };
        let mut renewed = false;
        let mut attempt = 1;
        loop {
            let answer = self.once(&request).await;
            match answer {
                Ok(answer) if answer.status.is_success() => return Ok(answer),
                // A token may have been withdrawn before its time.
                Ok(answer) if is_stale(answer.status) && !renewed && self.can_renew() => {
                    renewed = true;
                    *self.token.lock().await = None;
                }
                Ok(answer) => {
                    let error = refusal(answer.status, &answer.body, request.what);
                    if !error.is_retryable() || attempt >= tries {
                        return Err(error);
                    }
                    attempt += 1;
                    tokio::time::sleep(WAIT * attempt).await;
                }
                Err(error) if attempt >= tries || !error.is_retryable() => return Err(error),
                Err(_) => {
                    attempt += 1;
                    tokio::time::sleep(WAIT * attempt).await;
                }
            }
        }
    }

    async fn once(&self, request: &Request<'_>) -> Result<Answer> {
        let url = format!("{}/{}", self.options.uri, request.path);
        let mut builder = self.client.request(request.method.clone(), url);
        if !request.query.is_empty() {
            builder = builder.query(request.query);
        }
        for (name, value) in &self.options.headers {
            builder = builder.header(name, value);
        }
        if let Some(token) = self.token().await? {
            builder = builder.bearer_auth(token);
        }
        if let Some(body) = &request.body {
            builder = builder
                .header("content-type", "application/json")
                .body(body.clone());
        }
        builder = builder
            .header("accept", "application/json")
            .header("x-iceberg-access-delegation", "vended-credentials");
        read(builder, request.what).await
    }

    fn can_renew(&self) -> bool {
        matches!(self.options.login, Login::Credential { .. })
    }

    async fn token(&self) -> Result<Option<String>> {
        let (id, secret, server, scope) = match &self.options.login {
            Login::Nobody => return Ok(None),
            Login::Token(token) => return Ok(Some(token.clone())),
            Login::Credential {
                id,
                secret,
                server,
                scope,
            } => (id, secret, server, scope),
        };
        let mut held = self.token.lock().await;
        if let Some(token) = held.as_ref().filter(|token| Instant::now() < token.until) {
            return Ok(Some(token.text.clone()));
        }
        let mut form = vec![
            ("grant_type", "client_credentials"),
            ("client_secret", secret.as_str()),
            ("scope", scope.as_str()),
        ];
        if let Some(id) = id {
            form.push(("client_id", id));
        }
        let answer = read(self.client.post(server).form(&form), "a token").await?;
        if !answer.status.is_success() {
            // The answer may repeat what was sent.
            let kind = refusal(answer.status, b"", "a token").kind();
            let kind = match kind {
                ErrorKind::InvalidInput => ErrorKind::PermissionDenied,
                other => other,
            };
            return Err(Error::new(
                kind,
                format!(
                    "the catalog gives no token for the credential (status {})",
                    answer.status.as_u16()
                ),
            ));
        }
        let token: Token = serde_json::from_slice(&answer.body)
            .map_err(|_| Error::corrupt("the catalog's answer with a token is damaged"))?;
        let life = token.expires_in.map_or(TOKEN_LIFE, Duration::from_secs);
        *held = Some(LivingToken {
            text: token.access_token.clone(),
            until: Instant::now() + life / 100 * TOKEN_USE,
        });
        Ok(Some(token.access_token))
    }
}

fn is_stale(status: StatusCode) -> bool {
    status == StatusCode::UNAUTHORIZED || status.as_u16() == 419
}

async fn read(builder: reqwest::RequestBuilder, what: &str) -> Result<Answer> {
    let failed = |error: reqwest::Error| {
        let error = error.without_url();
        let mut cause: &dyn std::error::Error = &error;
        while let Some(next) = cause.source() {
            cause = next;
        }
        Error::unavailable(format!("the catalog does not answer about {what}: {cause}"))
    };
    let mut response = builder.send().await.map_err(failed)?;
    let status = response.status();
    let mut body = BytesMut::new();
    while let Some(chunk) = response.chunk().await.map_err(failed)? {
        if body.len() + chunk.len() > ANSWER_BYTES_MAX {
            return Err(Error::resource_exhausted(format!(
                "the catalog's answer about {what} is longer than {ANSWER_BYTES_MAX} bytes"
            )));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Answer {
        status,
        body: body.freeze(),
    })
}

/// The error that a refusal means.
fn refusal(status: StatusCode, body: &[u8], what: &str) -> Error {
    let detail = serde_json::from_slice::<Failure>(body).map(|failure| failure.error);
    let (kind_name, message) = match detail {
        Ok(detail) => (detail.kind, detail.message),
        Err(_) => (String::new(), String::new()),
    };
    let kind = match (status.as_u16(), kind_name.as_str()) {
        (_, "NamespaceNotEmptyException") => ErrorKind::InvalidInput,
        (_, "CommitFailedException") => ErrorKind::Conflict,
        (_, "CommitStateUnknownException") => ErrorKind::CommitUnknown,
        (_, "AlreadyExistsException") => ErrorKind::AlreadyExists,
        (401 | 403 | 419, _) => ErrorKind::PermissionDenied,
        (404, _) => ErrorKind::NotFound,
        (406 | 405 | 501, _) => ErrorKind::Unsupported,
        (409, _) => ErrorKind::Conflict,
        (408 | 429 | 500..=599, _) => ErrorKind::Unavailable,
        _ => ErrorKind::InvalidInput,
    };
    let mut text = format!("the catalog refuses {what} (status {})", status.as_u16());
    if !message.is_empty() {
        let cut: String = message.chars().take(MESSAGE_LENGTH_MAX).collect();
        let line = cut.lines().next().unwrap_or_default();
        text = format!("{text}: {line}");
    }
    Error::new(kind, text)
}
