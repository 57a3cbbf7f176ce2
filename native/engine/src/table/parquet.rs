//! Opens Parquet files: footers are read once and cached by path and size (data files are immutable),
//! then the decoder asks only for the byte ranges it needs.

use std::sync::Arc;

use parquet::arrow::arrow_reader::ArrowReaderOptions;
use parquet::arrow::async_reader::AsyncFileReader as _;
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaData};

use super::environment::Environment;
use crate::error::{Error, Result};
use crate::storage::{FileReader, Location, ReadStore};

/// One open Parquet file.
pub(crate) struct ParquetFile {
    pub(crate) reader: FileReader,
    pub(crate) metadata: Arc<ParquetMetaData>,
}

impl ParquetFile {
    /// Reads the footer, or takes it from the cache. Errors name the path; a damaged footer is Corrupt.
    pub(crate) async fn open(
        environment: &Environment,
        store: &ReadStore,
        location: &Location,
        size: u64,
    ) -> Result<ParquetFile> {
        let mut reader = FileReader::new(store.clone(), location.clone(), size);
        let metadata = match environment.footers().get(location, size) {
            Some(metadata) => metadata,
            None => {
                let options =
                    ArrowReaderOptions::new().with_page_index_policy(PageIndexPolicy::Optional);
                let metadata = reader
                    .get_metadata(Some(&options))
                    .await
                    .map_err(Error::from)?;
                environment
                    .footers()
                    .put(location, size, Arc::clone(&metadata));
                metadata
            }
        };
        Ok(ParquetFile { reader, metadata })
    }
}
