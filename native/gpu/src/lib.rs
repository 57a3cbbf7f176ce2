//! Distance and top-k kernels. Slices in, slices out: no tables, no files, no errors to report.
//! Every kernel gives the same bits on every instruction set: sums run over 16 lanes in a fixed order
//! with fused multiply-add, and the exact `f64` distances use 8 lanes without fusing.
//! All `unsafe` of the vector index lives here, each block with its reason.
#![cfg_attr(
    test,
    allow(
        clippy::cast_possible_truncation,
        clippy::cast_possible_wrap,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        clippy::indexing_slicing,
        reason = "tests work on small numbers"
    )
)]

mod aligned;
mod exact;
mod isa;
mod matrix;
mod scalar;
mod top_k;
#[cfg(target_arch = "x86_64")]
mod x86;

pub use aligned::{AlignedBytes, AlignedFloats, as_floats, as_ids};
pub use exact::Metric;
pub use isa::Isa;
pub use matrix::{LANES, Matrix, gather_unvisited, padded_length, prefetch};
pub use top_k::{TopK, order_key};

#[cfg(test)]
mod tests;
