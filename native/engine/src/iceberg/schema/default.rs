//! Initial defaults as Arrow: what rows read that are older than a field, at every depth. A struct's default
//! says whether it is there; each of its members has a default of its own.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, ListArray, MapArray, StructArray, UInt32Array, new_empty_array, new_null_array,
};
use arrow::buffer::OffsetBuffer;
use arrow::compute::{concat, take};
use arrow::datatypes::{DataType, FieldRef, Fields};
use serde_json::Value as Json;

use super::{Field, Type};
use crate::error::{Error, Result};
use crate::iceberg::value::{from_json, to_array};

impl Field {
    /// `rows` times the initial default, NULL without one, as an array of the field's type in Arrow.
    /// Errors: Corrupt for a default that is no value of the type, Unsupported for one that cannot be read.
    pub fn default_array(&self, data_type: &DataType, rows: usize) -> Result<ArrayRef> {
        let Some(default) = &self.initial_default else {
            return Ok(new_null_array(data_type, rows));
        };
        let one = one(&self.ty, data_type, default).map_err(|e| e.with("column", &self.name))?;
        Ok(take(&one, &UInt32Array::from_value(0, rows), None)?)
    }
}

/// One row of the value.
fn one(ty: &Type, data_type: &DataType, json: &Json) -> Result<ArrayRef> {
    if json.is_null() {
        return Ok(new_null_array(data_type, 1));
    }
    let wrong = || Error::corrupt(format!("{json} is not a default of type {ty}"));
    match (ty, data_type) {
        (Type::Struct(members), DataType::Struct(fields)) => {
            struct_of(members, fields, json.as_object().ok_or_else(wrong)?)
        }
        (Type::List(element), DataType::List(item)) => {
            let values = json.as_array().ok_or_else(wrong)?;
            let values = all(element, item, values)?;
            let offsets = OffsetBuffer::from_lengths([values.len()]);
            Ok(Arc::new(ListArray::try_new(
                Arc::clone(item),
                offsets,
                values,
                None,
            )?))
        }
        (Type::Map { key, value }, DataType::Map(entries, sorted)) => {
            let DataType::Struct(pair) = entries.data_type() else {
                return Err(wrong());
            };
            let side = |name: &str| json.get(name).and_then(Json::as_array).ok_or_else(wrong);
            let (keys, values) = (side("keys")?, side("values")?);
            let (Some(key_field), Some(value_field)) = (pair.first(), pair.get(1)) else {
                return Err(wrong());
            };
            if keys.len() != values.len() {
                return Err(wrong());
            }
            let columns = vec![all(key, key_field, keys)?, all(value, value_field, values)?];
            let offsets = OffsetBuffer::from_lengths([keys.len()]);
            let pairs = StructArray::try_new(pair.clone(), columns, None)?;
            Ok(Arc::new(MapArray::try_new(
                Arc::clone(entries),
                offsets,
                pairs,
                None,
                *sorted,
            )?))
        }
        _ => to_array(Some(&from_json(ty, json)?), data_type, 1),
    }
}

/// A struct with the members that `json` gives by field id, the others by their own defaults.
fn struct_of(
    members: &[Field],
    fields: &Fields,
    json: &serde_json::Map<String, Json>,
) -> Result<ArrayRef> {
    let mut columns = Vec::with_capacity(fields.len());
    for (member, field) in members.iter().zip(fields) {
        columns.push(match json.get(&member.id.to_string()) {
            Some(given) => one(&member.ty, field.data_type(), given)?,
            None => member.default_array(field.data_type(), 1)?,
        });
    }
    let array = StructArray::try_new_with_length(fields.clone(), columns, None, 1);
    let array = array.map_err(|error| Error::corrupt(format!("default of a struct: {error}")))?;
    Ok(Arc::new(array))
}

/// The values of a list, one after another.
fn all(element: &Field, item: &FieldRef, values: &[Json]) -> Result<ArrayRef> {
    let rows = values
        .iter()
        .map(|value| one(&element.ty, item.data_type(), value))
        .collect::<Result<Vec<_>>>()?;
    let rows: Vec<&dyn Array> = rows.iter().map(AsRef::as_ref).collect();
    if rows.is_empty() {
        return Ok(new_empty_array(item.data_type()));
    }
    Ok(concat(&rows)?)
}
