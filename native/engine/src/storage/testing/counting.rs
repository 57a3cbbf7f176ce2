//! Counts requests and bytes per path, so that tests can assert what a query reads.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;
use futures::StreamExt;
use futures::stream::BoxStream;
use object_store::path::Path as StorePath;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, Result, UploadPart,
};

/// What was asked of one path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadCount {
    /// Requests for bytes; each range of a request for several counts.
    pub gets: u64,
    /// Bytes asked for.
    pub bytes: u64,
    /// Requests for the size only.
    pub heads: u64,
}

#[derive(Debug, Default)]
struct Counts {
    reads: BTreeMap<String, ReadCount>,
    puts: BTreeMap<String, u64>,
    deletes: u64,
    lists: u64,
}

/// Wraps a store and counts.
#[derive(Debug, Clone)]
pub struct CountingStore {
    inner: Arc<dyn ObjectStore>,
    counts: Arc<Mutex<Counts>>,
}

impl CountingStore {
    /// A counter in front of `inner`; clones share the counts.
    pub fn new(inner: Arc<dyn ObjectStore>) -> CountingStore {
        CountingStore {
            inner,
            counts: Arc::default(),
        }
    }

    /// Reads per path since the last reset; paths are without leading slash.
    pub fn reads(&self) -> BTreeMap<String, ReadCount> {
        self.with(|counts| counts.reads.clone())
    }

    /// The sum of the reads of the paths that contain `part`.
    pub fn reads_of(&self, part: &str) -> ReadCount {
        self.with(|counts| {
            let mut sum = ReadCount::default();
            for (_, count) in counts.reads.iter().filter(|(path, _)| path.contains(part)) {
                sum.gets += count.gets;
                sum.bytes += count.bytes;
                sum.heads += count.heads;
            }
            sum
        })
    }

    /// Puts per path since the last reset; each part of an upload counts.
    pub fn puts(&self) -> BTreeMap<String, u64> {
        self.with(|counts| counts.puts.clone())
    }

    /// Requests to list since the last reset.
    pub fn lists(&self) -> u64 {
        self.with(|counts| counts.lists)
    }

    /// Deleted files since the last reset.
    pub fn deletes(&self) -> u64 {
        self.with(|counts| counts.deletes)
    }

    /// Starts all counts again at zero.
    pub fn reset(&self) {
        self.with(|counts| *counts = Counts::default());
    }

    fn with<T>(&self, use_counts: impl FnOnce(&mut Counts) -> T) -> T {
        use_counts(&mut self.counts.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn read(&self, path: &StorePath, count: impl FnOnce(&mut ReadCount)) {
        self.with(|counts| count(counts.reads.entry(path.to_string()).or_default()));
    }

    fn put(&self, path: &StorePath) {
        self.with(|counts| *counts.puts.entry(path.to_string()).or_default() += 1);
    }
}

impl fmt::Display for CountingStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "counting {}", self.inner)
    }
}

#[async_trait]
impl ObjectStore for CountingStore {
    async fn put_opts(
        &self,
        location: &StorePath,
        payload: PutPayload,
        options: PutOptions,
    ) -> Result<PutResult> {
        self.put(location);
        self.inner.put_opts(location, payload, options).await
    }

    async fn put_multipart_opts(
        &self,
        location: &StorePath,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        let inner = self.inner.put_multipart_opts(location, options).await?;
        Ok(Box::new(CountedUpload {
            inner,
            path: location.clone(),
            store: self.clone(),
        }))
    }

    async fn get_opts(&self, location: &StorePath, options: GetOptions) -> Result<GetResult> {
        let head = options.head;
        let found = self.inner.get_opts(location, options).await;
        let bytes = found
            .as_ref()
            .map_or(0, |found| found.range.end - found.range.start);
        self.read(location, |count| {
            if head {
                count.heads += 1;
            } else {
                count.gets += 1;
                count.bytes += bytes;
            }
        });
        found
    }

    async fn get_ranges(&self, location: &StorePath, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.read(location, |count| {
            count.gets += ranges.len() as u64;
            count.bytes += ranges
                .iter()
                .map(|range| range.end.saturating_sub(range.start))
                .sum::<u64>();
        });
        self.inner.get_ranges(location, ranges).await
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<StorePath>>,
    ) -> BoxStream<'static, Result<StorePath>> {
        let store = self.clone();
        let counted = locations
            .inspect(move |_| store.with(|counts| counts.deletes += 1))
            .boxed();
        self.inner.delete_stream(counted)
    }

    fn list(&self, prefix: Option<&StorePath>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.with(|counts| counts.lists += 1);
        self.inner.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&StorePath>) -> Result<ListResult> {
        self.with(|counts| counts.lists += 1);
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(
        &self,
        from: &StorePath,
        to: &StorePath,
        options: CopyOptions,
    ) -> Result<()> {
        self.put(to);
        self.inner.copy_opts(from, to, options).await
    }
}

#[derive(Debug)]
struct CountedUpload {
    inner: Box<dyn MultipartUpload>,
    path: StorePath,
    store: CountingStore,
}

#[async_trait]
impl MultipartUpload for CountedUpload {
    fn put_part(&mut self, data: PutPayload) -> UploadPart {
        self.store.put(&self.path);
        self.inner.put_part(data)
    }

    async fn complete(&mut self) -> Result<PutResult> {
        self.inner.complete().await
    }

    async fn abort(&mut self) -> Result<()> {
        self.inner.abort().await
    }
}
