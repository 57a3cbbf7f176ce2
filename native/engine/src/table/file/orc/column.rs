//! Decodes the columns of one stripe into Arrow arrays. Streams hold no value for a NULL, and none for what
//! lies below a NULL, so every read says which of its slots are there. Memory grows with decoded values, never
//! with what a length claims.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, BinaryArray, BooleanArray, FixedSizeBinaryArray, ListArray, MapArray,
    NullArray, PrimitiveArray, StringArray, StructArray,
};
use arrow::buffer::{Buffer, NullBuffer, OffsetBuffer};
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Date32Type, Decimal128Type, Field, Float32Type, Float64Type,
    Int32Type, Int64Type, Time64MicrosecondType, TimeUnit, TimestampMicrosecondType,
    TimestampNanosecondType,
};

use super::footer::{Kind, Role, StripeFooter, TypeNode};
use super::run::{Bits, ByteRuns, Integers, bad_length, length_of};
use super::stream::{Compression, Stream};
use super::time::{Zone, timestamps};
use crate::error::{Error, Result};

/// The streams of one stripe that were read.
pub(super) struct Streams<'a> {
    pub(super) footer: &'a StripeFooter,
    pub(super) compression: Compression,
    pub(super) bytes: BTreeMap<(u32, Role), bytes::Bytes>,
    pub(super) zone: Zone,
}

impl Streams<'_> {
    /// A stream that is not there holds no values.
    fn get(&self, column: u32, role: Role) -> Stream {
        let bytes = self.bytes.get(&(column, role)).cloned();
        Stream::new(self.compression, bytes.unwrap_or_default())
    }

    fn integers(&self, node: &TypeNode, role: Role, signed: bool, second: bool) -> Integers {
        Integers::new(self.get(node.column, role), signed, second)
    }
}

/// The decoder of one column and all below it.
pub(super) struct Column {
    present: Option<Bits>,
    values: Values,
    data_type: DataType,
}

enum Values {
    Boolean(Bits),
    Byte(ByteRuns),
    Integer(Integers),
    Float(Stream, usize),
    Bytes {
        lengths: Integers,
        data: Stream,
    },
    Dictionary {
        keys: Integers,
        entries: Entries,
    },
    Decimal {
        data: Stream,
        scales: Integers,
    },
    Timestamp {
        seconds: Integers,
        nanos: Integers,
        zone: Zone,
    },
    List {
        lengths: Integers,
        children: Vec<Column>,
    },
    Struct(Vec<Column>),
}

/// A dictionary: where each entry starts, and the bytes of all.
struct Entries {
    offsets: Vec<usize>,
    bytes: Vec<u8>,
}

impl Column {
    /// The decoder of `node`, whose arrays are of `field`'s type.
    pub(super) fn new(node: &TypeNode, field: &Field, streams: &Streams<'_>) -> Result<Column> {
        let encoding = usize::try_from(node.column)
            .ok()
            .and_then(|column| streams.footer.encodings.get(column))
            .copied()
            .ok_or_else(|| Error::corrupt("ORC: a stripe does not say how a column is written"))?;
        let second = encoding.second;
        let present = (node.column, Role::Present);
        let present = streams
            .bytes
            .contains_key(&present)
            .then(|| Bits::new(streams.get(node.column, Role::Present)));
        let data = || streams.get(node.column, Role::Data);
        let lengths = || streams.integers(node, Role::Length, false, second);
        let values = match node.kind {
            Kind::Boolean => Values::Boolean(Bits::new(data())),
            Kind::Byte => Values::Byte(ByteRuns::new(data())),
            Kind::Short | Kind::Int | Kind::Long | Kind::Date => {
                Values::Integer(streams.integers(node, Role::Data, true, second))
            }
            Kind::Float => Values::Float(data(), 4),
            Kind::Double => Values::Float(data(), 8),
            Kind::String if encoding.dictionary => Values::Dictionary {
                keys: streams.integers(node, Role::Data, false, second),
                entries: Entries::read(
                    lengths(),
                    streams.get(node.column, Role::Dictionary),
                    encoding.entries,
                )?,
            },
            Kind::String | Kind::Binary => Values::Bytes {
                lengths: lengths(),
                data: data(),
            },
            Kind::Decimal => Values::Decimal {
                data: data(),
                scales: streams.integers(node, Role::Secondary, true, second),
            },
            Kind::Timestamp | Kind::TimestampInstant => Values::Timestamp {
                seconds: streams.integers(node, Role::Data, true, second),
                nanos: streams.integers(node, Role::Secondary, false, second),
                zone: match node.kind {
                    Kind::Timestamp => streams.zone,
                    _ => Zone::default(),
                },
            },
            Kind::List | Kind::Map => Values::List {
                lengths: lengths(),
                children: children(node, field, streams)?,
            },
            Kind::Struct => Values::Struct(children(node, field, streams)?),
            Kind::Union => {
                return Err(Error::unsupported(format!(
                    "column '{}' is an ORC union, which Iceberg has no type for",
                    field.name()
                )));
            }
        };
        Ok(Column {
            present,
            values,
            data_type: field.data_type().clone(),
        })
    }

    /// The next `slots` values; below a struct, `parent` says which of them are there.
    pub(super) fn read(&mut self, slots: usize, parent: Option<&NullBuffer>) -> Result<ArrayRef> {
        let nulls = self.nulls(slots, parent)?;
        let count = slots - nulls.as_ref().map_or(0, NullBuffer::null_count);
        let data_type = &self.data_type;
        match &mut self.values {
            Values::Boolean(bits) => {
                let values = spread(bits.read(count)?, nulls.as_ref(), slots);
                Ok(Arc::new(BooleanArray::new(values.into(), nulls)))
            }
            Values::Byte(bytes) => {
                let values = bytes.read(count)?;
                let values = values.into_iter().map(|b| i64::from(b.cast_signed()));
                integers(values.collect(), nulls, slots, data_type)
            }
            Values::Integer(values) => integers(values.read(count)?, nulls, slots, data_type),
            Values::Float(stream, width) => floats(stream, *width, count, nulls, slots),
            Values::Bytes { lengths, data } => {
                let lengths = checked_lengths(&lengths.read(count)?)?;
                let total = checked_total(&lengths)?;
                let mut bytes = Vec::new();
                data.take(total, &mut bytes)?;
                byte_array(
                    bytes,
                    spread(lengths, nulls.as_ref(), slots),
                    nulls,
                    data_type,
                )
            }
            Values::Dictionary { keys, entries } => {
                let (lengths, bytes) = entries.look_up(&keys.read(count)?)?;
                byte_array(
                    bytes,
                    spread(lengths, nulls.as_ref(), slots),
                    nulls,
                    data_type,
                )
            }
            Values::Decimal { data, scales } => {
                decimals(data, scales, count, nulls, slots, data_type)
            }
            Values::Timestamp {
                seconds,
                nanos,
                zone,
            } => {
                let (seconds, nanos) = (seconds.read(count)?, nanos.read(count)?);
                timestamp_array(&seconds, &nanos, *zone, nulls, slots, data_type)
            }
            Values::List { lengths, children } => {
                let lengths = checked_lengths(&lengths.read(count)?)?;
                read_lists(lengths, children, nulls, slots, data_type)
            }
            Values::Struct(children) => {
                let arrays = children
                    .iter_mut()
                    .map(|child| child.read(slots, nulls.as_ref()))
                    .collect::<Result<Vec<_>>>()?;
                struct_array(arrays, nulls, slots, data_type)
            }
        }
    }

    /// Passes over `slots` values, all of which the parent has.
    pub(super) fn skip(&mut self, slots: usize) -> Result<()> {
        let count = match &mut self.present {
            Some(present) => present.count(slots)?,
            None => slots,
        };
        match &mut self.values {
            Values::Boolean(bits) => bits.count(count).map(drop),
            Values::Byte(bytes) => bytes.skip(count),
            Values::Integer(values) => values.skip(count),
            Values::Float(stream, width) => stream.skip(count.saturating_mul(*width)),
            Values::Bytes { lengths, data } => data.skip(lengths.skip_lengths(count)?),
            Values::Dictionary { keys, .. } => keys.skip(count),
            Values::Decimal { data, scales } => {
                for _ in 0..count {
                    data.wide()?;
                }
                scales.skip(count)
            }
            Values::Timestamp { seconds, nanos, .. } => {
                seconds.skip(count)?;
                nanos.skip(count)
            }
            Values::List { lengths, children } => {
                let total = lengths.skip_lengths(count)?;
                children.iter_mut().try_for_each(|child| child.skip(total))
            }
            Values::Struct(children) => children.iter_mut().try_for_each(|child| child.skip(count)),
        }
    }

    fn nulls(&mut self, slots: usize, parent: Option<&NullBuffer>) -> Result<Option<NullBuffer>> {
        let Some(present) = &mut self.present else {
            return Ok(parent.cloned());
        };
        let inside = slots - parent.map_or(0, NullBuffer::null_count);
        let bits = present.read(inside)?;
        let nulls = NullBuffer::from(spread(bits, parent, slots));
        Ok(Some(nulls).filter(|nulls| nulls.null_count() > 0))
    }
}

fn children(node: &TypeNode, field: &Field, streams: &Streams<'_>) -> Result<Vec<Column>> {
    let fields: Vec<&Field> = match field.data_type() {
        DataType::Struct(fields) => fields.iter().map(AsRef::as_ref).collect(),
        DataType::List(element) => vec![element.as_ref()],
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(pair) => pair.iter().map(AsRef::as_ref).collect(),
            _ => Vec::new(),
        },
        _ => Vec::new(),
    };
    if fields.len() != node.children.len() {
        return Err(Error::internal("ORC: a type and its field differ"));
    }
    node.children
        .iter()
        .zip(fields)
        .map(|(child, field)| Column::new(child, field, streams))
        .collect()
}

impl Entries {
    fn read(mut lengths: Integers, mut data: Stream, count: usize) -> Result<Entries> {
        if count > VALUES_MAX {
            return Err(too_many());
        }
        let lengths = checked_lengths(&lengths.read(count)?)?;
        let mut bytes = Vec::new();
        data.take(checked_total(&lengths)?, &mut bytes)?;
        let mut offsets = vec![0];
        let mut end = 0;
        for length in lengths {
            end += length;
            offsets.push(end);
        }
        Ok(Entries { offsets, bytes })
    }

    /// The lengths and the bytes of the values at `keys`.
    fn look_up(&self, keys: &[i64]) -> Result<(Vec<usize>, Vec<u8>)> {
        let mut lengths = Vec::with_capacity(keys.len());
        let mut bytes = Vec::new();
        for key in keys {
            let value = length_of(*key)
                .and_then(|key| Some(*self.offsets.get(key)?..*self.offsets.get(key + 1)?))
                .and_then(|range| self.bytes.get(range))
                .ok_or_else(|| Error::corrupt("ORC: a dictionary has no such entry"))?;
            lengths.push(value.len());
            bytes.extend_from_slice(value);
            if bytes.len() > OFFSET_MAX {
                return Err(too_long());
            }
        }
        Ok((lengths, bytes))
    }
}

/// The greatest offset in an Arrow array of our normal form.
const OFFSET_MAX: usize = i32::MAX as usize;

/// The most elements that the lists of one batch hold together, and the most entries of a dictionary: runs decode
/// to far more values than they take bytes.
const VALUES_MAX: usize = 1 << 27;

fn too_many() -> Error {
    Error::resource_exhausted(format!(
        "more than {VALUES_MAX} elements in the lists of a batch"
    ))
}

fn too_long() -> Error {
    Error::resource_exhausted("the values of a batch are longer than 2 GiB")
}

fn checked_lengths(lengths: &[i64]) -> Result<Vec<usize>> {
    lengths
        .iter()
        .map(|length| length_of(*length).ok_or_else(bad_length))
        .collect()
}

fn checked_total(lengths: &[usize]) -> Result<usize> {
    lengths
        .iter()
        .try_fold(0usize, |sum, length| sum.checked_add(*length))
        .filter(|total| *total <= OFFSET_MAX)
        .ok_or_else(too_long)
}

/// Puts the values into the slots that are there.
fn spread<T: Copy + Default>(values: Vec<T>, nulls: Option<&NullBuffer>, slots: usize) -> Vec<T> {
    let Some(nulls) = nulls else {
        return values;
    };
    let mut spread = vec![T::default(); slots];
    for (slot, value) in nulls.valid_indices().zip(values) {
        if let Some(place) = spread.get_mut(slot) {
            *place = value;
        }
    }
    spread
}

fn primitive<T: ArrowPrimitiveType>(
    values: Vec<T::Native>,
    nulls: Option<NullBuffer>,
    slots: usize,
    data_type: &DataType,
) -> Result<ArrayRef> {
    let values = spread(values, nulls.as_ref(), slots);
    let array = PrimitiveArray::<T>::try_new(values.into(), nulls)?;
    Ok(Arc::new(array.with_data_type(data_type.clone())))
}

fn integers(
    values: Vec<i64>,
    nulls: Option<NullBuffer>,
    slots: usize,
    data_type: &DataType,
) -> Result<ArrayRef> {
    let narrow = |values: Vec<i64>| {
        values
            .into_iter()
            .map(|v| i32::try_from(v).map_err(|_| Error::corrupt("ORC: an int exceeds 32 bits")))
            .collect::<Result<Vec<i32>>>()
    };
    match data_type {
        DataType::Int32 => primitive::<Int32Type>(narrow(values)?, nulls, slots, data_type),
        DataType::Date32 => primitive::<Date32Type>(narrow(values)?, nulls, slots, data_type),
        DataType::Int64 => primitive::<Int64Type>(values, nulls, slots, data_type),
        DataType::Time64(_) => primitive::<Time64MicrosecondType>(values, nulls, slots, data_type),
        other => Err(Error::internal(format!("ORC: integers as {other}"))),
    }
}

fn floats(
    stream: &mut Stream,
    width: usize,
    count: usize,
    nulls: Option<NullBuffer>,
    slots: usize,
) -> Result<ArrayRef> {
    let mut bytes = Vec::new();
    let length = count.checked_mul(width).ok_or_else(bad_length)?;
    stream.take(length, &mut bytes)?;
    if width == 4 {
        let (chunks, _) = bytes.as_chunks::<4>();
        let values = chunks.iter().map(|c| f32::from_le_bytes(*c)).collect();
        return primitive::<Float32Type>(values, nulls, slots, &DataType::Float32);
    }
    let (chunks, _) = bytes.as_chunks::<8>();
    let values = chunks.iter().map(|c| f64::from_le_bytes(*c)).collect();
    primitive::<Float64Type>(values, nulls, slots, &DataType::Float64)
}

fn byte_array(
    bytes: Vec<u8>,
    lengths: Vec<usize>,
    nulls: Option<NullBuffer>,
    data_type: &DataType,
) -> Result<ArrayRef> {
    if let DataType::FixedSizeBinary(width) = data_type {
        return fixed_array(&bytes, &lengths, nulls, *width);
    }
    let slots = lengths.len();
    let offsets = OffsetBuffer::from_lengths(lengths);
    let bytes = Buffer::from_vec(bytes);
    let damaged = |e| Error::corrupt(format!("ORC: {e}"));
    debug_assert_eq!(offsets.len(), slots + 1);
    Ok(match data_type {
        DataType::Utf8 => Arc::new(StringArray::try_new(offsets, bytes, nulls).map_err(damaged)?),
        _ => Arc::new(BinaryArray::try_new(offsets, bytes, nulls).map_err(damaged)?),
    })
}

fn fixed_array(
    bytes: &[u8],
    lengths: &[usize],
    nulls: Option<NullBuffer>,
    width: i32,
) -> Result<ArrayRef> {
    let size = usize::try_from(width).unwrap_or(0);
    let mut padded = Vec::new();
    let mut rest = bytes;
    for (slot, length) in lengths.iter().enumerate() {
        let there = nulls.as_ref().is_none_or(|nulls| nulls.is_valid(slot));
        match rest.split_at_checked(*length) {
            Some((value, after)) if *length == size => {
                padded.extend_from_slice(value);
                rest = after;
            }
            Some(_) if !there => padded.resize(padded.len() + size, 0),
            _ => {
                return Err(Error::corrupt(format!(
                    "ORC: a value of {length} bytes where {size} belong"
                )));
            }
        }
    }
    Ok(Arc::new(FixedSizeBinaryArray::try_new(
        width,
        Buffer::from_vec(padded),
        nulls,
    )?))
}

fn decimals(
    data: &mut Stream,
    scales: &mut Integers,
    count: usize,
    nulls: Option<NullBuffer>,
    slots: usize,
    data_type: &DataType,
) -> Result<ArrayRef> {
    let DataType::Decimal128(precision, scale) = data_type else {
        return Err(Error::internal(format!("ORC: decimals as {data_type}")));
    };
    let limit = 10i128.pow(u32::from(*precision).min(38));
    let mut values = Vec::new();
    for written in scales.read(count)? {
        let value = rescale(data.wide()?, written, i64::from(*scale))
            .filter(|value| -limit < *value && *value < limit)
            .ok_or_else(|| {
                Error::corrupt(format!("ORC: a decimal does not fit its type {data_type}"))
            })?;
        values.push(value);
    }
    primitive::<Decimal128Type>(values, nulls, slots, data_type)
}

/// The same number with another scale; None where it does not fit.
fn rescale(value: i128, from: i64, to: i64) -> Option<i128> {
    let power = |n: i64| u32::try_from(n).ok().and_then(|n| 10i128.checked_pow(n));
    if from <= to {
        return value.checked_mul(power(to.checked_sub(from)?)?);
    }
    let divisor = power(from.checked_sub(to)?)?;
    (value % divisor == 0).then(|| value / divisor)
}

fn timestamp_array(
    seconds: &[i64],
    nanos: &[i64],
    zone: Zone,
    nulls: Option<NullBuffer>,
    slots: usize,
    data_type: &DataType,
) -> Result<ArrayRef> {
    let DataType::Timestamp(unit, _) = data_type else {
        return Err(Error::internal(format!("ORC: timestamps as {data_type}")));
    };
    let values = timestamps(seconds, nanos, zone, *unit)?;
    if *unit == TimeUnit::Nanosecond {
        return primitive::<TimestampNanosecondType>(values, nulls, slots, data_type);
    }
    primitive::<TimestampMicrosecondType>(values, nulls, slots, data_type)
}

/// The lists of these lengths, whose elements are the next of the children.
fn read_lists(
    lengths: Vec<usize>,
    children: &mut [Column],
    nulls: Option<NullBuffer>,
    slots: usize,
    data_type: &DataType,
) -> Result<ArrayRef> {
    let total = checked_total(&lengths)?;
    if total > VALUES_MAX {
        return Err(too_many());
    }
    let offsets = OffsetBuffer::from_lengths(spread(lengths, nulls.as_ref(), slots));
    let arrays = children
        .iter_mut()
        .map(|child| child.read(total, None))
        .collect::<Result<Vec<_>>>()?;
    list_array(offsets, arrays, nulls, data_type)
}

fn list_array(
    offsets: OffsetBuffer<i32>,
    mut arrays: Vec<ArrayRef>,
    nulls: Option<NullBuffer>,
    data_type: &DataType,
) -> Result<ArrayRef> {
    let mismatch = || Error::internal(format!("ORC: a list as {data_type}"));
    match data_type {
        DataType::List(element) => {
            let values = arrays.pop().ok_or_else(mismatch)?;
            let element = Arc::clone(element);
            Ok(Arc::new(ListArray::try_new(
                element, offsets, values, nulls,
            )?))
        }
        DataType::Map(entries, sorted) => {
            let DataType::Struct(pair) = entries.data_type() else {
                return Err(mismatch());
            };
            if arrays.first().is_some_and(|keys| keys.null_count() > 0) {
                return Err(Error::corrupt("ORC: a map has a key that is NULL"));
            }
            let pairs = StructArray::try_new(pair.clone(), arrays, None)?;
            let entries = Arc::clone(entries);
            Ok(Arc::new(MapArray::try_new(
                entries, offsets, pairs, nulls, *sorted,
            )?))
        }
        _ => Err(mismatch()),
    }
}

fn struct_array(
    arrays: Vec<ArrayRef>,
    nulls: Option<NullBuffer>,
    slots: usize,
    data_type: &DataType,
) -> Result<ArrayRef> {
    match data_type {
        DataType::Struct(fields) => Ok(Arc::new(StructArray::try_new_with_length(
            fields.clone(),
            arrays,
            nulls,
            slots,
        )?)),
        _ => Ok(Arc::new(NullArray::new(slots))),
    }
}
