//! pgvector's operators, and comparisons of a value with a text constant.

use arrow::datatypes::DataType;
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::{Expr, ExprSchemable};
use datafusion::sql::sqlparser::ast::BinaryOperator;

use crate::sql::function::{DistanceKind, distance, text_as};

/// The planner of our operators.
#[derive(Debug)]
pub(super) struct Operators;

impl ExprPlanner for Operators {
    fn plan_binary_op(
        &self,
        raw: RawBinaryExpr,
        schema: &DFSchema,
    ) -> Result<PlannerResult<RawBinaryExpr>> {
        let kind = match &raw.op {
            BinaryOperator::LtDashGt => Some(DistanceKind::L2),
            BinaryOperator::Custom(operator) => DistanceKind::of_operator(operator),
            _ => None,
        };
        if let Some(kind) = kind {
            let call = distance(kind, raw.left, raw.right);
            return Ok(PlannerResult::Planned(call));
        }
        let RawBinaryExpr { op, left, right } = raw;
        if !compares(&op) {
            return Ok(PlannerResult::Original(RawBinaryExpr { op, left, right }));
        }
        let left = read_beside(left, &right, schema)?;
        let right = read_beside(right, &left, schema)?;
        Ok(PlannerResult::Original(RawBinaryExpr { op, left, right }))
    }
}

fn compares(op: &BinaryOperator) -> bool {
    matches!(
        op,
        BinaryOperator::Eq
            | BinaryOperator::NotEq
            | BinaryOperator::Lt
            | BinaryOperator::LtEq
            | BinaryOperator::Gt
            | BinaryOperator::GtEq
    )
}

/// A text constant as the type of the other side; the planner would fail on some types before any rule runs.
fn read_beside(constant: Expr, other: &Expr, schema: &DFSchema) -> Result<Expr> {
    let Expr::Literal(ScalarValue::Utf8(Some(text)), metadata) = &constant else {
        return Ok(constant);
    };
    let data_type = other.get_type(schema).unwrap_or(DataType::Utf8);
    match text_as(text, &data_type)? {
        Some(value) => Ok(Expr::Literal(value, metadata.clone())),
        None => Ok(constant),
    }
}
