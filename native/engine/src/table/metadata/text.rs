//! Partition values as Iceberg shows them to people: `2024-02` for a month, base64 for bytes.

use arrow::temporal_conversions::{
    date32_to_datetime, time64us_to_time, timestamp_ns_to_datetime, timestamp_us_to_datetime,
};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::iceberg::spec::Transform;
use crate::iceberg::value::Value;

const EPOCH_YEAR: i32 = 1970;
const MONTHS: i32 = 12;
const HOURS: i32 = 24;

pub(super) fn human(transform: &Transform, value: &Value) -> String {
    match (transform, value) {
        (Transform::Year, Value::Int(years)) => EPOCH_YEAR.saturating_add(*years).to_string(),
        (Transform::Month, Value::Int(months)) => format!(
            "{:04}-{:02}",
            EPOCH_YEAR.saturating_add(months.div_euclid(MONTHS)),
            months.rem_euclid(MONTHS) + 1
        ),
        (Transform::Day, Value::Int(days)) => day(*days),
        (Transform::Hour, Value::Int(hours)) => format!(
            "{}-{:02}",
            day(hours.div_euclid(HOURS)),
            hours.rem_euclid(HOURS)
        ),
        _ => text(value),
    }
}

fn day(days: i32) -> String {
    match date32_to_datetime(days) {
        Some(time) => time.date().to_string(),
        None => days.to_string(),
    }
}

fn moment(micros: i64) -> String {
    match timestamp_us_to_datetime(micros) {
        Some(time) => format!("{time:?}"),
        None => micros.to_string(),
    }
}

fn instant(nanos: i64) -> String {
    match timestamp_ns_to_datetime(nanos) {
        Some(time) => format!("{time:?}"),
        None => nanos.to_string(),
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::Boolean(v) => v.to_string(),
        Value::Int(v) => v.to_string(),
        Value::Long(v) => v.to_string(),
        Value::Float(v) => v.to_string(),
        Value::Double(v) => v.to_string(),
        Value::Decimal {
            unscaled,
            precision,
            scale,
        } => {
            use arrow::datatypes::{Decimal128Type, DecimalType as _};
            Decimal128Type::format_decimal(*unscaled, *precision, scale.cast_signed())
        }
        Value::Date(days) => day(*days),
        Value::Time(micros) => match time64us_to_time(*micros) {
            Some(time) => format!("{time:?}"),
            None => micros.to_string(),
        },
        Value::Timestamp(micros) => moment(*micros),
        Value::TimestampTz(micros) => format!("{}+00:00", moment(*micros)),
        Value::TimestampNs(nanos) => instant(*nanos),
        Value::TimestampTzNs(nanos) => format!("{}+00:00", instant(*nanos)),
        Value::String(v) => v.clone(),
        Value::Uuid(v) => uuid::Uuid::from_bytes(*v).to_string(),
        Value::Fixed(v) | Value::Binary(v) => STANDARD.encode(v),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partition_values_read_as_iceberg_writes_them() {
        let cases = [
            (Transform::Year, Value::Int(54), "2024"),
            (Transform::Year, Value::Int(-1), "1969"),
            (Transform::Month, Value::Int(649), "2024-02"),
            (Transform::Month, Value::Int(-1), "1969-12"),
            (Transform::Day, Value::Date(0), "1970-01-01"),
            (Transform::Day, Value::Int(-1), "1969-12-31"),
            (Transform::Hour, Value::Int(25), "1970-01-02-01"),
            (Transform::Bucket(4), Value::Int(3), "3"),
            (
                Transform::Identity,
                Value::TimestampTz(1_000_000),
                "1970-01-01T00:00:01+00:00",
            ),
            (
                Transform::Identity,
                Value::TimestampNs(1_000_000_001),
                "1970-01-01T00:00:01.000000001",
            ),
            (Transform::Identity, Value::Binary(vec![1, 2]), "AQI="),
            (
                Transform::Identity,
                Value::Decimal {
                    unscaled: -5,
                    precision: 9,
                    scale: 2,
                },
                "-0.05",
            ),
        ];
        for (transform, value, expected) in cases {
            assert_eq!(human(&transform, &value), expected);
        }
    }
}
