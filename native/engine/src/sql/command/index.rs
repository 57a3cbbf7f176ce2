//! CREATE INDEX, DROP INDEX and SHOW INDEXES.

use std::sync::Arc;

use arrow::array::{ArrayRef, StringArray, UInt64Array};
use datafusion::sql::sqlparser::ast::ObjectName;

use crate::error::{ErrorKind, Result};
use crate::maintain::{IndexRequest, IndexStatus};
use crate::sql::parse::{CreateIndex, DropIndex};
use crate::sql::query::StatementTables;
use crate::sql::result::QueryResult;
use crate::table::Table;

/// Defines an index and builds it for the table's newest snapshot.
pub(crate) async fn create_index(
    create: &CreateIndex,
    tables: &StatementTables,
) -> Result<QueryResult> {
    let table = tables.named(&create.table).await?;
    let request = IndexRequest {
        name: create.name.clone(),
        kind: create.kind.clone(),
        columns: create.columns.clone(),
        parameters: create.options.iter().cloned().collect(),
        if_not_exists: create.if_not_exists,
    };
    table.create_index(&request).await?;
    Ok(QueryResult::nothing())
}

/// Removes an index.
pub(crate) async fn drop_index(drop: &DropIndex, tables: &StatementTables) -> Result<QueryResult> {
    let table = match tables.named(&drop.table).await {
        Err(error) if drop.if_exists && error.kind() == ErrorKind::NotFound => {
            return Ok(QueryResult::nothing());
        }
        table => table?,
    };
    match table.drop_index(&drop.name).await {
        Err(error) if drop.if_exists && error.kind() == ErrorKind::NotFound => {}
        result => result?,
    }
    Ok(QueryResult::nothing())
}

/// The indexes of a table.
pub(crate) async fn show_indexes(
    name: &ObjectName,
    tables: &StatementTables,
) -> Result<QueryResult> {
    list_indexes(&tables.named(name).await?).await
}

/// One row an index: what it is and how much of the newest snapshot it covers.
pub(super) async fn list_indexes(table: &Table) -> Result<QueryResult> {
    let indexes = table.indexes().await?;
    let text = |of: &dyn Fn(&IndexStatus) -> String| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(indexes.iter().map(of)))
    };
    let number = |of: &dyn Fn(&IndexStatus) -> u64| -> ArrayRef {
        Arc::new(UInt64Array::from_iter_values(indexes.iter().map(of)))
    };
    let options = |index: &IndexStatus| {
        let pairs: Vec<String> = index
            .definition
            .parameters
            .iter()
            .map(|(k, v)| format!("{k} = {v}"))
            .collect();
        pairs.join(", ")
    };
    QueryResult::columns([
        ("name", text(&|index| index.definition.name.clone())),
        ("kind", text(&|index| index.definition.kind.clone())),
        ("columns", text(&|index| index.columns.join(", "))),
        ("options", text(&options)),
        ("covered_files", number(&|index| index.covered_files)),
        ("total_files", number(&|index| index.total_files)),
        ("segments", number(&|index| index.segment_count)),
        ("size_bytes", number(&|index| index.size_bytes)),
    ])
}
