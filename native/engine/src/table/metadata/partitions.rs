//! The metadata table partitions: files and rows of the snapshot by partition, over all partition specs.

use std::collections::BTreeMap;

use super::super::Table;
use super::cell::{Cell, Row};
use super::files::partition_cells;
use super::schema::partition_fields;
use crate::error::Result;
use crate::iceberg::manifest::{DataContent, Entry};

#[derive(Default)]
struct Partition {
    values: Vec<Cell>,
    spec_id: i32,
    records: u64,
    files: u64,
    bytes: u64,
    position_deletes: u64,
    position_delete_files: u64,
    equality_deletes: u64,
    equality_delete_files: u64,
    /// Time, sequence number and id of the newest snapshot that added one of the files.
    updated: Option<(i64, i64, i64)>,
}

pub(super) async fn rows(table: &Table) -> Result<Vec<Row>> {
    let fields = partition_fields(table.document());
    let mut partitions: BTreeMap<String, Partition> = BTreeMap::new();
    if fields.is_empty() {
        // A table without partitions has one row, whatever it holds.
        partitions.insert("[]".to_string(), Partition::default());
    }
    for manifest in table.manifests().await? {
        let entries = table.manifest_entries(&manifest).await?;
        for entry in entries.iter().filter(|entry| entry.is_live()) {
            let values = partition_cells(&entry.data_file, &fields)?;
            let partition = partitions.entry(format!("{values:?}")).or_default();
            partition.values = values;
            partition.add(table, entry);
        }
    }
    let partitioned = !fields.is_empty();
    Ok(partitions
        .into_values()
        .map(|p| p.row(partitioned))
        .collect())
}

impl Partition {
    fn add(&mut self, table: &Table, entry: &Entry) {
        let file = &entry.data_file;
        self.spec_id = file.spec_id;
        match file.content {
            DataContent::Data => {
                self.records += file.record_count;
                self.files += 1;
                self.bytes += file.file_size_in_bytes;
            }
            DataContent::PositionDeletes => {
                self.position_deletes += file.record_count;
                self.position_delete_files += 1;
            }
            DataContent::EqualityDeletes => {
                self.equality_deletes += file.record_count;
                self.equality_delete_files += 1;
            }
        }
        let snapshot = entry
            .snapshot_id
            .and_then(|id| table.document().snapshot(id));
        let changed = snapshot.map(|s| (s.timestamp_ms, s.sequence_number, s.snapshot_id));
        self.updated = self.updated.max(changed);
    }

    fn row(self, partitioned: bool) -> Row {
        let mut row = Vec::new();
        if partitioned {
            row.push(Cell::Struct(self.values));
            row.push(Cell::int(self.spec_id));
        }
        row.extend([
            Cell::long(self.records),
            Cell::int(self.files),
            Cell::long(self.bytes),
            Cell::long(self.position_deletes),
            Cell::int(self.position_delete_files),
            Cell::long(self.equality_deletes),
            Cell::int(self.equality_delete_files),
            self.updated
                .map_or(Cell::Null, |(time, ..)| Cell::time(time)),
            self.updated.map(|(.., id)| id).into(),
        ]);
        row
    }
}
