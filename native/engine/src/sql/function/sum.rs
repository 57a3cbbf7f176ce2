//! `sum` over integers that fails when the result leaves the 64-bit range: rows are summed in 128 bits, so only
//! the result counts, never the order of the rows. Other types are summed by the engine's own function.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, BooleanArray, Decimal128Array, PrimitiveArray};
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Decimal128Type, Field, FieldRef, Int64Type, UInt64Type,
};
use datafusion::common::{Result, ScalarValue};
use datafusion::functions_aggregate::sum::Sum;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, EmitTo, GroupsAccumulator, ReversedUDAF, Signature,
};

use crate::error::Error;

pub(super) fn function() -> AggregateUDF {
    AggregateUDF::from(CheckedSum { inner: Sum::new() })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct CheckedSum {
    inner: Sum,
}

/// The type in which integers are summed.
fn wide_field(narrow: &FieldRef) -> FieldRef {
    Arc::new(Field::new(narrow.name(), DataType::Decimal128(38, 0), true))
}

fn is_integer(field: &FieldRef) -> bool {
    matches!(field.data_type(), DataType::Int64 | DataType::UInt64)
}

fn wide<'a>(arguments: AccumulatorArgs<'a>) -> AccumulatorArgs<'a> {
    AccumulatorArgs {
        return_field: wide_field(&arguments.return_field),
        ..arguments
    }
}

impl AggregateUDFImpl for CheckedSum {
    fn name(&self) -> &str {
        "sum"
    }

    fn signature(&self) -> &Signature {
        self.inner.signature()
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        self.inner.return_type(arguments)
    }

    fn state_fields(&self, arguments: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        if !is_integer(&arguments.return_field) {
            return self.inner.state_fields(arguments);
        }
        let return_field = wide_field(&arguments.return_field);
        self.inner.state_fields(StateFieldsArgs {
            return_field,
            ..arguments
        })
    }

    fn accumulator(&self, arguments: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        if !is_integer(&arguments.return_field) {
            return self.inner.accumulator(arguments);
        }
        let narrow = arguments.return_field.data_type().clone();
        Ok(Box::new(Wide {
            inner: self.inner.accumulator(wide(arguments))?,
            narrow,
        }))
    }

    fn create_sliding_accumulator(
        &self,
        arguments: AccumulatorArgs,
    ) -> Result<Box<dyn Accumulator>> {
        if !is_integer(&arguments.return_field) || arguments.is_distinct {
            return self.inner.create_sliding_accumulator(arguments);
        }
        let narrow = arguments.return_field.data_type().clone();
        Ok(Box::new(Wide {
            inner: self.inner.create_sliding_accumulator(wide(arguments))?,
            narrow,
        }))
    }

    fn groups_accumulator_supported(&self, arguments: AccumulatorArgs) -> bool {
        self.inner.groups_accumulator_supported(arguments)
    }

    fn create_groups_accumulator(
        &self,
        arguments: AccumulatorArgs,
    ) -> Result<Box<dyn GroupsAccumulator>> {
        if !is_integer(&arguments.return_field) {
            return self.inner.create_groups_accumulator(arguments);
        }
        let narrow = arguments.return_field.data_type().clone();
        Ok(Box::new(WideGroups {
            inner: self.inner.create_groups_accumulator(wide(arguments))?,
            narrow,
        }))
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        self.inner.reverse_expr()
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        self.inner.order_sensitivity()
    }
}

fn widen_all(values: &[ArrayRef]) -> Result<Vec<ArrayRef>> {
    values.iter().map(widen).collect()
}

fn widen(values: &ArrayRef) -> Result<ArrayRef> {
    let decimals: Decimal128Array = match values.data_type() {
        DataType::Int64 => values.as_primitive::<Int64Type>().unary(i128::from),
        DataType::UInt64 => values.as_primitive::<UInt64Type>().unary(i128::from),
        other => return Err(Error::internal(format!("sum of integers got {other}")).into()),
    };
    Ok(Arc::new(decimals.with_precision_and_scale(38, 0)?))
}

fn out_of_range() -> Error {
    Error::invalid_input("sum of integers is out of range")
}

fn narrow_array(values: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    fn narrowed<T: ArrowPrimitiveType>(values: &ArrayRef) -> Result<ArrayRef>
    where
        T::Native: TryFrom<i128>,
    {
        let decimals = values.as_primitive::<Decimal128Type>();
        let narrow: PrimitiveArray<T> =
            decimals.try_unary(|value| T::Native::try_from(value).map_err(|_| out_of_range()))?;
        Ok(Arc::new(narrow))
    }
    match to {
        DataType::UInt64 => narrowed::<UInt64Type>(values),
        _ => narrowed::<Int64Type>(values),
    }
}

/// One sum.
#[derive(Debug)]
struct Wide {
    inner: Box<dyn Accumulator>,
    narrow: DataType,
}

impl Accumulator for Wide {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.inner.update_batch(&widen_all(values)?)
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let sum = self.inner.evaluate()?.to_array()?;
        ScalarValue::try_from_array(&narrow_array(&sum, &self.narrow)?, 0)
    }

    fn size(&self) -> usize {
        self.inner.size()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.inner.state()
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.inner.merge_batch(states)
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.inner.retract_batch(&widen_all(values)?)
    }

    fn supports_retract_batch(&self) -> bool {
        self.inner.supports_retract_batch()
    }
}

/// A sum per group.
struct WideGroups {
    inner: Box<dyn GroupsAccumulator>,
    narrow: DataType,
}

impl GroupsAccumulator for WideGroups {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        group_count: usize,
    ) -> Result<()> {
        self.inner
            .update_batch(&widen_all(values)?, groups, filter, group_count)
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        narrow_array(&self.inner.evaluate(emit)?, &self.narrow)
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        self.inner.state(emit)
    }

    fn merge_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        group_count: usize,
    ) -> Result<()> {
        self.inner.merge_batch(values, groups, filter, group_count)
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        self.inner.convert_to_state(&widen_all(values)?, filter)
    }

    fn supports_convert_to_state(&self) -> bool {
        self.inner.supports_convert_to_state()
    }

    fn size(&self) -> usize {
        self.inner.size()
    }
}
