//! Parquet's view of one file: its reader asks for byte ranges, a [`ReadStore`] answers. Our errors pass
//! through Parquet's unchanged, so the kind and the path survive.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use parquet::arrow::arrow_reader::ArrowReaderOptions;
use parquet::arrow::async_reader::AsyncFileReader;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaData, ParquetMetaDataReader};

use super::{Location, ReadStore};
use crate::error::Error;

/// How much of the end of a file is fetched first: most footers fit.
const FOOTER_BYTES: usize = 64 << 10;

/// Reads one file of known size for Parquet.
#[derive(Clone, Debug)]
pub struct FileReader {
    store: ReadStore,
    location: Location,
    size: u64,
}

impl FileReader {
    /// A reader of the file at `location`, which is `size` bytes long.
    pub fn new(store: ReadStore, location: Location, size: u64) -> FileReader {
        FileReader {
            store,
            location,
            size,
        }
    }

    /// The file read.
    pub fn location(&self) -> &Location {
        &self.location
    }
}

impl AsyncFileReader for FileReader {
    fn get_bytes(&mut self, range: Range<u64>) -> BoxFuture<'_, Result<Bytes>> {
        async move {
            self.store
                .get_range(&self.location, range)
                .await
                .map_err(external)
        }
        .boxed()
    }

    fn get_byte_ranges(&mut self, ranges: Vec<Range<u64>>) -> BoxFuture<'_, Result<Vec<Bytes>>> {
        async move {
            self.store
                .get_ranges(&self.location, &ranges)
                .await
                .map_err(external)
        }
        .boxed()
    }

    fn get_metadata<'a>(
        &'a mut self,
        options: Option<&'a ArrowReaderOptions>,
    ) -> BoxFuture<'a, Result<Arc<ParquetMetaData>>> {
        async move {
            let policy = |chosen: Option<PageIndexPolicy>| chosen.unwrap_or(PageIndexPolicy::Skip);
            let reader = ParquetMetaDataReader::new()
                .with_metadata_options(options.map(|options| options.metadata_options().clone()))
                .with_column_index_policy(policy(
                    options.map(ArrowReaderOptions::column_index_policy),
                ))
                .with_offset_index_policy(policy(
                    options.map(ArrowReaderOptions::offset_index_policy),
                ))
                .with_prefetch_hint(Some(FOOTER_BYTES));
            let size = self.size;
            let location = self.location.clone();
            let metadata = reader
                .load_and_finish(self, size)
                .await
                .map_err(|error| named(error, &location))?;
            Ok(Arc::new(metadata))
        }
        .boxed()
    }
}

/// A damaged footer is reported with the path of the file.
fn named(error: ParquetError, location: &Location) -> ParquetError {
    match error {
        ParquetError::External(_) => error,
        other => external(Error::corrupt(format!(
            "{location} is not a sound parquet file: {other}"
        ))),
    }
}

fn external(error: Error) -> ParquetError {
    ParquetError::External(Box::new(error))
}
