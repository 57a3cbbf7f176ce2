//! A bounded cache of immutable things, counted in bytes. What is put last stays longest; an entry
//! larger than the bound is not kept.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::sync::Mutex;

/// A cache of at most `capacity` bytes.
pub(crate) struct Cache<K, V> {
    capacity: usize,
    state: Mutex<State<K, V>>,
}

struct State<K, V> {
    entries: HashMap<K, (V, usize)>,
    order: VecDeque<K>,
    bytes: usize,
}

impl<K: Hash + Eq + Clone, V: Clone> Cache<K, V> {
    pub(crate) fn new(capacity: usize) -> Self {
        Cache {
            capacity,
            state: Mutex::new(State {
                entries: HashMap::new(),
                order: VecDeque::new(),
                bytes: 0,
            }),
        }
    }

    pub(crate) fn get(&self, key: &K) -> Option<V> {
        let mut state = self.lock();
        let value = state.entries.get(key).map(|(v, _)| v.clone())?;
        if let Some(at) = state.order.iter().position(|k| k == key) {
            state.order.remove(at);
            state.order.push_back(key.clone());
        }
        Some(value)
    }

    pub(crate) fn put(&self, key: K, value: V, bytes: usize) {
        if bytes > self.capacity {
            return;
        }
        let mut state = self.lock();
        if let Some((_, old)) = state.entries.insert(key.clone(), (value, bytes)) {
            state.bytes -= old;
            state.order.retain(|k| *k != key);
        }
        state.bytes += bytes;
        state.order.push_back(key);
        while state.bytes > self.capacity {
            let Some(oldest) = state.order.pop_front() else {
                break;
            };
            if let Some((_, size)) = state.entries.remove(&oldest) {
                state.bytes -= size;
            }
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State<K, V>> {
        self.state
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::Cache;

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
}
