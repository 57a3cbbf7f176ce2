//! PostgreSQL's semantics as an analyzer rule, after type coercion: wherever floats are compared, hashed, grouped
//! or sorted they are canonical (-0.0 = 0.0, NaN = NaN and greatest; law L2), and integer arithmetic fails on
//! overflow. Names of output columns stay what they were. Floats inside nested values are not reached.

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result, TableReference};
use datafusion::logical_expr::{
    Aggregate, Distinct, DistinctOn, Expr, ExprSchemable, Join, LogicalPlan, LogicalPlanBuilder,
    Projection, Sort, Window,
};
use datafusion::optimizer::AnalyzerRule;

use super::values::{float_key, rewrite, sort_keys};

/// The rule.
#[derive(Debug)]
pub(crate) struct PostgresSemantics;

impl AnalyzerRule for PostgresSemantics {
    fn name(&self) -> &str {
        "postgres_semantics"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        Ok(plan
            .transform_up_with_subqueries(|node| analyze_node(node).map(Transformed::yes))?
            .data)
    }
}

type OutputName = (Option<TableReference>, String);

/// The columns that the expressions of a node may name.
fn input_schema(node: &LogicalPlan) -> Result<DFSchema> {
    let mut schema = DFSchema::empty();
    for input in node.inputs() {
        schema.merge(input.schema());
    }
    if let LogicalPlan::TableScan(scan) = node {
        schema.merge(&DFSchema::try_from_qualified_schema(
            scan.table_name.clone(),
            &scan.source.schema(),
        )?);
    }
    Ok(schema)
}

/// Rewrites the expressions of a node; output columns keep their names.
pub(super) fn rewrite_expressions(
    node: LogicalPlan,
    rewrite: impl Fn(Expr, &DFSchema) -> Result<Transformed<Expr>>,
) -> Result<Transformed<LogicalPlan>> {
    let schema = input_schema(&node)?;
    let names: Vec<OutputName> = node
        .schema()
        .iter()
        .map(|(qualifier, field)| (qualifier.cloned(), field.name().clone()))
        .collect();
    let rewritten = node.map_expressions(|expression| rewrite(expression, &schema))?;
    if !rewritten.transformed {
        return Ok(rewritten);
    }
    Ok(Transformed::yes(restore_names(rewritten.data, &names)?))
}

fn restore_names(node: LogicalPlan, names: &[OutputName]) -> Result<LogicalPlan> {
    let last = |count: usize| {
        let skipped = names.len().saturating_sub(count);
        names.get(skipped..).unwrap_or_default()
    };
    match node {
        LogicalPlan::Projection(projection) => {
            let expressions = restore_all(projection.expr, names);
            let projection = Projection::try_new(expressions, projection.input)?;
            Ok(LogicalPlan::Projection(projection))
        }
        LogicalPlan::Aggregate(Aggregate {
            input,
            group_expr,
            aggr_expr,
            ..
        }) => {
            let keys = if has_grouping_sets(&group_expr) {
                group_expr
            } else {
                restore_all(group_expr, names)
            };
            let count = aggr_expr.len();
            let aggregates = restore_all(aggr_expr, last(count));
            Ok(LogicalPlan::Aggregate(Aggregate::try_new(
                input, keys, aggregates,
            )?))
        }
        LogicalPlan::Window(Window {
            input, window_expr, ..
        }) => {
            let count = window_expr.len();
            let windows = restore_all(window_expr, last(count));
            Ok(LogicalPlan::Window(Window::try_new(windows, input)?))
        }
        other => Ok(other),
    }
}

fn has_grouping_sets(keys: &[Expr]) -> bool {
    keys.iter().any(|key| matches!(key, Expr::GroupingSet(_)))
}

fn analyze_node(node: LogicalPlan) -> Result<LogicalPlan> {
    let schema = input_schema(&node)?;
    match rewrite_expressions(node, rewrite)?.data {
        LogicalPlan::Aggregate(aggregate) => analyze_aggregate(aggregate),
        LogicalPlan::Distinct(Distinct::All(input)) => Ok(LogicalPlan::Distinct(Distinct::All(
            canonical_columns(input)?,
        ))),
        LogicalPlan::Distinct(Distinct::On(on)) => {
            let keys = on
                .on_expr
                .into_iter()
                .map(|key| float_key(key, &schema))
                .collect();
            let sort = on.sort_expr.map(|keys| sort_keys(keys, &schema));
            let on = DistinctOn::try_new(keys, on.select_expr, sort, on.input)?;
            Ok(LogicalPlan::Distinct(Distinct::On(on)))
        }
        LogicalPlan::Sort(Sort { expr, input, fetch }) => {
            let expr = sort_keys(expr, &schema);
            Ok(LogicalPlan::Sort(Sort { expr, input, fetch }))
        }
        LogicalPlan::Join(join) => Ok(LogicalPlan::Join(analyze_join(join))),
        other => Ok(other),
    }
}

fn analyze_join(mut join: Join) -> Join {
    let left = Arc::clone(join.left.schema());
    let right = Arc::clone(join.right.schema());
    let key = |(l, r)| (float_key(l, left.as_ref()), float_key(r, right.as_ref()));
    join.on = join.on.into_iter().map(key).collect();
    join
}

fn analyze_aggregate(aggregate: Aggregate) -> Result<LogicalPlan> {
    let (input, keys) = if has_grouping_sets(&aggregate.group_expr) {
        // A key inside a grouping set cannot be renamed, so its column becomes canonical below.
        (canonical_columns(aggregate.input)?, aggregate.group_expr)
    } else {
        let schema = Arc::clone(aggregate.input.schema());
        let keys = aggregate.group_expr.into_iter();
        let keys = keys.map(|key| float_column(key, &schema)).collect();
        (aggregate.input, keys)
    };
    Ok(LogicalPlan::Aggregate(Aggregate::try_new(
        input,
        keys,
        aggregate.aggr_expr,
    )?))
}

/// Gives expressions the names they had before.
fn restore_all(expressions: Vec<Expr>, names: &[OutputName]) -> Vec<Expr> {
    expressions
        .into_iter()
        .zip(names)
        .map(|(expression, name)| restore(expression, name))
        .collect()
}

fn restore(expression: Expr, name: &OutputName) -> Expr {
    if expression.qualified_name() == *name {
        return expression;
    }
    let (qualifier, name) = name.clone();
    match expression {
        Expr::Alias(alias) => alias.expr.alias_qualified(qualifier, name),
        other => other.alias_qualified(qualifier, name),
    }
}

/// Makes a float output column canonical under its own name.
fn float_column(expression: Expr, schema: &DFSchema) -> Expr {
    let float = expression
        .get_type(schema)
        .is_ok_and(|data_type| data_type.is_floating());
    if !float {
        return expression;
    }
    let name = expression.qualified_name();
    let inner = match expression {
        Expr::Alias(alias) => *alias.expr,
        other => other,
    };
    restore(float_key(inner, schema), &name)
}

/// A projection over `plan` in which every float column is canonical; `plan` itself if it has none.
pub(super) fn canonical_columns(plan: Arc<LogicalPlan>) -> Result<Arc<LogicalPlan>> {
    let schema = Arc::clone(plan.schema());
    if !schema
        .fields()
        .iter()
        .any(|field| field.data_type().is_floating())
    {
        return Ok(plan);
    }
    let columns: Vec<Expr> = schema
        .columns()
        .into_iter()
        .map(|column| float_column(Expr::Column(column), &schema))
        .collect();
    Ok(Arc::new(
        LogicalPlanBuilder::from(Arc::unwrap_or_clone(plan))
            .project(columns)?
            .build()?,
    ))
}
