//! `ORDER BY distance LIMIT k` over an indexed column: the scan below the sort returns candidates from the index
//! instead of every row. The sort and the limit stay, so order and distances are the planner's own. Sound only
//! where the sort has this one ascending key, every filter is decided inside the scan, and the metric is the
//! index's; else the plan stays as it is.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, Result};
use datafusion::datasource::{provider_as_source, source_as_provider};
use datafusion::logical_expr::{Expr, LogicalPlan, Projection, Sort, SubqueryAlias, TableScan};
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};

use crate::sql::function::{distance_call, is_canonical, scalar_vector};
use crate::sql::scan::TableScanProvider;
use crate::table::{MAX_K, NullDistance};

/// The rule.
#[derive(Debug)]
pub(crate) struct NearestRule;

impl OptimizerRule for NearestRule {
    fn name(&self) -> &str {
        "nearest_by_index"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::TopDown)
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        _: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        let LogicalPlan::Sort(Sort {
            expr,
            input,
            fetch: Some(k),
        }) = &plan
        else {
            return Ok(Transformed::no(plan));
        };
        let [key] = expr.as_slice() else {
            return Ok(Transformed::no(plan));
        };
        if !key.asc || !(1..=MAX_K).contains(k) {
            return Ok(Transformed::no(plan));
        }
        let nulls = if key.nulls_first {
            NullDistance::First
        } else {
            NullDistance::Last
        };
        match replace_scan(input, key.expr.clone(), *k, nulls)? {
            Some(input) => {
                let sort = Sort {
                    expr: expr.clone(),
                    input: Arc::new(input),
                    fetch: Some(*k),
                };
                Ok(Transformed::yes(LogicalPlan::Sort(sort)))
            }
            None => Ok(Transformed::no(plan)),
        }
    }
}

/// The plan with its scan replaced; `key` is the sort key in terms of the plan's output.
fn replace_scan(
    plan: &LogicalPlan,
    key: Expr,
    k: usize,
    nulls: NullDistance,
) -> Result<Option<LogicalPlan>> {
    match plan {
        LogicalPlan::Projection(projection) => {
            let key = through_projection(key, projection)?;
            let Some(input) = replace_scan(&projection.input, key, k, nulls)? else {
                return Ok(None);
            };
            let projection = Projection::try_new(projection.expr.clone(), Arc::new(input))?;
            Ok(Some(LogicalPlan::Projection(projection)))
        }
        LogicalPlan::SubqueryAlias(alias) => {
            let key = through_alias(key, alias)?;
            let Some(input) = replace_scan(&alias.input, key, k, nulls)? else {
                return Ok(None);
            };
            Ok(Some(LogicalPlan::SubqueryAlias(SubqueryAlias::try_new(
                Arc::new(input),
                alias.alias.clone(),
            )?)))
        }
        LogicalPlan::TableScan(scan) => {
            Ok(nearest_scan(scan, &key, k, nulls)?.map(LogicalPlan::TableScan))
        }
        _ => Ok(None),
    }
}

/// The sort key in terms of the projection's input.
fn through_projection(key: Expr, projection: &Projection) -> Result<Expr> {
    let replaced = key.transform_up(|node| {
        let Expr::Column(column) = &node else {
            return Ok(Transformed::no(node));
        };
        let source = projection
            .schema
            .maybe_index_of_column(column)
            .and_then(|index| projection.expr.get(index))
            .map(|expression| expression.clone().unalias());
        Ok(source.map_or_else(|| Transformed::no(node.clone()), Transformed::yes))
    })?;
    Ok(replaced.data)
}

fn through_alias(key: Expr, alias: &SubqueryAlias) -> Result<Expr> {
    let replaced = key.transform_up(|node| {
        let Expr::Column(column) = &node else {
            return Ok(Transformed::no(node));
        };
        let source = alias.schema.maybe_index_of_column(column).map(|index| {
            let (qualifier, field) = alias.input.schema().qualified_field(index);
            Expr::Column(Column::new(qualifier.cloned(), field.name()))
        });
        Ok(source.map_or_else(|| Transformed::no(node.clone()), Transformed::yes))
    })?;
    Ok(replaced.data)
}

fn nearest_scan(
    scan: &TableScan,
    key: &Expr,
    k: usize,
    nulls: NullDistance,
) -> Result<Option<TableScan>> {
    let Some((kind, Expr::Column(column), query)) = distance_call(bare(key)) else {
        return Ok(None);
    };
    let (Some(metric), Some(query)) = (kind.metric(), scalar_vector(query)?) else {
        return Ok(None);
    };
    if scan.fetch.is_some() {
        return Ok(None);
    }
    let provider = source_as_provider(&scan.source)?;
    let Some(provider) = provider.downcast_ref::<TableScanProvider>() else {
        return Ok(None);
    };
    let Some(nearest) = provider.nearest(&column.name, query, metric, k, nulls) else {
        return Ok(None);
    };
    Ok(Some(TableScan {
        source: provider_as_source(Arc::new(nearest)),
        ..scan.clone()
    }))
}

/// The key without aliases and without the wrapper that makes floats comparable.
fn bare(key: &Expr) -> &Expr {
    match key {
        Expr::Alias(alias) => bare(&alias.expr),
        Expr::ScalarFunction(call) if is_canonical(key) => call.args.first().map_or(key, bare),
        other => other,
    }
}
