//! What changed between two snapshots. Appends are the data files that append commits added, as they were added. A changelog
//! has every row that came or went, commit by commit: what two neighbouring snapshots hold is compared, so that it does
//! not matter how a commit deletes. Commits that only rewrite files change no row.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::super::Table;
use super::super::deletes::DeleteIndex;
use super::super::plan::{LiveFile, live_file, live_files};
use super::super::split::{DeleteKind, DeleteRef, FileTask};
use crate::error::{Error, Result};
use crate::iceberg::manifest::{Entry, EntryStatus, ManifestContent};
use crate::iceberg::snapshot::Snapshot;

/// The commits of a scan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotRange {
    /// The snapshot before the first commit; None: from the first that the table lists.
    pub start_exclusive: Option<i64>,
    /// The last commit; None: the table's snapshot.
    pub end_inclusive: Option<i64>,
    /// What is asked of the commits.
    pub rows: RangeRows,
    /// Which files of the commits at the ends.
    pub window: FileWindow,
}

/// A part of the files that the first and the last commit of a range appended, in the order of their manifests, which
/// nobody changes: readers that take few files at a time go on where they stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileWindow {
    /// So many files of the first commit are left out.
    pub skip_first: usize,
    /// Only so many of the last commit are taken; None: all.
    pub take_last: Option<usize>,
}

/// A data file that a commit appended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AppendedFile {
    /// The commit.
    pub snapshot_id: i64,
    /// How many rows it holds.
    pub row_count: u64,
}

/// Which rows of a range of commits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RangeRows {
    /// What append commits added; other commits are passed over.
    Appended,
    /// What came and what went; `_change_type`, `_change_ordinal` and `_commit_snapshot_id` tell.
    Changed,
}

/// What happened to the rows that a task reads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// What.
    pub kind: ChangeKind,
    /// The place of the commit in the range, from 0.
    pub ordinal: i32,
    /// The commit.
    pub snapshot_id: i64,
}

/// How rows came or went.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ChangeKind {
    /// With their file.
    Inserted,
    /// With their file.
    Deleted,
    /// By delete files: the task's, without those that were there before.
    DeletedSince(Vec<DeleteRef>),
}

/// A data file and what its rows say.
type Changed = (LiveFile, Entry);

/// The files of a range. Errors: NotFound for an end, InvalidInput for a start that the table does not know.
pub(in crate::table) async fn changed_files(
    table: &Table,
    range: &SnapshotRange,
) -> Result<Vec<Changed>> {
    let commits = commits(table, range)?;
    match range.rows {
        RangeRows::Appended => appended(table, &commits, range.window).await,
        RangeRows::Changed if range.window != FileWindow::default() => {
            Err(Error::unsupported("a part of the files of a changelog"))
        }
        RangeRows::Changed => changed(table, &commits).await,
    }
}

/// The commits, oldest first.
fn commits<'a>(table: &'a Table, range: &SnapshotRange) -> Result<Vec<&'a Snapshot>> {
    let document = table.document();
    let end = match range.end_inclusive {
        Some(id) => Some(table.known_snapshot(id)?),
        None => table.snapshot_id(),
    };
    let mut commits: Vec<&Snapshot> = Vec::new();
    let mut next = end;
    while next != range.start_exclusive {
        let Some(snapshot) = next.and_then(|id| document.snapshot(id)) else {
            break;
        };
        if commits.len() > document.snapshots().len() {
            return Err(Error::corrupt("snapshots are their own ancestors")
                .with("file", table.metadata_location()));
        }
        commits.push(snapshot);
        next = snapshot.parent_snapshot_id;
    }
    if let Some(start) = range.start_exclusive.filter(|start| next != Some(*start)) {
        let end = end.map_or_else(|| "none".to_string(), |id| id.to_string());
        return Err(Error::invalid_input(format!(
            "snapshot {start} of table {} is no ancestor of snapshot {end}, which a scan between them needs",
            table.name()
        )));
    }
    commits.reverse();
    Ok(commits)
}

async fn appended(
    table: &Table,
    commits: &[&Snapshot],
    window: FileWindow,
) -> Result<Vec<Changed>> {
    let id_of = |commit: Option<&&Snapshot>| commit.map(|commit| commit.snapshot_id);
    let (first, last) = (id_of(commits.first()), id_of(commits.last()));
    let none = DeleteIndex::new(table.document(), table.schema()?, &[])?;
    let mut files = Vec::new();
    let appends = commits.iter().filter(|s| s.operation() == Some("append"));
    for snapshot in appends {
        let then = table.at_snapshot(snapshot.snapshot_id)?;
        let mut added_files = Vec::new();
        for manifest in then.manifests().await? {
            // Snapshots of version 1 may list manifests without saying who added them; the entries do.
            let of_commit = manifest
                .added_snapshot_id
                .is_none_or(|id| id == snapshot.snapshot_id);
            if manifest.content != ManifestContent::Data || !of_commit {
                continue;
            }
            for entry in table.manifest_entries(&manifest).await? {
                let added = entry.status == EntryStatus::Added
                    && entry.snapshot_id == Some(snapshot.snapshot_id);
                if added {
                    added_files.push((live_file(table, &entry, &none)?, entry));
                }
            }
        }
        let is = |end: Option<i64>| end == Some(snapshot.snapshot_id);
        let part = FileWindow {
            skip_first: if is(first) { window.skip_first } else { 0 },
            take_last: window.take_last.filter(|_| is(last)),
        };
        files.extend(part.of(snapshot.snapshot_id, added_files)?);
    }
    Ok(files)
}

impl FileWindow {
    /// The part of one commit's files. Errors: InvalidInput for a place behind its last file.
    fn of(self, snapshot_id: i64, mut files: Vec<Changed>) -> Result<Vec<Changed>> {
        let (from, to) = (self.skip_first, self.take_last.unwrap_or(files.len()));
        if from > files.len() || to > files.len() || from > to {
            let count = files.len();
            return Err(Error::invalid_input(format!(
                "snapshot {snapshot_id} added {count} files, a read of {from} to {to} is none of them"
            )));
        }
        files.truncate(to);
        Ok(files.split_off(from))
    }
}

async fn changed(table: &Table, commits: &[&Snapshot]) -> Result<Vec<Changed>> {
    let mut changes = Vec::new();
    let changing = commits.iter().filter(|s| s.operation() != Some("replace"));
    for (ordinal, snapshot) in (0..).zip(changing) {
        let before = match snapshot.parent_snapshot_id {
            None => BTreeMap::new(),
            Some(parent) => files_at(table, parent)
                .await
                .map_err(|e| e.with("needed for the changes of snapshot", snapshot.snapshot_id))?,
        };
        let mut after = files_at(table, snapshot.snapshot_id).await?;
        let mut push = |(mut file, entry): Changed, kind| {
            file.task.change = Some(Change {
                kind,
                ordinal,
                snapshot_id: snapshot.snapshot_id,
            });
            changes.push((file, entry));
        };
        for (path, was) in before {
            match after.remove(&path) {
                None => push(was, ChangeKind::Deleted),
                Some(is) if same_deletes(&is.0.task, &was.0.task) => {}
                Some(is) => {
                    let before = was.0.task.deletes.iter().map(|d| d.as_ref().clone());
                    push(is, ChangeKind::DeletedSince(before.collect()));
                }
            }
        }
        for file in after.into_values() {
            push(file, ChangeKind::Inserted);
        }
    }
    Ok(changes)
}

/// The live data files of a snapshot by path, under the schema of the scan.
async fn files_at(table: &Table, snapshot_id: i64) -> Result<BTreeMap<String, Changed>> {
    let then = table.at_snapshot(snapshot_id)?;
    let files = live_files(&then).await?.into_iter();
    Ok(files.map(|file| (file.0.task.path.clone(), file)).collect())
}

/// Whether the same deletes apply, whatever numbers the plans of two snapshots give to them.
fn same_deletes(a: &FileTask, b: &FileTask) -> bool {
    let same = |a: &DeleteRef, b: &DeleteRef| {
        let kinds = match (&a.kind, &b.kind) {
            (DeleteKind::Equality { columns: a, .. }, DeleteKind::Equality { columns: b, .. }) => {
                a == b
            }
            (a, b) => a == b,
        };
        kinds && (&a.path, a.size, a.sequence_number) == (&b.path, b.size, b.sequence_number)
    };
    let mut pairs = a.deletes.iter().zip(&b.deletes);
    a.deletes.len() == b.deletes.len() && pairs.all(|(a, b)| same(a, b))
}
