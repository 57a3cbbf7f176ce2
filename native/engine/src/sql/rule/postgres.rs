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

fn analyze_node(node: LogicalPlan) -> Result<LogicalPlan> {
    let mut schema = DFSchema::empty();
    for input in node.inputs() {
        schema.merge(input.schema());
    }
    if let LogicalPlan::TableScan(scan) = &node {
        schema.merge(&DFSchema::try_from_qualified_schema(
            scan.table_name.clone(),
            &scan.source.schema(),
        )?);
    }
    let names: Vec<OutputName> = node
        .schema()
        .iter()
        .map(|(qualifier, field)| (qualifier.cloned(), field.name().clone()))
        .collect();
    let node = node
        .map_expressions(|expression| rewrite(expression, &schema))?
        .data;
    match node {
        LogicalPlan::Projection(projection) => {
            let expressions = restore_all(projection.expr, &names);
            Ok(LogicalPlan::Projection(Projection::try_new(
                expressions,
                projection.input,
            )?))
        }
        LogicalPlan::Aggregate(aggregate) => analyze_aggregate(aggregate, &names),
        LogicalPlan::Window(window) => {
            let skipped = names.len().saturating_sub(window.window_expr.len());
            let expressions =
                restore_all(window.window_expr, names.get(skipped..).unwrap_or_default());
            Ok(LogicalPlan::Window(Window::try_new(
                expressions,
                window.input,
            )?))
        }
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
            Ok(LogicalPlan::Distinct(Distinct::On(DistinctOn::try_new(
                keys,
                on.select_expr,
                sort,
                on.input,
            )?)))
        }
        LogicalPlan::Sort(Sort { expr, input, fetch }) => Ok(LogicalPlan::Sort(Sort {
            expr: sort_keys(expr, &schema),
            input,
            fetch,
        })),
        LogicalPlan::Join(join) => Ok(LogicalPlan::Join(analyze_join(join))),
        other => Ok(other),
    }
}

fn analyze_join(mut join: Join) -> Join {
    let (left, right) = (
        Arc::clone(join.left.schema()),
        Arc::clone(join.right.schema()),
    );
    let key = |(l, r)| (float_key(l, left.as_ref()), float_key(r, right.as_ref()));
    join.on = join.on.into_iter().map(key).collect();
    join
}

fn analyze_aggregate(aggregate: Aggregate, names: &[OutputName]) -> Result<LogicalPlan> {
    let grouping_sets = aggregate
        .group_expr
        .iter()
        .any(|key| matches!(key, Expr::GroupingSet(_)));
    let skipped = names.len().saturating_sub(aggregate.aggr_expr.len());
    let aggregates = restore_all(
        aggregate.aggr_expr,
        names.get(skipped..).unwrap_or_default(),
    );
    let (input, keys) = if grouping_sets {
        // A key inside a grouping set cannot be renamed, so its column becomes canonical below.
        (canonical_columns(aggregate.input)?, aggregate.group_expr)
    } else {
        let schema = Arc::clone(aggregate.input.schema());
        let keys = aggregate.group_expr.into_iter();
        let keys = keys.map(|key| float_column(key, &schema)).collect();
        (aggregate.input, keys)
    };
    Ok(LogicalPlan::Aggregate(Aggregate::try_new(
        input, keys, aggregates,
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
