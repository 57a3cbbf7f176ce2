//! A split being read: one batch a call, within a time limit, within the memory that was granted.
//! After an error the reader stays failed; it never ends early in silence.

#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use arrow::array::{RecordBatch, StructArray};
use arrow::datatypes::SchemaRef;
use benostreamdb::{Error, Result};
use futures::StreamExt;
use futures::stream::BoxStream;
use tokio_util::sync::CancellationToken;

use crate::export::{self, Account};
use crate::runtime;

/// What one call gave.
pub(crate) enum Next {
    Batch(StructArray),
    End,
    /// The time limit passed; ask again.
    Pending,
    /// So many bytes must be granted first.
    NeedMemory(u64),
}

enum State {
    Open(BoxStream<'static, Result<RecordBatch>>),
    Ended,
    Failed,
}

struct Inner {
    state: State,
    /// Read, but not granted yet.
    waiting: Option<RecordBatch>,
}

/// A reader of one split.
pub(crate) struct Reader {
    schema: SchemaRef,
    inner: Mutex<Inner>,
    cancel: CancellationToken,
    account: Arc<Account>,
    /// Bytes the host allowed; without accounting none.
    granted: Option<AtomicU64>,
}

impl Reader {
    pub(crate) fn new(
        schema: &SchemaRef,
        stream: BoxStream<'static, Result<RecordBatch>>,
        granted: Option<u64>,
        cancel: CancellationToken,
    ) -> Result<Self> {
        Ok(Reader {
            schema: export::normal_schema(schema)?,
            inner: Mutex::new(Inner {
                state: State::Open(stream),
                waiting: None,
            }),
            cancel,
            account: Arc::default(),
            granted: granted.map(AtomicU64::new),
        })
    }

    /// The columns of every batch.
    pub(crate) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Ends a running and every later call with kind `Cancelled`.
    pub(crate) fn cancel(&self) {
        self.cancel.cancel();
    }

    /// Allows so many bytes more.
    pub(crate) fn grant(&self, bytes: u64) -> Result<()> {
        let granted = self.granted.as_ref();
        let granted =
            granted.ok_or_else(|| Error::invalid_input("this split reader accounts no memory"))?;
        granted.fetch_add(bytes, Ordering::AcqRel);
        Ok(())
    }

    /// The next batch, if it comes within the time limit.
    pub(crate) fn next(&self, timeout: Duration) -> Result<Next> {
        let busy = || {
            Error::invalid_input("the split reader is in use by another thread or failed in one")
        };
        let mut inner = self.inner.try_lock().map_err(|_| busy())?;
        let outcome = self.step(&mut inner, timeout);
        if outcome.is_err() {
            inner.waiting = None;
            let _context = runtime::runtime()?.enter();
            inner.state = State::Failed;
        }
        outcome
    }

    fn step(&self, inner: &mut Inner, timeout: Duration) -> Result<Next> {
        if self.cancel.is_cancelled() {
            return Err(cancelled());
        }
        if inner.waiting.is_none() {
            match self.pull(&mut inner.state, timeout)? {
                Pulled::Batch(batch) => {
                    inner.waiting = Some(export::normalize(&batch, &self.schema)?)
                }
                Pulled::End => return Ok(Next::End),
                Pulled::Pending => return Ok(Next::Pending),
            }
        }
        self.hand_out(inner)
    }

    fn hand_out(&self, inner: &mut Inner) -> Result<Next> {
        let Some(batch) = inner.waiting.take() else {
            return Err(Error::internal("no batch is waiting"));
        };
        let missing = self.missing(&batch);
        if missing > 0 {
            inner.waiting = Some(batch);
            return Ok(Next::NeedMemory(missing));
        }
        Ok(Next::Batch(export::exported(batch, &self.account)?))
    }

    fn missing(&self, batch: &RecordBatch) -> u64 {
        let Some(granted) = &self.granted else {
            return 0;
        };
        let needed = self
            .account
            .bytes()
            .saturating_add(export::batch_bytes(batch));
        needed.saturating_sub(granted.load(Ordering::Acquire))
    }

    fn pull(&self, state: &mut State, timeout: Duration) -> Result<Pulled> {
        let stream = match state {
            State::Open(stream) => stream,
            State::Ended => return Ok(Pulled::End),
            State::Failed => return Err(Error::invalid_input("the split reader failed before")),
        };
        let pulled = runtime::wait(async {
            tokio::select! {
                biased;
                () = self.cancel.cancelled() => Err(cancelled()),
                item = stream.next() => item.transpose().map(|batch| batch.map_or(Pulled::End, Pulled::Batch)),
                () = tokio::time::sleep(timeout) => Ok(Pulled::Pending),
            }
        })?;
        if matches!(pulled, Pulled::End) {
            let _context = runtime::runtime()?.enter();
            *state = State::Ended;
        }
        Ok(pulled)
    }
}

enum Pulled {
    Batch(RecordBatch),
    End,
    Pending,
}

fn cancelled() -> Error {
    Error::cancelled("reading the split was cancelled")
}
