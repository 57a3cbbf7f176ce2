//! Column types: from SQL's names to Arrow's normal form of Iceberg's types, and from a query's columns to columns
//! a table can have.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef, TimeUnit};
use datafusion::sql::sqlparser::ast::{self, ArrayElemTypeDef, ExactNumberInfo, TimezoneInfo};

use crate::error::{Error, Result};
use crate::sql::parse::ColumnSpec;
use crate::sql::scan::{EXTENSION_NAME_KEY, UUID_EXTENSION};

const UUID_WIDTH: i32 = 16;

/// The field of a column of CREATE TABLE.
pub(super) fn field_of(column: &ColumnSpec) -> Result<Field> {
    let data_type =
        arrow_type(&column.data_type).map_err(|error| error.with("column", &column.name))?;
    let field = Field::new(&column.name, data_type, !column.required);
    Ok(match column.data_type {
        ast::DataType::Uuid => field.with_metadata(HashMap::from([(
            EXTENSION_NAME_KEY.to_string(),
            UUID_EXTENSION.to_string(),
        )])),
        _ => field,
    })
}

fn arrow_type(name: &ast::DataType) -> Result<DataType> {
    use ast::DataType as Sql;
    let unknown = || Error::unsupported(format!("column type {name}"));
    Ok(match name {
        Sql::Boolean | Sql::Bool => DataType::Boolean,
        Sql::TinyInt(None) | Sql::SmallInt(None) | Sql::Int2(None) => DataType::Int32,
        Sql::Int(None) | Sql::Integer(None) | Sql::Int4(None) => DataType::Int32,
        Sql::BigInt(None) | Sql::Int8(None) => DataType::Int64,
        Sql::Real | Sql::Float4 => DataType::Float32,
        Sql::DoublePrecision | Sql::Float8 | Sql::Double(ExactNumberInfo::None) => {
            DataType::Float64
        }
        Sql::Float(ExactNumberInfo::None) => DataType::Float64,
        Sql::Numeric(info) | Sql::Decimal(info) | Sql::Dec(info) => decimal(info)?,
        Sql::Text | Sql::Varchar(None) | Sql::String(None) | Sql::CharacterVarying(None) => {
            DataType::Utf8
        }
        Sql::Varchar(Some(_))
        | Sql::CharacterVarying(Some(_))
        | Sql::Char(_)
        | Sql::Character(_) => {
            return Err(Error::unsupported(format!(
                "column type {name}: lengths are not enforced, use text"
            )));
        }
        Sql::Bytea | Sql::Binary(None) | Sql::Varbinary(None) | Sql::Blob(None) => DataType::Binary,
        Sql::Date => DataType::Date32,
        Sql::Time(None | Some(6), TimezoneInfo::None | TimezoneInfo::WithoutTimeZone) => {
            DataType::Time64(TimeUnit::Microsecond)
        }
        Sql::Timestamp(None | Some(6), zone) => {
            let zoned = matches!(zone, TimezoneInfo::WithTimeZone | TimezoneInfo::Tz);
            DataType::Timestamp(TimeUnit::Microsecond, zoned.then(|| "UTC".into()))
        }
        Sql::Uuid => DataType::FixedSizeBinary(UUID_WIDTH),
        Sql::Array(ArrayElemTypeDef::SquareBracket(element, length)) => {
            let element = arrow_type(element)?;
            match (&element, length) {
                (DataType::Float32, Some(dimension)) => vector(Some(&dimension.to_string()))?,
                (_, Some(_)) => return Err(unknown()),
                (_, None) => DataType::List(Arc::new(Field::new("element", element, true))),
            }
        }
        Sql::Custom(custom, modifiers) => match (
            custom.to_string().to_lowercase().as_str(),
            modifiers.as_slice(),
        ) {
            ("vector", []) => vector(None)?,
            ("vector", [dimension]) => vector(Some(dimension))?,
            ("fixed", [length]) => match length.parse::<i32>() {
                Ok(length) if length > 0 => DataType::FixedSizeBinary(length),
                _ => {
                    return Err(Error::invalid_input(format!(
                        "column type {name}: the length is a positive number"
                    )));
                }
            },
            ("long", []) => DataType::Int64,
            _ => return Err(unknown()),
        },
        _ => return Err(unknown()),
    })
}

fn decimal(info: &ExactNumberInfo) -> Result<DataType> {
    let (precision, scale) = match info {
        ExactNumberInfo::None => {
            return Err(Error::invalid_input(
                "a numeric column needs a precision and scale, such as numeric(18, 2)",
            ));
        }
        ExactNumberInfo::Precision(precision) => (*precision, 0),
        ExactNumberInfo::PrecisionAndScale(precision, scale) => (*precision, *scale),
    };
    match (u8::try_from(precision), i8::try_from(scale)) {
        (Ok(p), Ok(s)) if (1..=38).contains(&p) && s >= 0 && i16::from(s) <= i16::from(p) => {
            Ok(DataType::Decimal128(p, s))
        }
        _ => Err(Error::invalid_input(format!(
            "numeric({precision}, {scale}): precision is 1 to 38, scale at most it"
        ))),
    }
}

/// A vector of a declared dimension is a fixed-size list, from which the table takes the dimension.
fn vector(dimension: Option<&str>) -> Result<DataType> {
    let element = Arc::new(Field::new("element", DataType::Float32, true));
    match dimension.map(str::parse::<i32>) {
        None => Ok(DataType::List(element)),
        Some(Ok(dimension)) if dimension > 0 => Ok(DataType::FixedSizeList(element, dimension)),
        Some(_) => Err(Error::invalid_input("a vector has a positive dimension")),
    }
}

/// The column that a table gets for a query's column. Errors: Unsupported for a type that tables do not have.
pub(super) fn stored_field(field: &Field) -> Result<Field> {
    let data_type =
        stored_type(field.data_type()).map_err(|error| error.with("column", field.name()))?;
    let metadata = field
        .metadata()
        .iter()
        .filter(|(key, _)| *key == EXTENSION_NAME_KEY);
    let metadata = metadata
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    Ok(Field::new(field.name(), data_type, true).with_metadata(metadata))
}

fn stored_type(data_type: &DataType) -> Result<DataType> {
    let nested = |field: &FieldRef, name: &str, nullable: bool| -> Result<FieldRef> {
        Ok(Arc::new(Field::new(
            name,
            stored_type(field.data_type())?,
            nullable,
        )))
    };
    Ok(match data_type {
        DataType::Int8 | DataType::Int16 | DataType::UInt8 | DataType::UInt16 => DataType::Int32,
        DataType::UInt32 => DataType::Int64,
        DataType::UInt64 => DataType::Decimal128(20, 0),
        DataType::Float16 => DataType::Float32,
        DataType::LargeUtf8 | DataType::Utf8View => DataType::Utf8,
        DataType::LargeBinary | DataType::BinaryView => DataType::Binary,
        DataType::Date64 => DataType::Timestamp(TimeUnit::Microsecond, None),
        DataType::Time32(_) | DataType::Time64(_) => DataType::Time64(TimeUnit::Microsecond),
        DataType::Timestamp(_, zone) => {
            DataType::Timestamp(TimeUnit::Microsecond, zone.as_ref().map(|_| "UTC".into()))
        }
        DataType::Dictionary(_, values) => stored_type(values)?,
        DataType::List(field) | DataType::LargeList(field) => {
            DataType::List(nested(field, "element", true)?)
        }
        DataType::FixedSizeList(field, length) if field.data_type() == &DataType::Float32 => {
            DataType::FixedSizeList(nested(field, "element", true)?, *length)
        }
        DataType::FixedSizeList(field, _) => DataType::List(nested(field, "element", true)?),
        DataType::Struct(fields) => {
            let fields = fields
                .iter()
                .map(|f| nested(f, f.name(), true))
                .collect::<Result<Vec<_>>>()?;
            DataType::Struct(fields.into())
        }
        DataType::Boolean
        | DataType::Int32
        | DataType::Int64
        | DataType::Float32
        | DataType::Float64
        | DataType::Decimal128(..)
        | DataType::Date32
        | DataType::Utf8
        | DataType::Binary
        | DataType::FixedSizeBinary(_)
        | DataType::Map(..) => data_type.clone(),
        DataType::Null => {
            return Err(Error::invalid_input(
                "the column has no type, cast NULL to one",
            ));
        }
        other => {
            return Err(Error::unsupported(format!(
                "a table has no columns of type {other}"
            )));
        }
    })
}

/// SQL's name of a type that text is read as; None for text itself and for what has no name.
pub(super) fn sql_type(data_type: &DataType) -> Option<ast::DataType> {
    use ast::DataType as Sql;
    Some(match data_type {
        DataType::Boolean => Sql::Boolean,
        DataType::Int32 => Sql::Int(None),
        DataType::Int64 => Sql::BigInt(None),
        DataType::Float32 => Sql::Real,
        DataType::Float64 => Sql::DoublePrecision,
        DataType::Decimal128(precision, scale) => Sql::Numeric(ExactNumberInfo::PrecisionAndScale(
            u64::from(*precision),
            i64::from(*scale),
        )),
        DataType::Date32 => Sql::Date,
        DataType::Time64(_) => Sql::Time(None, TimezoneInfo::None),
        DataType::Timestamp(_, None) => Sql::Timestamp(Some(6), TimezoneInfo::None),
        DataType::Timestamp(_, Some(_)) => Sql::Timestamp(Some(6), TimezoneInfo::WithTimeZone),
        DataType::Binary => Sql::Bytea,
        _ => return None,
    })
}
