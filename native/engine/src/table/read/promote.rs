//! The values of one column in the type that the table has now: Iceberg's promotions, and the physical
//! spellings of one logical type that writers choose. No value is lost or wraps: what does not fit is an error.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, PrimitiveArray, make_array};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{
    DataType, Date32Type, Int64Type, TimeUnit, TimestampMicrosecondType, TimestampNanosecondType,
};

use crate::error::{Error, Result};

/// The array in another type. Errors: Unsupported where the file's type cannot become the table's, Corrupt names the
/// column and a value that does not fit.
pub(in crate::table) fn promote(array: &ArrayRef, to: &DataType, path: &str) -> Result<ArrayRef> {
    let from = array.data_type();
    match (from, to) {
        (DataType::Timestamp(unit, _), DataType::Timestamp(target, _)) => {
            timestamps(array, *unit, *target, to, path)
        }
        (DataType::Date32, DataType::Timestamp(unit, None)) => dates(array, *unit, to, path),
        _ if widens(from, to) => {
            let strict = CastOptions {
                safe: false,
                ..CastOptions::default()
            };
            cast_with_options(array, to, &strict)
                .map_err(|error| Error::corrupt(format!("column {path}: {error}")))
        }
        _ => Err(Error::unsupported(format!(
            "column {path} of type {to} is stored as {from}"
        ))),
    }
}

fn widens(from: &DataType, to: &DataType) -> bool {
    use DataType as D;
    match (from, to) {
        (a, b) if a == b => true,
        (D::Int8 | D::Int16 | D::Int32 | D::UInt8 | D::UInt16 | D::UInt32, D::Int64)
        | (D::Int8 | D::Int16 | D::UInt8 | D::UInt16, D::Int32)
        | (D::Float16 | D::Float32, D::Float64)
        | (D::Float16, D::Float32) => true,
        (
            D::Decimal32(p, s) | D::Decimal64(p, s) | D::Decimal128(p, s) | D::Decimal256(p, s),
            D::Decimal128(q, t),
        ) => s == t && p <= q,
        (D::Utf8 | D::LargeUtf8 | D::Utf8View, D::Utf8)
        | (D::Binary | D::LargeBinary | D::BinaryView, D::Utf8)
        | (D::Binary | D::LargeBinary | D::BinaryView | D::Utf8, D::Binary)
        | (D::FixedSizeBinary(_), D::Binary)
        | (D::Binary | D::LargeBinary, D::FixedSizeBinary(_)) => true,
        (D::Time32(_) | D::Time64(_), D::Time64(_)) => true,
        _ => false,
    }
}

/// How many of the unit a second has.
fn per_second(unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    }
}

/// Both count from 1970 in UTC, so whether there is a zone changes no value. Finer ones are cut towards the past.
fn timestamps(
    array: &ArrayRef,
    from: TimeUnit,
    unit: TimeUnit,
    to: &DataType,
    path: &str,
) -> Result<ArrayRef> {
    let counts = counts(array)?;
    let (have, want) = (per_second(from), per_second(unit));
    let counts = if have > want {
        let divisor = have / want;
        counts.unary(|count| count.div_euclid(divisor))
    } else {
        let factor = want / have;
        scaled(&counts, |count| count.checked_mul(factor), to, path)?
    };
    typed(&counts, to)
}

fn dates(array: &ArrayRef, unit: TimeUnit, to: &DataType, path: &str) -> Result<ArrayRef> {
    let days: &PrimitiveArray<Date32Type> = array.as_primitive();
    let day = 86_400 * per_second(unit);
    let days: PrimitiveArray<Int64Type> = days.unary(i64::from);
    typed(
        &scaled(&days, |day_count| day_count.checked_mul(day), to, path)?,
        to,
    )
}

fn scaled(
    counts: &PrimitiveArray<Int64Type>,
    scale: impl Fn(i64) -> Option<i64>,
    to: &DataType,
    path: &str,
) -> Result<PrimitiveArray<Int64Type>> {
    counts.try_unary(|count| {
        scale(count).ok_or_else(|| {
            Error::corrupt(format!(
                "column {path}: the value {count} is out of the range of {to}"
            ))
        })
    })
}

/// The numbers behind timestamps of any unit.
fn counts(array: &ArrayRef) -> Result<PrimitiveArray<Int64Type>> {
    let data = array.to_data().into_builder().data_type(DataType::Int64);
    Ok(make_array(data.build()?)
        .as_primitive::<Int64Type>()
        .clone())
}

/// The numbers as values of a type that is stored as such.
fn typed(counts: &PrimitiveArray<Int64Type>, to: &DataType) -> Result<ArrayRef> {
    let zone = match to {
        DataType::Timestamp(_, zone) => zone.clone(),
        _ => None,
    };
    Ok(match to {
        DataType::Timestamp(TimeUnit::Microsecond, _) => Arc::new(
            counts
                .reinterpret_cast::<TimestampMicrosecondType>()
                .with_timezone_opt(zone),
        ),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => Arc::new(
            counts
                .reinterpret_cast::<TimestampNanosecondType>()
                .with_timezone_opt(zone),
        ),
        other => {
            return Err(Error::internal(format!("{other} is no type of a column")));
        }
    })
}
