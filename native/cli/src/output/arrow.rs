//! One result as an Arrow IPC stream. A result that fails after its first rows ends without the mark of the end.

use std::io::{self, BufWriter, IsTerminal, Write};

use ::arrow::datatypes::Schema;
use ::arrow::error::ArrowError;
use ::arrow::ipc::writer::StreamWriter;
use benostreamdb::{Batches, Error, Result};
use futures::StreamExt;

/// Errors: InvalidInput where standard output is a terminal.
pub(super) async fn print(schema: &Schema, mut batches: Batches) -> Result<()> {
    if io::stdout().is_terminal() {
        return Err(Error::invalid_input(
            "an Arrow stream is no text for a terminal; send it to a file or another program",
        ));
    }
    let mut next = batches.next().await.transpose()?;
    let out = BufWriter::new(io::stdout().lock());
    let mut writer = StreamWriter::try_new(out, schema).map_err(unwritten)?;
    while let Some(batch) = next {
        writer.write(&batch).map_err(unwritten)?;
        next = match batches.next().await.transpose() {
            Ok(next) => next,
            Err(error) => {
                writer.flush().map_err(unwritten)?;
                return Err(error);
            }
        };
    }
    writer.finish().map_err(unwritten)?;
    Ok(writer.into_inner().map_err(unwritten)?.flush()?)
}

/// What the stream itself says, such as that nobody reads it any more.
fn unwritten(error: ArrowError) -> Error {
    match error {
        ArrowError::IoError(_, error) => error.into(),
        other => other.into(),
    }
}
