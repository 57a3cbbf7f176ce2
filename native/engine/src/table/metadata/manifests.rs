//! The metadata tables manifests and all_manifests.

use super::super::Table;
use super::cell::{Cell, Row};
use super::schema::partition_type;
use super::text::human;
use crate::error::Result;
use crate::iceberg::document::Document;
use crate::iceberg::manifest::{FieldSummary, ManifestContent, ManifestFile};
use crate::iceberg::spec::PartitionField;
use crate::iceberg::value;

pub(super) async fn of_snapshot(table: &Table) -> Result<Vec<Row>> {
    let manifests = table.manifests().await?;
    let rows = manifests.iter().map(|m| row(table.document(), m));
    Ok(rows.collect())
}

/// The manifests of every snapshot; one that several snapshots list has a row for each.
pub(super) async fn of_all(table: &Table) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for snapshot in table.document().snapshots() {
        let then = table.at_snapshot(snapshot.snapshot_id)?;
        for manifest in then.manifests().await? {
            let mut row = row(table.document(), &manifest);
            row.push(Cell::long(snapshot.snapshot_id));
            row.push(manifest.key_metadata.into());
            rows.push(row);
        }
    }
    Ok(rows)
}

fn row(document: &Document, manifest: &ManifestFile) -> Row {
    let counts = [
        manifest.added_files,
        manifest.existing_files,
        manifest.deleted_files,
    ]
    .map(|count| Cell::from(count.and_then(|n| i32::try_from(n).ok())));
    let none = [Cell::int(0), Cell::int(0), Cell::int(0)];
    let (content, data, deletes) = match manifest.content {
        ManifestContent::Data => (0, counts, none),
        ManifestContent::Deletes => (1, none, counts),
    };
    let spec_id = Some(manifest.spec_id).filter(|id| *id >= 0);
    let fields = spec_id.and_then(|id| document.spec(id)).map(|s| &s.fields);
    let summaries = manifest.partitions.as_ref().map(|summaries| {
        let fields = fields.into_iter().flatten();
        let rows = summaries.iter().zip(fields);
        Cell::List(rows.map(|(s, f)| summary(document, s, f)).collect())
    });
    let mut row = vec![
        Cell::int(content),
        Cell::text(&manifest.path),
        Cell::long(manifest.length),
        spec_id.into(),
        manifest.added_snapshot_id.into(),
    ];
    row.extend(data);
    row.extend(deletes);
    row.push(summaries.unwrap_or(Cell::Null));
    row
}

fn summary(document: &Document, summary: &FieldSummary, field: &PartitionField) -> Cell {
    let ty = partition_type(field, document);
    let text = |bound: &Option<Vec<u8>>| {
        let value = value::decode(&ty, bound.as_ref()?)?;
        Some(human(&field.transform, &value))
    };
    Cell::Struct(vec![
        Some(summary.contains_null).into(),
        summary.contains_nan.into(),
        text(&summary.lower_bound).into(),
        text(&summary.upper_bound).into(),
    ])
}
