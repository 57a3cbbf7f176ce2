//! What a language binding checks itself with: a batch there and back, a batch as text, an error of
//! any kind, a panic. Touches no table.

use std::sync::Arc;

use arrow::array::{Array, RecordBatch, TimestampMicrosecondArray};
use arrow::ffi::{FFI_ArrowArray, FFI_ArrowSchema};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use benostreamdb::{Error, ErrorKind, Result};
use prost::Message;

use crate::export::{self, Account};
use crate::wire::self_test::Test;
use crate::wire::{Failure, Rendered, RenderedColumn, SelfTest};
use crate::{import, wire};

/// Runs a `SelfTest`. One of them is to panic.
///
/// # Safety
/// `in_*` are null or structs of the Arrow C data interface, consumed where the test takes a batch;
/// `out_*` are null or hold nothing to release.
#[allow(clippy::panic)]
pub(crate) unsafe fn run(
    request: &[u8],
    in_array: *mut FFI_ArrowArray,
    in_schema: *mut FFI_ArrowSchema,
    out_array: *mut FFI_ArrowArray,
    out_schema: *mut FFI_ArrowSchema,
) -> Result<Vec<u8>> {
    let request: SelfTest = wire::parse(request, "self test")?;
    match request.test {
        Some(Test::Echo(_)) => {
            // SAFETY: by contract of this function.
            unsafe { echo(import::batch(in_array, in_schema)?, out_array, out_schema)? };
            Ok(Vec::new())
        }
        // SAFETY: by contract of this function.
        Some(Test::Render(_)) => render(&unsafe { import::batch(in_array, in_schema)? }),
        Some(Test::Fail(failure)) => Err(fail(failure)),
        #[allow(clippy::panic, reason = "the guard is what is tested")]
        Some(Test::Panic(text)) => std::panic::panic_any(text),
        None => Err(Error::invalid_input("the self test names no test")),
    }
}

/// # Safety
/// The addresses are null or hold nothing to release.
unsafe fn echo(
    batch: RecordBatch,
    array: *mut FFI_ArrowArray,
    schema: *mut FFI_ArrowSchema,
) -> Result<()> {
    let normal = export::normal_schema(&batch.schema())?;
    let batch = export::normalize(&batch, &normal)?;
    // SAFETY: by contract of this function.
    unsafe {
        export::write_array(
            export::exported(batch, &Arc::new(Account::default()))?,
            array,
        )?;
        export::write_schema(&normal, schema)
    }
}

fn render(batch: &RecordBatch) -> Result<Vec<u8>> {
    let schema = batch.schema();
    let columns = schema
        .fields()
        .iter()
        .zip(batch.columns())
        .map(|(field, column)| {
            Ok(RenderedColumn {
                name: field.name().clone(),
                r#type: field.data_type().to_string(),
                values: render_values(column.as_ref())?,
                valid: (0..column.len()).map(|row| column.is_valid(row)).collect(),
            })
        });
    Ok(Rendered {
        columns: columns.collect::<Result<_>>()?,
    }
    .encode_to_vec())
}

fn render_values(column: &dyn Array) -> Result<Vec<String>> {
    let options = FormatOptions::default().with_null("NULL");
    // The formatter knows zones by offset only.
    let zoned = column
        .as_any()
        .downcast_ref::<TimestampMicrosecondArray>()
        .filter(|array| array.timezone().is_some());
    let zoned = zoned.map(|array| array.clone().with_timezone("+00:00"));
    let formatter =
        ArrayFormatter::try_new(zoned.as_ref().map_or(column, |array| array), &options)?;
    (0..column.len())
        .map(|row| Ok(formatter.value(row).try_to_string()?))
        .collect()
}

fn fail(failure: Failure) -> Error {
    let kind = ErrorKind::ALL
        .into_iter()
        .find(|kind| kind.code() == failure.kind);
    match kind {
        Some(kind) => Error::new(kind, failure.message).retryable(failure.retryable),
        None => Error::invalid_input(format!("{} is no error kind", failure.kind)),
    }
}
