//! The single-value JSON form (Iceberg spec, appendix D), in which field defaults are written.

use serde_json::Value as Json;

use super::Value;
use crate::error::{Error, Result};
use crate::iceberg::schema::Type;

/// Digits of a fraction of a second, in microseconds and in nanoseconds.
const MICROS: usize = 6;
const NANOS: usize = 9;

/// The value of type `ty` that `json` holds. Errors: Unsupported for nested values, Corrupt for a wrong one.
pub fn from_json(ty: &Type, json: &Json) -> Result<Value> {
    if !ty.is_primitive() {
        return Err(Error::unsupported(format!(
            "a default of type {ty} is not supported"
        )));
    }
    read(ty, json).ok_or_else(|| Error::corrupt(format!("{json} is not a default of type {ty}")))
}

fn read(ty: &Type, json: &Json) -> Option<Value> {
    let int = || json.as_i64().and_then(|n| i32::try_from(n).ok());
    Some(match ty {
        Type::Boolean => Value::Boolean(json.as_bool()?),
        Type::Int => Value::Int(int()?),
        Type::Long => Value::Long(json.as_i64()?),
        #[allow(
            clippy::cast_possible_truncation,
            reason = "a float default is written with the digits of its double"
        )]
        Type::Float => Value::Float(json.as_f64()? as f32),
        Type::Double => Value::Double(json.as_f64()?),
        Type::Decimal { precision, scale } => {
            let text = json
                .as_str()
                .map(str::to_owned)
                .or_else(|| json.is_number().then(|| json.to_string()))?;
            Value::Decimal {
                unscaled: decimal(&text, *precision, *scale)?,
                precision: *precision,
                scale: *scale,
            }
        }
        Type::Date => Value::Date(int().or_else(|| i32::try_from(date(json.as_str()?)?).ok())?),
        Type::Time => Value::Time(time(json.as_str()?, MICROS)?),
        Type::Timestamp => Value::Timestamp(timestamp(json.as_str()?, MICROS)?),
        Type::TimestampTz => Value::TimestampTz(timestamp(utc(json)?, MICROS)?),
        Type::TimestampNs => Value::TimestampNs(timestamp(json.as_str()?, NANOS)?),
        Type::TimestampTzNs => Value::TimestampTzNs(timestamp(utc(json)?, NANOS)?),
        Type::String => Value::String(json.as_str()?.to_owned()),
        Type::Uuid => Value::Uuid(*uuid::Uuid::parse_str(json.as_str()?).ok()?.as_bytes()),
        Type::Fixed(length) => {
            Value::Fixed(hex(json.as_str()?).filter(|b| u32::try_from(b.len()) == Ok(*length))?)
        }
        Type::Binary => Value::Binary(hex(json.as_str()?)?),
        Type::Struct(_)
        | Type::List(_)
        | Type::Map { .. }
        | Type::Unknown
        | Type::Variant
        | Type::Geometry(_)
        | Type::Geography(_)
        | Type::Opaque(_) => return None,
    })
}

/// A timestamp's text without its zone, which is UTC.
fn utc(json: &Json) -> Option<&str> {
    let text = json.as_str()?;
    text.strip_suffix("+00:00")
        .or_else(|| text.strip_suffix('Z'))
}

fn decimal(text: &str, precision: u8, scale: u8) -> Option<i128> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let padding = usize::from(scale).checked_sub(fraction.len())?;
    let all = format!("{whole}{fraction}{}", "0".repeat(padding));
    if !all.bytes().all(|b| b.is_ascii_digit()) || all.is_empty() {
        return None;
    }
    let unscaled: i128 = all.parse().ok()?;
    (unscaled < 10i128.checked_pow(u32::from(precision))?).then_some(if negative {
        -unscaled
    } else {
        unscaled
    })
}

/// Days since 1970-01-01 of `[-]YYYY-MM-DD`, by the proleptic Gregorian calendar.
fn date(text: &str) -> Option<i64> {
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let mut parts = rest.split('-');
    let year: i64 = sign * number(parts.next()?)?;
    let (month, day) = (number(parts.next()?)?, number(parts.next()?)?);
    if parts.next().is_some()
        || !(1..=12).contains(&month)
        || !(1..=31).contains(&day)
        || year.abs() > 5_000_000
    {
        return None;
    }
    let shifted = if month <= 2 { year - 1 } else { year };
    let era = shifted.div_euclid(400);
    let year_of_era = shifted.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    Some(era * 146_097 + day_of_era - 719_468)
}

/// Time since midnight of `HH:MM[:SS[.fraction]]`, in units of so many digits of a second.
fn time(text: &str, digits: usize) -> Option<i64> {
    let mut parts = text.split(':');
    let (hour, minute) = (number(parts.next()?)?, number(parts.next()?)?);
    let (second, fraction) = match parts.next() {
        None => (0, 0),
        Some(seconds) => {
            let (whole, fraction) = seconds.split_once('.').unwrap_or((seconds, ""));
            let padding = digits.checked_sub(fraction.len())?;
            (
                number(whole)?,
                number(&format!("{fraction}{}", "0".repeat(padding)))?,
            )
        }
    };
    let valid = parts.next().is_none() && hour < 24 && minute < 60 && second < 60;
    valid.then_some(((hour * 60 + minute) * 60 + second) * per_second(digits) + fraction)
}

fn timestamp(text: &str, digits: usize) -> Option<i64> {
    let (day, clock) = text.split_once('T')?;
    let day = date(day)?.checked_mul(86_400 * per_second(digits))?;
    day.checked_add(time(clock, digits)?)
}

fn per_second(digits: usize) -> i64 {
    if digits == NANOS {
        1_000_000_000
    } else {
        1_000_000
    }
}

fn number(text: &str) -> Option<i64> {
    let digits = !text.is_empty() && text.len() <= 9 && text.bytes().all(|b| b.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}

/// The bytes of pairs of hex digits.
pub(crate) fn hex(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u32> = text
        .chars()
        .map(|c| c.to_digit(16))
        .collect::<Option<_>>()?;
    let pair = |p: &[u32]| match p {
        [high, low] => u8::try_from(high * 16 + low).ok(),
        _ => None,
    };
    digits.chunks(2).map(pair).collect()
}
