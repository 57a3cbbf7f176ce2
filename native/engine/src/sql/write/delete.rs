//! DELETE and TRUNCATE.

use arrow::array::AsArray;
use arrow::datatypes::Int64Type;
use datafusion::functions_aggregate::expr_fn::count;
use datafusion::logical_expr::{LogicalPlanBuilder, lit};
use datafusion::sql::sqlparser::ast::ObjectName;

use super::change::{Change, ChangeKind};
use crate::error::Result;
use crate::sql::explain_error;
use crate::sql::parse::Delete;
use crate::sql::query::{Planner, StatementTables};
use crate::sql::query::{select_from_target, target_alias, target_column};
use crate::sql::result::QueryResult;
use crate::sql::scan::row_id;
use crate::table::{CommitOperation, CommitRequest, Table};

/// Runs a DELETE.
pub(crate) async fn delete(delete: &Delete, tables: StatementTables) -> Result<QueryResult> {
    if delete.selection.is_none() && delete.using.is_empty() {
        return truncate(&delete.table, tables).await;
    }
    plan_delete(delete, tables).await?.run().await
}

/// Plans which rows a DELETE means.
pub(crate) async fn plan_delete(delete: &Delete, tables: StatementTables) -> Result<Change> {
    let table = tables.named(&delete.table).await?;
    let alias = target_alias(&delete.table, delete.alias.as_ref())?;
    let items = vec![
        target_column(&alias, row_id::FILE),
        target_column(&alias, row_id::POSITION),
    ];
    let query = select_from_target(items, &alias, &delete.using, delete.selection.clone())?;
    let planner = Planner::new(tables.with_target(table.clone()));
    let plan = planner.plan_query(query).await?;
    Ok(Change {
        kind: ChangeKind::Delete,
        table,
        planner,
        plan,
    })
}

/// Removes all rows.
pub(crate) async fn truncate(name: &ObjectName, tables: StatementTables) -> Result<QueryResult> {
    let table = tables.named(name).await?;
    let rows = row_count(&table, tables).await?;
    if rows == 0 {
        return QueryResult::count(0);
    }
    let base_snapshot = table.snapshot_id();
    let request = CommitRequest {
        operation: CommitOperation::Overwrite,
        messages: Vec::new(),
        base_snapshot,
    };
    table.commit(&request).await?;
    QueryResult::count(rows)
}

async fn row_count(table: &Table, tables: StatementTables) -> Result<u64> {
    let alias = datafusion::sql::sqlparser::ast::Ident::new("target");
    let query = select_from_target(
        vec![target_column(&alias, row_id::POSITION)],
        &alias,
        &[],
        None,
    )?;
    let planner = Planner::new(tables.with_target(table.clone()));
    let plan = planner.plan_query(query).await?;
    let counted = LogicalPlanBuilder::from(plan).aggregate(
        Vec::<datafusion::logical_expr::Expr>::new(),
        [count(lit(1))],
    );
    let counted = counted
        .and_then(LogicalPlanBuilder::build)
        .map_err(explain_error)?;
    let batches = planner.run(counted).await?.collect().await?;
    let counts = batches.iter().filter_map(|batch| batch.columns().first());
    let total: i64 = counts
        .flat_map(|column| column.as_primitive::<Int64Type>().iter().flatten())
        .sum();
    Ok(u64::try_from(total).unwrap_or(0))
}
