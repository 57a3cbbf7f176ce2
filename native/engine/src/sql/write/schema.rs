//! CREATE SCHEMA and DROP SCHEMA: namespaces of the catalog.

use datafusion::sql::sqlparser::ast::ObjectName;

use crate::error::{ErrorKind, Result};
use crate::sql::parse::name_parts;
use crate::sql::result::QueryResult;
use crate::table::Environment;

/// Runs CREATE SCHEMA.
pub(crate) async fn create_schema(
    name: &ObjectName,
    if_not_exists: bool,
    environment: &Environment,
) -> Result<QueryResult> {
    let created = environment
        .catalog()
        .create_namespace(&name_parts(name)?)
        .await;
    unless(created, if_not_exists, ErrorKind::AlreadyExists)
}

/// Runs DROP SCHEMA; a namespace with tables stays.
pub(crate) async fn drop_schema(
    name: &ObjectName,
    if_exists: bool,
    environment: &Environment,
) -> Result<QueryResult> {
    let dropped = environment
        .catalog()
        .drop_namespace(&name_parts(name)?)
        .await;
    unless(dropped, if_exists, ErrorKind::NotFound)
}

fn unless(done: Result<()>, tolerated: bool, kind: ErrorKind) -> Result<QueryResult> {
    match done {
        Err(error) if tolerated && error.kind() == kind => Ok(QueryResult::nothing()),
        done => done.map(|()| QueryResult::nothing()),
    }
}
