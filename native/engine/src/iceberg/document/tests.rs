//! Untouched keys stay, bookkeeping is kept up, old forms are read, damage is named.

use serde_json::{Map, json};
use uuid::Uuid;

use super::*;
use crate::error::ErrorKind;
use crate::iceberg::schema::{Field, Type};
use crate::iceberg::snapshot::SummaryDelta;

fn table() -> Document {
    let schema = Schema::new(
        0,
        vec![
            Field::new(1, "id", true, Type::Long),
            Field::new(2, "s", false, Type::String),
        ],
    )
    .unwrap();
    Document::create(&NewTable {
        table_uuid: Uuid::from_u128(7),
        location: "/lake/t/".into(),
        schema,
        spec: PartitionSpec::unpartitioned(),
        properties: BTreeMap::from([("a".into(), "1".into())]),
        now_ms: 1000,
    })
    .unwrap()
}

fn snapshot(document: &Document, snapshot_id: i64) -> Snapshot {
    let delta = SummaryDelta {
        added_data_files: 1,
        added_records: 3,
        added_files_size: 10,
        ..SummaryDelta::default()
    };
    Snapshot {
        snapshot_id,
        parent_snapshot_id: document.current_snapshot().map(|s| s.snapshot_id),
        sequence_number: document.last_sequence_number() + 1,
        timestamp_ms: 2000,
        manifest_list: Some(format!("/lake/t/metadata/snap-{snapshot_id}.avro")),
        manifests: Vec::new(),
        summary: delta.summary("append", document.current_snapshot()),
        schema_id: Some(0),
        first_row_id: document.next_row_id(),
        added_rows: document.next_row_id().map(|_| 3),
    }
}

fn commit(now_ms: i64) -> Commit<'static> {
    Commit {
        previous_file: "/lake/t/metadata/v1.metadata.json",
        now_ms,
    }
}

fn append(document: &Document, snapshot_id: i64) -> Document {
    document
        .apply(
            &[Update::AddSnapshot(snapshot(document, snapshot_id))],
            commit(1500),
        )
        .unwrap()
}

fn json_of(document: &Document) -> Json {
    serde_json::from_slice(&document.to_bytes()).unwrap()
}

/// Puts an unknown key into every object.
fn plant(json: &Json, serial: &mut i64) -> Json {
    match json {
        Json::Object(map) => {
            let mut grown: Map<String, Json> = map
                .iter()
                .map(|(k, v)| (k.clone(), plant(v, serial)))
                .collect();
            *serial += 1;
            grown.insert(
                "x-unknown".into(),
                json!({"n": *serial, "Mixed": [1.5, null, "é"]}),
            );
            Json::Object(grown)
        }
        Json::Array(items) => items.iter().map(|item| plant(item, serial)).collect(),
        other => other.clone(),
    }
}

/// Everything of `before` is in `after`, except what `changed` names by path.
fn assert_kept(before: &Json, after: &Json, path: &str, changed: &[&str]) {
    if changed.contains(&path) {
        return;
    }
    match (before, after) {
        (Json::Object(before), Json::Object(after)) => {
            for (key, value) in before {
                let path = format!("{path}/{key}");
                assert_kept(
                    value,
                    after.get(key).unwrap_or_else(|| panic!("{path} is lost")),
                    &path,
                    changed,
                );
            }
        }
        (Json::Array(before), Json::Array(after)) => {
            for (i, value) in before.iter().enumerate() {
                assert_kept(value, &after[i], &format!("{path}/{i}"), changed);
            }
        }
        _ => assert_eq!(before, after, "{path}"),
    }
}

#[test]
fn append_keeps_unknown_keys_in_every_object() {
    let mut base = append(&append(&table(), 11), 12);
    let mut properties = json_of(&base);
    properties["refs"]["keep"] = json!({"type": "tag", "snapshot-id": 11, "max-ref-age-ms": 5});
    properties["refs"]["main"]["min-snapshots-to-keep"] = json!(4);
    properties["statistics"] = json!([{"snapshot-id": 11, "statistics-path": "p", "blob-metadata": [{"type": "t", "fields": [1]}]}]);
    properties["encryption-keys"] = json!([]);
    let mut planted = plant(&properties, &mut 0);
    // Properties and summaries hold nothing but strings.
    planted["properties"]
        .as_object_mut()
        .unwrap()
        .remove("x-unknown");
    for snapshot in planted["snapshots"].as_array_mut().unwrap() {
        snapshot["summary"]
            .as_object_mut()
            .unwrap()
            .remove("x-unknown");
    }
    planted["refs"].as_object_mut().unwrap().remove("x-unknown");
    base = Document::parse(planted.to_string().as_bytes()).unwrap();
    let next = append(&base, 13);
    let changed = [
        "/last-updated-ms",
        "/last-sequence-number",
        "/current-snapshot-id",
        "/refs/main/snapshot-id",
    ];
    assert_kept(&planted, &json_of(&next), "", &changed);
    for key in [
        "schemas",
        "partition-specs",
        "sort-orders",
        "statistics",
        "properties",
        "x-unknown",
    ] {
        assert_eq!(next.raw(key), base.raw(key), "{key}");
    }
    assert_eq!(
        next.refs()["keep"],
        SnapshotRef {
            snapshot_id: 11,
            is_branch: false
        }
    );
    assert_eq!(json_of(&next)["refs"]["main"]["min-snapshots-to-keep"], 4);
}

#[test]
fn unknown_number_that_no_type_holds_stays_as_text() {
    let text = String::from_utf8(table().to_bytes()).unwrap();
    let odd = text.replacen(
        '{',
        r#"{"x-big": [123456789012345678901234567890, 1e999, 0.10],"#,
        1,
    );
    let next = append(&Document::parse(odd.as_bytes()).unwrap(), 11);
    assert_eq!(
        next.raw("x-big"),
        Some("[123456789012345678901234567890, 1e999, 0.10]")
    );
}

#[test]
fn commits_keep_logs_numbers_and_time() {
    let first = append(&table(), 11);
    let second = append(&first, 12);
    assert_eq!(
        (second.last_sequence_number(), second.last_updated_ms()),
        (2, 2000)
    );
    assert_eq!(second.current_snapshot().map(|s| s.snapshot_id), Some(12));
    assert_eq!(second.refs()[MAIN_BRANCH].snapshot_id, 12);
    let log: Vec<_> = second
        .snapshot_log()
        .iter()
        .map(|e| e.snapshot_id)
        .collect();
    assert_eq!(log, [11, 12]);
    assert_eq!(second.metadata_log().len(), 2);
    assert_eq!(
        second.metadata_log()[1].timestamp_ms,
        first.last_updated_ms()
    );
    let summary = &second.current_snapshot().unwrap().summary;
    assert_eq!(
        (
            summary["total-records"].as_str(),
            summary["added-records"].as_str()
        ),
        ("6", "3")
    );
    assert_eq!(
        second.current_snapshot().unwrap().operation(),
        Some("append")
    );

    let mut document = second;
    let limit = Update::SetProperties(BTreeMap::from([(
        "write.metadata.previous-versions-max".into(),
        "3".into(),
    )]));
    document = document.apply(&[limit], commit(1)).unwrap();
    for _ in 0..5 {
        document = document.apply(&[], commit(1)).unwrap();
    }
    assert_eq!(document.metadata_log().len(), 3);
    assert_eq!(document.last_updated_ms(), 2000, "time never goes back");
}

#[test]
fn snapshot_that_does_not_follow_the_head_is_refused() {
    let base = append(&table(), 11);
    let good = snapshot(&base, 12);
    let bad = [
        Snapshot {
            snapshot_id: 11,
            ..good.clone()
        },
        Snapshot {
            snapshot_id: -4,
            ..good.clone()
        },
        Snapshot {
            parent_snapshot_id: None,
            ..good.clone()
        },
        Snapshot {
            sequence_number: 1,
            ..good
        },
    ];
    for snapshot in bad {
        let error = base
            .apply(&[Update::AddSnapshot(snapshot)], commit(0))
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Internal);
    }
}

#[test]
fn properties_are_set_and_removed_without_touching_others() {
    let set = Update::SetProperties(BTreeMap::from([("b".into(), "\"2\"".into())]));
    let document = table()
        .apply(
            &[
                set,
                Update::RemoveProperties(vec!["a".into(), "none".into()]),
            ],
            commit(0),
        )
        .unwrap();
    assert_eq!(
        document.properties(),
        &BTreeMap::from([("b".to_owned(), "\"2\"".to_owned())])
    );
}

#[test]
fn added_schema_becomes_current_with_a_new_id() {
    let mut schema = table().current_schema().unwrap().clone();
    schema.fields.push(Field::new(3, "n", false, Type::Int));
    let document = table()
        .apply(&[Update::AddSchema(schema)], commit(0))
        .unwrap();
    assert_eq!(document.current_schema().unwrap().schema_id, 1);
    assert_eq!(
        (document.last_column_id(), document.schemas().len()),
        (3, 2)
    );
    let mut twice = document.current_schema().unwrap().clone();
    twice.fields.push(Field::new(4, "n", false, Type::Int));
    assert_eq!(
        document
            .apply(&[Update::AddSchema(twice)], commit(0))
            .unwrap_err()
            .kind(),
        ErrorKind::InvalidInput
    );
}

#[test]
fn new_table_is_what_version_2_requires() {
    let json = json_of(&table());
    assert_eq!(json["current-snapshot-id"], -1);
    assert_eq!(json["last-partition-id"], 999);
    assert_eq!(json["location"], "/lake/t");
    assert_eq!(json["sort-orders"], json!([{"order-id": 0, "fields": []}]));
    assert_eq!(
        json["schemas"][0]["fields"][0],
        json!({"id": 1, "name": "id", "required": true, "type": "long"})
    );
    assert!(table().current_snapshot().is_none() && table().refs().is_empty());
}

#[test]
fn r_md2_version_1_forms_are_read_and_kept_up() {
    let old = json!({
        "format-version": 1, "location": "l", "last-updated-ms": 5, "last-column-id": 1,
        "schema": {"type": "struct", "fields": [{"id": 1, "name": "x", "required": false, "type": "int"}]},
        "partition-spec": [{"name": "x_b", "transform": "bucket[4]", "source-id": 1}],
        "current-snapshot-id": 9,
        "snapshots": [{"snapshot-id": 9, "timestamp-ms": 5, "manifests": ["m1", "m2"]}],
    });
    let document = Document::parse(old.to_string().as_bytes()).unwrap();
    assert_eq!(document.default_spec().unwrap().fields[0].field_id, 1000);
    assert_eq!(document.current_snapshot().unwrap().manifests, ["m1", "m2"]);
    assert_eq!(document.refs()[MAIN_BRANCH].snapshot_id, 9);
    let mut schema = document.current_schema().unwrap().clone();
    schema.fields.push(Field::new(2, "y", false, Type::Int));
    let next = document
        .apply(
            &[
                Update::AddSchema(schema),
                Update::AddSnapshot(snapshot(&document, 10)),
            ],
            commit(9),
        )
        .unwrap();
    let json = json_of(&next);
    assert_eq!(json["schema"], json["schemas"][1]);
    assert!(
        json["snapshots"][1].get("sequence-number").is_none()
            && json.get("last-sequence-number").is_none()
    );
    assert_eq!(next.schemas().len(), 2);
}

#[test]
fn version_3_commits_advance_the_next_row_id() {
    let mut json = json_of(&table());
    json["format-version"] = json!(3);
    json["next-row-id"] = json!(10);
    let document = Document::parse(json.to_string().as_bytes()).unwrap();
    let next = append(&document, 11);
    assert_eq!(next.next_row_id(), Some(13));
    assert_eq!(json_of(&next)["snapshots"][0]["first-row-id"], 10);
    let stale = Snapshot {
        first_row_id: Some(10),
        ..snapshot(&next, 12)
    };
    assert!(
        next.apply(&[Update::AddSnapshot(stale)], commit(0))
            .is_err()
    );
}

#[test]
fn damaged_metadata_is_corrupt_and_names_the_key() {
    let good = json_of(&table());
    let cases = [
        ("last-updated-ms", json!(null), "last-updated-ms"),
        ("current-snapshot-id", json!(5), "current-snapshot-id 5"),
        (
            "current-snapshot-id",
            json!(9_876_543_210_123_456_789u64),
            "current-snapshot-id",
        ),
        ("last-sequence-number", json!(1.5), "last-sequence-number"),
        ("current-schema-id", json!(4), "current-schema-id 4"),
        (
            "schemas",
            json!([{"type": "struct", "fields": [{"id": 1, "required": true, "type": "int"}]}]),
            "name",
        ),
        ("snapshots", json!({"a": 1}), "snapshots"),
        ("location", json!(7), "location"),
        ("properties", json!({"a": []}), "properties"),
    ];
    for (key, value, named) in cases {
        let mut json = good.clone();
        json[key] = value;
        let error = Document::parse(json.to_string().as_bytes()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
        assert!(
            error.to_string().contains(named),
            "{error} does not name {named}"
        );
    }
    let bytes = table().to_bytes();
    for length in 0..bytes.len() {
        assert_eq!(
            Document::parse(&bytes[..length]).unwrap_err().kind(),
            ErrorKind::Corrupt
        );
    }
    let newer = Document::parse(br#"{"format-version": 4}"#).unwrap_err();
    assert_eq!(newer.kind(), ErrorKind::Unsupported);
    let twice = Document::parse(br#"{"format-version": 2, "format-version": 2}"#).unwrap_err();
    assert!(twice.to_string().contains("format-version"), "{twice}");
}

#[test]
fn unused_snapshot_id_is_positive_and_free() {
    let document = append(&table(), 11);
    let mut bits = [22u64, 1 << 63, 0, 1].into_iter();
    // 22 >> 1 is taken; 1 << 63 >> 1 is free.
    assert_eq!(
        document.unused_snapshot_id(|| bits.next().unwrap()),
        1 << 62
    );
}
