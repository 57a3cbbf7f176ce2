//! A file that holds a matching row is never pruned, whatever of its statistics is missing; and some files are.

use super::*;
use crate::iceberg::manifest::{BoundMap, CountMap, DataContent, FileFormat};
use crate::iceberg::predicate::tests::{domains, leaves, naive, tree};
use crate::iceberg::tests::Random;

pub(super) fn type_of(value: &Value) -> Type {
    match value {
        Value::Boolean(_) => Type::Boolean,
        Value::Int(_) => Type::Int,
        Value::Long(_) => Type::Long,
        Value::Float(_) => Type::Float,
        Value::Double(_) => Type::Double,
        Value::Decimal {
            precision, scale, ..
        } => Type::Decimal {
            precision: *precision,
            scale: *scale,
        },
        Value::Date(_) => Type::Date,
        Value::Time(_) => Type::Time,
        Value::Timestamp(_) => Type::Timestamp,
        Value::TimestampTz(_) => Type::TimestampTz,
        Value::TimestampNs(_) => Type::TimestampNs,
        Value::TimestampTzNs(_) => Type::TimestampTzNs,
        Value::String(_) => Type::String,
        Value::Uuid(_) => Type::Uuid,
        Value::Fixed(b) => Type::Fixed(b.len() as u32),
        Value::Binary(_) => Type::Binary,
    }
}

/// The entry of a file with these rows; bits of `known` say which statistics it has.
fn file(rows: &[Option<Value>], known: u64) -> DataFile {
    let mut file = DataFile::new(
        DataContent::Data,
        "f",
        FileFormat::Parquet,
        rows.len() as u64,
        1,
    );
    let present: Vec<&Value> = rows.iter().flatten().collect();
    let numbers: Vec<&Value> = present.iter().copied().filter(|v| !v.is_nan()).collect();
    let count = |n: usize| CountMap::new([(1, n as i64)]);
    if known & 1 != 0 {
        file.value_counts = count(rows.len());
    }
    if known & 2 != 0 {
        file.null_value_counts = count(rows.len() - present.len());
    }
    if known & 4 != 0 {
        file.nan_value_counts = count(present.len() - numbers.len());
    }
    let least = numbers.iter().min_by(|a, b| a.bound_cmp(b).unwrap());
    let greatest = numbers.iter().max_by(|a, b| a.bound_cmp(b).unwrap());
    if let (true, Some(value)) = (known & 8 != 0, least) {
        file.lower_bounds = BoundMap::new([(1, value::encode(value))]);
    }
    if let (true, Some(value)) = (known & 16 != 0, greatest) {
        file.upper_bounds = BoundMap::new([(1, value::encode(value))]);
    }
    file
}

#[test]
fn r_pl1_file_with_a_matching_row_is_never_pruned() {
    let mut random = Random(3);
    let (mut pruned, mut tried) = (0, 0);
    for domain in domains() {
        let schema = Schema::new(0, vec![Field::new(1, "c", false, type_of(&domain[0]))]).unwrap();
        let leaves = leaves(&domain);
        let trees = (0..100)
            .map(|_| tree(&mut random, &leaves, 3))
            .collect::<Vec<_>>();
        for _ in 0..60 {
            let nulls = random.below(3);
            let row = |random: &mut Random| {
                (random.below(4) >= nulls).then(|| domain[random.below(domain.len())].clone())
            };
            let rows: Vec<_> = (0..1 + random.below(4)).map(|_| row(&mut random)).collect();
            let file = file(&rows, random.next());
            for predicate in leaves.iter().chain(&trees) {
                let kept = may_match(predicate, &file, &schema);
                let matches = rows
                    .iter()
                    .any(|r| naive(predicate, r.as_ref()) == Some(true));
                assert!(kept || !matches, "{predicate:?} over {rows:?} by {file:?}");
                tried += 1;
                pruned += usize::from(!kept);
            }
        }
    }
    assert!(pruned * 10 > tried, "only {pruned} of {tried} are pruned");
}

#[test]
fn statistics_that_decide_prune_the_file() {
    let schema = Schema::new(0, vec![Field::new(1, "c", false, Type::Double)]).unwrap();
    let file = file(
        &[Some(Value::Double(-0.0)), Some(Value::Double(1.0)), None],
        u64::MAX,
    );
    let compare = |op, v| Predicate::Compare {
        column: 1,
        op,
        value: Value::Double(v),
    };
    assert!(may_match(&compare(CompareOp::Eq, 0.0), &file, &schema));
    assert!(!may_match(&compare(CompareOp::Lt, 0.0), &file, &schema));
    assert!(!may_match(&compare(CompareOp::Gt, 1.0), &file, &schema));
    assert!(!may_match(&Predicate::IsNan { column: 1 }, &file, &schema));
    assert!(may_match(&Predicate::IsNull { column: 1 }, &file, &schema));
    assert!(!may_match(
        &Predicate::Not(Box::new(compare(CompareOp::LtEq, 1.0))),
        &file,
        &schema
    ));
    let unknown = DataFile {
        nan_value_counts: CountMap::default(),
        ..file.clone()
    };
    assert!(
        may_match(&compare(CompareOp::Gt, 1.0), &unknown, &schema),
        "NaN may be there, and is greater"
    );
    assert!(!may_match(&compare(CompareOp::Lt, 0.0), &unknown, &schema));

    let path = |value: &str| Predicate::Compare {
        column: reserved::FILE,
        op: CompareOp::Eq,
        value: Value::String(value.into()),
    };
    assert!(may_match(&path("f"), &file, &schema) && !may_match(&path("g"), &file, &schema));
    let position = |v| Predicate::Compare {
        column: reserved::POS,
        op: CompareOp::GtEq,
        value: Value::Long(v),
    };
    assert!(may_match(&position(2), &file, &schema) && !may_match(&position(3), &file, &schema));
}

#[test]
fn narrow_bounds_of_a_promoted_column_still_prune() {
    let schema = Schema::new(0, vec![Field::new(1, "c", false, Type::Long)]).unwrap();
    let file = file(&[Some(Value::Int(5)), Some(Value::Int(9))], u64::MAX);
    let compare = |op, v| Predicate::Compare {
        column: 1,
        op,
        value: Value::Long(v),
    };
    assert!(may_match(&compare(CompareOp::Eq, 7), &file, &schema));
    assert!(!may_match(&compare(CompareOp::Eq, 10), &file, &schema));
}

#[test]
fn r_pl1_prefix_prunes_by_cut_bounds() {
    let schema = Schema::new(0, vec![Field::new(1, "c", false, Type::String)]).unwrap();
    let file = file(
        &[
            Some(Value::String("abc".into())),
            Some(Value::String("abd".into())),
        ],
        u64::MAX,
    );
    let starts = |pattern: &str| Predicate::Match {
        column: 1,
        op: MatchOp::StartsWith,
        pattern: pattern.into(),
    };
    for (pattern, kept) in [
        ("", true),
        ("a", true),
        ("abc", true),
        ("abcx", true),
        ("abdx", false),
        ("abb", false),
        ("b", false),
    ] {
        assert_eq!(
            may_match(&starts(pattern), &file, &schema),
            kept,
            "{pattern}"
        );
    }
}
