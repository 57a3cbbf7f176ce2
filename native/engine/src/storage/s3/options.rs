//! How a bucket is reached: Iceberg's option names first, then AWS's environment variables, then the role of the
//! instance. Keys and session token come from one of the three, never from two. Plain http is spoken only to an
//! endpoint that the user spelled so.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use object_store::aws::{AmazonS3, AmazonS3Builder, AmazonS3ConfigKey};
use object_store::{BackoffConfig, ClientOptions, RetryConfig};
use url::Url;

use crate::error::{Error, Result};

const ENDPOINT: &str = "s3.endpoint";
const KEY_ID: &str = "s3.access-key-id";
const SECRET: &str = "s3.secret-access-key";
const TOKEN: &str = "s3.session-token";
const PATH_STYLE: &str = "s3.path-style-access";
const ANONYMOUS: &str = "s3.anonymous";
/// The first is Iceberg's name in Java, the second in Python.
const REGIONS: [&str; 2] = ["client.region", "s3.region"];
const KNOWN: [&str; 8] = [
    ENDPOINT, KEY_ID, SECRET, TOKEN, PATH_STYLE, ANONYMOUS, REGIONS[0], REGIONS[1],
];

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// For one request with its body; the longest are parts of 8 MiB.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);
const RETRIES_MAX: usize = 5;
const RETRY_TIMEOUT: Duration = Duration::from_secs(60);
const BACKOFF_MIN: Duration = Duration::from_millis(100);
const BACKOFF_MAX: Duration = Duration::from_secs(5);

/// Variables that lead to temporary keys of a role, in the names that the client knows them by.
const ROLE: [(&str, AmazonS3ConfigKey); 8] = [
    ("AWS_ROLE_ARN", AmazonS3ConfigKey::RoleArn),
    (
        "AWS_WEB_IDENTITY_TOKEN_FILE",
        AmazonS3ConfigKey::WebIdentityTokenFile,
    ),
    ("AWS_ROLE_SESSION_NAME", AmazonS3ConfigKey::RoleSessionName),
    ("AWS_ENDPOINT_URL_STS", AmazonS3ConfigKey::StsEndpoint),
    (
        "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
        AmazonS3ConfigKey::ContainerCredentialsRelativeUri,
    ),
    (
        "AWS_CONTAINER_CREDENTIALS_FULL_URI",
        AmazonS3ConfigKey::ContainerCredentialsFullUri,
    ),
    (
        "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
        AmazonS3ConfigKey::ContainerAuthorizationTokenFile,
    ),
    (
        "AWS_EC2_METADATA_SERVICE_ENDPOINT",
        AmazonS3ConfigKey::MetadataEndpoint,
    ),
];

type Environment<'e> = &'e dyn Fn(&str) -> Option<String>;

/// The options that concern S3, checked. Without `Debug`: it holds secrets.
pub(super) struct S3Options {
    given: BTreeMap<String, String>,
    path_style: Option<bool>,
    anonymous: bool,
}

impl S3Options {
    pub(super) fn new(options: &BTreeMap<String, String>) -> Result<S3Options> {
        let mut given = BTreeMap::new();
        for (key, value) in options {
            if !key.starts_with("s3.") && !key.starts_with("client.") {
                continue;
            }
            if !KNOWN.contains(&key.as_str()) {
                return Err(Error::unsupported(format!(
                    "the option {key} is not supported; there are {}",
                    KNOWN.join(", ")
                )));
            }
            if value.is_empty() {
                return Err(Error::invalid_input(format!("the option {key} is empty")));
            }
            given.insert(key.clone(), value.clone());
        }
        if given.contains_key(KEY_ID) != given.contains_key(SECRET) {
            return Err(Error::invalid_input(format!(
                "the options {KEY_ID} and {SECRET} belong together: give both or none"
            )));
        }
        if given.contains_key(TOKEN) && !given.contains_key(KEY_ID) {
            return Err(Error::invalid_input(format!(
                "the option {TOKEN} belongs to keys: give {KEY_ID} and {SECRET} too"
            )));
        }
        if let Some(endpoint) = given.get(ENDPOINT) {
            Endpoint::parse(endpoint, ENDPOINT)?;
        }
        Ok(S3Options {
            path_style: flag(&given, PATH_STYLE)?,
            anonymous: flag(&given, ANONYMOUS)?.unwrap_or(false),
            given,
        })
    }

    /// These options under those that a catalog gives with keys; none where it gives no keys. What else it gives
    /// is ignored: it may concern other clients.
    pub(super) fn vended(&self, given: &BTreeMap<String, String>) -> Result<Option<S3Options>> {
        if !given.contains_key(KEY_ID) {
            return Ok(None);
        }
        let mut merged = self.given.clone();
        for key in [KEY_ID, SECRET, TOKEN, ANONYMOUS] {
            merged.remove(key);
        }
        for (key, value) in given
            .iter()
            .filter(|(key, _)| KNOWN.contains(&key.as_str()))
        {
            let plain = key == ENDPOINT && value.starts_with("http:");
            if plain && self.given.get(ENDPOINT) != Some(value) {
                return Err(Error::permission_denied(format!(
                    "the catalog names a store without encryption; give {ENDPOINT} to allow it"
                )));
            }
            merged.insert(key.clone(), value.clone());
        }
        S3Options::new(&merged).map(Some)
    }

    /// The client of a bucket; makes no request.
    pub(super) fn client(&self, bucket: &str, environment: Environment<'_>) -> Result<AmazonS3> {
        let endpoint = self.endpoint(environment)?;
        let mut builder = AmazonS3Builder::new()
            .with_bucket_name(bucket)
            .with_retry(retries())
            .with_client_options(
                ClientOptions::new()
                    .with_connect_timeout(CONNECT_TIMEOUT)
                    .with_timeout(REQUEST_TIMEOUT)
                    .with_allow_http(endpoint.as_ref().is_some_and(|e| e.url.scheme() == "http")),
            );
        let region = REGIONS
            .iter()
            .find_map(|name| self.given.get(*name).cloned())
            .or_else(|| environment("AWS_REGION"))
            .or_else(|| environment("AWS_DEFAULT_REGION"));
        if let Some(region) = region {
            builder = builder.with_region(region);
        }
        let path_style = match &endpoint {
            Some(endpoint) => endpoint.needs_path_style(self.path_style),
            None => self.path_style.unwrap_or(false),
        } || !is_host_label(bucket);
        if let Some(endpoint) = endpoint {
            builder = builder.with_endpoint(endpoint.text(bucket, path_style));
        }
        builder = self.keys(
            builder.with_virtual_hosted_style_request(!path_style),
            bucket,
            environment,
        )?;
        // What is wrong here never lies in the keys, so that the text holds no secret.
        builder.build().map_err(|error| {
            Error::invalid_input(format!("the options for s3://{bucket} are wrong: {error}"))
        })
    }

    fn endpoint(&self, environment: Environment<'_>) -> Result<Option<Endpoint>> {
        if let Some(given) = self.given.get(ENDPOINT) {
            return Endpoint::parse(given, ENDPOINT).map(Some);
        }
        ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"]
            .into_iter()
            .find_map(|name| environment(name).map(|value| Endpoint::parse(&value, name)))
            .transpose()
    }

    fn keys(
        &self,
        builder: AmazonS3Builder,
        bucket: &str,
        environment: Environment<'_>,
    ) -> Result<AmazonS3Builder> {
        if self.anonymous {
            return Ok(builder.with_skip_signature(true));
        }
        let option = |name: &str| self.given.get(name).cloned();
        if let (Some(id), Some(secret)) = (option(KEY_ID), option(SECRET)) {
            return Ok(with_keys(builder, id, secret, option(TOKEN)));
        }
        match (
            environment("AWS_ACCESS_KEY_ID"),
            environment("AWS_SECRET_ACCESS_KEY"),
        ) {
            (Some(id), Some(secret)) => Ok(with_keys(
                builder,
                id,
                secret,
                environment("AWS_SESSION_TOKEN"),
            )),
            (None, None) => role(builder, bucket, environment),
            _ => Err(Error::invalid_input(
                "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY belong together: set both or none",
            )),
        }
    }
}

fn with_keys(
    builder: AmazonS3Builder,
    id: String,
    secret: String,
    token: Option<String>,
) -> AmazonS3Builder {
    let builder = builder
        .with_access_key_id(id)
        .with_secret_access_key(secret);
    match token {
        Some(token) => builder.with_token(token),
        None => builder,
    }
}

/// Without keys: those of a role, which the client asks for when it needs them.
fn role(
    mut builder: AmazonS3Builder,
    bucket: &str,
    environment: Environment<'_>,
) -> Result<AmazonS3Builder> {
    let named = ROLE.iter().any(|(name, _)| environment(name).is_some());
    let instance = environment("AWS_EC2_METADATA_DISABLED")
        .is_none_or(|text| !text.eq_ignore_ascii_case("true"));
    if !named && !instance {
        return Err(Error::permission_denied(format!(
            "there are no keys for s3://{bucket}: give {KEY_ID} and {SECRET}, set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give {ANONYMOUS}=true"
        )));
    }
    for (name, key) in ROLE {
        if let Some(value) = environment(name) {
            builder = builder.with_config(key, value);
        }
    }
    Ok(builder)
}

fn retries() -> RetryConfig {
    RetryConfig {
        backoff: BackoffConfig {
            init_backoff: BACKOFF_MIN,
            max_backoff: BACKOFF_MAX,
            base: 2.0,
        },
        max_retries: RETRIES_MAX,
        retry_timeout: RETRY_TIMEOUT,
    }
}

fn flag(given: &BTreeMap<String, String>, name: &str) -> Result<Option<bool>> {
    match given.get(name).map(|text| text.to_ascii_lowercase()) {
        None => Ok(None),
        Some(text) if text == "true" => Ok(Some(true)),
        Some(text) if text == "false" => Ok(Some(false)),
        Some(_) => Err(Error::invalid_input(format!(
            "the option {name} is true or false"
        ))),
    }
}

/// Whether a bucket can stand in a host name under the certificate of the store.
fn is_host_label(bucket: &str) -> bool {
    bucket
        .bytes()
        .all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == b'-')
}

/// Where a store answers other than AWS itself.
struct Endpoint {
    url: Url,
}

impl Endpoint {
    /// What is refused is not repeated: it may hold a password.
    fn parse(text: &str, name: &str) -> Result<Endpoint> {
        let wrong = |why: &str| {
            Error::invalid_input(format!(
                "{name} {why}: expected https://host or http://host:port"
            ))
        };
        let url = Url::parse(text).map_err(|_| wrong("is no web address"))?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
            return Err(wrong("is no web address"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(wrong("holds a user or password"));
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(wrong("holds a query"));
        }
        Ok(Endpoint { url })
    }

    /// Whether the bucket must stand in the path: a host such as `localhost` or an IP address has no subdomains.
    fn needs_path_style(&self, wanted: Option<bool>) -> bool {
        let host = self.url.host_str().unwrap_or_default();
        let address = host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
        address || wanted.unwrap_or(!host.contains('.'))
    }

    /// As the client wants it: with the bucket in the host unless that stands in the path.
    fn text(&self, bucket: &str, path_style: bool) -> String {
        let text = self.url.as_str().trim_end_matches('/');
        match text.split_once("://") {
            Some((scheme, rest)) if !path_style => format!("{scheme}://{bucket}.{rest}"),
            _ => text.to_string(),
        }
    }
}
