//! The properties of a REST catalog, by Iceberg's names. Without `Debug`: they hold secrets.

use std::collections::BTreeMap;

use url::Url;

use crate::error::{Error, Result};

const URI: &str = "uri";
const HEADER: &str = "header.";
/// All but `uri` and headers.
const KNOWN: [&str; 6] = [
    "credential",
    "token",
    "oauth2-server-uri",
    "scope",
    "prefix",
    PAGE_SIZE,
];
const PAGE_SIZE: &str = "rest-page-size";
const SCOPE: &str = "catalog";
/// Headers that this client sets itself.
const RESERVED: [&str; 4] = ["authorization", "host", "content-length", "if-none-match"];

/// How a catalog is reached.
pub(super) struct RestOptions {
    /// Without slash at the end.
    pub(super) uri: String,
    /// What the server calls the warehouse.
    pub(super) warehouse: Option<String>,
    /// Goes before the paths, unless the server names another.
    pub(super) prefix: Option<String>,
    pub(super) login: Login,
    pub(super) headers: Vec<(String, String)>,
    /// How many names one answer shall list; none: the server decides.
    pub(super) page_size: Option<String>,
}

/// How the client proves who it is.
pub(super) enum Login {
    Nobody,
    Token(String),
    /// OAuth2 client credentials.
    Credential {
        id: Option<String>,
        secret: String,
        server: String,
        scope: String,
    },
}

impl RestOptions {
    pub(super) fn new(
        options: &BTreeMap<String, String>,
        warehouse: Option<&str>,
    ) -> Result<RestOptions> {
        let option = |name: &str| options.get(name).filter(|value| !value.is_empty());
        let uri = option(URI).ok_or_else(|| {
            Error::invalid_input("a REST catalog needs its address: give the option uri")
        })?;
        let uri = address(uri, URI)?;
        let login = match (option("credential"), option("token")) {
            (Some(_), Some(_)) => {
                return Err(Error::invalid_input(
                    "the options credential and token exclude each other",
                ));
            }
            (None, None) => Login::Nobody,
            (None, Some(token)) => Login::Token(token.clone()),
            (Some(credential), None) => {
                let (id, secret) = match credential.split_once(':') {
                    Some((id, secret)) => (Some(id.to_string()), secret),
                    None => (None, credential.as_str()),
                };
                let server = match option("oauth2-server-uri") {
                    Some(server) => address(server, "oauth2-server-uri")?,
                    None => format!("{uri}/v1/oauth/tokens"),
                };
                Login::Credential {
                    id,
                    secret: secret.to_string(),
                    server,
                    scope: option("scope").map_or(SCOPE, String::as_str).to_string(),
                }
            }
        };
        let headers = options
            .iter()
            .filter_map(|(key, value)| Some((key.strip_prefix(HEADER)?, value)))
            .map(|(name, value)| header(name, value))
            .collect::<Result<_>>()?;
        Ok(RestOptions {
            uri,
            warehouse: warehouse.map(str::to_string),
            prefix: option("prefix").cloned(),
            page_size: option(PAGE_SIZE).map(|text| page_size(text)).transpose()?,
            login,
            headers,
        })
    }
}

/// Whether an option belongs to REST catalogs.
pub(crate) fn is_rest_option(key: &str) -> bool {
    key == URI || key.starts_with(HEADER) || KNOWN.contains(&key)
}

fn page_size(text: &str) -> Result<String> {
    match text.parse::<u32>() {
        Ok(size) if size > 0 => Ok(size.to_string()),
        _ => Err(Error::invalid_input(format!(
            "the option {PAGE_SIZE} is no positive number"
        ))),
    }
}

fn header(name: &str, value: &str) -> Result<(String, String)> {
    let name = name.to_ascii_lowercase();
    let letters = |text: &str| text.bytes().all(|b| (b' '..=b'~').contains(&b));
    if name.is_empty()
        || RESERVED.contains(&name.as_str())
        || !name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
        || !letters(value)
    {
        return Err(Error::invalid_input(format!(
            "the option {HEADER}{name} is no header that can be set"
        )));
    }
    Ok((name, value.to_string()))
}

/// An address without slash at the end. What is refused is not repeated: it may hold a password.
fn address(text: &str, name: &str) -> Result<String> {
    let wrong = || {
        Error::invalid_input(format!(
            "the option {name} is no address like https://host/path without user and query"
        ))
    };
    let url = Url::parse(text).map_err(|_| wrong())?;
    let plain = url.username().is_empty()
        && url.password().is_none()
        && url.query().is_none()
        && url.fragment().is_none();
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() || !plain {
        return Err(wrong());
    }
    Ok(url.as_str().trim_end_matches('/').to_string())
}
