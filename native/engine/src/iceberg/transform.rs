//! What partition transforms make of values (Iceberg spec, partition transforms): hashes, cuts and calendar
//! units. NULL stays NULL and is the caller's; everything rounds down, also below zero.

#[cfg(test)]
mod tests;

use super::schema::Type;
use super::spec::Transform;
use super::value::Value;
use crate::error::{Error, Result};

pub(super) const DAY_US: i64 = 86_400_000_000;
pub(super) const HOUR_US: i64 = 3_600_000_000;
/// Nanoseconds of a microsecond.
pub(super) const US_NS: i64 = 1_000;

impl Transform {
    /// The partition value of a value that is not NULL; None is NULL. Errors: Unsupported for a transform that this
    /// engine does not know or that has no meaning for the type.
    pub fn apply(&self, value: &Value) -> Result<Option<Value>> {
        let result = match self {
            Transform::Void => return Ok(None),
            Transform::Unknown(_) => None,
            Transform::Identity => Some(value.clone()),
            Transform::Bucket(count) => bucket(value, *count).map(Value::Int),
            Transform::Truncate(width) => truncate(value, *width),
            Transform::Year | Transform::Month | Transform::Day | Transform::Hour => {
                unit(self, value)
            }
        };
        result.map(Some).ok_or_else(|| {
            Error::unsupported(format!(
                "partition transform {self} is not supported for the value {value:?}"
            ))
        })
    }

    /// Whether the transform is defined for columns of this type.
    pub fn takes(&self, source: &Type) -> bool {
        match self {
            Transform::Identity | Transform::Void => source.is_primitive(),
            Transform::Bucket(_) => {
                source.is_primitive()
                    && !matches!(source, Type::Boolean | Type::Float | Type::Double)
            }
            Transform::Truncate(_) => matches!(
                source,
                Type::Int | Type::Long | Type::Decimal { .. } | Type::String | Type::Binary
            ),
            Transform::Year | Transform::Month | Transform::Day => {
                *source == Type::Date || source.is_timestamp()
            }
            Transform::Hour => source.is_timestamp(),
            Transform::Unknown(_) => false,
        }
    }
}

/// The number of the bucket, from 0.
pub(super) fn bucket(value: &Value, count: u32) -> Option<i32> {
    if matches!(
        value,
        Value::Boolean(_) | Value::Float(_) | Value::Double(_)
    ) {
        return None;
    }
    let hash = u32::try_from(hash(value) & i32::MAX).ok()?;
    i32::try_from(hash.checked_rem(count)?).ok()
}

/// The hash of a value: equal for values that are equal after a promotion.
pub(super) fn hash(value: &Value) -> i32 {
    let long = |v: i64| murmur3(&v.to_le_bytes());
    // Adding 0.0 makes -0.0 positive; every NaN is one value.
    let double = |v: f64| {
        let bits = if v.is_nan() {
            f64::NAN.to_bits()
        } else {
            (v + 0.0).to_bits()
        };
        long(bits.cast_signed())
    };
    match value {
        Value::Boolean(v) => long(i64::from(*v)),
        Value::Int(v) | Value::Date(v) => long(i64::from(*v)),
        Value::Long(v) | Value::Time(v) | Value::Timestamp(v) | Value::TimestampTz(v) => long(*v),
        Value::TimestampNs(v) | Value::TimestampTzNs(v) => long(v.div_euclid(US_NS)),
        Value::Float(v) => double(f64::from(*v)),
        Value::Double(v) => double(*v),
        Value::Decimal { .. }
        | Value::String(_)
        | Value::Uuid(_)
        | Value::Fixed(_)
        | Value::Binary(_) => murmur3(&super::value::encode(value)),
    }
}

/// Murmur3, 32 bits for x86, seed 0.
fn murmur3(bytes: &[u8]) -> i32 {
    let mix = |k: u32| {
        k.wrapping_mul(0xcc9e_2d51)
            .rotate_left(15)
            .wrapping_mul(0x1b87_3593)
    };
    let (words, tail) = bytes.as_chunks::<4>();
    let mut hash = words.iter().fold(0u32, |hash, word| {
        (hash ^ mix(u32::from_le_bytes(*word)))
            .rotate_left(13)
            .wrapping_mul(5)
            .wrapping_add(0xe654_6b64)
    });
    if !tail.is_empty() {
        let rest = tail
            .iter()
            .rev()
            .fold(0, |k, byte| (k << 8) | u32::from(*byte));
        hash ^= mix(rest);
    }
    #[allow(
        clippy::cast_possible_truncation,
        reason = "the length enters the hash modulo 2^32"
    )]
    let length = bytes.len() as u32;
    hash ^= length;
    hash = (hash ^ (hash >> 16)).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ (hash >> 13)).wrapping_mul(0xc2b2_ae35);
    (hash ^ (hash >> 16)).cast_signed()
}

/// Numbers are cut towards negative infinity. Near the least number there is nothing below: the result wraps, as
/// every known writer's does (apache/iceberg#9767), and readers must expect it.
fn truncate(value: &Value, width: u32) -> Option<Value> {
    let count = usize::try_from(width).ok()?;
    Some(match value {
        Value::Int(v) => Value::Int(v.wrapping_sub(v.rem_euclid(i32::try_from(width).ok()?))),
        Value::Long(v) => Value::Long(v.wrapping_sub(v.rem_euclid(i64::from(width)))),
        Value::Decimal {
            unscaled,
            precision,
            scale,
        } => Value::Decimal {
            unscaled: unscaled.checked_sub(unscaled.rem_euclid(i128::from(width)))?,
            precision: *precision,
            scale: *scale,
        },
        Value::String(s) => Value::String(s.chars().take(count).collect()),
        Value::Binary(b) => Value::Binary(b.iter().copied().take(count).collect()),
        _ => return None,
    })
}

/// How many whole units lie between 1970-01-01 and the value.
fn unit(transform: &Transform, value: &Value) -> Option<Value> {
    let days = match value {
        Value::Date(days) => i64::from(*days),
        Value::Timestamp(us) | Value::TimestampTz(us) => us.div_euclid(DAY_US),
        Value::TimestampNs(ns) | Value::TimestampTzNs(ns) => ns.div_euclid(DAY_US * US_NS),
        _ => return None,
    };
    let (year, month) = year_month(days);
    let units = match (transform, value) {
        (Transform::Year, _) => year - 1970,
        (Transform::Month, _) => (year - 1970) * 12 + month - 1,
        (Transform::Day, _) => return Some(Value::Date(i32::try_from(days).ok()?)),
        (Transform::Hour, Value::Timestamp(us) | Value::TimestampTz(us)) => us.div_euclid(HOUR_US),
        (Transform::Hour, Value::TimestampNs(ns) | Value::TimestampTzNs(ns)) => {
            ns.div_euclid(HOUR_US * US_NS)
        }
        _ => return None,
    };
    Some(Value::Int(i32::try_from(units).ok()?))
}

/// Year and month (1 to 12) of a day since 1970-01-01, by the proleptic Gregorian calendar.
fn year_month(days: i64) -> (i64, i64) {
    // Years that begin in March have the leap day last.
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let year = era * 400 + year_of_era;
    if from_march < 10 {
        (year, from_march + 3)
    } else {
        (year + 1, from_march - 9)
    }
}

/// The first day of a month that is counted from January 1970.
pub(super) fn first_day(month: i64) -> i64 {
    let (year, month) = (1970 + month.div_euclid(12), month.rem_euclid(12));
    let (year, from_march) = if month < 2 {
        (year - 1, month + 10)
    } else {
        (year, month - 2)
    };
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_era =
        year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + (153 * from_march + 2) / 5;
    era * 146_097 + day_of_era - 719_468
}
