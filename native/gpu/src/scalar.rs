//! The portable kernel. It defines the result; the others reproduce it bit for bit.

use crate::LANES;

/// What a kernel sums.
pub(crate) trait Term {
    /// Adds one pair to a lane.
    fn add(lane: f32, a: f32, b: f32) -> f32;
}

/// (a - b) squared.
pub(crate) struct SquaredL2;
/// a times b.
pub(crate) struct Dot;

impl Term for SquaredL2 {
    #[inline(always)]
    fn add(lane: f32, a: f32, b: f32) -> f32 {
        let difference = a - b;
        difference.mul_add(difference, lane)
    }
}

impl Term for Dot {
    #[inline(always)]
    fn add(lane: f32, a: f32, b: f32) -> f32 {
        a.mul_add(b, lane)
    }
}

/// The sum over two rows of equal length, a multiple of 16: lane j takes elements j, j + 16, ..;
/// then lanes are folded 8, 4, 2, 1 apart.
pub(crate) fn sum<T: Term>(a: &[f32], b: &[f32]) -> f32 {
    let mut lanes = [0f32; LANES];
    let (a, _) = a.as_chunks::<LANES>();
    let (b, _) = b.as_chunks::<LANES>();
    for (a, b) in a.iter().zip(b) {
        for ((lane, a), b) in lanes.iter_mut().zip(a).zip(b) {
            *lane = T::add(*lane, *a, *b);
        }
    }
    fold(lanes)
}

fn fold(lanes: [f32; LANES]) -> f32 {
    let [
        a0,
        a1,
        a2,
        a3,
        a4,
        a5,
        a6,
        a7,
        b0,
        b1,
        b2,
        b3,
        b4,
        b5,
        b6,
        b7,
    ] = lanes;
    let (c0, c1, c2, c3) = (
        (a0 + b0) + (a4 + b4),
        (a1 + b1) + (a5 + b5),
        (a2 + b2) + (a6 + b6),
        (a3 + b3) + (a7 + b7),
    );
    (c0 + c2) + (c1 + c3)
}
