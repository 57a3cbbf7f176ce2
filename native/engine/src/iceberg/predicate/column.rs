//! One column against literals. Floats: -0.0 equals 0.0, NaN equals NaN and is greater than all else.

use std::collections::HashSet;
use std::hash::Hash;

use arrow::array::{Array, ArrayAccessor, ArrayRef, AsArray, BooleanArray, StringArray};
use arrow::compute::kernels::comparison::{contains, ends_with, starts_with};
use arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int32Type, Int64Type,
    Time64MicrosecondType, TimeUnit, TimestampMicrosecondType, TimestampNanosecondType,
};

use super::{CompareOp, MatchOp};
use crate::error::{Error, Result};
use crate::iceberg::schema::Type;
use crate::iceberg::value::Value;

/// A column of a batch.
pub(super) struct Column<'a> {
    id: i32,
    array: &'a ArrayRef,
}

/// Runs `$run` with the column as its array type and with how a literal of its type is taken apart; `$float`
/// for the two float types.
macro_rules! by_type {
    ($column:expr, $run:ident, $float:ident) => {{
        use Value as V;
        let array = $column.array;
        match array.data_type() {
            DataType::Boolean => $run!(array.as_boolean(), V::Boolean(v) => *v),
            DataType::Int32 => $run!(array.as_primitive::<Int32Type>(), V::Int(v) => *v),
            DataType::Int64 => $run!(array.as_primitive::<Int64Type>(), V::Long(v) => *v),
            DataType::Float32 => $float!(array.as_primitive::<Float32Type>(), V::Float(v) => *v),
            DataType::Float64 => $float!(array.as_primitive::<Float64Type>(), V::Double(v) => *v),
            DataType::Decimal128(..) => $run!(array.as_primitive::<Decimal128Type>(), V::Decimal { unscaled: v, .. } => *v),
            DataType::Date32 => $run!(array.as_primitive::<Date32Type>(), V::Date(v) => *v),
            DataType::Time64(TimeUnit::Microsecond) => $run!(array.as_primitive::<Time64MicrosecondType>(), V::Time(v) => *v),
            DataType::Timestamp(TimeUnit::Microsecond, _) => {
                $run!(array.as_primitive::<TimestampMicrosecondType>(), V::Timestamp(v) | V::TimestampTz(v) => *v)
            }
            DataType::Timestamp(TimeUnit::Nanosecond, _) => {
                $run!(array.as_primitive::<TimestampNanosecondType>(), V::TimestampNs(v) | V::TimestampTzNs(v) => *v)
            }
            DataType::Utf8 => $run!(array.as_string::<i32>(), V::String(v) => v.as_str()),
            DataType::LargeUtf8 => $run!(array.as_string::<i64>(), V::String(v) => v.as_str()),
            DataType::Utf8View => $run!(array.as_string_view(), V::String(v) => v.as_str()),
            DataType::Binary => $run!(array.as_binary::<i32>(), V::Binary(v) | V::Fixed(v) => v.as_slice()),
            DataType::LargeBinary => $run!(array.as_binary::<i64>(), V::Binary(v) | V::Fixed(v) => v.as_slice()),
            DataType::BinaryView => $run!(array.as_binary_view(), V::Binary(v) | V::Fixed(v) => v.as_slice()),
            DataType::FixedSizeBinary(_) => {
                $run!(array.as_fixed_size_binary(), V::Binary(v) | V::Fixed(v) => v.as_slice())
            }
            other => Err(Error::invalid_input(format!("column with field id {} of type {other} cannot be compared", $column.id))),
        }
    }};
}

impl<'a> Column<'a> {
    pub(super) fn new(id: i32, array: &'a ArrayRef) -> Self {
        Column { id, array }
    }

    /// `column op value`.
    pub(super) fn compare(&self, op: CompareOp, value: &Value) -> Result<BooleanArray> {
        let value = self.literal(value)?;
        macro_rules! plain {
            ($array:expr, $pattern:pat => $literal:expr) => {
                match &value {
                    $pattern => Ok(ordered($array, op, $literal)),
                    _ => Err(self.mismatch(&value)),
                }
            };
        }
        macro_rules! float {
            ($array:expr, $pattern:pat => $literal:expr) => {
                match &value {
                    $pattern => Ok(floats($array, op, $literal)),
                    _ => Err(self.mismatch(&value)),
                }
            };
        }
        by_type!(self, plain, float)
    }

    /// `column IN (values)`.
    pub(super) fn is_in(&self, values: &[Value]) -> Result<BooleanArray> {
        let values = values
            .iter()
            .map(|v| self.literal(v))
            .collect::<Result<Vec<_>>>()?;
        macro_rules! plain {
            ($array:expr, $pattern:pat => $literal:expr) => {{
                let literals = values.iter().map(|value| match value {
                    $pattern => Ok($literal),
                    _ => Err(self.mismatch(value)),
                });
                Ok(member($array, literals.collect::<Result<Vec<_>>>()?))
            }};
        }
        macro_rules! float {
            ($array:expr, $pattern:pat => $literal:expr) => {{
                let literals = values.iter().map(|value| match value {
                    $pattern => Ok($literal.key()),
                    _ => Err(self.mismatch(value)),
                });
                let set: HashSet<_> = literals.collect::<Result<_>>()?;
                Ok(BooleanArray::from_unary($array, |v| set.contains(&v.key())))
            }};
        }
        by_type!(self, plain, float)
    }

    /// `isnan(column)`; false for numbers that cannot be NaN.
    pub(super) fn is_nan(&self) -> Result<BooleanArray> {
        match self.array.data_type() {
            DataType::Float32 => Ok(BooleanArray::from_unary(
                self.array.as_primitive::<Float32Type>(),
                f32::is_nan,
            )),
            DataType::Float64 => Ok(BooleanArray::from_unary(
                self.array.as_primitive::<Float64Type>(),
                f64::is_nan,
            )),
            DataType::Int32 => Ok(BooleanArray::from_unary(
                self.array.as_primitive::<Int32Type>(),
                |_| false,
            )),
            DataType::Int64 => Ok(BooleanArray::from_unary(
                self.array.as_primitive::<Int64Type>(),
                |_| false,
            )),
            DataType::Decimal128(..) => Ok(BooleanArray::from_unary(
                self.array.as_primitive::<Decimal128Type>(),
                |_| false,
            )),
            other => Err(Error::invalid_input(format!(
                "column with field id {} of type {other} has no NaN",
                self.id
            ))),
        }
    }

    /// A string match.
    pub(super) fn matches(&self, op: MatchOp, pattern: &str) -> Result<BooleanArray> {
        let array = match self.array.data_type() {
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => self.array,
            other => {
                return Err(Error::invalid_input(format!(
                    "column with field id {} of type {other} is no string",
                    self.id
                )));
            }
        };
        let pattern = arrow::compute::cast(&StringArray::from(vec![pattern]), array.data_type())?;
        let pattern = arrow::array::Scalar::new(pattern);
        Ok(match op {
            MatchOp::StartsWith => starts_with(array, &pattern)?,
            MatchOp::EndsWith => ends_with(array, &pattern)?,
            MatchOp::Contains => contains(array, &pattern)?,
        })
    }

    /// `value` as one of the column's type.
    fn literal(&self, value: &Value) -> Result<Value> {
        let coerced = match (self.array.data_type(), value) {
            // The bytes of a uuid and of a fixed compare alike.
            (DataType::FixedSizeBinary(_), Value::Uuid(bytes)) => {
                Some(Value::Fixed(bytes.to_vec()))
            }
            (ty, value) => iceberg_type(ty).and_then(|ty| value.coerce(&ty)),
        };
        coerced.ok_or_else(|| self.mismatch(value))
    }

    fn mismatch(&self, value: &Value) -> Error {
        Error::invalid_input(format!(
            "{value:?} is no value of column with field id {} of type {}",
            self.id,
            self.array.data_type()
        ))
    }
}

fn iceberg_type(ty: &DataType) -> Option<Type> {
    Some(match ty {
        DataType::Boolean => Type::Boolean,
        DataType::Int32 => Type::Int,
        DataType::Int64 => Type::Long,
        DataType::Float32 => Type::Float,
        DataType::Float64 => Type::Double,
        DataType::Decimal128(precision, scale) => Type::Decimal {
            precision: *precision,
            scale: u8::try_from(*scale).ok()?,
        },
        DataType::Date32 => Type::Date,
        DataType::Time64(TimeUnit::Microsecond) => Type::Time,
        DataType::Timestamp(TimeUnit::Microsecond, None) => Type::Timestamp,
        DataType::Timestamp(TimeUnit::Microsecond, Some(_)) => Type::TimestampTz,
        DataType::Timestamp(TimeUnit::Nanosecond, None) => Type::TimestampNs,
        DataType::Timestamp(TimeUnit::Nanosecond, Some(_)) => Type::TimestampTzNs,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Type::String,
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => Type::Binary,
        DataType::FixedSizeBinary(length) => Type::Fixed(u32::try_from(*length).ok()?),
        _ => return None,
    })
}

fn ordered<A: ArrayAccessor>(array: A, op: CompareOp, literal: A::Item) -> BooleanArray
where
    A::Item: PartialOrd + Copy,
{
    match op {
        CompareOp::Eq => BooleanArray::from_unary(array, |v| v == literal),
        CompareOp::NotEq => BooleanArray::from_unary(array, |v| v != literal),
        CompareOp::Lt => BooleanArray::from_unary(array, |v| v < literal),
        CompareOp::LtEq => BooleanArray::from_unary(array, |v| v <= literal),
        CompareOp::Gt => BooleanArray::from_unary(array, |v| v > literal),
        CompareOp::GtEq => BooleanArray::from_unary(array, |v| v >= literal),
    }
}

/// A float whose IEEE comparisons are mended: NaN is one value, above infinity.
trait Float: PartialOrd + Copy {
    type Key: Hash + Eq;
    fn nan(self) -> bool;
    /// Equal for values that are equal.
    fn key(self) -> Self::Key;
}

macro_rules! impl_float {
    ($float:ty, $key:ty) => {
        impl Float for $float {
            type Key = $key;
            fn nan(self) -> bool {
                self.is_nan()
            }
            fn key(self) -> $key {
                // Adding 0.0 makes -0.0 positive.
                if self.is_nan() {
                    <$float>::NAN.to_bits()
                } else {
                    (self + 0.0).to_bits()
                }
            }
        }
    };
}

impl_float!(f32, u32);
impl_float!(f64, u64);

/// IEEE says false for NaN in each of `==`, `<`, `<=`, `>`, `>=`: with a literal that is a number, that is right for
/// the first three, and `>` and `>=` are the negations of `<=` and `<`.
#[allow(
    clippy::neg_cmp_op_on_partial_ord,
    reason = "the negation is what makes NaN the greatest"
)]
fn floats<A: ArrayAccessor>(array: A, op: CompareOp, literal: A::Item) -> BooleanArray
where
    A::Item: Float,
{
    if literal.nan() {
        return match op {
            CompareOp::Eq | CompareOp::GtEq => BooleanArray::from_unary(array, Float::nan),
            CompareOp::NotEq | CompareOp::Lt => BooleanArray::from_unary(array, |v| !v.nan()),
            CompareOp::LtEq => BooleanArray::from_unary(array, |_| true),
            CompareOp::Gt => BooleanArray::from_unary(array, |_| false),
        };
    }
    match op {
        CompareOp::Gt => BooleanArray::from_unary(array, |v| !(v <= literal)),
        CompareOp::GtEq => BooleanArray::from_unary(array, |v| !(v < literal)),
        op => ordered(array, op, literal),
    }
}

/// Up to this many literals are compared one by one.
const FEW: usize = 8;

fn member<A: ArrayAccessor>(array: A, literals: Vec<A::Item>) -> BooleanArray
where
    A::Item: Hash + Eq + Copy,
{
    match literals.as_slice() {
        [one] => {
            let one = *one;
            BooleanArray::from_unary(array, |v| v == one)
        }
        few if few.len() <= FEW => BooleanArray::from_unary(array, |v| few.contains(&v)),
        many => {
            let set: HashSet<A::Item> = many.iter().copied().collect();
            BooleanArray::from_unary(array, |v| set.contains(&v))
        }
    }
}
