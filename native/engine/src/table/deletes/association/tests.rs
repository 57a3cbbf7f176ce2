//! The table of the specification, row by row: which delete applies to which data file.

use std::collections::BTreeMap;

use serde_json::json;

use super::*;
use crate::error::ErrorKind;
use crate::iceberg::document::NewTable;
use crate::iceberg::manifest::{BoundMap, CountMap, FileFormat};
use crate::iceberg::spec::{PartitionField, Transform};

/// Spec 0 has no fields, spec 1 the identity of column 2, a double.
fn document() -> Document {
    let fields = vec![
        Field::new(1, "k", false, Type::Long),
        Field::new(2, "d", false, Type::Double),
    ];
    let table = NewTable {
        table_uuid: uuid::Uuid::nil(),
        location: "l".into(),
        schema: Schema::new(0, fields).unwrap(),
        spec: PartitionSpec::unpartitioned(),
        properties: BTreeMap::new(),
        now_ms: 0,
    };
    let bytes = Document::create(&table).unwrap().to_bytes();
    let mut json: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
    let partitioned = PartitionSpec {
        spec_id: 1,
        fields: vec![PartitionField {
            source_ids: vec![2],
            field_id: 1000,
            name: "d".into(),
            transform: Transform::Identity,
        }],
    };
    let specs = json["partition-specs"].as_array_mut().unwrap();
    specs.push(partitioned.to_json());
    json["last-partition-id"] = json!(1000);
    Document::parse(json.to_string().as_bytes()).unwrap()
}

fn entry(content: DataContent, path: &str, sequence_number: i64) -> Entry {
    let file = DataFile::new(content, path, FileFormat::Parquet, 10, 100);
    Entry {
        sequence_number: Some(sequence_number),
        ..Entry::added(1, file)
    }
}

fn data(path: &str, sequence_number: i64) -> Entry {
    entry(DataContent::Data, path, sequence_number)
}

/// A position file without a path in its entry.
fn positions(path: &str, sequence_number: i64) -> Entry {
    entry(DataContent::PositionDeletes, path, sequence_number)
}

fn naming(mut delete: Entry, data: &str) -> Entry {
    delete.data_file.referenced_data_file = Some(data.into());
    delete
}

fn vector(path: &str, sequence_number: i64, data: &str) -> Entry {
    let mut vector = naming(positions(path, sequence_number), data);
    vector.data_file.format = FileFormat::Puffin;
    vector.data_file.content_offset = Some(4);
    vector.data_file.content_size_in_bytes = Some(40);
    vector
}

fn equality(path: &str, sequence_number: i64) -> Entry {
    let mut delete = entry(DataContent::EqualityDeletes, path, sequence_number);
    delete.data_file.equality_ids = Some(vec![1]);
    delete
}

/// In the partition of spec 1 with this value.
fn within(mut entry: Entry, value: Option<PartitionValue>) -> Entry {
    entry.data_file.spec_id = 1;
    entry.data_file.partition = vec![(1000, value)];
    entry
}

fn double(value: f64) -> Option<PartitionValue> {
    Some(PartitionValue::Double(value.to_bits()))
}

fn try_of(data: &Entry, deletes: &[Entry]) -> Result<Vec<String>> {
    let document = document();
    let found =
        DeleteIndex::new(&document, document.current_schema().unwrap(), deletes)?.of(data)?;
    Ok(found.iter().map(|delete| delete.path.clone()).collect())
}

fn of(data: &Entry, deletes: &[Entry]) -> Vec<String> {
    try_of(data, deletes).unwrap()
}

fn corrupt(data: &Entry, deletes: &[Entry], named: &[&str]) {
    let error = try_of(data, deletes).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    let text = error.to_string();
    assert!(named.iter().all(|name| text.contains(name)), "{error}");
}

#[test]
fn r_de1_positions_and_vectors_apply_from_their_sequence_number_on_and_equality_before_it() {
    let deletes = [
        positions("all", 5),
        naming(positions("one", 5), "f"),
        equality("eq", 5),
    ];
    for (sequence_number, expected) in [
        (4, &["one", "all", "eq"][..]),
        (5, &["one", "all"]),
        (6, &[]),
    ] {
        assert_eq!(of(&data("f", sequence_number), &deletes), expected);
    }
    let vectors = [vector("dv", 5, "f")];
    assert_eq!(of(&data("f", 5), &vectors), ["dv"]);
    assert!(of(&data("f", 6), &vectors).is_empty());
    assert!(of(&data("g", 5), &vectors).is_empty());
}

#[test]
fn r_de1_position_files_do_not_apply_where_a_vector_does() {
    let deletes = [
        positions("all", 5),
        naming(positions("one", 5), "f"),
        vector("dv", 5, "f"),
        equality("eq", 5),
    ];
    assert_eq!(of(&data("f", 4), &deletes), ["dv", "eq"]);
    assert_eq!(of(&data("g", 4), &deletes), ["all", "eq"]);
    assert_eq!(
        of(&data("f", 5), &[vector("old", 4, "f"), positions("all", 5)]),
        ["all"]
    );
}

#[test]
fn r_dv_two_vectors_of_one_data_file_and_vectors_without_place_are_corrupt() {
    let deletes = [
        vector("dv-1", 5, "s3://b/f"),
        vector("dv-2", 6, "s3a://b/f"),
    ];
    corrupt(
        &data("s3://b/f", 5),
        &deletes,
        &["s3://b/f", "dv-1", "dv-2"],
    );
    // They may be left over from a data file that is gone.
    assert!(of(&data("s3://b/g", 5), &deletes).is_empty());
    for spoil in [
        |file: &mut DataFile| file.content_offset = None,
        |file: &mut DataFile| file.content_size_in_bytes = Some(-1),
        |file: &mut DataFile| file.referenced_data_file = None,
    ] {
        let mut vector = vector("dv", 5, "f");
        spoil(&mut vector.data_file);
        corrupt(&data("g", 5), &[vector], &["dv"]);
    }
}

#[test]
fn r_de_partitions_compare_by_value() {
    let deletes = [
        within(positions("one", 5), double(1.0)),
        within(positions("null", 5), None),
        within(positions("nan", 5), double(f64::NAN)),
        within(positions("zero", 5), double(0.0)),
        positions("unpartitioned", 5),
    ];
    let other_nan = f64::from_bits(0xfff8_0000_0000_0001);
    let float = Some(PartitionValue::Float(1.0f32.to_bits()));
    for (partition, expected) in [
        (double(1.0), &["one"][..]),
        (float, &["one"]),
        (None, &["null"]),
        (double(other_nan), &["nan"]),
        (double(-0.0), &[]),
        (double(2.0), &[]),
    ] {
        assert_eq!(of(&within(data("f", 4), partition), &deletes), expected);
    }
    assert_eq!(of(&data("f", 4), &deletes), ["unpartitioned"]);
}

#[test]
fn r_de4_equality_deletes_reach_their_partition_or_if_unpartitioned_every_file() {
    let deletes = [
        within(equality("one", 5), double(1.0)),
        within(equality("two", 5), double(2.0)),
        equality("global", 5),
    ];
    assert_eq!(
        of(&within(data("f", 4), double(1.0)), &deletes),
        ["one", "global"]
    );
    assert_eq!(of(&within(data("f", 4), None), &deletes), ["global"]);
    assert_eq!(of(&data("f", 4), &deletes), ["global"]);
}

#[test]
fn r_de9_delete_that_names_a_file_of_another_partition_is_corrupt() {
    let file = within(data("f", 4), double(1.0));
    for delete in [
        naming(positions("astray", 5), "f"),
        within(naming(positions("astray", 5), "f"), double(2.0)),
        within(vector("astray", 5, "f"), double(2.0)),
    ] {
        corrupt(
            &file,
            std::slice::from_ref(&delete),
            &["astray", "data file f"],
        );
        assert!(
            of(
                &within(data("g", 4), double(1.0)),
                std::slice::from_ref(&delete)
            )
            .is_empty()
        );
        assert!(of(&within(data("f", 6), double(1.0)), &[delete]).is_empty());
    }
}

fn bounded(mut delete: Entry, lower: &str, upper: &str) -> Entry {
    delete.data_file.lower_bounds = BoundMap::new([(DELETE_PATH, lower.into())]);
    delete.data_file.upper_bounds = BoundMap::new([(DELETE_PATH, upper.into())]);
    delete
}

#[test]
fn r_de6_paths_match_whatever_their_scheme_and_equal_bounds_name_a_file() {
    let named = [naming(positions("one", 5), "hdfs://host/t/f")];
    assert_eq!(of(&data("/t/f", 5), &named), ["one"]);
    let bounds = [bounded(positions("one", 5), "s3a://b/f", "s3a://b/f")];
    assert_eq!(of(&data("s3://b/f", 5), &bounds), ["one"]);
    assert!(of(&data("s3://b/g", 5), &bounds).is_empty());
    let document = document();
    for (delete, for_one_file) in [(&named[0], true), (&bounds[0], false)] {
        let index = DeleteIndex::new(
            &document,
            document.current_schema().unwrap(),
            std::slice::from_ref(delete),
        )
        .unwrap();
        let path = if for_one_file { "/t/f" } else { "s3://b/f" };
        let found = index.of(&data(path, 5)).unwrap();
        assert_eq!(found[0].kind, DeleteKind::Positions { for_one_file });
    }
}

#[test]
fn r_pl3_path_bounds_skip_a_file_only_where_paths_are_spelled_alike() {
    let deletes = [bounded(positions("many", 5), "s3://b/c", "s3://b/m")];
    for (path, applies) in [
        ("s3://b/a", false),
        ("s3://b/c", true),
        ("s3://b/m", true),
        ("s3://b/m1", false),
        ("s3a://b/a", true),
        ("/b/a", true),
    ] {
        assert_eq!(!of(&data(path, 5), &deletes).is_empty(), applies, "{path}");
    }
}

#[test]
fn r_pl3_equality_deletes_of_other_keys_are_not_read() {
    let keyed = |mut entry: Entry, lower: i64, upper: i64| {
        let file = &mut entry.data_file;
        file.value_counts = CountMap::new([(1, 10)]);
        file.null_value_counts = CountMap::new([(1, 0)]);
        file.lower_bounds = BoundMap::new([(1, lower.to_le_bytes().to_vec())]);
        file.upper_bounds = BoundMap::new([(1, upper.to_le_bytes().to_vec())]);
        entry
    };
    let deletes = [
        keyed(equality("low", 5), 0, 9),
        keyed(equality("high", 5), 10, 19),
    ];
    assert_eq!(of(&keyed(data("f", 4), 3, 4), &deletes), ["low"]);
    assert_eq!(of(&keyed(data("f", 4), 9, 10), &deletes), ["low", "high"]);
    assert_eq!(of(&data("f", 4), &deletes), ["low", "high"]);
}

#[test]
fn r_de4_files_of_one_reach_and_the_same_columns_are_one_group() {
    let mut other_columns = equality("columns", 5);
    other_columns.data_file.equality_ids = Some(vec![2, 1]);
    let deletes = [
        equality("a", 5),
        equality("b", 6),
        other_columns,
        within(equality("c", 5), double(1.0)),
        within(equality("d", 5), double(2.0)),
    ];
    let document = document();
    let index = DeleteIndex::new(&document, document.current_schema().unwrap(), &deletes).unwrap();
    let groups = |value: f64| -> BTreeMap<String, u32> {
        let found = index.of(&within(data("f", 4), double(value))).unwrap();
        let group = |delete: &Arc<DeleteRef>| match delete.kind {
            DeleteKind::Equality { group, .. } => Some((delete.path.clone(), group)),
            _ => None,
        };
        found.iter().filter_map(group).collect()
    };
    let (one, two) = (groups(1.0), groups(2.0));
    assert_eq!(one["a"], one["b"]);
    let distinct = [one["a"], one["columns"], one["c"], two["d"]];
    let distinct: std::collections::BTreeSet<u32> = distinct.into();
    assert_eq!(distinct.len(), 4);
    corrupt(
        &data("f", 4),
        &[entry(DataContent::EqualityDeletes, "no-ids", 5)],
        &["no-ids", "equality_ids"],
    );
}

#[test]
fn r_de_many_deletes_and_files_are_associated_without_comparing_each_with_each() {
    const FILES: usize = 40_000;
    let deletes: Vec<Entry> = (0..FILES)
        .map(|n| match n % 2 {
            0 => naming(positions("d", 5), &format!("f{n}")),
            _ => within(positions("d", 5), double(n as f64)),
        })
        .collect();
    let document = document();
    let index = DeleteIndex::new(&document, document.current_schema().unwrap(), &deletes).unwrap();
    for n in 0..FILES {
        let file = match n % 2 {
            0 => data(&format!("f{n}"), 4),
            _ => within(data("f", 4), double(n as f64)),
        };
        assert_eq!(index.of(&file).unwrap().len(), 1);
    }
}
