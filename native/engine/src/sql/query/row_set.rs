//! The filter of a text search where no predicate means it: the planner decides its rows beforehand, and the search
//! selects among them by file and position.

use std::collections::BTreeMap;

use arrow::array::AsArray;
use arrow::datatypes::Int64Type;
use datafusion::logical_expr::LogicalPlan;
use datafusion::sql::sqlparser::ast::Ident;
use futures::TryStreamExt;

use super::planner::Planner;
use super::table::StatementTables;
use super::target::{select_from_target, target_column};
use crate::error::{Error, Result};
use crate::iceberg::predicate::{CompareOp, Predicate, reserved};
use crate::iceberg::value::Value;
use crate::sql::parse::parse_expression;
use crate::sql::scan::{TableScanProvider, conjuncts_of, row_id};
use crate::table::Table;

/// The most rows that such a filter may select.
const ROWS_MAX: usize = 200_000;

/// The rows that `filter` selects, as a predicate; None if the filter has a predicate of its own.
/// Errors: ResourceExhausted if they are too many.
pub(super) async fn rows_of_filter(
    tables: &StatementTables,
    table: &Table,
    provider: &TableScanProvider,
    filter: &str,
) -> Result<Option<Predicate>> {
    let selection = parse_expression(filter).map_err(|error| error.with("filter", filter))?;
    let alias = Ident::new("target");
    let items = vec![
        target_column(&alias, row_id::FILE),
        target_column(&alias, row_id::POSITION),
    ];
    let query = select_from_target(items, &alias, &[], Some(selection))?;
    let planner = Planner::new(tables.clone().with_target(table.clone()));
    // A filter may hold a query, which may hold a search with a filter.
    let plan = Box::pin(planner.plan_query(query)).await?;
    if has_predicate(&plan, provider)? {
        return Ok(None);
    }
    let mut files: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    let mut count = 0;
    let mut batches = planner.run(plan).await?.into_batches();
    while let Some(batch) = batches.try_next().await? {
        count += batch.num_rows();
        if count > ROWS_MAX {
            let text =
                format!("filter {filter} selects more than {ROWS_MAX} rows for a text search");
            return Err(Error::resource_exhausted(text));
        }
        let column = |name: &str| {
            batch
                .column_by_name(name)
                .ok_or_else(|| Error::internal("a filter's plan without row ids"))
        };
        let paths = column(row_id::FILE)?.as_string::<i32>();
        let positions = column(row_id::POSITION)?.as_primitive::<Int64Type>();
        for (path, position) in paths.iter().zip(positions) {
            if let (Some(path), Some(position)) = (path, position) {
                files
                    .entry(path.to_string())
                    .or_default()
                    .push(Value::Long(position));
            }
        }
    }
    if files.is_empty() {
        return Ok(Some(Predicate::Constant(Some(false))));
    }
    let rows = files.into_iter().map(rows_of_file).collect();
    Ok(Some(Predicate::Or(rows)))
}

fn rows_of_file((path, values): (String, Vec<Value>)) -> Predicate {
    let file = Predicate::Compare {
        column: reserved::FILE,
        op: CompareOp::Eq,
        value: Value::String(path),
    };
    let rows = Predicate::In {
        column: reserved::POS,
        values,
        has_null: false,
    };
    Predicate::And(vec![file, rows])
}

/// Whether the one filter of a plan has a predicate.
fn has_predicate(plan: &LogicalPlan, provider: &TableScanProvider) -> Result<bool> {
    match plan {
        LogicalPlan::Projection(projection) => has_predicate(&projection.input, provider),
        LogicalPlan::Filter(filter) => {
            let conjuncts = conjuncts_of(&filter.predicate, filter.input.schema(), provider)?;
            Ok(conjuncts.is_some())
        }
        _ => Ok(false),
    }
}
