//! Fails at the k-th operation, so that a test can run a scenario once for every k and check what is left.
//! Operations are counted over all paths, from 1: gets, puts, parts and ends of uploads, deletes, lists, copies.

use std::fmt;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use bytes::{Bytes, BytesMut};
use futures::StreamExt;
use futures::stream::BoxStream;
use object_store::path::Path as StorePath;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, PutMode, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
    UploadPart,
};

/// How an operation fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultMode {
    /// It does nothing and reports an error.
    Error,
    /// A put stores the first half of its bytes and reports an error; other operations fail as with `Error`.
    TornPut,
    /// It works, and an error is reported.
    LostAnswer,
    /// A put stores nothing and reports a full disk; reads and deletes work.
    DiskFull,
    /// A put-if-absent replaces what is there and reports success; everything else works.
    IgnoredCondition,
}

#[derive(Debug, Default)]
struct Plan {
    operations: u64,
    fault: Option<Fault>,
}

#[derive(Clone, Copy, Debug)]
struct Fault {
    at: u64,
    mode: FaultMode,
    lasting: bool,
}

/// Wraps a store and fails where it is told to.
#[derive(Debug, Clone)]
pub struct FaultStore {
    inner: Arc<dyn ObjectStore>,
    plan: Arc<Mutex<Plan>>,
}

impl FaultStore {
    /// A store without faults in front of `inner`; clones share plan and count.
    pub fn new(inner: Arc<dyn ObjectStore>) -> FaultStore {
        FaultStore {
            inner,
            plan: Arc::default(),
        }
    }

    /// Counts again from zero and fails at operation `at` (from 1) only.
    pub fn fail_at(&self, at: u64, mode: FaultMode) {
        self.arm(Some(Fault {
            at,
            mode,
            lasting: false,
        }));
    }

    /// Counts again from zero and fails at operation `at` and at all later ones, as after a crash.
    pub fn fail_from(&self, at: u64, mode: FaultMode) {
        self.arm(Some(Fault {
            at,
            mode,
            lasting: true,
        }));
    }

    /// Counts again from zero and fails at one of the first `operations`, chosen by `seed`.
    pub fn fail_seeded(&self, seed: u64, operations: u64, mode: FaultMode) {
        // SplitMix64: the same seed gives the same place on every machine.
        let mut mixed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        self.fail_at(1 + (mixed ^ (mixed >> 31)) % operations.max(1), mode);
    }

    /// Counts again from zero and fails no more.
    pub fn heal(&self) {
        self.arm(None);
    }

    /// The operations since the plan was last changed.
    pub fn operations(&self) -> u64 {
        self.plan().operations
    }

    fn arm(&self, fault: Option<Fault>) {
        *self.plan() = Plan {
            operations: 0,
            fault,
        };
    }

    fn plan(&self) -> std::sync::MutexGuard<'_, Plan> {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts one operation and tells how it must fail.
    fn step(&self, writes: bool) -> Option<FaultMode> {
        let mut plan = self.plan();
        plan.operations += 1;
        let fault = plan.fault?;
        let hit = if fault.lasting {
            plan.operations >= fault.at
        } else {
            plan.operations == fault.at
        };
        let fails = match fault.mode {
            FaultMode::IgnoredCondition => false,
            FaultMode::DiskFull => writes,
            FaultMode::Error | FaultMode::TornPut | FaultMode::LostAnswer => true,
        };
        (hit && fails).then_some(fault.mode)
    }

    fn ignores_conditions(&self) -> bool {
        let fault = self.plan().fault;
        fault.is_some_and(|fault| fault.mode == FaultMode::IgnoredCondition)
    }

    /// Counts one operation that stores nothing; only a lost answer lets it happen.
    fn pass(&self) -> Result<Option<FaultMode>> {
        match self.step(false) {
            Some(mode @ (FaultMode::Error | FaultMode::TornPut | FaultMode::DiskFull)) => {
                Err(injected(mode))
            }
            other => Ok(other),
        }
    }
}

fn injected(mode: FaultMode) -> Error {
    let source: Box<dyn std::error::Error + Send + Sync> = match mode {
        FaultMode::DiskFull => Box::new(io::Error::from(io::ErrorKind::StorageFull)),
        other => format!("injected fault: {other:?}").into(),
    };
    Error::Generic {
        store: "fault",
        source,
    }
}

fn after<T>(fault: Option<FaultMode>, result: Result<T>) -> Result<T> {
    match fault {
        Some(mode) => result.and(Err(injected(mode))),
        None => result,
    }
}

fn first_half(payload: &PutPayload) -> PutPayload {
    let mut all = BytesMut::with_capacity(payload.content_length());
    payload
        .iter()
        .for_each(|chunk| all.extend_from_slice(chunk));
    all.truncate(all.len() / 2);
    PutPayload::from_bytes(all.freeze())
}

impl fmt::Display for FaultStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "faulty {}", self.inner)
    }
}

#[async_trait]
impl ObjectStore for FaultStore {
    async fn put_opts(
        &self,
        location: &StorePath,
        payload: PutPayload,
        mut options: PutOptions,
    ) -> Result<PutResult> {
        let fault = self.step(true);
        if self.ignores_conditions() {
            options.mode = PutMode::Overwrite;
        }
        match fault {
            None => self.inner.put_opts(location, payload, options).await,
            Some(FaultMode::TornPut) => {
                self.inner
                    .put_opts(location, first_half(&payload), options)
                    .await?;
                Err(injected(FaultMode::TornPut))
            }
            Some(FaultMode::LostAnswer) => after(
                Some(FaultMode::LostAnswer),
                self.inner.put_opts(location, payload, options).await,
            ),
            Some(mode) => Err(injected(mode)),
        }
    }

    async fn put_multipart_opts(
        &self,
        location: &StorePath,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        let inner = self.inner.put_multipart_opts(location, options).await?;
        Ok(Box::new(FaultUpload {
            inner,
            store: self.clone(),
        }))
    }

    async fn get_opts(&self, location: &StorePath, options: GetOptions) -> Result<GetResult> {
        let fault = self.pass()?;
        after(fault, self.inner.get_opts(location, options).await)
    }

    async fn get_ranges(&self, location: &StorePath, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let fault = self.pass()?;
        after(fault, self.inner.get_ranges(location, ranges).await)
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<StorePath>>,
    ) -> BoxStream<'static, Result<StorePath>> {
        let store = self.clone();
        locations
            .then(move |location| {
                let store = store.clone();
                async move {
                    let location = location?;
                    let fault = store.pass()?;
                    let one = futures::stream::once(async move { Ok(location) }).boxed();
                    let mut deleted = store.inner.delete_stream(one);
                    let result = deleted
                        .next()
                        .await
                        .unwrap_or_else(|| Err(injected(FaultMode::Error)));
                    after(fault, result)
                }
            })
            .boxed()
    }

    fn list(&self, prefix: Option<&StorePath>) -> BoxStream<'static, Result<ObjectMeta>> {
        match self.step(false) {
            Some(mode) if mode != FaultMode::DiskFull => {
                futures::stream::once(async move { Err(injected(mode)) }).boxed()
            }
            _ => self.inner.list(prefix),
        }
    }

    async fn list_with_delimiter(&self, prefix: Option<&StorePath>) -> Result<ListResult> {
        let fault = self.pass()?;
        after(fault, self.inner.list_with_delimiter(prefix).await)
    }

    async fn copy_opts(
        &self,
        from: &StorePath,
        to: &StorePath,
        options: CopyOptions,
    ) -> Result<()> {
        match self.step(true) {
            None => self.inner.copy_opts(from, to, options).await,
            Some(FaultMode::LostAnswer) => after(
                Some(FaultMode::LostAnswer),
                self.inner.copy_opts(from, to, options).await,
            ),
            Some(mode) => Err(injected(mode)),
        }
    }
}

#[derive(Debug)]
struct FaultUpload {
    inner: Box<dyn MultipartUpload>,
    store: FaultStore,
}

#[async_trait]
impl MultipartUpload for FaultUpload {
    fn put_part(&mut self, data: PutPayload) -> UploadPart {
        match self.store.step(true) {
            None => self.inner.put_part(data),
            Some(mode) => Box::pin(async move { Err(injected(mode)) }),
        }
    }

    async fn complete(&mut self) -> Result<PutResult> {
        match self.store.step(true) {
            None => self.inner.complete().await,
            Some(FaultMode::LostAnswer) => {
                after(Some(FaultMode::LostAnswer), self.inner.complete().await)
            }
            Some(mode) => Err(injected(mode)),
        }
    }

    async fn abort(&mut self) -> Result<()> {
        self.inner.abort().await
    }
}
