//! SHOW TABLES, SHOW SCHEMAS and DESCRIBE.

use std::sync::Arc;

use arrow::array::StringArray;
use datafusion::sql::sqlparser::ast::ObjectName;

use crate::catalog::DEFAULT_NAMESPACE;
use crate::error::Result;
use crate::sql::parse::name_parts;
use crate::sql::query::StatementTables;
use crate::sql::result::QueryResult;
use crate::table::Environment;

/// The tables of a namespace.
pub(crate) async fn show_tables(
    schema: Option<&ObjectName>,
    environment: &Environment,
) -> Result<QueryResult> {
    let namespace = match schema {
        Some(name) => name_parts(name)?,
        None => vec![DEFAULT_NAMESPACE.to_string()],
    };
    let tables = environment.catalog().list_tables(&namespace).await?;
    QueryResult::columns([("table", Arc::new(StringArray::from(tables)))])
}

/// The namespaces, with those inside them.
pub(crate) async fn show_schemas(environment: &Environment) -> Result<QueryResult> {
    let mut found = Vec::new();
    let mut open = vec![Vec::new()];
    while let Some(parent) = open.pop() {
        for namespace in environment.catalog().list_namespaces(&parent).await? {
            found.push(namespace.join("."));
            open.push(namespace);
        }
    }
    found.sort();
    QueryResult::columns([("schema", Arc::new(StringArray::from(found)))])
}

/// The columns of a table; the ids of its fields are for tools.
pub(crate) async fn describe(name: &ObjectName, tables: &StatementTables) -> Result<QueryResult> {
    let columns = tables.columns(name).await?;
    let shown: Vec<usize> = columns
        .schema_ref()
        .fields()
        .iter()
        .enumerate()
        .filter(|(_, field)| field.name() != "field_id")
        .map(|(at, _)| at)
        .collect();
    Ok(QueryResult::batch(columns.project(&shown)?))
}
