//! Creating and dropping tables, and the two convenience writes of the embedded API. A drop removes what
//! the metadata references below the table's location and our own folders, nothing else.

use std::collections::{BTreeMap, BTreeSet};

use arrow::array::RecordBatch;
use arrow::datatypes::Schema as ArrowSchema;
use bytes::Bytes;
use uuid::Uuid;

use super::{
    CommitMessage, CommitOperation, CommitOutcome, CommitRequest, Environment, Table,
    dimension_property,
};
use crate::catalog::TableRef;
use crate::clock;
use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::document::{Document, NewTable};
use crate::iceberg::schema::{self, Schema};
use crate::iceberg::spec::PartitionSpec;
use crate::storage::Location;

impl Table {
    /// Creates an empty table of format version 2. Errors: AlreadyExists; InvalidInput for duplicate or unknown columns types.
    pub async fn create(
        environment: &Environment,
        reference: &TableRef,
        columns: &ArrowSchema,
        properties: &BTreeMap<String, String>,
    ) -> Result<Table> {
        let (schema, _) = Schema::from_arrow(columns, 1)?;
        let mut properties = properties.clone();
        for (column, dimension) in schema::vector_dimensions(columns) {
            properties
                .entry(dimension_property(&column))
                .or_insert_with(|| dimension.to_string());
        }
        if let Some(version) = properties.remove("format-version")
            && version != "2"
        {
            return Err(Error::unsupported(format!(
                "creating tables of format version {version}"
            )));
        }
        let location = environment.catalog().new_table_location(reference).await?;
        let document = Document::create(&NewTable {
            table_uuid: Uuid::new_v4(),
            location: location.to_string(),
            schema,
            spec: PartitionSpec::unpartitioned(),
            properties,
            now_ms: clock::now_ms(),
        })?;
        super::overlay_location(environment, &location, &document)?;
        let head = environment
            .catalog()
            .create_table(reference, Bytes::from(document.to_bytes()))
            .await?;
        Table::from_head(environment, reference, head)
    }

    /// Appends rows in one commit.
    pub async fn append(&self, batches: &[RecordBatch]) -> Result<CommitOutcome> {
        self.write(batches, CommitOperation::Append).await
    }

    /// Replaces all rows in one commit.
    pub async fn overwrite(&self, batches: &[RecordBatch]) -> Result<CommitOutcome> {
        self.write(batches, CommitOperation::Overwrite).await
    }

    async fn write(
        &self,
        batches: &[RecordBatch],
        operation: CommitOperation,
    ) -> Result<CommitOutcome> {
        let mut writer = self.writer()?;
        for batch in batches {
            if let Err(error) = writer.write(batch).await {
                writer.abort().await;
                return Err(error);
            }
        }
        let messages = vec![writer.finish().await?];
        self.commit(&CommitRequest {
            operation,
            messages,
            base_snapshot: self.snapshot_id(),
        })
        .await
    }

    /// Drops the table: the catalog entry first, then the files. Returns what was left because it lies elsewhere.
    pub async fn drop(&self) -> Result<Vec<String>> {
        self.check_newest()?;
        let (files, foreign) = self.owned_files().await?;
        self.environment()
            .catalog()
            .drop_table_entry(self.head())
            .await?;
        for location in files {
            // The table is gone; a file that cannot be removed is an orphan, not a failed drop.
            let _ = self.files().delete(&location).await;
        }
        for folder in ["_overlay", "_wal", "_staging"] {
            let root = self.location().join(folder)?;
            for (location, _) in self.files().reader().list(&root).await.unwrap_or_default() {
                let _ = self.files().delete(&location).await;
            }
        }
        let _ = self.files().remove_empty_directories(self.location()).await;
        Ok(foreign)
    }

    /// Deletes what tasks wrote for a commit that does not happen. What a retained snapshot references, or lies
    /// elsewhere, stays; a file that cannot be removed is an orphan.
    pub async fn discard(&self, messages: &[CommitMessage]) -> Result<()> {
        let referenced = match self.refresh().await {
            Ok(newest) => newest.owned_files().await?.0,
            Err(error) if error.kind() == ErrorKind::NotFound => BTreeSet::new(),
            Err(error) => return Err(error),
        };
        let data = self.location().join("data")?;
        for message in messages.iter().filter(|m| m.table_uuid == self.uuid()) {
            for file in message.data_files.iter().chain(&message.delete_files) {
                let location = self.files().resolve(&file.path)?;
                if location.is_within(&data) && !referenced.contains(&location) {
                    let _ = self.files().delete(&location).await;
                }
            }
        }
        Ok(())
    }

    /// Every file that any retained snapshot references: those below the location, and the paths elsewhere.
    async fn owned_files(&self) -> Result<(BTreeSet<Location>, Vec<String>)> {
        let mut paths = BTreeSet::new();
        let current = self.snapshot_id();
        for snapshot in self.document().snapshots() {
            paths.extend(snapshot.manifest_list.clone());
            let Some(list) = &snapshot.manifest_list else {
                continue;
            };
            let Ok(location) = self.files().resolve(list) else {
                continue;
            };
            let bytes = self.manifest_bytes(&location).await?;
            for manifest in crate::iceberg::manifest::read_manifest_list(&bytes)? {
                if paths.insert(manifest.path.clone()) || Some(snapshot.snapshot_id) == current {
                    paths.extend(
                        self.manifest_entries(&manifest)
                            .await?
                            .into_iter()
                            .map(|e| e.data_file.path),
                    );
                }
            }
        }
        let mut own = BTreeSet::new();
        let mut foreign = Vec::new();
        for path in paths {
            match self.files().resolve(&path) {
                Ok(location) if location.is_within(self.location()) => {
                    own.insert(location);
                }
                _ => foreign.push(path),
            }
        }
        Ok((own, foreign))
    }
}
