//! The single-value binary form (Iceberg spec, appendix D). Bounds stay as wide as they were when their
//! file was written: after a promotion the length tells.

use super::Value;
use crate::iceberg::schema::Type;

/// The binary form of a value.
pub fn encode(value: &Value) -> Vec<u8> {
    match value {
        Value::Boolean(b) => vec![u8::from(*b)],
        Value::Int(v) | Value::Date(v) => v.to_le_bytes().to_vec(),
        Value::Long(v)
        | Value::Time(v)
        | Value::Timestamp(v)
        | Value::TimestampTz(v)
        | Value::TimestampNs(v)
        | Value::TimestampTzNs(v) => v.to_le_bytes().to_vec(),
        Value::Float(v) => v.to_le_bytes().to_vec(),
        Value::Double(v) => v.to_le_bytes().to_vec(),
        Value::Decimal { unscaled, .. } => minimal_be(*unscaled),
        Value::String(s) => s.as_bytes().to_vec(),
        Value::Uuid(b) => b.to_vec(),
        Value::Fixed(b) | Value::Binary(b) => b.clone(),
    }
}

/// The value of type `ty` that `bytes` hold; None where they hold none.
pub fn decode(ty: &Type, bytes: &[u8]) -> Option<Value> {
    Some(match ty {
        Type::Boolean => match bytes {
            [0] => Value::Boolean(false),
            [_] => Value::Boolean(true),
            _ => return None,
        },
        Type::Int => Value::Int(int(bytes)?),
        Type::Date => Value::Date(int(bytes)?),
        Type::Long => Value::Long(int(bytes).map(i64::from).or_else(|| long(bytes))?),
        Type::Time => Value::Time(long(bytes)?),
        Type::Timestamp => Value::Timestamp(long(bytes)?),
        Type::TimestampTz => Value::TimestampTz(long(bytes)?),
        Type::TimestampNs => Value::TimestampNs(long(bytes)?),
        Type::TimestampTzNs => Value::TimestampTzNs(long(bytes)?),
        Type::Float => Value::Float(f32::from_le_bytes(bytes.try_into().ok()?)),
        Type::Double => match bytes.len() {
            4 => Value::Double(f32::from_le_bytes(bytes.try_into().ok()?).into()),
            _ => Value::Double(f64::from_le_bytes(bytes.try_into().ok()?)),
        },
        Type::Decimal { precision, scale } => Value::Decimal {
            unscaled: from_be(bytes)?,
            precision: *precision,
            scale: *scale,
        },
        Type::String => Value::String(std::str::from_utf8(bytes).ok()?.to_owned()),
        Type::Uuid => Value::Uuid(bytes.try_into().ok()?),
        Type::Fixed(length) => match u32::try_from(bytes.len()) {
            Ok(n) if n <= *length => Value::Fixed(bytes.to_vec()),
            _ => return None,
        },
        Type::Binary => Value::Binary(bytes.to_vec()),
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

fn int(bytes: &[u8]) -> Option<i32> {
    Some(i32::from_le_bytes(bytes.try_into().ok()?))
}

fn long(bytes: &[u8]) -> Option<i64> {
    Some(i64::from_le_bytes(bytes.try_into().ok()?))
}

/// How many bytes a fixed holds decimals of this precision in: the least that fit.
pub(crate) fn decimal_width(precision: u8) -> usize {
    let greatest = 10i128
        .checked_pow(u32::from(precision))
        .map_or(i128::MAX, |n| n - 1);
    minimal_be(greatest).len()
}

/// Two's complement, big-endian, as wide as all decimals of this precision.
pub(crate) fn fixed_be(unscaled: i128, precision: u8) -> Vec<u8> {
    let bytes = unscaled.to_be_bytes();
    bytes
        .get(bytes.len() - decimal_width(precision)..)
        .unwrap_or(&bytes)
        .to_vec()
}

/// Two's complement, big-endian, as few bytes as hold the sign: what Java's `BigInteger` gives.
pub(crate) fn minimal_be(v: i128) -> Vec<u8> {
    let bytes = v.to_be_bytes();
    let sign = if v < 0 { 0xff } else { 0 };
    let keeps_sign = |next: u8| (next & 0x80) == (sign & 0x80);
    let mut rest: &[u8] = &bytes;
    while let [first, tail @ ..] = rest
        && let [next, ..] = tail
        && *first == sign
        && keeps_sign(*next)
    {
        rest = tail;
    }
    rest.to_vec()
}

/// A big-endian two's complement number of 1 to 16 bytes (longer ones if the excess is only sign).
pub(crate) fn from_be(bytes: &[u8]) -> Option<i128> {
    let first = *bytes.first()?;
    let fill = if first & 0x80 == 0 { 0 } else { 0xff };
    let excess = bytes.len().saturating_sub(16);
    let (head, tail) = bytes.split_at_checked(excess)?;
    if head.iter().any(|b| *b != fill) || tail.first().is_none_or(|b| (b & 0x80) != (fill & 0x80)) {
        return None;
    }
    let mut wide = [fill; 16];
    wide.get_mut(16 - tail.len()..)?.copy_from_slice(tail);
    Some(i128::from_be_bytes(wide))
}
