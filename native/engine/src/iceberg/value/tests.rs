//! The binary and JSON forms of values.

use serde_json::json;

use super::binary::{from_be, minimal_be};
use super::*;
use crate::iceberg::predicate::tests::domains;
use crate::iceberg::schema::Type;
use crate::iceberg::tests::Random;

fn types() -> Vec<Type> {
    vec![
        Type::Boolean,
        Type::Int,
        Type::Long,
        Type::Float,
        Type::Double,
        Type::Decimal {
            precision: 9,
            scale: 2,
        },
        Type::Date,
        Type::Time,
        Type::Timestamp,
        Type::TimestampTz,
        Type::String,
        Type::Uuid,
        Type::Fixed(2),
        Type::Binary,
        Type::TimestampNs,
        Type::TimestampTzNs,
    ]
}

#[test]
fn values_are_decoded_as_they_were_encoded() {
    for (ty, domain) in types().into_iter().zip(domains()) {
        for value in domain {
            let decoded = decode(&ty, &encode(&value)).unwrap();
            assert!(
                decoded == value || (decoded.is_nan() && value.is_nan()),
                "{value:?} became {decoded:?}"
            );
            let text = serde_json::to_string(&value).unwrap();
            let again: Value = serde_json::from_str(&text).unwrap();
            assert_eq!(encode(&again), encode(&value), "{text}");
        }
    }
}

#[test]
fn widest_decimal_survives_as_json() {
    let value = Value::Decimal {
        unscaled: -(10i128.pow(38) - 1),
        precision: 38,
        scale: 3,
    };
    let text = serde_json::to_string(&Some(value.clone())).unwrap();
    assert_eq!(
        serde_json::from_str::<Option<Value>>(&text).unwrap(),
        Some(value)
    );
}

#[test]
fn decimals_are_javas_big_integers() {
    let cases: [(i128, &[u8]); 8] = [
        (0, &[0]),
        (127, &[0x7f]),
        (128, &[0, 0x80]),
        (-1, &[0xff]),
        (-128, &[0x80]),
        (-129, &[0xff, 0x7f]),
        (65_535, &[0, 0xff, 0xff]),
        (
            i128::MIN,
            &[0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        ),
    ];
    for (value, bytes) in cases {
        assert_eq!(minimal_be(value), bytes);
        assert_eq!(from_be(bytes), Some(value));
    }
    assert_eq!(from_be(&[0; 20]), Some(0));
    assert_eq!(from_be(&[1; 17]), None);
    assert_eq!(from_be(&[]), None);
    assert_eq!(
        [
            decimal_width(1),
            decimal_width(9),
            decimal_width(18),
            decimal_width(38)
        ],
        [1, 4, 8, 16]
    );
    assert_eq!(fixed_be(-2, 9), [0xff, 0xff, 0xff, 0xfe]);
}

#[test]
fn r_pl2_undecodable_bytes_are_absent() {
    let mut random = Random(11);
    for ty in types() {
        for _ in 0..2_000 {
            let bytes: Vec<u8> = (0..random.below(20)).map(|_| random.next() as u8).collect();
            if let Some(value) = decode(&ty, &bytes) {
                assert!(decode(&ty, &encode(&value)).is_some());
            }
        }
    }
    assert_eq!(decode(&Type::String, &[0xff]), None);
    assert_eq!(decode(&Type::Timestamp, &[0; 4]), None);
    assert_eq!(decode(&Type::Struct(vec![]), &[]), None);
}

#[test]
fn defaults_are_read_from_json() {
    let cases = [
        (Type::Boolean, json!(true), Value::Boolean(true)),
        (Type::Long, json!(i64::MIN), Value::Long(i64::MIN)),
        (Type::Float, json!(1.5), Value::Float(1.5)),
        (
            Type::Decimal {
                precision: 9,
                scale: 2,
            },
            json!("-14.2"),
            Value::Decimal {
                unscaled: -1420,
                precision: 9,
                scale: 2,
            },
        ),
        (Type::Date, json!("2017-11-16"), Value::Date(17_486)),
        (Type::Date, json!("1969-12-31"), Value::Date(-1)),
        (Type::Date, json!("2000-02-29"), Value::Date(11_016)),
        (
            Type::Time,
            json!("22:31:08.123456"),
            Value::Time(81_068_123_456),
        ),
        (
            Type::Timestamp,
            json!("2017-11-16T22:31:08.000001"),
            Value::Timestamp(1_510_871_468_000_001),
        ),
        (
            Type::Timestamp,
            json!("1969-12-31T23:59:59.5"),
            Value::Timestamp(-500_000),
        ),
        (
            Type::TimestampTz,
            json!("2017-11-16T22:31:08+00:00"),
            Value::TimestampTz(1_510_871_468_000_000),
        ),
        (
            Type::TimestampNs,
            json!("1969-12-31T23:59:59.999999999"),
            Value::TimestampNs(-1),
        ),
        (
            Type::TimestampTzNs,
            json!("2017-11-16T22:31:08.000001001+00:00"),
            Value::TimestampTzNs(1_510_871_468_000_001_001),
        ),
        (
            Type::String,
            json!("iceberg"),
            Value::String("iceberg".into()),
        ),
        (
            Type::Uuid,
            json!("f79c3e09-677c-4bbd-a479-3f349cb785e7"),
            Value::Uuid(
                uuid::Uuid::from_u128(0xf79c_3e09_677c_4bbd_a479_3f34_9cb7_85e7).into_bytes(),
            ),
        ),
        (Type::Fixed(2), json!("00Ff"), Value::Fixed(vec![0, 255])),
        (Type::Binary, json!(""), Value::Binary(vec![])),
    ];
    for (ty, json, value) in cases {
        assert_eq!(from_json(&ty, &json).unwrap(), value, "{json}");
    }
    for (ty, json) in [
        (Type::Int, json!(1i64 << 40)),
        (Type::Date, json!("2017-13-01")),
        (Type::TimestampTz, json!("2017-11-16T22:31:08+02:00")),
        (Type::TimestampNs, json!("2300-01-01T00:00:00")),
        (Type::Fixed(3), json!("00ff")),
        (Type::Binary, json!("0g")),
        (
            Type::Decimal {
                precision: 3,
                scale: 1,
            },
            json!("123.4"),
        ),
        (
            Type::Decimal {
                precision: 3,
                scale: 1,
            },
            json!("1.23"),
        ),
    ] {
        assert_eq!(
            from_json(&ty, &json).unwrap_err().kind(),
            crate::error::ErrorKind::Corrupt,
            "{ty} {json}"
        );
    }
}

#[test]
fn coercion_loses_nothing_or_is_refused() {
    let decimal = |unscaled, precision, scale| Value::Decimal {
        unscaled,
        precision,
        scale,
    };
    let ty = |precision, scale| Type::Decimal { precision, scale };
    assert_eq!(Value::Int(7).coerce(&Type::Long), Some(Value::Long(7)));
    assert_eq!(Value::Long(7).coerce(&Type::Int), Some(Value::Int(7)));
    assert_eq!(Value::Long(1 << 40).coerce(&Type::Int), None);
    assert_eq!(Value::Long((1 << 53) + 1).coerce(&Type::Double), None);
    assert_eq!(
        Value::Double(0.5).coerce(&Type::Float),
        Some(Value::Float(0.5))
    );
    assert_eq!(Value::Double(0.1).coerce(&Type::Float), None);
    assert!(
        Value::Double(f64::NAN)
            .coerce(&Type::Float)
            .unwrap()
            .is_nan()
    );
    assert_eq!(
        decimal(150, 5, 2).coerce(&ty(9, 1)),
        Some(decimal(15, 9, 1))
    );
    assert_eq!(decimal(151, 5, 2).coerce(&ty(9, 1)), None);
    assert_eq!(Value::Int(100).coerce(&ty(3, 1)), None);
    assert_eq!(Value::Timestamp(1).coerce(&Type::TimestampTz), None);
}

#[test]
fn value_becomes_a_column_of_its_type() {
    use crate::iceberg::predicate::tests::column;
    for (ty, domain) in types().into_iter().zip(domains()) {
        let arrow = ty.to_arrow().unwrap();
        for value in &domain {
            let rows = vec![Some(value.clone()); 3];
            assert_eq!(
                &to_array(Some(value), &arrow, 3).unwrap(),
                &column(value, &rows),
                "{value:?}"
            );
        }
        assert_eq!(to_array(None, &arrow, 3).unwrap().null_count(), 3);
        assert_eq!(to_array(Some(&domain[0]), &arrow, 0).unwrap().len(), 0);
    }
    assert!(to_array(Some(&Value::Int(1)), &arrow::datatypes::DataType::Int64, 1).is_err());
}
