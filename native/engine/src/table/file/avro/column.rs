//! Decodes Avro values, one row after another, into Arrow arrays. What a length claims is checked against the
//! bytes that are there before anything is allocated.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, BinaryArray, BooleanArray, FixedSizeBinaryArray, ListArray, MapArray,
    NullArray, PrimitiveArray, StringArray, StructArray,
};
use arrow::buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int32Type,
    Int64Type, Time64MicrosecondType, TimeUnit, TimestampMicrosecondType, TimestampNanosecondType,
};

use super::schema::{Branches, Node, Wire};
use crate::error::{Error, Result};
use crate::iceberg::avro::Cursor;

/// The values of one column that were read since the last array.
pub(super) struct Column {
    data_type: DataType,
    union: Option<Branches>,
    valid: Vec<bool>,
    values: Values,
}

enum Values {
    Null,
    Boolean(Vec<bool>),
    Int(Vec<i32>),
    Long(i64, Vec<i64>),
    Float(Vec<f32>),
    Double(Vec<f64>),
    /// How many bytes each takes, where that is fixed.
    Decimal(Option<usize>, Vec<i128>),
    Bytes(Varying),
    Symbols(Arc<[String]>, Varying),
    Fixed(usize, Vec<u8>),
    UuidText(Vec<u8>),
    /// The ends of the lists; the element, or key and value.
    Items(Vec<i32>, Vec<Column>),
    Record(Vec<Column>),
}

/// Values of varying length: their ends and their bytes.
#[derive(Default)]
struct Varying {
    ends: Vec<i32>,
    bytes: Vec<u8>,
}

impl Varying {
    fn push(&mut self, value: &[u8]) -> Result<()> {
        self.bytes.extend_from_slice(value);
        self.ends.push(end(self.bytes.len())?);
        Ok(())
    }
}

fn end(length: usize) -> Result<i32> {
    i32::try_from(length)
        .map_err(|_| Error::resource_exhausted("the values of a batch are longer than 2 GiB"))
}

impl Column {
    /// A decoder of `node`. Errors: Unsupported, naming the column, for a union of several types.
    pub(super) fn new(name: &str, node: &Node) -> Result<Column> {
        let nested = |nodes: &[Node]| {
            nodes
                .iter()
                .map(|node| Column::new(name, node))
                .collect::<Result<Vec<_>>>()
        };
        let values = match (&node.wire, &node.data_type) {
            (Wire::Null, _) => Values::Null,
            (Wire::Boolean, _) => Values::Boolean(Vec::new()),
            (Wire::Int, _) => Values::Int(Vec::new()),
            (Wire::Long(factor), _) => Values::Long(*factor, Vec::new()),
            (Wire::Float, _) => Values::Float(Vec::new()),
            (Wire::Double, _) => Values::Double(Vec::new()),
            (Wire::Bytes, DataType::Decimal128(..)) => Values::Decimal(None, Vec::new()),
            (Wire::Fixed(n), DataType::Decimal128(..)) => Values::Decimal(Some(*n), Vec::new()),
            (Wire::Bytes, DataType::FixedSizeBinary(_)) => Values::UuidText(Vec::new()),
            (Wire::Bytes, _) => Values::Bytes(Varying::default()),
            (Wire::Fixed(n), _) => Values::Fixed(*n, Vec::new()),
            (Wire::Enum(symbols), _) => Values::Symbols(Arc::clone(symbols), Varying::default()),
            (Wire::Items(nodes), _) => Values::Items(Vec::new(), nested(nodes)?),
            (Wire::Record(nodes), _) => Values::Record(nested(nodes)?),
            (Wire::Union, _) => {
                return Err(Error::unsupported(format!(
                    "column '{name}' is an Avro union of several types, which Iceberg has no type for"
                )));
            }
        };
        Ok(Column {
            data_type: node.data_type.clone(),
            union: node.union,
            valid: Vec::new(),
            values,
        })
    }

    /// About how many bytes are held.
    pub(super) fn size(&self) -> usize {
        match &self.values {
            Values::Null => 0,
            Values::Boolean(v) => v.len(),
            Values::Int(v) => v.len() * 4,
            Values::Long(_, v) => v.len() * 8,
            Values::Float(v) => v.len() * 4,
            Values::Double(v) => v.len() * 8,
            Values::Decimal(_, v) => v.len() * 16,
            Values::Bytes(v) | Values::Symbols(_, v) => v.bytes.len() + v.ends.len() * 4,
            Values::Fixed(_, v) | Values::UuidText(v) => v.len(),
            Values::Items(ends, children) => {
                ends.len() * 4 + children.iter().map(Column::size).sum::<usize>()
            }
            Values::Record(children) => children.iter().map(Column::size).sum(),
        }
    }

    /// Reads the next value.
    pub(super) fn read(&mut self, cursor: &mut Cursor<'_>) -> Result<()> {
        if let Some(branches) = self.union {
            let branch = cursor.long()?;
            if Some(branch) == branches.null {
                return self.push_null();
            }
            if branch != branches.value {
                return Err(Error::corrupt(format!(
                    "avro: a union has no branch {branch}"
                )));
            }
        }
        self.valid.push(!matches!(self.values, Values::Null));
        match &mut self.values {
            Values::Null => {}
            Values::Boolean(v) => v.push(cursor.boolean()?),
            Values::Int(v) => v.push(cursor.int()?),
            Values::Long(factor, v) => {
                let value = cursor.long()?.checked_mul(*factor);
                v.push(value.ok_or_else(|| Error::corrupt("avro: a time is out of range"))?);
            }
            Values::Float(v) => v.push(f32::from_le_bytes(cursor.array()?)),
            Values::Double(v) => v.push(f64::from_le_bytes(cursor.array()?)),
            Values::Decimal(width, v) => {
                let bytes = match width {
                    Some(width) => cursor.take(*width)?,
                    None => cursor.bytes()?,
                };
                v.push(decimal(bytes, &self.data_type)?);
            }
            Values::Bytes(v) => v.push(cursor.bytes()?)?,
            Values::Symbols(symbols, v) => {
                let index = usize::try_from(cursor.long()?).ok();
                let symbol = index.and_then(|index| symbols.get(index));
                let symbol =
                    symbol.ok_or_else(|| Error::corrupt("avro: an enum has no such symbol"))?;
                v.push(symbol.as_bytes())?;
            }
            Values::Fixed(size, v) => v.extend_from_slice(cursor.take(*size)?),
            Values::UuidText(v) => {
                let uuid = uuid::Uuid::parse_str(cursor.str()?)
                    .map_err(|e| Error::corrupt(format!("avro: a uuid: {e}")))?;
                v.extend_from_slice(uuid.as_bytes());
            }
            Values::Items(ends, children) => {
                let mut count = usize::try_from(ends.last().copied().unwrap_or(0)).unwrap_or(0);
                cursor.items(|cursor| {
                    count += 1;
                    end(count)?;
                    children.iter_mut().try_for_each(|child| child.read(cursor))
                })?;
                ends.push(end(count)?);
            }
            Values::Record(children) => {
                children
                    .iter_mut()
                    .try_for_each(|child| child.read(cursor))?;
            }
        }
        Ok(())
    }

    fn push_null(&mut self) -> Result<()> {
        self.valid.push(false);
        match &mut self.values {
            Values::Null => {}
            Values::Boolean(v) => v.push(false),
            Values::Int(v) => v.push(0),
            Values::Long(_, v) => v.push(0),
            Values::Float(v) => v.push(0.0),
            Values::Double(v) => v.push(0.0),
            Values::Decimal(_, v) => v.push(0),
            Values::Bytes(v) | Values::Symbols(_, v) => v.push(&[])?,
            Values::Fixed(size, v) => v.resize(v.len() + *size, 0),
            Values::UuidText(v) => v.resize(v.len() + 16, 0),
            Values::Items(ends, _) => ends.push(ends.last().copied().unwrap_or(0)),
            Values::Record(children) => children.iter_mut().try_for_each(Column::push_null)?,
        }
        Ok(())
    }

    /// The values that were read, which are then forgotten.
    pub(super) fn finish(&mut self) -> Result<ArrayRef> {
        let valid = std::mem::take(&mut self.valid);
        let rows = valid.len();
        let nulls = Some(NullBuffer::from(valid)).filter(|nulls| nulls.null_count() > 0);
        let data_type = &self.data_type;
        let damaged = |e| Error::corrupt(format!("avro: {e}"));
        Ok(match &mut self.values {
            Values::Null => Arc::new(NullArray::new(rows)),
            Values::Boolean(v) => Arc::new(BooleanArray::new(std::mem::take(v).into(), nulls)),
            Values::Int(v) => match data_type {
                DataType::Date32 => primitive::<Date32Type>(v, nulls, data_type)?,
                _ => primitive::<Int32Type>(v, nulls, data_type)?,
            },
            Values::Long(_, v) => long_array(v, nulls, data_type)?,
            Values::Float(v) => primitive::<Float32Type>(v, nulls, data_type)?,
            Values::Double(v) => primitive::<Float64Type>(v, nulls, data_type)?,
            Values::Decimal(_, v) => primitive::<Decimal128Type>(v, nulls, data_type)?,
            Values::Bytes(v) | Values::Symbols(_, v) => {
                let offsets = offsets(&mut v.ends);
                let bytes = Buffer::from_vec(std::mem::take(&mut v.bytes));
                match data_type {
                    DataType::Utf8 => {
                        Arc::new(StringArray::try_new(offsets, bytes, nulls).map_err(damaged)?)
                    }
                    _ => Arc::new(BinaryArray::try_new(offsets, bytes, nulls).map_err(damaged)?),
                }
            }
            Values::Fixed(_, v) | Values::UuidText(v) => {
                let DataType::FixedSizeBinary(width) = data_type else {
                    return Err(mismatch(data_type));
                };
                let bytes = Buffer::from_vec(std::mem::take(v));
                Arc::new(FixedSizeBinaryArray::try_new(*width, bytes, nulls)?)
            }
            Values::Items(ends, children) => {
                let arrays = children
                    .iter_mut()
                    .map(Column::finish)
                    .collect::<Result<Vec<_>>>()?;
                items_array(offsets(ends), arrays, nulls, data_type)?
            }
            Values::Record(children) => {
                let arrays = children
                    .iter_mut()
                    .map(Column::finish)
                    .collect::<Result<Vec<_>>>()?;
                let DataType::Struct(fields) = data_type else {
                    return Err(mismatch(data_type));
                };
                Arc::new(StructArray::try_new_with_length(
                    fields.clone(),
                    arrays,
                    nulls,
                    rows,
                )?)
            }
        })
    }
}

fn mismatch(data_type: &DataType) -> Error {
    Error::internal(format!("avro: values written otherwise than {data_type}"))
}

/// Offsets from ends that never fall.
fn offsets(ends: &mut Vec<i32>) -> OffsetBuffer<i32> {
    let offsets: Vec<i32> = std::iter::once(0).chain(ends.drain(..)).collect();
    OffsetBuffer::new(ScalarBuffer::from(offsets))
}

fn primitive<T: ArrowPrimitiveType>(
    values: &mut Vec<T::Native>,
    nulls: Option<NullBuffer>,
    data_type: &DataType,
) -> Result<ArrayRef> {
    let array = PrimitiveArray::<T>::try_new(std::mem::take(values).into(), nulls)?;
    Ok(Arc::new(array.with_data_type(data_type.clone())))
}

fn long_array(
    values: &mut Vec<i64>,
    nulls: Option<NullBuffer>,
    data_type: &DataType,
) -> Result<ArrayRef> {
    match data_type {
        DataType::Time64(_) => primitive::<Time64MicrosecondType>(values, nulls, data_type),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            primitive::<TimestampNanosecondType>(values, nulls, data_type)
        }
        DataType::Timestamp(..) => primitive::<TimestampMicrosecondType>(values, nulls, data_type),
        _ => primitive::<Int64Type>(values, nulls, data_type),
    }
}

/// Big-endian two's complement. Errors: Corrupt beyond the type's precision.
fn decimal(bytes: &[u8], data_type: &DataType) -> Result<i128> {
    let DataType::Decimal128(precision, _) = data_type else {
        return Err(mismatch(data_type));
    };
    let negative = bytes.first().is_some_and(|first| *first >= 0x80);
    let filler = if negative { 0xff } else { 0 };
    let (head, tail) = bytes.split_at(bytes.len().saturating_sub(16));
    let mut wide = [filler; 16];
    for (place, byte) in wide.iter_mut().rev().zip(tail.iter().rev()) {
        *place = *byte;
    }
    let value = i128::from_be_bytes(wide);
    let limit = 10i128.pow(u32::from(*precision).min(38));
    let fits = head.iter().all(|byte| *byte == filler) && (value < 0) == negative;
    if !fits || value <= -limit || value >= limit {
        return Err(Error::corrupt(format!(
            "avro: a decimal does not fit its type {data_type}"
        )));
    }
    Ok(value)
}

fn items_array(
    offsets: OffsetBuffer<i32>,
    mut arrays: Vec<ArrayRef>,
    nulls: Option<NullBuffer>,
    data_type: &DataType,
) -> Result<ArrayRef> {
    match data_type {
        DataType::List(element) => {
            let values = arrays.pop().ok_or_else(|| mismatch(data_type))?;
            let element = Arc::clone(element);
            Ok(Arc::new(ListArray::try_new(
                element, offsets, values, nulls,
            )?))
        }
        DataType::Map(entries, sorted) => {
            let DataType::Struct(pair) = entries.data_type() else {
                return Err(mismatch(data_type));
            };
            if arrays.first().is_some_and(|keys| keys.null_count() > 0) {
                return Err(Error::corrupt("avro: a map has a key that is NULL"));
            }
            let pairs = StructArray::try_new(pair.clone(), arrays, None)?;
            let entries = Arc::clone(entries);
            Ok(Arc::new(MapArray::try_new(
                entries, offsets, pairs, nulls, *sorted,
            )?))
        }
        _ => Err(mismatch(data_type)),
    }
}
