//! The columns of an Avro file: how each is written, and its Arrow type in our normal form with the ids that
//! Iceberg keeps in attributes. An array of key and value records that is marked as a map is a map. A union of
//! several types has no place in Iceberg; it stands as Null and is refused when it is read.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, TimeUnit};
use serde_json::{Map, Value as Json};

use crate::error::{Error, Result};
use crate::iceberg::schema::FIELD_ID_KEY;

/// Types nest no deeper, and no schema unfolds to more of them.
const DEPTH_MAX: usize = 32;
const NODES_MAX: usize = 100_000;

/// One type: how it is written and what becomes of it.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) data_type: DataType,
    pub(super) wire: Wire,
    /// For a union of one type and null: the branches' numbers.
    pub(super) union: Option<Branches>,
}

/// Which branch of a union holds values and which stands for NULL.
#[derive(Clone, Copy, Debug)]
pub(super) struct Branches {
    pub(super) value: i64,
    pub(super) null: Option<i64>,
}

/// How values are written.
#[derive(Clone, Debug)]
pub(super) enum Wire {
    Null,
    Boolean,
    Int,
    /// A number, and what it is multiplied by: milliseconds become microseconds.
    Long(i64),
    Float,
    Double,
    Bytes,
    Fixed(usize),
    Enum(Arc<[String]>),
    /// Items: an element, or the members of a map's entry.
    Items(Vec<Node>),
    Record(Vec<Node>),
    /// A union of several types.
    Union,
}

/// The columns of the rows by name. Errors: Corrupt for what is no Avro schema.
pub(super) fn columns(text: &str) -> Result<(Vec<Arc<Field>>, Vec<Node>)> {
    let json: Json = serde_json::from_str(text)
        .map_err(|e| Error::corrupt(format!("avro: the schema is not JSON: {e}")))?;
    let mut reader = Reader {
        named: HashMap::new(),
        nodes: 0,
    };
    let root = reader.node(&json, 0)?;
    match (root.data_type, root.wire) {
        (DataType::Struct(fields), Wire::Record(nodes)) if root.union.is_none() => {
            Ok((fields.iter().cloned().collect(), nodes))
        }
        _ => Err(Error::unsupported("Avro files whose rows are no records")),
    }
}

struct Reader {
    /// Types that are defined once and named later, with how many nodes they unfold to.
    named: HashMap<String, (Node, usize)>,
    nodes: usize,
}

fn plain(data_type: DataType, wire: Wire) -> Node {
    Node {
        data_type,
        wire,
        union: None,
    }
}

impl Reader {
    fn node(&mut self, json: &Json, depth: usize) -> Result<Node> {
        self.count(1)?;
        if depth > DEPTH_MAX {
            return Err(Error::corrupt("avro: the schema is too deep"));
        }
        match json {
            Json::String(name) => self.by_name(name),
            Json::Array(branches) => self.union(branches, depth),
            Json::Object(object) => {
                let before = self.nodes;
                let node = self.object(object, depth)?;
                if let Some(name) = object.get("name").and_then(Json::as_str) {
                    let entry = (node.clone(), self.nodes - before);
                    self.named.insert(short(name).to_owned(), entry);
                }
                Ok(node)
            }
            other => Err(Error::corrupt(format!("avro: {other} is no schema"))),
        }
    }

    fn count(&mut self, nodes: usize) -> Result<()> {
        self.nodes += nodes;
        if self.nodes > NODES_MAX {
            return Err(Error::corrupt("avro: the schema is too large"));
        }
        Ok(())
    }

    fn by_name(&mut self, name: &str) -> Result<Node> {
        Ok(match name {
            "null" => plain(DataType::Null, Wire::Null),
            "boolean" => plain(DataType::Boolean, Wire::Boolean),
            "int" => plain(DataType::Int32, Wire::Int),
            "long" => plain(DataType::Int64, Wire::Long(1)),
            "float" => plain(DataType::Float32, Wire::Float),
            "double" => plain(DataType::Float64, Wire::Double),
            "bytes" => plain(DataType::Binary, Wire::Bytes),
            "string" => plain(DataType::Utf8, Wire::Bytes),
            other => {
                let found = self.named.get(short(other)).cloned();
                let (node, nodes) =
                    found.ok_or_else(|| Error::corrupt(format!("avro: unknown type '{other}'")))?;
                self.count(nodes)?;
                node
            }
        })
    }

    fn union(&mut self, branches: &[Json], depth: usize) -> Result<Node> {
        let (mut value, mut null, mut several) = (None, None, false);
        for (number, branch) in (0i64..).zip(branches) {
            let node = self.node(branch, depth + 1)?;
            if matches!(node.wire, Wire::Null) {
                null = Some(number);
            } else {
                several |= value.is_some();
                value = Some((node, number));
            }
        }
        let Some((mut node, number)) = value.filter(|_| !several) else {
            return Ok(plain(DataType::Null, Wire::Union));
        };
        if node.union.is_some() {
            return Err(Error::corrupt("avro: a union within a union"));
        }
        node.union = Some(Branches {
            value: number,
            null,
        });
        Ok(node)
    }

    fn object(&mut self, object: &Map<String, Json>, depth: usize) -> Result<Node> {
        let ty = object
            .get("type")
            .ok_or_else(|| Error::corrupt("avro: a schema has no type"))?;
        let logical = object.get("logicalType").and_then(Json::as_str);
        let node = match ty.as_str() {
            Some("array") => return self.array(object, logical, depth),
            Some("map") => {
                let key = plain(DataType::Utf8, Wire::Bytes);
                let value = self.inner(object, "values", depth)?;
                let fields = [
                    field("key", &key, id(object, "key-id")),
                    field("value", &value, id(object, "value-id")),
                ];
                return Ok(plain(map(fields), Wire::Items(vec![key, value])));
            }
            Some("enum") => return symbols(object),
            Some("fixed") => {
                let size = object.get("size").and_then(Json::as_i64);
                let size = size.and_then(|n| i32::try_from(n).ok()).filter(|n| *n > 0);
                let length = size.and_then(|n| usize::try_from(n).ok());
                let (Some(size), Some(length)) = (size, length) else {
                    return Err(Error::corrupt("avro: a fixed has no size"));
                };
                plain(DataType::FixedSizeBinary(size), Wire::Fixed(length))
            }
            Some("record") => return self.record(object, depth),
            _ => self.node(ty, depth + 1)?,
        };
        Ok(refine(node, logical, object))
    }

    fn inner(&mut self, object: &Map<String, Json>, key: &str, depth: usize) -> Result<Node> {
        match object.get(key) {
            Some(json) => self.node(json, depth + 1),
            None => Err(Error::corrupt(format!("avro: a schema has no '{key}'"))),
        }
    }

    fn array(
        &mut self,
        object: &Map<String, Json>,
        logical: Option<&str>,
        depth: usize,
    ) -> Result<Node> {
        let item = self.inner(object, "items", depth)?;
        if logical == Some("map")
            && item.union.is_none()
            && let (DataType::Struct(pair), Wire::Record(nodes)) = (&item.data_type, &item.wire)
            && let [key, value] = pair.as_ref()
        {
            let pair = [
                key.as_ref().clone().with_name("key").with_nullable(false),
                value.as_ref().clone().with_name("value"),
            ];
            return Ok(plain(map(pair), Wire::Items(nodes.clone())));
        }
        let element = field("element", &item, id(object, "element-id"));
        Ok(plain(
            DataType::List(Arc::new(element)),
            Wire::Items(vec![item]),
        ))
    }

    fn record(&mut self, object: &Map<String, Json>, depth: usize) -> Result<Node> {
        let members = object.get("fields").and_then(Json::as_array);
        let members = members.ok_or_else(|| Error::corrupt("avro: a record has no fields"))?;
        let mut fields = Vec::with_capacity(members.len());
        let mut nodes = Vec::with_capacity(members.len());
        for member in members {
            let member = member
                .as_object()
                .ok_or_else(|| Error::corrupt("avro: a field is no object"))?;
            let node = self.inner(member, "type", depth)?;
            let name = member.get("name").and_then(Json::as_str);
            fields.push(field(
                name.unwrap_or_default(),
                &node,
                id(member, "field-id"),
            ));
            nodes.push(node);
        }
        Ok(plain(DataType::Struct(fields.into()), Wire::Record(nodes)))
    }
}

fn symbols(object: &Map<String, Json>) -> Result<Node> {
    let symbols = object.get("symbols").and_then(Json::as_array);
    let symbols = symbols.ok_or_else(|| Error::corrupt("avro: an enum has no symbols"))?;
    let symbols: Vec<String> = symbols
        .iter()
        .filter_map(|symbol| symbol.as_str().map(str::to_owned))
        .collect();
    Ok(plain(DataType::Utf8, Wire::Enum(symbols.into())))
}

fn short(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

fn id(object: &Map<String, Json>, key: &str) -> Option<i32> {
    object
        .get(key)
        .and_then(Json::as_i64)
        .and_then(|id| i32::try_from(id).ok())
}

/// Whether NULL is refused is decided by the table's schema, so only a map's keys are never NULL here.
fn field(name: &str, node: &Node, id: Option<i32>) -> Field {
    let field = Field::new(name, node.data_type.clone(), true);
    match id {
        Some(id) => field.with_metadata(HashMap::from([(FIELD_ID_KEY.to_owned(), id.to_string())])),
        None => field,
    }
}

fn map([key, value]: [Field; 2]) -> DataType {
    let pair = DataType::Struct(vec![key.with_nullable(false), value].into());
    DataType::Map(Arc::new(Field::new("key_value", pair, false)), false)
}

/// What a logical type makes of a plain one. One that does not fit is passed over, as Avro says.
fn refine(node: Node, logical: Option<&str>, object: &Map<String, Json>) -> Node {
    let utc = match object.get("adjust-to-utc") {
        Some(Json::Bool(utc)) => *utc,
        Some(Json::String(text)) => text == "true",
        _ => false,
    };
    let stamp = |unit, utc: bool| DataType::Timestamp(unit, utc.then(|| "UTC".into()));
    let (micros, nanos) = (TimeUnit::Microsecond, TimeUnit::Nanosecond);
    let time = DataType::Time64(micros);
    let (data_type, wire) = match (&node.wire, logical) {
        (Wire::Int, Some("date")) => (DataType::Date32, Wire::Int),
        (Wire::Int, Some("time-millis")) => (time, Wire::Long(1_000)),
        (Wire::Long(_), Some("time-micros")) => (time, Wire::Long(1)),
        (Wire::Long(_), Some("timestamp-millis")) => (stamp(micros, utc), Wire::Long(1_000)),
        (Wire::Long(_), Some("timestamp-micros")) => (stamp(micros, utc), Wire::Long(1)),
        (Wire::Long(_), Some("timestamp-nanos")) => (stamp(nanos, utc), Wire::Long(1)),
        (Wire::Long(_), Some("local-timestamp-millis")) => {
            (stamp(micros, false), Wire::Long(1_000))
        }
        (Wire::Long(_), Some("local-timestamp-micros")) => (stamp(micros, false), Wire::Long(1)),
        (Wire::Long(_), Some("local-timestamp-nanos")) => (stamp(nanos, false), Wire::Long(1)),
        (Wire::Bytes, Some("uuid")) if node.data_type == DataType::Utf8 => {
            (DataType::FixedSizeBinary(16), Wire::Bytes)
        }
        (Wire::Bytes | Wire::Fixed(_), Some("decimal")) if node.data_type != DataType::Utf8 => {
            match decimal(object) {
                Some(data_type) => (data_type, node.wire),
                None => return node,
            }
        }
        _ => return node,
    };
    plain(data_type, wire)
}

fn decimal(object: &Map<String, Json>) -> Option<DataType> {
    let number = |key: &str| object.get(key).and_then(Json::as_i64);
    let precision = number("precision").and_then(|p| u8::try_from(p).ok())?;
    let scale = u8::try_from(number("scale").unwrap_or(0)).ok()?;
    let sound = (1..=38).contains(&precision) && scale <= precision;
    sound.then(|| DataType::Decimal128(precision, scale.cast_signed()))
}
