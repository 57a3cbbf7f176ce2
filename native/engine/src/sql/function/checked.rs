//! Integer arithmetic that fails on overflow instead of wrapping.

use std::sync::{Arc, LazyLock};

use arrow::array::{ArrayRef, Datum};
use arrow::compute::kernels::numeric;
use arrow::datatypes::DataType;
use arrow::error::ArrowError;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{
    ColumnarValue, Expr, Operator, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};

use crate::error::Error;

/// `left operator right` over integers of one type, if the operator can overflow.
pub(crate) fn checked(operator: Operator, left: Expr, right: Expr) -> Option<Expr> {
    static ADD: LazyLock<Arc<ScalarUDF>> =
        LazyLock::new(|| Checked::function("checked_add", Operator::Plus));
    static SUBTRACT: LazyLock<Arc<ScalarUDF>> =
        LazyLock::new(|| Checked::function("checked_subtract", Operator::Minus));
    static MULTIPLY: LazyLock<Arc<ScalarUDF>> =
        LazyLock::new(|| Checked::function("checked_multiply", Operator::Multiply));
    let function = match operator {
        Operator::Plus => &ADD,
        Operator::Minus => &SUBTRACT,
        Operator::Multiply => &MULTIPLY,
        _ => return None,
    };
    Some(function.call(vec![left, right]))
}

/// Whether an expression is checked arithmetic, and so an integer.
pub(crate) fn is_checked(expression: &Expr) -> bool {
    matches!(expression, Expr::ScalarFunction(call) if call.func.inner().is::<Checked>())
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Checked {
    name: &'static str,
    operator: Operator,
    signature: Signature,
}

impl Checked {
    fn function(name: &'static str, operator: Operator) -> Arc<ScalarUDF> {
        let signature = Signature::any(2, Volatility::Immutable);
        Arc::new(ScalarUDF::from(Checked {
            name,
            operator,
            signature,
        }))
    }

    fn apply(&self, left: &dyn Datum, right: &dyn Datum) -> Result<ArrayRef> {
        let result = match self.operator {
            Operator::Plus => numeric::add(left, right),
            Operator::Minus => numeric::sub(left, right),
            _ => numeric::mul(left, right),
        };
        result.map_err(|error| match error {
            ArrowError::ArithmeticOverflow(_) => {
                let data_type = left.get().0.data_type();
                Error::invalid_input(format!("{data_type} out of range in a {} b", self.operator))
                    .into()
            }
            other => other.into(),
        })
    }
}

impl ScalarUDFImpl for Checked {
    fn name(&self) -> &str {
        self.name
    }

    fn schema_name(&self, arguments: &[Expr]) -> Result<String> {
        match arguments {
            [left, right] => Ok(format!(
                "{} {} {}",
                left.schema_name(),
                self.operator,
                right.schema_name()
            )),
            _ => Ok(self.name.to_string()),
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        Ok(arguments.first().cloned().unwrap_or(DataType::Null))
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match arguments.args.as_slice() {
            [ColumnarValue::Array(left), ColumnarValue::Array(right)] => {
                Ok(ColumnarValue::Array(self.apply(left, right)?))
            }
            [ColumnarValue::Array(left), ColumnarValue::Scalar(right)] => {
                Ok(ColumnarValue::Array(self.apply(left, &right.to_scalar()?)?))
            }
            [ColumnarValue::Scalar(left), ColumnarValue::Array(right)] => {
                Ok(ColumnarValue::Array(self.apply(&left.to_scalar()?, right)?))
            }
            [ColumnarValue::Scalar(left), ColumnarValue::Scalar(right)] => {
                let result = self.apply(&left.to_scalar()?, &right.to_scalar()?)?;
                Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(
                    &result, 0,
                )?))
            }
            _ => Err(Error::internal(format!("{} takes two arguments", self.name)).into()),
        }
    }
}
