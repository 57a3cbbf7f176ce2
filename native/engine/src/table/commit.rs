//! The only place that publishes a snapshot (L3). Appends are rebased on whatever is newest; a row delta
//! or an overwrite whose base is no longer current is a Conflict. Files named by a commit whose outcome is
//! unknown are never deleted.

use std::collections::HashMap;
use std::time::Duration;

use bytes::Bytes;
use uuid::Uuid;

use super::writer::CommitMessage;
use super::{Table, live_files};
use crate::clock;
use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::document::{Commit, Document, Update};
use crate::iceberg::manifest::{
    DataContent, Entry, ListSpec, ManifestContent, ManifestFile, ManifestSpec, write_manifest,
    write_manifest_list,
};
use crate::iceberg::snapshot::{Snapshot, SummaryDelta};
use crate::storage::Location;

/// Attempts of a commit before a Conflict is given up, where `commit.retry.num-retries` says nothing. Iceberg's 4 are
/// too few for eight writers of one table.
const DEFAULT_RETRIES: u32 = 20;
const FIRST_WAIT_MS: u64 = 50;
const MAX_RETRIES: u32 = 100;

/// What a commit does with the table's present rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommitOperation {
    /// Adds files; never conflicts.
    Append,
    /// Removes all present rows, then adds files.
    Overwrite,
    /// Adds files and position deletes; conflicts if the base is no longer current.
    RowDelta,
}

/// A commit of what one or several tasks wrote.
#[derive(Clone, Debug)]
pub struct CommitRequest {
    /// What to do.
    pub operation: CommitOperation,
    /// The tasks' messages; only what they name becomes visible.
    pub messages: Vec<CommitMessage>,
    /// The snapshot that was read; None: the table had none. Not used by appends.
    pub base_snapshot: Option<i64>,
}

/// What a commit did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitOutcome {
    /// The new snapshot; None if there was nothing to publish.
    pub snapshot_id: Option<i64>,
    /// Rows added.
    pub added_rows: u64,
    /// Rows deleted by position or with their file.
    pub deleted_rows: u64,
}

impl Table {
    /// Publishes one snapshot. Errors: Conflict (nothing is visible), CommitUnknown (it may be visible, keep all
    /// files), InvalidInput for messages of another table.
    pub async fn commit(&self, request: &CommitRequest) -> Result<CommitOutcome> {
        self.check_writable()?;
        self.check_messages(request)?;
        let nothing = request
            .messages
            .iter()
            .all(|m| m.data_files.is_empty() && m.delete_files.is_empty());
        if nothing && request.operation != CommitOperation::Overwrite {
            return Ok(CommitOutcome {
                snapshot_id: None,
                added_rows: 0,
                deleted_rows: 0,
            });
        }
        let retries = self
            .properties()
            .get("commit.retry.num-retries")
            .and_then(|v| v.parse().ok())
            .unwrap_or(DEFAULT_RETRIES)
            .min(MAX_RETRIES);
        let mut attempt = 0;
        let mut base = self.refresh().await?;
        loop {
            base.check_base(request)?;
            match base.try_commit(request).await {
                Err(error) if error.kind() == ErrorKind::Conflict && attempt < retries => {
                    attempt += 1;
                    tokio::time::sleep(Duration::from_millis(jitter(
                        FIRST_WAIT_MS * u64::from(attempt),
                    )))
                    .await;
                    base = base.refresh().await?;
                }
                outcome => return outcome,
            }
        }
    }

    fn check_messages(&self, request: &CommitRequest) -> Result<()> {
        for message in &request.messages {
            if message.table_uuid != self.uuid() {
                return Err(Error::invalid_input(format!(
                    "a commit message belongs to table {}, not to {}",
                    message.table_uuid,
                    self.uuid()
                )));
            }
            for file in message.data_files.iter().chain(&message.delete_files) {
                let location = self.files().resolve(&file.path)?;
                let data = self.location().join("data")?;
                if location.relative_to(&data).is_none() {
                    return Err(Error::permission_denied(format!(
                        "commit message names {} outside {data}",
                        file.path
                    )));
                }
            }
        }
        Ok(())
    }

    async fn try_commit(&self, request: &CommitRequest) -> Result<CommitOutcome> {
        let mut draft = Draft::new(self)?;
        for message in &request.messages {
            for (name, dimension) in &message.dimensions {
                let declared = self.dimension(name)?;
                if declared.is_some_and(|d| d != *dimension) {
                    return Err(Error::conflict(format!(
                        "column {name} was written with dimension {dimension}, the table declares another one now"
                    )));
                }
            }
            draft.add_message(message);
        }
        if request.operation == CommitOperation::RowDelta {
            self.check_referenced(request).await?;
        }
        let result = draft.publish(self, request.operation).await;
        match result {
            Ok(outcome) => Ok(outcome),
            Err(error) => {
                if error.kind() != ErrorKind::CommitUnknown {
                    draft.discard(self).await;
                }
                Err(error)
            }
        }
    }

    /// Rows that were read at another snapshot than the present one cannot be replaced; an append reads none.
    fn check_base(&self, request: &CommitRequest) -> Result<()> {
        let (current, base) = (self.snapshot_id(), request.base_snapshot);
        if request.operation == CommitOperation::Append || current == base {
            return Ok(());
        }
        let show = |id: Option<i64>| id.map_or_else(|| "none".to_string(), |id| id.to_string());
        Err(Error::conflict(format!(
            "table {} moved from snapshot {} to {} since it was read; run the statement again",
            self.name(),
            show(base),
            show(current)
        )))
    }

    async fn check_referenced(&self, request: &CommitRequest) -> Result<()> {
        let live = live_files(self).await?;
        let specs: HashMap<&str, i32> = live
            .iter()
            .map(|(file, entry)| (file.task.path.as_str(), entry.data_file.spec_id))
            .collect();
        let own = self.document().default_spec()?.spec_id;
        for path in request.messages.iter().flat_map(|m| &m.referenced_files) {
            match specs.get(path.as_str()) {
                None => {
                    return Err(Error::conflict(format!(
                        "data file {path} is no longer part of table {}",
                        self.name()
                    )));
                }
                // A delete file of another spec than its data file's reaches no row of it.
                Some(spec) if *spec != own => {
                    return Err(Error::unsupported(format!(
                        "deleting rows of data file {path}, which has an earlier partition spec"
                    )));
                }
                Some(_) => {}
            }
        }
        Ok(())
    }
}

/// Half to all of the wait, by the random bits of a fresh UUID.
fn jitter(wait_ms: u64) -> u64 {
    let random = Uuid::new_v4().as_u64_pair().0;
    wait_ms / 2 + random % (wait_ms / 2 + 1)
}

/// A snapshot in the making: ids, files written for it, and its summary.
struct Draft {
    snapshot_id: i64,
    commit_id: Uuid,
    data: Vec<Entry>,
    deletes: Vec<Entry>,
    delta: SummaryDelta,
    written: Vec<Location>,
}

impl Draft {
    fn new(table: &Table) -> Result<Draft> {
        let snapshot_id = table
            .document()
            .unused_snapshot_id(|| Uuid::new_v4().as_u64_pair().0);
        Ok(Draft {
            snapshot_id,
            commit_id: Uuid::new_v4(),
            data: Vec::new(),
            deletes: Vec::new(),
            delta: SummaryDelta::default(),
            written: Vec::new(),
        })
    }

    fn add_message(&mut self, message: &CommitMessage) {
        for file in &message.data_files {
            self.delta.added_data_files += 1;
            self.delta.added_records += file.record_count;
            self.delta.added_files_size += file.file_size_in_bytes;
            self.data.push(Entry::added(self.snapshot_id, file.clone()));
        }
        for file in &message.delete_files {
            self.delta.added_delete_files += 1;
            self.delta.added_position_deletes += file.record_count;
            self.delta.added_files_size += file.file_size_in_bytes;
            self.deletes
                .push(Entry::added(self.snapshot_id, file.clone()));
        }
    }

    async fn publish(
        &mut self,
        table: &Table,
        operation: CommitOperation,
    ) -> Result<CommitOutcome> {
        let document = table.document();
        let parent = table.snapshot();
        let manifests = self.write_manifests(table, operation).await?;
        let added_rows = self.delta.added_records;
        if operation == CommitOperation::Overwrite
            && added_rows == 0
            && self.delta.deleted_data_files == 0
        {
            return Ok(CommitOutcome {
                snapshot_id: None,
                added_rows: 0,
                deleted_rows: 0,
            });
        }
        let last = document.last_sequence_number();
        let sequence_number = last.checked_add(1).ok_or_else(|| {
            Error::corrupt(format!(
                "last-sequence-number {last} of table {} leaves none",
                table.name()
            ))
        })?;
        let list = self.new_location(
            table,
            &format!("snap-{}-1-{}.avro", self.snapshot_id, self.commit_id),
        )?;
        let spec = ListSpec {
            format_version: document.format_version(),
            snapshot_id: self.snapshot_id,
            parent_snapshot_id: parent.map(|s| s.snapshot_id),
            sequence_number,
            next_row_id: document.next_row_id(),
        };
        table
            .files()
            .put(&list, write_manifest_list(&spec, &manifests)?.bytes)
            .await?;
        let deleted_rows = self.delta.deleted_records + self.delta.added_position_deletes;
        let snapshot = Snapshot {
            snapshot_id: self.snapshot_id,
            parent_snapshot_id: parent.map(|s| s.snapshot_id),
            sequence_number,
            timestamp_ms: clock::now_ms().max(document.last_updated_ms()),
            manifest_list: Some(list.to_string()),
            manifests: Vec::new(),
            summary: self.delta.summary(self.operation_name(operation), parent),
            schema_id: Some(table.schema()?.schema_id),
            first_row_id: None,
            added_rows: None,
        };
        let next = table.change(&[Update::AddSnapshot(snapshot)])?;
        table.swap(&next).await?;
        Ok(CommitOutcome {
            snapshot_id: Some(self.snapshot_id),
            added_rows,
            deleted_rows,
        })
    }

    /// The manifests of the new snapshot: those of its own entries, then those that it keeps.
    async fn write_manifests(
        &mut self,
        table: &Table,
        operation: CommitOperation,
    ) -> Result<Vec<ManifestFile>> {
        let mut manifests = Vec::new();
        let (data, deletes) = (
            std::mem::take(&mut self.data),
            std::mem::take(&mut self.deletes),
        );
        for (content, entries) in [
            (ManifestContent::Data, data),
            (ManifestContent::Deletes, deletes),
        ] {
            if !entries.is_empty() {
                manifests.push(self.write_manifest(table, content, &entries).await?);
            }
        }
        match operation {
            CommitOperation::Overwrite => manifests.extend(self.remove_all(table).await?),
            CommitOperation::Append | CommitOperation::RowDelta => {
                manifests.extend(table.manifests().await?)
            }
        }
        Ok(manifests)
    }

    fn operation_name(&self, operation: CommitOperation) -> &'static str {
        match operation {
            CommitOperation::Append => "append",
            CommitOperation::Overwrite if self.delta.added_data_files == 0 => "delete",
            CommitOperation::RowDelta if self.delta.added_data_files == 0 => "delete",
            CommitOperation::Overwrite | CommitOperation::RowDelta => "overwrite",
        }
    }

    /// Manifests that mark every live file as deleted by this snapshot.
    async fn remove_all(&mut self, table: &Table) -> Result<Vec<ManifestFile>> {
        let mut manifests = Vec::new();
        for manifest in table.manifests().await? {
            let entries = table.manifest_entries(&manifest).await?;
            let removed: Vec<Entry> = entries
                .into_iter()
                .filter(Entry::is_live)
                .map(|e| e.into_deleted(self.snapshot_id))
                .collect();
            for entry in &removed {
                self.count_removed(manifest.content, entry);
            }
            if !removed.is_empty() {
                manifests.push(
                    self.write_manifest(table, manifest.content, &removed)
                        .await?,
                );
            }
        }
        Ok(manifests)
    }

    fn count_removed(&mut self, content: ManifestContent, entry: &Entry) {
        self.delta.removed_files_size += entry.data_file.file_size_in_bytes;
        match content {
            ManifestContent::Data => {
                self.delta.deleted_data_files += 1;
                self.delta.deleted_records += entry.data_file.record_count;
            }
            ManifestContent::Deletes => {
                self.delta.removed_delete_files += 1;
                let removed = match entry.data_file.content {
                    DataContent::EqualityDeletes => &mut self.delta.removed_equality_deletes,
                    _ => &mut self.delta.removed_position_deletes,
                };
                *removed += entry.data_file.record_count;
            }
        }
    }

    async fn write_manifest(
        &mut self,
        table: &Table,
        content: ManifestContent,
        entries: &[Entry],
    ) -> Result<ManifestFile> {
        let document = table.document();
        let number = self.written.len();
        let location = self.new_location(table, &format!("{}-m{number}.avro", self.commit_id))?;
        let spec = ManifestSpec {
            format_version: document.format_version(),
            schema: table.schema()?,
            spec: document.default_spec()?,
            content,
            snapshot_id: self.snapshot_id,
        };
        let (bytes, manifest) = write_manifest(&spec, location.as_str(), entries)?;
        table.files().put(&location, bytes).await?;
        Ok(manifest)
    }

    fn new_location(&mut self, table: &Table, name: &str) -> Result<Location> {
        let location = table.location().join("metadata")?.join(name)?;
        self.written.push(location.clone());
        Ok(location)
    }

    /// Removes the metadata files of a commit that certainly did not land.
    async fn discard(&self, table: &Table) {
        for location in &self.written {
            // An orphan costs a little space; the error that brought us here matters more.
            let _ = table.files().delete(location).await;
        }
    }
}

impl Table {
    /// The document after a change of this table.
    pub(crate) fn change(&self, updates: &[Update]) -> Result<Document> {
        let previous = self.metadata_location().to_string();
        self.document().apply(
            updates,
            Commit {
                previous_file: &previous,
                now_ms: clock::now_ms(),
            },
        )
    }

    /// Publishes a changed document on top of this table's head.
    pub(crate) async fn swap(&self, next: &Document) -> Result<Table> {
        super::overlay_location(self.environment(), self.location(), next)?;
        let head = self
            .environment()
            .catalog()
            .swap(self.head(), Bytes::from(next.to_bytes()))
            .await?;
        Table::from_head(self.environment(), self.reference(), head)
    }

    /// Sets and removes table properties. Errors: Conflict if somebody else committed first.
    pub async fn set_properties(
        &self,
        set: &[(String, String)],
        remove: &[String],
    ) -> Result<Table> {
        self.check_writable()?;
        let mut updates = Vec::new();
        if !set.is_empty() {
            updates.push(Update::SetProperties(set.iter().cloned().collect()));
        }
        if !remove.is_empty() {
            updates.push(Update::RemoveProperties(remove.to_vec()));
        }
        let next = self.change(&updates)?;
        self.swap(&next).await
    }
}
