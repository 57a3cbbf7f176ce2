//! Stores for tests: one that counts what is read and written, one that fails at a chosen operation. Both wrap
//! any object store and are put in place with [`Storage::with_store`](super::Storage::with_store). Also folders
//! that vanish with the test, and real servers of S3 and of the REST catalog.

mod catalog_server;
mod counting;
mod fault;
mod gateway;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use object_store::ObjectStore;

use super::Location;

pub use catalog_server::CatalogServer;
pub use counting::{CountingStore, ReadCount};
pub use fault::{FaultMode, FaultStore};
pub use gateway::{Gateway, KEY_ID, SECRET};

/// The store behind `file://` that a session has by default.
pub fn local_disk() -> Arc<dyn ObjectStore> {
    Arc::new(super::local::LocalStore::new())
}

/// A new folder below the system's temporary folder, removed with all it holds when dropped.
#[derive(Debug)]
pub struct TempFolder {
    path: PathBuf,
    location: Location,
}

impl TempFolder {
    /// Makes a folder with a name of its own.
    pub fn new() -> io::Result<TempFolder> {
        let path = std::env::temp_dir().join(format!("benostream-{}", uuid::Uuid::new_v4()));
        std::fs::create_dir_all(&path)?;
        let location = Location::from_user(&path.to_string_lossy()).map_err(io::Error::other)?;
        Ok(TempFolder { path, location })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where it is, as a location.
    pub fn location(&self) -> Location {
        self.location.clone()
    }
}

impl Drop for TempFolder {
    fn drop(&mut self) {
        // A folder that cannot be removed only costs space.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// What `scripts/test-servers.sh` has put below `tools` of the cache.
fn tool(name: &str) -> io::Result<PathBuf> {
    let from = |variable: &str, below: &str| {
        std::env::var_os(variable).map(|folder| Path::new(&folder).join(below))
    };
    let cache = from("BSDB_CACHE", "")
        .or_else(|| from("XDG_CACHE_HOME", "benostreamdb"))
        .or_else(|| from("HOME", ".cache/benostreamdb"))
        .unwrap_or_default();
    let tool = cache.join("tools").join(name);
    if tool.exists() {
        return Ok(tool);
    }
    Err(io::Error::new(
        io::ErrorKind::NotFound,
        format!(
            "{} is missing: scripts/test-servers.sh installs it",
            tool.display()
        ),
    ))
}
