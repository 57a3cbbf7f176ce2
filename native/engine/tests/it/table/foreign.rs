//! Puts files and metadata into a table as other writers do, for the tests that read them.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use benostreamdb::Table;
use benostreamdb::iceberg::manifest::{
    DataContent, DataFile, Entry, FileFormat, ListSpec, ManifestContent, ManifestSpec,
    read_manifest_list, write_manifest, write_manifest_list,
};
use parquet::arrow::ArrowWriter;
use serde_json::{Value as Json, json};

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
    schemas.push(json!({"type": "struct", "schema-id": id, "fields": fields}));
    metadata["current-schema-id"] = id.into();
    metadata["last-column-id"] = last_column.into();
}

/// Adds a data file with these bytes in a snapshot of its own, as a writer of the table's format version does;
/// `change` edits its manifest entry.
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
    let at = |folder: &str, name: &str| table.location().join(folder).unwrap().join(name).unwrap();
    let location = at("data", name);
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
    let document = table.document();
    let snapshot_id = document.snapshots().len() as i64 + 1_000;
    let sequence_number = document.last_sequence_number() + 1;
    let spec = ManifestSpec {
        format_version: document.format_version(),
        schema: table.schema().unwrap(),
        spec: document.spec(file.spec_id).unwrap(),
        content: ManifestContent::Data,
        snapshot_id,
    };
    let manifest_location = at("metadata", &format!("{name}-m0.avro"));
    let entries = [Entry::added(snapshot_id, file)];
    let (bytes, manifest) = write_manifest(&spec, manifest_location.as_str(), &entries).unwrap();
    files.put(&manifest_location, bytes).await.unwrap();
    let mut manifests = vec![manifest];
    if let Some(parent) = table.snapshot() {
        let list = files
            .resolve(parent.manifest_list.as_ref().unwrap())
            .unwrap();
        manifests.extend(read_manifest_list(&files.get(&list).await.unwrap()).unwrap());
    }
    let spec = ListSpec {
        format_version: document.format_version(),
        snapshot_id,
        parent_snapshot_id: table.snapshot_id(),
        sequence_number,
        next_row_id: document.next_row_id(),
    };
    let list = write_manifest_list(&spec, &manifests).unwrap();
    let list_location = at("metadata", &format!("snap-{name}.avro"));
    files.put(&list_location, list.bytes).await.unwrap();
    edit(table, |metadata| {
        let mut snapshot = json!({
            "snapshot-id": snapshot_id, "sequence-number": sequence_number, "timestamp-ms": metadata["last-updated-ms"],
            "manifest-list": list_location.to_string(), "summary": {"operation": "append"},
        });
        if let Some(first) = spec.next_row_id {
            snapshot["first-row-id"] = first.into();
            snapshot["added-rows"] = list.added_rows.into();
            metadata["next-row-id"] = (first + list.added_rows).into();
        }
        metadata["last-sequence-number"] = sequence_number.into();
        metadata["current-snapshot-id"] = snapshot_id.into();
        metadata["refs"] = json!({"main": {"snapshot-id": snapshot_id, "type": "branch"}});
        match metadata["snapshots"].as_array_mut() {
            Some(snapshots) => snapshots.push(snapshot),
            None => metadata["snapshots"] = json!([snapshot]),
        }
    })
    .await
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
