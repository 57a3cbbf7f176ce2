//! Vector values: pgvector's text form, casts to `vector` and `vector(n)`, and views over list arrays.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, FixedSizeListArray, Float32Array, ListArray};
use arrow::buffer::OffsetBuffer;
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, FieldRef, Float32Type};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use crate::error::Error;

/// The function behind `'[..]'::vector`.
pub(crate) const TO_VECTOR: &str = "to_vector";

/// The longest vector text that is read.
const DIMENSION_MAX: usize = 65_536;

/// The type of a vector value.
pub(crate) fn vector_type() -> DataType {
    DataType::List(element())
}

fn element() -> FieldRef {
    Arc::new(Field::new("element", DataType::Float32, true))
}

/// Reads `[1, 2.5, -3e2]`. Errors: InvalidInput for anything else, for NaN and infinities, and for no element.
pub(crate) fn parse_vector(text: &str) -> Result<Vec<f32>, Error> {
    let shown = || text.chars().take(40).collect::<String>();
    let inner = text
        .trim()
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    let Some(inner) = inner else {
        return Err(Error::invalid_input(format!(
            "invalid vector '{}': expected [x, y, ..]",
            shown()
        )));
    };
    let mut values = Vec::new();
    for part in inner.split(',') {
        let value: f32 = part.trim().parse().map_err(|_| {
            Error::invalid_input(format!(
                "invalid vector '{}': element '{}'",
                shown(),
                part.trim()
            ))
        })?;
        if !value.is_finite() {
            return Err(Error::invalid_input(format!(
                "vector element {} is not finite",
                part.trim()
            )));
        }
        if values.len() == DIMENSION_MAX {
            return Err(Error::resource_exhausted(format!(
                "vector of more than {DIMENSION_MAX} elements"
            )));
        }
        values.push(value);
    }
    Ok(values)
}

/// A vector literal.
pub(crate) fn vector_literal(values: Vec<f32>) -> Expr {
    Expr::Literal(ScalarValue::List(Arc::new(list_of(values))), None)
}

fn list_of(values: Vec<f32>) -> ListArray {
    let offsets = OffsetBuffer::from_lengths([values.len()]);
    ListArray::new(
        element(),
        offsets,
        Arc::new(Float32Array::from(values)),
        None,
    )
}

/// The elements of a constant vector: a list of numbers without NULL, or a string in pgvector's form.
pub(crate) fn scalar_vector(value: &ScalarValue) -> Result<Option<Vec<f32>>, Error> {
    let array: ArrayRef = match value {
        ScalarValue::Utf8(text) | ScalarValue::LargeUtf8(text) | ScalarValue::Utf8View(text) => {
            return text.as_deref().map(parse_vector).transpose();
        }
        ScalarValue::List(list) if !list.is_null(0) => list.value(0),
        ScalarValue::LargeList(list) if !list.is_null(0) => list.value(0),
        ScalarValue::FixedSizeList(list) if !list.is_null(0) => list.value(0),
        _ => return Ok(None),
    };
    let floats = cast(&array, &DataType::Float32)?;
    if floats.null_count() > 0 {
        return Ok(None);
    }
    Ok(Some(floats.as_primitive::<Float32Type>().values().to_vec()))
}

/// Rows of a list array as slices of floats.
pub(super) enum VectorRows<'a> {
    List {
        list: &'a ListArray,
        values: &'a Float32Array,
    },
    Fixed {
        list: &'a FixedSizeListArray,
        values: &'a Float32Array,
    },
}

impl<'a> VectorRows<'a> {
    /// Views an array of a type that `coerce` gave.
    pub(super) fn new(array: &'a ArrayRef) -> Result<Self> {
        let wrong = || Error::internal(format!("not a vector column: {}", array.data_type()));
        match array.data_type() {
            DataType::List(_) => {
                let list = array.as_list::<i32>();
                let values = list
                    .values()
                    .as_primitive_opt::<Float32Type>()
                    .ok_or_else(wrong)?;
                Ok(VectorRows::List { list, values })
            }
            DataType::FixedSizeList(..) => {
                let list = array.as_fixed_size_list();
                let values = list
                    .values()
                    .as_primitive_opt::<Float32Type>()
                    .ok_or_else(wrong)?;
                Ok(VectorRows::Fixed { list, values })
            }
            _ => Err(wrong().into()),
        }
    }

    /// The floats of a row; None for a NULL row and for one that holds a NULL element.
    pub(super) fn row(&self, row: usize) -> Option<&'a [f32]> {
        let (null, values, start, length) = match self {
            VectorRows::List { list, values } => {
                let start = usize::try_from(*list.value_offsets().get(row)?).ok()?;
                (
                    list.is_null(row),
                    values,
                    start,
                    usize::try_from(list.value_length(row)).ok()?,
                )
            }
            VectorRows::Fixed { list, values } => {
                let start = usize::try_from(list.value_offset(row)).ok()?;
                (
                    list.is_null(row),
                    values,
                    start,
                    usize::try_from(list.value_length()).ok()?,
                )
            }
        };
        if null {
            return None;
        }
        let holed = values
            .nulls()
            .is_some_and(|nulls| nulls.slice(start, length).null_count() > 0);
        if holed {
            None
        } else {
            values.values().get(start..start + length)
        }
    }
}

/// The type an argument is cast to before a vector function sees it: list columns of floats stay as they are.
pub(super) fn coerce(function: &str, argument: &DataType) -> Result<DataType> {
    match argument {
        DataType::List(field) | DataType::FixedSizeList(field, _)
            if field.data_type() == &DataType::Float32 =>
        {
            Ok(argument.clone())
        }
        DataType::List(field) | DataType::LargeList(field) | DataType::FixedSizeList(field, _)
            if field.data_type().is_numeric() || field.data_type().is_null() =>
        {
            Ok(vector_type())
        }
        DataType::Null => Ok(vector_type()),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Ok(DataType::Utf8),
        other => Err(Error::invalid_input(format!("{function}: {other} is no vector")).into()),
    }
}

/// Turns text arguments into vectors; other arguments pass.
pub(super) fn read_text(argument: &ColumnarValue) -> Result<ColumnarValue> {
    match argument {
        ColumnarValue::Scalar(ScalarValue::Utf8(text)) => {
            let list = match text {
                Some(text) => list_of(parse_vector(text)?),
                None => ListArray::new_null(element(), 1),
            };
            Ok(ColumnarValue::Scalar(ScalarValue::List(Arc::new(list))))
        }
        ColumnarValue::Array(array) if array.data_type() == &DataType::Utf8 => {
            let rows = array
                .as_string::<i32>()
                .iter()
                .map(|text| text.map(parse_vector).transpose())
                .collect::<Result<Vec<_>, Error>>()?;
            let nulls = rows.iter().map(Option::is_some).collect::<Vec<bool>>();
            let offsets =
                OffsetBuffer::from_lengths(rows.iter().map(|row| row.as_ref().map_or(0, Vec::len)));
            let values = Float32Array::from_iter_values(rows.into_iter().flatten().flatten());
            let list =
                ListArray::try_new(element(), offsets, Arc::new(values), Some(nulls.into()))?;
            Ok(ColumnarValue::Array(Arc::new(list)))
        }
        other => Ok(other.clone()),
    }
}

pub(super) fn functions() -> Vec<Arc<ScalarUDF>> {
    [
        VectorFunction::ToVector,
        VectorFunction::Dimensions,
        VectorFunction::Norm,
    ]
    .into_iter()
    .map(|function| {
        let signature = Signature::user_defined(Volatility::Immutable);
        Arc::new(ScalarUDF::from(OfVector {
            function,
            signature,
        }))
    })
    .collect()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum VectorFunction {
    ToVector,
    Dimensions,
    Norm,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct OfVector {
    function: VectorFunction,
    signature: Signature,
}

impl ScalarUDFImpl for OfVector {
    fn name(&self) -> &str {
        match self.function {
            VectorFunction::ToVector => TO_VECTOR,
            VectorFunction::Dimensions => "vector_dims",
            VectorFunction::Norm => "vector_norm",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, arguments: &[DataType]) -> Result<Vec<DataType>> {
        match (self.function, arguments) {
            (_, [vector]) => Ok(vec![coerce(self.name(), vector)?]),
            (VectorFunction::ToVector, [vector, _]) => {
                Ok(vec![coerce(self.name(), vector)?, DataType::Int64])
            }
            _ => Err(Error::invalid_input(format!("{} takes one vector", self.name())).into()),
        }
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        match self.function {
            VectorFunction::ToVector => Ok(vector_type()),
            VectorFunction::Dimensions => Ok(DataType::Int32),
            VectorFunction::Norm => Ok(DataType::Float64),
        }
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let Some(argument) = arguments.args.first() else {
            return Err(Error::internal("no argument").into());
        };
        let constant = matches!(argument, ColumnarValue::Scalar(_));
        let array =
            read_text(argument)?.to_array(if constant { 1 } else { arguments.number_rows })?;
        let rows = VectorRows::new(&array)?;
        let result: ArrayRef = match self.function {
            VectorFunction::ToVector => {
                if let Some(ColumnarValue::Scalar(ScalarValue::Int64(Some(dimension)))) =
                    arguments.args.get(1)
                {
                    check_dimension(&rows, array.len(), *dimension)?;
                }
                cast(&array, &vector_type())?
            }
            VectorFunction::Dimensions => {
                let lengths = (0..array.len())
                    .map(|row| rows.row(row).and_then(|v| i32::try_from(v.len()).ok()));
                Arc::new(arrow::array::Int32Array::from_iter(lengths))
            }
            VectorFunction::Norm => {
                let norm = |v: &[f32]| {
                    v.iter()
                        .map(|x| f64::from(*x) * f64::from(*x))
                        .sum::<f64>()
                        .sqrt()
                };
                let norms = (0..array.len()).map(|row| rows.row(row).map(norm));
                Arc::new(arrow::array::Float64Array::from_iter(norms))
            }
        };
        if constant {
            return Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(
                &result, 0,
            )?));
        }
        Ok(ColumnarValue::Array(result))
    }
}

fn check_dimension(rows: &VectorRows<'_>, count: usize, dimension: i64) -> Result<()> {
    for row in 0..count {
        let Some(vector) = rows.row(row) else {
            continue;
        };
        if i64::try_from(vector.len()) != Ok(dimension) {
            let length = vector.len();
            return Err(Error::invalid_input(format!(
                "expected {dimension} dimensions, not {length}"
            ))
            .into());
        }
    }
    Ok(())
}
