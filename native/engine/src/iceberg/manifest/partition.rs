//! The partition tuple of a manifest that is written: its Avro types, its values, and their summaries.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use serde_json::{Value as Json, json};

use super::write::{optional, sanitised};
use super::{DataFile, FieldSummary};
use crate::error::{Error, Result};
use crate::iceberg::avro::{put_bytes, put_long, put_optional};
use crate::iceberg::schema::{Schema, Type};
use crate::iceberg::spec::{PartitionSpec, Transform};
use crate::iceberg::value::{self, Value};

/// The columns of the tuple, and what has gone through them so far.
pub(super) struct PartitionColumns {
    columns: Vec<Column>,
    avro: Vec<Json>,
}

struct Column {
    field_id: i32,
    name: String,
    ty: Type,
    contains_null: bool,
    contains_nan: bool,
    range: Option<(Value, Value)>,
}

impl PartitionColumns {
    /// Errors: Unsupported for an unknown transform or a source column that no longer exists.
    pub(super) fn new(spec: &PartitionSpec, schema: &Schema) -> Result<Self> {
        let (mut columns, mut avro) = (Vec::new(), Vec::new());
        let (mut names, mut types) = (BTreeSet::new(), BTreeSet::new());
        for field in &spec.fields {
            let source = field
                .source_id()
                .and_then(|id| schema.field(id))
                .map(|f| &f.ty);
            let ty = match (&field.transform, source) {
                // A void field holds nothing, whatever became of its source.
                (Transform::Void, None) => Some(Type::Int),
                (_, None) => None,
                (transform, Some(source)) => transform.result_type(source),
            };
            let Some(ty) = ty.filter(Type::is_primitive) else {
                let why = format!(
                    "partition field '{}' by {} of a missing or unknown column or by an unknown transform",
                    field.name, field.transform
                );
                return Err(Error::unsupported(format!("{why} cannot be written")));
            };
            let mut json = optional(
                field.field_id,
                &sanitised(&field.name, &mut names),
                avro_type(&ty, &mut types),
            );
            if let Some(map) = json.as_object_mut()
                && map.get("name").and_then(Json::as_str) != Some(&field.name)
            {
                map.insert("iceberg-field-name".into(), field.name.as_str().into());
            }
            avro.push(json);
            let name = field.name.clone();
            columns.push(Column {
                field_id: field.field_id,
                name,
                ty,
                contains_null: false,
                contains_nan: false,
                range: None,
            });
        }
        Ok(PartitionColumns { columns, avro })
    }

    pub(super) fn avro_fields(&self) -> &[Json] {
        &self.avro
    }

    /// The tuple of `file` as Avro; a field that the file does not have is NULL.
    pub(super) fn encode(&mut self, file: &DataFile) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        for column in &mut self.columns {
            let stored = file
                .partition
                .iter()
                .find(|(id, _)| *id == column.field_id)
                .and_then(|(_, value)| value.as_ref());
            let value = match stored {
                None => None,
                Some(stored) => Some(stored.to_value(&column.ty).ok_or_else(|| {
                    let what = format!("partition value of '{}' is no {}", column.name, column.ty);
                    Error::corrupt(format!("file {}: the {what}", file.path))
                })?),
            };
            put_optional(&mut out, value.as_ref(), |out, value| {
                put_value(out, &column.ty, value)
            });
            column.add(value);
        }
        Ok(out)
    }

    pub(super) fn into_summaries(self) -> Vec<FieldSummary> {
        let summary = |column: Column| FieldSummary {
            contains_null: column.contains_null,
            contains_nan: Some(column.contains_nan),
            lower_bound: column.range.as_ref().map(|(lower, _)| value::encode(lower)),
            upper_bound: column.range.as_ref().map(|(_, upper)| value::encode(upper)),
        };
        self.columns.into_iter().map(summary).collect()
    }
}

impl Column {
    fn add(&mut self, value: Option<Value>) {
        let Some(value) = value else {
            self.contains_null = true;
            return;
        };
        if value.is_nan() {
            self.contains_nan = true;
            return;
        }
        match &mut self.range {
            None => self.range = Some((value.clone(), value)),
            Some((lower, upper)) => {
                if value.bound_cmp(lower) == Some(Ordering::Less) {
                    *lower = value.clone();
                }
                if value.bound_cmp(upper) == Some(Ordering::Greater) {
                    *upper = value;
                }
            }
        }
    }
}

fn avro_type(ty: &Type, named: &mut BTreeSet<String>) -> Json {
    let mut once = |name: String, json: Json| {
        if named.insert(name.clone()) {
            json
        } else {
            name.into()
        }
    };
    match ty {
        Type::Boolean => json!("boolean"),
        Type::Long => json!("long"),
        Type::Float => json!("float"),
        Type::Double => json!("double"),
        Type::Date => json!({"type": "int", "logicalType": "date"}),
        Type::Time => json!({"type": "long", "logicalType": "time-micros"}),
        Type::Timestamp => {
            json!({"type": "long", "logicalType": "timestamp-micros", "adjust-to-utc": false})
        }
        Type::TimestampTz => {
            json!({"type": "long", "logicalType": "timestamp-micros", "adjust-to-utc": true})
        }
        Type::TimestampNs => {
            json!({"type": "long", "logicalType": "timestamp-nanos", "adjust-to-utc": false})
        }
        Type::TimestampTzNs => {
            json!({"type": "long", "logicalType": "timestamp-nanos", "adjust-to-utc": true})
        }
        Type::String => json!("string"),
        Type::Binary => json!("bytes"),
        Type::Uuid => {
            let name = "uuid_fixed".to_owned();
            once(
                name.clone(),
                json!({"type": "fixed", "name": name, "size": 16, "logicalType": "uuid"}),
            )
        }
        Type::Fixed(length) => {
            let name = format!("fixed_{length}");
            once(
                name.clone(),
                json!({"type": "fixed", "name": name, "size": length}),
            )
        }
        Type::Decimal { precision, scale } => {
            let (name, size) = (
                format!("decimal_{precision}_{scale}"),
                value::decimal_width(*precision),
            );
            let logical = json!({"type": "fixed", "name": name, "size": size, "logicalType": "decimal",
                "precision": precision, "scale": scale});
            once(name, logical)
        }
        _ => json!("int"),
    }
}

fn put_value(out: &mut Vec<u8>, ty: &Type, value: &Value) {
    match value {
        Value::Boolean(b) => out.push(u8::from(*b)),
        Value::Int(v) | Value::Date(v) => put_long(out, i64::from(*v)),
        Value::Long(v)
        | Value::Time(v)
        | Value::Timestamp(v)
        | Value::TimestampTz(v)
        | Value::TimestampNs(v)
        | Value::TimestampTzNs(v) => put_long(out, *v),
        Value::Float(v) => out.extend_from_slice(&v.to_le_bytes()),
        Value::Double(v) => out.extend_from_slice(&v.to_le_bytes()),
        Value::String(s) => put_bytes(out, s.as_bytes()),
        Value::Binary(b) => put_bytes(out, b),
        Value::Uuid(b) => out.extend_from_slice(b),
        Value::Decimal {
            unscaled,
            precision,
            ..
        } => out.extend(value::fixed_be(*unscaled, *precision)),
        Value::Fixed(b) => {
            let length = match ty {
                Type::Fixed(length) => usize::try_from(*length).unwrap_or(b.len()),
                _ => b.len(),
            };
            out.extend(b.iter().copied().chain(std::iter::repeat(0)).take(length));
        }
    }
}
