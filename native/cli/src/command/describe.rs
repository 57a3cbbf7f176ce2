//! `benostreamdb describe`.

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
    output::print_batch(table.columns()?, arguments.format).await
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
