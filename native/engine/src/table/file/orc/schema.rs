//! The Arrow fields of an ORC file's columns: our normal form, with the field ids that Iceberg keeps in type
//! attributes. A union has no place in Iceberg; it stands as Null and is refused when it is read.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, TimeUnit};

use super::footer::{Kind, TypeNode};
use crate::error::{Error, Result};
use crate::iceberg::schema::FIELD_ID_KEY;

/// The fields of a struct. Errors: Unsupported names the column.
pub(super) fn arrow_fields(node: &TypeNode) -> Result<Vec<Field>> {
    node.names
        .iter()
        .zip(&node.children)
        .map(|(name, child)| arrow_field(name, child))
        .collect()
}

fn arrow_field(name: &str, node: &TypeNode) -> Result<Field> {
    let data_type = arrow_type(node).map_err(|e| e.with("column", name))?;
    let mut metadata = HashMap::new();
    if let Some(id) = node.attributes.get("iceberg.id") {
        metadata.insert(FIELD_ID_KEY.to_owned(), id.clone());
    }
    Ok(Field::new(name, data_type, true).with_metadata(metadata))
}

fn arrow_type(node: &TypeNode) -> Result<DataType> {
    let attribute = |key: &str| node.attributes.get(key).map(String::as_str);
    let child = |index: usize, name: &str| match node.children.get(index) {
        Some(child) => arrow_field(name, child),
        None => Err(Error::internal("ORC: a type without its child")),
    };
    let unit = match attribute("iceberg.timestamp-unit") {
        Some("NANOS") => TimeUnit::Nanosecond,
        _ => TimeUnit::Microsecond,
    };
    Ok(match node.kind {
        Kind::Boolean => DataType::Boolean,
        Kind::Byte | Kind::Short | Kind::Int => DataType::Int32,
        Kind::Long if attribute("iceberg.long-type") == Some("TIME") => {
            DataType::Time64(TimeUnit::Microsecond)
        }
        Kind::Long => DataType::Int64,
        Kind::Float => DataType::Float32,
        Kind::Double => DataType::Float64,
        Kind::String => DataType::Utf8,
        Kind::Binary => match attribute("iceberg.binary-type") {
            Some("UUID") => DataType::FixedSizeBinary(16),
            Some("FIXED") => {
                let length = attribute("iceberg.length")
                    .and_then(|n| n.parse::<u16>().ok())
                    .filter(|n| *n > 0);
                let length = length.ok_or_else(|| {
                    Error::unsupported("an ORC column of a fixed length that is not given")
                })?;
                DataType::FixedSizeBinary(i32::from(length))
            }
            _ => DataType::Binary,
        },
        Kind::Timestamp => DataType::Timestamp(unit, None),
        Kind::TimestampInstant => DataType::Timestamp(unit, Some("UTC".into())),
        Kind::Date => DataType::Date32,
        Kind::Decimal => match (u8::try_from(node.precision), i8::try_from(node.scale)) {
            (Ok(precision @ 1..=38), Ok(scale)) if scale.cast_unsigned() <= precision => {
                DataType::Decimal128(precision, scale)
            }
            _ => {
                return Err(Error::unsupported(format!(
                    "an ORC decimal of precision {} and scale {}",
                    node.precision, node.scale
                )));
            }
        },
        Kind::List => DataType::List(Arc::new(child(0, "element")?)),
        Kind::Map => {
            let key = child(0, "key")?.with_nullable(false);
            let pair = DataType::Struct(vec![key, child(1, "value")?].into());
            DataType::Map(Arc::new(Field::new("key_value", pair, false)), false)
        }
        Kind::Struct => DataType::Struct(arrow_fields(node)?.into()),
        Kind::Union => DataType::Null,
    })
}
