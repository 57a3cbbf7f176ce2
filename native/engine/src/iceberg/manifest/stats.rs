//! Statistics by field id, kept as the manifest encodes them: a scan asks for a few columns only, and a
//! commit copies them unchanged.

use bytes::Bytes;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::Result;
use crate::iceberg::avro::{Cursor, put_bytes, put_length, put_long};

/// A number per field id. Absent is not the same as empty: None means unknown.
#[derive(Clone, Debug, Default)]
pub struct CountMap(Option<Bytes>);

/// Bytes per field id.
#[derive(Clone, Debug, Default)]
pub struct BoundMap(Option<Bytes>);

impl CountMap {
    /// A map from pairs.
    pub fn new(counts: impl IntoIterator<Item = (i32, i64)>) -> Self {
        CountMap(Some(encode(counts, put_long)))
    }

    /// The number of a field.
    pub fn get(&self, field_id: i32) -> Option<i64> {
        self.iter()
            .find(|(id, _)| *id == field_id)
            .map(|(_, count)| count)
    }

    /// All numbers; what is damaged is left out.
    pub fn iter(&self) -> impl Iterator<Item = (i32, i64)> {
        let mut pairs = Vec::new();
        // A damaged tail is absent, not an error.
        let _ = self.walk(|id, count| pairs.push((id, count)));
        pairs.into_iter()
    }

    fn walk(&self, mut f: impl FnMut(i32, i64)) -> Result<()> {
        let Some(bytes) = &self.0 else { return Ok(()) };
        Cursor::new(bytes).items(|c| {
            f(c.int()?, c.long()?);
            Ok(())
        })
    }

    /// Whether nothing is known.
    pub fn is_unknown(&self) -> bool {
        self.0.is_none()
    }

    pub(super) fn encoded(encoded: Option<Bytes>) -> Self {
        CountMap(encoded)
    }

    pub(super) fn encoded_bytes(&self) -> usize {
        self.0.as_ref().map_or(0, Bytes::len)
    }

    pub(super) fn as_encoded(&self) -> Option<&Bytes> {
        self.0.as_ref()
    }
}

impl BoundMap {
    /// A map from pairs.
    pub fn new(bounds: impl IntoIterator<Item = (i32, Vec<u8>)>) -> Self {
        BoundMap(Some(encode(bounds, |out, bound| put_bytes(out, &bound))))
    }

    /// The bound of a field.
    pub fn get(&self, field_id: i32) -> Option<Vec<u8>> {
        let mut found = None;
        // A damaged tail is absent, not an error.
        let _ = self.walk(|id, bound| {
            if id == field_id && found.is_none() {
                found = Some(bound.to_vec());
            }
        });
        found
    }

    /// Sets the bound of a field.
    pub fn insert(&mut self, field_id: i32, bound: Vec<u8>) {
        let others: Vec<_> = self.iter().filter(|(id, _)| *id != field_id).collect();
        *self = BoundMap::new(others.into_iter().chain([(field_id, bound)]));
    }

    /// All bounds; what is damaged is left out.
    pub fn iter(&self) -> impl Iterator<Item = (i32, Vec<u8>)> {
        let mut pairs = Vec::new();
        let _ = self.walk(|id, bound| pairs.push((id, bound.to_vec())));
        pairs.into_iter()
    }

    fn walk(&self, mut f: impl FnMut(i32, &[u8])) -> Result<()> {
        let Some(bytes) = &self.0 else { return Ok(()) };
        Cursor::new(bytes).items(|c| {
            f(c.int()?, c.bytes()?);
            Ok(())
        })
    }

    /// Whether nothing is known.
    pub fn is_unknown(&self) -> bool {
        self.0.is_none()
    }

    pub(super) fn encoded(encoded: Option<Bytes>) -> Self {
        BoundMap(encoded)
    }

    pub(super) fn encoded_bytes(&self) -> usize {
        self.0.as_ref().map_or(0, Bytes::len)
    }

    pub(super) fn as_encoded(&self) -> Option<&Bytes> {
        self.0.as_ref()
    }
}

fn encode<T>(pairs: impl IntoIterator<Item = (i32, T)>, put: impl Fn(&mut Vec<u8>, T)) -> Bytes {
    let (mut items, mut count) = (Vec::new(), 0);
    for (id, value) in pairs {
        put_long(&mut items, i64::from(id));
        put(&mut items, value);
        count += 1;
    }
    let mut out = Vec::with_capacity(items.len() + 6);
    if count > 0 {
        put_length(&mut out, count);
        out.extend_from_slice(&items);
    }
    put_long(&mut out, 0);
    out.into()
}

impl PartialEq for CountMap {
    fn eq(&self, other: &Self) -> bool {
        self.is_unknown() == other.is_unknown() && self.iter().eq(other.iter())
    }
}

impl PartialEq for BoundMap {
    fn eq(&self, other: &Self) -> bool {
        self.is_unknown() == other.is_unknown() && self.iter().eq(other.iter())
    }
}

impl Serialize for CountMap {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0
            .as_ref()
            .map(|_| self.iter().collect::<Vec<_>>())
            .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for CountMap {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Option::<Vec<(i32, i64)>>::deserialize(deserializer)?
            .map(CountMap::new)
            .unwrap_or_default())
    }
}

impl Serialize for BoundMap {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0
            .as_ref()
            .map(|_| self.iter().collect::<Vec<_>>())
            .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for BoundMap {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Option::<Vec<(i32, Vec<u8>)>>::deserialize(deserializer)?
            .map(BoundMap::new)
            .unwrap_or_default())
    }
}
