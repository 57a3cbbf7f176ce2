//! Where bytes live: locations, the stores behind them, and the confined handles that read and write them.
//! Secrets of remote stores stay in here: they are in no location, no error and no `Debug` text.
//! Every path that comes from metadata goes through [`ReadStore::resolve`] (prefix map, then allow-list), and
//! a mounted table is handed a [`ReadStore`], a type that has no put and no delete. Knows no table and no
//! catalog. Local puts are synced to disk before they are acknowledged.

mod confined;
mod directory;
mod failure;
mod file_reader;
mod local;
mod location;
mod prefix;
mod read;
mod s3;
pub mod testing;
mod upload;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use object_store::ObjectStore;
use object_store::memory::InMemory;
use object_store::path::Path as StorePath;

pub use confined::{Confined, PutOutcome};
pub use file_reader::FileReader;
pub use location::Location;
pub use read::{Children, ReadStore};
pub use upload::Upload;

use local::LocalStore;
use location::Scheme;
use prefix::PrefixMap;
use s3::S3Stores;

use crate::error::{Error, Result};

/// The stores of one session and the prefix map of the user; cheap to clone.
#[derive(Clone)]
pub struct Storage {
    shared: Arc<Shared>,
}

#[derive(Clone)]
struct Shared {
    file: Arc<dyn ObjectStore>,
    memory: Arc<dyn ObjectStore>,
    s3: Arc<S3Stores>,
    prefixes: PrefixMap,
}

impl Storage {
    /// The stores of a new session: local disk, a memory store of its own, and remote ones when first used.
    ///
    /// `options` configure remote stores by Iceberg's names; a key of theirs that is not known is Unsupported,
    /// other keys are left to others. `map_prefix` holds pairs (recorded, actual): a path in metadata that
    /// starts with the first is read at the second.
    pub fn new(
        options: &BTreeMap<String, String>,
        map_prefix: &[(String, String)],
    ) -> Result<Storage> {
        let prefixes = PrefixMap::new(map_prefix)?;
        let shared = Shared {
            file: Arc::new(LocalStore::new()),
            memory: Arc::new(InMemory::new()),
            s3: Arc::new(S3Stores::new(options)?),
            prefixes,
        };
        Ok(Storage {
            shared: Arc::new(shared),
        })
    }

    /// Replaces the store behind `memory://`, behind a bucket `s3://bucket` (in clones too) or, for any other
    /// text, `file://`; for tests that count or inject faults. Directories on the local disk stay real.
    #[must_use]
    pub fn with_store(self, scheme_and_authority: &str, store: Arc<dyn ObjectStore>) -> Storage {
        let mut shared = Shared::clone(&self.shared);
        if scheme_and_authority.starts_with("memory:") {
            shared.memory = store;
        } else if let Some(bucket) = scheme_and_authority.strip_prefix("s3://") {
            shared.s3.replace(bucket, store);
        } else {
            shared.file = store;
        }
        Storage {
            shared: Arc::new(shared),
        }
    }

    /// The location a user typed: `/abs`, `rel` (below the current directory), `file:///abs`, `memory:///x`,
    /// `s3://bucket/x`.
    pub fn resolve(&self, location: &str) -> Result<Location> {
        Location::from_user(location)
    }

    /// The location of what a catalog names: through the prefix map, else on the local disk only below the warehouse
    /// that the user has named.
    pub fn resolve_remote(&self, recorded: &str, warehouse: Option<&Location>) -> Result<Location> {
        if let Some(mapped) = self.prefixes().apply(recorded) {
            return Location::from_recorded(&mapped);
        }
        let location = Location::from_recorded(recorded)?;
        if location.is_remote() || warehouse.is_some_and(|root| location.is_within(root)) {
            return Ok(location);
        }
        let outside = warehouse.map_or(String::new(), |root| {
            format!(" outside the warehouse {root}")
        });
        Err(Error::permission_denied(format!(
            "the catalog names the local path {recorded:?}{outside}; a prefix map can allow it"
        )))
    }

    /// Uses the keys among these options for all that lies below `root`, in clones too: a catalog gives them for
    /// one table. Without keys nothing changes.
    pub fn vend(&self, root: &Location, options: &BTreeMap<String, String>) -> Result<()> {
        match root.bucket() {
            Some(bucket) => self.shared.s3.vend(bucket, root, options),
            None => Ok(()),
        }
    }

    /// A handle that reads and writes below `roots` and below the targets of the prefix map, nowhere else.
    pub fn open(&self, roots: &[Location]) -> Confined {
        Confined::new(ReadStore::new(self.clone(), roots))
    }

    fn store(&self, location: &Location) -> Result<Arc<dyn ObjectStore>> {
        match location.scheme() {
            Scheme::File => Ok(Arc::clone(&self.shared.file)),
            Scheme::Memory => Ok(Arc::clone(&self.shared.memory)),
            Scheme::S3 => {
                let bucket = location.bucket().unwrap_or_default();
                self.shared.s3.store(bucket, location)
            }
        }
    }

    /// Unsupported where the store behind the location does not keep put-if-absent.
    async fn require_conditional_put(&self, location: &Location, path: &StorePath) -> Result<()> {
        match location.bucket() {
            Some(bucket) => {
                let stores = &self.shared.s3;
                stores.prove_conditional_put(bucket, location, path).await
            }
            None => Ok(()),
        }
    }

    fn prefixes(&self) -> &PrefixMap {
        &self.shared.prefixes
    }
}

impl fmt::Debug for Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Storage")
    }
}

#[cfg(test)]
mod tests;
