//! Distances of a graph walk: which kernel, and the factor per node that makes cosine and inner product
//! metrics. Cosine keeps the vectors as they are and multiplies by 1 / length. Inner product adds one
//! dimension, sqrt(longest^2 - length^2), after which the nearest by L2 is the greatest by inner product;
//! for a query that dimension is zero, so that the product alone orders. Where lengths differ much such a
//! graph hides the answers (recall@10 fell to 0.2 to 0.8 on Gaussian data), so none is built and searches scan.

use benostream_gpu_ann::{Matrix, Metric};

/// How much longer than the shortest the longest vector may be for a graph by inner product.
const MAX_LENGTH_RATIO: f64 = 1.02;

/// Vectors, their factors and the metric.
#[derive(Clone, Copy)]
pub(super) struct Space<'a> {
    pub(super) matrix: Matrix<'a>,
    /// One a node; empty for L2.
    pub(super) factors: &'a [f32],
    pub(super) metric: Metric,
}

/// What nodes are scored against: a query or a node.
pub(super) struct Probe<'a> {
    values: &'a [f32],
    factor: f32,
    node: bool,
}

impl<'a> Space<'a> {
    /// A padded query as a probe.
    pub(super) fn query<'q>(&self, padded: &'q [f32]) -> Probe<'q> {
        let factor = if self.metric == Metric::Cosine {
            cosine_factor(padded)
        } else {
            0.0
        };
        Probe {
            values: padded,
            factor,
            node: false,
        }
    }

    /// A node as a probe.
    pub(super) fn node(&self, node: u32) -> Probe<'a> {
        Probe {
            values: self.matrix.row(node),
            factor: self.factor(node),
            node: true,
        }
    }

    #[inline(always)]
    fn factor(&self, node: u32) -> f32 {
        self.factors.get(node as usize).copied().unwrap_or(0.0)
    }

    /// Distances of `nodes` to the probe, into `out`: comparable with each other, not those users see.
    #[inline]
    pub(super) fn score(&self, probe: &Probe<'_>, nodes: &[u32], out: &mut [f32]) {
        match (self.metric, probe.node) {
            (Metric::Cosine, _) => {
                self.matrix.dot(probe.values, nodes, out);
                for (score, node) in out.iter_mut().zip(nodes) {
                    *score = (1.0 - *score * self.factor(*node) * probe.factor).max(0.0);
                }
            }
            (Metric::InnerProduct, false) => {
                self.matrix.dot(probe.values, nodes, out);
                for (score, _) in out.iter_mut().zip(nodes) {
                    *score = -*score;
                }
            }
            (Metric::InnerProduct, true) => {
                self.matrix.squared_l2(probe.values, nodes, out);
                for (score, node) in out.iter_mut().zip(nodes) {
                    let difference = self.factor(*node) - probe.factor;
                    *score += difference * difference;
                }
            }
            (Metric::L2 | Metric::L1, _) => self.matrix.squared_l2(probe.values, nodes, out),
        }
    }
}

/// The sum of squares.
pub(super) fn squared_length(vector: &[f32]) -> f64 {
    vector.iter().map(|x| f64::from(*x) * f64::from(*x)).sum()
}

/// 1 / length, 0 for the zero vector.
pub(super) fn cosine_factor(vector: &[f32]) -> f32 {
    let squared = squared_length(vector);
    // Lengths are between 1e-12 and 1e15 here, so the factor is a normal f32.
    #[allow(clippy::cast_possible_truncation)]
    let factor = if squared > 0.0 {
        squared.sqrt().recip() as f32
    } else {
        0.0
    };
    factor
}

/// The factors of all nodes.
pub(super) fn factors(matrix: &Matrix<'_>, metric: Metric) -> Vec<f32> {
    let nodes =
        || (0..u32::try_from(matrix.rows()).unwrap_or(u32::MAX)).map(|node| matrix.row(node));
    match metric {
        Metric::L2 | Metric::L1 => Vec::new(),
        Metric::Cosine => nodes().map(cosine_factor).collect(),
        Metric::InnerProduct => {
            let lengths: Vec<f64> = nodes().map(squared_length).collect();
            let longest = lengths.iter().copied().fold(0.0, f64::max);
            // The root is at most 1e15.
            #[allow(clippy::cast_possible_truncation)]
            lengths
                .into_iter()
                .map(|length| (longest - length).max(0.0).sqrt() as f32)
                .collect()
        }
    }
}

/// Whether a graph over these vectors finds the nearest: not by inner product unless all have nearly one length.
pub(super) fn is_navigable(matrix: &Matrix<'_>, metric: Metric) -> bool {
    if metric != Metric::InnerProduct {
        return true;
    }
    let lengths = (0..u32::try_from(matrix.rows()).unwrap_or(u32::MAX))
        .map(|node| squared_length(matrix.row(node)));
    let (shortest, longest) = lengths
        .filter(|length| *length > 0.0)
        .fold((f64::INFINITY, 0.0), |(low, high), length| {
            (length.min(low), length.max(high))
        });
    longest <= shortest * MAX_LENGTH_RATIO * MAX_LENGTH_RATIO
}

/// Whether `f32` kernels order this vector soundly: finite, no overflow, no vanishing squares.
/// Others are compared one by one in `f64`.
pub(super) fn is_regular(vector: &[f32], metric: Metric) -> bool {
    let squared = squared_length(vector);
    if squared == 0.0 {
        metric != Metric::Cosine
    } else {
        (1e-24..=1e30).contains(&squared)
    }
}
