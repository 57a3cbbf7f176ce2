//! Rules for readers of metadata and manifests, each under its id: what must be read, and what is refused.

use serde_json::{Value as Json, json};

use super::super::avro::{ContainerWriter, put_bytes, put_long};
use super::super::document::{Document, MAIN_BRANCH};
use super::super::manifest::{
    DataContent, EntryStatus, FieldSummary, ManifestContent, ManifestFile, PartitionValue,
    read_manifest, read_manifest_list,
};
use super::super::schema::Type;
use crate::error::{Error, ErrorKind};

/// Metadata of version 3 with everything that is required, and a snapshot.
fn metadata() -> Json {
    json!({
        "format-version": 3, "table-uuid": "u", "location": "l", "last-sequence-number": 1,
        "last-updated-ms": 5, "last-column-id": 1, "next-row-id": 0, "last-partition-id": 999,
        "current-schema-id": 0,
        "schemas": [{"type": "struct", "schema-id": 0, "fields": [
            {"id": 1, "name": "x", "required": false, "type": "int"}]}],
        "default-spec-id": 0, "partition-specs": [{"spec-id": 0, "fields": []}],
        "default-sort-order-id": 0, "sort-orders": [{"order-id": 0, "fields": []}],
        "current-snapshot-id": 9,
        "snapshots": [{"snapshot-id": 9, "timestamp-ms": 5, "sequence-number": 1, "manifest-list": "m"}],
    })
}

fn parse(json: &Json) -> Result<Document, Error> {
    Document::parse(json.to_string().as_bytes())
}

fn with(change: impl FnOnce(&mut Json)) -> Result<Document, Error> {
    let mut json = metadata();
    change(&mut json);
    parse(&json)
}

#[test]
fn r_md1_format_version_above_the_known_is_refused() {
    for version in [1, 2, 3] {
        let read = with(|json| json["format-version"] = json!(version)).unwrap();
        assert_eq!(i64::from(read.format_version()), version);
    }
    for (version, kind) in [
        (json!(4), ErrorKind::Unsupported),
        (json!(200), ErrorKind::Unsupported),
        (json!(0), ErrorKind::Corrupt),
        (json!(-2), ErrorKind::Corrupt),
        (json!(70_000), ErrorKind::Corrupt),
        (json!("2"), ErrorKind::Corrupt),
        (json!(2.5), ErrorKind::Corrupt),
        (json!(null), ErrorKind::Corrupt),
    ] {
        let error = with(|json| json["format-version"] = version.clone()).unwrap_err();
        assert_eq!(error.kind(), kind, "{version}: {error}");
        assert!(
            error
                .to_string()
                .replace('-', " ")
                .contains("format version"),
            "{error}"
        );
    }
}

#[test]
fn r_md2_version_1_with_nothing_optional_is_read() {
    let json = json!({
        "format-version": 1, "location": "l", "last-updated-ms": 5, "last-column-id": 1,
        "schema": {"type": "struct", "fields": [{"id": 1, "name": "x", "required": false, "type": "int"}]},
        "partition-spec": [
            {"name": "a", "transform": "identity", "source-id": 1},
            {"name": "b", "transform": "void", "source-id": 1}],
        "current-snapshot-id": -1,
    });
    let document = parse(&json).unwrap();
    let ids: Vec<i32> = document.specs()[0]
        .fields
        .iter()
        .map(|f| f.field_id)
        .collect();
    assert_eq!(ids, [1000, 1001]);
    assert!(document.current_snapshot().is_none() && document.refs().is_empty());
    assert_eq!(
        (document.table_uuid(), document.last_sequence_number()),
        (None, 0)
    );
    assert!(document.snapshot_log().is_empty());

    let mut with_snapshot = json;
    with_snapshot["current-snapshot-id"] = json!(7);
    with_snapshot["snapshots"] = json!([{"snapshot-id": 7, "timestamp-ms": 1, "manifests": ["m"]}]);
    let document = parse(&with_snapshot).unwrap();
    let snapshot = document.current_snapshot().unwrap();
    assert_eq!((snapshot.operation(), snapshot.sequence_number), (None, 0));
    assert_eq!(
        (snapshot.manifests.len(), &snapshot.manifest_list),
        (1, &None)
    );
}

#[test]
fn r_md3_missing_required_field_is_corrupt_and_named() {
    let always = [
        "format-version",
        "location",
        "last-updated-ms",
        "last-column-id",
    ];
    let from_v2 = [
        "table-uuid",
        "last-sequence-number",
        "schemas",
        "current-schema-id",
        "partition-specs",
        "default-spec-id",
        "last-partition-id",
        "sort-orders",
        "default-sort-order-id",
    ];
    for version in [2, 3] {
        let from_v3 = ["next-row-id"].into_iter().filter(|_| version > 2);
        for key in always.into_iter().chain(from_v2).chain(from_v3) {
            for absent in [true, false] {
                let error = with(|json| {
                    json["format-version"] = json!(version);
                    if absent {
                        json.as_object_mut().unwrap().remove(key);
                    } else {
                        json[key] = Json::Null;
                    }
                });
                let error = error.unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Corrupt, "{key}: {error}");
                assert!(error.to_string().contains(key), "{key}: {error}");
            }
        }
    }
    let bare = with(|json| json["snapshots"][0]["manifest-list"] = Json::Null).unwrap_err();
    assert!(bare.to_string().contains("manifest-list"), "{bare}");
}

#[test]
fn r_md4_main_is_the_current_snapshot_with_and_without_refs() {
    let main = json!({"main": {"snapshot-id": 9, "type": "branch"}});
    for refs in [Json::Null, json!({}), main] {
        let document = with(|json| json["refs"] = refs.clone()).unwrap();
        let main = &document.refs()[MAIN_BRANCH];
        assert_eq!((main.snapshot_id, main.is_branch), (9, true), "{refs}");
    }
    let other = json!({"main": {"snapshot-id": 8, "type": "branch"}});
    let error = with(|json| json["refs"] = other).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
}

#[test]
fn r_md7_snapshot_ids_keep_all_64_bits_and_wider_ones_are_refused() {
    for id in [i64::MAX, (1 << 53) + 1, 3_051_729_675_574_597_005, 1] {
        let document = with(|json| {
            json["current-snapshot-id"] = json!(id);
            json["snapshots"][0]["snapshot-id"] = json!(id);
            json["snapshots"][0]["parent-snapshot-id"] = json!(id - 1);
        });
        let document = document.unwrap();
        let snapshot = document.current_snapshot().unwrap();
        assert_eq!(snapshot.snapshot_id, id);
        assert_eq!(snapshot.parent_snapshot_id, Some(id - 1));
    }
    for wide in [
        "9876543210123456789",
        "18446744073709551616",
        "1e3",
        "1.0",
        "\"9\"",
    ] {
        let text = metadata().to_string();
        for key in ["\"current-snapshot-id\":", "\"snapshot-id\":"] {
            let wrong = text.replacen(&format!("{key}9"), &format!("{key}{wide}"), 1);
            assert_ne!(wrong, text);
            let error = Document::parse(wrong.as_bytes()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corrupt, "{wide}: {error}");
            assert!(error.to_string().contains("snapshot-id"), "{error}");
        }
    }
}

fn field(name: &str, id: i32, ty: Json) -> Json {
    json!({"name": name, "type": ty, "field-id": id})
}

/// A manifest list in an order and with names of its own, and with fields that nobody knows.
fn odd_list() -> Vec<u8> {
    let summary = json!({"type": "record", "name": "s", "fields": [
        field("hi", 511, json!("bytes")),
        field("news", 700, json!({"type": "array", "items": "string"})),
        field("lo", 510, json!(["null", "bytes"])),
        field("n", 509, json!("boolean"))]});
    let schema = json!({"type": "record", "name": "row", "fields": [
        field("zz", 9000, json!({"type": "map", "values": "long"})),
        field("sums", 507, json!(["null", {"type": "array", "items": summary}])),
        {"name": "manifest_path", "type": "string"},
        field("bytes", 501, json!("long")),
        field("where", 500, json!("string")),
        field("spec", 502, json!("int")),
        field("what", 517, json!("int")),
        field("seq", 515, json!("long")),
        field("by", 503, json!("long")),
        field("n1", 504, json!(["null", "int"])),
    ]});
    let mut writer = ContainerWriter::new(&schema, &[]);
    writer
        .row(|out| {
            put_long(out, 1);
            put_bytes(out, b"key");
            put_long(out, 5);
            put_long(out, 0);
            put_long(out, 1);
            put_long(out, 1);
            put_bytes(out, &[9, 0, 0, 0]);
            put_long(out, 1);
            put_bytes(out, b"unknown");
            put_long(out, 0);
            put_long(out, 0);
            out.push(1);
            put_long(out, 0);
            put_bytes(out, b"not this one");
            put_long(out, 77);
            put_bytes(out, b"the/path.avro");
            put_long(out, 3);
            put_long(out, 1);
            put_long(out, 12);
            put_long(out, i64::MIN);
            put_long(out, 0);
        })
        .unwrap();
    writer.finish().unwrap()
}

#[test]
fn r_av1_manifest_list_is_read_by_field_id_and_unknown_fields_are_skipped() {
    let read = read_manifest_list(&odd_list().into()).unwrap();
    let expected = ManifestFile {
        length: 77,
        spec_id: 3,
        content: ManifestContent::Deletes,
        sequence_number: 12,
        added_snapshot_id: Some(i64::MIN),
        partitions: Some(vec![FieldSummary {
            contains_null: true,
            contains_nan: None,
            lower_bound: None,
            upper_bound: Some(vec![9, 0, 0, 0]),
        }]),
        ..ManifestFile::from_path("the/path.avro", 0)
    };
    assert_eq!(read, [expected]);
}

#[test]
fn r_av4_absent_counts_mean_that_there_may_be_files() {
    let manifest = |added, existing| ManifestFile {
        added_files: added,
        existing_files: existing,
        ..ManifestFile::from_path("m", 1)
    };
    for (added, existing, may) in [
        (None, None, true),
        (Some(0), None, true),
        (None, Some(0), true),
        (Some(0), Some(1), true),
        (Some(0), Some(0), false),
    ] {
        assert_eq!(manifest(added, existing).may_have_live_files(), may);
    }
}

/// Status, data sequence number, and the partition value of an entry.
type Row = (i64, Option<i64>, Option<i64>);

/// A manifest without names and order of the spec's, partitioned by a column whose Avro name is sanitised.
fn odd_manifest(rows: &[Row]) -> Vec<u8> {
    let partition = json!({"type": "record", "name": "p", "fields": [
        field("my_x2Dcol", 1005, json!(["null", "long"]))]});
    let file = json!({"type": "record", "name": "f", "fields": [
        field("size", 104, json!("long")),
        field("new", 146, json!(["null", "string"])),
        field("part", 102, partition),
        field("rows", 103, json!("long")),
        field("at", 100, json!("string")),
        field("as", 101, json!("string")),
        {"name": "lower_bounds", "field-id": 125, "type": ["null", {"type": "array", "items":
            {"type": "record", "name": "kv", "fields": [
                field("key", 126, json!("int")), field("value", 127, json!("bytes"))]}}]},
    ]});
    let schema = json!({"type": "record", "name": "e", "fields": [
        field("file", 2, file),
        field("state", 0, json!("int")),
        field("number", 3, json!(["null", "long"])),
    ]});
    let header = [("partition-spec-id", "6".to_owned())];
    let mut writer = ContainerWriter::new(&schema, &header);
    let optional = |out: &mut Vec<u8>, value: Option<i64>| match value {
        None => put_long(out, 0),
        Some(value) => {
            put_long(out, 1);
            put_long(out, value);
        }
    };
    for (status, number, value) in rows {
        writer
            .row(|out| {
                put_long(out, 1000);
                put_long(out, 0);
                optional(out, *value);
                put_long(out, 10);
                put_bytes(out, b"f.parquet");
                put_bytes(out, b"parquet");
                put_long(out, 1);
                put_long(out, 1);
                put_long(out, 4);
                put_bytes(out, &[7]);
                put_long(out, 0);
                put_long(out, *status);
                optional(out, *number);
            })
            .unwrap();
    }
    writer.finish().unwrap()
}

#[test]
fn r_av2_r_av3_manifest_with_sanitised_names_takes_its_spec_from_its_header() {
    let unknown = ManifestFile::from_path("m", 5);
    let bytes = odd_manifest(&[(1, None, Some(8)), (1, None, None)]).into();
    let entries = read_manifest(&bytes, &unknown).unwrap();
    let file = &entries[0].data_file;
    assert_eq!(file.partition, [(1005, Some(PartitionValue::Integer(8)))]);
    assert_eq!(entries[1].data_file.partition, [(1005, None)]);
    assert_eq!((file.spec_id, file.record_count), (6, 10));
    assert_eq!(
        (file.path.as_str(), file.content),
        ("f.parquet", DataContent::Data)
    );
    assert_eq!(file.lower_bounds.get(4), Some(vec![7]));
    let listed = ManifestFile {
        spec_id: 2,
        ..unknown
    };
    let entries = read_manifest(&bytes, &listed).unwrap();
    assert_eq!(entries[0].data_file.spec_id, 2, "the list knows better");
}

#[test]
fn r_av6_numbers_are_inherited_by_added_files_only_and_by_all_of_version_1() {
    let rows = [
        (0, None, None),
        (1, None, None),
        (2, None, None),
        (1, Some(3), None),
    ];
    let numbers = |sequence_number| {
        let manifest = ManifestFile {
            sequence_number,
            ..ManifestFile::from_path("m", 5)
        };
        let entries = read_manifest(&odd_manifest(&rows).into(), &manifest).unwrap();
        entries
            .iter()
            .map(|e| (e.status, e.snapshot_id, e.sequence_number))
            .collect::<Vec<_>>()
    };
    use EntryStatus::{Added, Deleted, Existing};
    let (own, seven) = (Some(5), Some(7));
    assert_eq!(
        numbers(7),
        [
            (Existing, own, None),
            (Added, own, seven),
            (Deleted, own, None),
            (Added, own, Some(3)),
        ]
    );
    assert_eq!(
        numbers(0),
        [
            (Existing, own, Some(0)),
            (Added, own, Some(0)),
            (Deleted, own, Some(0)),
            (Added, own, Some(3)),
        ]
    );
    let wrong = odd_manifest(&[(3, None, None)]).into();
    let error = read_manifest(&wrong, &ManifestFile::from_path("m", 5)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
}

#[test]
fn absurd_counts_and_offsets_are_refused_or_ignored() {
    let mut bytes = odd_manifest(&[(1, None, None)]);
    let entries = read_manifest(&bytes.clone().into(), &ManifestFile::from_path("m", 5)).unwrap();
    let mut file = entries[0].data_file.clone();
    for (offsets, pieces) in [
        (None, 1),
        (Some(vec![]), 1),
        (Some(vec![4, 500]), 2),
        (Some(vec![4, 4]), 1),
        (Some(vec![500, 4]), 1),
        (Some(vec![-1, 4]), 1),
        (Some(vec![4, 1000]), 1),
        (Some(vec![4, i64::MAX]), 1),
    ] {
        file.split_offsets = offsets;
        assert_eq!(file.piece_count(), pieces, "{:?}", file.split_offsets);
    }
    // The row of the one block is deflated: a torn one is as bad as a wrong one.
    let end = bytes.len() - 20;
    bytes[end] ^= 0x55;
    let error = read_manifest(&bytes.into(), &ManifestFile::from_path("m", 5)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    for size in [-1, 1 << 49, i64::MAX] {
        let manifest = manifest_of_size(size);
        let error = read_manifest(&manifest.into(), &ManifestFile::from_path("m", 5)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{size}: {error}");
        assert!(error.to_string().contains("rows"), "{error}");
    }
}

/// A manifest of one file that claims to have so many rows.
fn manifest_of_size(rows: i64) -> Vec<u8> {
    let file = json!({"type": "record", "name": "f", "fields": [
        field("at", 100, json!("string")),
        field("rows", 103, json!("long")),
        field("size", 104, json!("long"))]});
    let schema = json!({"type": "record", "name": "e", "fields": [
        field("state", 0, json!("int")), field("file", 2, file)]});
    let mut writer = ContainerWriter::new(&schema, &[]);
    writer
        .row(|out| {
            put_long(out, 1);
            put_bytes(out, b"f");
            put_long(out, rows);
            put_long(out, 1);
        })
        .unwrap();
    writer.finish().unwrap()
}

#[test]
fn unknown_and_blank_types_of_foreign_schemas_are_read() {
    let document = with(|json| {
        json["schemas"][0]["fields"][0]["type"] = json!("decimal( 9 , 2 )");
    });
    let schema = document.unwrap().current_schema().unwrap().clone();
    let decimal = Type::Decimal {
        precision: 9,
        scale: 2,
    };
    assert_eq!(schema.fields[0].ty, decimal);
}
