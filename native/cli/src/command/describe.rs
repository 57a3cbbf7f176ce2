//! `benostreamdb describe`.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, Int32Array, RecordBatch, StringArray};
use benostreamdb::{Result, Table};

use super::open_table;
use crate::arguments::{Format, TableArguments};
use crate::output;

/// Prints the columns; for reading, also what else there is to know about the table.
pub(crate) async fn run(arguments: &TableArguments) -> Result<()> {
    let table = open_table(arguments).await?;
    if arguments.format == Format::Table {
        for (name, value) in facts(&table) {
            output::line(&format!("{name}: {value}"))?;
        }
    }
    output::print_batch(columns(&table)?, arguments.format).await
}

fn facts(table: &Table) -> Vec<(String, String)> {
    let document = table.document();
    let snapshot = table
        .snapshot_id()
        .map_or_else(|| "none".to_string(), |id| id.to_string());
    let mut facts = vec![
        ("table".to_string(), table.name()),
        ("location".to_string(), table.location().to_string()),
        ("uuid".to_string(), table.uuid().to_string()),
        (
            "format version".to_string(),
            document.format_version().to_string(),
        ),
        ("snapshot".to_string(), snapshot),
    ];
    if let Some(snapshot) = table.snapshot() {
        for (key, name) in [
            ("total-records", "rows in data files"),
            ("total-position-deletes", "rows deleted"),
            ("total-data-files", "data files"),
            ("total-delete-files", "delete files"),
        ] {
            let value = snapshot.summary.get(key);
            facts.extend(value.map(|value| (name.to_string(), value.clone())));
        }
    }
    facts.extend(
        table
            .properties()
            .iter()
            .map(|(key, value)| (format!("property {key}"), value.clone())),
    );
    facts
}

fn columns(table: &Table) -> Result<RecordBatch> {
    let fields = &table.schema()?.fields;
    let text = |of: &dyn Fn(usize) -> Option<String>| -> ArrayRef {
        Arc::new(StringArray::from_iter((0..fields.len()).map(of)))
    };
    let nullable = fields
        .iter()
        .map(|field| Some(!field.required))
        .collect::<BooleanArray>();
    let ids = fields
        .iter()
        .map(|field| Some(field.id))
        .collect::<Int32Array>();
    let columns: [(&str, ArrayRef); 5] = [
        (
            "column",
            text(&|row| fields.get(row).map(|field| field.name.clone())),
        ),
        (
            "type",
            text(&|row| fields.get(row).map(|field| field.ty.to_string())),
        ),
        ("nullable", Arc::new(nullable)),
        ("field_id", Arc::new(ids)),
        (
            "doc",
            text(&|row| fields.get(row).and_then(|field| field.doc.clone())),
        ),
    ];
    Ok(RecordBatch::try_from_iter_with_nullable(
        columns
            .into_iter()
            .map(|(name, column)| (name, column, true)),
    )?)
}
