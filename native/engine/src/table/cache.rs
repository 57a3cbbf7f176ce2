//! A bounded cache of immutable things, counted in bytes. What is put last stays longest; an entry
//! larger than the bound is not kept.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::Result;

/// A cache of at most `capacity` bytes.
pub(crate) struct Cache<K, V> {
    capacity: usize,
    state: Mutex<State<K, V>>,
    /// One lock a key that somebody loads just now.
    loading: Mutex<HashMap<K, Arc<tokio::sync::Mutex<()>>>>,
}

struct State<K, V> {
    entries: HashMap<K, Entry<V>>,
    /// Keys by the time of their last use.
    order: BTreeMap<u64, K>,
    now: u64,
    bytes: usize,
}

struct Entry<V> {
    value: V,
    bytes: usize,
    used: u64,
}

impl<K: Hash + Eq + Clone, V: Clone> Cache<K, V> {
    pub(crate) fn new(capacity: usize) -> Self {
        Cache {
            capacity,
            state: Mutex::new(State {
                entries: HashMap::new(),
                order: BTreeMap::new(),
                now: 0,
                bytes: 0,
            }),
            loading: Mutex::new(HashMap::new()),
        }
    }

    /// The entry, loaded where it is not here; those who ask for it meanwhile wait for that one load.
    pub(crate) async fn get_or_load(
        &self,
        key: K,
        load: impl Future<Output = Result<(V, usize)>>,
    ) -> Result<V> {
        if let Some(value) = self.get(&key) {
            return Ok(value);
        }
        let loading = Loading::new(self, key);
        let _held = loading.lock.lock().await;
        if let Some(value) = self.get(&loading.key) {
            return Ok(value);
        }
        let (value, bytes) = load.await?;
        self.put(loading.key.clone(), value.clone(), bytes);
        Ok(value)
    }

    pub(crate) fn get(&self, key: &K) -> Option<V> {
        let mut state = self.lock();
        let State {
            entries,
            order,
            now,
            ..
        } = &mut *state;
        let entry = entries.get_mut(key)?;
        *now += 1;
        if let Some(key) = order.remove(&entry.used) {
            order.insert(*now, key);
        }
        entry.used = *now;
        Some(entry.value.clone())
    }

    pub(crate) fn put(&self, key: K, value: V, bytes: usize) {
        if bytes > self.capacity {
            return;
        }
        let mut state = self.lock();
        state.now += 1;
        let used = state.now;
        let entry = Entry { value, bytes, used };
        if let Some(old) = state.entries.insert(key.clone(), entry) {
            state.bytes -= old.bytes;
            state.order.remove(&old.used);
        }
        state.bytes += bytes;
        state.order.insert(used, key);
        while state.bytes > self.capacity {
            let Some((_, oldest)) = state.order.pop_first() else {
                break;
            };
            if let Some(dropped) = state.entries.remove(&oldest) {
                state.bytes -= dropped.bytes;
            }
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State<K, V>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One who loads an entry, or waits for who does; the last of them takes the lock away, cancelled or not.
struct Loading<'a, K: Hash + Eq, V> {
    cache: &'a Cache<K, V>,
    key: K,
    lock: Arc<tokio::sync::Mutex<()>>,
}

impl<'a, K: Hash + Eq + Clone, V> Loading<'a, K, V> {
    fn new(cache: &'a Cache<K, V>, key: K) -> Self {
        let mut loading = cache.loading.lock().unwrap_or_else(PoisonError::into_inner);
        let lock = Arc::clone(loading.entry(key.clone()).or_default());
        Loading { cache, key, lock }
    }
}

impl<K: Hash + Eq, V> Drop for Loading<'_, K, V> {
    fn drop(&mut self) {
        let loading = &self.cache.loading;
        let mut loading = loading.lock().unwrap_or_else(PoisonError::into_inner);
        // One is in the map, one is ours.
        if Arc::strong_count(&self.lock) <= 2 {
            loading.remove(&self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::Cache;
    use crate::error::{Error, Result};

    #[test]
    fn put_beyond_capacity_drops_the_least_recently_used() {
        let cache = Cache::new(10);
        cache.put("a", 1, 4);
        cache.put("b", 2, 4);
        assert_eq!(cache.get(&"a"), Some(1));
        cache.put("c", 3, 4);
        assert_eq!(cache.get(&"b"), None);
        assert_eq!(cache.get(&"a"), Some(1));
        cache.put("d", 4, 11);
        assert_eq!(cache.get(&"d"), None);
    }

    #[tokio::test]
    async fn entry_wanted_many_times_at_once_is_loaded_once() {
        let cache = Cache::new(10);
        let loads = AtomicUsize::new(0);
        let load = || async {
            tokio::task::yield_now().await;
            Ok((loads.fetch_add(1, Ordering::Relaxed), 4))
        };
        let wanted = (0..8).map(|_| cache.get_or_load("a", load()));
        for found in futures::future::join_all(wanted).await {
            assert_eq!(found.unwrap(), 0);
        }
        let failed: Result<usize> = cache
            .get_or_load("b", async { Err(Error::corrupt("torn")) })
            .await;
        assert!(failed.is_err());
        let never = cache.get_or_load("b", std::future::pending());
        let cancelled = tokio::time::timeout(std::time::Duration::ZERO, never).await;
        assert!(cancelled.is_err());
        assert_eq!(cache.get_or_load("b", load()).await.unwrap(), 1);
        assert!(cache.loading.lock().unwrap().is_empty());
    }
}
