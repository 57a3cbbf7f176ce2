//! What the engine knows as messages: tables, schemas, plans, indexes.

use std::collections::HashMap;

use benostreamdb::{
    AppendedFile, Error, IcebergField, IcebergType, IndexBuildPlan, IndexStatus, MetadataTable,
    Result, ScanPlan, ScanReport, Split, Table, TableRef,
};

use crate::wire::{self, Kind, column_type};

/// How a table was named.
pub(crate) fn table_name(reference: &TableRef) -> wire::TableName {
    match reference {
        TableRef::Name { namespace, name } => wire::TableName {
            namespace: namespace.clone(),
            name: name.clone(),
            location: String::new(),
        },
        TableRef::Location(location) => wire::TableName {
            location: location.to_string(),
            ..Default::default()
        },
    }
}

/// A table at its pinned snapshot.
pub(crate) fn table(table: &Table) -> Result<wire::TableDescription> {
    let schema = table.schema()?;
    let mut vector_dimensions = HashMap::new();
    for field in &schema.fields {
        if let Some(dimension) = table.dimension(&field.name)? {
            let dimension = u32::try_from(dimension)
                .map_err(|_| Error::corrupt("a vector dimension is too large"))?;
            vector_dimensions.insert(field.name.clone(), dimension);
        }
    }
    Ok(wire::TableDescription {
        table: Some(table_name(table.reference())),
        location: table.location().to_string(),
        uuid: table.uuid().to_owned(),
        snapshot_id: table.snapshot_id(),
        columns: schema.fields.iter().map(column).collect(),
        properties: table.properties().clone().into_iter().collect(),
        format_version: i32::from(table.document().format_version()),
        vector_dimensions,
        row_count: live_rows(table),
        size_bytes: total(table, "total-files-size"),
        metadata_location: table.metadata_location().to_string(),
        read_only: table.writer().is_err(),
        partition: table
            .partition_columns()
            .ok()
            .map(|members| wire::ColumnType {
                kind: column_type::Kind::Struct.into(),
                children: members.iter().map(column).collect(),
                ..Default::default()
            }),
    })
}

/// A metadata table: its columns under the name of its table.
pub(crate) fn metadata_table(metadata: &MetadataTable) -> wire::TableDescription {
    let table = metadata.table();
    wire::TableDescription {
        table: Some(table_name(table.reference())),
        location: table.location().to_string(),
        uuid: table.uuid().to_owned(),
        snapshot_id: table.snapshot_id(),
        columns: metadata.schema().fields.iter().map(column).collect(),
        format_version: i32::from(table.document().format_version()),
        metadata_location: table.metadata_location().to_string(),
        read_only: true,
        ..Default::default()
    }
}

/// From the summary, which is information for people and planners only.
fn live_rows(table: &Table) -> Option<i64> {
    let records = total(table, "total-records")?;
    Some(
        records
            .saturating_sub(total(table, "total-position-deletes").unwrap_or(0))
            .max(0),
    )
}

fn total(table: &Table, key: &str) -> Option<i64> {
    match table.snapshot() {
        Some(snapshot) => snapshot.summary.get(key)?.parse().ok(),
        None => Some(0),
    }
}

fn column(field: &IcebergField) -> wire::Column {
    wire::Column {
        id: field.id,
        name: field.name.clone(),
        r#type: Some(column_type(&field.ty)),
        required: field.required,
        doc: field.doc.clone(),
    }
}

fn column_type(of: &IcebergType) -> wire::ColumnType {
    use column_type::Kind;
    let plain = |kind: Kind| wire::ColumnType {
        kind: kind.into(),
        ..Default::default()
    };
    let nested = |kind: Kind| wire::ColumnType {
        children: of.children().map(column).collect(),
        ..plain(kind)
    };
    match of {
        IcebergType::Boolean => plain(Kind::Boolean),
        IcebergType::Int => plain(Kind::Int),
        IcebergType::Long => plain(Kind::Long),
        IcebergType::Float => plain(Kind::Float),
        IcebergType::Double => plain(Kind::Double),
        IcebergType::Decimal { precision, scale } => wire::ColumnType {
            precision: i32::from(*precision),
            scale: i32::from(*scale),
            ..plain(Kind::Decimal)
        },
        IcebergType::Date => plain(Kind::Date),
        IcebergType::Time => plain(Kind::Time),
        IcebergType::Timestamp => plain(Kind::Timestamp),
        IcebergType::TimestampTz => plain(Kind::Timestamptz),
        IcebergType::String | IcebergType::Variant => plain(Kind::String),
        IcebergType::Uuid => wire::ColumnType {
            precision: 16,
            ..plain(Kind::Uuid)
        },
        IcebergType::Fixed(length) => wire::ColumnType {
            precision: i32::try_from(*length).unwrap_or(i32::MAX),
            ..plain(Kind::Fixed)
        },
        IcebergType::Binary | IcebergType::Geometry(_) | IcebergType::Geography(_) => {
            plain(Kind::Binary)
        }
        IcebergType::Struct(_) => nested(Kind::Struct),
        IcebergType::List(_) => nested(Kind::List),
        IcebergType::Map { .. } => nested(Kind::Map),
        IcebergType::TimestampNs
        | IcebergType::TimestampTzNs
        | IcebergType::Unknown
        | IcebergType::Opaque(_) => wire::ColumnType {
            text: of.to_string(),
            ..plain(Kind::Unknown)
        },
    }
}

/// Physical rows; nobody knows those of a metadata table before it is read.
fn row_count(split: &Split) -> Option<i64> {
    match split.scope.metadata {
        Some(_) => None,
        None => i64::try_from(split.record_count()).ok(),
    }
}

/// A planned scan of `conjunct_count` conjuncts, each of them exact.
pub(crate) fn scan_plan(plan: &ScanPlan, conjunct_count: usize) -> Result<wire::ScanPlan> {
    let splits = plan.splits.iter().map(|split| {
        Ok(wire::PlannedSplit {
            split: wire::seal(Kind::Split, split.to_bytes()?),
            row_count: row_count(split),
            size_bytes: i64::try_from(split.size_bytes()).ok(),
        })
    });
    Ok(wire::ScanPlan {
        snapshot_id: plan.snapshot_id,
        splits: splits.collect::<Result<_>>()?,
        exact: vec![true; conjunct_count],
        explain: explain(&plan.report),
        appended: plan.report.appended.iter().map(appended).collect(),
    })
}

fn appended(file: &AppendedFile) -> wire::AppendedFile {
    wire::AppendedFile {
        snapshot_id: file.snapshot_id,
        row_count: i64::try_from(file.row_count).unwrap_or(i64::MAX),
    }
}

fn explain(report: &ScanReport) -> String {
    let mut lines = vec![
        format!(
            "manifests: {} ({} skipped)",
            report.manifests_total, report.manifests_skipped
        ),
        format!("files: {}", report.files_total),
        format!(
            "files pruned by partition: {}",
            report.files_pruned_by_partition
        ),
        format!(
            "files pruned by statistics: {}",
            report.files_pruned_by_statistics
        ),
        format!("files pruned by index: {}", report.files_pruned_by_index),
        format!("rows: {}", report.rows_total),
    ];
    if report.segments.is_empty() {
        lines.push("index: none".to_string());
    } else {
        let what = if report.is_search {
            "rows indexed"
        } else {
            "rows proposed"
        };
        lines.push(format!("{what}: {}", report.rows_proposed));
        lines.push(format!(
            "files scanned without index: {}",
            report.files_scanned_without_index
        ));
    }
    lines.extend(
        report
            .segments
            .iter()
            .map(|(name, count)| format!("index {name}: {count} segments")),
    );
    lines.extend(
        report
            .unused_indexes
            .iter()
            .map(|(name, reason)| format!("index {name} is not used: {reason}")),
    );
    lines.extend(
        report
            .warnings
            .iter()
            .map(|warning| format!("warning: {warning}")),
    );
    lines.join("\n")
}

/// A planned index build.
pub(crate) fn index_plan(plan: &IndexBuildPlan) -> Result<wire::IndexBuildPlan> {
    let name = plan.definition.name.clone();
    let pieces = plan.pieces.iter().map(|piece| {
        Ok(wire::IndexPiece {
            piece: wire::seal(Kind::IndexPiece, piece.to_bytes()?),
            row_count: i64::try_from(piece.rows()).unwrap_or(i64::MAX),
            size_bytes: i64::try_from(piece.size_bytes()).unwrap_or(i64::MAX),
        })
    });
    Ok(wire::IndexBuildPlan {
        plan: wire::seal(Kind::IndexPlan, name.clone().into_bytes()),
        pieces: pieces.collect::<Result<_>>()?,
        name,
    })
}

/// An index and its coverage.
pub(crate) fn index(index: IndexStatus) -> wire::IndexDescription {
    let number = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
    wire::IndexDescription {
        segment_count: number(index.segment_count),
        files_covered: number(index.covered_files),
        files_total: number(index.total_files),
        size_bytes: number(index.size_bytes),
        rows_covered: number(index.covered_rows),
        columns: index.columns,
        name: index.definition.name,
        kind: index.definition.kind,
        options: index.definition.parameters.into_iter().collect(),
    }
}
