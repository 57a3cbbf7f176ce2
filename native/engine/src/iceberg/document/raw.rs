//! The raw JSON of an object's keys, in order. Only what is set changes; the rest stays as its text.

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value as Json};

use crate::error::{Error, Result};

/// The greatest metadata file that is read.
const MAX_BYTES: usize = 1 << 30;

/// Key and text of every member of an object.
#[derive(Clone, Debug)]
pub(super) struct Keys(Vec<(String, Box<RawValue>)>);

impl<'de> Deserialize<'de> for Keys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Keys;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Keys, A::Error> {
                let mut keys: Vec<(String, Box<RawValue>)> = Vec::new();
                while let Some((key, value)) = access.next_entry::<String, Box<RawValue>>()? {
                    if keys.iter().any(|(k, _)| *k == key) {
                        return Err(A::Error::custom(format!("key '{key}' stands twice")));
                    }
                    keys.push((key, value));
                }
                Ok(Keys(keys))
            }
        }
        deserializer.deserialize_map(Members)
    }
}

impl Keys {
    pub(super) fn new() -> Self {
        Keys(Vec::new())
    }

    pub(super) fn parse(bytes: &[u8]) -> Result<Keys> {
        if bytes.len() > MAX_BYTES {
            return Err(Error::resource_exhausted(format!(
                "table metadata of {} bytes is too large",
                bytes.len()
            )));
        }
        serde_json::from_slice(bytes)
            .map_err(|e| Error::corrupt(format!("table metadata is not valid JSON: {e}")))
    }

    pub(super) fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|(k, _)| k == key).map(|(_, v)| v.get())
    }

    /// The values of `keys`. A number that no value can hold is an error of its key.
    pub(super) fn view(&self, keys: &[&str]) -> Result<Json> {
        let mut map = Map::new();
        for (key, raw) in self
            .0
            .iter()
            .filter(|(key, _)| keys.contains(&key.as_str()))
        {
            map.insert(key.clone(), parse_key(key, raw.get())?);
        }
        Ok(Json::Object(map))
    }

    /// Replaces or adds a key.
    pub(super) fn set(&mut self, key: &str, value: &Json) -> Result<()> {
        self.set_text(key, value.to_string())
    }

    fn set_text(&mut self, key: &str, text: String) -> Result<()> {
        let raw = RawValue::from_string(text)
            .map_err(|e| Error::internal(format!("key '{key}': {e}")))?;
        match self.0.iter_mut().find(|(k, _)| k == key) {
            Some((_, value)) => *value = raw,
            None => self.0.push((key.to_owned(), raw)),
        }
        Ok(())
    }

    pub(super) fn remove(&mut self, key: &str) {
        self.0.retain(|(k, _)| k != key);
    }

    /// Adds to the list under `key` and drops the oldest beyond `limit`; the other items stay as they are.
    pub(super) fn push(&mut self, key: &str, item: &Json, limit: usize) -> Result<()> {
        let mut items: Vec<Box<RawValue>> = match self.get(key) {
            None | Some("null") => Vec::new(),
            Some(text) => serde_json::from_str(text)
                .map_err(|e| Error::corrupt(format!("table metadata: key '{key}': {e}")))?,
        };
        items.push(
            RawValue::from_string(item.to_string())
                .map_err(|e| Error::internal(format!("key '{key}': {e}")))?,
        );
        let keep = items.len().saturating_sub(limit);
        let texts: Vec<&str> = items.iter().skip(keep).map(|raw| raw.get()).collect();
        self.set_text(key, format!("[{}]", texts.join(",")))
    }

    /// The object under `key`; empty when absent.
    pub(super) fn child(&self, key: &str) -> Result<Keys> {
        match self.get(key) {
            None | Some("null") => Ok(Keys::new()),
            Some(text) => serde_json::from_str(text)
                .map_err(|e| Error::corrupt(format!("table metadata: key '{key}': {e}"))),
        }
    }

    /// Replaces the object under `key`.
    pub(super) fn set_child(&mut self, key: &str, child: &Keys) -> Result<()> {
        self.set_text(key, child.text())
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        self.text().into_bytes()
    }

    fn text(&self) -> String {
        let members: Vec<String> = self
            .0
            .iter()
            .map(|(k, v)| format!("{}:{}", Json::from(k.as_str()), v.get()))
            .collect();
        format!("{{{}}}", members.join(","))
    }
}

fn parse_key(key: &str, text: &str) -> Result<Json> {
    serde_json::from_str(text)
        .map_err(|e| Error::corrupt(format!("table metadata: key '{key}': {e}")))
}
