//! Changes to table metadata. What every commit must keep up (time, logs, sequence numbers) is kept
//! up here and nowhere else.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

use super::raw::Keys;
use super::{Document, MAIN_BRANCH};
use crate::error::{Error, Result};
use crate::iceberg::schema::{MAX_FIELD_ID, Schema};
use crate::iceberg::snapshot::Snapshot;

/// The default of `write.metadata.previous-versions-max`.
const PREVIOUS_VERSIONS: usize = 100;

/// One change.
#[derive(Clone, Debug)]
pub enum Update {
    /// Adds a snapshot and makes it the head of `main`.
    AddSnapshot(Snapshot),
    /// Sets table properties.
    SetProperties(BTreeMap<String, String>),
    /// Removes table properties; absent ones are no error.
    RemoveProperties(Vec<String>),
    /// Adds a schema (its id is assigned here) and makes it current.
    AddSchema(Schema),
}

/// When a change is made, and to which file.
#[derive(Clone, Copy, Debug)]
pub struct Commit<'a> {
    /// The location of the metadata file that the change is based on.
    pub previous_file: &'a str,
    /// The present time.
    pub now_ms: i64,
}

impl Document {
    /// The document after `updates`. Keys that no update names stay byte for byte.
    /// Errors: Internal for a snapshot that does not follow the head; InvalidInput for a bad schema.
    pub fn apply(&self, updates: &[Update], commit: Commit<'_>) -> Result<Document> {
        let mut keys = self.keys.clone();
        let mut time = commit.now_ms.max(self.last_updated_ms);
        for update in updates {
            match update {
                Update::AddSnapshot(snapshot) => {
                    time = time.max(snapshot.timestamp_ms);
                    self.add_snapshot(&mut keys, snapshot)?;
                }
                Update::SetProperties(properties) => {
                    let mut child = keys.child("properties")?;
                    properties
                        .iter()
                        .try_for_each(|(k, v)| child.set(k, &Json::from(v.as_str())))?;
                    keys.set_child("properties", &child)?;
                }
                Update::RemoveProperties(names) => {
                    let mut child = keys.child("properties")?;
                    names.iter().for_each(|name| child.remove(name));
                    keys.set_child("properties", &child)?;
                }
                Update::AddSchema(schema) => self.add_schema(&mut keys, schema)?,
            }
        }
        keys.set("last-updated-ms", &time.into())?;
        let entry =
            json!({"timestamp-ms": self.last_updated_ms, "metadata-file": commit.previous_file});
        keys.push("metadata-log", &entry, self.previous_versions())?;
        Document::from_keys(keys)
    }

    /// How many earlier metadata files the log names.
    fn previous_versions(&self) -> usize {
        let set = self.properties.get("write.metadata.previous-versions-max");
        set.and_then(|n| n.parse::<usize>().ok())
            .unwrap_or(PREVIOUS_VERSIONS)
            .max(1)
    }

    fn add_snapshot(&self, keys: &mut Keys, snapshot: &Snapshot) -> Result<()> {
        let id = snapshot.snapshot_id;
        if id <= 0 || self.snapshot(id).is_some() {
            return Err(Error::internal(format!(
                "snapshot id {id} is taken or not positive"
            )));
        }
        if snapshot.parent_snapshot_id != self.current_snapshot_id {
            return Err(Error::internal(format!(
                "snapshot {id} does not follow the current snapshot"
            )));
        }
        if self.format_version > 1 {
            if snapshot.sequence_number <= self.last_sequence_number {
                let (new, last) = (snapshot.sequence_number, self.last_sequence_number);
                return Err(Error::internal(format!(
                    "sequence number {new} is not above {last}"
                )));
            }
            keys.set("last-sequence-number", &snapshot.sequence_number.into())?;
        }
        if self.format_version > 2 {
            let (Some(first), Some(rows)) = (snapshot.first_row_id, snapshot.added_rows) else {
                return Err(Error::internal(format!("snapshot {id} has no row ids")));
            };
            let next = self.next_row_id.unwrap_or(0);
            if first != next || rows < 0 {
                return Err(Error::internal(format!(
                    "snapshot {id} starts at row id {first}, not {next}"
                )));
            }
            let next = next
                .checked_add(rows)
                .ok_or_else(|| Error::resource_exhausted("the table has no row ids left"))?;
            keys.set("next-row-id", &next.into())?;
        }
        keys.push(
            "snapshots",
            &snapshot.to_json(self.format_version),
            usize::MAX,
        )?;
        keys.set("current-snapshot-id", &id.into())?;
        let mut refs = keys.child("refs")?;
        let mut main = refs.child(MAIN_BRANCH)?;
        main.set("snapshot-id", &id.into())?;
        main.set("type", &"branch".into())?;
        refs.set_child(MAIN_BRANCH, &main)?;
        keys.set_child("refs", &refs)?;
        keys.push(
            "snapshot-log",
            &json!({"timestamp-ms": snapshot.timestamp_ms, "snapshot-id": id}),
            usize::MAX,
        )
    }

    fn add_schema(&self, keys: &mut Keys, schema: &Schema) -> Result<()> {
        schema.check_names()?;
        if let Some(field) = schema
            .fields
            .iter()
            .find(|f| f.ty.is_read_only() && self.lacks(f.id))
        {
            return Err(Error::unsupported(format!(
                "column '{}' of type {} is not supported",
                field.name, field.ty
            )));
        }
        let highest = schema.highest_field_id();
        if highest > MAX_FIELD_ID {
            return Err(Error::invalid_input(format!(
                "field id {highest} is reserved"
            )));
        }
        let mut schema = schema.clone();
        schema.schema_id = self
            .schemas
            .iter()
            .map(|s| s.schema_id)
            .max()
            .unwrap_or(0)
            .saturating_add(1);
        if self.raw("schemas").is_none() {
            self.schemas
                .iter()
                .try_for_each(|old| keys.push("schemas", &old.to_json(), usize::MAX))?;
        }
        keys.push("schemas", &schema.to_json(), usize::MAX)?;
        keys.set("current-schema-id", &schema.schema_id.into())?;
        keys.set("last-column-id", &self.last_column_id.max(highest).into())?;
        if self.format_version == 1 {
            keys.set("schema", &schema.to_json())?;
        }
        Ok(())
    }

    fn lacks(&self, field_id: i32) -> bool {
        self.schemas.iter().all(|s| s.field(field_id).is_none())
    }
}
