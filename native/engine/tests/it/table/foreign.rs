//! Puts files and metadata into a table as other writers do, for the tests that read them.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use benostreamdb::iceberg::manifest::{DataContent, DataFile, FileFormat};
use benostreamdb::{CommitOperation, CommitRequest, Table};
use parquet::arrow::ArrowWriter;
use serde_json::Value as Json;

/// Publishes the next version of the metadata, changed.
pub(crate) async fn edit(table: &Table, change: impl FnOnce(&mut Json)) -> Table {
    let files = table
        .environment()
        .storage()
        .open(&[table.location().clone()]);
    let bytes = files.get(table.metadata_location()).await.unwrap();
    let mut metadata: Json = serde_json::from_slice(&bytes).unwrap();
    change(&mut metadata);
    let current = table.metadata_location().name();
    let version: u64 = current["v".len()..current.find('.').unwrap()]
        .parse()
        .unwrap();
    let next = format!("v{}.metadata.json", version + 1);
    let folder = table.location().join("metadata").unwrap();
    let bytes = serde_json::to_vec(&metadata).unwrap();
    files
        .put(&folder.join(&next).unwrap(), bytes.into())
        .await
        .unwrap();
    let table = table.refresh().await.unwrap();
    assert_eq!(table.metadata_location().name(), next);
    table
}

/// Makes these the columns of the table.
pub(crate) fn set_fields(metadata: &mut Json, fields: Json, last_column: i32) {
    let schemas = metadata["schemas"].as_array_mut().unwrap();
    let id = schemas.len();
    schemas.push(serde_json::json!({"type": "struct", "schema-id": id, "fields": fields}));
    metadata["current-schema-id"] = id.into();
    metadata["last-column-id"] = last_column.into();
}

/// Adds a data file with these bytes; `change` edits its manifest entry.
pub(crate) async fn add_file(
    table: &Table,
    name: &str,
    bytes: Vec<u8>,
    rows: u64,
    change: impl FnOnce(&mut DataFile),
) -> Table {
    let files = table
        .environment()
        .storage()
        .open(&[table.location().clone()]);
    let location = table.location().join("data").unwrap().join(name).unwrap();
    let size = bytes.len() as u64;
    files.put(&location, bytes.into()).await.unwrap();
    let mut file = DataFile::new(
        DataContent::Data,
        location.to_string(),
        FileFormat::Parquet,
        rows,
        size,
    );
    change(&mut file);
    let mut message = table.writer().unwrap().finish().await.unwrap();
    message.data_files.push(file);
    table
        .commit(&CommitRequest {
            operation: CommitOperation::Append,
            messages: vec![message],
            base_snapshot: table.snapshot_id(),
        })
        .await
        .unwrap();
    table.refresh().await.unwrap()
}

/// A Parquet file of a batch, with the field ids that its schema has and no others.
pub(crate) fn parquet(batch: &RecordBatch) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), None).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
    bytes
}

/// A batch of nullable columns.
pub(crate) fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    let columns = columns
        .into_iter()
        .map(|(name, column)| (name, column, true));
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

/// A column.
pub(crate) fn column(array: impl arrow::array::Array + 'static) -> ArrayRef {
    Arc::new(array)
}
