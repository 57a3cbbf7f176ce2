//! Text constants beside a value of another type: they are read as that type, as PostgreSQL reads a literal whose
//! type is unknown.

use arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue};

use super::uuid::parse_uuid;
use crate::error::Error;
use crate::iceberg::value::hex;

const UUID_WIDTH: i32 = 16;
const DECIMAL_PRECISION: u8 = 38;

/// The bytes that a text constant stands for: two hex digits each after `\x`, as PostgreSQL's bytea, else its own.
pub(crate) fn parse_bytes(text: &str) -> crate::error::Result<Vec<u8>> {
    let Some(digits) = text.strip_prefix("\\x") else {
        return Ok(text.as_bytes().to_vec());
    };
    let invalid = || Error::invalid_input(format!("'{text}' is not pairs of hex digits after \\x"));
    hex(digits).ok_or_else(invalid)
}

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
            let bytes = parse_bytes(text)?;
            if i32::try_from(bytes.len()) != Ok(*width) {
                let message = format!("'{text}' does not have {width} bytes");
                return Err(Error::invalid_input(message).into());
            }
            Ok(Some(ScalarValue::FixedSizeBinary(*width, Some(bytes))))
        }
        DataType::Binary => Ok(Some(ScalarValue::Binary(Some(parse_bytes(text)?)))),
        DataType::Boolean | DataType::Date32 | DataType::Time64(_) | DataType::Timestamp(..) => {
            cast(data_type)
        }
        number if number.is_numeric() => cast(number),
        _ => Ok(None),
    }
}
