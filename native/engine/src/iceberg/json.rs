//! Typed access to the JSON objects of table metadata. Every error is Corrupt and names the object
//! and the key; a number that does not fit its type is refused, never wrapped or rounded.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json};

use crate::error::{Error, Result};

/// One JSON object and what it is, for messages.
#[derive(Clone, Copy)]
pub(super) struct Object<'a> {
    map: &'a Map<String, Json>,
    what: &'a str,
}

impl<'a> Object<'a> {
    /// `json` as an object.
    pub(super) fn new(json: &'a Json, what: &'a str) -> Result<Self> {
        match json {
            Json::Object(map) => Ok(Object { map, what }),
            other => Err(Error::corrupt(format!(
                "{what} is {}, not an object",
                kind(other)
            ))),
        }
    }

    /// The error of a key that holds something else.
    pub(super) fn wrong(&self, key: &str, expected: &str) -> Error {
        let found = self.map.get(key).map_or("missing", kind);
        Error::corrupt(format!(
            "{}: key '{key}' is {found}, not {expected}",
            self.what
        ))
    }

    /// The value of a key; absent and null are the same.
    pub(super) fn get(&self, key: &str) -> Option<&'a Json> {
        self.map.get(key).filter(|v| !v.is_null())
    }

    pub(super) fn required(&self, key: &str) -> Result<&'a Json> {
        self.get(key).ok_or_else(|| self.wrong(key, "present"))
    }

    pub(super) fn opt_str(&self, key: &str) -> Result<Option<&'a str>> {
        self.get(key)
            .map(|v| v.as_str().ok_or_else(|| self.wrong(key, "a string")))
            .transpose()
    }

    pub(super) fn str(&self, key: &str) -> Result<&'a str> {
        self.opt_str(key)?
            .ok_or_else(|| self.wrong(key, "a string"))
    }

    pub(super) fn opt_i64(&self, key: &str) -> Result<Option<i64>> {
        self.get(key)
            .map(|v| {
                v.as_i64()
                    .ok_or_else(|| self.wrong(key, "a 64-bit integer"))
            })
            .transpose()
    }

    pub(super) fn i64(&self, key: &str) -> Result<i64> {
        self.opt_i64(key)?
            .ok_or_else(|| self.wrong(key, "a 64-bit integer"))
    }

    pub(super) fn opt_i32(&self, key: &str) -> Result<Option<i32>> {
        self.get(key)
            .map(|v| {
                v.as_i64()
                    .and_then(|n| i32::try_from(n).ok())
                    .ok_or_else(|| self.wrong(key, "a 32-bit integer"))
            })
            .transpose()
    }

    pub(super) fn i32(&self, key: &str) -> Result<i32> {
        self.opt_i32(key)?
            .ok_or_else(|| self.wrong(key, "a 32-bit integer"))
    }

    pub(super) fn opt_bool(&self, key: &str) -> Result<Option<bool>> {
        self.get(key)
            .map(|v| v.as_bool().ok_or_else(|| self.wrong(key, "a boolean")))
            .transpose()
    }

    pub(super) fn opt_array(&self, key: &str) -> Result<Option<&'a [Json]>> {
        self.get(key)
            .map(|v| {
                v.as_array()
                    .map(Vec::as_slice)
                    .ok_or_else(|| self.wrong(key, "an array"))
            })
            .transpose()
    }

    pub(super) fn array(&self, key: &str) -> Result<&'a [Json]> {
        self.opt_array(key)?
            .ok_or_else(|| self.wrong(key, "an array"))
    }

    /// A list of 32-bit integers; empty when absent.
    pub(super) fn ids(&self, key: &str) -> Result<Vec<i32>> {
        self.opt_array(key)?
            .unwrap_or_default()
            .iter()
            .map(|v| {
                v.as_i64()
                    .and_then(|n| i32::try_from(n).ok())
                    .ok_or_else(|| self.wrong(key, "a list of 32-bit integers"))
            })
            .collect()
    }

    /// A map of strings; empty when absent. Numbers and booleans that a writer left unquoted are taken as text.
    pub(super) fn strings(&self, key: &str) -> Result<BTreeMap<String, String>> {
        let Some(value) = self.get(key) else {
            return Ok(BTreeMap::new());
        };
        strings(value).ok_or_else(|| self.wrong(key, "a map of strings"))
    }
}

/// A map of strings, if `json` is one.
pub(super) fn strings(json: &Json) -> Option<BTreeMap<String, String>> {
    json.as_object()?
        .iter()
        .map(|(k, v)| {
            let text = match v {
                Json::String(s) => s.clone(),
                Json::Number(n) => n.to_string(),
                Json::Bool(b) => b.to_string(),
                Json::Null | Json::Array(_) | Json::Object(_) => return None,
            };
            Some((k.clone(), text))
        })
        .collect()
}

fn kind(json: &Json) -> &'static str {
    match json {
        Json::Null => "null",
        Json::Bool(_) => "a boolean",
        Json::Number(_) => "a number that does not fit",
        Json::String(_) => "a string",
        Json::Array(_) => "an array",
        Json::Object(_) => "an object",
    }
}
