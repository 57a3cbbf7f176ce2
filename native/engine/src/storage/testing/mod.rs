//! Stores for tests: one that counts what is read and written, one that fails at a chosen operation. Both wrap
//! any object store and are put in place with [`Storage::with_store`](super::Storage::with_store).

mod counting;
mod fault;

use std::sync::Arc;

use object_store::ObjectStore;

pub use counting::{CountingStore, ReadCount};
pub use fault::{FaultMode, FaultStore};

/// The store behind `file://` that a session has by default.
pub fn local_disk() -> Arc<dyn ObjectStore> {
    Arc::new(super::local::LocalStore::new())
}
