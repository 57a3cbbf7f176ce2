//! The sorted pool of a graph walk: `u64` keys that hold an ordered distance, a node and whether the
//! node was expanded, so that one integer comparison orders them, ties by node.

/// The greatest node id that a key can hold, plus one.
pub(super) const MAX_NODES: usize = 1 << 31;

/// The key of a node at a distance; orders like the distance, then like the node.
#[inline(always)]
pub(super) fn key(distance: f32, node: u32) -> u64 {
    let bits = distance.to_bits();
    let ordered = if bits >> 31 == 0 {
        bits | 0x8000_0000
    } else {
        !bits
    };
    (u64::from(ordered) << 32) | (u64::from(node) << 1)
}

/// The node of a key.
#[inline(always)]
pub(super) fn node_of(key: u64) -> u32 {
    // The low half fits by construction.
    #[allow(clippy::cast_possible_truncation)]
    let low = key as u32;
    low >> 1
}

/// The distance of a key.
#[inline(always)]
pub(super) fn distance_of(key: u64) -> f32 {
    // The high half fits by construction.
    #[allow(clippy::cast_possible_truncation)]
    let ordered = (key >> 32) as u32;
    f32::from_bits(if ordered >> 31 == 1 {
        ordered & 0x7fff_ffff
    } else {
        !ordered
    })
}

/// The best `capacity` keys, sorted, with a cursor at the first one that may not be expanded yet.
#[derive(Default)]
pub(super) struct Pool {
    keys: Vec<u64>,
    capacity: usize,
    cursor: usize,
}

impl Pool {
    /// Empties the pool and sets how much it holds.
    pub(super) fn reset(&mut self, capacity: usize) {
        self.keys.clear();
        self.capacity = capacity.max(1);
        self.cursor = 0;
    }

    /// The keys, nearest first. The lowest bit of a key tells whether it was expanded.
    pub(super) fn keys(&self) -> &[u64] {
        &self.keys
    }

    /// The worst key once the pool is full; what is not below it is refused.
    #[inline(always)]
    pub(super) fn bound(&self) -> u64 {
        if self.keys.len() < self.capacity {
            u64::MAX
        } else {
            self.keys.last().copied().unwrap_or(u64::MAX)
        }
    }

    /// Whether the pool is full.
    pub(super) fn is_full(&self) -> bool {
        self.keys.len() >= self.capacity
    }

    /// Offers a key.
    #[inline(always)]
    pub(super) fn insert(&mut self, key: u64) {
        if key >= self.bound() {
            return;
        }
        let at = self.keys.partition_point(|held| *held < key);
        if self.is_full() {
            self.keys.pop();
        }
        self.keys.insert(at, key);
        self.cursor = self.cursor.min(at);
    }

    /// The nearest key not expanded yet, which is marked as expanded.
    #[inline(always)]
    pub(super) fn pop(&mut self) -> Option<u64> {
        while let Some(key) = self.keys.get_mut(self.cursor) {
            self.cursor += 1;
            if *key & 1 == 0 {
                *key |= 1;
                return Some(*key & !1);
            }
        }
        None
    }

    /// The node that `pop` would give.
    #[inline(always)]
    pub(super) fn peek(&self) -> Option<u32> {
        self.keys
            .get(self.cursor..)?
            .iter()
            .find(|key| **key & 1 == 0)
            .map(|key| node_of(*key))
    }
}
