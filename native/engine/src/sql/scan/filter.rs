//! From the planner's expressions to predicates of the one evaluator. Only what means exactly the same is
//! converted; everything else stays with the planner.

use arrow::datatypes::{DataType, Field};
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::logical_expr::expr::{InList, Like, ScalarFunction};
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::logical_expr::{BinaryExpr, Expr, Operator};
use datafusion::optimizer::simplify_expressions::ExprSimplifier;
use std::sync::Arc;

use super::literal::value_for;
use super::provider::TableScanProvider;
use crate::error::Result;
use crate::iceberg::predicate::{CompareOp, MatchOp, Predicate};
use crate::sql::function::is_canonical;
use crate::sql::query::explain_error;
use crate::sql::rule::analyze_expression;

/// Finds the field id and type of a column by name.
pub(super) trait Columns {
    fn find(&self, name: &str) -> Option<(i32, &Field)>;
}

/// The predicate that means exactly what `expression` means; None if there is none.
pub(super) fn predicate_of(expression: &Expr, columns: &dyn Columns) -> Option<Predicate> {
    match expression {
        Expr::Literal(ScalarValue::Boolean(value), _) => Some(Predicate::Constant(*value)),
        Expr::Column(_) => truth(expression, columns),
        Expr::Not(inner) => Some(Predicate::Not(Box::new(predicate_of(inner, columns)?))),
        Expr::IsNull(inner) => Some(Predicate::IsNull {
            column: column_of(inner, columns)?.0,
        }),
        Expr::IsNotNull(inner) => Some(Predicate::Not(Box::new(Predicate::IsNull {
            column: column_of(inner, columns)?.0,
        }))),
        Expr::IsTrue(inner) => null_safe(inner, Some(true), columns),
        Expr::IsFalse(inner) => null_safe(inner, Some(false), columns),
        Expr::IsUnknown(inner) => null_safe(inner, None, columns),
        Expr::IsNotTrue(inner) => negate(null_safe(inner, Some(true), columns)),
        Expr::IsNotFalse(inner) => negate(null_safe(inner, Some(false), columns)),
        Expr::IsNotUnknown(inner) => negate(null_safe(inner, None, columns)),
        Expr::BinaryExpr(binary) => binary_predicate(binary, columns),
        Expr::Between(between) => {
            let low = compare(&between.expr, CompareOp::GtEq, &between.low, columns)?;
            let high = compare(&between.expr, CompareOp::LtEq, &between.high, columns)?;
            let both = Predicate::And(vec![low, high]);
            Some(if between.negated {
                Predicate::Not(Box::new(both))
            } else {
                both
            })
        }
        Expr::InList(list) => in_list(list, columns),
        Expr::Like(like) => like_predicate(like, columns),
        Expr::ScalarFunction(call) => call_predicate(call, columns),
        _ => None,
    }
}

/// The conjuncts of a filter written against a table's columns; None if the planner has to decide a part of it.
pub(crate) fn conjuncts_of(
    filter: &Expr,
    schema: &DFSchema,
    provider: &TableScanProvider,
) -> Result<Option<Vec<Predicate>>> {
    let context = SimplifyContext::builder()
        .with_schema(Arc::new(schema.clone()))
        .build();
    let simplifier = ExprSimplifier::new(context);
    let simplified =
        analyze_expression(filter.clone(), schema, &simplifier).map_err(explain_error)?;
    let conjuncts = datafusion::logical_expr::utils::split_conjunction_owned(simplified);
    Ok(conjuncts
        .iter()
        .map(|conjunct| predicate_of(conjunct, provider))
        .collect())
}

fn negate(predicate: Option<Predicate>) -> Option<Predicate> {
    predicate.map(|predicate| Predicate::Not(Box::new(predicate)))
}

/// A column, also behind the wrapper that makes floats comparable.
fn column_of<'a>(expression: &Expr, columns: &'a dyn Columns) -> Option<(i32, &'a Field)> {
    match expression {
        Expr::Column(column) => columns.find(&column.name),
        Expr::ScalarFunction(call) if is_canonical(expression) => {
            column_of(call.args.first()?, columns)
        }
        Expr::Alias(alias) => column_of(&alias.expr, columns),
        _ => None,
    }
}

/// A column behind a cast that widens without changing any value, so that comparing before and after is the same.
fn widened_column<'a>(expression: &Expr, columns: &'a dyn Columns) -> Option<(i32, &'a Field)> {
    match expression {
        Expr::ScalarFunction(call) if is_canonical(expression) => {
            widened_column(call.args.first()?, columns)
        }
        Expr::Cast(cast) => {
            let (id, field) = column_of(&cast.expr, columns)?;
            widens(field.data_type(), cast.field.data_type()).then_some((id, field))
        }
        other => column_of(other, columns),
    }
}

fn widens(from: &DataType, to: &DataType) -> bool {
    match (from, to) {
        (DataType::Int32, DataType::Int64) | (DataType::Float32, DataType::Float64) => true,
        (DataType::Int32, DataType::Decimal128(p, s)) => i16::from(*p) - i16::from(*s) >= 10,
        (DataType::Int64, DataType::Decimal128(p, s)) => i16::from(*p) - i16::from(*s) >= 19,
        (DataType::Decimal128(p, s), DataType::Decimal128(q, t)) => {
            t >= s && i16::from(*q) - i16::from(*t) >= i16::from(*p) - i16::from(*s)
        }
        _ => false,
    }
}

fn literal_of(expression: &Expr) -> Option<&ScalarValue> {
    match expression {
        Expr::Literal(value, _) => Some(value),
        _ => None,
    }
}

/// A boolean column as a predicate.
fn truth(expression: &Expr, columns: &dyn Columns) -> Option<Predicate> {
    let (column, field) = column_of(expression, columns)?;
    let value = value_for(field, &ScalarValue::Boolean(Some(true)))?;
    Some(Predicate::Compare {
        column,
        op: CompareOp::Eq,
        value,
    })
}

fn null_safe(expression: &Expr, truth: Option<bool>, columns: &dyn Columns) -> Option<Predicate> {
    let (column, field) = column_of(expression, columns)?;
    if field.data_type() != &DataType::Boolean {
        return None;
    }
    let value = truth.and_then(|truth| value_for(field, &ScalarValue::Boolean(Some(truth))));
    Some(Predicate::NullSafeEq { column, value })
}

fn binary_predicate(binary: &BinaryExpr, columns: &dyn Columns) -> Option<Predicate> {
    let BinaryExpr { left, op, right } = binary;
    let both = || {
        Some(vec![
            predicate_of(left, columns)?,
            predicate_of(right, columns)?,
        ])
    };
    let op = match op {
        Operator::And => return both().map(Predicate::And),
        Operator::Or => return both().map(Predicate::Or),
        Operator::IsNotDistinctFrom => return null_safe_eq(left, right, columns),
        Operator::IsDistinctFrom => return negate(null_safe_eq(left, right, columns)),
        Operator::Eq => CompareOp::Eq,
        Operator::NotEq => CompareOp::NotEq,
        Operator::Lt => CompareOp::Lt,
        Operator::LtEq => CompareOp::LtEq,
        Operator::Gt => CompareOp::Gt,
        Operator::GtEq => CompareOp::GtEq,
        _ => return None,
    };
    compare(left, op, right, columns).or_else(|| compare(right, swap(op), left, columns))
}

fn swap(op: CompareOp) -> CompareOp {
    match op {
        CompareOp::Lt => CompareOp::Gt,
        CompareOp::LtEq => CompareOp::GtEq,
        CompareOp::Gt => CompareOp::Lt,
        CompareOp::GtEq => CompareOp::LtEq,
        same => same,
    }
}

fn compare(
    column: &Expr,
    op: CompareOp,
    literal: &Expr,
    columns: &dyn Columns,
) -> Option<Predicate> {
    let literal = literal_of(literal)?;
    let (column, field) = widened_column(column, columns)?;
    Some(Predicate::Compare {
        column,
        op,
        value: value_for(field, literal)?,
    })
}

fn null_safe_eq(left: &Expr, right: &Expr, columns: &dyn Columns) -> Option<Predicate> {
    let (column, literal) = match (literal_of(left), literal_of(right)) {
        (None, Some(literal)) => (left, literal),
        (Some(literal), None) => (right, literal),
        _ => return None,
    };
    let (column, field) = widened_column(column, columns)?;
    if literal.is_null() {
        return Some(Predicate::IsNull { column });
    }
    Some(Predicate::NullSafeEq {
        column,
        value: Some(value_for(field, literal)?),
    })
}

fn in_list(list: &InList, columns: &dyn Columns) -> Option<Predicate> {
    let (column, field) = widened_column(&list.expr, columns)?;
    let mut values = Vec::with_capacity(list.list.len());
    let mut has_null = false;
    for element in &list.list {
        let literal = literal_of(element)?;
        if literal.is_null() {
            has_null = true;
        } else {
            values.push(value_for(field, literal)?);
        }
    }
    let found = Predicate::In {
        column,
        values,
        has_null,
    };
    Some(if list.negated {
        Predicate::Not(Box::new(found))
    } else {
        found
    })
}

/// LIKE with wildcards at the ends only.
fn like_predicate(like: &Like, columns: &dyn Columns) -> Option<Predicate> {
    if like.case_insensitive || like.escape_char.is_some() {
        return None;
    }
    let (column, field) = column_of(&like.expr, columns)?;
    let pattern = match literal_of(&like.pattern)? {
        ScalarValue::Utf8(Some(text))
        | ScalarValue::LargeUtf8(Some(text))
        | ScalarValue::Utf8View(Some(text)) => text,
        _ => return None,
    };
    if field.data_type() != &DataType::Utf8 || pattern.contains(['_', '\\']) {
        return None;
    }
    let open = pattern.starts_with('%');
    let inner = pattern.trim_start_matches('%');
    let closed = inner.ends_with('%');
    let inner = inner.trim_end_matches('%');
    if inner.contains('%') {
        return None;
    }
    let op = match (open, closed) {
        (false, true) => MatchOp::StartsWith,
        (true, false) => MatchOp::EndsWith,
        (true, true) => MatchOp::Contains,
        (false, false) => {
            let value = value_for(field, &ScalarValue::Utf8(Some(inner.to_string())))?;
            let same = Predicate::Compare {
                column,
                op: CompareOp::Eq,
                value,
            };
            return Some(if like.negated {
                Predicate::Not(Box::new(same))
            } else {
                same
            });
        }
    };
    let matched = Predicate::Match {
        column,
        op,
        pattern: inner.to_string(),
    };
    Some(if like.negated {
        Predicate::Not(Box::new(matched))
    } else {
        matched
    })
}

fn call_predicate(call: &ScalarFunction, columns: &dyn Columns) -> Option<Predicate> {
    let (column, field) = column_of(call.args.first()?, columns)?;
    let text = || match literal_of(call.args.get(1)?)? {
        ScalarValue::Utf8(Some(text)) if field.data_type() == &DataType::Utf8 => Some(text.clone()),
        _ => None,
    };
    match call.func.name() {
        "isnan" if field.data_type().is_floating() => Some(Predicate::IsNan { column }),
        "starts_with" => Some(Predicate::Match {
            column,
            op: MatchOp::StartsWith,
            pattern: text()?,
        }),
        "ends_with" => Some(Predicate::Match {
            column,
            op: MatchOp::EndsWith,
            pattern: text()?,
        }),
        "contains" => Some(Predicate::Match {
            column,
            op: MatchOp::Contains,
            pattern: text()?,
        }),
        _ => None,
    }
}
