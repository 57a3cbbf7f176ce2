//! Statements that nest deeply are parsed and planned on a thread with a large stack: their trees are walked
//! recursively, and the caller's stack may be small.

use std::future::Future;
use std::thread;

use tokio::runtime::Handle;
use tokio::sync::oneshot;

use crate::error::{Error, Result};

/// The depth up to which every caller's stack is large enough.
const SHALLOW: usize = 40;

/// The stack of the thread for deeper ones; pages that are not touched cost nothing.
const STACK_BYTES: usize = 256 << 20;

/// Runs `work` where a tree of `depth` levels can be walked.
pub(super) fn run_deep<T: Send>(
    depth: usize,
    work: impl FnOnce() -> Result<T> + Send,
) -> Result<T> {
    if depth <= SHALLOW {
        return work();
    }
    thread::scope(|scope| {
        let thread = thread::Builder::new()
            .stack_size(STACK_BYTES)
            .spawn_scoped(scope, work)?;
        thread
            .join()
            .map_err(|_| Error::internal("parsing a statement failed"))?
    })
}

/// Awaits `work` where a tree of `depth` levels can be walked; dropping the result's future stops the work.
pub(super) async fn await_deep<T: Send + 'static>(
    depth: usize,
    work: impl Future<Output = Result<T>> + Send + 'static,
) -> Result<T> {
    if depth <= SHALLOW {
        return work.await;
    }
    let (mut sender, receiver) = oneshot::channel();
    let handle = Handle::current();
    thread::Builder::new()
        .stack_size(STACK_BYTES)
        .spawn(move || {
            let outcome = handle.block_on(async {
                tokio::select! {
                    outcome = work => Some(outcome),
                    () = sender.closed() => None,
                }
            });
            if let Some(outcome) = outcome {
                // Nobody waits any more if this fails.
                let _ = sender.send(outcome);
            }
        })?;
    receiver
        .await
        .map_err(|_| Error::internal("running a statement failed"))?
}
