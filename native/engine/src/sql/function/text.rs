//! Text constants beside a value of another type: they are read as that type, as PostgreSQL reads a literal whose
//! type is unknown.

use arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue};

use super::uuid::parse_uuid;
use crate::error::Error;

const UUID_WIDTH: i32 = 16;
const DECIMAL_PRECISION: u8 = 38;

/// The constant as a value of `data_type`; None where text stays text. Errors: InvalidInput if it is none.
pub(crate) fn text_as(text: &str, data_type: &DataType) -> Result<Option<ScalarValue>> {
    let cast = |data_type: &DataType| {
        let literal = ScalarValue::Utf8(Some(text.trim().to_string()));
        literal.cast_to(data_type).map(Some)
    };
    match data_type {
        DataType::Decimal128(..) => {
            let digits = text
                .trim()
                .split_once('.')
                .map_or(0, |(_, digits)| digits.len());
            let scale = i8::try_from(digits.min(usize::from(DECIMAL_PRECISION))).unwrap_or(0);
            cast(&DataType::Decimal128(DECIMAL_PRECISION, scale))
        }
        DataType::FixedSizeBinary(UUID_WIDTH) if text.len() != 16 => {
            let bytes = parse_uuid(text)?.to_vec();
            Ok(Some(ScalarValue::FixedSizeBinary(UUID_WIDTH, Some(bytes))))
        }
        DataType::FixedSizeBinary(width) => {
            if i32::try_from(text.len()) != Ok(*width) {
                let message = format!("'{text}' does not have {width} bytes");
                return Err(Error::invalid_input(message).into());
            }
            Ok(Some(ScalarValue::FixedSizeBinary(
                *width,
                Some(text.as_bytes().to_vec()),
            )))
        }
        DataType::Boolean
        | DataType::Date32
        | DataType::Time64(_)
        | DataType::Timestamp(..)
        | DataType::Binary => cast(data_type),
        number if number.is_numeric() => cast(number),
        _ => Ok(None),
    }
}
