//! What all tables of a session share: the stores, the catalog, and bounded caches of immutable
//! files (footers, manifests, opened segments, deletes). Cheap to clone.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parquet::file::metadata::ParquetMetaData;

use super::cache::Cache;
use super::deletes::DeleteCaches;
use crate::catalog::{Catalog, DEFAULT_NAMESPACE, FileSystemCatalog, TableRef};
use crate::error::{Error, Result};
use crate::iceberg::manifest::{Entry, ManifestContent, ManifestFile};
use crate::index::OpenIndex;
use crate::storage::{Location, Storage};

const FOOTER_CACHE_BYTES: usize = 256 << 20;
const SEGMENT_CACHE_BYTES: usize = 1 << 30;
const MANIFEST_CACHE_BYTES: usize = 256 << 20;
const MANIFEST_LIST_CACHE_BYTES: usize = 32 << 20;

/// Shared state of a session.
#[derive(Clone)]
pub struct Environment {
    inner: Arc<Inner>,
    case_sensitive: bool,
}

struct Inner {
    storage: Storage,
    catalog: Arc<dyn Catalog>,
    footers: Footers,
    segments: Cache<String, OpenIndex>,
    deletes: DeleteCaches,
    manifests: Cache<ManifestKey, Arc<[Entry]>>,
    manifest_lists: Cache<Location, Arc<[ManifestFile]>>,
    distances: AtomicU64,
}

/// What decides the live entries of a manifest: the file, and what they inherit from the manifest list.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct ManifestKey {
    location: Location,
    content: ManifestContent,
    spec_id: i32,
    snapshot_id: Option<i64>,
    sequence_number: i64,
    first_row_id: Option<i64>,
}

impl ManifestKey {
    pub(crate) fn new(location: Location, manifest: &ManifestFile) -> ManifestKey {
        ManifestKey {
            location,
            content: manifest.content,
            spec_id: manifest.spec_id,
            snapshot_id: manifest.added_snapshot_id,
            sequence_number: manifest.sequence_number,
            first_row_id: manifest.first_row_id,
        }
    }
}

/// Parquet footers by path and size.
pub(crate) struct Footers(Cache<(Location, u64), Arc<ParquetMetaData>>);

impl Footers {
    pub(crate) fn get(&self, location: &Location, size: u64) -> Option<Arc<ParquetMetaData>> {
        self.0.get(&(location.clone(), size))
    }

    pub(crate) fn put(&self, location: &Location, size: u64, metadata: Arc<ParquetMetaData>) {
        let bytes = metadata.memory_size();
        self.0.put((location.clone(), size), metadata, bytes);
    }
}

impl Environment {
    /// An environment over a warehouse (or none: then only locations name tables).
    pub fn new(storage: Storage, warehouse: Option<&str>) -> Result<Environment> {
        let warehouse = warehouse.map(|w| storage.resolve(w)).transpose()?;
        let catalog = FileSystemCatalog::new(storage.clone(), warehouse);
        Ok(Environment::with_catalog(storage, Arc::new(catalog)))
    }

    /// An environment whose names are a catalog's.
    pub fn with_catalog(storage: Storage, catalog: Arc<dyn Catalog>) -> Environment {
        Environment {
            inner: Arc::new(Inner {
                storage,
                catalog,
                footers: Footers(Cache::new(FOOTER_CACHE_BYTES)),
                segments: Cache::new(SEGMENT_CACHE_BYTES),
                deletes: DeleteCaches::default(),
                manifests: Cache::new(MANIFEST_CACHE_BYTES),
                manifest_lists: Cache::new(MANIFEST_LIST_CACHE_BYTES),
                distances: AtomicU64::new(0),
            }),
            case_sensitive: true,
        }
    }

    /// The same with this rule for names of columns: whether their case tells them apart.
    #[must_use]
    pub fn with_case_sensitivity(mut self, case_sensitive: bool) -> Environment {
        self.case_sensitive = case_sensitive;
        self
    }

    /// Whether names of columns are told apart by their case.
    pub fn case_sensitive(&self) -> bool {
        self.case_sensitive
    }

    /// The stores.
    pub fn storage(&self) -> &Storage {
        &self.inner.storage
    }

    /// The catalog.
    pub fn catalog(&self) -> &dyn Catalog {
        self.inner.catalog.as_ref()
    }

    /// Reads a table's name as users write it: `ns.t`, `t` (namespace `default`), or a location with a `/`.
    pub fn table_ref(&self, text: &str) -> Result<TableRef> {
        if text.is_empty() {
            return Err(Error::invalid_input("a table name is empty"));
        }
        if text.contains('/') || text.contains(':') {
            return Ok(TableRef::Location(self.storage().resolve(text)?));
        }
        let mut parts: Vec<String> = text.split('.').map(str::to_string).collect();
        if parts.iter().any(String::is_empty) {
            return Err(Error::invalid_input(format!("'{text}' is no table name")));
        }
        let name = parts.pop().unwrap_or_default();
        let namespace = if parts.is_empty() {
            vec![DEFAULT_NAMESPACE.to_string()]
        } else {
            parts
        };
        Ok(TableRef::Name { namespace, name })
    }

    /// How many distances vector indexes have computed for the searches of this session.
    pub fn distances_computed(&self) -> u64 {
        self.inner.distances.load(Ordering::Relaxed)
    }

    pub(crate) fn count_distances(&self, count: u64) {
        self.inner.distances.fetch_add(count, Ordering::Relaxed);
    }

    pub(crate) fn footers(&self) -> &Footers {
        &self.inner.footers
    }

    /// Live entries by manifest.
    pub(crate) fn manifests(&self) -> &Cache<ManifestKey, Arc<[Entry]>> {
        &self.inner.manifests
    }

    pub(crate) fn manifest_lists(&self) -> &Cache<Location, Arc<[ManifestFile]>> {
        &self.inner.manifest_lists
    }

    pub(crate) fn segments(&self) -> &Cache<String, OpenIndex> {
        &self.inner.segments
    }

    pub(crate) fn deletes(&self) -> &DeleteCaches {
        &self.inner.deletes
    }
}
