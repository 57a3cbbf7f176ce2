//! The metadata tables that the metadata file alone answers: snapshots, history, refs and metadata_log_entries.

use std::collections::BTreeSet;

use serde_json::Value as Json;

use super::super::Table;
use super::cell::{Cell, Row};
use crate::error::{Error, Result};
use crate::iceberg::document::{Document, MetadataLogEntry};
use crate::iceberg::value::Value;

pub(super) fn snapshots(table: &Table) -> Vec<Row> {
    let snapshots = table.document().snapshots().iter();
    snapshots
        .map(|snapshot| {
            let summary = snapshot
                .summary
                .iter()
                .filter(|(key, _)| *key != crate::iceberg::snapshot::OPERATION)
                .map(|(key, value)| (Cell::text(key), Cell::text(value)));
            vec![
                Cell::time(snapshot.timestamp_ms),
                Cell::long(snapshot.snapshot_id),
                snapshot.parent_snapshot_id.into(),
                snapshot.operation().map(str::to_owned).into(),
                snapshot.manifest_list.clone().into(),
                Cell::Map(summary.collect()),
            ]
        })
        .collect()
}

pub(super) fn history(table: &Table) -> Vec<Row> {
    let document = table.document();
    let ancestors = ancestors(document, document.current_snapshot().map(|s| s.snapshot_id));
    let log = document.snapshot_log().iter();
    log.map(|entry| {
        let snapshot = document.snapshot(entry.snapshot_id);
        vec![
            Cell::time(entry.timestamp_ms),
            Cell::long(entry.snapshot_id),
            snapshot.and_then(|s| s.parent_snapshot_id).into(),
            Cell::Value(Value::Boolean(ancestors.contains(&entry.snapshot_id))),
        ]
    })
    .collect()
}

/// The snapshot and those it was made from, as far as the table lists them.
fn ancestors(document: &Document, mut snapshot_id: Option<i64>) -> BTreeSet<i64> {
    let mut found = BTreeSet::new();
    while let Some(id) = snapshot_id.filter(|id| found.insert(*id)) {
        let snapshot = document.snapshot(id);
        snapshot_id = snapshot.and_then(|s| s.parent_snapshot_id);
    }
    found
}

pub(super) fn refs(table: &Table) -> Result<Vec<Row>> {
    let document = table.document();
    let raw: Json = match document.raw("refs") {
        Some(text) => serde_json::from_str(text).map_err(|e| {
            Error::corrupt(format!("refs: {e}")).with("file", table.metadata_location())
        })?,
        None => Json::Null,
    };
    let refs = document.refs().iter().map(|(name, reference)| {
        let number = |key: &str| {
            raw.get(name)
                .and_then(|r| r.get(key))
                .and_then(Json::as_i64)
        };
        let keep = number("min-snapshots-to-keep").and_then(|n| i32::try_from(n).ok());
        vec![
            Cell::text(name),
            Cell::text(if reference.is_branch { "BRANCH" } else { "TAG" }),
            Cell::long(reference.snapshot_id),
            number("max-ref-age-ms").into(),
            keep.into(),
            number("max-snapshot-age-ms").into(),
        ]
    });
    Ok(refs.collect())
}

/// The earlier metadata files and the present one, each with the snapshot that was current then.
pub(super) fn metadata_log_entries(table: &Table) -> Vec<Row> {
    let document = table.document();
    let own = MetadataLogEntry {
        metadata_file: table.metadata_location().to_string(),
        timestamp_ms: document.last_updated_ms(),
    };
    let entries = document.metadata_log().iter().chain([&own]);
    entries
        .map(|entry| {
            let logged = document.snapshot_log().iter();
            let current = logged
                .rev()
                .find(|logged| logged.timestamp_ms <= entry.timestamp_ms)
                .map(|logged| logged.snapshot_id);
            let snapshot = current.and_then(|id| document.snapshot(id));
            vec![
                Cell::time(entry.timestamp_ms),
                Cell::text(&entry.metadata_file),
                current.into(),
                snapshot.and_then(|s| s.schema_id).into(),
                snapshot.map(|s| s.sequence_number).into(),
            ]
        })
        .collect()
}
