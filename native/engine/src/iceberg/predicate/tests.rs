//! The evaluator against a naive one, row by row, for every primitive type and operator.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, FixedSizeBinaryBuilder,
    Float32Array, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray,
    Time64MicrosecondArray, TimestampMicrosecondArray, TimestampNanosecondArray,
};
use arrow::datatypes::{Field as ArrowField, Schema as ArrowSchema};

use super::*;
use crate::error::ErrorKind;
use crate::iceberg::schema::FIELD_ID_KEY;
use crate::iceberg::tests::Random;

pub(in crate::iceberg) const OPS: [CompareOp; 6] = [
    CompareOp::Eq,
    CompareOp::NotEq,
    CompareOp::Lt,
    CompareOp::LtEq,
    CompareOp::Gt,
    CompareOp::GtEq,
];

/// PostgreSQL's order.
fn naive_cmp(a: &Value, b: &Value) -> Ordering {
    let floats = |a: f64, b: f64| match (a.is_nan(), b.is_nan()) {
        (true, true) => Ordering::Equal,
        (true, false) => Ordering::Greater,
        (false, true) => Ordering::Less,
        (false, false) => a.partial_cmp(&b).unwrap(),
    };
    match (a, b) {
        (Value::Float(a), Value::Float(b)) => floats(f64::from(*a), f64::from(*b)),
        (Value::Double(a), Value::Double(b)) => floats(*a, *b),
        _ => a.bound_cmp(b).unwrap(),
    }
}

/// The truth of a predicate for a row of one column.
pub(in crate::iceberg) fn naive(predicate: &Predicate, row: Option<&Value>) -> Option<bool> {
    match predicate {
        Predicate::Constant(truth) => *truth,
        Predicate::And(parts) => {
            let truths: Vec<_> = parts.iter().map(|p| naive(p, row)).collect();
            if truths.contains(&Some(false)) {
                Some(false)
            } else if truths.contains(&None) {
                None
            } else {
                Some(true)
            }
        }
        Predicate::Or(parts) => {
            let truths: Vec<_> = parts.iter().map(|p| naive(p, row)).collect();
            if truths.contains(&Some(true)) {
                Some(true)
            } else if truths.contains(&None) {
                None
            } else {
                Some(false)
            }
        }
        Predicate::Not(inner) => naive(inner, row).map(|t| !t),
        Predicate::Compare { op, value, .. } => row.map(|v| {
            let ordering = naive_cmp(v, value);
            match op {
                CompareOp::Eq => ordering == Ordering::Equal,
                CompareOp::NotEq => ordering != Ordering::Equal,
                CompareOp::Lt => ordering == Ordering::Less,
                CompareOp::LtEq => ordering != Ordering::Greater,
                CompareOp::Gt => ordering == Ordering::Greater,
                CompareOp::GtEq => ordering != Ordering::Less,
            }
        }),
        Predicate::NullSafeEq { value, .. } => Some(match (row, value) {
            (None, None) => true,
            (Some(v), Some(w)) => naive_cmp(v, w) == Ordering::Equal,
            _ => false,
        }),
        Predicate::In {
            values, has_null, ..
        } => row.and_then(|v| {
            let hit = values.iter().any(|w| naive_cmp(v, w) == Ordering::Equal);
            if hit {
                Some(true)
            } else if *has_null {
                None
            } else {
                Some(false)
            }
        }),
        Predicate::IsNull { .. } => Some(row.is_none()),
        Predicate::IsNan { .. } => row.map(Value::is_nan),
        Predicate::Match { op, pattern, .. } => row.map(|v| match (v, op) {
            (Value::String(v), MatchOp::StartsWith) => v.starts_with(pattern.as_str()),
            (Value::String(v), MatchOp::EndsWith) => v.ends_with(pattern.as_str()),
            (Value::String(v), MatchOp::Contains) => v.contains(pattern.as_str()),
            other => panic!("{other:?}"),
        }),
    }
}

/// For each primitive type, values with all the edges.
pub(in crate::iceberg) fn domains() -> Vec<Vec<Value>> {
    let decimal = |unscaled| Value::Decimal {
        unscaled,
        precision: 9,
        scale: 2,
    };
    let uuid = |b: u8| Value::Uuid([b; 16]);
    vec![
        vec![Value::Boolean(false), Value::Boolean(true)],
        [i32::MIN, -1, 0, 1, 7, i32::MAX].map(Value::Int).to_vec(),
        [i64::MIN, -1, 0, 1, 7, i64::MAX].map(Value::Long).to_vec(),
        [
            f32::NEG_INFINITY,
            -1.5,
            -0.0,
            0.0,
            1.5,
            f32::INFINITY,
            f32::NAN,
            -f32::NAN,
        ]
        .map(Value::Float)
        .to_vec(),
        [
            f64::NEG_INFINITY,
            -1.5,
            -0.0,
            0.0,
            1.5,
            f64::INFINITY,
            f64::NAN,
            -f64::NAN,
        ]
        .map(Value::Double)
        .to_vec(),
        [-999_999_999, -1, 0, 1, 150].map(decimal).to_vec(),
        [i32::MIN, -1, 0, 1].map(Value::Date).to_vec(),
        [0, 1, 86_399_999_999].map(Value::Time).to_vec(),
        [i64::MIN, -1, 0, 1].map(Value::Timestamp).to_vec(),
        [i64::MIN, -1, 0, 1].map(Value::TimestampTz).to_vec(),
        ["", "a", "ab", "b", "z\u{e9}", "\u{ffff}", "\u{10ffff}x"]
            .map(|s| Value::String(s.into()))
            .to_vec(),
        [0, 1, 0x7f, 0x80, 0xff].map(uuid).to_vec(),
        [[0u8, 0], [0, 255], [128, 1]]
            .map(|b| Value::Fixed(b.to_vec()))
            .to_vec(),
        vec![
            Value::Binary(vec![]),
            Value::Binary(vec![0]),
            Value::Binary(vec![128, 1]),
            Value::Binary(vec![255]),
        ],
        [i64::MIN, -1, 0, 1].map(Value::TimestampNs).to_vec(),
        [i64::MIN, -1, 0, 1].map(Value::TimestampTzNs).to_vec(),
    ]
}

macro_rules! array {
    ($array:ty, $rows:expr, $pattern:pat => $value:expr) => {
        Arc::new(
            $rows
                .iter()
                .map(|r| {
                    r.as_ref().map(|v| match v {
                        $pattern => $value.clone(),
                        other => panic!("{other:?}"),
                    })
                })
                .collect::<$array>(),
        )
    };
}

/// The column of `rows`, all of the type of `sample`.
pub(in crate::iceberg) fn column(sample: &Value, rows: &[Option<Value>]) -> ArrayRef {
    let fixed = |width: i32| {
        let mut builder = FixedSizeBinaryBuilder::new(width);
        for row in rows {
            match row {
                Some(Value::Uuid(b)) => builder.append_value(b).unwrap(),
                Some(Value::Fixed(b)) => builder.append_value(b).unwrap(),
                _ => builder.append_null(),
            }
        }
        Arc::new(builder.finish()) as ArrayRef
    };
    match sample {
        Value::Boolean(_) => array!(BooleanArray, rows, Value::Boolean(v) => v),
        Value::Int(_) => array!(Int32Array, rows, Value::Int(v) => v),
        Value::Long(_) => array!(Int64Array, rows, Value::Long(v) => v),
        Value::Float(_) => array!(Float32Array, rows, Value::Float(v) => v),
        Value::Double(_) => array!(Float64Array, rows, Value::Double(v) => v),
        Value::Decimal { .. } => {
            let unscaled = rows.iter().map(|r| {
                r.as_ref().map(|v| match v {
                    Value::Decimal { unscaled, .. } => *unscaled,
                    _ => 0,
                })
            });
            Arc::new(
                unscaled
                    .collect::<Decimal128Array>()
                    .with_precision_and_scale(9, 2)
                    .unwrap(),
            )
        }
        Value::Date(_) => array!(Date32Array, rows, Value::Date(v) => v),
        Value::Time(_) => array!(Time64MicrosecondArray, rows, Value::Time(v) => v),
        Value::Timestamp(_) => array!(TimestampMicrosecondArray, rows, Value::Timestamp(v) => v),
        Value::TimestampTz(_) => {
            let values = rows.iter().map(|r| {
                r.as_ref().map(|v| match v {
                    Value::TimestampTz(v) => *v,
                    _ => 0,
                })
            });
            Arc::new(
                values
                    .collect::<TimestampMicrosecondArray>()
                    .with_timezone("UTC"),
            )
        }
        Value::TimestampNs(_) => {
            array!(TimestampNanosecondArray, rows, Value::TimestampNs(v) => v)
        }
        Value::TimestampTzNs(_) => {
            let values = rows.iter().map(|r| match r {
                Some(Value::TimestampTzNs(v)) => Some(*v),
                _ => None,
            });
            let values = values.collect::<TimestampNanosecondArray>();
            Arc::new(values.with_timezone("UTC"))
        }
        Value::String(_) => array!(StringArray, rows, Value::String(v) => v),
        Value::Uuid(_) => fixed(16),
        Value::Fixed(b) => fixed(b.len() as i32),
        Value::Binary(_) => array!(BinaryArray, rows, Value::Binary(v) => v),
    }
}

pub(in crate::iceberg) fn batch(array: ArrayRef, id: i32) -> RecordBatch {
    let metadata = HashMap::from([(FIELD_ID_KEY.to_owned(), id.to_string())]);
    let field = ArrowField::new("c", array.data_type().clone(), true).with_metadata(metadata);
    RecordBatch::try_new(Arc::new(ArrowSchema::new(vec![field])), vec![array]).unwrap()
}

/// Every leaf on a domain.
pub(in crate::iceberg) fn leaves(domain: &[Value]) -> Vec<Predicate> {
    let column = 1;
    let mut leaves = vec![
        Predicate::Constant(None),
        Predicate::Constant(Some(true)),
        Predicate::IsNull { column },
        Predicate::NullSafeEq {
            column,
            value: None,
        },
        Predicate::In {
            column,
            values: vec![],
            has_null: false,
        },
        Predicate::In {
            column,
            values: vec![],
            has_null: true,
        },
        Predicate::In {
            column,
            values: domain.to_vec(),
            has_null: false,
        },
        Predicate::In {
            column,
            values: domain.iter().step_by(2).cloned().collect(),
            has_null: true,
        },
        Predicate::In {
            column,
            values: domain.iter().cycle().take(12).cloned().collect(),
            has_null: false,
        },
    ];
    for value in domain {
        leaves.extend(OPS.map(|op| Predicate::Compare {
            column,
            op,
            value: value.clone(),
        }));
        leaves.push(Predicate::NullSafeEq {
            column,
            value: Some(value.clone()),
        });
        leaves.push(Predicate::In {
            column,
            values: vec![value.clone()],
            has_null: false,
        });
        if let Value::String(pattern) = value {
            let ops = [MatchOp::StartsWith, MatchOp::EndsWith, MatchOp::Contains];
            leaves.extend(ops.map(|op| Predicate::Match {
                column,
                op,
                pattern: pattern.clone(),
            }));
        }
    }
    if matches!(
        domain[0],
        Value::Float(_) | Value::Double(_) | Value::Int(_)
    ) {
        leaves.push(Predicate::IsNan { column });
    }
    leaves
}

/// A random tree of leaves.
pub(in crate::iceberg) fn tree(
    random: &mut Random,
    leaves: &[Predicate],
    depth: usize,
) -> Predicate {
    match random.below(if depth == 0 { 1 } else { 4 }) {
        0 => leaves[random.below(leaves.len())].clone(),
        1 => Predicate::Not(Box::new(tree(random, leaves, depth - 1))),
        n => {
            let parts = (0..random.below(4))
                .map(|_| tree(random, leaves, depth - 1))
                .collect();
            if n == 2 {
                Predicate::And(parts)
            } else {
                Predicate::Or(parts)
            }
        }
    }
}

#[test]
fn l2_evaluate_agrees_with_naive_evaluator_for_all_types_and_operators() {
    let mut random = Random(1);
    for domain in domains() {
        let mut rows: Vec<Option<Value>> = domain.iter().cloned().map(Some).collect();
        rows.push(None);
        rows.extend(
            (0..100)
                .map(|_| (random.below(4) > 0).then(|| domain[random.below(domain.len())].clone())),
        );
        let no_nulls: Vec<_> = rows.iter().filter(|r| r.is_some()).cloned().collect();
        let leaves = leaves(&domain);
        let trees = (0..200)
            .map(|_| tree(&mut random, &leaves, 3))
            .collect::<Vec<_>>();
        for rows in [rows, no_nulls] {
            let batch = batch(column(&domain[0], &rows), 1);
            for predicate in leaves.iter().chain(&trees) {
                let found: Vec<Option<bool>> =
                    evaluate(predicate, &batch).unwrap().iter().collect();
                let expected: Vec<Option<bool>> =
                    rows.iter().map(|r| naive(predicate, r.as_ref())).collect();
                assert_eq!(found, expected, "{predicate:?} over {rows:?}");
            }
        }
    }
}

#[test]
fn literal_of_other_type_is_coerced_or_refused() {
    let batch = batch(Arc::new(Int64Array::from(vec![1, 2])), 1);
    let compare = |value| Predicate::Compare {
        column: 1,
        op: CompareOp::Eq,
        value,
    };
    let found = evaluate(&compare(Value::Int(2)), &batch).unwrap();
    assert_eq!(found, BooleanArray::from(vec![false, true]));
    for value in [
        Value::Double(2.0),
        Value::String("2".into()),
        Value::Date(2),
    ] {
        assert_eq!(
            evaluate(&compare(value), &batch).unwrap_err().kind(),
            ErrorKind::InvalidInput
        );
    }
    let absent = Predicate::IsNull { column: 9 };
    assert_eq!(
        evaluate(&absent, &batch).unwrap_err().kind(),
        ErrorKind::Internal
    );
}

#[test]
fn l11_predicate_that_nests_too_deep_is_refused() {
    let batch = batch(Arc::new(Int64Array::from(vec![1, 2])), 1);
    let deep = (0..2_000).fold(Predicate::Constant(Some(true)), |p, _| {
        Predicate::Not(Box::new(p))
    });
    assert_eq!(
        evaluate(&deep, &batch).unwrap_err().kind(),
        ErrorKind::InvalidInput
    );
}

#[test]
fn conjuncts_are_flattened_in_order_and_joined_again() {
    let leaf = |column| Predicate::IsNull { column };
    let nested = Predicate::And(vec![
        leaf(1),
        Predicate::And(vec![leaf(2), Predicate::Constant(Some(true)), leaf(3)]),
        leaf(4),
    ]);
    assert_eq!(
        nested.columns().into_iter().collect::<Vec<_>>(),
        [1, 2, 3, 4]
    );
    assert_eq!(nested.clone().conjuncts(), [1, 2, 3, 4].map(leaf));
    assert_eq!(
        Predicate::all([nested]),
        Predicate::And([1, 2, 3, 4].map(leaf).to_vec())
    );
    assert_eq!(Predicate::all([leaf(5)]), leaf(5));
    assert_eq!(Predicate::all([]), Predicate::Constant(Some(true)));
}
