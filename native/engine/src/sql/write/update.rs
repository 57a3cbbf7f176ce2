//! UPDATE: the old row is deleted, the new one written, in one snapshot.

use datafusion::common::Column;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder};
use datafusion::sql::sqlparser::ast::{self, Ident, SelectItem};

use super::assign::assign;
use super::change::{Change, ChangeKind};
use super::insert::{column_index, literal_for, reads_any_type};
use crate::error::{Error, Result};
use crate::sql::explain_error;
use crate::sql::parse::Update;
use crate::sql::query::{Planner, StatementTables};
use crate::sql::query::{select_from_target, target_alias, target_column};
use crate::sql::result::QueryResult;
use crate::sql::scan::row_id;
use crate::table::Table;

/// Runs an UPDATE.
pub(crate) async fn update(update: &Update, tables: StatementTables) -> Result<QueryResult> {
    plan_update(update, tables).await?.run().await
}

/// Plans which rows an UPDATE means and their new values.
pub(crate) async fn plan_update(update: &Update, tables: StatementTables) -> Result<Change> {
    let table = tables.named(&update.table).await?;
    let alias = target_alias(&update.table, update.alias.as_ref())?;
    let values = new_values(update, &table)?;
    let mut items = vec![
        target_column(&alias, row_id::FILE),
        target_column(&alias, row_id::POSITION),
    ];
    for (field, value) in table.arrow_schema().fields().iter().zip(&values) {
        items.push(match value {
            None => target_column(&alias, field.name()),
            Some(value) => SelectItem::ExprWithAlias {
                expr: literal_for(field, value.clone())?,
                alias: Ident::with_quote('"', field.name()),
            },
        });
    }
    let query = select_from_target(items, &alias, &update.from, update.selection.clone())?;
    let planner = Planner::new(tables.with_target(table.clone()));
    let plan = assign_columns(planner.plan_query(query).await?, &table, &values)?;
    Ok(Change {
        kind: ChangeKind::Update,
        table,
        planner,
        plan,
    })
}

/// The assigned expression of every column of the table.
fn new_values(update: &Update, table: &Table) -> Result<Vec<Option<ast::Expr>>> {
    let mut values = vec![None; table.arrow_schema().fields().len()];
    for (target, value) in &update.assignments {
        let index = column_index(table, target)?;
        if let Some(slot) = values.get_mut(index)
            && slot.replace(value.clone()).is_some()
        {
            return Err(Error::invalid_input(format!(
                "UPDATE sets column {target} twice"
            )));
        }
    }
    Ok(values)
}

fn assign_columns(
    plan: LogicalPlan,
    table: &Table,
    values: &[Option<ast::Expr>],
) -> Result<LogicalPlan> {
    let fields: Vec<_> = plan
        .schema()
        .iter()
        .map(|(q, f)| (q.cloned(), f.clone()))
        .collect();
    let mut columns = Vec::with_capacity(fields.len());
    for (qualifier, field) in &fields {
        let column = Expr::Column(Column::new(qualifier.clone(), field.name()));
        let target = table
            .arrow_schema()
            .fields()
            .iter()
            .position(|target| target.name() == field.name());
        let assigned = target.and_then(|index| {
            Some((
                table.arrow_schema().fields().get(index)?,
                values.get(index)?,
            ))
        });
        columns.push(match assigned {
            Some((target, Some(value))) => {
                assign(column, field.data_type(), target, reads_any_type(value))?
                    .alias(field.name())
            }
            _ => column,
        });
    }
    LogicalPlanBuilder::from(plan)
        .project(columns)
        .and_then(LogicalPlanBuilder::build)
        .map_err(explain_error)
}
