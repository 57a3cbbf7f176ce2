//! Iceberg values: the literals of predicates, bounds and partition tuples, and their single-value
//! binary form (Iceberg spec, appendix D). An undecodable bound is absent, never an error.

mod array;
mod binary;
mod coerce;
mod json;
#[cfg(test)]
mod tests;

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

pub use array::to_array;
pub(super) use binary::{decimal_width, fixed_be};
pub use binary::{decode, encode};
pub use json::from_json;
pub(crate) use json::hex;

/// A non-null value of a primitive Iceberg type.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Value {
    Boolean(bool),
    Int(i32),
    Long(i64),
    /// Bits, so that NaN survives every encoding.
    Float(#[serde(with = "float_bits")] f32),
    /// Bits, so that NaN survives every encoding.
    Double(#[serde(with = "double_bits")] f64),
    Decimal {
        unscaled: i128,
        precision: u8,
        scale: u8,
    },
    /// Days since 1970-01-01.
    Date(i32),
    /// Microseconds since midnight.
    Time(i64),
    /// Microseconds since 1970-01-01, no zone.
    Timestamp(i64),
    /// Microseconds since 1970-01-01 UTC.
    TimestampTz(i64),
    /// Nanoseconds since 1970-01-01, no zone.
    TimestampNs(i64),
    /// Nanoseconds since 1970-01-01 UTC.
    TimestampTzNs(i64),
    String(String),
    Uuid([u8; 16]),
    Fixed(Vec<u8>),
    Binary(Vec<u8>),
}

impl Value {
    /// Whether the value is a NaN.
    pub fn is_nan(&self) -> bool {
        match self {
            Value::Float(v) => v.is_nan(),
            Value::Double(v) => v.is_nan(),
            _ => false,
        }
    }

    /// The order of bounds: -0.0 before 0.0, bytes unsigned. None for values of different types, and for
    /// decimals of different scale.
    pub fn bound_cmp(&self, other: &Value) -> Option<Ordering> {
        Some(match (self, other) {
            (Value::Boolean(a), Value::Boolean(b)) => a.cmp(b),
            (Value::Int(a), Value::Int(b)) | (Value::Date(a), Value::Date(b)) => a.cmp(b),
            (Value::Long(a), Value::Long(b))
            | (Value::Time(a), Value::Time(b))
            | (Value::Timestamp(a), Value::Timestamp(b))
            | (Value::TimestampTz(a), Value::TimestampTz(b))
            | (Value::TimestampNs(a), Value::TimestampNs(b))
            | (Value::TimestampTzNs(a), Value::TimestampTzNs(b)) => a.cmp(b),
            (Value::Float(a), Value::Float(b)) => a.total_cmp(b),
            (Value::Double(a), Value::Double(b)) => a.total_cmp(b),
            (
                Value::Decimal {
                    unscaled: a,
                    scale: s,
                    ..
                },
                Value::Decimal {
                    unscaled: b,
                    scale: t,
                    ..
                },
            ) if s == t => a.cmp(b),
            (Value::String(a), Value::String(b)) => a.cmp(b),
            (Value::Uuid(a), Value::Uuid(b)) => a.cmp(b),
            (Value::Fixed(a), Value::Fixed(b)) | (Value::Binary(a), Value::Binary(b)) => a.cmp(b),
            _ => return None,
        })
    }
}

mod float_bits {
    use serde::{Deserialize, Deserializer, Serializer};
    pub(super) fn serialize<S: Serializer>(v: &f32, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_u32(v.to_bits())
    }
    pub(super) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<f32, D::Error> {
        u32::deserialize(d).map(f32::from_bits)
    }
}

mod double_bits {
    use serde::{Deserialize, Deserializer, Serializer};
    pub(super) fn serialize<S: Serializer>(v: &f64, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_u64(v.to_bits())
    }
    pub(super) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<f64, D::Error> {
        u64::deserialize(d).map(f64::from_bits)
    }
}
