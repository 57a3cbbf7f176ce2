//! Rules over logical plans: PostgreSQL's semantics where the planner's differ (floats, integer overflow), and
//! nearest-neighbour plans for `ORDER BY distance LIMIT k`.

mod cooperation;
mod nearest;
mod postgres;
mod promotion;
mod values;

pub(crate) use cooperation::Cooperation;
pub(crate) use nearest::NearestRule;
pub(crate) use postgres::PostgresSemantics;
pub(crate) use promotion::NumericPromotion;

use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::Expr;
use datafusion::optimizer::simplify_expressions::ExprSimplifier;

/// An expression outside a plan, such as the filter of a search, coerced and with PostgreSQL's semantics.
pub(crate) fn analyze_expression(
    expression: Expr,
    schema: &DFSchema,
    simplifier: &ExprSimplifier,
) -> Result<Expr> {
    let promoted = promotion::promote(expression, schema)?.data;
    let coerced = simplifier.coerce(promoted, schema)?;
    simplifier.simplify(values::rewrite(coerced, schema)?.data)
}
