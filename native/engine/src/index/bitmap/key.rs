//! Values as bytes whose unsigned order is the value order: two's complement with the sign flipped, floats in PostgreSQL's
//! order (-0.0 = 0.0, one NaN, greatest), text and binary as they are. Types that Iceberg promotes into each
//! other (int and long, float and double, decimals of one scale) share a form, so a promoted column's old segments answer losslessly.

use arrow::array::{Array, ArrayRef, AsArray, PrimitiveArray};
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int32Type,
    Int64Type, Time64MicrosecondType, TimeUnit, TimestampMicrosecondType,
};

use crate::error::{Error, Result};
use crate::iceberg::value::Value;

/// How a column's values become keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyType {
    Boolean,
    /// int and long
    Integer,
    /// float and double
    Float,
    Decimal {
        scale: i8,
    },
    Date,
    Time,
    Timestamp,
    TimestampTz,
    String,
    Binary,
    /// fixed and uuid
    Fixed {
        length: i32,
    },
}

impl KeyType {
    /// The key type of an Arrow normal form type; None for what is not primitive.
    pub(super) fn of(data_type: &DataType) -> Option<KeyType> {
        Some(match data_type {
            DataType::Boolean => KeyType::Boolean,
            DataType::Int32 | DataType::Int64 => KeyType::Integer,
            DataType::Float32 | DataType::Float64 => KeyType::Float,
            DataType::Decimal128(_, scale) => KeyType::Decimal { scale: *scale },
            DataType::Date32 => KeyType::Date,
            DataType::Time64(TimeUnit::Microsecond) => KeyType::Time,
            DataType::Timestamp(TimeUnit::Microsecond, None) => KeyType::Timestamp,
            DataType::Timestamp(TimeUnit::Microsecond, Some(_)) => KeyType::TimestampTz,
            DataType::Utf8 => KeyType::String,
            DataType::Binary => KeyType::Binary,
            DataType::FixedSizeBinary(length) => KeyType::Fixed { length: *length },
            _ => return None,
        })
    }

    /// The stored form: a code and a parameter.
    pub(super) fn code(self) -> (u8, i32) {
        match self {
            KeyType::Boolean => (1, 0),
            KeyType::Integer => (2, 0),
            KeyType::Float => (3, 0),
            KeyType::Decimal { scale } => (4, i32::from(scale)),
            KeyType::Date => (5, 0),
            KeyType::Time => (6, 0),
            KeyType::Timestamp => (7, 0),
            KeyType::TimestampTz => (8, 0),
            KeyType::String => (9, 0),
            KeyType::Binary => (10, 0),
            KeyType::Fixed { length } => (11, length),
        }
    }

    /// The inverse of `code`.
    pub(super) fn from_code(code: u8, parameter: i32) -> Option<KeyType> {
        let plain = match code {
            1 => KeyType::Boolean,
            2 => KeyType::Integer,
            3 => KeyType::Float,
            4 => {
                return i8::try_from(parameter)
                    .ok()
                    .map(|scale| KeyType::Decimal { scale });
            }
            5 => KeyType::Date,
            6 => KeyType::Time,
            7 => KeyType::Timestamp,
            8 => KeyType::TimestampTz,
            9 => KeyType::String,
            10 => KeyType::Binary,
            11 => return (parameter >= 0).then_some(KeyType::Fixed { length: parameter }),
            _ => return None,
        };
        (parameter == 0).then_some(plain)
    }

    /// The key of a literal; None when it is not of a type that compares with this column's without loss.
    pub(super) fn key(self, value: &Value) -> Option<Vec<u8>> {
        Some(match (self, value) {
            (KeyType::Boolean, Value::Boolean(v)) => vec![u8::from(*v)],
            (KeyType::Integer, Value::Int(v)) => integer_key(i64::from(*v)).to_vec(),
            (KeyType::Integer, Value::Long(v)) => integer_key(*v).to_vec(),
            (KeyType::Float, Value::Float(v)) => float_key(f64::from(*v)).to_vec(),
            (KeyType::Float, Value::Double(v)) => float_key(*v).to_vec(),
            (
                KeyType::Decimal { scale },
                Value::Decimal {
                    unscaled,
                    scale: literal_scale,
                    ..
                },
            ) if i16::from(scale) == i16::from(*literal_scale) => decimal_key(*unscaled).to_vec(),
            (KeyType::Date, Value::Date(v)) => integer_key(i64::from(*v)).to_vec(),
            (KeyType::Time, Value::Time(v))
            | (KeyType::Timestamp, Value::Timestamp(v))
            | (KeyType::TimestampTz, Value::TimestampTz(v)) => integer_key(*v).to_vec(),
            (KeyType::String, Value::String(v)) => v.as_bytes().to_vec(),
            (KeyType::Binary, Value::Binary(v)) => v.clone(),
            (KeyType::Fixed { length }, Value::Fixed(v))
                if usize::try_from(length) == Ok(v.len()) =>
            {
                v.clone()
            }
            (KeyType::Fixed { length: 16 }, Value::Uuid(v)) => v.to_vec(),
            _ => return None,
        })
    }
}

fn integer_key(value: i64) -> [u8; 8] {
    (value.cast_unsigned() ^ (1 << 63)).to_be_bytes()
}

fn decimal_key(value: i128) -> [u8; 16] {
    (value.cast_unsigned() ^ (1 << 127)).to_be_bytes()
}

/// The key of a float; every NaN has the key of `f64::NAN`, -0.0 that of 0.0.
pub(super) fn float_key(value: f64) -> [u8; 8] {
    const SIGN: u64 = 1 << 63;
    let bits = match value {
        v if v.is_nan() => 0x7ff8_0000_0000_0000,
        0.0 => 0,
        v => v.to_bits(),
    };
    let ordered = if bits & SIGN == 0 { bits | SIGN } else { !bits };
    ordered.to_be_bytes()
}

/// Calls `each` with every row's key, None for NULL. Errors: InvalidInput when the array is not of `key_type`.
pub(super) fn for_each_key(
    array: &ArrayRef,
    key_type: KeyType,
    each: &mut dyn FnMut(Option<&[u8]>) -> Result<()>,
) -> Result<()> {
    if KeyType::of(array.data_type()) != Some(key_type) {
        return Err(Error::invalid_input(format!(
            "bitmap index got a column of type {}, which is not the type it was defined on",
            array.data_type()
        )));
    }
    match array.data_type() {
        DataType::Boolean => array
            .as_boolean()
            .iter()
            .try_for_each(|v| each(v.map(|v| [u8::from(v)]).as_ref().map(|key| key.as_slice()))),
        DataType::Int32 => primitive::<Int32Type, 8>(array, |v| integer_key(i64::from(v)), each),
        DataType::Int64 => primitive::<Int64Type, 8>(array, integer_key, each),
        DataType::Float32 => primitive::<Float32Type, 8>(array, |v| float_key(f64::from(v)), each),
        DataType::Float64 => primitive::<Float64Type, 8>(array, float_key, each),
        DataType::Decimal128(_, _) => primitive::<Decimal128Type, 16>(array, decimal_key, each),
        DataType::Date32 => primitive::<Date32Type, 8>(array, |v| integer_key(i64::from(v)), each),
        DataType::Time64(_) => primitive::<Time64MicrosecondType, 8>(array, integer_key, each),
        DataType::Timestamp(_, _) => {
            primitive::<TimestampMicrosecondType, 8>(array, integer_key, each)
        }
        DataType::Utf8 => array
            .as_string::<i32>()
            .iter()
            .try_for_each(|v| each(v.map(str::as_bytes))),
        DataType::Binary => array.as_binary::<i32>().iter().try_for_each(each),
        DataType::FixedSizeBinary(_) => array.as_fixed_size_binary().iter().try_for_each(each),
        other => Err(Error::internal(format!(
            "bitmap index has no key for type {other}"
        ))),
    }
}

fn primitive<T: ArrowPrimitiveType, const N: usize>(
    array: &ArrayRef,
    key: impl Fn(T::Native) -> [u8; N],
    each: &mut dyn FnMut(Option<&[u8]>) -> Result<()>,
) -> Result<()> {
    let array: &PrimitiveArray<T> = array.as_primitive::<T>();
    array.iter().try_for_each(|value| match value {
        Some(value) => each(Some(&key(value))),
        None => each(None),
    })
}
