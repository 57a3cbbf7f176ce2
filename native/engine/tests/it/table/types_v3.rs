//! Column types of format version 3, and those that nobody knows: the table opens whatever its columns are, and
//! only a column that cannot be read is refused, by name, when it is asked for.

use serde_json::{Value as Json, json};

use benostreamdb::{ErrorKind, Session, Table};

use crate::fixture::{memory, name};
use crate::support::{error, line, rows};

/// Publishes the next version of the metadata in which columns have other types, as another engine would.
async fn retype(table: &Table, types: &[(&str, Json)]) {
    let files = table
        .environment()
        .storage()
        .open(&[table.location().clone()]);
    let bytes = files.get(table.metadata_location()).await.unwrap();
    let mut metadata: Json = serde_json::from_slice(&bytes).unwrap();
    metadata["format-version"] = 3.into();
    metadata["next-row-id"] = 0.into();
    for schema in metadata["schemas"].as_array_mut().unwrap() {
        for field in schema["fields"].as_array_mut().unwrap() {
            let found = types.iter().find(|(column, _)| field["name"] == *column);
            if let Some((_, ty)) = found {
                field["type"] = ty.clone();
            }
        }
    }
    let folder = table.location().join("metadata").unwrap();
    let bytes = serde_json::to_vec(&metadata).unwrap();
    let next = folder.join("v3.metadata.json").unwrap();
    files.put(&next, bytes.into()).await.unwrap();
}

/// Columns whose stored form fits the types that they are given afterwards.
async fn table() -> Session {
    let (session, _) = memory();
    rows(
        &session,
        "CREATE TABLE t (id int, stamp timestamp, zoned timestamptz, shape bytea, place bytea, nothing int, odd bigint,
            pair bigint[])",
    )
    .await;
    rows(
        &session,
        "INSERT INTO t VALUES
            (1, '2024-01-01 00:00:00.000001', '2024-01-01T00:00:00Z', 'ab', 'cd', 5, 6, ARRAY[1]),
            (2, NULL, NULL, NULL, NULL, NULL, NULL, NULL)",
    )
    .await;
    let table = session.table(&name("t")).await.unwrap();
    retype(
        &table,
        &[
            ("stamp", json!("timestamp_ns")),
            ("zoned", json!("timestamptz_ns")),
            ("shape", json!("geometry( srid:4326 )")),
            ("place", json!("geography")),
            ("nothing", json!("unknown")),
            ("odd", json!({"type": "tensor", "of": "float"})),
            (
                "pair",
                json!({"type": "list", "element-id": 99, "element": "interval", "element-required": false}),
            ),
        ],
    )
    .await;
    session
}

#[tokio::test]
async fn r_ty2_types_of_version_3_are_read_and_filtered() {
    let session = table().await;
    assert_eq!(
        rows(
            &session,
            "SELECT id, stamp, zoned, shape, place, nothing FROM t ORDER BY id"
        )
        .await,
        [
            "1|2024-01-01T00:00:00.000001|2024-01-01T00:00:00Z|6162|6364|NULL",
            "2|NULL|NULL|NULL|NULL|NULL"
        ]
    );
    for filter in [
        "stamp = '2024-01-01 00:00:00.000001'",
        "stamp > '2024-01-01 00:00:00.000000999'",
        "stamp < timestamp '2024-01-02 00:00:00'",
        "zoned = '2024-01-01T00:00:00Z'",
        "shape = 'ab'",
        "place IS NOT NULL",
        "nothing IS NULL AND id = 1",
    ] {
        // The bounds of the file are of the types that it was written with, so no filter may rely on them.
        let statement = format!("SELECT id FROM t WHERE ({filter} OR id = 2) AND id < 2");
        assert_eq!(line(&session, &statement).await, "1", "{filter}");
    }
    assert_eq!(line(&session, "SELECT count(nothing) FROM t").await, "0");
}

#[tokio::test]
async fn l12_column_of_an_unknown_type_is_refused_only_when_it_is_asked_for() {
    let session = table().await;
    assert_eq!(line(&session, "SELECT count(*) FROM t").await, "2");
    assert_eq!(line(&session, "SELECT id FROM t WHERE id > 1").await, "2");
    for (statement, column) in [
        ("SELECT odd FROM t", "'odd'"),
        ("SELECT id, pair FROM t", "'pair'"),
        ("SELECT * FROM t", "'odd'"),
        ("SELECT id FROM t WHERE odd IS NULL", "'odd'"),
    ] {
        let refused = error(&session, statement).await;
        assert_eq!(refused.kind(), ErrorKind::Unsupported, "{refused}");
        assert!(refused.to_string().contains(column), "{refused}");
    }
    let refused = error(&session, "INSERT INTO t (id) VALUES (3)").await;
    assert_eq!(refused.kind(), ErrorKind::Unsupported, "{refused}");
}
