//! The one Tokio runtime of the process, sized by its cores. Callers' threads drive their own
//! operation and wait here; nothing on the runtime's threads ever calls the host.

use std::future::Future;
use std::sync::OnceLock;
use std::thread;

use benostreamdb::{Error, Result};
use tokio::runtime::{Builder, Runtime};

static RUNTIME: OnceLock<std::result::Result<Runtime, String>> = OnceLock::new();

fn build() -> std::result::Result<Runtime, String> {
    let cores = thread::available_parallelism().map_or(2, |cores| cores.get());
    Builder::new_multi_thread()
        .worker_threads(cores.max(2))
        .thread_name("benostreamdb")
        .enable_all()
        .build()
        .map_err(|error| error.to_string())
}

/// The runtime, started by the first call.
pub(crate) fn runtime() -> Result<&'static Runtime> {
    let started = RUNTIME.get_or_init(build).as_ref();
    started.map_err(|error| Error::resource_exhausted(format!("cannot start the runtime: {error}")))
}

/// Runs a future to its end on this thread.
pub(crate) fn wait<T>(future: impl Future<Output = Result<T>>) -> Result<T> {
    runtime()?.block_on(future)
}
