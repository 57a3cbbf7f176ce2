//! The graph walk: from the nearest of a sampled entry set, always expand the nearest node that is
//! not expanded yet, until the pool holds none. The filtered form keeps a second pool of passing rows.

use benostream_gpu_ann::{gather_unvisited, prefetch};

use super::pool::{Pool, key, node_of};
use super::space::{Probe, Space};

/// How many nodes are scored in one kernel call at most.
pub(super) const LIST: usize = 256;
/// How many of the nearest entries a walk starts from.
const SEEDS: usize = 3;
/// Expanded results with fewer passing neighbours than this look two hops far.
const ENOUGH_PASSING: usize = 8;
/// The hole test compares with the result at this place.
const HOLE: usize = 10;

/// Neighbour lists of equal width, padded with the node itself.
#[derive(Clone, Copy)]
pub(super) struct Graph<'a> {
    pub(super) neighbours: &'a [u32],
    pub(super) width: usize,
    /// Where walks start.
    pub(super) entries: &'a [u32],
}

impl<'a> Graph<'a> {
    #[inline(always)]
    fn of(&self, node: u32) -> &'a [u32] {
        let start = node as usize * self.width;
        self.neighbours
            .get(start..start + self.width)
            .unwrap_or(&[])
    }

    #[inline(always)]
    fn prefetch(&self, node: u32) {
        prefetch(self.neighbours, node as usize * self.width, self.width);
    }
}

/// Memory of one walk, reused by the next.
pub(super) struct Scratch {
    visited: Vec<u8>,
    expanded: Vec<u8>,
    epoch: u8,
    /// Nearest nodes of any kind.
    pub(super) pool: Pool,
    /// Nearest passing nodes of a filtered walk or a scan.
    pub(super) results: Pool,
    ids: Vec<u32>,
    scores: Vec<f32>,
    /// Distances computed so far.
    pub(super) distance_count: u64,
}

impl Scratch {
    /// Memory for a graph of that many nodes.
    pub(super) fn new(nodes: usize) -> Self {
        Scratch {
            visited: vec![0; nodes],
            expanded: Vec::new(),
            epoch: 0,
            pool: Pool::default(),
            results: Pool::default(),
            ids: vec![0; LIST],
            scores: vec![0.0; LIST],
            distance_count: 0,
        }
    }

    fn begin(&mut self) {
        self.epoch = self.epoch.wrapping_add(1);
        if self.epoch == 0 {
            self.visited.fill(0);
            self.expanded.fill(0);
            self.epoch = 1;
        }
    }

    /// True the first time in this walk.
    #[inline(always)]
    fn visit(&mut self, node: u32) -> bool {
        match self.visited.get_mut(node as usize) {
            Some(mark) if *mark != self.epoch => {
                *mark = self.epoch;
                true
            }
            _ => false,
        }
    }

    /// True the first time in this walk.
    fn expand(&mut self, node: u32) -> bool {
        match self.expanded.get_mut(node as usize) {
            Some(mark) if *mark != self.epoch => {
                *mark = self.epoch;
                true
            }
            _ => false,
        }
    }

    /// Writes an id into the list to score; false when the list is full.
    fn put(&mut self, at: usize, node: u32) -> bool {
        match self.ids.get_mut(at) {
            Some(slot) => {
                *slot = node;
                true
            }
            None => false,
        }
    }

    /// Scores the first `count` ids and hands each key to `take`.
    #[inline(always)]
    fn score(
        &mut self,
        space: &Space<'_>,
        probe: &Probe<'_>,
        count: usize,
        mut take: impl FnMut(&mut Pool, &mut Pool, u64),
    ) {
        let ids = self.ids.get(..count).unwrap_or(&[]);
        space.score(probe, ids, &mut self.scores);
        self.distance_count += ids.len() as u64;
        for (id, score) in ids.iter().zip(&self.scores) {
            take(&mut self.pool, &mut self.results, key(*score, *id));
        }
    }

    /// The nearest entries into the pool; for a filtered walk the nearest passing ones too.
    fn seed(
        &mut self,
        space: &Space<'_>,
        probe: &Probe<'_>,
        entries: &[u32],
        passes: Option<&dyn Fn(u32) -> bool>,
    ) {
        let mut nearest = Pool::default();
        let mut passing = Pool::default();
        nearest.reset(SEEDS);
        passing.reset(SEEDS);
        for part in entries.chunks(LIST) {
            for (slot, entry) in self.ids.iter_mut().zip(part) {
                *slot = *entry;
            }
            self.score(space, probe, part.len(), |_, _, key| {
                nearest.insert(key);
                if passes.is_some_and(|passes| passes(node_of(key))) {
                    passing.insert(key);
                }
            });
        }
        for key in nearest.keys().iter().chain(passing.keys()) {
            if self.visit(node_of(*key)) {
                self.pool.insert(*key);
                if passes.is_some_and(|passes| passes(node_of(*key))) {
                    self.results.insert(*key);
                }
            }
        }
    }
}

/// Leaves the `ef` nearest nodes found in `scratch.pool`.
pub(super) fn walk(
    space: &Space<'_>,
    graph: &Graph<'_>,
    probe: &Probe<'_>,
    ef: usize,
    scratch: &mut Scratch,
) {
    scratch.begin();
    scratch.pool.reset(ef);
    scratch.seed(space, probe, graph.entries, None);
    while let Some(node) = scratch.pool.pop() {
        let count = gather_unvisited(
            graph.of(node_of(node)),
            &mut scratch.visited,
            scratch.epoch,
            &mut scratch.ids,
        );
        if let Some(next) = scratch.pool.peek() {
            graph.prefetch(next);
        }
        scratch.score(space, probe, count, |pool, _, key| pool.insert(key));
    }
}

/// Leaves the `ef` nearest passing nodes found in `scratch.results`. `share` is the part of the nodes
/// that pass. False when the neighbourhood of the query holds too few passing nodes: scan instead.
pub(super) fn walk_filtered(
    space: &Space<'_>,
    graph: &Graph<'_>,
    probe: &Probe<'_>,
    ef: usize,
    share: f64,
    passes: &dyn Fn(u32) -> bool,
    scratch: &mut Scratch,
) -> bool {
    scratch.begin();
    scratch.expanded.resize(scratch.visited.len(), 0);
    // The share is above a tenth here, so this is at most 200.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let expected = (20.0 / share).ceil() as usize;
    scratch.pool.reset(expected.max(ef + 20));
    scratch.results.reset(ef);
    scratch.seed(space, probe, graph.entries, Some(passes));
    while let Some(nearest) = scratch.pool.pop() {
        if scratch.results.is_full() && nearest > scratch.results.bound() {
            break;
        }
        scratch.expand(node_of(nearest));
        let count = gather_unvisited(
            graph.of(node_of(nearest)),
            &mut scratch.visited,
            scratch.epoch,
            &mut scratch.ids,
        );
        if let Some(next) = scratch.pool.peek() {
            graph.prefetch(next);
        }
        scratch.score(space, probe, count, |pool, results, key| {
            pool.insert(key);
            if key < results.bound() && passes(node_of(key)) {
                results.insert(key);
            }
        });
    }
    let hole = scratch.pool.is_full()
        && scratch
            .results
            .keys()
            .get(HOLE - 1)
            .is_none_or(|key| *key > scratch.pool.bound());
    if !hole {
        expand_results(space, graph, probe, passes, scratch);
    }
    !hole
}

/// Passing nodes that were kept but never expanded grow among passing nodes, two hops far where few pass.
fn expand_results(
    space: &Space<'_>,
    graph: &Graph<'_>,
    probe: &Probe<'_>,
    passes: &dyn Fn(u32) -> bool,
    scratch: &mut Scratch,
) {
    let mut at = 0;
    while let Some(node) = scratch.results.keys().get(at).map(|key| node_of(*key)) {
        if !scratch.expand(node) {
            at += 1;
            continue;
        }
        let neighbours = graph.of(node);
        let mut count = 0;
        for &near in neighbours {
            if passes(near) && scratch.visit(near) {
                count += usize::from(scratch.put(count, near));
            }
        }
        if count < ENOUGH_PASSING {
            for &near in neighbours {
                if passes(near) {
                    continue;
                }
                for &far in graph.of(near) {
                    if count < LIST && passes(far) && scratch.visit(far) {
                        count += usize::from(scratch.put(count, far));
                    }
                }
            }
        }
        scratch.score(space, probe, count, |_, results, key| results.insert(key));
        at = 0;
    }
}

/// Leaves the `limit` nearest of `nodes` in `scratch.results`; a node that comes twice counts once.
pub(super) fn scan(
    space: &Space<'_>,
    nodes: impl Iterator<Item = u32>,
    probe: &Probe<'_>,
    limit: usize,
    scratch: &mut Scratch,
) {
    scratch.begin();
    scratch.results.reset(limit);
    let mut count = 0;
    for node in nodes {
        if scratch.visit(node) {
            count += usize::from(scratch.put(count, node));
            if count == LIST {
                scratch.score(space, probe, count, |_, results, key| results.insert(key));
                count = 0;
            }
        }
    }
    scratch.score(space, probe, count, |_, results, key| results.insert(key));
}
