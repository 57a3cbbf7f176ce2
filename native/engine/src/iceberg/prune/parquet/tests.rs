//! A row that matches is never pruned, whatever the file's layout; rows are pruned by group and by page.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, Decimal128Array, Float32Array, Int32Array, Int64Array, RecordBatch, StringArray,
    TimestampMillisecondArray, TimestampNanosecondArray, UInt32Array,
};
use arrow::datatypes::{Field as ArrowField, Schema as ArrowSchema};
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaDataReader};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder};

use super::*;
use crate::iceberg::predicate::CompareOp;
use crate::iceberg::predicate::tests::{batch, column, domains, leaves, naive, tree};
use crate::iceberg::prune::tests::type_of;
use crate::iceberg::schema::{FIELD_ID_KEY, Field};
use crate::iceberg::tests::Random;

const GROUP_ROWS: usize = 40;
const PAGE_ROWS: usize = 5;

fn properties() -> WriterPropertiesBuilder {
    WriterProperties::builder()
        .set_max_row_group_row_count(Some(GROUP_ROWS))
        .set_data_page_row_count_limit(PAGE_ROWS)
        .set_write_batch_size(PAGE_ROWS)
        .set_dictionary_enabled(false)
        .set_statistics_enabled(EnabledStatistics::Page)
}

fn written(batch: &RecordBatch, properties: WriterPropertiesBuilder) -> ParquetMetaData {
    let mut bytes = Vec::new();
    let mut writer =
        ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties.build())).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
    ParquetMetaDataReader::new()
        .with_page_index_policy(PageIndexPolicy::Optional)
        .parse_and_finish(&Bytes::from(bytes))
        .unwrap()
}

fn schema(ty: Type) -> Schema {
    Schema::new(0, vec![Field::new(1, "c", false, ty)]).unwrap()
}

fn compare(op: CompareOp, value: Value) -> Predicate {
    Predicate::Compare {
        column: 1,
        op,
        value,
    }
}

/// The rows kept of a file of one column; None means all.
fn kept(array: ArrayRef, ty: Type, predicate: &Predicate) -> Option<Vec<u32>> {
    let metadata = written(&batch(array, 1), properties());
    matching_rows(predicate, &metadata, &schema(ty)).map(|rows| rows.into_iter().collect())
}

#[test]
fn r_pl1_row_that_matches_is_never_pruned_by_group_or_page() {
    let mut random = Random(21);
    let (mut dropped, mut tried) = (0, 0);
    for domain in domains() {
        let leaves = leaves(&domain);
        let schema = schema(type_of(&domain[0]));
        for layout in 0..6 {
            let mut rows: Vec<Option<Value>> = (0..GROUP_ROWS * 3)
                .map(|_| (random.below(6) > 0).then(|| domain[random.below(domain.len())].clone()))
                .collect();
            if layout % 2 == 0 {
                // Clustered, so that pages differ.
                rows.sort_by_key(|row| {
                    row.as_ref().map(|v| {
                        domain
                            .iter()
                            .position(|d| format!("{d:?}") == format!("{v:?}"))
                    })
                });
            }
            let statistics = [
                EnabledStatistics::Page,
                EnabledStatistics::Chunk,
                EnabledStatistics::None,
            ];
            let mut properties = properties().set_statistics_enabled(statistics[layout / 2]);
            if layout == 1 {
                properties = properties
                    .set_statistics_truncate_length(Some(1))
                    .set_column_index_truncate_length(Some(1));
            }
            let metadata = written(&batch(column(&domain[0], &rows), 1), properties);
            let trees = (0..60).map(|_| tree(&mut random, &leaves, 3));
            for predicate in leaves.iter().cloned().chain(trees.collect::<Vec<_>>()) {
                let found = matching_rows(&predicate, &metadata, &schema);
                tried += rows.len();
                for (position, row) in rows.iter().enumerate() {
                    let is_kept = found.as_ref().is_none_or(|f| f.contains(position as u32));
                    dropped += usize::from(!is_kept);
                    let matches = naive(&predicate, row.as_ref()) == Some(true);
                    assert!(
                        is_kept || !matches,
                        "{predicate:?}: row {position} {row:?}, layout {layout}"
                    );
                }
            }
        }
    }
    assert!(
        dropped * 8 > tried,
        "only {dropped} of {tried} rows are dropped"
    );
}

#[test]
fn rows_are_dropped_by_group_and_by_page() {
    let numbers = || Arc::new(Int64Array::from_iter_values(0..120)) as ArrayRef;
    let rows = |predicate: &Predicate| kept(numbers(), Type::Long, predicate);
    let is = |v| compare(CompareOp::Eq, Value::Long(v));
    assert_eq!(rows(&is(57)), Some((55..60).collect()));
    assert_eq!(rows(&is(500)), Some(vec![]));
    assert_eq!(rows(&compare(CompareOp::GtEq, Value::Long(0))), None);
    let either = Predicate::Or(vec![is(3), is(119)]);
    assert_eq!(rows(&either), Some((0..5).chain(115..120).collect()));
    let position = Predicate::Compare {
        column: reserved::POS,
        op: CompareOp::Lt,
        value: Value::Long(40),
    };
    assert_eq!(rows(&position), Some((0..40).collect()));
    // Pages of two columns need not begin at the same rows.
    let text: ArrayRef = Arc::new(StringArray::from_iter_values(
        (0..120).map(|n| format!("{n:03}")),
    ));
    let field = |name: &str, id: i32, array: &ArrayRef| {
        let id = HashMap::from([(FIELD_ID_KEY.to_owned(), id.to_string())]);
        ArrowField::new(name, array.data_type().clone(), true).with_metadata(id)
    };
    let fields = vec![field("n", 1, &numbers()), field("t", 2, &text)];
    let both = RecordBatch::try_new(Arc::new(ArrowSchema::new(fields)), vec![numbers(), text]);
    let metadata = written(&both.unwrap(), properties());
    let two = Schema::new(
        0,
        vec![
            Field::new(1, "n", false, Type::Long),
            Field::new(2, "t", false, Type::String),
        ],
    );
    let text_is = |text: &str| Predicate::Compare {
        column: 2,
        op: CompareOp::Eq,
        value: Value::String(text.into()),
    };
    let schema = two.unwrap();
    let found = |predicate: &Predicate| {
        let rows = matching_rows(predicate, &metadata, &schema);
        rows.map(|rows| rows.into_iter().collect::<Vec<_>>())
    };
    assert_eq!(
        found(&Predicate::And(vec![is(57), text_is("057")])),
        Some((55..60).collect())
    );
    assert_eq!(
        found(&Predicate::And(vec![is(57), text_is("003")])),
        Some(vec![])
    );
}

#[test]
fn r_sc5_bounds_of_the_narrower_type_prune_the_promoted_column() {
    let ints = Arc::new(Int32Array::from_iter_values(0..120)) as ArrayRef;
    let is = compare(CompareOp::Eq, Value::Long(57));
    assert_eq!(kept(ints, Type::Long, &is), Some((55..60).collect()));
    let floats = Arc::new(Float32Array::from_iter_values((0..120).map(|n| n as f32))) as ArrayRef;
    let below = compare(CompareOp::Lt, Value::Double(5.0));
    assert_eq!(kept(floats, Type::Double, &below), Some((0..5).collect()));
    for precision in [9, 18, 38] {
        let decimals = Decimal128Array::from_iter_values((0..120).map(|n| n - 60))
            .with_precision_and_scale(precision, 2)
            .unwrap();
        let ty = Type::Decimal {
            precision: 38,
            scale: 2,
        };
        let least = compare(
            CompareOp::LtEq,
            Value::Decimal {
                unscaled: -59,
                precision: 38,
                scale: 2,
            },
        );
        assert_eq!(
            kept(Arc::new(decimals), ty, &least),
            Some((0..5).collect()),
            "{precision}"
        );
    }
}

#[test]
fn r_ty_bounds_of_other_time_units_are_brought_to_microseconds() {
    let millis = TimestampMillisecondArray::from_iter_values(-60..60);
    let at = |us| compare(CompareOp::Eq, Value::Timestamp(us));
    let found = kept(Arc::new(millis), Type::Timestamp, &at(-57_000));
    assert_eq!(found, Some((0..5).collect()));
    let nanos = || {
        let values = (-60..60).map(|n| n * 1_000 + 999);
        Arc::new(TimestampNanosecondArray::from_iter_values(values)) as ArrayRef
    };
    let found = kept(nanos(), Type::Timestamp, &at(-57)).unwrap();
    assert!(
        found.starts_with(&[0, 1, 2, 3, 4]) && found.len() <= 10,
        "{found:?}"
    );
    // Rounded up or down, the last row is one of these.
    for us in [59, 60] {
        assert!(
            kept(nanos(), Type::Timestamp, &at(us))
                .unwrap()
                .contains(&119)
        );
    }
}

#[test]
fn r_pl1_floats_keep_what_may_be_nan_and_know_one_zero() {
    let values = (0..120).map(|n| if n < 40 { -0.0 } else { 1.0 });
    let floats = Arc::new(Float32Array::from_iter_values(values)) as ArrayRef;
    let zero = compare(CompareOp::Eq, Value::Float(0.0));
    assert_eq!(
        kept(Arc::clone(&floats), Type::Float, &zero),
        Some((0..40).collect())
    );
    let greater = compare(CompareOp::Gt, Value::Float(2.0));
    assert_eq!(kept(Arc::clone(&floats), Type::Float, &greater), None);
    let less = compare(CompareOp::Lt, Value::Float(0.0));
    assert_eq!(kept(floats, Type::Float, &less), Some(vec![]));
}

#[test]
fn columns_of_other_meaning_or_without_id_prune_nothing() {
    let unsigned = Arc::new(UInt32Array::from_iter_values(0..120)) as ArrayRef;
    let none = compare(CompareOp::Lt, Value::Long(0));
    assert_eq!(kept(Arc::clone(&unsigned), Type::Long, &none), None);
    let numbers = Arc::new(Int64Array::from_iter_values(0..120)) as ArrayRef;
    let text = compare(CompareOp::Eq, Value::String("x".into()));
    assert_eq!(kept(Arc::clone(&numbers), Type::String, &text), None);
    let of_another_id = written(&batch(numbers, 7), properties());
    let none = compare(CompareOp::Lt, Value::Long(0));
    assert_eq!(
        matching_rows(&none, &of_another_id, &schema(Type::Long)),
        None
    );
}
