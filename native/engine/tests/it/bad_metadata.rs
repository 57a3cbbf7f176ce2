//! Metadata that somebody else wrote and that leads elsewhere, or belongs to another table: an error that names
//! the place, never a read of it.

use std::collections::BTreeMap;

use benostreamdb::iceberg::document::Document;
use benostreamdb::iceberg::manifest::{
    DataContent, DataFile, Entry, FileFormat, ListSpec, ManifestContent, ManifestSpec,
    write_manifest, write_manifest_list,
};
use benostreamdb::storage::testing::TempFolder;
use benostreamdb::{
    CommitOperation, CommitRequest, ErrorKind, ScanRequest, Session, SessionOptions, Table,
};
use bytes::Bytes;

use crate::fixture::{docs, docs_schema, docs_table, memory, name, read, reopened};

/// Places that no table's metadata may name.
const ELSEWHERE: [&str; 14] = [
    "/etc/passwd",
    "file:///etc/passwd",
    "file:/etc/passwd",
    "file://host/etc/passwd",
    "http://169.254.169.254/latest/meta-data",
    "https://169.254.169.254/latest/meta-data",
    "s3://another-bucket/data.parquet",
    "s3a://169.254.169.254/data.parquet",
    "abfss://c@account.dfs.core.windows.net/x",
    "hdfs://namenode:9000/x",
    "relative/data.parquet",
    "../other/data.parquet",
    "//etc/passwd",
    "",
];

/// The session and a table of one file on the local disk.
async fn disk_table(folder: &TempFolder) -> (Session, Table) {
    let options = SessionOptions {
        warehouse: Some(folder.path().to_str().unwrap().to_string()),
        ..SessionOptions::default()
    };
    let session = Session::open(&options).unwrap();
    let table = docs_table(&session, "t", 1, 10).await;
    (session, table)
}

/// What a reader of the table meets once its metadata names `list` as manifest list.
async fn read_with_list(session: &Session, table: &Table, list: &str) -> benostreamdb::Error {
    let catalog = session.environment().catalog();
    let head = catalog.load(&name("t")).await.unwrap();
    let mut json: serde_json::Value = serde_json::from_slice(&head.metadata).unwrap();
    let snapshots = json["snapshots"].as_array_mut().unwrap();
    snapshots.last_mut().unwrap()["manifest-list"] = list.into();
    let files = session
        .environment()
        .storage()
        .open(std::slice::from_ref(table.location()));
    let changed = Bytes::from(json.to_string());
    Document::parse(&changed).unwrap();
    files.put(&head.metadata_location, changed).await.unwrap();
    let hostile = session.table(&name("t")).await.unwrap();
    let error = read(&hostile, &ScanRequest::default()).await.unwrap_err();
    files
        .put(&head.metadata_location, head.metadata)
        .await
        .unwrap();
    error
}

/// A manifest list of one manifest with one file, each named as said; stored at a place of the table's.
async fn store_list(
    table: &Table,
    manifest_path: Option<&str>,
    file_path: &str,
    deletes: bool,
) -> String {
    let document = table.document();
    let (schema, spec) = (
        document.current_schema().unwrap(),
        document.default_spec().unwrap(),
    );
    let snapshot = table.snapshot().unwrap();
    let files = table
        .environment()
        .storage()
        .open(std::slice::from_ref(table.location()));
    let content = match deletes {
        true => (DataContent::PositionDeletes, ManifestContent::Deletes),
        false => (DataContent::Data, ManifestContent::Data),
    };
    let file = DataFile::new(content.0, file_path, FileFormat::Parquet, 10, 1_000);
    let manifest = ManifestSpec {
        format_version: 2,
        schema,
        spec,
        content: content.1,
        snapshot_id: snapshot.snapshot_id,
    };
    let unique = uuid::Uuid::new_v4();
    let own = table
        .location()
        .join(&format!("metadata/{unique}-m0.avro"))
        .unwrap();
    let path = manifest_path.unwrap_or(own.as_str());
    let entry = Entry::added(snapshot.snapshot_id, file);
    let (bytes, row) = write_manifest(&manifest, path, &[entry]).unwrap();
    files.put(&own, bytes).await.unwrap();
    let mut rows = table_manifests(table).await;
    rows.push(row);
    let list = ListSpec {
        format_version: 2,
        snapshot_id: snapshot.snapshot_id,
        parent_snapshot_id: None,
        sequence_number: snapshot.sequence_number,
        next_row_id: None,
    };
    let at = table
        .location()
        .join(&format!("metadata/snap-{unique}.avro"))
        .unwrap();
    let written = write_manifest_list(&list, &rows).unwrap();
    files.put(&at, written.bytes).await.unwrap();
    at.to_string()
}

async fn table_manifests(table: &Table) -> Vec<benostreamdb::iceberg::manifest::ManifestFile> {
    let files = table
        .environment()
        .storage()
        .open(std::slice::from_ref(table.location()));
    let list = table.snapshot().unwrap().manifest_list.clone().unwrap();
    let bytes = files.get(&files.resolve(&list).unwrap()).await.unwrap();
    benostreamdb::iceberg::manifest::read_manifest_list(&bytes).unwrap()
}

#[tokio::test]
async fn l7_metadata_that_names_places_outside_the_table_is_permission_denied() {
    let folder = TempFolder::new().unwrap();
    let (session, table) = disk_table(&folder).await;
    let inside = |file: &str| table.location().join(file).unwrap().to_string();
    for place in ELSEWHERE {
        let mut lists = vec![(place.to_string(), "manifest list")];
        if !place.is_empty() {
            lists.push((
                store_list(&table, Some(place), &inside("data/x.parquet"), false).await,
                "manifest",
            ));
            lists.push((store_list(&table, None, place, false).await, "data file"));
            lists.push((store_list(&table, None, place, true).await, "delete file"));
        }
        for (list, what) in lists {
            let error = read_with_list(&session, &table, &list).await;
            assert_eq!(
                error.kind(),
                ErrorKind::PermissionDenied,
                "{what} {place:?}: {error}"
            );
            assert!(
                error.to_string().contains(place),
                "{what} {place:?}: {error}"
            );
        }
    }
    // The files of a neighbour are elsewhere too.
    let neighbour = docs_table(&session, "neighbour", 1, 10).await;
    let list = neighbour.snapshot().unwrap().manifest_list.clone().unwrap();
    let error = read_with_list(&session, &table, &list).await;
    assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{error}");
}

#[tokio::test]
async fn r_md6_table_that_was_dropped_and_created_again_is_no_refresh() {
    let (session, _) = memory();
    let table = docs_table(&session, "t", 1, 10).await;
    let mut writer = table.writer().unwrap();
    writer.write(&docs(50, 3, 1)).await.unwrap();
    let message = writer.finish().await.unwrap();
    let other = reopened(&session);
    other.drop_table(&name("t")).await.unwrap();
    other
        .create_table(&name("t"), &docs_schema(), &BTreeMap::new())
        .await
        .unwrap();
    let error = table.refresh().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
    assert!(error.to_string().contains(table.uuid()), "{error}");
    let request = CommitRequest {
        operation: CommitOperation::Append,
        messages: vec![message],
        base_snapshot: None,
    };
    let error = table.commit(&request).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
    let fresh = session.table(&name("t")).await.unwrap();
    assert_eq!(fresh.snapshot_id(), None);
}
