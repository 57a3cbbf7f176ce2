//! Values as values of another type, where nothing is lost. A literal that was made before its column
//! was promoted, or by a looser caller, is brought to the column's type here or refused by the caller.

use super::Value;
use crate::iceberg::schema::Type;

impl Value {
    /// The same value as one of type `ty`; None where that would lose or invent something.
    pub fn coerce(&self, ty: &Type) -> Option<Value> {
        Some(match (self, ty) {
            (Value::Boolean(_), Type::Boolean)
            | (Value::Date(_), Type::Date)
            | (Value::Time(_), Type::Time)
            | (Value::Timestamp(_), Type::Timestamp)
            | (Value::TimestampTz(_), Type::TimestampTz)
            | (Value::TimestampNs(_), Type::TimestampNs)
            | (Value::TimestampTzNs(_), Type::TimestampTzNs)
            | (Value::String(_), Type::String)
            | (Value::Uuid(_), Type::Uuid) => self.clone(),
            (Value::Timestamp(v), Type::TimestampNs) => Value::TimestampNs(v.checked_mul(1_000)?),
            (Value::TimestampTz(v), Type::TimestampTzNs) => {
                Value::TimestampTzNs(v.checked_mul(1_000)?)
            }
            (Value::Int(_) | Value::Long(_), _) => integer(self.as_integer()?, ty)?,
            (Value::Float(v), Type::Float) => Value::Float(*v),
            (Value::Float(v), Type::Double) => Value::Double(f64::from(*v)),
            (Value::Double(v), Type::Double) => Value::Double(*v),
            (Value::Double(v), Type::Float) => Value::Float(narrow(*v)?),
            (
                Value::Decimal {
                    unscaled, scale, ..
                },
                Type::Decimal { .. },
            ) => decimal(*unscaled, *scale, ty)?,
            (Value::Fixed(b) | Value::Binary(b), Type::Fixed(_)) => Value::Fixed(b.clone()),
            (Value::Fixed(b) | Value::Binary(b), Type::Binary) => Value::Binary(b.clone()),
            (Value::Fixed(b) | Value::Binary(b), Type::Uuid) => {
                Value::Uuid(b.as_slice().try_into().ok()?)
            }
            _ => return None,
        })
    }

    fn as_integer(&self) -> Option<i64> {
        match self {
            Value::Int(v) => Some(i64::from(*v)),
            Value::Long(v) => Some(*v),
            _ => None,
        }
    }
}

fn integer(v: i64, ty: &Type) -> Option<Value> {
    Some(match ty {
        Type::Int => Value::Int(i32::try_from(v).ok()?),
        Type::Long => Value::Long(v),
        // 2^53 is where doubles begin to skip integers.
        #[allow(clippy::cast_precision_loss, reason = "the range is checked")]
        Type::Double if v.unsigned_abs() <= 1 << 53 => Value::Double(v as f64),
        #[allow(clippy::cast_precision_loss, reason = "the range is checked")]
        Type::Float if v.unsigned_abs() <= 1 << 24 => Value::Float(v as f32),
        Type::Decimal { .. } => decimal(i128::from(v), 0, ty)?,
        _ => return None,
    })
}

fn narrow(v: f64) -> Option<f32> {
    #[allow(
        clippy::cast_possible_truncation,
        reason = "compared with the original below"
    )]
    let narrow = v as f32;
    (v.is_nan() || f64::from(narrow) == v).then_some(narrow)
}

fn decimal(unscaled: i128, from: u8, ty: &Type) -> Option<Value> {
    let Type::Decimal { precision, scale } = ty else {
        return None;
    };
    let factor = 10i128.checked_pow(u32::from(from.abs_diff(*scale)))?;
    let unscaled = if *scale >= from {
        unscaled.checked_mul(factor)?
    } else if unscaled % factor == 0 {
        unscaled / factor
    } else {
        return None;
    };
    let fits = unscaled.unsigned_abs() < 10u128.checked_pow(u32::from(*precision))?;
    fits.then_some(Value::Decimal {
        unscaled,
        precision: *precision,
        scale: *scale,
    })
}
