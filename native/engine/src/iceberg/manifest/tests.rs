//! What is written is read back equal, inherits as the spec says, and has the form iceberg-java expects.

use super::*;
use crate::error::ErrorKind;
use crate::iceberg::avro::Container;
use crate::iceberg::schema::Field;
use crate::iceberg::spec::PartitionField;
use bytes::Bytes;
use serde_json::Value as Json;

fn schema() -> Schema {
    let types = [
        ("b", Type::Boolean),
        ("i", Type::Int),
        ("l", Type::Long),
        ("f", Type::Float),
        ("d", Type::Double),
        (
            "dec",
            Type::Decimal {
                precision: 9,
                scale: 2,
            },
        ),
        ("day", Type::Date),
        ("t", Type::Time),
        ("ts", Type::Timestamp),
        ("tz", Type::TimestampTz),
        ("s", Type::String),
        ("u", Type::Uuid),
        ("u2", Type::Uuid),
        ("fix", Type::Fixed(3)),
        ("my-col", Type::Binary),
    ];
    let fields = types
        .into_iter()
        .zip(1..)
        .map(|((name, ty), id)| Field::new(id, name, false, ty))
        .collect();
    Schema::new(0, fields).unwrap()
}

fn identity_spec(schema: &Schema) -> PartitionSpec {
    let field = |f: &Field| PartitionField {
        source_ids: vec![f.id],
        field_id: 999 + f.id,
        name: f.name.clone(),
        transform: Transform::Identity,
    };
    PartitionSpec {
        spec_id: 3,
        fields: schema.fields.iter().map(field).collect(),
    }
}

fn values() -> Vec<Option<Value>> {
    vec![
        Some(Value::Boolean(true)),
        Some(Value::Int(-5)),
        Some(Value::Long(i64::MIN)),
        Some(Value::Float(-0.0)),
        Some(Value::Double(2.5)),
        Some(Value::Decimal {
            unscaled: -12345,
            precision: 9,
            scale: 2,
        }),
        Some(Value::Date(-1)),
        Some(Value::Time(1)),
        Some(Value::Timestamp(-7)),
        Some(Value::TimestampTz(8)),
        Some(Value::String("日本".into())),
        Some(Value::Uuid([7; 16])),
        None,
        Some(Value::Fixed(vec![1, 2, 3])),
        Some(Value::Binary(vec![0, 255])),
    ]
}

fn full_file(spec: &PartitionSpec) -> DataFile {
    let partition = spec.fields.iter().zip(values());
    DataFile {
        spec_id: spec.spec_id,
        partition: partition
            .map(|(f, v)| (f.field_id, v.as_ref().map(PartitionValue::from_value)))
            .collect(),
        column_sizes: CountMap::new([(1, 10), (2, 20)]),
        value_counts: CountMap::new([(1, 3)]),
        null_value_counts: CountMap::new([]),
        lower_bounds: BoundMap::new([(1, vec![1]), (2, vec![])]),
        upper_bounds: BoundMap::new([(1, vec![2])]),
        key_metadata: Some(vec![9]),
        split_offsets: Some(vec![4, 100]),
        sort_order_id: Some(1),
        referenced_data_file: Some("x".into()),
        ..DataFile::new(
            DataContent::Data,
            "file:///t/data/a.parquet",
            FileFormat::Parquet,
            3,
            1000,
        )
    }
}

fn spec_of<'a>(
    format_version: u8,
    schema: &'a Schema,
    spec: &'a PartitionSpec,
) -> ManifestSpec<'a> {
    ManifestSpec {
        format_version,
        schema,
        spec,
        content: ManifestContent::Data,
        snapshot_id: 11,
    }
}

#[test]
fn manifest_with_all_partition_types_is_read_back_equal() {
    let schema = schema();
    let spec = identity_spec(&schema);
    let added = Entry::added(11, full_file(&spec));
    let existing = Entry {
        sequence_number: Some(4),
        file_sequence_number: Some(4),
        ..added.clone().into_existing()
    };
    let deleted = Entry {
        sequence_number: Some(3),
        file_sequence_number: Some(2),
        ..added.clone().into_deleted(11)
    };
    for version in [2, 3] {
        let entries = [added.clone(), existing.clone(), deleted.clone()];
        let (bytes, mut manifest) =
            write_manifest(&spec_of(version, &schema, &spec), "m", &entries).unwrap();
        assert_eq!(
            (
                manifest.added_files,
                manifest.existing_rows,
                manifest.min_sequence_number
            ),
            (Some(1), Some(3), 4)
        );
        manifest.sequence_number = 6;
        let read = read_manifest(&bytes, &manifest).unwrap();
        let committed = Entry {
            sequence_number: Some(6),
            file_sequence_number: Some(6),
            ..added.clone()
        };
        assert_eq!(read, [committed, existing.clone(), deleted.clone()]);
        let values: Vec<_> = read[0]
            .data_file
            .absent_values(&spec, &schema)
            .unwrap()
            .into_values()
            .collect();
        assert_eq!(values, self::values());
    }
}

#[test]
fn manifest_list_gives_new_manifests_its_numbers() {
    let schema = schema();
    let spec = identity_spec(&schema);
    let (_, new) = write_manifest(
        &spec_of(3, &schema, &spec),
        "m1",
        &[Entry::added(11, full_file(&spec))],
    )
    .unwrap();
    let old = ManifestFile {
        sequence_number: 2,
        min_sequence_number: 1,
        added_snapshot_id: Some(5),
        ..new.clone()
    };
    let list = ListSpec {
        format_version: 3,
        snapshot_id: 11,
        parent_snapshot_id: Some(5),
        sequence_number: 9,
        next_row_id: Some(100),
    };
    let written = write_manifest_list(&list, &[new.clone(), old.clone()]).unwrap();
    assert_eq!(written.added_rows, 6);
    let read = read_manifest_list(&written.bytes).unwrap();
    let first = ManifestFile {
        sequence_number: 9,
        min_sequence_number: 9,
        first_row_id: Some(100),
        ..new.clone()
    };
    assert_eq!(
        read,
        [
            first,
            ManifestFile {
                first_row_id: Some(103),
                ..old.clone()
            }
        ]
    );

    let unknown = ManifestFile {
        added_files: None,
        added_rows: None,
        ..old
    };
    let two = ListSpec {
        format_version: 2,
        next_row_id: None,
        ..list
    };
    let read = read_manifest_list(
        &write_manifest_list(&two, std::slice::from_ref(&unknown))
            .unwrap()
            .bytes,
    )
    .unwrap();
    assert_eq!(read, [unknown]);

    let stray = ManifestFile {
        added_snapshot_id: Some(5),
        ..new
    };
    assert_eq!(
        write_manifest_list(&two, &[stray]).unwrap_err().kind(),
        ErrorKind::Internal
    );
}

#[test]
fn row_ids_skip_deleted_files_and_follow_live_ones() {
    let (schema, spec) = (schema(), PartitionSpec::unpartitioned());
    let file = DataFile::new(DataContent::Data, "f", FileFormat::Parquet, 10, 1);
    let old = Entry {
        sequence_number: Some(1),
        file_sequence_number: Some(1),
        ..Entry::added(1, file.clone())
    };
    let fixed = Entry {
        data_file: DataFile {
            first_row_id: Some(7),
            ..file.clone()
        },
        ..old.clone().into_existing()
    };
    let entries = [
        old.clone().into_deleted(11),
        Entry::added(11, file.clone()),
        fixed,
        old.into_existing(),
    ];
    let (bytes, manifest) = write_manifest(&spec_of(3, &schema, &spec), "m", &entries).unwrap();
    let read = read_manifest(
        &bytes,
        &ManifestFile {
            first_row_id: Some(1000),
            sequence_number: 2,
            ..manifest
        },
    )
    .unwrap();
    let ids: Vec<_> = read.iter().map(|e| e.data_file.first_row_id).collect();
    assert_eq!(ids, [None, Some(1000), Some(7), Some(1010)]);
}

#[test]
fn v1_manifest_and_list_are_read_back_with_number_zero() {
    let (schema, spec) = (schema(), PartitionSpec::unpartitioned());
    let file = DataFile::new(DataContent::Data, "f", FileFormat::Parquet, 10, 1);
    let (bytes, manifest) =
        write_manifest(&spec_of(1, &schema, &spec), "m", &[Entry::added(11, file)]).unwrap();
    let list = ListSpec {
        format_version: 1,
        snapshot_id: 11,
        parent_snapshot_id: None,
        sequence_number: 0,
        next_row_id: None,
    };
    let read = read_manifest_list(&write_manifest_list(&list, &[manifest]).unwrap().bytes).unwrap();
    assert_eq!(read[0].sequence_number, 0);
    let entries = read_manifest(&bytes, &read[0]).unwrap();
    assert_eq!(
        (entries[0].sequence_number, entries[0].file_sequence_number),
        (Some(0), Some(0))
    );
}

#[test]
fn entry_that_cannot_be_in_its_manifest_is_refused() {
    let (schema, spec) = (schema(), PartitionSpec::unpartitioned());
    let file = DataFile::new(DataContent::Data, "f", FileFormat::Parquet, 10, 1);
    let existing = Entry::added(1, file.clone()).into_existing();
    let delete = Entry::added(
        1,
        DataFile {
            content: DataContent::PositionDeletes,
            ..file.clone()
        },
    );
    let other_spec = Entry::added(1, DataFile { spec_id: 4, ..file });
    for entry in [existing, delete, other_spec] {
        let error = write_manifest(&spec_of(2, &schema, &spec), "m", &[entry]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Internal, "{error}");
    }
    let unknown = PartitionSpec {
        spec_id: 0,
        fields: vec![PartitionField {
            source_ids: vec![1],
            field_id: 1000,
            name: "p".into(),
            transform: Transform::Unknown("zorder".into()),
        }],
    };
    assert_eq!(
        write_manifest(&spec_of(2, &schema, &unknown), "m", &[])
            .unwrap_err()
            .kind(),
        ErrorKind::Unsupported
    );
}

/// Every record name, and every field id with its name, of an Avro schema.
fn walk(json: &Json, names: &mut Vec<String>, ids: &mut Vec<(i64, String)>, maps: &mut usize) {
    match json {
        Json::Array(items) => items.iter().for_each(|j| walk(j, names, ids, maps)),
        Json::Object(map) => {
            if map.get("type") == Some(&"record".into()) {
                names.push(map["name"].as_str().unwrap().to_owned());
            }
            *maps += usize::from(map.get("logicalType") == Some(&"map".into()));
            if let Some(id) = map.get("field-id") {
                ids.push((
                    id.as_i64().unwrap(),
                    map["name"].as_str().unwrap().to_owned(),
                ));
            }
            map.values().for_each(|j| walk(j, names, ids, maps));
        }
        _ => {}
    }
}

#[test]
fn r_av7_r_av8_written_avro_has_the_names_and_ids_that_java_reads_by() {
    let schema = schema();
    let spec = identity_spec(&schema);
    let (bytes, manifest) = write_manifest(
        &spec_of(2, &schema, &spec),
        "m",
        &[Entry::added(11, full_file(&spec))],
    )
    .unwrap();
    let container = Container::open(&bytes).unwrap();
    assert_eq!(container.text("content"), Some("data"));
    assert_eq!(container.text("format-version"), Some("2"));
    assert_eq!(container.text("partition-spec-id"), Some("3"));
    assert_eq!(
        container
            .text("schema")
            .map(|s| s.contains("\"type\":\"struct\"")),
        Some(true)
    );
    let json: Json = serde_json::from_str(container.text("avro.schema").unwrap()).unwrap();
    let (mut names, mut ids, mut maps) = (Vec::new(), Vec::new(), 0);
    walk(&json, &mut names, &mut ids, &mut maps);
    let records = [
        "manifest_entry",
        "r2",
        "r102",
        "k117_v118",
        "k119_v120",
        "k121_v122",
        "k138_v139",
        "k126_v127",
        "k129_v130",
    ];
    assert_eq!(names, records);
    assert_eq!(maps, 6);
    for pair in [
        (134, "content"),
        (100, "file_path"),
        (102, "partition"),
        (1014, "my_x2Dcol"),
        (4, "file_sequence_number"),
    ] {
        assert!(ids.contains(&(pair.0, pair.1.to_owned())), "{pair:?}");
    }
    let list = ListSpec {
        format_version: 2,
        snapshot_id: 11,
        parent_snapshot_id: None,
        sequence_number: 1,
        next_row_id: None,
    };
    let bytes: Bytes = write_manifest_list(&list, &[manifest]).unwrap().bytes;
    let container = Container::open(&bytes).unwrap();
    assert_eq!(container.text("parent-snapshot-id"), Some("null"));
    let json: Json = serde_json::from_str(container.text("avro.schema").unwrap()).unwrap();
    let (mut names, mut ids, mut maps) = (Vec::new(), Vec::new(), 0);
    walk(&json, &mut names, &mut ids, &mut maps);
    assert_eq!(names, ["manifest_file", "r508"]);
    assert!(
        ids.contains(&(517, "content".to_owned()))
            && ids.contains(&(514, "deleted_rows_count".to_owned()))
    );
}

#[test]
fn absent_column_takes_its_partition_value() {
    let schema = schema();
    let mut spec = identity_spec(&schema);
    spec.fields.retain(|f| f.name == "i" || f.name == "s");
    let mut file = DataFile::new(DataContent::Data, "f", FileFormat::Parquet, 1, 1);
    file.partition = vec![(1001, Some(PartitionValue::Integer(7))), (1010, None)];
    let values: Vec<_> = file
        .absent_values(&spec, &schema)
        .unwrap()
        .into_iter()
        .collect();
    assert_eq!(values, [(2, Some(Value::Int(7))), (11, None)]);
    file.partition = vec![(1001, Some(PartitionValue::String("x".into())))];
    assert_eq!(
        file.absent_values(&spec, &schema).unwrap_err().kind(),
        ErrorKind::Corrupt
    );
}
