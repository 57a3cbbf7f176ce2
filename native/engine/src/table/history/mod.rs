//! Reading a table as it was: which snapshot and which schema an id, a time, a branch or a tag means. Times are looked
//! up in the snapshot log, which knows rollbacks, and not in the parents. A table pinned here is never written.

mod range;

use std::fmt;

pub(super) use range::changed_files;
pub use range::{AppendedFile, Change, ChangeKind, FileWindow, RangeRows, SnapshotRange};

use super::Table;
use crate::error::{Error, Result};
use crate::iceberg::document::{Document, MAIN_BRANCH};
use crate::iceberg::schema::Schema;
use crate::iceberg::snapshot::{Snapshot, SnapshotRef};

/// `_change_type`: INSERT or DELETE (Iceberg spec, reserved field ids).
pub const CHANGE_TYPE: i32 = 2_147_483_543;
/// `_change_ordinal`: the place of the commit among those of the scan, from 0.
pub const CHANGE_ORDINAL: i32 = 2_147_483_542;
/// `_commit_snapshot_id`: the commit.
pub const COMMIT_SNAPSHOT_ID: i32 = 2_147_483_541;

/// How many snapshots or refs an error lists.
const LISTED_MAX: usize = 20;

/// Which state of a table is read.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AsOf {
    /// The snapshot of this id, with its own schema.
    Snapshot(i64),
    /// What was current at this time, in milliseconds since 1970-01-01 UTC; with the snapshot's own schema.
    TimestampMs(i64),
    /// A branch, with the table's current schema.
    Branch(String),
    /// A tag, with its snapshot's schema.
    Tag(String),
    /// A branch or a tag, whichever has the name.
    Reference(String),
}

impl fmt::Display for AsOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AsOf::Snapshot(id) => write!(f, "snapshot {id}"),
            AsOf::TimestampMs(time) => f.write_str(&utc(*time)),
            AsOf::Branch(name) => write!(f, "branch '{name}'"),
            AsOf::Tag(name) => write!(f, "tag '{name}'"),
            AsOf::Reference(name) => write!(f, "branch or tag '{name}'"),
        }
    }
}

/// A state of a table other than the newest.
#[derive(Clone, Debug)]
pub(super) struct Pin {
    snapshot_id: i64,
    /// The snapshot whose schema the rows have; None: the current schema.
    schema_snapshot: Option<i64>,
    text: String,
}

impl Pin {
    /// The schema of the rows.
    pub(super) fn schema<'a>(&self, document: &'a Document) -> Result<&'a Schema> {
        let snapshot = self.schema_snapshot.and_then(|id| document.snapshot(id));
        match snapshot.and_then(|snapshot| snapshot.schema_id) {
            None => document.current_schema(),
            Some(id) => document.schema(id).ok_or_else(|| {
                Error::corrupt(format!(
                    "snapshot {} has the schema {id}, which the table does not list",
                    self.snapshot_id
                ))
            }),
        }
    }

    pub(super) fn snapshot<'a>(&self, document: &'a Document) -> Option<&'a Snapshot> {
        document.snapshot(self.snapshot_id)
    }
}

impl Table {
    /// The table as it was: read-only, and only with what its metadata still lists. Errors: NotFound for a snapshot, branch or
    /// tag that is not there, listing what is, and for a time before the first snapshot.
    pub fn as_of(&self, state: &AsOf) -> Result<Table> {
        let (snapshot_id, own_schema) = match state {
            AsOf::Snapshot(id) => (self.known_snapshot(*id)?, true),
            AsOf::TimestampMs(time) => (self.snapshot_at(*time)?, true),
            AsOf::Branch(name) | AsOf::Tag(name) | AsOf::Reference(name) => {
                if name == MAIN_BRANCH
                    && !matches!(state, AsOf::Tag(_))
                    && self.document().current_snapshot().is_none()
                {
                    return Ok(self.clone());
                }
                let reference = self.reference_of(state, name)?;
                (
                    self.known_snapshot(reference.snapshot_id)?,
                    !reference.is_branch,
                )
            }
        };
        let pin = Pin {
            snapshot_id,
            schema_snapshot: own_schema.then_some(snapshot_id),
            text: state.to_string(),
        };
        let schema = pin
            .schema(&self.document)
            .map_err(|e| e.with("file", self.metadata_location()))?;
        let mut table = self.clone();
        table.arrow_schema = std::sync::Arc::new(schema.to_arrow()?);
        table.pin = Some(pin);
        Ok(table)
    }

    /// Another snapshot of the table under the same schema.
    pub(in crate::table) fn at_snapshot(&self, id: i64) -> Result<Table> {
        let mut table = self.clone();
        table.pin = Some(Pin {
            snapshot_id: self.known_snapshot(id)?,
            schema_snapshot: self.pin.as_ref().and_then(|pin| pin.schema_snapshot),
            text: AsOf::Snapshot(id).to_string(),
        });
        Ok(table)
    }

    /// The older state that this table is pinned to, in words.
    pub fn pinned_to(&self) -> Option<&str> {
        self.pin.as_ref().map(|pin| pin.text.as_str())
    }

    /// Refuses to change a table that is pinned to an older state.
    pub(super) fn check_newest(&self) -> Result<()> {
        match self.pinned_to() {
            None => Ok(()),
            Some(state) => Err(Error::unsupported(format!(
                "table {} cannot be changed at {state}: only its newest state can",
                self.name()
            ))),
        }
    }

    fn known_snapshot(&self, id: i64) -> Result<i64> {
        let document = self.document();
        if document.snapshot(id).is_some() {
            return Ok(id);
        }
        let mut newest_first: Vec<&Snapshot> = document.snapshots().iter().collect();
        newest_first.sort_by_key(|s| std::cmp::Reverse((s.timestamp_ms, s.sequence_number)));
        let known = newest_first
            .iter()
            .map(|s| format!("{} of {}", s.snapshot_id, utc(s.timestamp_ms)));
        Err(Error::not_found(format!(
            "table {} has no snapshot {id}; it has {}",
            self.name(),
            listed(known)
        )))
    }

    /// The last snapshot that became current at or before a time.
    fn snapshot_at(&self, time_ms: i64) -> Result<i64> {
        let log = self.document().snapshot_log();
        let entry = log.iter().rfind(|entry| entry.timestamp_ms <= time_ms);
        if let Some(entry) = entry {
            return self.known_snapshot(entry.snapshot_id);
        }
        let first = log.iter().map(|entry| entry.timestamp_ms).min();
        let begins = first.map_or_else(
            || "it has no history".to_string(),
            |first| format!("its history begins at {}", utc(first)),
        );
        Err(Error::not_found(format!(
            "table {} had no snapshot at {}: {begins}",
            self.name(),
            utc(time_ms)
        )))
    }

    fn reference_of(&self, state: &AsOf, name: &str) -> Result<&SnapshotRef> {
        let refs = self.document().refs();
        let found = refs.get(name).filter(|reference| match state {
            AsOf::Branch(_) => reference.is_branch,
            AsOf::Tag(_) => !reference.is_branch,
            _ => true,
        });
        found.ok_or_else(|| {
            let known = refs.iter().map(|(name, reference)| {
                let kind = if reference.is_branch { "branch" } else { "tag" };
                format!("{kind} '{name}'")
            });
            Error::not_found(format!(
                "table {} has no {state}; it has {}",
                self.name(),
                listed(known)
            ))
        })
    }
}

/// The first of some things, and how many there are besides.
fn listed(things: impl ExactSizeIterator<Item = String>) -> String {
    let count = things.len();
    if count == 0 {
        return "none".to_string();
    }
    let mut shown = things.take(LISTED_MAX).collect::<Vec<_>>().join(", ");
    if count > LISTED_MAX {
        shown.push_str(&format!(" and {} more", count - LISTED_MAX));
    }
    shown
}

/// A time as people read it.
pub(super) fn utc(time_ms: i64) -> String {
    match arrow::temporal_conversions::timestamp_ms_to_datetime(time_ms) {
        Some(time) => format!("{time} UTC"),
        None => format!("{time_ms} ms"),
    }
}
