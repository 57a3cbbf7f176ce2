//! The runtime of a process. A system that gives no more threads is an error here: the runtime's own start would
//! panic and then wait for ever for threads that never came.

use std::sync::mpsc;
use std::thread;

use tokio::runtime::{Builder, Runtime};

use crate::error::{Error, Result};

/// Stack of the worker threads: plans of deeply nested statements are walked recursively.
const STACK_BYTES: usize = 16 << 20;
/// Fewer workers would let one long computation stop all input and output.
const MIN_WORKERS: usize = 2;

/// Starts a runtime with a worker for each core. Errors: ResourceExhausted where the system gives no threads.
pub fn start_runtime() -> Result<Runtime> {
    let workers = thread::available_parallelism().map_or(MIN_WORKERS, |cores| cores.get());
    let workers = workers.max(MIN_WORKERS);
    let refused = |error| {
        Error::resource_exhausted(format!("the system gives no {workers} threads: {error}"))
    };
    probe(workers).map_err(refused)?;
    Builder::new_multi_thread()
        .worker_threads(workers)
        .thread_name("benostreamdb")
        .thread_stack_size(STACK_BYTES)
        .enable_all()
        .build()
        .map_err(refused)
}

/// Starts so many threads at once and lets them end.
fn probe(count: usize) -> std::io::Result<()> {
    let mut running = Vec::with_capacity(count);
    for _ in 0..count {
        let (end, ended) = mpsc::channel::<()>();
        let thread = thread::Builder::new().stack_size(STACK_BYTES);
        let thread = thread.spawn(move || ended.recv().is_err())?;
        running.push((end, thread));
    }
    for (end, thread) in running {
        drop(end);
        // A thread that only waited has nothing to report.
        drop(thread.join());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runtime_of_a_process_runs_work_on_its_threads() {
        let runtime = start_runtime().unwrap();
        let work = runtime.spawn(async { thread::current().name().map(str::to_owned) });
        let name = runtime.block_on(work).unwrap();
        assert_eq!(name.as_deref(), Some("benostreamdb"));
    }
}
