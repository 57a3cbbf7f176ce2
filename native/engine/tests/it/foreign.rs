//! Commits as other engines make them: data and delete files of any kind, and metadata that this engine does not
//! write. Files are made here byte by byte or with the Iceberg layer's writers; nothing passes `Table::commit`.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray as _, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{Field, Schema};
use benostreamdb::iceberg::deletion_vector;
use benostreamdb::iceberg::document::Document;
use benostreamdb::iceberg::manifest::{
    DataContent, DataFile, Entry, FileFormat, ListSpec, ManifestContent, ManifestSpec,
    read_manifest_list, write_manifest, write_manifest_list,
};
use benostreamdb::iceberg::predicate::reserved;
use benostreamdb::iceberg::schema::FIELD_ID_KEY;
use benostreamdb::storage::Confined;
use benostreamdb::{ScanRequest, Table};
use parquet::arrow::ArrowWriter;
use roaring::RoaringTreemap;
use serde_json::{Value as Json, json};

use crate::fixture::read;

/// Reserved columns of position delete files.
const FILE_PATH: i32 = 2_147_483_546;
const POS: i32 = 2_147_483_545;

fn files(table: &Table) -> Confined {
    let storage = table.environment().storage();
    storage.open(std::slice::from_ref(table.location()))
}

/// Puts a file into the table's data folder; its path.
async fn put(table: &Table, name: &str, bytes: Vec<u8>) -> String {
    let folder = table.location().join("data").unwrap();
    let location = folder.join(name).unwrap();
    files(table).put(&location, bytes.into()).await.unwrap();
    location.to_string()
}

/// A column as a file holds it: field id, name, values.
pub type Column<'a> = (i32, &'a str, ArrayRef);

/// The columns as a batch that carries field ids.
pub fn batch(columns: &[Column<'_>]) -> RecordBatch {
    let field = |(id, name, values): &Column<'_>| {
        let metadata = HashMap::from([(FIELD_ID_KEY.to_owned(), id.to_string())]);
        Field::new(*name, values.data_type().clone(), true).with_metadata(metadata)
    };
    let schema = Schema::new(columns.iter().map(field).collect::<Vec<_>>());
    let values = columns.iter().map(|(_, _, values)| values.clone());
    RecordBatch::try_new(Arc::new(schema), values.collect()).unwrap()
}

/// A Parquet file without any statistics in its manifest entry.
pub async fn parquet_file(
    table: &Table,
    name: &str,
    content: DataContent,
    columns: &[Column<'_>],
) -> DataFile {
    let batch = batch(columns);
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let size = bytes.len() as u64;
    let path = put(table, name, bytes).await;
    let rows = batch.num_rows() as u64;
    DataFile::new(content, path, FileFormat::Parquet, rows, size)
}

/// Deletes of all rows that hold these values in the columns with these ids.
pub async fn equality_deletes(
    table: &Table,
    name: &str,
    columns: &[Column<'_>],
    ids: &[i32],
) -> DataFile {
    let mut file = parquet_file(table, name, DataContent::EqualityDeletes, columns).await;
    file.equality_ids = Some(ids.to_vec());
    file
}

/// Deletes of rows by path and position, as they stand.
pub async fn position_deletes(
    table: &Table,
    name: &str,
    rows: &[(Option<&str>, Option<i64>)],
) -> DataFile {
    let paths: ArrayRef = Arc::new(rows.iter().map(|(path, _)| *path).collect::<StringArray>());
    let positions: ArrayRef = Arc::new(rows.iter().map(|(_, row)| *row).collect::<Int64Array>());
    let columns = [(FILE_PATH, "file_path", paths), (POS, "pos", positions)];
    parquet_file(table, name, DataContent::PositionDeletes, &columns).await
}

/// One file with a deletion vector for each data file.
pub async fn deletion_vectors(
    table: &Table,
    name: &str,
    vectors: &[(&str, &[u64])],
) -> Vec<DataFile> {
    let mut bytes = b"PFA1".to_vec();
    let mut found = Vec::new();
    for (path, positions) in vectors {
        let positions = RoaringTreemap::from_iter(positions.iter().copied());
        let blob = deletion_vector::encode(&positions).unwrap();
        found.push((*path, positions.len(), bytes.len(), blob.len()));
        bytes.extend(blob);
    }
    let size = bytes.len() as u64;
    let file = put(table, name, bytes).await;
    let entry = |(path, cardinality, offset, length): (&str, u64, usize, usize)| {
        let content = DataContent::PositionDeletes;
        let mut entry = DataFile::new(content, &file, FileFormat::Puffin, cardinality, size);
        entry.referenced_data_file = Some(path.to_owned());
        entry.content_offset = Some(offset as i64);
        entry.content_size_in_bytes = Some(length as i64);
        entry
    };
    found.into_iter().map(entry).collect()
}

/// Publishes a snapshot that adds these files, after `edit` has changed the metadata.
pub async fn commit(table: &Table, added: Vec<DataFile>, edit: impl FnOnce(&mut Json)) -> Table {
    let files = files(table);
    let bytes = files.get(table.metadata_location()).await.unwrap();
    let mut metadata: Json = serde_json::from_slice(&bytes).unwrap();
    edit(&mut metadata);
    let document = Document::parse(metadata.to_string().as_bytes()).unwrap();
    let parent = table.snapshot_id();
    let snapshot_id = parent.unwrap_or(100) + 1;
    let sequence = document.last_sequence_number() + 1;
    let folder = table.location().join("metadata").unwrap();
    let mut groups: BTreeMap<(bool, i32), Vec<Entry>> = BTreeMap::new();
    for file in added {
        let group = (file.content != DataContent::Data, file.spec_id);
        let entry = Entry::added(snapshot_id, file);
        groups.entry(group).or_default().push(entry);
    }
    let mut manifests = Vec::new();
    for ((deletes, spec), entries) in groups {
        let name = format!("foreign-{snapshot_id}-{spec}-{deletes}.avro");
        let location = folder.join(&name).unwrap();
        let spec = ManifestSpec {
            format_version: document.format_version(),
            schema: document.current_schema().unwrap(),
            spec: document.spec(spec).unwrap(),
            content: match deletes {
                true => ManifestContent::Deletes,
                false => ManifestContent::Data,
            },
            snapshot_id,
        };
        let (bytes, manifest) = write_manifest(&spec, location.as_str(), &entries).unwrap();
        files.put(&location, bytes).await.unwrap();
        manifests.push(manifest);
    }
    if let Some(list) = table.snapshot().and_then(|s| s.manifest_list.as_ref()) {
        let bytes = files.get(&files.resolve(list).unwrap()).await.unwrap();
        manifests.extend(read_manifest_list(&bytes).unwrap());
    }
    let spec = ListSpec {
        format_version: document.format_version(),
        snapshot_id,
        parent_snapshot_id: parent,
        sequence_number: sequence,
        next_row_id: document.next_row_id(),
    };
    let list = folder.join(&format!("foreign-{snapshot_id}.avro")).unwrap();
    let written = write_manifest_list(&spec, &manifests).unwrap();
    files.put(&list, written.bytes).await.unwrap();
    let mut snapshot = json!({
        "snapshot-id": snapshot_id,
        "sequence-number": sequence,
        "timestamp-ms": document.last_updated_ms(),
        "manifest-list": list.as_str(),
        "schema-id": document.current_schema().unwrap().schema_id,
        "summary": {"operation": "overwrite"},
    });
    if let Some(parent) = parent {
        snapshot["parent-snapshot-id"] = parent.into();
    }
    if let Some(next) = document.next_row_id() {
        snapshot["first-row-id"] = next.into();
        snapshot["added-rows"] = written.added_rows.into();
        metadata["next-row-id"] = (next + written.added_rows).into();
    }
    metadata["snapshots"].as_array_mut().unwrap().push(snapshot);
    metadata["current-snapshot-id"] = snapshot_id.into();
    metadata["refs"]["main"] = json!({"snapshot-id": snapshot_id, "type": "branch"});
    metadata["last-sequence-number"] = sequence.into();
    publish(table, &metadata).await
}

/// Puts the next version of the metadata.
async fn publish(table: &Table, metadata: &Json) -> Table {
    let current = table.metadata_location().name();
    let version = &current["v".len()..current.find('.').unwrap()];
    let next = format!("v{}.metadata.json", version.parse::<u64>().unwrap() + 1);
    let folder = table.location().join("metadata").unwrap();
    let bytes = serde_json::to_vec(metadata).unwrap();
    let location = folder.join(&next).unwrap();
    files(table).put(&location, bytes.into()).await.unwrap();
    let table = table.refresh().await.unwrap();
    assert_eq!(table.metadata_location().name(), next);
    table
}

/// Makes the table one of format version 3.
pub fn upgrade(metadata: &mut Json) {
    metadata["format-version"] = 3.into();
    metadata["next-row-id"] = 0.into();
}

/// Gives the table these columns.
pub fn set_columns(metadata: &mut Json, fields: Json) {
    let schemas = metadata["schemas"].as_array_mut().unwrap();
    let id = schemas.len();
    schemas.push(json!({"type": "struct", "schema-id": id, "fields": fields}));
    metadata["current-schema-id"] = id.into();
    metadata["last-column-id"] = 100.into();
}

/// The paths of the data files in the order of a column of longs.
pub async fn paths(table: &Table, column: i32) -> Vec<String> {
    let request = ScanRequest {
        projection: Some(vec![column, reserved::FILE]),
        ..ScanRequest::default()
    };
    let found = read(table, &request).await.unwrap();
    let keys = found
        .column(0)
        .as_primitive::<arrow::datatypes::Int64Type>();
    let files = found.column(1).as_string::<i32>();
    let mut first: BTreeMap<&str, i64> = BTreeMap::new();
    for (key, file) in keys.iter().zip(files) {
        let least = first.entry(file.unwrap()).or_insert(i64::MAX);
        *least = key.map_or(*least, |key| key.min(*least));
    }
    let mut paths: Vec<_> = first.into_iter().collect();
    paths.sort_by_key(|(_, key)| *key);
    paths.into_iter().map(|(path, _)| path.to_owned()).collect()
}
