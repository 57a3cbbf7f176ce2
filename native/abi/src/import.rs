//! Batches on their way in. The structs are consumed whatever happens; values are checked in full and
//! copied before the call returns, so the host may reuse its memory at once.

use arrow::array::{ArrayData, MutableArrayData, RecordBatch, RecordBatchOptions, StructArray};
use arrow::datatypes::{DataType, Schema};
use arrow::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi};
use benostreamdb::{Error, Result};

/// Consumes the host's structs and copies the batch.
///
/// # Safety
/// Each address is null or points to a struct of the Arrow C data interface whose buffers are as
/// long as its type, length and offsets say.
pub(crate) unsafe fn batch(
    array: *mut FFI_ArrowArray,
    schema: *mut FFI_ArrowSchema,
) -> Result<RecordBatch> {
    if array.is_null() || schema.is_null() {
        return Err(Error::invalid_input(
            "the address of an Arrow struct is null",
        ));
    }
    // SAFETY: by contract these are structs; moving them out leaves released ones behind.
    let (array, schema) = unsafe {
        (
            FFI_ArrowArray::from_raw(array),
            FFI_ArrowSchema::from_raw(schema),
        )
    };
    if array.is_released() || is_released(&schema) {
        return Err(Error::invalid_input("an Arrow struct was already released"));
    }
    // SAFETY: by contract the buffers are as long as the struct says.
    let data = unsafe { from_ffi(array, &schema) };
    let data =
        data.map_err(|error| Error::invalid_input(format!("the batch is not readable: {error}")))?;
    if !matches!(data.data_type(), DataType::Struct(_)) {
        return Err(Error::invalid_input(format!(
            "a batch is a struct array, not {}",
            data.data_type()
        )));
    }
    data.validate_full()
        .map_err(|error| Error::invalid_input(format!("the batch is not valid: {error}")))?;
    to_batch(copy(&data), &Schema::try_from(&schema)?)
}

/// A schema without a format has been released or never filled.
fn is_released(schema: &FFI_ArrowSchema) -> bool {
    let start: *const FFI_ArrowSchema = schema;
    // SAFETY: the first member of the struct is the pointer to the format.
    unsafe { start.cast::<*const u8>().read() }.is_null()
}

fn copy(data: &ArrayData) -> ArrayData {
    let mut copy = MutableArrayData::new(vec![data], false, data.len());
    copy.extend(0, 0, data.len());
    copy.freeze()
}

fn to_batch(data: ArrayData, schema: &Schema) -> Result<RecordBatch> {
    if data.null_count() != 0 {
        return Err(Error::invalid_input("a row of a batch is null"));
    }
    let options = RecordBatchOptions::new().with_row_count(Some(data.len()));
    let (_, columns, _) = StructArray::from(data).into_parts();
    RecordBatch::try_new_with_options(std::sync::Arc::new(schema.clone()), columns, &options)
        .map_err(|error| {
            Error::invalid_input(format!("the batch does not fit its schema: {error}"))
        })
}
