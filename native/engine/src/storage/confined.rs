//! The writing handle: everything a [`ReadStore`] reads, and puts and deletes below the same roots. A read-only
//! copy of it refuses them.

use std::ops::Deref;
use std::sync::Arc;

use bytes::Bytes;
use object_store::path::Path as StorePath;
use object_store::{ObjectStore, ObjectStoreExt, PutMode, PutPayload};

use super::failure::store_error;
use super::{Location, ReadStore, Upload};
use crate::error::{Error, ErrorKind, Result};

/// Reads and writes below a fixed set of roots.
#[derive(Clone, Debug)]
pub struct Confined {
    reader: ReadStore,
    writable: bool,
}

/// What a put-if-absent found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PutOutcome {
    /// The file is ours.
    Created,
    /// There was a file already; it is unchanged.
    Exists,
}

impl Confined {
    pub(super) fn new(reader: ReadStore) -> Confined {
        Confined {
            reader,
            writable: true,
        }
    }

    /// The same roots without any right to write.
    pub fn read_only(&self) -> Confined {
        Confined {
            reader: self.reader.clone(),
            writable: false,
        }
    }

    /// The handle that cannot write by its type.
    pub fn reader(&self) -> &ReadStore {
        &self.reader
    }

    /// Writes the file, replacing what is there; missing directories are made.
    pub async fn put(&self, location: &Location, bytes: Bytes) -> Result<()> {
        let (store, path) = self.writing_file(location)?;
        store
            .put(&path, PutPayload::from_bytes(bytes))
            .await
            .map_err(|error| store_error(error, "write", location))?;
        Ok(())
    }

    /// Writes the file where there is none. An error leaves open whether it was written, but for Unsupported:
    /// then the store has been found not to keep the condition.
    pub async fn put_if_absent(&self, location: &Location, bytes: Bytes) -> Result<PutOutcome> {
        let (store, path) = self.writing_file(location)?;
        self.reader
            .storage
            .require_conditional_put(location, &path)
            .await?;
        match store
            .put_opts(&path, PutPayload::from_bytes(bytes), PutMode::Create.into())
            .await
        {
            Ok(_) => Ok(PutOutcome::Created),
            Err(
                object_store::Error::AlreadyExists { .. }
                | object_store::Error::Precondition { .. },
            ) => Ok(PutOutcome::Exists),
            Err(error) => Err(store_error(error, "write", location)),
        }
    }

    /// A writer of one file in pieces; the file appears whole when it is finished.
    pub fn writer(&self, location: &Location) -> Result<Upload> {
        let (store, path) = self.writing_file(location)?;
        Ok(Upload::new(store, path, location.clone()))
    }

    /// Deletes the file; no error where there is none.
    pub async fn delete(&self, location: &Location) -> Result<()> {
        let (store, path) = self.writing_file(location)?;
        match store
            .delete(&path)
            .await
            .map_err(|error| store_error(error, "delete", location))
        {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Deletes the files one after the other; the first error stops.
    pub async fn delete_all(&self, locations: &[Location]) -> Result<()> {
        for location in locations {
            self.delete(location).await?;
        }
        Ok(())
    }

    fn writing_file(&self, location: &Location) -> Result<(Arc<dyn ObjectStore>, StorePath)> {
        self.require_writable(location)?;
        self.reader.file_target(location)
    }

    /// Checks that this handle may change the directory.
    pub(super) fn writing(&self, location: &Location) -> Result<()> {
        self.require_writable(location)?;
        self.reader.target(location).map(drop)
    }

    fn require_writable(&self, location: &Location) -> Result<()> {
        if self.writable {
            return Ok(());
        }
        Err(Error::permission_denied(format!(
            "{location} belongs to a read-only mount"
        )))
    }
}

impl Deref for Confined {
    type Target = ReadStore;

    fn deref(&self) -> &ReadStore {
        &self.reader
    }
}
