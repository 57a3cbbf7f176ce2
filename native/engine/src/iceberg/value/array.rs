//! One value as a column: for columns that a file lacks.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, FixedSizeBinaryArray,
    Float32Array, Float64Array, Int32Array, Int64Array, StringArray, Time64MicrosecondArray,
    TimestampMicrosecondArray, TimestampNanosecondArray, UInt32Array, new_null_array,
};
use arrow::compute::take;
use arrow::datatypes::DataType;

use super::Value;
use crate::error::{Error, Result};

/// A column of `rows` times `value`, in the Arrow normal form `ty`. Errors: Internal for a value of another type.
pub fn to_array(value: Option<&Value>, ty: &DataType, rows: usize) -> Result<ArrayRef> {
    let Some(value) = value else {
        return Ok(new_null_array(ty, rows));
    };
    let one = single(value)?;
    if one.data_type() != ty {
        return Err(Error::internal(format!(
            "{value:?} is no value of Arrow type {ty}"
        )));
    }
    Ok(take(&one, &UInt32Array::from_value(0, rows), None)?)
}

fn single(value: &Value) -> Result<ArrayRef> {
    Ok(match value {
        Value::Boolean(v) => Arc::new(BooleanArray::from(vec![*v])),
        Value::Int(v) => Arc::new(Int32Array::from_value(*v, 1)),
        Value::Long(v) => Arc::new(Int64Array::from_value(*v, 1)),
        Value::Float(v) => Arc::new(Float32Array::from_value(*v, 1)),
        Value::Double(v) => Arc::new(Float64Array::from_value(*v, 1)),
        Value::Decimal {
            unscaled,
            precision,
            scale,
        } => {
            let array = Decimal128Array::from_value(*unscaled, 1);
            Arc::new(array.with_precision_and_scale(*precision, scale.cast_signed())?)
        }
        Value::Date(v) => Arc::new(Date32Array::from_value(*v, 1)),
        Value::Time(v) => Arc::new(Time64MicrosecondArray::from_value(*v, 1)),
        Value::Timestamp(v) => Arc::new(TimestampMicrosecondArray::from_value(*v, 1)),
        Value::TimestampTz(v) => {
            Arc::new(TimestampMicrosecondArray::from_value(*v, 1).with_timezone("UTC"))
        }
        Value::TimestampNs(v) => Arc::new(TimestampNanosecondArray::from_value(*v, 1)),
        Value::TimestampTzNs(v) => {
            Arc::new(TimestampNanosecondArray::from_value(*v, 1).with_timezone("UTC"))
        }
        Value::String(v) => Arc::new(StringArray::from(vec![v.as_str()])),
        Value::Uuid(v) => Arc::new(FixedSizeBinaryArray::try_from_iter([v].into_iter())?),
        Value::Fixed(v) => Arc::new(FixedSizeBinaryArray::try_from_iter([v].into_iter())?),
        Value::Binary(v) => Arc::new(BinaryArray::from(vec![v.as_slice()])),
    })
}
