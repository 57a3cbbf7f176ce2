//! Avro schemas, reduced to what decoding by Iceberg field id needs.

use std::collections::HashMap;

use serde_json::Value as Json;

use crate::error::{Error, Result};

const MAX_DEPTH: usize = 32;
const MAX_NODES: usize = 100_000;

/// How a value is encoded.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum AvroType {
    Null,
    Boolean,
    Int,
    Long,
    Float,
    Double,
    Bytes,
    String,
    Fixed(usize),
    Enum,
    Array(Box<AvroType>),
    Map(Box<AvroType>),
    Union(Vec<AvroType>),
    Record(Vec<AvroField>),
}

/// A field of a record.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct AvroField {
    pub(crate) id: Option<i32>,
    pub(crate) name: String,
    pub(crate) ty: AvroType,
}

impl AvroType {
    /// Reads the schema of a container.
    pub(super) fn parse(text: &[u8]) -> Result<AvroType> {
        let json: Json = serde_json::from_slice(text)
            .map_err(|e| Error::corrupt(format!("avro: the schema is not JSON: {e}")))?;
        Parser {
            names: HashMap::new(),
            nodes: 0,
        }
        .parse(&json, 0)
    }

    /// The fields of a record.
    pub(crate) fn fields(&self, what: &str) -> Result<&[AvroField]> {
        match self {
            AvroType::Record(fields) => Ok(fields),
            _ => Err(Error::corrupt(format!("{what} is not a record"))),
        }
    }

    /// The type without the null branch of an optional.
    pub(crate) fn value_type(&self) -> &AvroType {
        match self {
            AvroType::Union(branches) => branches
                .iter()
                .find(|b| **b != AvroType::Null)
                .unwrap_or(self),
            other => other,
        }
    }

    fn nodes(&self) -> usize {
        1 + match self {
            AvroType::Array(inner) | AvroType::Map(inner) => inner.nodes(),
            AvroType::Union(branches) => branches.iter().map(AvroType::nodes).sum(),
            AvroType::Record(fields) => fields.iter().map(|f| f.ty.nodes()).sum(),
            _ => 0,
        }
    }
}

/// Named types repeat by name, so the nodes are counted: a small schema must not unfold into a huge one.
struct Parser {
    names: HashMap<String, AvroType>,
    nodes: usize,
}

impl Parser {
    fn parse(&mut self, json: &Json, depth: usize) -> Result<AvroType> {
        self.nodes += 1;
        if depth > MAX_DEPTH || self.nodes > MAX_NODES {
            return Err(Error::corrupt("avro: the schema is too deep or too large"));
        }
        match json {
            Json::String(name) => self.named(name),
            Json::Array(branches) => Ok(AvroType::Union(
                branches
                    .iter()
                    .map(|b| self.parse(b, depth + 1))
                    .collect::<Result<_>>()?,
            )),
            Json::Object(object) => {
                let ty = object
                    .get("type")
                    .ok_or_else(|| Error::corrupt("avro: a schema has no type"))?;
                let parsed = self.object(object, ty, depth)?;
                if let Some(name) = object.get("name").and_then(Json::as_str) {
                    self.names.insert(short(name).to_owned(), parsed.clone());
                }
                Ok(parsed)
            }
            other => Err(Error::corrupt(format!("avro: {other} is no schema"))),
        }
    }

    fn named(&mut self, name: &str) -> Result<AvroType> {
        Ok(match name {
            "null" => AvroType::Null,
            "boolean" => AvroType::Boolean,
            "int" => AvroType::Int,
            "long" => AvroType::Long,
            "float" => AvroType::Float,
            "double" => AvroType::Double,
            "bytes" => AvroType::Bytes,
            "string" => AvroType::String,
            other => {
                let known = self.names.get(short(other)).cloned();
                let known =
                    known.ok_or_else(|| Error::corrupt(format!("avro: unknown type '{other}'")))?;
                self.nodes += known.nodes();
                known
            }
        })
    }

    fn object(
        &mut self,
        object: &serde_json::Map<String, Json>,
        ty: &Json,
        depth: usize,
    ) -> Result<AvroType> {
        let mut inner = |key: &str| match object.get(key) {
            Some(json) => Ok(Box::new(self.parse(json, depth + 1)?)),
            None => Err(Error::corrupt(format!("avro: a schema has no '{key}'"))),
        };
        Ok(match ty.as_str() {
            Some("array") => AvroType::Array(inner("items")?),
            Some("map") => AvroType::Map(inner("values")?),
            Some("enum") => AvroType::Enum,
            Some("fixed") => {
                let size = object
                    .get("size")
                    .and_then(Json::as_u64)
                    .and_then(|n| usize::try_from(n).ok());
                AvroType::Fixed(size.ok_or_else(|| Error::corrupt("avro: a fixed has no size"))?)
            }
            Some("record") => {
                let fields = object.get("fields").and_then(Json::as_array);
                let fields =
                    fields.ok_or_else(|| Error::corrupt("avro: a record has no fields"))?;
                AvroType::Record(
                    fields
                        .iter()
                        .map(|f| self.field(f, depth))
                        .collect::<Result<_>>()?,
                )
            }
            _ => self.parse(ty, depth + 1)?,
        })
    }

    fn field(&mut self, json: &Json, depth: usize) -> Result<AvroField> {
        let ty = json
            .get("type")
            .ok_or_else(|| Error::corrupt("avro: a field has no type"))?;
        Ok(AvroField {
            id: json
                .get("field-id")
                .and_then(Json::as_i64)
                .and_then(|id| i32::try_from(id).ok()),
            name: json
                .get("name")
                .and_then(Json::as_str)
                .unwrap_or_default()
                .to_owned(),
            ty: self.parse(ty, depth + 1)?,
        })
    }
}

fn short(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}
