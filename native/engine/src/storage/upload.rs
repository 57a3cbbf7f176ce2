//! A file written in pieces. Small files become one put; longer ones are uploaded in parts while they are
//! written, so memory stays bounded. The file appears, whole, when the upload is finished and never before.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use object_store::path::Path as StorePath;
use object_store::{MultipartUpload, ObjectStore, ObjectStoreExt, PutPayload, PutPayloadMut};
use parquet::arrow::async_writer::AsyncFileWriter;
use parquet::errors::ParquetError;

use super::Location;
use super::failure::store_error;
use crate::error::{Error, Result};

/// The size of a part; object stores ask for at least 5 MiB.
const PART_BYTES: usize = 8 << 20;

/// One file being written; dropping it leaves no file.
pub struct Upload {
    store: Arc<dyn ObjectStore>,
    path: StorePath,
    location: Location,
    buffer: PutPayloadMut,
    parts: Option<Box<dyn MultipartUpload>>,
    written: u64,
    finished: bool,
}

impl Upload {
    pub(super) fn new(store: Arc<dyn ObjectStore>, path: StorePath, location: Location) -> Upload {
        let buffer = PutPayloadMut::new();
        Upload {
            store,
            path,
            location,
            buffer,
            parts: None,
            written: 0,
            finished: false,
        }
    }

    /// Where the file will be.
    pub fn location(&self) -> &Location {
        &self.location
    }

    /// The bytes written so far.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Adds bytes at the end.
    pub async fn write(&mut self, bytes: Bytes) -> Result<()> {
        if self.finished {
            return Err(Error::internal(format!(
                "{} is finished and cannot grow",
                self.location
            )));
        }
        self.written += bytes.len() as u64;
        self.buffer.push(bytes);
        if self.buffer.content_length() >= PART_BYTES {
            self.send_part().await?;
        }
        Ok(())
    }

    /// Publishes the file and tells its size.
    pub async fn finish(&mut self) -> Result<u64> {
        if self.finished {
            return Err(Error::internal(format!(
                "{} is finished already",
                self.location
            )));
        }
        if self.parts.is_some() && !self.buffer.is_empty() {
            self.send_part().await?;
        }
        self.finished = true;
        let done = match self.parts.as_mut() {
            Some(parts) => parts.complete().await,
            None => {
                self.store
                    .put(&self.path, std::mem::take(&mut self.buffer).freeze())
                    .await
            }
        };
        done.map_err(|error| store_error(error, "write", &self.location))?;
        Ok(self.written)
    }

    /// Gives the file up; what was uploaded is removed.
    pub async fn abort(mut self) -> Result<()> {
        match self.parts.take() {
            Some(mut parts) => parts
                .abort()
                .await
                .map_err(|error| store_error(error, "give up", &self.location)),
            None => Ok(()),
        }
    }

    async fn send_part(&mut self) -> Result<()> {
        let part: PutPayload = std::mem::take(&mut self.buffer).freeze();
        if self.parts.is_none() {
            let parts = self.store.put_multipart(&self.path).await;
            self.parts = Some(parts.map_err(|error| store_error(error, "write", &self.location))?);
        }
        if let Some(parts) = self.parts.as_mut() {
            parts
                .put_part(part)
                .await
                .map_err(|error| store_error(error, "write", &self.location))?;
        }
        Ok(())
    }
}

impl fmt::Debug for Upload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Upload({}, {} bytes)", self.location, self.written)
    }
}

impl AsyncFileWriter for Upload {
    fn write(&mut self, bytes: Bytes) -> BoxFuture<'_, parquet::errors::Result<()>> {
        async move { Upload::write(self, bytes).await.map_err(external) }.boxed()
    }

    fn complete(&mut self) -> BoxFuture<'_, parquet::errors::Result<()>> {
        async move { self.finish().await.map(|_| ()).map_err(external) }.boxed()
    }
}

fn external(error: Error) -> ParquetError {
    ParquetError::External(Box::new(error))
}
