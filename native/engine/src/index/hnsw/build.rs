//! Builds the graph: nodes come in a seeded random order, in batches of at most a 64th of the nodes.
//! A batch searches the graph as it stood before the batch, so the batch may be shared among any number
//! of threads and the graph is the same. Edges back are then added target by target.

use std::sync::atomic::{AtomicBool, Ordering};

use super::pool::{distance_of, key, node_of};
use super::prune::Pruner;
use super::space::Space;
use super::walk::{Graph, Scratch, walk};

/// Places a list may have beyond its width while the graph grows, so that pruning is rare.
const SLACK: usize = 16;
/// Batches smaller than this are not worth a thread.
const SMALL_BATCH: usize = 16;
/// More entries than this cost more than they give.
const MAX_ENTRIES: usize = 1024;

/// A finished graph, or none: no entries.
#[derive(Default)]
pub(super) struct BuiltGraph {
    /// Lists of `width` nodes each, padded with the node itself.
    pub(super) neighbours: Vec<u32>,
    /// Where walks start.
    pub(super) entries: Vec<u32>,
}

/// What shapes a graph.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    /// Neighbours a node has at most.
    pub(super) width: usize,
    /// How many candidates the search for neighbours keeps.
    pub(super) ef_construction: usize,
}

struct Worker {
    scratch: Scratch,
    pruner: Pruner,
    candidates: Vec<u64>,
    kept: Vec<u64>,
}

/// The growing graph: per node up to `width` keys, sorted or not, and the same as bare nodes for walks.
struct Links {
    width: usize,
    keys: Vec<u64>,
    nodes: Vec<u32>,
    degrees: Vec<usize>,
}

/// The part of `Links` that one thread changes: a contiguous range of nodes.
struct LinksPart<'a> {
    first: usize,
    width: usize,
    keys: &'a mut [u64],
    nodes: &'a mut [u32],
    degrees: &'a mut [usize],
}

/// Builds the graph over all nodes of `space` with that many threads; the result does not depend on their number.
/// None once `stop` is set.
pub(super) fn build(
    space: &Space<'_>,
    shape: Shape,
    threads: usize,
    stop: &AtomicBool,
) -> Option<BuiltGraph> {
    let stopped = || stop.load(Ordering::Relaxed);
    let count = space.matrix.rows();
    let order = insertion_order(count);
    let mut links = Links::new(count, shape.width + SLACK);
    let mut workers: Vec<Worker> = (0..threads.max(1)).map(|_| Worker::new(count)).collect();
    let entries: Vec<u32> = order
        .iter()
        .copied()
        .take(count.isqrt().clamp(1, MAX_ENTRIES))
        .collect();
    let mut done = 1;
    while done < count {
        let batch = (done / 16).clamp(1, (count / 64).max(1)).min(count - done);
        let nodes = order.get(done..done + batch).unwrap_or(&[]);
        let forward = forward_edges(
            space,
            shape,
            &links,
            entries.get(..done).unwrap_or(&entries),
            nodes,
            &mut workers,
            &stopped,
        );
        if stopped() {
            return None;
        }
        add_batch(space, shape, &mut links, nodes, &forward, &mut workers);
        done += batch;
    }
    Some(BuiltGraph {
        neighbours: cut(space, shape, &links, &mut workers),
        entries,
    })
}

impl Worker {
    fn new(nodes: usize) -> Self {
        Worker {
            scratch: Scratch::new(nodes),
            pruner: Pruner::default(),
            candidates: Vec::new(),
            kept: Vec::new(),
        }
    }
}

/// All nodes, shuffled with a fixed seed: data often comes sorted, and entries must be a fair sample.
fn insertion_order(count: usize) -> Vec<u32> {
    let mut order: Vec<u32> = (0..u32::try_from(count).unwrap_or(u32::MAX)).collect();
    let mut state = 0u64;
    for last in (1..order.len()).rev() {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        // The remainder is at most `last`.
        #[allow(clippy::cast_possible_truncation)]
        order.swap(last, (mixed % (last as u64 + 1)) as usize);
    }
    order
}

/// The pruned neighbours of each node of a batch, in the order of the batch.
fn forward_edges(
    space: &Space<'_>,
    shape: Shape,
    links: &Links,
    entries: &[u32],
    batch: &[u32],
    workers: &mut [Worker],
    stopped: &(impl Fn() -> bool + Sync),
) -> Vec<Vec<u64>> {
    let graph = Graph {
        neighbours: &links.nodes,
        width: links.width,
        entries,
    };
    let limit = (shape.width * 3 / 4).max(1);
    let mut forward = vec![Vec::new(); batch.len()];
    in_parts(
        workers,
        batch.len(),
        split_evenly(batch, &mut forward, workers.len()),
        |worker, (nodes, edges)| {
            for (node, edges) in nodes.iter().zip(edges) {
                if stopped() {
                    return;
                }
                walk(
                    space,
                    &graph,
                    &space.node(*node),
                    shape.ef_construction,
                    &mut worker.scratch,
                );
                worker.candidates.clear();
                worker
                    .candidates
                    .extend(worker.scratch.pool.keys().iter().map(|key| key & !1));
                worker
                    .pruner
                    .prune(space, &worker.candidates, limit, false, edges);
            }
        },
    );
    forward
}

/// Stores a batch's edges and their reverses.
fn add_batch(
    space: &Space<'_>,
    shape: Shape,
    links: &mut Links,
    batch: &[u32],
    forward: &[Vec<u64>],
    workers: &mut [Worker],
) {
    let mut reverse: Vec<(u32, u64)> = Vec::new();
    let mut all = links.whole();
    for (node, edges) in batch.iter().zip(forward) {
        all.set(*node, edges);
        reverse.extend(
            edges
                .iter()
                .map(|edge| (node_of(*edge), key(distance_of(*edge), *node))),
        );
    }
    reverse.sort_unstable();
    let parts = split_by_target(&reverse, links, workers.len());
    in_parts(
        workers,
        reverse.len(),
        parts,
        |worker, (edges, mut part)| {
            for edges in edges.chunk_by(|a, b| a.0 == b.0) {
                let Some((target, _)) = edges.first() else {
                    continue;
                };
                if !part.append(*target, edges) {
                    worker.candidates.clear();
                    worker.candidates.extend_from_slice(part.keys(*target));
                    worker.candidates.extend(edges.iter().map(|(_, key)| *key));
                    worker.candidates.sort_unstable();
                    worker.pruner.prune(
                        space,
                        &worker.candidates,
                        shape.width,
                        false,
                        &mut worker.kept,
                    );
                    part.set(*target, &worker.kept);
                }
            }
        },
    );
}

/// The final lists of `shape.width`.
fn cut(space: &Space<'_>, shape: Shape, links: &Links, workers: &mut [Worker]) -> Vec<u32> {
    let count = links.degrees.len();
    let mut lists = vec![0u32; count * shape.width];
    let per_part = count.div_ceil(workers.len()).max(1);
    let parts = lists
        .chunks_mut(per_part * shape.width)
        .enumerate()
        .map(|(part, lists)| (part * per_part, lists))
        .collect();
    in_parts(workers, count, parts, |worker, (first, lists)| {
        for (offset, list) in lists.chunks_mut(shape.width).enumerate() {
            // Nodes are below 2^31.
            #[allow(clippy::cast_possible_truncation)]
            let node = (first + offset) as u32;
            worker.candidates.clear();
            worker.candidates.extend_from_slice(links.keys(node));
            worker.candidates.sort_unstable();
            if worker.candidates.len() > shape.width {
                worker.pruner.prune(
                    space,
                    &worker.candidates,
                    shape.width,
                    true,
                    &mut worker.kept,
                );
            } else {
                std::mem::swap(&mut worker.candidates, &mut worker.kept);
            }
            list.fill(node);
            for (slot, key) in list.iter_mut().zip(&worker.kept) {
                *slot = node_of(*key);
            }
        }
    });
    lists
}

impl Links {
    fn new(count: usize, width: usize) -> Self {
        let nodes = (0..u32::try_from(count).unwrap_or(u32::MAX))
            .flat_map(|node| std::iter::repeat_n(node, width))
            .collect();
        Links {
            width,
            keys: vec![0; count * width],
            nodes,
            degrees: vec![0; count],
        }
    }

    fn keys(&self, node: u32) -> &[u64] {
        let (start, degree) = (
            node as usize * self.width,
            self.degrees.get(node as usize).copied().unwrap_or(0),
        );
        self.keys.get(start..start + degree).unwrap_or(&[])
    }

    fn whole(&mut self) -> LinksPart<'_> {
        LinksPart {
            first: 0,
            width: self.width,
            keys: &mut self.keys,
            nodes: &mut self.nodes,
            degrees: &mut self.degrees,
        }
    }
}

impl<'a> LinksPart<'a> {
    fn split_at(self, node: usize) -> (LinksPart<'a>, LinksPart<'a>) {
        let at = node.saturating_sub(self.first).min(self.degrees.len());
        let (keys, keys_after) = self.keys.split_at_mut(at * self.width);
        let (nodes, nodes_after) = self.nodes.split_at_mut(at * self.width);
        let (degrees, degrees_after) = self.degrees.split_at_mut(at);
        (
            LinksPart {
                first: self.first,
                width: self.width,
                keys,
                nodes,
                degrees,
            },
            LinksPart {
                first: self.first + at,
                width: self.width,
                keys: keys_after,
                nodes: nodes_after,
                degrees: degrees_after,
            },
        )
    }

    fn keys(&self, node: u32) -> &[u64] {
        let at = (node as usize).saturating_sub(self.first);
        let degree = self.degrees.get(at).copied().unwrap_or(0);
        self.keys
            .get(at * self.width..at * self.width + degree)
            .unwrap_or(&[])
    }

    /// Replaces the list of a node.
    fn set(&mut self, node: u32, edges: &[u64]) {
        let at = (node as usize).saturating_sub(self.first);
        let row = at * self.width..(at + 1) * self.width;
        let (Some(keys), Some(nodes), Some(degree)) = (
            self.keys.get_mut(row.clone()),
            self.nodes.get_mut(row),
            self.degrees.get_mut(at),
        ) else {
            return;
        };
        nodes.fill(node);
        for ((slot, place), edge) in keys.iter_mut().zip(nodes).zip(edges) {
            *slot = *edge;
            *place = node_of(*edge);
        }
        *degree = edges.len().min(self.width);
    }

    /// Appends edges where all find a place; false where they do not.
    fn append(&mut self, node: u32, edges: &[(u32, u64)]) -> bool {
        let at = (node as usize).saturating_sub(self.first);
        let row = at * self.width..(at + 1) * self.width;
        let (Some(keys), Some(nodes), Some(degree)) = (
            self.keys.get_mut(row.clone()),
            self.nodes.get_mut(row),
            self.degrees.get_mut(at),
        ) else {
            return true;
        };
        if *degree + edges.len() > self.width {
            return false;
        }
        for ((slot, place), (_, edge)) in keys.iter_mut().zip(nodes).skip(*degree).zip(edges) {
            *slot = *edge;
            *place = node_of(*edge);
        }
        *degree += edges.len();
        true
    }
}

type BatchPart<'a> = (&'a [u32], &'a mut [Vec<u64>]);

fn split_evenly<'a>(
    batch: &'a [u32],
    forward: &'a mut [Vec<u64>],
    parts: usize,
) -> Vec<BatchPart<'a>> {
    let size = batch.len().div_ceil(parts.max(1)).max(1);
    batch.chunks(size).zip(forward.chunks_mut(size)).collect()
}

type ReversePart<'a> = (&'a [(u32, u64)], LinksPart<'a>);

/// Cuts the sorted edges into at most `parts` pieces where the target changes, and the links with them.
fn split_by_target<'a>(
    reverse: &'a [(u32, u64)],
    links: &'a mut Links,
    parts: usize,
) -> Vec<ReversePart<'a>> {
    let size = reverse.len().div_ceil(parts.max(1)).max(1);
    let (mut rest, mut rest_links, mut split) = (reverse, links.whole(), Vec::new());
    while let Some((last, _)) = rest.get(size - 1) {
        let (edges, edges_after) = rest.split_at(rest.partition_point(|edge| edge.0 <= *last));
        let (part, part_after) = rest_links.split_at(*last as usize + 1);
        split.push((edges, part));
        (rest, rest_links) = (edges_after, part_after);
    }
    split.push((rest, rest_links));
    split
}

/// Runs the parts on the workers: in threads, unless the work is small or there is one worker.
fn in_parts<P: Send>(
    workers: &mut [Worker],
    size: usize,
    parts: Vec<P>,
    run: impl Fn(&mut Worker, P) + Sync,
) {
    if size < SMALL_BATCH || workers.len() < 2 {
        if let Some(worker) = workers.first_mut() {
            parts.into_iter().for_each(|part| run(worker, part));
        }
        return;
    }
    let run = &run;
    let mut parts = parts.into_iter();
    while parts.len() > 0 {
        std::thread::scope(|scope| {
            for (worker, part) in workers.iter_mut().zip(parts.by_ref()) {
                scope.spawn(move || run(worker, part));
            }
        });
    }
}
