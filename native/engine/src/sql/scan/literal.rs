//! Literals of the planner as values of a column's type. A literal that the type cannot hold exactly is not
//! converted, and the predicate stays with the planner.

use arrow::datatypes::{DataType, Field, TimeUnit};
use datafusion::common::ScalarValue;

use crate::iceberg::value::Value;

/// The field metadata that names an extension type.
pub(crate) const EXTENSION_NAME_KEY: &str = "ARROW:extension:name";

/// The extension name of uuid columns.
pub(crate) const UUID_EXTENSION: &str = "arrow.uuid";

/// `literal` as a value of the type of `column`; None if it is NULL or not exactly representable.
pub(super) fn value_for(column: &Field, literal: &ScalarValue) -> Option<Value> {
    match (column.data_type(), literal) {
        (DataType::Boolean, ScalarValue::Boolean(Some(v))) => Some(Value::Boolean(*v)),
        (DataType::Int32, _) => i32::try_from(integer(literal)?).ok().map(Value::Int),
        (DataType::Int64, _) => i64::try_from(integer(literal)?).ok().map(Value::Long),
        (DataType::Float32, _) => float32(literal).map(Value::Float),
        (DataType::Float64, ScalarValue::Float64(Some(v))) => Some(Value::Double(*v)),
        (DataType::Float64, ScalarValue::Float32(Some(v))) => Some(Value::Double(f64::from(*v))),
        (DataType::Decimal128(precision, scale), _) => decimal(literal, *precision, *scale),
        (DataType::Date32, ScalarValue::Date32(Some(v))) => Some(Value::Date(*v)),
        (DataType::Time64(TimeUnit::Microsecond), _) => time(literal).map(Value::Time),
        (DataType::Timestamp(TimeUnit::Microsecond, zone), _) => {
            let (micros, zoned) = timestamp(literal)?;
            match (zone.is_some(), zoned) {
                (true, true) => Some(Value::TimestampTz(micros)),
                (false, false) => Some(Value::Timestamp(micros)),
                _ => None,
            }
        }
        (DataType::Timestamp(TimeUnit::Nanosecond, zone), _) => {
            let (nanos, zoned) = nanoseconds(literal)?;
            match (zone.is_some(), zoned) {
                (true, true) => Some(Value::TimestampTzNs(nanos)),
                (false, false) => Some(Value::TimestampNs(nanos)),
                _ => None,
            }
        }
        (
            DataType::Utf8,
            ScalarValue::Utf8(Some(v))
            | ScalarValue::LargeUtf8(Some(v))
            | ScalarValue::Utf8View(Some(v)),
        ) => Some(Value::String(v.clone())),
        (
            DataType::Binary,
            ScalarValue::Binary(Some(v))
            | ScalarValue::LargeBinary(Some(v))
            | ScalarValue::BinaryView(Some(v)),
        ) => Some(Value::Binary(v.clone())),
        (
            DataType::FixedSizeBinary(width),
            ScalarValue::FixedSizeBinary(literal_width, Some(v)),
        ) if width == literal_width => match is_uuid(column) {
            true => v.as_slice().try_into().ok().map(Value::Uuid),
            false => Some(Value::Fixed(v.clone())),
        },
        _ => None,
    }
}

/// Whether a field holds uuids.
pub(crate) fn is_uuid(field: &Field) -> bool {
    field
        .metadata()
        .get(EXTENSION_NAME_KEY)
        .is_some_and(|name| name == UUID_EXTENSION)
}

fn integer(literal: &ScalarValue) -> Option<i128> {
    match literal {
        ScalarValue::Int8(Some(v)) => Some(i128::from(*v)),
        ScalarValue::Int16(Some(v)) => Some(i128::from(*v)),
        ScalarValue::Int32(Some(v)) => Some(i128::from(*v)),
        ScalarValue::Int64(Some(v)) => Some(i128::from(*v)),
        ScalarValue::UInt8(Some(v)) => Some(i128::from(*v)),
        ScalarValue::UInt16(Some(v)) => Some(i128::from(*v)),
        ScalarValue::UInt32(Some(v)) => Some(i128::from(*v)),
        ScalarValue::UInt64(Some(v)) => Some(i128::from(*v)),
        ScalarValue::Decimal128(Some(v), _, scale) => rescale(*v, *scale, 0),
        _ => None,
    }
}

/// Only a double that a float holds exactly.
fn float32(literal: &ScalarValue) -> Option<f32> {
    match literal {
        ScalarValue::Float32(Some(v)) => Some(*v),
        ScalarValue::Float64(Some(v)) => {
            #[allow(
                clippy::cast_possible_truncation,
                reason = "the check behind it tells whether anything was lost"
            )]
            let narrow = *v as f32;
            (f64::from(narrow) == *v || v.is_nan()).then_some(narrow)
        }
        _ => None,
    }
}

fn decimal(literal: &ScalarValue, precision: u8, scale: i8) -> Option<Value> {
    let unscaled = match literal {
        ScalarValue::Decimal128(Some(v), _, from) => rescale(*v, *from, scale)?,
        other => rescale(integer(other)?, 0, scale)?,
    };
    let limit = 10i128.checked_pow(u32::from(precision))?;
    let scale = u8::try_from(scale).ok()?;
    (unscaled.abs() < limit).then_some(Value::Decimal {
        unscaled,
        precision,
        scale,
    })
}

/// The unscaled value at another scale, if no digit is lost.
fn rescale(unscaled: i128, from: i8, to: i8) -> Option<i128> {
    let shift = i32::from(to) - i32::from(from);
    let factor = 10i128.checked_pow(shift.unsigned_abs())?;
    if shift >= 0 {
        return unscaled.checked_mul(factor);
    }
    (unscaled % factor == 0).then_some(unscaled / factor)
}

fn time(literal: &ScalarValue) -> Option<i64> {
    match literal {
        ScalarValue::Time64Microsecond(Some(v)) => Some(*v),
        ScalarValue::Time64Nanosecond(Some(v)) => (v % 1_000 == 0).then_some(v / 1_000),
        ScalarValue::Time32Millisecond(Some(v)) => Some(i64::from(*v) * 1_000),
        ScalarValue::Time32Second(Some(v)) => Some(i64::from(*v) * 1_000_000),
        _ => None,
    }
}

/// Nanoseconds, and whether the literal has a zone.
fn nanoseconds(literal: &ScalarValue) -> Option<(i64, bool)> {
    if let ScalarValue::TimestampNanosecond(Some(v), zone) = literal {
        return Some((*v, zone.is_some()));
    }
    let (micros, zoned) = timestamp(literal)?;
    Some((micros.checked_mul(1_000)?, zoned))
}

/// Microseconds, and whether the literal has a zone.
fn timestamp(literal: &ScalarValue) -> Option<(i64, bool)> {
    match literal {
        ScalarValue::TimestampMicrosecond(Some(v), zone) => Some((*v, zone.is_some())),
        ScalarValue::TimestampNanosecond(Some(v), zone) => {
            (v % 1_000 == 0).then_some((v / 1_000, zone.is_some()))
        }
        ScalarValue::TimestampMillisecond(Some(v), zone) => {
            Some((v.checked_mul(1_000)?, zone.is_some()))
        }
        ScalarValue::TimestampSecond(Some(v), zone) => {
            Some((v.checked_mul(1_000_000)?, zone.is_some()))
        }
        _ => None,
    }
}
