//! Partition specs and transforms. A transform this engine does not know prunes nothing and may not
//! be written. Partition field ids start at 1000; V1 metadata may leave them out.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Value as Json, json};

use super::json::Object;
use super::schema::{Field, Schema, Type};
use crate::error::{Error, Result};

/// The first id of a partition field.
pub const FIRST_PARTITION_ID: i32 = 1000;

/// How a partition value comes from its source column.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Transform {
    Identity,
    /// Murmur3 hash modulo this number, never 0.
    Bucket(u32),
    /// Cut to this width, never 0.
    Truncate(u32),
    Year,
    Month,
    Day,
    Hour,
    Void,
    /// One this engine does not know.
    Unknown(String),
}

impl Transform {
    /// Reads the text of a transform.
    pub fn parse(text: &str) -> Transform {
        let width = |name: &str| {
            let width = text
                .strip_prefix(name)?
                .trim()
                .strip_prefix('[')?
                .strip_suffix(']')?;
            width
                .trim()
                .parse::<u32>()
                .ok()
                .filter(|w| *w > 0 && i32::try_from(*w).is_ok())
        };
        match text {
            "identity" => Transform::Identity,
            "year" => Transform::Year,
            "month" => Transform::Month,
            "day" => Transform::Day,
            "hour" => Transform::Hour,
            "void" => Transform::Void,
            _ => width("bucket")
                .map(Transform::Bucket)
                .or_else(|| width("truncate").map(Transform::Truncate))
                .unwrap_or_else(|| Transform::Unknown(text.to_owned())),
        }
    }

    /// The type of the partition value for a source column of type `source`; None for an unknown transform.
    pub fn result_type(&self, source: &Type) -> Option<Type> {
        match self {
            Transform::Identity | Transform::Truncate(_) | Transform::Void => Some(source.clone()),
            Transform::Bucket(_) | Transform::Year | Transform::Month | Transform::Hour => {
                Some(Type::Int)
            }
            Transform::Day => Some(Type::Date),
            Transform::Unknown(_) => None,
        }
    }
}

impl fmt::Display for Transform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Transform::Identity => f.write_str("identity"),
            Transform::Bucket(n) => write!(f, "bucket[{n}]"),
            Transform::Truncate(w) => write!(f, "truncate[{w}]"),
            Transform::Year => f.write_str("year"),
            Transform::Month => f.write_str("month"),
            Transform::Day => f.write_str("day"),
            Transform::Hour => f.write_str("hour"),
            Transform::Void => f.write_str("void"),
            Transform::Unknown(text) => f.write_str(text),
        }
    }
}

/// One field of a partition tuple.
#[derive(Clone, Debug, PartialEq)]
pub struct PartitionField {
    /// Field ids of the source columns; one for every transform known today.
    pub source_ids: Vec<i32>,
    /// The id of the partition field, from 1000 on.
    pub field_id: i32,
    /// The name of the partition field.
    pub name: String,
    /// The transform.
    pub transform: Transform,
}

impl PartitionField {
    /// The source column of a transform with one argument.
    pub fn source_id(&self) -> Option<i32> {
        match self.source_ids.as_slice() {
            [one] => Some(*one),
            _ => None,
        }
    }
}

/// How the files of a table are partitioned.
#[derive(Clone, Debug, PartialEq)]
pub struct PartitionSpec {
    /// The id of the spec in its table.
    pub spec_id: i32,
    /// The fields of the partition tuple in order.
    pub fields: Vec<PartitionField>,
}

impl PartitionSpec {
    /// The spec of an unpartitioned table.
    pub fn unpartitioned() -> Self {
        PartitionSpec {
            spec_id: 0,
            fields: Vec::new(),
        }
    }

    /// Whether every row is in the one same partition.
    pub fn is_unpartitioned(&self) -> bool {
        self.fields.iter().all(|f| f.transform == Transform::Void)
    }

    /// Reads a spec object. Errors: Corrupt names the key.
    pub fn from_json(json: &Json) -> Result<PartitionSpec> {
        let object = Object::new(json, "partition spec")?;
        PartitionSpec::from_fields(
            object.opt_i32("spec-id")?.unwrap_or(0),
            object.array("fields")?,
        )
    }

    /// Reads the field list alone, as V1 metadata and manifest headers hold it.
    pub fn from_fields(spec_id: i32, fields: &[Json]) -> Result<PartitionSpec> {
        let fields = fields
            .iter()
            .zip(FIRST_PARTITION_ID..)
            .map(|(json, fallback)| field(json, fallback))
            .collect::<Result<_>>()?;
        Ok(PartitionSpec { spec_id, fields })
    }

    /// The JSON of this spec.
    pub fn to_json(&self) -> Json {
        json!({"spec-id": self.spec_id, "fields": self.fields_json()})
    }

    /// The JSON of the field list alone.
    pub fn fields_json(&self) -> Json {
        let field = |f: &PartitionField| {
            let mut json = json!({"name": f.name, "transform": f.transform.to_string(), "field-id": f.field_id});
            if let Some(map) = json.as_object_mut() {
                match f.source_id() {
                    Some(id) => map.insert("source-id".into(), id.into()),
                    None => map.insert("source-ids".into(), f.source_ids.clone().into()),
                };
            }
            json
        };
        self.fields.iter().map(field).collect()
    }

    /// The greatest partition field id; 999 for an unpartitioned spec.
    pub fn highest_field_id(&self) -> i32 {
        self.fields
            .iter()
            .map(|f| f.field_id)
            .max()
            .unwrap_or(FIRST_PARTITION_ID - 1)
    }
}

/// The members of the column `_partition`: the partition fields of all specs by id, each with the name that the newest
/// spec gives it. Fields of columns that the schema no longer has are left out.
/// Errors: Unsupported names a transform whose values have no known type, or an id that two specs use differently.
pub fn partition_fields(specs: &[PartitionSpec], schema: &Schema) -> Result<Vec<Field>> {
    let mut newest_first: Vec<&PartitionSpec> = specs.iter().collect();
    newest_first.sort_by_key(|spec| std::cmp::Reverse(spec.spec_id));
    let mut found: BTreeMap<i32, (&PartitionField, Field)> = BTreeMap::new();
    for field in newest_first.iter().flat_map(|spec| &spec.fields) {
        let Some(source) = field.source_id().and_then(|id| schema.field(id)) else {
            continue;
        };
        let ty = field.transform.result_type(&source.ty).ok_or_else(|| {
            Error::unsupported(format!(
                "the column _partition with the unknown transform {} of partition field '{}'",
                field.transform, field.name
            ))
        })?;
        match found.get_mut(&field.field_id) {
            None => {
                let member = Field::new(field.field_id, &field.name, false, ty);
                found.insert(field.field_id, (field, member));
            }
            // V1 tables drop a partition field by making it void.
            Some((known, member)) if known.transform == Transform::Void => {
                *known = field;
                member.ty = ty;
            }
            Some((known, _)) => {
                let same = known.source_ids == field.source_ids
                    && (known.transform == field.transform || field.transform == Transform::Void);
                if !same {
                    return Err(Error::unsupported(format!(
                        "the column _partition: specs use the partition field id {} for '{}' and '{}'",
                        field.field_id, known.name, field.name
                    )));
                }
            }
        }
    }
    Ok(found.into_values().map(|(_, member)| member).collect())
}

fn field(json: &Json, fallback_id: i32) -> Result<PartitionField> {
    let object = Object::new(json, "partition field")?;
    let mut source_ids = object.ids("source-ids")?;
    if source_ids.is_empty() {
        source_ids.push(object.i32("source-id")?);
    }
    let name = object.str("name")?.to_owned();
    let transform = Transform::parse(object.str("transform")?);
    if let Transform::Unknown(text) = &transform
        && (text.starts_with("bucket[") || text.starts_with("truncate["))
    {
        return Err(Error::corrupt(format!(
            "partition field '{name}': transform {text} has no valid width"
        )));
    }
    Ok(PartitionField {
        source_ids,
        field_id: object.opt_i32("field-id")?.unwrap_or(fallback_id),
        name,
        transform,
    })
}
