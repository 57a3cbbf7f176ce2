//! Distances as users see them, summed in `f64`: the one unit of distance everywhere. Eight lanes,
//! multiply and add apart, so that every instruction set gives the same bits.

use crate::isa::{Isa, Level};

const WIDTH: usize = 8;

/// How far apart two vectors are; smaller is nearer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Metric {
    /// Euclidean distance, not squared.
    L2,
    /// 1 - cosine similarity; NaN where a vector is all zero.
    Cosine,
    /// Negative inner product.
    InnerProduct,
    /// Sum of absolute differences.
    L1,
}

impl Metric {
    /// Every metric.
    pub const ALL: [Metric; 4] = [Metric::L2, Metric::Cosine, Metric::InnerProduct, Metric::L1];

    /// The name users type.
    pub fn name(self) -> &'static str {
        match self {
            Metric::L2 => "l2",
            Metric::Cosine => "cosine",
            Metric::InnerProduct => "inner_product",
            Metric::L1 => "l1",
        }
    }

    /// The metric of that name.
    pub fn from_name(name: &str) -> Option<Metric> {
        Metric::ALL.into_iter().find(|metric| metric.name() == name)
    }

    /// The distance; None when the lengths differ. NaN stands where an element is NaN, or infinities cancel.
    pub fn distance(self, a: &[f32], b: &[f32]) -> Option<f64> {
        if a.len() != b.len() {
            return None;
        }
        Some(match self {
            Metric::L2 => sum::<SquaredL2>(a, b).sqrt(),
            Metric::L1 => sum::<L1>(a, b),
            Metric::InnerProduct => -sum::<Dot>(a, b),
            Metric::Cosine => {
                let lengths = (sum::<Dot>(a, a) * sum::<Dot>(b, b)).sqrt();
                1.0 - (sum::<Dot>(a, b) / lengths).clamp(-1.0, 1.0)
            }
        })
    }
}

trait Term {
    fn of(a: f64, b: f64) -> f64;
}

struct SquaredL2;
struct L1;
struct Dot;

impl Term for SquaredL2 {
    #[inline(always)]
    fn of(a: f64, b: f64) -> f64 {
        (a - b) * (a - b)
    }
}

impl Term for L1 {
    #[inline(always)]
    fn of(a: f64, b: f64) -> f64 {
        (a - b).abs()
    }
}

impl Term for Dot {
    #[inline(always)]
    fn of(a: f64, b: f64) -> f64 {
        a * b
    }
}

fn sum<T: Term>(a: &[f32], b: &[f32]) -> f64 {
    match Isa::best().level() {
        Level::Portable => lanes::<T>(a, b),
        // SAFETY: an `Isa` of this level exists only on a processor that has AVX2.
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 | Level::Avx512 => unsafe { lanes_avx2::<T>(a, b) },
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn lanes_avx2<T: Term>(a: &[f32], b: &[f32]) -> f64 {
    lanes::<T>(a, b)
}

#[inline(always)]
fn lanes<T: Term>(a: &[f32], b: &[f32]) -> f64 {
    let mut lanes = [0f64; WIDTH];
    let (a, a_rest) = a.as_chunks::<WIDTH>();
    let (b, b_rest) = b.as_chunks::<WIDTH>();
    for (a, b) in a.iter().zip(b) {
        for ((lane, a), b) in lanes.iter_mut().zip(a).zip(b) {
            *lane += T::of(f64::from(*a), f64::from(*b));
        }
    }
    for ((lane, a), b) in lanes.iter_mut().zip(a_rest).zip(b_rest) {
        *lane += T::of(f64::from(*a), f64::from(*b));
    }
    let [l0, l1, l2, l3, l4, l5, l6, l7] = lanes;
    ((l0 + l4) + (l2 + l6)) + ((l1 + l5) + (l3 + l7))
}
