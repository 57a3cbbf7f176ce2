//! Where a decimal meets a float, both become double, as in PostgreSQL. Runs before type coercion, which would
//! turn the float into a decimal of 15 digits behind the point and fail on NaN and on large values.

use arrow::datatypes::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::{Case, InList, ScalarFunction};
use datafusion::logical_expr::{Between, BinaryExpr, Expr, ExprSchemable, LogicalPlan, cast};
use datafusion::optimizer::AnalyzerRule;

use super::postgres::rewrite_expressions;

/// The rule.
#[derive(Debug)]
pub(crate) struct NumericPromotion;

impl AnalyzerRule for NumericPromotion {
    fn name(&self) -> &str {
        "numeric_promotion"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let analyzed =
            plan.transform_up_with_subqueries(|node| rewrite_expressions(node, promote))?;
        Ok(analyzed.data)
    }
}

/// Promotes inside an expression.
pub(super) fn promote(expression: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    expression.transform_up(|node| Ok(promote_node(node, schema)))
}

fn promote_node(node: Expr, schema: &DFSchema) -> Transformed<Expr> {
    match node {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            let ([left, right], changed) = promote_all([*left, *right], schema);
            let binary = BinaryExpr::new(Box::new(left), op, Box::new(right));
            transformed(Expr::BinaryExpr(binary), changed)
        }
        Expr::Between(between) => {
            let parts = [*between.expr, *between.low, *between.high];
            let ([expr, low, high], changed) = promote_all(parts, schema);
            let between = Between::new(
                Box::new(expr),
                between.negated,
                Box::new(low),
                Box::new(high),
            );
            transformed(Expr::Between(between), changed)
        }
        Expr::InList(list) => {
            let (expr, values, changed) = promote_list(*list.expr, list.list, schema);
            let list = InList::new(Box::new(expr), values, list.negated);
            transformed(Expr::InList(list), changed)
        }
        Expr::Case(case) => promote_case(case, schema),
        Expr::ScalarFunction(ScalarFunction { func, args }) if unifies(func.name()) => {
            let mut args = args;
            let changed = promote_slice(&mut args, schema);
            transformed(Expr::ScalarFunction(ScalarFunction { func, args }), changed)
        }
        other => Transformed::no(other),
    }
}

fn transformed(expression: Expr, changed: bool) -> Transformed<Expr> {
    if changed {
        Transformed::yes(expression)
    } else {
        Transformed::no(expression)
    }
}

/// Functions whose arguments get one type.
fn unifies(name: &str) -> bool {
    matches!(
        name,
        "coalesce" | "nullif" | "greatest" | "least" | "make_array" | "nvl" | "nvl2"
    )
}

fn promote_case(case: Case, schema: &DFSchema) -> Transformed<Expr> {
    let Case {
        expr,
        when_then_expr,
        else_expr,
    } = case;
    let (whens, mut results): (Vec<Expr>, Vec<Expr>) = when_then_expr
        .into_iter()
        .map(|(when, then)| (*when, *then))
        .unzip();
    let with_else = else_expr.is_some();
    results.extend(else_expr.map(|value| *value));
    let mut changed = promote_slice(&mut results, schema);
    let else_expr = if with_else {
        results.pop().map(Box::new)
    } else {
        None
    };
    let (expr, whens) = match expr {
        None => (None, whens),
        Some(expr) => {
            let (expr, whens, also) = promote_list(*expr, whens, schema);
            changed |= also;
            (Some(Box::new(expr)), whens)
        }
    };
    let pairs = whens.into_iter().zip(results);
    let when_then_expr = pairs
        .map(|(when, then)| (Box::new(when), Box::new(then)))
        .collect();
    transformed(
        Expr::Case(Case {
            expr,
            when_then_expr,
            else_expr,
        }),
        changed,
    )
}

/// One expression that is compared with several.
fn promote_list(expr: Expr, mut list: Vec<Expr>, schema: &DFSchema) -> (Expr, Vec<Expr>, bool) {
    list.push(expr.clone());
    let changed = promote_slice(&mut list, schema);
    let expr = list.pop().unwrap_or(expr);
    (expr, list, changed)
}

fn promote_all<const N: usize>(mut parts: [Expr; N], schema: &DFSchema) -> ([Expr; N], bool) {
    let changed = promote_slice(&mut parts, schema);
    (parts, changed)
}

/// Casts the decimals among expressions of which one is a float.
fn promote_slice(expressions: &mut [Expr], schema: &DFSchema) -> bool {
    let types: Vec<Option<DataType>> = expressions
        .iter()
        .map(|expression| expression.get_type(schema).ok())
        .collect();
    let float = types.iter().flatten().any(DataType::is_floating);
    let decimal = types.iter().flatten().any(is_decimal);
    if !(float && decimal) {
        return false;
    }
    for (expression, data_type) in expressions.iter_mut().zip(types) {
        if data_type.as_ref().is_some_and(is_decimal) {
            *expression = as_double(std::mem::take(expression));
        }
    }
    true
}

fn is_decimal(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::Decimal32(..)
            | DataType::Decimal64(..)
            | DataType::Decimal128(..)
            | DataType::Decimal256(..)
    )
}

/// A literal is read anew from its digits, so that it is the nearest double.
fn as_double(expression: Expr) -> Expr {
    if let Expr::Literal(value, metadata) = &expression {
        let digits = (!value.is_null()).then(|| value.to_string().parse::<f64>().ok());
        if let Some(Some(double)) = digits {
            return Expr::Literal(ScalarValue::Float64(Some(double)), metadata.clone());
        }
    }
    cast(expression, DataType::Float64)
}
