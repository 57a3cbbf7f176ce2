//! `CALL system.<procedure>(..)`.

use std::sync::Arc;

use arrow::array::{StringArray, UInt64Array};

use super::index::list_indexes;
use crate::error::{Error, Result};
use crate::maintain::IndexRequest;
use crate::sql::parse::{BoundArguments, Call};
use crate::sql::query::{StatementTables, table_argument};
use crate::sql::result::QueryResult;

/// Runs a procedure. Errors: Unsupported for one that this database does not have.
pub(crate) async fn call(call: &Call, tables: &StatementTables) -> Result<QueryResult> {
    let bind = |known: &[&str]| call.arguments.bind(&call.procedure, known);
    match call.procedure.as_str() {
        "create_index" => {
            create_index(
                &bind(&["table", "columns", "kind", "name", "options", "include"])?,
                tables,
            )
            .await
        }
        "drop_index" => drop_index(&bind(&["table", "name"])?, tables).await,
        "refresh_index" => refresh_index(&bind(&["table", "name"])?, tables).await,
        "show_indexes" => {
            let arguments = bind(&["table"])?;
            list_indexes(&tables.get(&table_argument(&arguments)?).await?).await
        }
        other => Err(Error::unsupported(format!(
            "procedure system.{other} is not supported"
        ))),
    }
}

async fn create_index(arguments: &BoundArguments, tables: &StatementTables) -> Result<QueryResult> {
    if arguments.get("include").is_some() {
        return Err(Error::unsupported("create_index: include is not supported"));
    }
    arguments.required("columns")?;
    let table = tables.get(&table_argument(arguments)?).await?;
    let request = IndexRequest {
        name: arguments.text("name")?,
        kind: arguments.required_text("kind")?,
        columns: arguments.text_list("columns")?.unwrap_or_default(),
        parameters: arguments.text_map("options")?,
        if_not_exists: false,
    };
    let definition = table.create_index(&request).await?;
    QueryResult::columns([(
        "index_name",
        Arc::new(StringArray::from(vec![definition.name])),
    )])
}

async fn drop_index(arguments: &BoundArguments, tables: &StatementTables) -> Result<QueryResult> {
    let table = tables.get(&table_argument(arguments)?).await?;
    table.drop_index(&arguments.required_text("name")?).await?;
    Ok(QueryResult::nothing())
}

async fn refresh_index(
    arguments: &BoundArguments,
    tables: &StatementTables,
) -> Result<QueryResult> {
    let table = tables.get(&table_argument(arguments)?).await?;
    let files = table
        .refresh_index(arguments.text("name")?.as_deref())
        .await?;
    QueryResult::columns([("indexed_files", Arc::new(UInt64Array::from(vec![files])))])
}
