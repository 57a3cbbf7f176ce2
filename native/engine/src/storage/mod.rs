//! Where bytes live: locations, the stores behind them, and the confined handles that read and write them.
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
pub mod testing;
mod upload;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use object_store::ObjectStore;
use object_store::memory::InMemory;

pub use confined::{Confined, PutOutcome};
pub use file_reader::FileReader;
pub use location::Location;
pub use read::{Children, ReadStore};
pub use upload::Upload;

use local::LocalStore;
use location::Scheme;
use prefix::PrefixMap;

use crate::error::Result;

/// The stores of one session and the prefix map of the user; cheap to clone.
#[derive(Clone)]
pub struct Storage {
    shared: Arc<Shared>,
}

#[derive(Clone)]
struct Shared {
    file: Arc<dyn ObjectStore>,
    memory: Arc<dyn ObjectStore>,
    prefixes: PrefixMap,
}

impl Storage {
    /// The stores of a new session: local disk, and a memory store of its own.
    ///
    /// `_options` configure remote stores; local disk and memory have none. `map_prefix` holds pairs
    /// (recorded, actual): a path in metadata that starts with the first is read at the second.
    pub fn new(
        _options: &BTreeMap<String, String>,
        map_prefix: &[(String, String)],
    ) -> Result<Storage> {
        let prefixes = PrefixMap::new(map_prefix)?;
        let shared = Shared {
            file: Arc::new(LocalStore::new()),
            memory: Arc::new(InMemory::new()),
            prefixes,
        };
        Ok(Storage {
            shared: Arc::new(shared),
        })
    }

    /// Replaces the store behind `memory://` or, for any other text, `file://`; for tests that count or
    /// inject faults. Directories on the local disk stay real.
    #[must_use]
    pub fn with_store(self, scheme_and_authority: &str, store: Arc<dyn ObjectStore>) -> Storage {
        let mut shared = Shared::clone(&self.shared);
        if scheme_and_authority.starts_with("memory:") {
            shared.memory = store;
        } else {
            shared.file = store;
        }
        Storage {
            shared: Arc::new(shared),
        }
    }

    /// The location a user typed: `/abs`, `rel` (below the current directory), `file:///abs`, `memory:///x`.
    pub fn resolve(&self, location: &str) -> Result<Location> {
        Location::from_user(location)
    }

    /// A handle that reads and writes below `roots` and below the targets of the prefix map, nowhere else.
    pub fn open(&self, roots: &[Location]) -> Confined {
        Confined::new(ReadStore::new(self.clone(), roots))
    }

    fn store(&self, location: &Location) -> &Arc<dyn ObjectStore> {
        match location.scheme() {
            Scheme::File => &self.shared.file,
            Scheme::Memory => &self.shared.memory,
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
