//! The canonical form of floats: -0.0 becomes 0.0 and every NaN one positive NaN, which the engine's total order
//! sorts last. Comparisons, keys and sorts over canonical floats follow PostgreSQL (law L2).

use std::sync::{Arc, LazyLock};

use arrow::array::{ArrayRef, AsArray};
use arrow::datatypes::{DataType, Float32Type, Float64Type};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

const NAME: &str = "canonical_float";

/// Wraps a float expression; literals are made canonical at once.
pub(crate) fn canonical(expression: Expr) -> Expr {
    static FUNCTION: LazyLock<Arc<ScalarUDF>> =
        LazyLock::new(|| Arc::new(ScalarUDF::from(CanonicalFloat::new())));
    match expression {
        Expr::Literal(value, metadata) => Expr::Literal(canonical_scalar(value), metadata),
        other if is_canonical(&other) => other,
        other => FUNCTION.call(vec![other]),
    }
}

/// Whether the expression is wrapped already.
pub(crate) fn is_canonical(expression: &Expr) -> bool {
    matches!(expression, Expr::ScalarFunction(call) if call.func.name() == NAME)
}

/// The canonical form of a literal.
fn canonical_scalar(value: ScalarValue) -> ScalarValue {
    match value {
        ScalarValue::Float64(Some(v)) => ScalarValue::Float64(Some(canonical_f64(v))),
        ScalarValue::Float32(Some(v)) => ScalarValue::Float32(Some(canonical_f32(v))),
        other => other,
    }
}

fn canonical_f64(value: f64) -> f64 {
    if value.is_nan() {
        f64::NAN
    } else {
        value + 0.0
    }
}

fn canonical_f32(value: f32) -> f32 {
    if value.is_nan() {
        f32::NAN
    } else {
        value + 0.0
    }
}

/// The function is opaque to the simplifier, so that no rule undoes it.
#[derive(Debug, PartialEq, Eq, Hash)]
struct CanonicalFloat {
    signature: Signature,
}

impl CanonicalFloat {
    fn new() -> Self {
        CanonicalFloat {
            signature: Signature::any(1, Volatility::Immutable),
        }
    }
}

impl ScalarUDFImpl for CanonicalFloat {
    fn name(&self) -> &str {
        NAME
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        Ok(arguments.first().cloned().unwrap_or(DataType::Null))
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let Some(argument) = arguments.args.into_iter().next() else {
            return Ok(ColumnarValue::Scalar(ScalarValue::Null));
        };
        match argument {
            ColumnarValue::Scalar(value) => Ok(ColumnarValue::Scalar(canonical_scalar(value))),
            ColumnarValue::Array(array) => Ok(ColumnarValue::Array(canonical_array(&array))),
        }
    }
}

/// The canonical form of every float of an array; other arrays pass.
pub(crate) fn canonical_array(array: &ArrayRef) -> ArrayRef {
    match array.data_type() {
        DataType::Float64 => Arc::new(
            array
                .as_primitive::<Float64Type>()
                .unary::<_, Float64Type>(canonical_f64),
        ),
        DataType::Float32 => Arc::new(
            array
                .as_primitive::<Float32Type>()
                .unary::<_, Float32Type>(canonical_f32),
        ),
        _ => Arc::clone(array),
    }
}
