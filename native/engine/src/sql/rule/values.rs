//! Rewrites of single expressions: floats that are compared become canonical, integer arithmetic is checked.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, ExprSchema, Result};
use datafusion::logical_expr::expr::{
    AggregateFunction, Case, InList, InSubquery, ScalarFunction, WindowFunction,
};
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::logical_expr::{Between, BinaryExpr, Expr, ExprSchemable, Operator, SortExpr, lit};
use datafusion::optimizer::simplify_expressions::ExprSimplifier;

use super::postgres::canonical_columns;
use crate::error::Error;
use crate::sql::function::{canonical, checked, is_checked, is_distance, scalar_vector};
use crate::sql::scan::DIMENSION_KEY;

/// Makes an expression canonical if it is a float.
pub(super) fn float_key(expression: Expr, schema: &dyn ExprSchema) -> Expr {
    if is_checked(&expression) {
        return expression;
    }
    match expression.get_type(schema) {
        Ok(data_type) if data_type.is_floating() => canonical(expression),
        _ => expression,
    }
}

/// Makes sort keys canonical.
pub(super) fn sort_keys(keys: Vec<SortExpr>, schema: &dyn ExprSchema) -> Vec<SortExpr> {
    keys.into_iter()
        .map(|key| SortExpr {
            expr: float_key(key.expr, schema),
            ..key
        })
        .collect()
}

/// Rewrites an expression and everything inside it.
pub(super) fn rewrite(expression: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    expression.transform_up(|node| rewrite_node(node, schema))
}

fn rewrite_node(node: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let key = |expression: Expr| float_key(expression, schema);
    let boxed = |expression: Box<Expr>| Box::new(float_key(*expression, schema));
    Ok(match node {
        Expr::BinaryExpr(binary) => rewrite_binary(binary, schema),
        Expr::Negative(inner) => match inner.get_type(schema) {
            Ok(data_type) if data_type.is_signed_integer() => {
                let zero = lit(0i64).cast_to(&data_type, schema)?;
                match checked(Operator::Minus, zero, (*inner).clone()) {
                    Some(checked) => Transformed::yes(checked),
                    None => Transformed::no(Expr::Negative(inner)),
                }
            }
            _ => Transformed::no(Expr::Negative(inner)),
        },
        Expr::Between(b) => Transformed::yes(Expr::Between(Between::new(
            boxed(b.expr),
            b.negated,
            boxed(b.low),
            boxed(b.high),
        ))),
        Expr::InList(l) => {
            let list = l.list.into_iter().map(key).collect();
            Transformed::yes(Expr::InList(InList::new(boxed(l.expr), list, l.negated)))
        }
        Expr::InSubquery(i) if i.expr.get_type(schema)?.is_floating() => {
            let plan = canonical_columns(i.subquery.subquery.clone())?;
            Transformed::yes(Expr::InSubquery(InSubquery::new(
                boxed(i.expr),
                i.subquery.with_plan(plan),
                i.negated,
            )))
        }
        Expr::Case(Case {
            expr: Some(value),
            when_then_expr,
            else_expr,
        }) => {
            let when_then_expr = when_then_expr
                .into_iter()
                .map(|(when, then)| (boxed(when), then))
                .collect();
            Transformed::yes(Expr::Case(Case {
                expr: Some(boxed(value)),
                when_then_expr,
                else_expr,
            }))
        }
        Expr::ScalarFunction(call) if is_distance(&call) => {
            Transformed::yes(Expr::ScalarFunction(check_distance(call, schema)?))
        }
        Expr::ScalarFunction(call) if compares(&call) => {
            let args = call.args.into_iter().map(key).collect();
            Transformed::yes(Expr::ScalarFunction(ScalarFunction {
                func: call.func,
                args,
            }))
        }
        Expr::AggregateFunction(aggregate) => {
            Transformed::yes(rewrite_aggregate(aggregate, schema))
        }
        Expr::WindowFunction(window) => Transformed::yes(rewrite_window(*window, schema)),
        other => Transformed::no(other),
    })
}

fn rewrite_binary(binary: BinaryExpr, schema: &DFSchema) -> Transformed<Expr> {
    let BinaryExpr { left, op, right } = binary;
    if compares_operands(op) {
        let (left, right) = (float_key(*left, schema), float_key(*right, schema));
        return Transformed::yes(Expr::BinaryExpr(BinaryExpr::new(
            Box::new(left),
            op,
            Box::new(right),
        )));
    }
    // The type of a chain of checked operators is known without walking the chain.
    let integers = |side: &Expr| {
        is_checked(side)
            || side
                .get_type(schema)
                .is_ok_and(|data_type| data_type.is_integer())
    };
    if matches!(op, Operator::Plus | Operator::Minus | Operator::Multiply)
        && integers(&left)
        && integers(&right)
        && let Some(checked) = checked(op, (*left).clone(), (*right).clone())
    {
        return Transformed::yes(checked);
    }
    Transformed::no(Expr::BinaryExpr(BinaryExpr { left, op, right }))
}

pub(super) fn compares_operands(op: Operator) -> bool {
    matches!(
        op,
        Operator::Eq
            | Operator::NotEq
            | Operator::Lt
            | Operator::LtEq
            | Operator::Gt
            | Operator::GtEq
            | Operator::IsDistinctFrom
            | Operator::IsNotDistinctFrom
    )
}

/// Functions that compare their arguments.
fn compares(call: &ScalarFunction) -> bool {
    matches!(call.func.name(), "nullif" | "greatest" | "least")
}

fn rewrite_aggregate(mut aggregate: AggregateFunction, schema: &DFSchema) -> Expr {
    if aggregate.params.distinct || matches!(aggregate.func.name(), "min" | "max") {
        aggregate.params.args = aggregate
            .params
            .args
            .into_iter()
            .map(|value| float_key(value, schema))
            .collect();
    }
    aggregate.params.order_by = sort_keys(aggregate.params.order_by, schema);
    Expr::AggregateFunction(aggregate)
}

fn rewrite_window(mut window: WindowFunction, schema: &DFSchema) -> Expr {
    let params = &mut window.params;
    if params.distinct || matches!(window.fun.name(), "min" | "max") {
        params.args = std::mem::take(&mut params.args)
            .into_iter()
            .map(|value| float_key(value, schema))
            .collect();
    }
    params.partition_by = std::mem::take(&mut params.partition_by)
        .into_iter()
        .map(|value| float_key(value, schema))
        .collect();
    params.order_by = sort_keys(std::mem::take(&mut params.order_by), schema);
    Expr::WindowFunction(Box::new(window))
}

/// Folds the constant side of a distance into a literal and compares its length with the dimension that the table
/// declares for the other side. Errors: InvalidInput naming the column.
fn check_distance(call: ScalarFunction, schema: &DFSchema) -> Result<ScalarFunction> {
    let ScalarFunction { func, args } = call;
    let args = args
        .into_iter()
        .map(fold_constant)
        .collect::<Result<Vec<Expr>>>()?;
    for (constant, other) in [(args.first(), args.get(1)), (args.get(1), args.first())] {
        let (Some(Expr::Literal(query, _)), Some(column @ Expr::Column(name))) = (constant, other)
        else {
            continue;
        };
        let (_, field) = column.to_field(schema)?;
        let declared = field
            .metadata()
            .get(DIMENSION_KEY)
            .and_then(|text| text.parse::<usize>().ok());
        let (Some(declared), Some(query)) = (declared, scalar_vector(query)?) else {
            continue;
        };
        if declared != query.len() {
            let text = format!(
                "column {} has {declared} dimensions, the query {}",
                name.name,
                query.len()
            );
            return Err(Error::invalid_input(text).into());
        }
    }
    Ok(ScalarFunction { func, args })
}

fn fold_constant(argument: Expr) -> Result<Expr> {
    if matches!(argument, Expr::Literal(..))
        || !argument.column_refs().is_empty()
        || has_outer_parts(&argument)?
    {
        return Ok(argument);
    }
    let schema = Arc::new(DFSchema::empty());
    ExprSimplifier::new(SimplifyContext::builder().with_schema(schema).build()).simplify(argument)
}

fn has_outer_parts(expression: &Expr) -> Result<bool> {
    expression.exists(|node| {
        Ok(matches!(
            node,
            Expr::OuterReferenceColumn(..)
                | Expr::ScalarSubquery(_)
                | Expr::Placeholder(_)
                | Expr::AggregateFunction(_)
        ))
    })
}
