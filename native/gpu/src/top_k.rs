//! The best k of a stream of distances, ordered as results are: NaN greatest, -0.0 equal to 0.0, ties by row.

use std::collections::BinaryHeap;

/// A key that orders distances as results are ordered.
pub fn order_key(distance: f64) -> u64 {
    const SIGN: u64 = 1 << 63;
    if distance.is_nan() {
        return u64::MAX;
    }
    let bits = (distance + 0.0).to_bits();
    if bits & SIGN == 0 { bits | SIGN } else { !bits }
}

/// Keeps the `k` nearest of what is pushed.
pub struct TopK {
    k: usize,
    heap: BinaryHeap<(u64, u64, OrderedBits)>,
}

/// The distance itself, carried along without taking part in the order.
#[derive(Clone, Copy)]
struct OrderedBits(f64);

impl PartialEq for OrderedBits {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
impl Eq for OrderedBits {}
impl PartialOrd for OrderedBits {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for OrderedBits {
    fn cmp(&self, _: &Self) -> std::cmp::Ordering {
        std::cmp::Ordering::Equal
    }
}

impl TopK {
    /// An empty collection of at most `k`.
    pub fn new(k: usize) -> Self {
        TopK {
            k,
            heap: BinaryHeap::new(),
        }
    }

    /// Offers a row.
    pub fn push(&mut self, distance: f64, row: u64) {
        let entry = (order_key(distance), row, OrderedBits(distance));
        if self.heap.len() < self.k {
            self.heap.push(entry);
        } else if let Some(mut worst) = self.heap.peek_mut()
            && entry < *worst
        {
            *worst = entry;
        }
    }

    /// The distance that a row must beat, once `k` rows are held.
    pub fn bound(&self) -> Option<f64> {
        if self.heap.len() < self.k {
            None
        } else {
            self.heap.peek().map(|entry| entry.2.0)
        }
    }

    /// How many are held.
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// Whether none is held.
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    /// The rows and distances, nearest first.
    pub fn into_sorted(self) -> Vec<(u64, f64)> {
        self.heap
            .into_sorted_vec()
            .into_iter()
            .map(|(_, row, distance)| (row, distance.0))
            .collect()
    }
}
