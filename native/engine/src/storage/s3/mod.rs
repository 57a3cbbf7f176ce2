//! Object stores that speak S3: one client a bucket, made when a location in it is first used. Whoever holds a
//! [`S3Stores`] can reach what its options and the environment give keys for; secrets never leave it: it has no
//! `Debug`, and errors are built from what the store answered, cut to what helps.

mod failure;
mod options;
mod probe;

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use object_store::ObjectStore;
use object_store::path::Path as StorePath;
use tokio::sync::OnceCell;

use super::Location;
use crate::error::{Error, Result};
use options::S3Options;

pub(super) use failure::s3_error;

/// How many buckets one session may use.
const BUCKETS_MAX: usize = 256;
/// How many locations have keys of their own at most; the oldest go first.
const VENDED_MAX: usize = 1000;

/// The buckets of one session.
pub(super) struct S3Stores {
    options: S3Options,
    buckets: Mutex<BTreeMap<String, Bucket>>,
    /// Keys that a catalog gave for what lies below a location.
    vended: Mutex<VecDeque<(Location, Bucket)>>,
}

#[derive(Clone)]
struct Bucket {
    store: Arc<dyn ObjectStore>,
    /// Set once a put-if-absent has been seen to hold.
    proven: Arc<OnceCell<()>>,
}

impl S3Stores {
    /// Checks the options; reads no environment and reaches no store.
    pub(super) fn new(options: &BTreeMap<String, String>) -> Result<S3Stores> {
        Ok(S3Stores {
            options: S3Options::new(options)?,
            buckets: Mutex::default(),
            vended: Mutex::default(),
        })
    }

    /// The client for a location of a bucket.
    pub(super) fn store(&self, bucket: &str, location: &Location) -> Result<Arc<dyn ObjectStore>> {
        Ok(self.at(bucket, location)?.store)
    }

    /// Uses these options, over those of the session, for all that lies below `root`; nothing changes where they
    /// hold no keys.
    pub(super) fn vend(
        &self,
        bucket: &str,
        root: &Location,
        given: &BTreeMap<String, String>,
    ) -> Result<()> {
        let Some(options) = self.options.vended(given)? else {
            return Ok(());
        };
        let store = Arc::new(options.client(bucket, &environment)?);
        let mut vended = lock(&self.vended);
        let mut proven = Arc::default();
        if let Some(at) = vended.iter().position(|(known, _)| known == root)
            && let Some((_, old)) = vended.remove(at)
        {
            proven = old.proven;
        }
        vended.push_back((root.clone(), Bucket { store, proven }));
        if vended.len() > VENDED_MAX {
            vended.pop_front();
        }
        Ok(())
    }

    /// Puts a store in place of a bucket's client; for tests.
    pub(super) fn replace(&self, bucket: &str, store: Arc<dyn ObjectStore>) {
        let proven = Arc::new(OnceCell::new());
        lock(&self.buckets).insert(bucket.to_string(), Bucket { store, proven });
    }

    /// Proves, once a bucket, that the store keeps put-if-absent; Unsupported where it does not.
    pub(super) async fn prove_conditional_put(
        &self,
        bucket: &str,
        location: &Location,
        beside: &StorePath,
    ) -> Result<()> {
        let bucket = self.at(bucket, location)?;
        bucket
            .proven
            .get_or_try_init(|| probe::conditional_put(&*bucket.store, location, beside))
            .await
            .map(drop)
    }

    /// By the keys for the nearest location around it, else by those of the session.
    fn at(&self, bucket: &str, location: &Location) -> Result<Bucket> {
        let vended = lock(&self.vended);
        let around = vended.iter().filter(|(root, _)| location.is_within(root));
        match around.max_by_key(|(root, _)| root.as_str().len()) {
            Some((_, vended)) => Ok(vended.clone()),
            None => self.bucket(bucket),
        }
    }

    fn bucket(&self, name: &str) -> Result<Bucket> {
        let mut buckets = lock(&self.buckets);
        if let Some(bucket) = buckets.get(name) {
            return Ok(bucket.clone());
        }
        if buckets.len() >= BUCKETS_MAX {
            return Err(Error::resource_exhausted(format!(
                "a session uses at most {BUCKETS_MAX} buckets"
            )));
        }
        let bucket = Bucket {
            store: Arc::new(self.options.client(name, &environment)?),
            proven: Arc::new(OnceCell::new()),
        };
        buckets.insert(name.to_string(), bucket.clone());
        Ok(bucket)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A variable of the environment that is set and not empty.
fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests;
