//! The spec's test vectors, and the edges that engines get wrong.

use super::*;
use crate::error::ErrorKind;
use crate::iceberg::predicate::tests::domains;

const MINUTE_US: i64 = 60_000_000;

fn decimal(unscaled: i128) -> Value {
    Value::Decimal {
        unscaled,
        precision: 9,
        scale: 2,
    }
}

#[test]
fn a6_bucket_hashes_are_those_of_the_spec() {
    let at = 17_486 * DAY_US + (22 * 60 + 31) * MINUTE_US + 8_000_000;
    let uuid = uuid::Uuid::parse_str("f79c3e09-677c-4bbd-a479-3f349cb785e7").unwrap();
    for (value, expected) in [
        (Value::Int(34), 2_017_239_379),
        (Value::Long(34), 2_017_239_379),
        (decimal(1420), -500_754_589),
        (Value::Date(17_486), -653_330_422),
        (
            Value::Time((22 * 60 + 31) * MINUTE_US + 8_000_000),
            -662_762_989,
        ),
        (Value::Timestamp(at), -2_047_944_441),
        (Value::TimestampTz(at), -2_047_944_441),
        (Value::Timestamp(at + 1), -1_207_196_810),
        (Value::TimestampNs(at * 1_000), -2_047_944_441),
        (Value::TimestampTzNs(at * 1_000 + 1_001), -1_207_196_810),
        (Value::String("iceberg".into()), 1_210_000_089),
        (Value::Uuid(*uuid.as_bytes()), 1_488_055_340),
        (Value::Fixed(vec![0, 1, 2, 3]), -188_683_207),
        (Value::Binary(vec![0, 1, 2, 3]), -188_683_207),
        (Value::Boolean(true), 1_392_991_556),
        (Value::Float(1.0), -142_385_009),
        (Value::Double(1.0), -142_385_009),
        (Value::Double(0.0), 1_669_671_676),
        (Value::Double(-0.0), 1_669_671_676),
        (Value::Float(-0.0), 1_669_671_676),
    ] {
        assert_eq!(hash(&value), expected, "{value:?}");
    }
    assert_eq!(
        hash(&Value::Float(-f32::NAN)),
        hash(&Value::Double(f64::NAN))
    );
    let bucketed = Transform::Bucket(16).apply(&Value::Int(34)).unwrap();
    assert_eq!(bucketed, Some(Value::Int(2_017_239_379 % 16)));
    let negative = Transform::Bucket(10).apply(&decimal(1420)).unwrap();
    assert_eq!(
        negative,
        Some(Value::Int((-500_754_589i32 & i32::MAX) % 10))
    );
}

#[test]
fn a6_truncate_floors_numbers_and_cuts_text_by_code_points() {
    let text = |s: &str| Value::String(s.into());
    for (width, value, expected) in [
        (10, Value::Int(1), Value::Int(0)),
        (10, Value::Int(-1), Value::Int(-10)),
        (10, Value::Long(-11), Value::Long(-20)),
        (10, Value::Long(20), Value::Long(20)),
        (50, decimal(1065), decimal(1050)),
        (50, decimal(-5), decimal(-50)),
        (3, text("iceberg"), text("ice")),
        (2, text("\u{10ffff}\u{e9}x"), text("\u{10ffff}\u{e9}")),
        (5, text("ab"), text("ab")),
        (2, Value::Binary(vec![1, 2, 3]), Value::Binary(vec![1, 2])),
        // There is no multiple of 10 at or below the least number.
        (10, Value::Int(i32::MIN), Value::Int(i32::MAX - 1)),
        (10, Value::Long(i64::MIN), Value::Long(i64::MAX - 1)),
        (8, Value::Int(i32::MIN), Value::Int(i32::MIN)),
    ] {
        let found = Transform::Truncate(width).apply(&value).unwrap();
        assert_eq!(found, Some(expected), "{value:?} by {width}");
    }
}

#[test]
fn a6_calendar_units_floor_before_1970() {
    let (date, int) = (Value::Date, Value::Int);
    let at = |seconds: i64| Value::Timestamp(seconds * 1_000_000);
    for (transform, value, expected) in [
        (Transform::Day, at(-1), date(-1)),
        (Transform::Day, Value::TimestampNs(-1), date(-1)),
        (Transform::Hour, Value::TimestampTzNs(-1), int(-1)),
        (
            Transform::Hour,
            Value::TimestampNs(7_200_000_000_000),
            int(2),
        ),
        (Transform::Hour, at(-1), int(-1)),
        (Transform::Month, at(-1), int(-1)),
        (Transform::Year, at(-1), int(-1)),
        (Transform::Day, at(0), date(0)),
        (Transform::Year, at(0), int(0)),
        (Transform::Year, date(-365), int(-1)),
        (Transform::Year, date(-366), int(-2)),
        (Transform::Month, date(-32), int(-2)),
        (Transform::Month, date(17_501), int(575)),
        (Transform::Day, date(17_501), date(17_501)),
        (Transform::Hour, at(17_501 * 86_400), int(420_024)),
        (Transform::Year, date(i32::MIN), int(-5_879_611)),
        (
            Transform::Day,
            Value::TimestampTz(i64::MIN),
            date(-106_751_992),
        ),
    ] {
        let found = transform.apply(&value).unwrap();
        assert_eq!(found, Some(expected), "{transform} of {value:?}");
    }
    for month in [
        -70_000_000,
        -1_200_001,
        -25,
        -1,
        0,
        1,
        11,
        12,
        25,
        1_200_000,
    ] {
        let (first, before) = (first_day(month), first_day(month) - 1);
        let of = |days| {
            let (year, month) = year_month(days);
            (year - 1970) * 12 + month - 1
        };
        assert_eq!((of(first), of(before)), (month, month - 1));
    }
}

#[test]
fn a6_void_gives_null_and_what_is_undefined_is_unsupported() {
    for domain in domains() {
        assert_eq!(Transform::Void.apply(&domain[0]).unwrap(), None);
        assert_eq!(
            Transform::Identity.apply(&domain[0]).unwrap(),
            Some(domain[0].clone())
        );
    }
    for (transform, value) in [
        (Transform::Unknown("zorder[2]".into()), Value::Int(1)),
        (Transform::Bucket(4), Value::Double(1.0)),
        (Transform::Bucket(4), Value::Boolean(true)),
        (Transform::Truncate(4), Value::Date(1)),
        (Transform::Hour, Value::Date(1)),
        (Transform::Year, Value::Time(1)),
    ] {
        let error = transform.apply(&value).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    }
}
