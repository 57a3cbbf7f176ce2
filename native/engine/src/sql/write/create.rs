//! CREATE TABLE, with columns or from a query, and DROP TABLE.

use std::collections::BTreeMap;

use arrow::datatypes::{Field, Schema as ArrowSchema};
use datafusion::common::Column;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, cast};
use datafusion::sql::sqlparser::ast::{ObjectName, Query};

use super::change::{Change, ChangeKind};
use super::column_type::{field_of, stored_field};
use crate::catalog::TableRef;
use crate::error::{Error, ErrorKind, Result};
use crate::sql::explain_error;
use crate::sql::parse::{CreateTable, name_parts};
use crate::sql::query::{Planner, StatementTables, table_ref};
use crate::sql::result::QueryResult;
use crate::table::{Environment, Table};
use crate::telemetry;

/// Runs CREATE TABLE.
pub(crate) async fn create_table(
    create: &CreateTable,
    environment: &Environment,
) -> Result<QueryResult> {
    let reference = table_ref(environment, &name_parts(&create.table)?)?;
    let properties: BTreeMap<String, String> = create.properties.iter().cloned().collect();
    if let Some(query) = &create.query {
        return create_from_query(create, query, &reference, &properties, environment).await;
    }
    let fields = create
        .columns
        .iter()
        .map(field_of)
        .collect::<Result<Vec<Field>>>()?;
    match Table::create(
        environment,
        &reference,
        &ArrowSchema::new(fields),
        &properties,
    )
    .await
    {
        Ok(_) => Ok(QueryResult::nothing()),
        Err(error) if create.if_not_exists && error.kind() == ErrorKind::AlreadyExists => {
            Ok(QueryResult::nothing())
        }
        Err(error) => Err(error),
    }
}

async fn create_from_query(
    create: &CreateTable,
    query: &Query,
    reference: &TableRef,
    properties: &BTreeMap<String, String>,
    environment: &Environment,
) -> Result<QueryResult> {
    match Table::load(environment, reference).await {
        Ok(_) if create.if_not_exists => return QueryResult::count(0),
        Ok(_) => {
            return Err(Error::already_exists(format!(
                "table {} exists",
                create.table
            )));
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let planner = Planner::new(StatementTables::new(environment));
    let plan = planner.plan_query(query.clone()).await?;
    let fields = plan
        .schema()
        .fields()
        .iter()
        .map(|field| stored_field(field))
        .collect::<Result<Vec<Field>>>()?;
    let plan = as_stored(plan, &fields)?;
    let table = Table::create(
        environment,
        reference,
        &ArrowSchema::new(fields),
        properties,
    )
    .await?;
    let change = Change {
        kind: ChangeKind::Insert,
        table: table.clone(),
        planner,
        plan,
    };
    match change.run().await {
        Err(error) if error.kind() != ErrorKind::CommitUnknown => {
            if let Err(left) = table.drop().await {
                telemetry::warn(&format!(
                    "table {} was created but not filled and not removed: {left}",
                    create.table
                ));
            }
            Err(error)
        }
        result => result,
    }
}

/// The query's columns in the types of the new table.
fn as_stored(plan: LogicalPlan, fields: &[Field]) -> Result<LogicalPlan> {
    let sources: Vec<_> = plan
        .schema()
        .iter()
        .map(|(q, f)| (q.cloned(), f.clone()))
        .collect();
    let columns: Vec<Expr> = sources
        .iter()
        .zip(fields)
        .map(|((qualifier, source), field)| {
            let column = Expr::Column(Column::new(qualifier.clone(), source.name()));
            match source.data_type() == field.data_type() {
                true => column.alias(field.name()),
                false => cast(column, field.data_type().clone()).alias(field.name()),
            }
        })
        .collect();
    LogicalPlanBuilder::from(plan)
        .project(columns)
        .and_then(LogicalPlanBuilder::build)
        .map_err(explain_error)
}

/// Runs DROP TABLE; files that the table referenced elsewhere stay and are reported.
pub(crate) async fn drop_table(
    table: &ObjectName,
    if_exists: bool,
    environment: &Environment,
) -> Result<QueryResult> {
    let parts = name_parts(table)?;
    let dropped = match Table::load(environment, &table_ref(environment, &parts)?).await {
        Ok(table) => table.drop().await,
        Err(error) => Err(error),
    };
    match dropped {
        Ok(left) => {
            if let Some(first) = left.first() {
                let count = left.len();
                telemetry::warn(&format!(
                    "{count} files outside the location of {table} stay, such as {first}"
                ));
            }
            Ok(QueryResult::nothing())
        }
        Err(error) if error.kind() == ErrorKind::NotFound => match if_exists {
            true => Ok(QueryResult::nothing()),
            false => Err(
                Error::not_found(format!("table {} does not exist", parts.join(".")))
                    .caused_by(error),
            ),
        },
        Err(error) => Err(error),
    }
}
