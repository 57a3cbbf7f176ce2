//! A split as an `ArrowArrayStream`, for C callers. The stream's callbacks cannot carry kinds, run
//! inside plain C functions and would abort on a panic or a NUL in a text: nothing of that passes.

use std::sync::Arc;
use std::time::Duration;

use arrow::array::{RecordBatch, RecordBatchReader};
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use arrow::ffi_stream::FFI_ArrowArrayStream;
use benostreamdb::{Error, Result};

use crate::guard;
use crate::reader::{Next, Reader};

const SLICE: Duration = Duration::from_millis(100);

struct Guarded {
    reader: Arc<Reader>,
    schema: SchemaRef,
}

impl Guarded {
    fn pull(&self) -> Result<Option<RecordBatch>> {
        loop {
            match self.reader.next(SLICE)? {
                Next::Batch(batch) => {
                    return Ok(Some(
                        RecordBatch::from(batch).with_schema(Arc::clone(&self.schema))?,
                    ));
                }
                Next::End => return Ok(None),
                Next::Pending => {}
                Next::NeedMemory(_) => return Err(Error::internal("a stream accounts no memory")),
            }
        }
    }
}

impl Iterator for Guarded {
    type Item = std::result::Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let outcome = guard::run(|| self.pull());
        outcome
            .map_err(|error| {
                ArrowError::ExternalError(guard::escape_nul(&error.to_string()).into())
            })
            .transpose()
    }
}

impl RecordBatchReader for Guarded {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        self.reader.cancel();
    }
}

/// Fills the caller's empty stream struct.
///
/// # Safety
/// `target` is null or points to memory of an `ArrowArrayStream` struct that holds nothing to release.
pub(crate) unsafe fn write(reader: Arc<Reader>, target: *mut FFI_ArrowArrayStream) -> Result<()> {
    if target.is_null() {
        return Err(Error::invalid_input(
            "the address of the stream struct is null",
        ));
    }
    let schema = Arc::clone(reader.schema());
    let stream = FFI_ArrowArrayStream::new(Box::new(Guarded { reader, schema }));
    // SAFETY: by contract the target is writable and holds nothing.
    unsafe { target.write_unaligned(stream) };
    Ok(())
}
