//! Batches on their way out: the normal form (no views, dictionaries, run ends or large types,
//! timestamps in microseconds, offset 0 everywhere), and the count of bytes that are outside until
//! the host releases them.

use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow::array::{
    Array, ArrayData, MutableArrayData, RecordBatch, RecordBatchOptions, StructArray, make_array,
};
use arrow::buffer::{BooleanBuffer, Buffer, NullBuffer};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef, TimeUnit};
use arrow::ffi::{FFI_ArrowArray, FFI_ArrowSchema};
use benostreamdb::{Error, Result};

static BYTES: AtomicU64 = AtomicU64::new(0);
static BUFFERS: AtomicU64 = AtomicU64::new(0);

/// Bytes and buffers that hosts hold.
pub(crate) fn outstanding() -> (u64, u64) {
    (
        BYTES.load(Ordering::Acquire),
        BUFFERS.load(Ordering::Acquire),
    )
}

/// Names this copy of the library; two class loaders load two.
pub(crate) fn instance() -> String {
    format!("{:p}", &raw const BYTES)
}

/// Counts what one reader has outside.
#[derive(Default)]
pub(crate) struct Account {
    bytes: AtomicU64,
}

impl Account {
    /// Bytes of this reader that the host holds.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Acquire)
    }
}

/// Keeps a buffer alive for the host and counts it until the host lets go.
struct Exported {
    buffer: Buffer,
    account: Arc<Account>,
}

impl Exported {
    fn new(buffer: Buffer, account: Arc<Account>) -> Self {
        let bytes = length(&buffer);
        BYTES.fetch_add(bytes, Ordering::AcqRel);
        BUFFERS.fetch_add(1, Ordering::AcqRel);
        account.bytes.fetch_add(bytes, Ordering::AcqRel);
        Exported { buffer, account }
    }
}

impl Drop for Exported {
    fn drop(&mut self) {
        let bytes = length(&self.buffer);
        BYTES.fetch_sub(bytes, Ordering::AcqRel);
        BUFFERS.fetch_sub(1, Ordering::AcqRel);
        self.account.bytes.fetch_sub(bytes, Ordering::AcqRel);
    }
}

fn length(buffer: &Buffer) -> u64 {
    buffer.len().try_into().unwrap_or(u64::MAX)
}

fn counted(buffer: &Buffer, account: &Arc<Account>) -> Buffer {
    let owner = Arc::new(Exported::new(buffer.clone(), Arc::clone(account)));
    let Some(start) = NonNull::new(owner.buffer.as_ptr().cast_mut()) else {
        return buffer.clone();
    };
    let bytes = owner.buffer.len();
    // SAFETY: `owner` holds the buffer, whose `bytes` bytes from `start` never move or change.
    unsafe { Buffer::from_custom_allocation(start, bytes, owner) }
}

/// The type of the normal form; `column` is for the error.
fn normal_type(data_type: &DataType, column: &str) -> Result<DataType> {
    Ok(match data_type {
        DataType::Boolean
        | DataType::Int32
        | DataType::Int64
        | DataType::Float32
        | DataType::Float64
        | DataType::Decimal128(..)
        | DataType::Date32
        | DataType::Time64(TimeUnit::Microsecond)
        | DataType::Utf8
        | DataType::Binary
        | DataType::FixedSizeBinary(_) => data_type.clone(),
        DataType::Int8 | DataType::Int16 | DataType::UInt8 | DataType::UInt16 => DataType::Int32,
        DataType::UInt32 => DataType::Int64,
        DataType::Float16 => DataType::Float32,
        DataType::Time32(_) | DataType::Time64(TimeUnit::Nanosecond) => {
            DataType::Time64(TimeUnit::Microsecond)
        }
        DataType::Timestamp(_, zone) => DataType::Timestamp(
            TimeUnit::Microsecond,
            zone.as_ref().map(|_| Arc::from("UTC")),
        ),
        DataType::LargeUtf8 | DataType::Utf8View => DataType::Utf8,
        DataType::LargeBinary | DataType::BinaryView => DataType::Binary,
        DataType::Dictionary(_, values) => normal_type(values, column)?,
        DataType::RunEndEncoded(_, values) => normal_type(values.data_type(), column)?,
        DataType::List(element)
        | DataType::LargeList(element)
        | DataType::ListView(element)
        | DataType::LargeListView(element)
        | DataType::FixedSizeList(element, _) => DataType::List(normal_field(element)?),
        DataType::Struct(fields) => {
            DataType::Struct(fields.iter().map(normal_field).collect::<Result<_>>()?)
        }
        DataType::Map(entries, _) => DataType::Map(normal_field(entries)?, false),
        other => {
            return Err(Error::unsupported(format!(
                "column {column} has Arrow type {other}, which does not cross"
            )));
        }
    })
}

fn normal_field(field: &FieldRef) -> Result<FieldRef> {
    let data_type = normal_type(field.data_type(), field.name())?;
    Ok(if &data_type == field.data_type() {
        Arc::clone(field)
    } else {
        Arc::new(Field::clone(field).with_data_type(data_type))
    })
}

/// The schema of batches after [`normalize`].
pub(crate) fn normal_schema(schema: &SchemaRef) -> Result<SchemaRef> {
    let fields = schema
        .fields()
        .iter()
        .map(normal_field)
        .collect::<Result<Vec<_>>>()?;
    Ok(Arc::new(Schema::new_with_metadata(
        fields,
        schema.metadata().clone(),
    )))
}

/// Casts every column to the normal form.
pub(crate) fn normalize(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch> {
    let columns = batch
        .columns()
        .iter()
        .zip(schema.fields())
        .map(|(column, field)| {
            if column.data_type() == field.data_type() {
                Ok(Arc::clone(column))
            } else {
                Ok(cast(column, field.data_type())?)
            }
        });
    let columns = columns.collect::<Result<Vec<_>>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    Ok(RecordBatch::try_new_with_options(
        Arc::clone(schema),
        columns,
        &options,
    )?)
}

/// Bytes of the buffers of a batch.
pub(crate) fn batch_bytes(batch: &RecordBatch) -> u64 {
    batch
        .columns()
        .iter()
        .map(|column| data_bytes(&column.to_data()))
        .sum()
}

fn data_bytes(data: &ArrayData) -> u64 {
    let own: u64 = data.buffers().iter().map(length).sum();
    let nulls = data.nulls().map_or(0, |nulls| length(nulls.buffer()));
    own + nulls + data.child_data().iter().map(data_bytes).sum::<u64>()
}

/// The batch as one struct array with offset 0 everywhere and every buffer counted.
pub(crate) fn exported(batch: RecordBatch, account: &Arc<Account>) -> Result<StructArray> {
    let data = counted_data(&StructArray::from(batch).into_data(), account)?;
    let array = make_array(data);
    let array = array.as_any().downcast_ref::<StructArray>();
    Ok(array
        .ok_or_else(|| Error::internal("a batch is no struct"))?
        .clone())
}

fn counted_data(data: &ArrayData, account: &Arc<Account>) -> Result<ArrayData> {
    if data.offset() != 0 {
        return counted_data(&without_offset(data), account);
    }
    let children = data
        .child_data()
        .iter()
        .map(|child| counted_data(child, account))
        .collect::<Result<Vec<_>>>()?;
    let nulls = data.nulls().map(|nulls| {
        let bits = nulls.inner();
        let bits = if bits.offset() == 0 {
            bits.inner().clone()
        } else {
            bits.sliced()
        };
        NullBuffer::new(BooleanBuffer::new(counted(&bits, account), 0, nulls.len()))
    });
    let builder = ArrayData::builder(data.data_type().clone())
        .len(data.len())
        .buffers(
            data.buffers()
                .iter()
                .map(|buffer| counted(buffer, account))
                .collect(),
        )
        .child_data(children)
        .nulls(nulls);
    // SAFETY: the same values as `data`, which was valid; only the owners of the buffers differ.
    Ok(unsafe { builder.build_unchecked() })
}

fn without_offset(data: &ArrayData) -> ArrayData {
    let mut copy = MutableArrayData::new(vec![data], false, data.len());
    copy.extend(0, 0, data.len());
    copy.freeze()
}

/// Fills the host's empty array struct.
///
/// # Safety
/// `target` is null or points to memory of an `ArrowArray` struct that holds nothing to release.
pub(crate) unsafe fn write_array(array: StructArray, target: *mut FFI_ArrowArray) -> Result<()> {
    if target.is_null() {
        return Err(Error::invalid_input(
            "the address of the array struct is null",
        ));
    }
    let exported = FFI_ArrowArray::new(&array.into_data());
    // SAFETY: by contract the target is writable and holds nothing.
    unsafe { target.write_unaligned(exported) };
    Ok(())
}

/// Fills the host's empty schema struct with the struct type of a batch.
///
/// # Safety
/// `target` is null or points to memory of an `ArrowSchema` struct that holds nothing to release.
pub(crate) unsafe fn write_schema(schema: &Schema, target: *mut FFI_ArrowSchema) -> Result<()> {
    if target.is_null() {
        return Err(Error::invalid_input(
            "the address of the schema struct is null",
        ));
    }
    let exported = FFI_ArrowSchema::try_from(schema)?;
    // SAFETY: by contract the target is writable and holds nothing.
    unsafe { target.write_unaligned(exported) };
    Ok(())
}
