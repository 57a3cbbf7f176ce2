//! Types of operands as PostgreSQL gives them: where a decimal meets a float both become double, and a text constant
//! is read as the type of what it is compared with. Runs before type coercion, which would turn a float into a
//! decimal of 15 digits behind the point, and a timestamp into nanoseconds that end in 2262.

use arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::{Case, InList, ScalarFunction};
use datafusion::logical_expr::{
    Between, BinaryExpr, Expr, ExprSchemable, LogicalPlan, cast, lit, not,
};
use datafusion::optimizer::AnalyzerRule;

use super::postgres::rewrite_expressions;
use super::values::compares_operands;
use crate::sql::function::text_as;

/// What the planner reads `time` as, and what columns hold.
const TIME_NS: DataType = DataType::Time64(TimeUnit::Nanosecond);
const TIME_US: DataType = DataType::Time64(TimeUnit::Microsecond);

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
    expression.transform_up(|node| promote_node(node, schema))
}

fn promote_node(node: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    Ok(match node {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            let mut sides = [*left, *right];
            let mut changed = promote_numbers(&mut sides, schema);
            if compares_operands(op) {
                changed |= promote_moments(&mut sides, schema);
                changed |= read_text(&mut sides, schema)?;
            }
            let [left, right] = sides;
            let binary = BinaryExpr::new(Box::new(left), op, Box::new(right));
            transformed(Expr::BinaryExpr(binary), changed)
        }
        Expr::Between(between) => {
            let parts = [*between.expr, *between.low, *between.high];
            let mut parts = parts;
            let changed = promote_slice(&mut parts, schema)?;
            let [expr, low, high] = parts;
            let between = Between::new(
                Box::new(expr),
                between.negated,
                Box::new(low),
                Box::new(high),
            );
            transformed(Expr::Between(between), changed)
        }
        Expr::InList(list) => {
            let (expr, values, changed) = promote_list(*list.expr, list.list, schema)?;
            if values
                .iter()
                .all(|value| matches!(value, Expr::Literal(..)))
            {
                let list = InList::new(Box::new(expr), values, list.negated);
                transformed(Expr::InList(list), changed)
            } else {
                Transformed::yes(equals_any(&expr, values, list.negated))
            }
        }
        Expr::Case(case) => promote_case(case, schema)?,
        Expr::ScalarFunction(ScalarFunction { func, args }) if unifies(func.name()) => {
            let mut args = args;
            let changed = promote_slice(&mut args, schema)?;
            transformed(Expr::ScalarFunction(ScalarFunction { func, args }), changed)
        }
        other => Transformed::no(other),
    })
}

/// `expr IN (values)` as comparisons, in a tree of little depth. The engine would evaluate a list that is not of
/// constants on no row at all, where CASE is as good as a constant, and keep that for every row.
fn equals_any(expr: &Expr, values: Vec<Expr>, negated: bool) -> Expr {
    let mut terms: Vec<Expr> = values
        .into_iter()
        .map(|value| expr.clone().eq(value))
        .collect();
    while terms.len() > 1 {
        let mut pairs = terms.into_iter();
        let mut halved = Vec::new();
        while let Some(left) = pairs.next() {
            halved.push(match pairs.next() {
                Some(right) => left.or(right),
                None => left,
            });
        }
        terms = halved;
    }
    let any = terms.pop().unwrap_or_else(|| lit(false));
    if negated { not(any) } else { any }
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

fn promote_case(case: Case, schema: &DFSchema) -> Result<Transformed<Expr>> {
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
    let mut changed = promote_slice(&mut results, schema)?;
    let else_expr = if with_else {
        results.pop().map(Box::new)
    } else {
        None
    };
    let (expr, whens) = match expr {
        None => (None, whens),
        Some(expr) => {
            let (expr, whens, also) = promote_list(*expr, whens, schema)?;
            changed |= also;
            (Some(Box::new(expr)), whens)
        }
    };
    let pairs = whens.into_iter().zip(results);
    let when_then_expr = pairs
        .map(|(when, then)| (Box::new(when), Box::new(then)))
        .collect();
    Ok(transformed(
        Expr::Case(Case {
            expr,
            when_then_expr,
            else_expr,
        }),
        changed,
    ))
}

/// One expression that is compared with several.
fn promote_list(
    expr: Expr,
    mut list: Vec<Expr>,
    schema: &DFSchema,
) -> Result<(Expr, Vec<Expr>, bool)> {
    list.push(expr.clone());
    let changed = promote_slice(&mut list, schema)?;
    let expr = list.pop().unwrap_or(expr);
    Ok((expr, list, changed))
}

fn promote_slice(expressions: &mut [Expr], schema: &DFSchema) -> Result<bool> {
    let mut promoted = promote_numbers(expressions, schema);
    promoted |= promote_moments(expressions, schema);
    Ok(read_text(expressions, schema)? || promoted)
}

/// Casts dates beside timestamps, and times as the planner reads them, to the microseconds of columns: nanoseconds,
/// which the engine would choose, end in 2262 and do not compare with a column of times.
fn promote_moments(expressions: &mut [Expr], schema: &DFSchema) -> bool {
    let type_of = |expression: &Expr| expression.get_type(schema).ok();
    let types: Vec<Option<DataType>> = expressions.iter().map(type_of).collect();
    let is_timestamp = |data_type: &&DataType| matches!(data_type, DataType::Timestamp(..));
    let timestamp = match types.iter().flatten().find(is_timestamp) {
        Some(DataType::Timestamp(_, zone)) => {
            Some(DataType::Timestamp(TimeUnit::Microsecond, zone.clone()))
        }
        _ => None,
    };
    let mut changed = false;
    for (expression, data_type) in expressions.iter_mut().zip(&types) {
        let target = match data_type {
            Some(DataType::Date32) => timestamp.clone(),
            Some(TIME_NS) => Some(TIME_US),
            _ => None,
        };
        if let Some(target) = target {
            *expression = cast(std::mem::take(expression), target);
            changed = true;
        }
    }
    changed
}

/// Casts the decimals among expressions of which one is a float.
fn promote_numbers(expressions: &mut [Expr], schema: &DFSchema) -> bool {
    let type_of = |expression: &Expr| expression.get_type(schema).ok();
    let types: Vec<Option<DataType>> = expressions.iter().map(type_of).collect();
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

/// Reads the text constants among expressions as the type of the others.
fn read_text(expressions: &mut [Expr], schema: &DFSchema) -> Result<bool> {
    let is_text =
        |expression: &&Expr| matches!(expression, Expr::Literal(ScalarValue::Utf8(Some(_)), _));
    if !expressions.iter().any(|expression| is_text(&expression)) {
        return Ok(false);
    }
    let other = expressions.iter().find(|expression| !is_text(expression));
    let Some(data_type) = other.and_then(|other| other.get_type(schema).ok()) else {
        return Ok(false);
    };
    let mut changed = false;
    for expression in expressions {
        if let Expr::Literal(ScalarValue::Utf8(Some(text)), metadata) = expression
            && let Some(value) = text_as(text, &data_type)?
        {
            *expression = Expr::Literal(value, metadata.take());
            changed = true;
        }
    }
    Ok(changed)
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
