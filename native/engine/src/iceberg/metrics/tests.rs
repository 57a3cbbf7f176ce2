//! Statistics collected from a file that was really written.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, FixedSizeBinaryArray, Float32Builder, Float64Array, Int64Array, ListBuilder,
    RecordBatch, StringArray, StructArray,
};
use arrow::datatypes::{DataType, Field as ArrowField};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::file::properties::WriterProperties;

use super::*;
use crate::iceberg::manifest::{DataContent, FileFormat};
use crate::iceberg::predicate::tests::{column, domains, leaves, naive};
use crate::iceberg::prune::may_match;
use crate::iceberg::schema::Field;
use crate::iceberg::tests::Random;

/// Writes the columns as a data file would be, three rows a group.
fn written(
    schema: &Schema,
    columns: Vec<ArrayRef>,
    nans: &BTreeMap<i32, u64>,
) -> (DataFile, ParquetMetaData) {
    let arrow = Arc::new(schema.to_arrow().unwrap());
    let columns = columns
        .into_iter()
        .zip(arrow.fields())
        .map(|(c, f)| crate_relabel(&c, f.data_type()))
        .collect();
    let batch = RecordBatch::try_new(Arc::clone(&arrow), columns).unwrap();
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(3))
        .build();
    let options = ArrowWriterOptions::new()
        .with_properties(properties)
        .with_skip_arrow_metadata(true);
    let options = options.with_parquet_schema(parquet_schema(&arrow).unwrap());
    let mut writer = ArrowWriter::try_new_with_options(Vec::new(), arrow, options).unwrap();
    writer.write(&batch).unwrap();
    let metadata = writer.close().unwrap();
    let mut file = DataFile::new(
        DataContent::Data,
        "f",
        FileFormat::Parquet,
        batch.num_rows() as u64,
        1,
    );
    collect(&mut file, &metadata, schema, nans).unwrap();
    (file, metadata)
}

fn crate_relabel(array: &ArrayRef, ty: &DataType) -> ArrayRef {
    arrow::array::make_array(
        array
            .to_data()
            .into_builder()
            .data_type(ty.clone())
            .child_data(relabelled(array, ty))
            .build()
            .unwrap(),
    )
}

fn relabelled(array: &ArrayRef, ty: &DataType) -> Vec<arrow::array::ArrayData> {
    let data = array.to_data();
    let children = data.child_data().iter().cloned();
    match ty {
        DataType::Struct(fields) => children
            .zip(fields)
            .map(|(c, f)| {
                c.into_builder()
                    .data_type(f.data_type().clone())
                    .build()
                    .unwrap()
            })
            .collect(),
        _ => children.collect(),
    }
}

#[test]
fn metrics_count_bound_and_cut_by_column() {
    let schema = Schema::new(
        0,
        vec![
            Field::new(1, "id", true, Type::Long),
            Field::new(2, "x", false, Type::Double),
            Field::new(3, "s", false, Type::String),
            Field::new(
                4,
                "v",
                false,
                Type::List(Box::new(Field::new(7, "element", false, Type::Float))),
            ),
            Field::new(
                5,
                "r",
                false,
                Type::Struct(vec![Field::new(8, "inner", false, Type::Long)]),
            ),
            Field::new(6, "u", false, Type::Uuid),
        ],
    )
    .unwrap();
    let long = "abcdefghijklmnop\u{10ffff}tail";
    let mut vectors = ListBuilder::new(Float32Builder::new());
    for _ in 0..5 {
        vectors.values().append_value(1.0);
        vectors.append(true);
    }
    let inner = Arc::new(Int64Array::from(vec![
        Some(3),
        None,
        Some(1),
        Some(2),
        None,
    ])) as ArrayRef;
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from(vec![5, 4, 3, 2, 1])),
        Arc::new(Float64Array::from(vec![
            Some(f64::NAN),
            None,
            Some(-0.0),
            Some(f64::NAN),
            Some(f64::NAN),
        ])),
        Arc::new(StringArray::from(vec![
            Some(long),
            Some("b"),
            None,
            None,
            None,
        ])),
        Arc::new(vectors.finish()),
        Arc::new(StructArray::from(vec![(
            Arc::new(ArrowField::new("inner", DataType::Int64, true)),
            inner,
        )])),
        Arc::new(FixedSizeBinaryArray::try_from_iter([[9u8; 16]; 5].into_iter()).unwrap()),
    ];
    let (file, metadata) = written(&schema, columns, &BTreeMap::from([(2, 3)]));
    let nulls: Vec<_> = file.null_value_counts.iter().collect();
    assert_eq!(nulls, [(1, 0), (2, 1), (3, 3), (8, 2), (6, 0)]);
    assert_eq!(
        file.value_counts.iter().collect::<Vec<_>>(),
        [(1, 5), (2, 5), (3, 5), (8, 5), (6, 5)]
    );
    assert_eq!(file.nan_value_counts.iter().collect::<Vec<_>>(), [(2, 3)]);
    assert_eq!(
        file.column_sizes
            .iter()
            .map(|(id, _)| id)
            .collect::<Vec<_>>(),
        [1, 2, 3, 7, 8, 6]
    );
    let bounds = |id: i32, ty: &Type| {
        let of = |b: &BoundMap| b.get(id).map(|b| value::decode(ty, &b).unwrap());
        (of(&file.lower_bounds), of(&file.upper_bounds))
    };
    assert_eq!(
        bounds(1, &Type::Long),
        (Some(Value::Long(1)), Some(Value::Long(5)))
    );
    assert_eq!(
        bounds(2, &Type::Double),
        (Some(Value::Double(-0.0)), Some(Value::Double(0.0)))
    );
    assert_eq!(
        bounds(3, &Type::String),
        (
            Some(Value::String("abcdefghijklmnop".into())),
            Some(Value::String("b".into()))
        )
    );
    assert_eq!(
        bounds(8, &Type::Long),
        (Some(Value::Long(1)), Some(Value::Long(3)))
    );
    assert_eq!(
        bounds(6, &Type::Uuid),
        (Some(Value::Uuid([9; 16])), Some(Value::Uuid([9; 16])))
    );
    assert_eq!(bounds(7, &Type::Float), (None, None));
    assert_eq!(file.split_offsets.as_ref().map(Vec::len), Some(2));
    let descriptor = metadata.file_metadata().schema_descr();
    assert_eq!(
        descriptor.column(5).logical_type_ref(),
        Some(&LogicalType::Uuid)
    );
}

#[test]
fn upper_bounds_are_raised_past_what_was_cut() {
    let text =
        |s: &str| upper_bound(Value::String(s.into())).map(|b| String::from_utf8(b).unwrap());
    assert_eq!(text("short"), Some("short".into()));
    assert_eq!(text("aaaaaaaaaaaaaaaaX"), Some("aaaaaaaaaaaaaaab".into()));
    assert_eq!(text(&"\u{10ffff}".repeat(17)), None);
    let last = format!("{}\u{d7ff}x", "a".repeat(15));
    assert_eq!(text(&last), Some(format!("{}\u{e000}", "a".repeat(15))));
    assert_eq!(
        text(&format!("{}b\u{10ffff}\u{10ffff}x", "a".repeat(13))),
        Some(format!("{}c", "a".repeat(13)))
    );
    let binary = |b: &[u8]| upper_bound(Value::Binary(b.to_vec()));
    assert_eq!(binary(&[255; 17]), None);
    assert_eq!(
        binary(&[&[1u8, 254][..], &[255; 15]].concat()),
        Some(vec![1, 255])
    );
    assert_eq!(binary(&[7; 16]), Some(vec![7; 16]));
}

#[test]
fn file_pruned_by_collected_metrics_holds_no_match() {
    let mut random = Random(5);
    for domain in domains() {
        let sample = &domain[0];
        let ty = match sample {
            Value::Decimal {
                precision, scale, ..
            } => Type::Decimal {
                precision: *precision,
                scale: *scale,
            },
            Value::Fixed(b) => Type::Fixed(b.len() as u32),
            Value::Uuid(_) => Type::Uuid,
            Value::Int(_) => Type::Int,
            Value::Long(_) => Type::Long,
            Value::Float(_) => Type::Float,
            Value::Double(_) => Type::Double,
            Value::Boolean(_) => Type::Boolean,
            Value::Date(_) => Type::Date,
            Value::Time(_) => Type::Time,
            Value::Timestamp(_) => Type::Timestamp,
            Value::TimestampTz(_) => Type::TimestampTz,
            Value::TimestampNs(_) => Type::TimestampNs,
            Value::TimestampTzNs(_) => Type::TimestampTzNs,
            Value::String(_) => Type::String,
            Value::Binary(_) => Type::Binary,
        };
        let schema = Schema::new(0, vec![Field::new(1, "c", false, ty)]).unwrap();
        for _ in 0..20 {
            let rows: Vec<_> = (0..1 + random.below(6))
                .map(|_| (random.below(4) > 0).then(|| domain[random.below(domain.len())].clone()))
                .collect();
            let nans = rows.iter().flatten().filter(|v| v.is_nan()).count() as u64;
            let (file, _) = written(
                &schema,
                vec![column(sample, &rows)],
                &BTreeMap::from([(1, nans)]),
            );
            for predicate in leaves(&domain) {
                let matches = rows
                    .iter()
                    .any(|r| naive(&predicate, r.as_ref()) == Some(true));
                assert!(
                    may_match(&predicate, &file, &schema) || !matches,
                    "{predicate:?} over {rows:?} by {file:?}"
                );
            }
        }
    }
}
