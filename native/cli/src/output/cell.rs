//! One value as text: plain for tables and CSV, JSON for nested values and JSON lines.

use std::fmt::Write as _;

use arrow::array::{Array, ArrayRef, AsArray, MapArray, StructArray};
use arrow::datatypes::{
    DataType, Decimal128Type, Decimal256Type, Field, Float16Type, Float32Type, Float64Type,
    Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use benostreamdb::{Error, Result};

/// The largest integer that every JSON reader keeps exact.
const JSON_INTEGER_MAX: u64 = 1 << 53;

const UUID_BYTES: usize = 16;

/// A value as text; None for NULL. Nested values are JSON.
pub(super) fn plain(array: &ArrayRef, field: &Field, row: usize) -> Result<Option<String>> {
    if is_null(array, row) {
        return Ok(None);
    }
    let text = match array.data_type() {
        DataType::Utf8 => array.as_string::<i32>().value(row).to_string(),
        DataType::LargeUtf8 => array.as_string::<i64>().value(row).to_string(),
        DataType::Utf8View => array.as_string_view().value(row).to_string(),
        DataType::Float64 => float(array.as_primitive::<Float64Type>().value(row)),
        DataType::Float32 => float32(array.as_primitive::<Float32Type>().value(row)),
        DataType::Float16 => float32(array.as_primitive::<Float16Type>().value(row).to_f32()),
        DataType::Binary
        | DataType::LargeBinary
        | DataType::BinaryView
        | DataType::FixedSizeBinary(_) => bytes(array, field, row)?,
        DataType::Dictionary(..) => {
            let values = arrow::compute::cast(array, &dictionary_values(array.data_type()))?;
            return plain(&values, field, row);
        }
        data_type if data_type.is_nested() => {
            let mut text = String::new();
            json(array, field, row, &mut text)?;
            text
        }
        _ => formatted(array, row)?,
    };
    Ok(Some(text))
}

/// Appends a value as JSON.
pub(super) fn json(array: &ArrayRef, field: &Field, row: usize, out: &mut String) -> Result<()> {
    if is_null(array, row) {
        out.push_str("null");
        return Ok(());
    }
    match array.data_type() {
        DataType::Boolean => out.push_str(if array.as_boolean().value(row) {
            "true"
        } else {
            "false"
        }),
        DataType::Int8 => signed(i64::from(array.as_primitive::<Int8Type>().value(row)), out),
        DataType::Int16 => signed(i64::from(array.as_primitive::<Int16Type>().value(row)), out),
        DataType::Int32 => signed(i64::from(array.as_primitive::<Int32Type>().value(row)), out),
        DataType::Int64 => signed(array.as_primitive::<Int64Type>().value(row), out),
        DataType::UInt8 => unsigned(u64::from(array.as_primitive::<UInt8Type>().value(row)), out),
        DataType::UInt16 => unsigned(
            u64::from(array.as_primitive::<UInt16Type>().value(row)),
            out,
        ),
        DataType::UInt32 => unsigned(
            u64::from(array.as_primitive::<UInt32Type>().value(row)),
            out,
        ),
        DataType::UInt64 => unsigned(array.as_primitive::<UInt64Type>().value(row), out),
        DataType::Float16 => json_float(
            array
                .as_primitive::<Float16Type>()
                .value(row)
                .to_f32()
                .into(),
            true,
            out,
        ),
        DataType::Float32 => json_float(
            array.as_primitive::<Float32Type>().value(row).into(),
            true,
            out,
        ),
        DataType::Float64 => json_float(array.as_primitive::<Float64Type>().value(row), false, out),
        DataType::Decimal128(..) => string(
            &array.as_primitive::<Decimal128Type>().value_as_string(row),
            out,
        ),
        DataType::Decimal256(..) => string(
            &array.as_primitive::<Decimal256Type>().value_as_string(row),
            out,
        ),
        DataType::List(element)
        | DataType::LargeList(element)
        | DataType::FixedSizeList(element, _) => {
            json_list(&list_value(array, row)?, element, out)?;
        }
        DataType::Struct(_) => json_struct(array.as_struct(), row, out)?,
        DataType::Map(..) => json_map(array.as_map(), row, out)?,
        _ => {
            let text = plain(array, field, row)?.unwrap_or_default();
            string(&text, out);
        }
    }
    Ok(())
}

fn is_null(array: &ArrayRef, row: usize) -> bool {
    array.data_type() == &DataType::Null || array.is_null(row)
}

fn dictionary_values(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Dictionary(_, values) => values.as_ref().clone(),
        other => other.clone(),
    }
}

/// Dates, times, timestamps (ISO 8601), decimals, integers, booleans, intervals.
fn formatted(array: &ArrayRef, row: usize) -> Result<String> {
    let options = FormatOptions::default();
    let formatter = ArrayFormatter::try_new(array.as_ref(), &options)?;
    let text = formatter.value(row).try_to_string();
    text.map_err(|error| Error::internal(format!("a value cannot be printed: {error}")))
}

fn float(value: f64) -> String {
    match value {
        v if v.is_nan() => "NaN".to_string(),
        f64::INFINITY => "Infinity".to_string(),
        f64::NEG_INFINITY => "-Infinity".to_string(),
        v => format!("{v:?}"),
    }
}

fn float32(value: f32) -> String {
    if value.is_finite() {
        format!("{value:?}")
    } else {
        float(f64::from(value))
    }
}

fn json_float(value: f64, single: bool, out: &mut String) {
    if !value.is_finite() {
        string(&float(value), out);
    } else if single {
        #[allow(
            clippy::cast_possible_truncation,
            reason = "the value came from a float"
        )]
        out.push_str(&float32(value as f32));
    } else {
        out.push_str(&float(value));
    }
}

fn signed(value: i64, out: &mut String) {
    let text = value.to_string();
    if value.unsigned_abs() > JSON_INTEGER_MAX {
        string(&text, out)
    } else {
        out.push_str(&text)
    }
}

fn unsigned(value: u64, out: &mut String) {
    let text = value.to_string();
    if value > JSON_INTEGER_MAX {
        string(&text, out)
    } else {
        out.push_str(&text)
    }
}

/// Appends a JSON string.
pub(super) fn string(text: &str, out: &mut String) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            control if control < ' ' => {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\u{:04x}", u32::from(control));
            }
            other => out.push(other),
        }
    }
    out.push('"');
}

fn bytes(array: &ArrayRef, field: &Field, row: usize) -> Result<String> {
    let value: &[u8] = match array.data_type() {
        DataType::Binary => array.as_binary::<i32>().value(row),
        DataType::LargeBinary => array.as_binary::<i64>().value(row),
        DataType::BinaryView => array.as_binary_view().value(row),
        DataType::FixedSizeBinary(_) => array.as_fixed_size_binary().value(row),
        other => return Err(Error::internal(format!("no bytes: {other}"))),
    };
    let uuid = field
        .metadata()
        .get("ARROW:extension:name")
        .is_some_and(|name| name == "arrow.uuid");
    let dashes: &[usize] = if uuid && value.len() == UUID_BYTES {
        &[4, 6, 8, 10]
    } else {
        &[]
    };
    let mut text = String::with_capacity(value.len() * 2 + dashes.len());
    for (index, byte) in value.iter().enumerate() {
        if dashes.contains(&index) {
            text.push('-');
        }
        let _ = write!(text, "{byte:02x}");
    }
    Ok(text)
}

fn list_value(array: &ArrayRef, row: usize) -> Result<ArrayRef> {
    match array.data_type() {
        DataType::List(_) => Ok(array.as_list::<i32>().value(row)),
        DataType::LargeList(_) => Ok(array.as_list::<i64>().value(row)),
        DataType::FixedSizeList(..) => Ok(array.as_fixed_size_list().value(row)),
        other => Err(Error::internal(format!("no list: {other}"))),
    }
}

fn json_list(values: &ArrayRef, element: &Field, out: &mut String) -> Result<()> {
    out.push('[');
    for index in 0..values.len() {
        if index > 0 {
            out.push(',');
        }
        json(values, element, index, out)?;
    }
    out.push(']');
    Ok(())
}

fn json_struct(array: &StructArray, row: usize, out: &mut String) -> Result<()> {
    out.push('{');
    for (index, (field, column)) in array.fields().iter().zip(array.columns()).enumerate() {
        if index > 0 {
            out.push(',');
        }
        string(field.name(), out);
        out.push(':');
        json(column, field, row, out)?;
    }
    out.push('}');
    Ok(())
}

fn json_map(array: &MapArray, row: usize, out: &mut String) -> Result<()> {
    let entries = array.value(row);
    out.push('[');
    for index in 0..entries.len() {
        if index > 0 {
            out.push(',');
        }
        let mut fields = entries.fields().iter().zip(entries.columns());
        for (name, part) in [("{\"key\":", fields.next()), (",\"value\":", fields.next())] {
            out.push_str(name);
            let (field, column) =
                part.ok_or_else(|| Error::internal("a map without keys or values"))?;
            json(column, field, index, out)?;
        }
        out.push('}');
    }
    out.push(']');
    Ok(())
}
