//! Ctrl-C while a statement runs: the terminal sends SIGINT, which here stops the statement instead of the shell.

use std::thread;

use benostreamdb::Result;
use futures::StreamExt as _;
use futures::channel::mpsc::{UnboundedReceiver, unbounded};
use futures::future::BoxFuture;
use signal_hook::consts::SIGINT;
use signal_hook::iterator::Signals;

/// The interrupts since the last time they were looked at.
pub(super) struct Interrupts(UnboundedReceiver<()>);

impl Interrupts {
    /// From now on SIGINT no longer ends the process.
    pub(super) fn new() -> Result<Interrupts> {
        let mut signals = Signals::new([SIGINT])?;
        let (sender, receiver) = unbounded();
        thread::Builder::new()
            .name("interrupts".to_string())
            .spawn(move || {
                for _ in signals.forever() {
                    if sender.unbounded_send(()).is_err() {
                        return;
                    }
                }
            })?;
        Ok(Interrupts(receiver))
    }

    /// Forgets those that came before the statement.
    pub(super) fn forget(&mut self) {
        while self.0.try_recv().is_ok() {}
    }

    /// Waits for one.
    pub(super) fn next(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let _ = self.0.next().await;
        })
    }
}
