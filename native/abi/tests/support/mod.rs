//! What the tests of the ABI share: the messages, and the cross-language cases as Arrow arrays. The
//! same cases file is replayed by the Java tests.

#![allow(dead_code)]

#[allow(missing_docs, clippy::all, clippy::pedantic)]
pub mod wire {
    include!(concat!(env!("OUT_DIR"), "/benostream.v1.rs"));
}

use std::str::FromStr;
use std::sync::Arc;

use arrow::array::*;
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::*;
use serde_json::Value as Json;

/// One line of `cases.json`.
pub struct Case {
    pub name: String,
    pub field: FieldRef,
    pub values: Vec<Json>,
    pub text: Vec<String>,
}

/// Every case of the file.
pub fn cases() -> Vec<Case> {
    let file: Vec<Json> = serde_json::from_str(include_str!("../cases.json")).unwrap();
    let text = |list: &Json| {
        list.as_array()
            .unwrap()
            .iter()
            .map(|t| t.as_str().unwrap().to_owned())
            .collect()
    };
    file.iter()
        .map(|case| Case {
            name: case["name"].as_str().unwrap().to_owned(),
            field: Arc::new(Field::new(
                case["name"].as_str().unwrap(),
                data_type(&case["type"]),
                true,
            )),
            values: case["values"].as_array().unwrap().clone(),
            text: text(&case["text"]),
        })
        .collect()
}

fn data_type(of: &Json) -> DataType {
    if let Some(name) = of.as_str() {
        return plain_type(name);
    }
    let (kind, inner) = of.as_object().unwrap().iter().next().unwrap();
    let number = |i: usize| i8::try_from(inner[i].as_i64().unwrap()).unwrap();
    match kind.as_str() {
        "decimal" => DataType::Decimal128(number(0).cast_unsigned(), number(1)),
        "fixed" => DataType::FixedSizeBinary(i32::try_from(inner.as_i64().unwrap()).unwrap()),
        "list" => DataType::List(Arc::new(Field::new("element", data_type(inner), true))),
        "struct" => {
            let fields = inner.as_object().unwrap().iter();
            DataType::Struct(
                fields
                    .map(|(name, of)| Field::new(name, data_type(of), true))
                    .collect(),
            )
        }
        "map" => {
            let key = Field::new("key", data_type(&inner[0]), false);
            let value = Field::new("value", data_type(&inner[1]), true);
            DataType::Map(
                Arc::new(Field::new(
                    "key_value",
                    DataType::Struct(vec![key, value].into()),
                    false,
                )),
                false,
            )
        }
        other => panic!("unknown type {other}"),
    }
}

fn plain_type(name: &str) -> DataType {
    match name {
        "boolean" => DataType::Boolean,
        "int" => DataType::Int32,
        "long" => DataType::Int64,
        "float" => DataType::Float32,
        "double" => DataType::Float64,
        "date" => DataType::Date32,
        "time" => DataType::Time64(TimeUnit::Microsecond),
        "timestamp" => DataType::Timestamp(TimeUnit::Microsecond, None),
        "timestamptz" => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
        "string" => DataType::Utf8,
        "uuid" => DataType::FixedSizeBinary(16),
        "binary" => DataType::Binary,
        other => panic!("unknown type {other}"),
    }
}

/// A column of these values.
pub fn column(data_type: &DataType, values: &[Json]) -> ArrayRef {
    match data_type {
        DataType::Boolean => Arc::new(values.iter().map(Json::as_bool).collect::<BooleanArray>()),
        DataType::Utf8 => Arc::new(values.iter().map(Json::as_str).collect::<StringArray>()),
        DataType::Binary => {
            let bytes = values
                .iter()
                .map(|value| value.as_str().map(unhex))
                .collect::<Vec<_>>();
            Arc::new(bytes.iter().map(Option::as_deref).collect::<BinaryArray>())
        }
        DataType::FixedSizeBinary(length) => {
            let bytes = values.iter().map(|value| value.as_str().map(unhex));
            Arc::new(FixedSizeBinaryArray::try_from_sparse_iter_with_size(bytes, *length).unwrap())
        }
        DataType::Decimal128(precision, scale) => {
            let unscaled = |text: &str| text.replace('.', "").parse::<i128>().unwrap();
            let array = values
                .iter()
                .map(|value| value.as_str().map(unscaled))
                .collect::<Decimal128Array>();
            Arc::new(array.with_precision_and_scale(*precision, *scale).unwrap())
        }
        DataType::Struct(_) | DataType::List(_) | DataType::Map(..) => nested(data_type, values),
        _ => number_column(data_type, values),
    }
}

fn number_column(data_type: &DataType, values: &[Json]) -> ArrayRef {
    match data_type {
        DataType::Int32 => Arc::new(numbers::<Int32Type>(values)),
        DataType::Int64 => Arc::new(numbers::<Int64Type>(values)),
        DataType::Float32 => Arc::new(numbers::<Float32Type>(values)),
        DataType::Float64 => Arc::new(numbers::<Float64Type>(values)),
        DataType::Date32 => Arc::new(numbers::<Date32Type>(values)),
        DataType::Time64(_) => Arc::new(numbers::<Time64MicrosecondType>(values)),
        DataType::Timestamp(_, zone) => {
            Arc::new(numbers::<TimestampMicrosecondType>(values).with_timezone_opt(zone.clone()))
        }
        other => panic!("no numbers of type {other}"),
    }
}

fn numbers<T: ArrowPrimitiveType>(values: &[Json]) -> PrimitiveArray<T>
where
    T::Native: FromStr,
    <T::Native as FromStr>::Err: std::fmt::Debug,
{
    values
        .iter()
        .map(|value| {
            value
                .as_str()
                .map(|text| text.parse::<T::Native>().unwrap())
        })
        .collect()
}

fn nested(data_type: &DataType, values: &[Json]) -> ArrayRef {
    let nulls = Some(NullBuffer::from(
        values
            .iter()
            .map(|value| !value.is_null())
            .collect::<Vec<_>>(),
    ));
    let empty = Vec::new();
    let items = || {
        values
            .iter()
            .map(|value| value.as_array().unwrap_or(&empty))
    };
    let offsets = OffsetBuffer::<i32>::from_lengths(items().map(Vec::len));
    let flat = items().flatten().cloned().collect::<Vec<_>>();
    match data_type {
        DataType::Struct(fields) => {
            let child = |field: &FieldRef| {
                let values = values
                    .iter()
                    .map(|value| value.get(field.name()).cloned().unwrap_or(Json::Null));
                column(field.data_type(), &values.collect::<Vec<_>>())
            };
            let children = fields.iter().map(child).collect();
            Arc::new(
                StructArray::try_new_with_length(fields.clone(), children, nulls, values.len())
                    .unwrap(),
            )
        }
        DataType::List(element) => {
            let child = column(element.data_type(), &flat);
            Arc::new(ListArray::new(Arc::clone(element), offsets, child, nulls))
        }
        DataType::Map(entries, _) => {
            let DataType::Struct(pair) = entries.data_type() else {
                panic!("no entries")
            };
            let side = |index: usize| {
                let values = flat
                    .iter()
                    .map(|entry| entry[index].clone())
                    .collect::<Vec<_>>();
                column(pair[index].data_type(), &values)
            };
            let rows = StructArray::new(pair.clone(), vec![side(0), side(1)], None);
            Arc::new(MapArray::new(
                Arc::clone(entries),
                offsets,
                rows,
                nulls,
                false,
            ))
        }
        other => panic!("{other} is not nested"),
    }
}

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len())
        .step_by(2)
        .map(|i| u8::from_str_radix(&text[i..i + 2], 16).unwrap())
        .collect()
}
