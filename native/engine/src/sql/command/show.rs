//! SHOW TABLES, SHOW SCHEMAS and DESCRIBE.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, RecordBatch, StringArray};
use datafusion::sql::sqlparser::ast::ObjectName;

use crate::catalog::DEFAULT_NAMESPACE;
use crate::error::{Error, Result};
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
    names(
        "table",
        environment.catalog().list_tables(&namespace).await?,
    )
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
    names("schema", found)
}

/// The columns of a table.
pub(crate) async fn describe(name: &ObjectName, tables: &StatementTables) -> Result<QueryResult> {
    let table = tables.named(name).await?;
    let fields = &table.schema()?.fields;
    let text = |of: &dyn Fn(usize) -> Option<String>| -> ArrayRef {
        Arc::new(StringArray::from_iter((0..fields.len()).map(of)))
    };
    let nullable: BooleanArray = fields.iter().map(|field| Some(!field.required)).collect();
    batch([
        (
            "column",
            text(&|at| fields.get(at).map(|field| field.name.clone())),
        ),
        (
            "type",
            text(&|at| fields.get(at).map(|field| field.ty.to_string())),
        ),
        ("nullable", Arc::new(nullable)),
        (
            "doc",
            text(&|at| fields.get(at).and_then(|field| field.doc.clone())),
        ),
    ])
}

fn names(column: &str, names: Vec<String>) -> Result<QueryResult> {
    batch([(column, Arc::new(StringArray::from(names)) as ArrayRef)])
}

fn batch<const N: usize>(columns: [(&str, ArrayRef); N]) -> Result<QueryResult> {
    RecordBatch::try_from_iter(columns)
        .map(QueryResult::batch)
        .map_err(|error| Error::internal(error.to_string()))
}
