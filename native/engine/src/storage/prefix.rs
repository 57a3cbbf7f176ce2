//! The user's prefix map: where paths recorded in metadata really lie. The longest recorded prefix wins and
//! matches whole path parts only. Spellings that mean the same place (`file:/x`, `file:///x` and `/x`; s3,
//! s3a and s3n; doubled slashes) match each other.

use std::sync::Arc;

use super::location::{Location, split_scheme};
use crate::error::{Error, Result};

/// Pairs (recorded prefix, actual location), longest prefix first.
#[derive(Clone, Default)]
pub(super) struct PrefixMap {
    pairs: Arc<[(String, Location)]>,
}

impl PrefixMap {
    pub(super) fn new(pairs: &[(String, String)]) -> Result<PrefixMap> {
        let mut parsed = Vec::with_capacity(pairs.len());
        for (recorded, actual) in pairs {
            if recorded.is_empty() {
                return Err(Error::invalid_input(format!(
                    "the prefix mapped to {actual:?} is empty"
                )));
            }
            let target =
                Location::from_user(actual).map_err(|error| error.with("map-prefix", recorded))?;
            parsed.push((canonical(recorded), target));
        }
        parsed.sort_by_key(|(recorded, _)| std::cmp::Reverse(recorded.len()));
        Ok(PrefixMap {
            pairs: parsed.into(),
        })
    }

    /// The text of the actual location of `recorded`, where a prefix matches.
    pub(super) fn apply(&self, recorded: &str) -> Option<String> {
        if self.pairs.is_empty() {
            return None;
        }
        let recorded = canonical(recorded);
        self.pairs.iter().find_map(|(prefix, actual)| {
            let rest = recorded.strip_prefix(prefix.as_str())?;
            let actual = actual.as_str();
            match rest.strip_prefix('/') {
                Some(_) => Some(format!("{}{rest}", actual.trim_end_matches('/'))),
                None => rest.is_empty().then(|| actual.to_string()),
            }
        })
    }

    /// The actual locations.
    pub(super) fn targets(&self) -> impl Iterator<Item = &Location> {
        self.pairs.iter().map(|(_, actual)| actual)
    }
}

/// One spelling for all that name the same place, without a slash at the end.
fn canonical(text: &str) -> String {
    let (scheme, path) = match split_scheme(text) {
        None => (String::new(), text),
        Some((name, rest)) => match name.to_ascii_lowercase().as_str() {
            "file" => (String::new(), rest),
            "s3a" | "s3n" => ("s3:/".to_string(), rest),
            other => (format!("{other}:/"), rest),
        },
    };
    let mut out = scheme;
    if path.starts_with('/') {
        out.push('/');
    }
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    out.push_str(&parts.join("/"));
    if out == "/" { String::new() } else { out }
}
