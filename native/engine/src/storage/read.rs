//! The reading handle: no put, no delete. It answers only for locations below its roots and below the targets
//! of the prefix map; lengths are checked, so that a range beyond the end of a file is an error, never short.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures::TryStreamExt;
use object_store::path::Path as StorePath;
use object_store::{GetOptions, GetResult, ObjectStore, ObjectStoreExt};

use super::directory::is_marker;
use super::failure::store_error;
use super::{Location, Storage};
use crate::error::{Error, ErrorKind, Result};

/// Reads below a fixed set of roots; the store type that mounted tables are given.
#[derive(Clone)]
pub struct ReadStore {
    pub(super) storage: Storage,
    roots: Arc<[Location]>,
}

/// What lies directly in a directory, each list in order of names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Children {
    /// Files and their sizes.
    pub files: Vec<(Location, u64)>,
    /// Directories.
    pub directories: Vec<Location>,
}

impl ReadStore {
    pub(super) fn new(storage: Storage, roots: &[Location]) -> ReadStore {
        let roots = roots
            .iter()
            .chain(storage.prefixes().targets())
            .cloned()
            .collect();
        ReadStore { storage, roots }
    }

    /// The location of a path that metadata records: through the prefix map and the allow-list.
    ///
    /// PermissionDenied, naming the path, for everything that leads elsewhere: other schemes, relative paths,
    /// `..`, NUL, locations outside the roots.
    pub fn resolve(&self, recorded: &str) -> Result<Location> {
        let mapped = self.storage.prefixes().apply(recorded);
        let location =
            Location::from_recorded(mapped.as_deref().unwrap_or(recorded)).map_err(|error| {
                Error::permission_denied(format!(
                    "the recorded path {recorded:?} is refused: {}",
                    error.message()
                ))
            })?;
        if self.allows(&location) {
            return Ok(location);
        }
        Err(Error::permission_denied(format!(
            "the recorded path {recorded:?} lies outside the allowed locations {}; a prefix map can allow it",
            self.roots_text()
        )))
    }

    /// The whole file.
    pub async fn get(&self, location: &Location) -> Result<Bytes> {
        self.get_limited(location, u64::MAX).await
    }

    /// The whole file, ResourceExhausted where it is longer than `bytes_max`.
    pub async fn get_limited(&self, location: &Location, bytes_max: u64) -> Result<Bytes> {
        let (store, path) = self.file_target(location)?;
        let found = self
            .open(&*store, location, &path, GetOptions::default())
            .await?;
        if found.meta.size > bytes_max {
            return Err(Error::resource_exhausted(format!(
                "{location} has {} bytes, more than the limit of {bytes_max}",
                found.meta.size
            )));
        }
        found
            .bytes()
            .await
            .map_err(|error| store_error(error, "read", location))
    }

    /// The bytes of one range; Corrupt where the file ends before it does.
    pub async fn get_range(&self, location: &Location, range: Range<u64>) -> Result<Bytes> {
        let parts = self
            .get_ranges(location, std::slice::from_ref(&range))
            .await?;
        parts
            .into_iter()
            .next()
            .ok_or_else(|| Error::internal(format!("{location}: a range without an answer")))
    }

    /// The bytes of several ranges, in their order; Corrupt where the file ends before one does.
    pub async fn get_ranges(
        &self,
        location: &Location,
        ranges: &[Range<u64>],
    ) -> Result<Vec<Bytes>> {
        let (store, path) = self.file_target(location)?;
        if let Some(wrong) = ranges.iter().find(|range| range.start > range.end) {
            return Err(Error::internal(format!(
                "{location}: the range {wrong:?} runs backwards"
            )));
        }
        // Stores refuse empty ranges, so they are answered here.
        let filled: Vec<Range<u64>> = ranges
            .iter()
            .filter(|range| !range.is_empty())
            .cloned()
            .collect();
        let mut answers = Vec::new().into_iter();
        if !filled.is_empty() {
            answers = match store.get_ranges(&path, &filled).await {
                Ok(found) => found.into_iter(),
                Err(error) => return Err(self.range_error(error, location, &filled).await),
            };
        }
        ranges
            .iter()
            .map(|range| {
                let part = if range.is_empty() {
                    Bytes::new()
                } else {
                    answers.next().unwrap_or_default()
                };
                if part.len() as u64 == range.end - range.start {
                    return Ok(part);
                }
                Err(short_file(location, range, None))
            })
            .collect()
    }

    /// The size of the file in bytes.
    pub async fn head(&self, location: &Location) -> Result<u64> {
        let (store, path) = self.file_target(location)?;
        let meta = store
            .head(&path)
            .await
            .map_err(|error| store_error(error, "look up", location))?;
        Ok(meta.size)
    }

    /// Whether there is a file at the location.
    pub async fn exists(&self, location: &Location) -> Result<bool> {
        match self.head(location).await {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// All files below `prefix` at any depth, with their sizes, in order of their paths.
    pub async fn list(&self, prefix: &Location) -> Result<Vec<(Location, u64)>> {
        let mut files = self.list_with_markers(prefix).await?;
        files.retain(|(file, _)| !is_marker(file));
        Ok(files)
    }

    pub(super) async fn list_with_markers(
        &self,
        prefix: &Location,
    ) -> Result<Vec<(Location, u64)>> {
        let (store, path) = self.target(prefix)?;
        let found: Vec<_> = store
            .list(Some(&path))
            .try_collect()
            .await
            .map_err(|error| store_error(error, "list", prefix))?;
        let mut files: Vec<(Location, u64)> = found
            .iter()
            .map(|meta| (prefix.listed(&meta.location), meta.size))
            .collect();
        files.sort();
        Ok(files)
    }

    /// What lies directly in `directory`; nothing where it does not exist.
    pub async fn children(&self, directory: &Location) -> Result<Children> {
        let mut children = self.children_with_markers(directory).await?;
        children.files.retain(|(file, _)| !is_marker(file));
        Ok(children)
    }

    pub(super) async fn children_with_markers(&self, directory: &Location) -> Result<Children> {
        let (store, path) = self.target(directory)?;
        let found = match store.list_with_delimiter(Some(&path)).await {
            Ok(found) => found,
            Err(error) => {
                let error = store_error(error, "list", directory);
                // In an object store a directory is never missing, but the bucket may be.
                return if error.kind() == ErrorKind::NotFound && directory.bucket().is_none() {
                    Ok(Children::default())
                } else {
                    Err(error)
                };
            }
        };
        let at = |path: &StorePath| directory.listed(path);
        let mut children = Children {
            files: found
                .objects
                .iter()
                .map(|meta| (at(&meta.location), meta.size))
                .collect(),
            directories: found.common_prefixes.iter().map(at).collect(),
        };
        children.files.sort();
        children.directories.sort();
        Ok(children)
    }

    /// Whether the location lies below a root of this handle.
    pub fn allows(&self, location: &Location) -> bool {
        self.roots.iter().any(|root| location.is_within(root))
    }

    /// The store and the path in it, for a file that this handle may touch.
    pub(super) fn file_target(
        &self,
        location: &Location,
    ) -> Result<(Arc<dyn ObjectStore>, StorePath)> {
        self.target(location)?;
        Ok((self.storage.store(location)?, location.file_path()?))
    }

    /// The store and the path in it, for a directory that this handle may touch.
    pub(super) fn target(&self, location: &Location) -> Result<(Arc<dyn ObjectStore>, StorePath)> {
        if !self.allows(location) {
            return Err(Error::permission_denied(format!(
                "{location} lies outside the allowed locations {}",
                self.roots_text()
            )));
        }
        Ok((self.storage.store(location)?, location.store_path()?))
    }

    async fn open(
        &self,
        store: &dyn ObjectStore,
        location: &Location,
        path: &StorePath,
        options: GetOptions,
    ) -> Result<GetResult> {
        store
            .get_opts(path, options)
            .await
            .map_err(|error| store_error(error, "read", location))
    }

    /// Stores do not say that a range lies beyond the end: the size tells.
    async fn range_error(
        &self,
        error: object_store::Error,
        location: &Location,
        ranges: &[Range<u64>],
    ) -> Error {
        let error = store_error(error, "read", location);
        if error.kind() != ErrorKind::Unavailable {
            return error;
        }
        let Ok(size) = self.head(location).await else {
            return error;
        };
        match ranges.iter().find(|range| range.end > size) {
            Some(range) => short_file(location, range, Some(size)),
            None => error,
        }
    }

    fn roots_text(&self) -> String {
        format!("{:?}", self.roots)
    }
}

impl std::fmt::Debug for ReadStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ReadStore({:?})", self.roots)
    }
}

fn short_file(location: &Location, range: &Range<u64>, size: Option<u64>) -> Error {
    let size = size
        .map(|bytes| format!(" at byte {bytes}"))
        .unwrap_or_default();
    Error::corrupt(format!(
        "{location} ends{size} before the range {}..{} does",
        range.start, range.end
    ))
}
