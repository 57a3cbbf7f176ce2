//! Assignment of a query's columns to a table's: PostgreSQL's assignment casts. What loses its meaning silently
//! (text to number, number to boolean) is refused unless it is a literal.

use arrow::compute::can_cast_types;
use arrow::datatypes::{DataType, Field};
use datafusion::logical_expr::{Expr, cast};

use crate::error::{Error, Result};
use crate::iceberg::schema::type_name;

/// The expression as a value of `target`. `literal`: the value was written as a constant, whose text may be read
/// as any type.
pub(super) fn assign(value: Expr, from: &DataType, target: &Field, literal: bool) -> Result<Expr> {
    let to = target.data_type();
    if from == to {
        return Ok(value);
    }
    if literal && is_text(from) && matches!(to, DataType::FixedSizeBinary(_)) {
        return Ok(cast(cast(value, DataType::Binary), to.clone()));
    }
    let allowed = assignable(from, to) || (literal && is_text(from) && !to.is_nested());
    if allowed && can_cast_types(from, to) {
        return Ok(cast(value, to.clone()));
    }
    Err(Error::invalid_input(format!(
        "column {} is of type {} but the value is of type {}",
        target.name(),
        type_name(to),
        type_name(from)
    )))
}

fn is_text(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View
    )
}

fn is_binary(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::Binary
            | DataType::LargeBinary
            | DataType::BinaryView
            | DataType::FixedSizeBinary(_)
    )
}

fn is_moment(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::Date32 | DataType::Date64 | DataType::Timestamp(..)
    )
}

fn is_time(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Time32(_) | DataType::Time64(_))
}

fn assignable(from: &DataType, to: &DataType) -> bool {
    match (from, to) {
        (DataType::Null, _) => true,
        (DataType::Dictionary(_, values), _) => assignable(values, to),
        (a, b) if a == b => true,
        (a, b) if a.is_numeric() && b.is_numeric() => true,
        (a, b) if is_text(a) && is_text(b) => true,
        (a, b) if is_binary(a) && is_binary(b) => true,
        (a, b) if is_moment(a) && is_moment(b) => true,
        (a, b) if is_time(a) && is_time(b) => true,
        (
            DataType::List(a) | DataType::LargeList(a) | DataType::FixedSizeList(a, _),
            DataType::List(b),
        ) => assignable(a.data_type(), b.data_type()),
        (DataType::Map(a, _), DataType::Map(b, _)) => assignable(a.data_type(), b.data_type()),
        (DataType::Struct(a), DataType::Struct(b)) => {
            a.len() == b.len()
                && a.iter()
                    .zip(b)
                    .all(|(a, b)| a.name() == b.name() && assignable(a.data_type(), b.data_type()))
        }
        _ => false,
    }
}
