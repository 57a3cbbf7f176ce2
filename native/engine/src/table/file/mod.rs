//! Data and delete files of any format behind one face: the schema as the file holds it, its rows, and a stream
//! of chosen top-level columns. Knows no deletes.

mod avro;
mod orc;
mod parquet;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::ops::Range;

use ::parquet::arrow::arrow_reader::RowFilter;
use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use futures::stream::BoxStream;
use roaring::RoaringBitmap;

use super::environment::Environment;
use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::manifest::FileFormat;
use crate::iceberg::predicate::Predicate;
use crate::iceberg::prune;
use crate::iceberg::schema::Schema;
use crate::storage::{Location, ReadStore};

pub(super) use avro::AvroFile;
pub(super) use orc::OrcFile;
pub(super) use parquet::ParquetFile;

/// The column of physical positions, the last of a decoded batch.
pub(super) const POSITIONS: &str = "_pos";

/// One open file.
pub(super) enum OpenFile {
    Parquet(ParquetFile),
    Orc(OrcFile),
    Avro(AvroFile),
}

/// What to decode of a file.
pub(super) struct Decode {
    /// Top-level columns by their place in the schema; batches hold them in the file's order.
    pub(super) roots: BTreeSet<usize>,
    /// Those of them to decode as `Utf8View`, which spares the bytes of rows that the filter drops. Only
    /// for [`OpenFile::filters_early`].
    pub(super) views: BTreeSet<usize>,
    /// Physical rows; None: all of the row groups.
    pub(super) rows: Option<RoaringBitmap>,
    /// First row group and the one after the last; None: all. Only Parquet files are cut.
    pub(super) row_groups: Option<(usize, usize)>,
    /// Whether positions are wanted, as the last column `_pos` of type Int64. They may be there anyhow.
    pub(super) positions: bool,
    /// Drops rows before the other columns are decoded; only for [`OpenFile::filters_early`].
    pub(super) filter: Option<RowFilter>,
}

impl OpenFile {
    /// Opens a file of `size` bytes as its manifest says; a file of another size is read by its own.
    /// Errors: Unsupported for a format that is not read, Corrupt for damage.
    pub(super) async fn open(
        environment: &Environment,
        store: &ReadStore,
        location: &Location,
        size: u64,
        format: &FileFormat,
    ) -> Result<OpenFile> {
        let opened = OpenFile::open_sized(environment, store, location, size, format).await;
        let error = match opened {
            Err(error) if error.kind() == ErrorKind::Corrupt => error,
            done => return done,
        };
        // Some writers record a size that is not the file's.
        match store.head(location).await {
            Ok(found) if found != size => {
                let again = OpenFile::open_sized(environment, store, location, found, format);
                again.await.map_err(|_| error)
            }
            _ => Err(error),
        }
    }

    async fn open_sized(
        environment: &Environment,
        store: &ReadStore,
        location: &Location,
        size: u64,
        format: &FileFormat,
    ) -> Result<OpenFile> {
        match format {
            FileFormat::Parquet => ParquetFile::open(environment, store, location, size)
                .await
                .map(OpenFile::Parquet),
            FileFormat::Orc => OrcFile::open(store, location, size)
                .await
                .map(OpenFile::Orc),
            FileFormat::Avro => AvroFile::open(store, location, size)
                .await
                .map(OpenFile::Avro),
            other => Err(Error::unsupported(format!(
                "files in format {} are not supported",
                other.name()
            ))),
        }
    }

    /// The top-level columns as the file holds them, with the field ids that it has.
    pub(super) fn schema(&self) -> &SchemaRef {
        match self {
            OpenFile::Parquet(file) => file.schema(),
            OpenFile::Orc(file) => file.schema(),
            OpenFile::Avro(file) => file.schema(),
        }
    }

    /// How many rows it holds.
    pub(super) fn rows(&self) -> u64 {
        match self {
            OpenFile::Parquet(file) => file.rows(),
            OpenFile::Orc(file) => file.rows(),
            OpenFile::Avro(file) => file.rows(),
        }
    }

    /// The physical rows of some row groups; None: all.
    pub(super) fn span(&self, row_groups: Option<(usize, usize)>) -> Result<Range<u64>> {
        match self {
            OpenFile::Parquet(file) => file.span(row_groups),
            OpenFile::Orc(file) => Ok(0..file.rows()),
            OpenFile::Avro(file) => Ok(0..file.rows()),
        }
    }

    /// The physical rows for which the predicate may be true, by what the file says of parts of itself; None: all.
    pub(super) fn matching_rows(
        &self,
        predicate: &Predicate,
        schema: &Schema,
    ) -> Option<RoaringBitmap> {
        match self {
            OpenFile::Parquet(file) => prune::matching_rows(predicate, file.metadata(), schema),
            OpenFile::Orc(_) | OpenFile::Avro(_) => None,
        }
    }

    /// Whether a decode may carry a filter.
    pub(super) fn filters_early(&self) -> bool {
        matches!(self, OpenFile::Parquet(_))
    }

    /// The rows, in their order.
    pub(super) fn stream(self, decode: Decode) -> Result<BoxStream<'static, Result<RecordBatch>>> {
        match self {
            OpenFile::Parquet(file) => file.stream(decode),
            OpenFile::Orc(file) => Ok(file.stream(decode)),
            OpenFile::Avro(file) => file.stream(decode),
        }
    }
}

/// How many of these rows are chosen.
fn selected(selection: Option<&RoaringBitmap>, rows: &Range<u64>) -> u64 {
    let Some(selection) = selection else {
        return rows.end - rows.start;
    };
    match (u32::try_from(rows.start), rows.end.checked_sub(1)) {
        (Ok(first), Some(last)) if rows.start <= last => {
            selection.range_cardinality(first..=u32::try_from(last).unwrap_or(u32::MAX))
        }
        _ => 0,
    }
}
