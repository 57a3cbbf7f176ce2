//! Snapshots: one state of a table each, and the summary that goes with it. Totals in summaries are
//! information for people; no result may depend on them.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json};

use super::json::Object;
use crate::error::Result;

/// One state of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    /// Its id.
    pub snapshot_id: i64,
    /// The snapshot it was made from.
    pub parent_snapshot_id: Option<i64>,
    /// Its place in the order of commits; 0 in V1 tables.
    pub sequence_number: i64,
    /// When it was made.
    pub timestamp_ms: i64,
    /// The location of its manifest list; None only in old V1 tables.
    pub manifest_list: Option<String>,
    /// The locations of its manifests, for V1 snapshots without a manifest list.
    pub manifests: Vec<String>,
    /// What the commit did, `operation` included.
    pub summary: BTreeMap<String, String>,
    /// The schema that was current.
    pub schema_id: Option<i32>,
    /// V3: the first row id of the rows that it added.
    pub first_row_id: Option<i64>,
    /// V3: how many row ids it took.
    pub added_rows: Option<i64>,
}

/// The summary key of the operation.
pub const OPERATION: &str = "operation";

impl Snapshot {
    /// `append`, `overwrite`, `delete` or `replace`; None where the writer left it out.
    pub fn operation(&self) -> Option<&str> {
        self.summary.get(OPERATION).map(String::as_str)
    }

    /// Reads a snapshot object. Errors: Corrupt names the key.
    pub fn from_json(json: &Json) -> Result<Snapshot> {
        let object = Object::new(json, "snapshot")?;
        let manifests = object.opt_array("manifests")?.unwrap_or_default();
        let manifests = manifests
            .iter()
            .map(|m| {
                m.as_str()
                    .map(str::to_owned)
                    .ok_or_else(|| object.wrong("manifests", "a list of strings"))
            })
            .collect::<Result<_>>()?;
        Ok(Snapshot {
            snapshot_id: object.i64("snapshot-id")?,
            parent_snapshot_id: object.opt_i64("parent-snapshot-id")?,
            sequence_number: object.opt_i64("sequence-number")?.unwrap_or(0),
            timestamp_ms: object.i64("timestamp-ms")?,
            manifest_list: object.opt_str("manifest-list")?.map(str::to_owned),
            manifests,
            summary: object.strings("summary")?,
            schema_id: object.opt_i32("schema-id")?,
            first_row_id: object.opt_i64("first-row-id")?,
            added_rows: object.opt_i64("added-rows")?,
        })
    }

    /// The JSON of this snapshot for a table of `format_version`.
    pub fn to_json(&self, format_version: u8) -> Json {
        let mut map = Map::new();
        if format_version > 1 {
            map.insert("sequence-number".into(), self.sequence_number.into());
        }
        map.insert("snapshot-id".into(), self.snapshot_id.into());
        let mut optional = |key: &str, value: Option<Json>| {
            if let Some(value) = value {
                map.insert(key.to_owned(), value);
            }
        };
        optional(
            "parent-snapshot-id",
            self.parent_snapshot_id.map(Json::from),
        );
        optional("timestamp-ms", Some(self.timestamp_ms.into()));
        let summary = self
            .summary
            .iter()
            .map(|(k, v)| (k.clone(), Json::from(v.as_str())))
            .collect();
        optional(
            "summary",
            (!self.summary.is_empty()).then_some(Json::Object(summary)),
        );
        optional(
            "manifest-list",
            self.manifest_list.as_deref().map(Json::from),
        );
        if self.manifest_list.is_none() && !self.manifests.is_empty() {
            optional("manifests", Some(self.manifests.clone().into()));
        }
        optional("schema-id", self.schema_id.map(Json::from));
        if format_version > 2 {
            optional("first-row-id", self.first_row_id.map(Json::from));
            optional("added-rows", self.added_rows.map(Json::from));
        }
        Json::Object(map)
    }
}

/// A named pointer to a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotRef {
    /// Where it points.
    pub snapshot_id: i64,
    /// True for a branch, false for a tag.
    pub is_branch: bool,
}

/// What one commit added and removed, for the summary.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct SummaryDelta {
    pub added_data_files: u64,
    pub deleted_data_files: u64,
    pub added_delete_files: u64,
    pub removed_delete_files: u64,
    pub added_records: u64,
    pub deleted_records: u64,
    pub added_files_size: u64,
    pub removed_files_size: u64,
    pub added_position_deletes: u64,
    pub removed_position_deletes: u64,
    pub added_equality_deletes: u64,
    pub removed_equality_deletes: u64,
}

impl SummaryDelta {
    /// The summary of the new snapshot: its operation, what changed, and running totals from the parent's.
    /// A total that cannot be computed is left out; `parent` None means a table without snapshots.
    pub fn summary(&self, operation: &str, parent: Option<&Snapshot>) -> BTreeMap<String, String> {
        let mut summary = BTreeMap::from([(OPERATION.to_owned(), operation.to_owned())]);
        let changes = [
            ("added-data-files", self.added_data_files),
            ("deleted-data-files", self.deleted_data_files),
            ("added-delete-files", self.added_delete_files),
            ("removed-delete-files", self.removed_delete_files),
            ("added-records", self.added_records),
            ("deleted-records", self.deleted_records),
            ("added-files-size", self.added_files_size),
            ("removed-files-size", self.removed_files_size),
            ("added-position-deletes", self.added_position_deletes),
            ("removed-position-deletes", self.removed_position_deletes),
            ("added-equality-deletes", self.added_equality_deletes),
            ("removed-equality-deletes", self.removed_equality_deletes),
        ];
        summary.extend(
            changes
                .into_iter()
                .filter(|(_, n)| *n > 0)
                .map(|(key, n)| (key.to_owned(), n.to_string())),
        );
        let totals = [
            ("total-records", self.added_records, self.deleted_records),
            (
                "total-files-size",
                self.added_files_size,
                self.removed_files_size,
            ),
            (
                "total-data-files",
                self.added_data_files,
                self.deleted_data_files,
            ),
            (
                "total-delete-files",
                self.added_delete_files,
                self.removed_delete_files,
            ),
            (
                "total-position-deletes",
                self.added_position_deletes,
                self.removed_position_deletes,
            ),
            (
                "total-equality-deletes",
                self.added_equality_deletes,
                self.removed_equality_deletes,
            ),
        ];
        for (key, added, removed) in totals {
            let before = match parent {
                None => Some(0),
                Some(parent) => parent.summary.get(key).and_then(|n| n.parse::<u64>().ok()),
            };
            let total = before
                .and_then(|n| n.checked_add(added))
                .and_then(|n| n.checked_sub(removed));
            summary.extend(total.map(|n| (key.to_owned(), n.to_string())));
        }
        summary
    }
}
