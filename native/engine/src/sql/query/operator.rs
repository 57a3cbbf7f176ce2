//! pgvector's operators, and comparisons of uuid columns with text.

use arrow::datatypes::DataType;
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::{Expr, ExprSchemable};
use datafusion::sql::sqlparser::ast::BinaryOperator;

use crate::sql::function::{DistanceKind, distance, parse_uuid};

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
            return Ok(PlannerResult::Planned(distance(kind, raw.left, raw.right)));
        }
        let RawBinaryExpr { op, left, right } = raw;
        let left_is_uuid = is_uuid(&left, schema);
        let right_is_uuid = is_uuid(&right, schema);
        let left = if right_is_uuid {
            read_uuid(left)?
        } else {
            left
        };
        let right = if left_is_uuid {
            read_uuid(right)?
        } else {
            right
        };
        Ok(PlannerResult::Original(RawBinaryExpr { op, left, right }))
    }
}

fn is_uuid(expression: &Expr, schema: &DFSchema) -> bool {
    matches!(expression, Expr::Column(_))
        && expression
            .get_type(schema)
            .is_ok_and(|data_type| data_type == DataType::FixedSizeBinary(16))
}

/// A text literal beside a uuid column is a uuid.
fn read_uuid(expression: Expr) -> Result<Expr> {
    match expression {
        Expr::Literal(ScalarValue::Utf8(Some(text)), metadata) => {
            let bytes = parse_uuid(&text)?;
            Ok(Expr::Literal(
                ScalarValue::FixedSizeBinary(16, Some(bytes.to_vec())),
                metadata,
            ))
        }
        other => Ok(other),
    }
}
