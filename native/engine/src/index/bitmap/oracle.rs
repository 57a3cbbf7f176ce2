//! The oracle of the bitmap tests: every operator written down row by row, and the checks that compare
//! a segment's bounds with it.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::{Field, Schema};
use roaring::RoaringBitmap;

use super::Bitmap;
use super::key::KeyType;
use super::writer::BitmapBuilder;
use crate::iceberg::predicate::{CompareOp, MatchOp, Predicate};
use crate::iceberg::value::Value;
use crate::index::bounds::evaluate;
use crate::index::testing::{Random, truth};
use crate::index::{Blob, Bounds, IndexBuilder, IndexDefinition, IndexKind, OpenIndex};

pub(super) const COLUMN: i32 = 7;
pub(super) const OPS: [CompareOp; 6] = [
    CompareOp::Eq,
    CompareOp::NotEq,
    CompareOp::Lt,
    CompareOp::LtEq,
    CompareOp::Gt,
    CompareOp::GtEq,
];
pub(super) const MATCHES: [MatchOp; 3] =
    [MatchOp::StartsWith, MatchOp::EndsWith, MatchOp::Contains];

pub(super) fn definition() -> IndexDefinition {
    IndexDefinition {
        name: "c_bitmap".into(),
        kind: "bitmap".into(),
        columns: vec![COLUMN],
        parameters: BTreeMap::new(),
    }
}

pub(super) fn batch(array: ArrayRef) -> RecordBatch {
    let schema = Schema::new(vec![Field::new("c", array.data_type().clone(), true)]);
    RecordBatch::try_new(Arc::new(schema), vec![array]).unwrap()
}

pub(super) fn build(
    array: &ArrayRef,
    entry_count_target: usize,
    rows_per_batch: usize,
) -> Vec<Blob> {
    let mut builder = Box::new(BitmapBuilder::new(
        KeyType::of(array.data_type()).unwrap(),
        entry_count_target,
    ));
    for start in (0..array.len()).step_by(rows_per_batch) {
        builder
            .add(&batch(
                array.slice(start, rows_per_batch.min(array.len() - start)),
            ))
            .unwrap();
    }
    builder.finish().unwrap()
}

pub(super) fn bounds(blobs: &[Blob], rows: usize, predicate: &Predicate) -> Option<Bounds> {
    let OpenIndex::Scalar(index) = Bitmap.open(&definition(), blobs, rows as u32).unwrap() else {
        panic!("not scalar")
    };
    let unanswered = std::cell::Cell::new(false);
    let bounds = evaluate(predicate, rows as u32, &|leaf| {
        let answer = index.leaf(leaf)?;
        unanswered.set(unanswered.get() || answer.is_none());
        Ok(answer)
    });
    (!unanswered.get()).then(|| bounds.unwrap())
}

pub(super) fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Float(v) => Some(f64::from(*v)),
        Value::Double(v) => Some(*v),
        _ => None,
    }
}

/// PostgreSQL's order, written down again.
pub(super) fn compare(a: &Value, b: &Value) -> Ordering {
    if let (Some(a), Some(b)) = (number(a), number(b)) {
        return match (a.is_nan(), b.is_nan()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Greater,
            (false, true) => Ordering::Less,
            _ => a.partial_cmp(&b).unwrap(),
        };
    }
    match (a, b) {
        (Value::Boolean(a), Value::Boolean(b)) => a.cmp(b),
        (Value::Int(a), Value::Int(b)) | (Value::Date(a), Value::Date(b)) => a.cmp(b),
        (Value::Int(a), Value::Long(b)) => i64::from(*a).cmp(b),
        (Value::Long(a), Value::Long(b))
        | (Value::Time(a), Value::Time(b))
        | (Value::Timestamp(a), Value::Timestamp(b))
        | (Value::TimestampTz(a), Value::TimestampTz(b)) => a.cmp(b),
        (Value::Decimal { unscaled: a, .. }, Value::Decimal { unscaled: b, .. }) => a.cmp(b),
        (Value::String(a), Value::String(b)) => a.as_bytes().cmp(b.as_bytes()),
        (Value::Uuid(a), Value::Uuid(b)) => a.cmp(b),
        (Value::Fixed(a), Value::Fixed(b)) | (Value::Binary(a), Value::Binary(b)) => a.cmp(b),
        other => panic!("{other:?}"),
    }
}

pub(super) fn leaf_truth(predicate: &Predicate, value: Option<&Value>) -> Option<bool> {
    match predicate {
        Predicate::Compare {
            op, value: literal, ..
        } => value.map(|v| {
            let order = compare(v, literal);
            match op {
                CompareOp::Eq => order.is_eq(),
                CompareOp::NotEq => order.is_ne(),
                CompareOp::Lt => order.is_lt(),
                CompareOp::LtEq => order.is_le(),
                CompareOp::Gt => order.is_gt(),
                CompareOp::GtEq => order.is_ge(),
            }
        }),
        Predicate::NullSafeEq { value: literal, .. } => Some(match (value, literal) {
            (None, None) => true,
            (Some(v), Some(literal)) => compare(v, literal).is_eq(),
            _ => false,
        }),
        Predicate::In {
            values, has_null, ..
        } => {
            let hit =
                value.is_some_and(|v| values.iter().any(|literal| compare(v, literal).is_eq()));
            if hit {
                Some(true)
            } else {
                (value.is_some() && !has_null).then_some(false)
            }
        }
        Predicate::IsNull { .. } => Some(value.is_none()),
        Predicate::IsNan { .. } => value.map(|v| number(v).unwrap().is_nan()),
        Predicate::Match { op, pattern, .. } => value.map(|v| match (v, op) {
            (Value::String(v), MatchOp::StartsWith) => v.starts_with(pattern),
            (Value::String(v), MatchOp::EndsWith) => v.ends_with(pattern),
            (Value::String(v), MatchOp::Contains) => v.contains(pattern),
            other => panic!("{other:?}"),
        }),
        other => panic!("{other:?}"),
    }
}

/// Checks bounds against row by row evaluation; `exact` where the index must leave nothing open.
pub(super) fn check(blobs: &[Blob], values: &[Option<Value>], predicate: &Predicate, exact: bool) {
    let got = bounds(blobs, values.len(), predicate)
        .unwrap_or_else(|| panic!("unanswered {predicate:?}"));
    let want: Vec<Option<bool>> = values
        .iter()
        .map(|v| truth(predicate, &|leaf| leaf_truth(leaf, v.as_ref())))
        .collect();
    let rows = |wanted: Option<bool>| -> RoaringBitmap {
        (0u32..)
            .zip(&want)
            .filter(|(_, v)| **v == wanted)
            .map(|(row, _)| row)
            .collect()
    };
    assert!(
        got.sure.is_subset(&rows(Some(true))) && rows(Some(true)).is_subset(&got.maybe),
        "{predicate:?}\n{got:?}"
    );
    assert!(
        got.false_sure.is_subset(&rows(Some(false))) && got.nulls.is_subset(&rows(None)),
        "{predicate:?}\n{got:?}"
    );
    if exact {
        assert_eq!(
            (&got.sure, &got.maybe),
            (&rows(Some(true)), &rows(Some(true))),
            "{predicate:?}"
        );
        assert_eq!(
            (got.false_sure, got.nulls),
            (rows(Some(false)), rows(None)),
            "{predicate:?}"
        );
    }
}

pub(super) fn leaves(literals: &[Value]) -> Vec<Predicate> {
    let column = COLUMN;
    let mut all = vec![
        Predicate::IsNull { column },
        Predicate::NullSafeEq {
            column,
            value: None,
        },
        Predicate::In {
            column,
            values: vec![],
            has_null: true,
        },
        Predicate::In {
            column,
            values: literals.to_vec(),
            has_null: false,
        },
        Predicate::In {
            column,
            values: literals.iter().step_by(2).cloned().collect(),
            has_null: true,
        },
    ];
    for literal in literals {
        all.extend(OPS.map(|op| Predicate::Compare {
            column,
            op,
            value: literal.clone(),
        }));
        all.push(Predicate::NullSafeEq {
            column,
            value: Some(literal.clone()),
        });
        all.push(Predicate::In {
            column,
            values: vec![literal.clone()],
            has_null: false,
        });
        all.push(Predicate::In {
            column,
            values: vec![literal.clone(), literals[0].clone()],
            has_null: true,
        });
        if number(literal).is_some() {
            all.push(Predicate::IsNan { column });
        }
        if let Value::String(pattern) = literal {
            all.extend(MATCHES.map(|op| Predicate::Match {
                column,
                op,
                pattern: pattern.clone(),
            }));
        }
    }
    all
}

/// Every operator with every literal, plain and negated, with one entry per value and with shared entries.
pub(super) fn check_all(
    array: ArrayRef,
    values: &[Option<Value>],
    literals: &[Value],
    exact: bool,
) {
    assert_eq!(array.len(), values.len());
    let blobs = build(&array, 65_536, 3);
    for predicate in leaves(literals) {
        check(&blobs, values, &predicate, exact);
        check(&blobs, values, &Predicate::Not(Box::new(predicate)), exact);
    }
    for target in [1, 2, 3, 5] {
        let coarse = build(&array, target, 100);
        for predicate in leaves(literals) {
            check(&coarse, values, &predicate, false);
            check(&coarse, values, &Predicate::Not(Box::new(predicate)), false);
        }
    }
}

/// Rows in a shuffled order with repeats and NULLs.
pub(super) fn shuffled<T: Clone>(distinct: &[T]) -> Vec<Option<T>> {
    let mut random = Random(distinct.len() as u64);
    (0..distinct.len() * 5 + 4)
        .map(|_| {
            if random.chance(5) {
                None
            } else {
                Some(random.pick(distinct).clone())
            }
        })
        .collect()
}

pub(super) fn optional<T: Clone>(
    rows: &[Option<T>],
    value: impl Fn(T) -> Value,
) -> Vec<Option<Value>> {
    rows.iter().cloned().map(|v| v.map(&value)).collect()
}
