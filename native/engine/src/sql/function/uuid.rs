//! UUID literals: text to sixteen bytes.

use std::sync::Arc;

use arrow::array::{Array, AsArray, FixedSizeBinaryBuilder};
use arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use crate::error::Error;

/// The function behind `'..'::uuid`.
pub(crate) const TO_UUID: &str = "to_uuid";

const WIDTH: i32 = 16;

pub(super) fn function() -> ScalarUDF {
    ScalarUDF::from(ToUuid {
        signature: Signature::user_defined(Volatility::Immutable),
    })
}

/// The bytes of a UUID's text.
pub(super) fn parse_uuid(text: &str) -> Result<[u8; 16], Error> {
    ::uuid::Uuid::parse_str(text.trim())
        .map(::uuid::Uuid::into_bytes)
        .map_err(|_| Error::invalid_input(format!("invalid uuid '{text}'")))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct ToUuid {
    signature: Signature,
}

impl ScalarUDFImpl for ToUuid {
    fn name(&self) -> &str {
        TO_UUID
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, arguments: &[DataType]) -> Result<Vec<DataType>> {
        match arguments {
            [DataType::FixedSizeBinary(WIDTH)] => Ok(vec![DataType::FixedSizeBinary(WIDTH)]),
            [DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Null] => {
                Ok(vec![DataType::Utf8])
            }
            _ => Err(Error::invalid_input(format!("cannot cast {arguments:?} to uuid")).into()),
        }
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::FixedSizeBinary(WIDTH))
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let Some(argument) = arguments.args.first() else {
            return Err(Error::internal("to_uuid takes one argument").into());
        };
        match argument {
            ColumnarValue::Scalar(ScalarValue::Utf8(text)) => {
                let bytes = text.as_deref().map(parse_uuid).transpose()?;
                Ok(ColumnarValue::Scalar(ScalarValue::FixedSizeBinary(
                    WIDTH,
                    bytes.map(|b| b.to_vec()),
                )))
            }
            ColumnarValue::Array(array) if array.data_type() == &DataType::Utf8 => {
                let mut builder = FixedSizeBinaryBuilder::with_capacity(array.len(), WIDTH);
                for text in array.as_string::<i32>() {
                    match text {
                        Some(text) => builder.append_value(parse_uuid(text)?)?,
                        None => builder.append_null(),
                    }
                }
                Ok(ColumnarValue::Array(Arc::new(builder.finish())))
            }
            other => Ok(other.clone()),
        }
    }
}
