//! Rows of metadata tables as trees of values, and the Arrow columns that they become.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, FixedSizeBinaryArray,
    Float32Array, Float64Array, Int32Array, Int64Array, ListArray, MapArray, RecordBatch,
    StringArray, StructArray, Time64MicrosecondArray, TimestampMicrosecondArray,
};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::{DataType, FieldRef, Fields, SchemaRef, TimeUnit};

use crate::error::{Error, Result};
use crate::iceberg::schema::Schema;
use crate::iceberg::value::Value;

/// One value of a metadata table.
#[derive(Clone, Debug)]
pub(super) enum Cell {
    Null,
    Value(Value),
    Struct(Vec<Cell>),
    List(Vec<Cell>),
    Map(Vec<(Cell, Cell)>),
}

/// A cell for each column of the schema.
pub(super) type Row = Vec<Cell>;

const MICROS_PER_MILLI: i64 = 1_000;

impl Cell {
    pub(super) fn text(text: impl Into<String>) -> Cell {
        Cell::Value(Value::String(text.into()))
    }

    /// A time in milliseconds as a timestamp with time zone.
    pub(super) fn time(time_ms: i64) -> Cell {
        Cell::Value(Value::TimestampTz(time_ms.saturating_mul(MICROS_PER_MILLI)))
    }

    /// A count in a column of type int; one beyond it is absent.
    pub(super) fn int(count: impl TryInto<i32>) -> Cell {
        count.try_into().ok().into()
    }

    /// A count in a column of type long; one beyond it is absent.
    pub(super) fn long(count: impl TryInto<i64>) -> Cell {
        count.try_into().ok().into()
    }
}

impl From<Option<Value>> for Cell {
    fn from(value: Option<Value>) -> Cell {
        value.map_or(Cell::Null, Cell::Value)
    }
}

impl From<Option<i32>> for Cell {
    fn from(value: Option<i32>) -> Cell {
        value.map(Value::Int).into()
    }
}

impl From<Option<i64>> for Cell {
    fn from(value: Option<i64>) -> Cell {
        value.map(Value::Long).into()
    }
}

impl From<Option<bool>> for Cell {
    fn from(value: Option<bool>) -> Cell {
        value.map(Value::Boolean).into()
    }
}

impl From<Option<String>> for Cell {
    fn from(value: Option<String>) -> Cell {
        value.map(Value::String).into()
    }
}

impl From<Option<Vec<u8>>> for Cell {
    fn from(value: Option<Vec<u8>>) -> Cell {
        value.map(Value::Binary).into()
    }
}

/// Rows as a batch. Errors: Internal for a cell that is none of its column's type.
pub(super) fn batch(
    schema: &Schema,
    arrow_schema: &SchemaRef,
    rows: &[Row],
) -> Result<RecordBatch> {
    let mut columns = Vec::with_capacity(schema.fields.len());
    for (index, field) in arrow_schema.fields().iter().enumerate() {
        let cells: Vec<&Cell> = rows
            .iter()
            .map(|row| row.get(index).unwrap_or(&Cell::Null))
            .collect();
        columns.push(column(field, &cells)?);
    }
    Ok(RecordBatch::try_new(Arc::clone(arrow_schema), columns)?)
}

fn column(field: &FieldRef, cells: &[&Cell]) -> Result<ArrayRef> {
    match field.data_type() {
        DataType::Struct(fields) => structs(fields, cells),
        DataType::List(element) => {
            let (offsets, valid, items) = nested(cells, items_of);
            Ok(Arc::new(ListArray::try_new(
                Arc::clone(element),
                offsets,
                column(element, &items)?,
                Some(valid),
            )?))
        }
        DataType::Map(entries, sorted) => {
            let (offsets, valid, pairs) = nested(cells, pairs_of);
            let DataType::Struct(fields) = entries.data_type() else {
                return Err(Error::internal("a map without a struct of entries"));
            };
            let keys: Vec<&Cell> = pairs.iter().map(|(key, _)| key).collect();
            let values: Vec<&Cell> = pairs.iter().map(|(_, value)| value).collect();
            let mut arrays = Vec::new();
            for (field, cells) in fields.iter().zip([keys, values]) {
                arrays.push(column(field, &cells)?);
            }
            let entries_array = StructArray::try_new(fields.clone(), arrays, None)?;
            Ok(Arc::new(MapArray::try_new(
                Arc::clone(entries),
                offsets,
                entries_array,
                Some(valid),
                *sorted,
            )?))
        }
        _ => primitives(field, cells),
    }
}

fn items_of(cell: &Cell) -> Option<Vec<&Cell>> {
    match cell {
        Cell::List(items) => Some(items.iter().collect()),
        _ => None,
    }
}

fn pairs_of(cell: &Cell) -> Option<Vec<&(Cell, Cell)>> {
    match cell {
        Cell::Map(pairs) => Some(pairs.iter().collect()),
        _ => None,
    }
}

/// Offsets, validity and items of lists or maps.
fn nested<'a, T>(
    cells: &[&'a Cell],
    inner: impl Fn(&'a Cell) -> Option<Vec<&'a T>>,
) -> (OffsetBuffer<i32>, NullBuffer, Vec<&'a T>) {
    let lists: Vec<Option<Vec<&T>>> = cells.iter().map(|cell| inner(cell)).collect();
    let offsets = OffsetBuffer::from_lengths(lists.iter().map(|l| l.as_ref().map_or(0, Vec::len)));
    let valid = lists.iter().map(Option::is_some).collect::<NullBuffer>();
    (
        offsets,
        valid,
        lists.into_iter().flatten().flatten().collect(),
    )
}

fn structs(fields: &Fields, cells: &[&Cell]) -> Result<ArrayRef> {
    let valid = cells
        .iter()
        .map(|cell| matches!(cell, Cell::Struct(_)))
        .collect::<NullBuffer>();
    let mut arrays = Vec::with_capacity(fields.len());
    for (index, field) in fields.iter().enumerate() {
        let members: Vec<&Cell> = cells
            .iter()
            .map(|cell| match cell {
                Cell::Struct(members) => members.get(index).unwrap_or(&Cell::Null),
                _ => &Cell::Null,
            })
            .collect();
        arrays.push(column(field, &members)?);
    }
    Ok(Arc::new(StructArray::try_new_with_length(
        fields.clone(),
        arrays,
        Some(valid),
        cells.len(),
    )?))
}

/// The values of one type among the cells; NULL where a cell is NULL.
macro_rules! values {
    ($cells:expr, $($pattern:pat => $value:expr),+) => {
        $cells.iter().map(|cell| match cell {
            $(Cell::Value($pattern) => Some($value),)+
            _ => None,
        })
    };
}

fn primitives(field: &FieldRef, cells: &[&Cell]) -> Result<ArrayRef> {
    let array: ArrayRef = match field.data_type() {
        DataType::Boolean => {
            Arc::new(values!(cells, Value::Boolean(v) => *v).collect::<BooleanArray>())
        }
        DataType::Int32 => Arc::new(values!(cells, Value::Int(v) => *v).collect::<Int32Array>()),
        DataType::Int64 => Arc::new(values!(cells, Value::Long(v) => *v).collect::<Int64Array>()),
        DataType::Float32 => {
            Arc::new(values!(cells, Value::Float(v) => *v).collect::<Float32Array>())
        }
        DataType::Float64 => {
            Arc::new(values!(cells, Value::Double(v) => *v).collect::<Float64Array>())
        }
        DataType::Decimal128(precision, scale) => {
            let values = values!(cells, Value::Decimal { unscaled, .. } => *unscaled);
            let array = values.collect::<Decimal128Array>();
            Arc::new(array.with_precision_and_scale(*precision, *scale)?)
        }
        DataType::Date32 => Arc::new(values!(cells, Value::Date(v) => *v).collect::<Date32Array>()),
        DataType::Time64(TimeUnit::Microsecond) => {
            Arc::new(values!(cells, Value::Time(v) => *v).collect::<Time64MicrosecondArray>())
        }
        DataType::Timestamp(TimeUnit::Microsecond, zone) => {
            let values = values!(cells, Value::Timestamp(v) => *v, Value::TimestampTz(v) => *v);
            let array = values.collect::<TimestampMicrosecondArray>();
            Arc::new(array.with_timezone_opt(zone.clone()))
        }
        DataType::Utf8 => {
            Arc::new(values!(cells, Value::String(v) => v.as_str()).collect::<StringArray>())
        }
        DataType::Binary => {
            Arc::new(values!(cells, Value::Binary(v) => v.as_slice()).collect::<BinaryArray>())
        }
        DataType::FixedSizeBinary(length) => {
            let values =
                values!(cells, Value::Fixed(v) => v.as_slice(), Value::Uuid(v) => v.as_slice());
            Arc::new(FixedSizeBinaryArray::try_from_sparse_iter_with_size(
                values, *length,
            )?)
        }
        other => {
            return Err(Error::internal(format!(
                "metadata column {} of type {other}",
                field.name()
            )));
        }
    };
    Ok(array)
}
