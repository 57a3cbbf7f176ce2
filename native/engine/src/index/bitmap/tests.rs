//! The bitmap kind against its oracle, on damaged blobs, and its golden bytes.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, FixedSizeBinaryArray,
    Float32Array, Float64Array, Int32Array, Int64Array, StringArray, Time64MicrosecondArray,
    TimestampMicrosecondArray,
};
use arrow::datatypes::{DataType, Field, FieldRef};
use bytes::Bytes;
use roaring::RoaringBitmap;

use super::Bitmap;
use super::oracle::{
    COLUMN, batch, bounds, build, check, check_all, definition, leaves, optional, shuffled,
};
use crate::error::ErrorKind;
use crate::iceberg::predicate::{CompareOp, MatchOp, Predicate};
use crate::iceberg::value::Value;
use crate::index::overlay::FileIdentity;
use crate::index::segment::{CoveredFile, SegmentHeader, SegmentReader, write};
use crate::index::testing::Random;
use crate::index::{Blob, Bounds, IndexKind, OpenIndex};

#[test]
fn bitmap_boolean_is_exact() {
    let rows = shuffled(&[true, false]);
    check_all(
        Arc::new(BooleanArray::from(rows.clone())),
        &optional(&rows, Value::Boolean),
        &[Value::Boolean(true), Value::Boolean(false)],
        true,
    );
}

#[test]
fn bitmap_int_is_exact() {
    let rows = shuffled(&[i32::MIN, -5, -1, 0, 1, 7, 256, i32::MAX]);
    let literals = [i32::MIN, -6, -1, 0, 2, 256, i32::MAX].map(Value::Int);
    check_all(
        Arc::new(Int32Array::from(rows.clone())),
        &optional(&rows, Value::Int),
        &literals,
        true,
    );
}

#[test]
fn bitmap_int_promoted_to_long_answers_long_literals() {
    let rows = shuffled(&[i32::MIN, -1, 0, 7, i32::MAX]);
    let literals = [
        i64::MIN,
        i64::from(i32::MIN) - 1,
        -1,
        0,
        6,
        i64::from(i32::MAX) + 1,
        i64::MAX,
    ]
    .map(Value::Long);
    check_all(
        Arc::new(Int32Array::from(rows.clone())),
        &optional(&rows, Value::Int),
        &literals,
        true,
    );
}

#[test]
fn bitmap_long_is_exact() {
    let rows = shuffled(&[i64::MIN, -1 << 40, -1, 0, 1, (1 << 53) + 1, i64::MAX]);
    let literals = [i64::MIN, -2, 0, 1 << 53, (1 << 53) + 1, i64::MAX].map(Value::Long);
    check_all(
        Arc::new(Int64Array::from(rows.clone())),
        &optional(&rows, Value::Long),
        &literals,
        true,
    );
}

#[test]
fn bitmap_float_follows_postgresql() {
    let odd_nan = f32::from_bits(0xffc0_1234);
    let rows = shuffled(&[
        f32::NAN,
        odd_nan,
        f32::NEG_INFINITY,
        f32::MIN,
        -1.5,
        -0.0,
        0.0,
        f32::MIN_POSITIVE,
        0.1,
        f32::INFINITY,
    ]);
    let literals = [
        f32::NAN,
        -f32::NAN,
        f32::NEG_INFINITY,
        -1.5,
        -0.0,
        0.0,
        0.1,
        3.0,
        f32::INFINITY,
    ]
    .map(Value::Float);
    check_all(
        Arc::new(Float32Array::from(rows.clone())),
        &optional(&rows, Value::Float),
        &literals,
        true,
    );
    let doubles = [0.1, f64::from(0.1f32), -1e300, 1e300, f64::NAN, -0.0].map(Value::Double);
    check_all(
        Arc::new(Float32Array::from(rows.clone())),
        &optional(&rows, Value::Float),
        &doubles,
        true,
    );
}

#[test]
fn bitmap_double_follows_postgresql() {
    let odd_nan = f64::from_bits(0xfff8_0000_0000_0001);
    let rows = shuffled(&[
        f64::NAN,
        odd_nan,
        f64::NEG_INFINITY,
        -1e300,
        -0.0,
        0.0,
        5e-324,
        0.1,
        f64::INFINITY,
    ]);
    let literals = [
        f64::NAN,
        f64::NEG_INFINITY,
        -0.0,
        0.0,
        -5e-324,
        0.1,
        f64::INFINITY,
    ]
    .map(Value::Double);
    check_all(
        Arc::new(Float64Array::from(rows.clone())),
        &optional(&rows, Value::Double),
        &literals,
        true,
    );
}

#[test]
fn bitmap_decimal_is_numeric() {
    let rows = shuffled(&[-(10i128.pow(37)), -1, 0, 1, 99, 10i128.pow(37)]);
    let decimal = |unscaled| Value::Decimal {
        unscaled,
        precision: 38,
        scale: 2,
    };
    let array = Decimal128Array::from(rows.clone())
        .with_precision_and_scale(38, 2)
        .unwrap();
    check_all(
        Arc::new(array),
        &optional(&rows, decimal),
        &[-(10i128.pow(37)), -2, 0, 98, 99, 10i128.pow(37)].map(decimal),
        true,
    );
}

#[test]
fn bitmap_date_and_time_types_are_exact() {
    let days = shuffled(&[i32::MIN, -1, 0, 20_000]);
    check_all(
        Arc::new(Date32Array::from(days.clone())),
        &optional(&days, Value::Date),
        &[-2, -1, 0, 20_000].map(Value::Date),
        true,
    );
    let micros = shuffled(&[0i64, 1, 86_399_999_999]);
    let literals = [-1i64, 0, 1, 2, 86_399_999_999];
    check_all(
        Arc::new(Time64MicrosecondArray::from(micros.clone())),
        &optional(&micros, Value::Time),
        &literals.map(Value::Time),
        true,
    );
    let local = TimestampMicrosecondArray::from(micros.clone());
    check_all(
        Arc::new(local.clone()),
        &optional(&micros, Value::Timestamp),
        &literals.map(Value::Timestamp),
        true,
    );
    check_all(
        Arc::new(local.with_timezone("UTC")),
        &optional(&micros, Value::TimestampTz),
        &literals.map(Value::TimestampTz),
        true,
    );
}

fn texts() -> Vec<String> {
    [
        "",
        " ",
        "  ",
        "a",
        "A",
        "ab",
        "abc",
        "ab ",
        "b",
        "é",
        "e\u{301}",
        "日本",
        "日本語",
        "\u{10ffff}",
        "\0",
        "a\0",
        "zz",
    ]
    .map(str::to_owned)
    .to_vec()
}

#[test]
fn bitmap_string_is_exact_by_bytes() {
    let rows = shuffled(&texts());
    let mut literals: Vec<Value> = texts().into_iter().map(Value::String).collect();
    literals.extend(["aa", "本", "b\u{7f}", "\u{301}", "c"].map(|s| Value::String(s.into())));
    check_all(
        Arc::new(StringArray::from(rows.clone())),
        &optional(&rows, Value::String),
        &literals,
        true,
    );
}

#[test]
fn bitmap_long_string_stays_sound() {
    let long = |length: usize, end: &str| format!("{}{end}", "x".repeat(length));
    let mut distinct = texts();
    for length in [254, 255, 256, 257, 300] {
        distinct.extend([
            long(length, ""),
            long(length, "a"),
            long(length, "é"),
            long(length, "z"),
        ]);
    }
    distinct.extend([
        "x".to_owned(),
        "y".to_owned(),
        format!("w{}", long(400, "")),
    ]);
    let rows = shuffled(&distinct);
    let mut literals: Vec<Value> = distinct.into_iter().map(Value::String).collect();
    literals.extend(
        [
            long(256, "0"),
            long(500, ""),
            long(255, "w"),
            "xx".into(),
            "xy".into(),
        ]
        .map(Value::String),
    );
    check_all(
        Arc::new(StringArray::from(rows.clone())),
        &optional(&rows, Value::String),
        &literals,
        false,
    );
}

#[test]
fn bitmap_binary_fixed_and_uuid_are_unsigned_bytes() {
    let bytes: Vec<Vec<u8>> = vec![
        vec![],
        vec![0],
        vec![0, 0],
        vec![0x7f],
        vec![0x80],
        vec![0xff; 300],
        vec![0xff; 256],
    ];
    let rows = shuffled(&bytes);
    let array = BinaryArray::from_iter(rows.iter());
    let literals: Vec<Value> = bytes
        .into_iter()
        .chain([vec![1]])
        .map(Value::Binary)
        .collect();
    check_all(
        Arc::new(array),
        &optional(&rows, Value::Binary),
        &literals,
        false,
    );

    let ids = [[0u8; 16], [0x7f; 16], [0x80; 16], [0xff; 16]];
    let rows = shuffled(&ids);
    let array: ArrayRef = Arc::new(
        FixedSizeBinaryArray::try_from_sparse_iter_with_size(
            rows.iter().map(|v| v.map(|v| v.to_vec())),
            16,
        )
        .unwrap(),
    );
    check_all(
        array.clone(),
        &optional(&rows, Value::Uuid),
        &ids.map(Value::Uuid),
        true,
    );
    let fixed = |id: [u8; 16]| Value::Fixed(id.to_vec());
    check_all(array, &optional(&rows, fixed), &ids.map(fixed), true);
}

#[test]
fn bitmap_empty_in_list_says_nothing_about_null() {
    let blobs = build(
        &(Arc::new(Int32Array::from(vec![Some(1), None])) as ArrayRef),
        10,
        10,
    );
    let got = bounds(
        &blobs,
        2,
        &Predicate::In {
            column: COLUMN,
            values: vec![],
            has_null: false,
        },
    )
    .unwrap();
    assert_eq!(
        got,
        Bounds {
            false_sure: [0].into(),
            ..Bounds::default()
        }
    );
}

#[test]
fn bitmap_does_not_answer_what_it_cannot() {
    let blobs = build(
        &(Arc::new(Int32Array::from(vec![1, 2])) as ArrayRef),
        10,
        10,
    );
    let other_column = Predicate::IsNull { column: COLUMN + 1 };
    let other_type = Predicate::Compare {
        column: COLUMN,
        op: CompareOp::Eq,
        value: Value::Date(1),
    };
    let nan = Predicate::IsNan { column: COLUMN };
    let text = Predicate::Match {
        column: COLUMN,
        op: MatchOp::Contains,
        pattern: "1".into(),
    };
    for predicate in [other_column, other_type, nan, text] {
        assert_eq!(bounds(&blobs, 2, &predicate), None, "{predicate:?}");
    }
    let decimals: ArrayRef = Arc::new(
        Decimal128Array::from(vec![1])
            .with_precision_and_scale(9, 2)
            .unwrap(),
    );
    let scaled = Predicate::Compare {
        column: COLUMN,
        op: CompareOp::Eq,
        value: Value::Decimal {
            unscaled: 1,
            precision: 9,
            scale: 3,
        },
    };
    assert_eq!(bounds(&build(&decimals, 10, 10), 1, &scaled), None);
}

#[test]
fn bitmap_without_rows_or_values_answers() {
    check_all(
        Arc::new(Int32Array::from(Vec::<i32>::new())),
        &[],
        &[Value::Int(1)],
        true,
    );
    check_all(
        Arc::new(StringArray::from(vec![None::<&str>; 5])),
        &[None, None, None, None, None],
        &[Value::String(String::new())],
        true,
    );
}

#[test]
fn bitmap_of_many_distinct_values_stays_bounded_and_sound() {
    let rows = 300_000usize;
    let mut random = Random(1);
    let numbers: Vec<i64> = (0..rows)
        .map(|i| {
            if i % 3 == 0 {
                42
            } else {
                (random.next() >> 20) as i64
            }
        })
        .collect();
    let array: ArrayRef = Arc::new(Int64Array::from(numbers.clone()));
    let blobs = build(&array, 65_536, 8192);
    let size: usize = blobs.iter().map(|b| b.data.len()).sum();
    assert!(size < rows * 8, "{size}");
    let OpenIndex::Scalar(index) = Bitmap.open(&definition(), &blobs, rows as u32).unwrap() else {
        panic!("not scalar")
    };
    let equal = |value: i64| {
        index
            .leaf(&Predicate::Compare {
                column: COLUMN,
                op: CompareOp::Eq,
                value: Value::Long(value),
            })
            .unwrap()
            .unwrap()
    };
    let heavy = equal(42);
    assert!(heavy.is_exact());
    assert_eq!(heavy.sure.len(), rows as u64 / 3);
    for row in (1..rows).step_by(30_011).filter(|row| row % 3 != 0) {
        let got = equal(numbers[row]);
        assert!(
            got.maybe.contains(row as u32) && got.maybe.len() < 20,
            "{}",
            got.maybe.len()
        );
    }
    let below = index
        .leaf(&Predicate::Compare {
            column: COLUMN,
            op: CompareOp::Lt,
            value: Value::Long(1 << 42),
        })
        .unwrap()
        .unwrap();
    let want: RoaringBitmap = (0u32..)
        .zip(&numbers)
        .filter(|(_, n)| **n < 1 << 42)
        .map(|(row, _)| row)
        .collect();
    assert!(
        below.sure.is_subset(&want) && want.is_subset(&below.maybe) && below.recheck().len() < 20
    );
}

#[test]
fn bitmap_of_random_rows_and_trees_is_sound() {
    for seed in 0..60 {
        let mut random = Random(seed);
        let distinct: Vec<String> = (0..1 + random.below(40))
            .map(|_| {
                "abé "
                    .chars()
                    .cycle()
                    .skip(random.below(4))
                    .take(random.below(5))
                    .collect()
            })
            .collect();
        let values: Vec<Option<String>> = (0..random.below(2000))
            .map(|_| (!random.chance(7)).then(|| random.pick(&distinct).clone()))
            .collect();
        let target = *random.pick(&[2, 7, 65_536]);
        let blobs = build(
            &(Arc::new(StringArray::from(values.clone())) as ArrayRef),
            target,
            512,
        );
        let values = optional(&values, Value::String);
        for _ in 0..20 {
            let literals: Vec<Value> = (0..3)
                .map(|_| Value::String(random.pick(&distinct).clone()))
                .collect();
            let choices = leaves(&literals);
            let mut part = || random.pick(&choices).clone();
            let (a, b, c) = (part(), part(), part());
            let tree = Predicate::Or(vec![
                Predicate::Not(Box::new(Predicate::And(vec![a, b]))),
                c,
            ]);
            check(&blobs, &values, &tree, target > 100);
        }
    }
}

#[test]
fn bitmap_batching_does_not_change_bytes() {
    let rows = shuffled(&texts());
    let array: ArrayRef = Arc::new(StringArray::from(rows));
    let bytes = |per_batch| {
        build(&array, 5, per_batch)
            .into_iter()
            .map(|b| b.data)
            .collect::<Vec<_>>()
    };
    assert_eq!(bytes(1), bytes(1000));
}

fn field(data_type: DataType) -> FieldRef {
    Arc::new(Field::new("c", data_type, true))
}

#[test]
fn bitmap_definition_is_checked() {
    let int = field(DataType::Int32);
    let list = field(DataType::List(int.clone()));
    assert_eq!(
        Bitmap
            .resolve(std::slice::from_ref(&int), &BTreeMap::new())
            .unwrap(),
        BTreeMap::new()
    );
    for fields in [vec![], vec![int.clone(), int.clone()], vec![list]] {
        assert_eq!(
            Bitmap
                .resolve(&fields, &BTreeMap::new())
                .unwrap_err()
                .kind(),
            ErrorKind::InvalidInput
        );
    }
    let error = Bitmap
        .resolve(&[int], &BTreeMap::from([("m".into(), "3".into())]))
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(error.message().contains("unknown option m"), "{error}");
}

#[test]
fn bitmap_builder_refuses_another_type() {
    let mut builder = Bitmap
        .builder(&definition(), &[field(DataType::Int32)])
        .unwrap();
    assert_eq!(
        builder
            .add(&batch(Arc::new(StringArray::from(vec!["a"]))))
            .unwrap_err()
            .kind(),
        ErrorKind::InvalidInput
    );
}

#[test]
fn bitmap_damaged_bytes_are_corrupt_and_never_panic() {
    let rows = shuffled(&texts());
    let array: ArrayRef = Arc::new(StringArray::from(
        [rows.clone(), vec![Some("many".into()); 3000]].concat(),
    ));
    let blobs = build(&array, 6, 100);
    let literals: Vec<Value> = texts().into_iter().map(Value::String).collect();
    let probe = |blobs: &[Blob], rows: u32| -> crate::error::Result<()> {
        let OpenIndex::Scalar(index) = Bitmap.open(&definition(), blobs, rows)? else {
            panic!("not scalar")
        };
        leaves(&literals[..4]).iter().try_for_each(|leaf| {
            let got = index.leaf(leaf)?.unwrap_or_default();
            assert!(got.sure.is_subset(&got.maybe) && got.maybe.max().is_none_or(|max| max < rows));
            Ok(())
        })
    };
    let rows = array.len() as u32;
    probe(&blobs, rows).unwrap();
    for which in 0..blobs.len() {
        let data = blobs[which].data.clone();
        let with = |bytes: Vec<u8>| {
            let mut damaged = blobs.clone();
            damaged[which].data = Bytes::from(bytes);
            damaged
        };
        for sixteenth in 0..16 {
            let error =
                probe(&with(data[..data.len() * sixteenth / 16].to_vec()), rows).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corrupt);
        }
        for seed in 0..1500 {
            let mut random = Random(seed);
            let mut bytes = data.to_vec();
            for _ in 0..=random.below(4) {
                let position = random.below(bytes.len());
                bytes[position] = random.next() as u8;
            }
            if let Err(error) = probe(&with(bytes), rows) {
                assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
            }
            let noise = (0..random.below(100))
                .map(|_| random.next() as u8)
                .collect();
            if let Err(error) = probe(&with(noise), rows) {
                assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
            }
        }
    }
    assert_eq!(
        probe(&blobs, rows + 1).unwrap_err().kind(),
        ErrorKind::Corrupt
    );
    assert_eq!(
        probe(&blobs[..1], rows).unwrap_err().kind(),
        ErrorKind::Corrupt
    );
}

fn hex(data: &[u8]) -> String {
    data.chunks(32)
        .map(|line| {
            line.iter()
                .map(|byte| format!("{byte:02x}"))
                .collect::<String>()
                + "\n"
        })
        .collect()
}

fn unhex(text: &str) -> Vec<u8> {
    let digits: String = text.split_whitespace().collect();
    (0..digits.len())
        .step_by(2)
        .map(|i| u8::from_str_radix(&digits[i..i + 2], 16).unwrap())
        .collect()
}

fn golden_rows() -> Vec<Option<String>> {
    let long = "x".repeat(257);
    let rows = [
        Some("b"),
        None,
        Some("a"),
        Some("ab"),
        Some(""),
        Some(long.as_str()),
        Some("a"),
    ];
    let few = rows.map(|v| v.map(str::to_owned)).to_vec();
    [few, vec![Some("many".to_owned()); 2000]].concat()
}

#[test]
fn bitmap_segment_golden_bytes_are_kept() {
    let values = golden_rows();
    let identity = FileIdentity {
        path: "data/a.parquet".into(),
        size: 900,
        record_count: 2007,
        data_sequence_number: 1,
        file_sequence_number: 1,
    };
    let header = SegmentHeader {
        definition: definition(),
        table_uuid: "5c1a1f0e-0000-4000-8000-000000000001".into(),
        files: vec![CoveredFile {
            identity,
            rows: 2007,
        }],
    };
    let blobs = build(
        &(Arc::new(StringArray::from(values.clone())) as ArrayRef),
        65_536,
        100,
    );
    let written = write(&header, blobs).unwrap();
    let golden = include_str!("../../../tests/golden/bitmap-segment-v1.hex");
    assert_eq!(hex(&written.data), golden);

    let reader = SegmentReader::open(unhex(golden).into()).unwrap();
    assert_eq!(reader.header(), &header);
    let literals = ["", "a", "ab", "many", "x"].map(|s| Value::String(s.into()));
    for predicate in leaves(&literals) {
        check(
            &reader.blobs().unwrap(),
            &optional(&values, Value::String),
            &predicate,
            false,
        );
    }
}

#[test]
fn bitmap_coarse_float_golden_bytes_are_kept() {
    let values = [
        Some(f64::NAN),
        Some(-0.0),
        None,
        Some(1.5),
        Some(-2.0),
        Some(0.0),
        Some(f64::INFINITY),
    ];
    let blobs = build(
        &(Arc::new(Float64Array::from(values.to_vec())) as ArrayRef),
        3,
        100,
    );
    let text: String = blobs
        .iter()
        .map(|blob| format!("{}\n{}", blob.kind, hex(&blob.data)))
        .collect();
    assert_eq!(
        text,
        include_str!("../../../tests/golden/bitmap-float-v1.txt")
    );
}
