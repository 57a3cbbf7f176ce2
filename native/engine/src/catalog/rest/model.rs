//! What the server sends and takes, as far as this client reads it (Iceberg's REST OpenAPI 1.10). Unknown members
//! are ignored.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

#[derive(Deserialize)]
pub(super) struct Config {
    #[serde(default)]
    pub(super) defaults: BTreeMap<String, Option<String>>,
    #[serde(default)]
    pub(super) overrides: BTreeMap<String, Option<String>>,
}

#[derive(Deserialize)]
pub(super) struct Token {
    pub(super) access_token: String,
    pub(super) expires_in: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Identifier {
    pub(super) namespace: Vec<String>,
    pub(super) name: String,
}

#[derive(Deserialize)]
pub(super) struct Namespaces {
    #[serde(default)]
    pub(super) namespaces: Vec<Vec<String>>,
    #[serde(rename = "next-page-token")]
    pub(super) next: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Tables {
    #[serde(default)]
    pub(super) identifiers: Vec<Identifier>,
    #[serde(rename = "next-page-token")]
    pub(super) next: Option<String>,
}

/// Answers to load, create and commit.
#[derive(Deserialize)]
pub(super) struct Loaded {
    #[serde(rename = "metadata-location")]
    pub(super) metadata_location: Option<String>,
    pub(super) metadata: Box<RawValue>,
    #[serde(default)]
    pub(super) config: BTreeMap<String, String>,
    #[serde(rename = "storage-credentials", default)]
    pub(super) credentials: Vec<StorageCredential>,
}

/// Temporary keys for what lies below a prefix.
#[derive(Deserialize)]
pub(super) struct StorageCredential {
    pub(super) prefix: String,
    pub(super) config: BTreeMap<String, String>,
}

impl Loaded {
    /// The options that the server gives for files at the location: those of the longest prefix, else its
    /// configuration of the table.
    pub(super) fn options(&self, location: &str) -> &BTreeMap<String, String> {
        let fitting = self
            .credentials
            .iter()
            .filter(|given| location.starts_with(&given.prefix));
        fitting
            .max_by_key(|given| given.prefix.len())
            .map_or(&self.config, |given| &given.config)
    }
}

#[derive(Deserialize)]
pub(super) struct Failure {
    pub(super) error: FailureDetail,
}

#[derive(Deserialize)]
pub(super) struct FailureDetail {
    #[serde(default)]
    pub(super) message: String,
    #[serde(default, rename = "type")]
    pub(super) kind: String,
}
