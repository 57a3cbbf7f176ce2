//! The one Tokio runtime of the process, sized by its cores. Callers' threads drive their own
//! operation and wait here; nothing on the runtime's threads ever calls the host.

use std::future::Future;
use std::sync::OnceLock;

use benostreamdb::{Error, Result};
use tokio::runtime::Runtime;

static RUNTIME: OnceLock<Result<Runtime>> = OnceLock::new();

/// The runtime, started by the first call.
pub(crate) fn runtime() -> Result<&'static Runtime> {
    let started = RUNTIME.get_or_init(benostreamdb::start_runtime).as_ref();
    started.map_err(|error| Error::resource_exhausted(error.message()))
}

/// Runs a future to its end on this thread.
pub(crate) fn wait<T>(future: impl Future<Output = Result<T>>) -> Result<T> {
    runtime()?.block_on(future)
}
