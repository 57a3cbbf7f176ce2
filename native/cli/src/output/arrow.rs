//! One result as an Arrow IPC stream. A result that fails after its first rows ends without the mark of the end.

use std::io::{self, BufWriter, IsTerminal, Write};

use ::arrow::datatypes::Schema;
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
    let mut writer = StreamWriter::try_new(out, schema)?;
    while let Some(batch) = next {
        writer.write(&batch)?;
        next = match batches.next().await.transpose() {
            Ok(next) => next,
            Err(error) => {
                writer.flush()?;
                return Err(error);
            }
        };
    }
    writer.finish()?;
    Ok(writer.into_inner()?.flush()?)
}
