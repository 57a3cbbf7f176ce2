//! Printing results. Nothing is written before a statement has its first rows, and only whole rows are written.

mod arrow;
mod cell;
mod csv;
mod json;
mod table;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::io::{self, BufWriter, Write};

use ::arrow::array::RecordBatch;
use ::arrow::datatypes::Schema;
use benostreamdb::{Batches, Error, QueryResult, Result};
use futures::StreamExt;

use crate::arguments::Format;

/// Writes rows in one format. Text that a call returns ends behind a whole row.
trait Writer {
    /// What stands before the first row.
    fn begin(&mut self, schema: &Schema) -> String;
    /// Some rows.
    fn rows(&mut self, batch: &RecordBatch) -> Result<String>;
    /// What stands behind the last row.
    fn end(&mut self) -> String;
}

/// The writer of a format; none for the one that is no text.
fn writer(format: Format) -> Option<Box<dyn Writer>> {
    match format {
        Format::Table => Some(Box::new(table::TableWriter::default())),
        Format::Csv => Some(Box::new(csv::CsvWriter)),
        Format::Json => Some(Box::new(json::JsonWriter)),
        Format::Arrow => None,
    }
}

/// Prints a result; a statement without columns prints nothing.
pub(crate) async fn print(result: QueryResult, format: Format) -> Result<()> {
    if result.schema().fields().is_empty() {
        return Ok(());
    }
    let schema = result.schema().clone();
    check_names(&schema)?;
    print_batches(&schema, result.into_batches(), format).await
}

/// Prints rows that are known.
pub(crate) async fn print_batch(batch: RecordBatch, format: Format) -> Result<()> {
    let schema = batch.schema();
    let batches = futures::stream::once(async move { Ok(batch) });
    print_batches(&schema, Box::pin(batches), format).await
}

async fn print_batches(schema: &Schema, mut batches: Batches, format: Format) -> Result<()> {
    let Some(mut writer) = writer(format) else {
        return arrow::print(schema, batches).await;
    };
    let mut next = batches.next().await.transpose()?;
    let mut out = BufWriter::new(io::stdout().lock());
    write(&mut out, &writer.begin(schema))?;
    let outcome = loop {
        let Some(batch) = next else { break Ok(()) };
        write(&mut out, &writer.rows(&batch)?)?;
        next = match batches.next().await.transpose() {
            Ok(next) => next,
            Err(error) => break Err(error),
        };
    };
    write(&mut out, &writer.end())?;
    out.flush()?;
    outcome
}

/// Prints text as it is.
pub(crate) fn text(text: &str) -> Result<()> {
    Ok(io::stdout().lock().write_all(text.as_bytes())?)
}

/// Prints one line.
pub(crate) fn line(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.write_all(b"\n")?)
}

/// Whether an error says that nobody reads the output any more.
pub(crate) fn is_closed(error: &Error) -> bool {
    let source =
        std::error::Error::source(error).and_then(|source| source.downcast_ref::<io::Error>());
    source.is_some_and(|source| source.kind() == io::ErrorKind::BrokenPipe)
}

fn write(out: &mut impl Write, text: &str) -> Result<()> {
    Ok(out.write_all(text.as_bytes())?)
}

fn check_names(schema: &Schema) -> Result<()> {
    let mut seen = BTreeSet::new();
    for field in schema.fields() {
        if !seen.insert(field.name()) {
            return Err(Error::invalid_input(format!(
                "the result has two columns {}, give one an alias",
                field.name()
            )));
        }
    }
    Ok(())
}
