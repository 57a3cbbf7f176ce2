//! The metadata tables of files and of manifest entries, read manifest by manifest.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::array::RecordBatch;
use futures::{StreamExt as _, TryStreamExt as _};

use super::super::{BATCH_ROWS, Batches, Table};
use super::MetadataKind::{self, *};
use super::MetadataTable;
use super::cell::{Cell, Row, batch};
use super::schema::partition_fields;
use crate::error::{Error, Result};
use crate::iceberg::manifest::{
    BoundMap, CountMap, DataContent, DataFile, Entry, EntryStatus, ManifestContent, ManifestFile,
};
use crate::iceberg::schema::Field;
use crate::iceberg::value::Value;

/// How many manifests are read at once.
const MANIFESTS_AHEAD: usize = 4;

/// The rows of a metadata table of files or entries.
pub(super) async fn scan(table: &MetadataTable, kind: MetadataKind) -> Result<Batches> {
    let all = matches!(kind, AllFiles | AllDataFiles | AllDeleteFiles | AllEntries);
    let mut manifests = match all {
        true => every_manifest(&table.table).await?,
        false => table.table.manifests().await?,
    };
    manifests.retain(|manifest| match kind {
        DataFiles | AllDataFiles => manifest.content == ManifestContent::Data,
        DeleteFiles | AllDeleteFiles => manifest.content == ManifestContent::Deletes,
        _ => true,
    });
    let table = Arc::new(table.clone());
    let partition: Arc<[Field]> = partition_fields(table.table.document()).into();
    let as_entries = matches!(kind, Entries | AllEntries);
    let batches = futures::stream::iter(manifests)
        .map(move |manifest| {
            let (table, partition) = (Arc::clone(&table), Arc::clone(&partition));
            async move { of_manifest(&table, &manifest, &partition, as_entries).await }
        })
        .buffered(MANIFESTS_AHEAD)
        .map_ok(|batches| futures::stream::iter(batches.into_iter().map(Ok)))
        .try_flatten();
    Ok(batches.boxed())
}

/// Every manifest that a snapshot of the table lists, once.
async fn every_manifest(table: &Table) -> Result<Vec<ManifestFile>> {
    let (mut seen, mut found) = (BTreeSet::new(), Vec::new());
    for snapshot in table.document().snapshots() {
        let then = table.at_snapshot(snapshot.snapshot_id)?;
        for manifest in then.manifests().await? {
            if seen.insert(manifest.path.clone()) {
                found.push(manifest);
            }
        }
    }
    Ok(found)
}

async fn of_manifest(
    table: &MetadataTable,
    manifest: &ManifestFile,
    partition: &[Field],
    as_entries: bool,
) -> Result<Vec<RecordBatch>> {
    let entries = table.table.manifest_entries(manifest).await?;
    let rows: Vec<Row> = entries
        .iter()
        .filter(|entry| as_entries || entry.is_live())
        .map(|entry| match as_entries {
            true => entry_row(entry, partition),
            false => file_row(&entry.data_file, partition),
        })
        .collect::<Result<_>>()?;
    rows.chunks(BATCH_ROWS)
        .map(|rows| batch(&table.schema, &table.arrow_schema, rows))
        .collect()
}

fn entry_row(entry: &Entry, partition: &[Field]) -> Result<Row> {
    let status = match entry.status {
        EntryStatus::Existing => 0,
        EntryStatus::Added => 1,
        EntryStatus::Deleted => 2,
    };
    Ok(vec![
        Cell::int(status),
        entry.snapshot_id.into(),
        entry.sequence_number.into(),
        entry.file_sequence_number.into(),
        Cell::Struct(file_row(&entry.data_file, partition)?),
    ])
}

fn file_row(file: &DataFile, partition: &[Field]) -> Result<Row> {
    let content = match file.content {
        DataContent::Data => 0,
        DataContent::PositionDeletes => 1,
        DataContent::EqualityDeletes => 2,
    };
    let mut row = vec![
        Cell::int(content),
        Cell::text(&file.path),
        Cell::text(file.format.name()),
        Cell::int(file.spec_id),
    ];
    if !partition.is_empty() {
        row.push(Cell::Struct(partition_cells(file, partition)?));
    }
    let longs = |values: &Vec<i64>| Cell::List(values.iter().map(|v| Cell::long(*v)).collect());
    let ints = |values: &Vec<i32>| Cell::List(values.iter().map(|v| Cell::int(*v)).collect());
    row.extend([
        Cell::long(file.record_count),
        Cell::long(file.file_size_in_bytes),
        counts(&file.column_sizes),
        counts(&file.value_counts),
        counts(&file.null_value_counts),
        counts(&file.nan_value_counts),
        bounds(&file.lower_bounds),
        bounds(&file.upper_bounds),
        file.key_metadata.clone().into(),
        file.split_offsets.as_ref().map_or(Cell::Null, longs),
        file.equality_ids.as_ref().map_or(Cell::Null, ints),
        file.sort_order_id.into(),
        file.first_row_id.into(),
        file.referenced_data_file.clone().into(),
        file.content_offset.into(),
        file.content_size_in_bytes.into(),
    ]);
    Ok(row)
}

/// The file's partition in the type that holds those of all specs. Errors: Corrupt for a value of another type.
pub(super) fn partition_cells(file: &DataFile, partition: &[Field]) -> Result<Vec<Cell>> {
    let cell = |field: &Field| {
        let stored = file.partition.iter().find(|(id, _)| *id == field.id);
        match stored.and_then(|(_, value)| value.as_ref()) {
            None => Ok(Cell::Null),
            Some(value) => value.to_value(&field.ty).map(Cell::Value).ok_or_else(|| {
                Error::corrupt(format!(
                    "the partition value of '{}' is no {}",
                    field.name, field.ty
                ))
                .with("file", &file.path)
            }),
        }
    };
    partition.iter().map(cell).collect()
}

fn counts(counts: &CountMap) -> Cell {
    if counts.is_unknown() {
        return Cell::Null;
    }
    let pairs = counts.iter().map(|(id, n)| (Cell::int(id), Cell::long(n)));
    Cell::Map(pairs.collect())
}

fn bounds(bounds: &BoundMap) -> Cell {
    if bounds.is_unknown() {
        return Cell::Null;
    }
    let pairs = bounds.iter();
    let pairs = pairs.map(|(id, bytes)| (Cell::int(id), Cell::Value(Value::Binary(bytes))));
    Cell::Map(pairs.collect())
}
