//! Which candidates become neighbours. First those that no kept neighbour is nearer to (alpha 1), then,
//! if places are free, the rest compete again with alpha 1.2: one pass with alpha above 1 tears
//! separated clusters apart.

use super::pool::{distance_of, key, node_of};
use super::space::Space;

/// Alpha of the second pass, squared, because distances here are squared.
const ALPHA_SQUARED: f32 = 1.2 * 1.2;

/// Memory of the pruning, reused.
#[derive(Default)]
pub(super) struct Pruner {
    open: Candidates,
    next: Candidates,
    scores: Vec<f32>,
    rest: Vec<(u64, f32)>,
}

/// Candidates as the kernels want them: nodes and distances apart.
#[derive(Default)]
struct Candidates {
    nodes: Vec<u32>,
    distances: Vec<f32>,
}

impl Candidates {
    fn clear(&mut self) {
        self.nodes.clear();
        self.distances.clear();
    }

    fn push(&mut self, node: u32, distance: f32) {
        self.nodes.push(node);
        self.distances.push(distance);
    }
}

impl Pruner {
    /// Keeps at most `limit` of the sorted `candidates` (keys relative to the node they are for) in `kept`;
    /// with `fill`, free places go to the nearest of the rest.
    pub(super) fn prune(
        &mut self,
        space: &Space<'_>,
        candidates: &[u64],
        limit: usize,
        fill: bool,
        kept: &mut Vec<u64>,
    ) {
        kept.clear();
        self.rest.clear();
        self.open.clear();
        for candidate in candidates {
            self.open.push(node_of(*candidate), distance_of(*candidate));
        }
        self.pass(space, limit, 1.0, kept);
        if kept.len() < limit {
            let mut rest = std::mem::take(&mut self.rest);
            rest.sort_unstable_by_key(|(candidate, _)| *candidate);
            self.open.clear();
            for (candidate, blocked) in &rest {
                if ALPHA_SQUARED * blocked > distance_of(*candidate) {
                    self.open.push(node_of(*candidate), distance_of(*candidate));
                }
            }
            self.pass(space, limit, ALPHA_SQUARED, kept);
            if fill {
                for (candidate, _) in &rest {
                    if kept.len() < limit && !kept.contains(candidate) {
                        kept.push(*candidate);
                    }
                }
            }
            self.rest = rest;
        }
    }

    /// Keeps the nearest open candidate and drops those that it is nearer to than `alpha` allows, again and
    /// again; the dropped ones go to `rest` with their distance to the neighbour that dropped them.
    fn pass(&mut self, space: &Space<'_>, limit: usize, alpha: f32, kept: &mut Vec<u64>) {
        while kept.len() < limit {
            let (Some((&node, nodes)), Some((&distance, distances))) = (
                self.open.nodes.split_first(),
                self.open.distances.split_first(),
            ) else {
                return;
            };
            kept.push(key(distance, node));
            if self.scores.len() < nodes.len() {
                self.scores.resize(nodes.len(), 0.0);
            }
            space.score(&space.node(node), nodes, &mut self.scores);
            self.next.clear();
            for ((&other, &far), &score) in nodes.iter().zip(distances).zip(&self.scores) {
                if alpha * score > far {
                    self.next.push(other, far);
                } else {
                    self.rest.push((key(far, other), score));
                }
            }
            std::mem::swap(&mut self.open, &mut self.next);
        }
    }
}
