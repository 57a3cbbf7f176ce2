//! Rows of floats and the kernels that score a list of them against a query, four at a time,
//! with a rolling prefetch. Row ids beyond the end are scored as the last row, so that no id
//! can read outside; whoever reads ids from a file validates them.

use crate::isa::{Isa, Level};
use crate::scalar::{self, Dot, SquaredL2};
#[cfg(target_arch = "x86_64")]
use crate::x86;

/// Rows are padded with zeros to a multiple of this many floats.
pub const LANES: usize = 16;

/// `length` rounded up to whole lanes.
pub fn padded_length(length: usize) -> usize {
    length.div_ceil(LANES) * LANES
}

/// Borrowed rows of equal, padded length.
#[derive(Clone, Copy)]
pub struct Matrix<'a> {
    data: &'a [f32],
    stride: usize,
    rows: usize,
    isa: Isa,
}

impl<'a> Matrix<'a> {
    /// Views `data` as rows of `stride` floats; None unless `stride` is a positive multiple of 16 that divides the length.
    pub fn new(data: &'a [f32], stride: usize, isa: Isa) -> Option<Self> {
        if stride == 0 || !stride.is_multiple_of(LANES) || !data.len().is_multiple_of(stride) {
            return None;
        }
        Some(Matrix {
            data,
            stride,
            rows: data.len() / stride,
            isa,
        })
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// One row with its padding; empty beyond the end.
    pub fn row(&self, id: u32) -> &'a [f32] {
        let start = (id as usize).saturating_mul(self.stride);
        self.data
            .get(start..start.saturating_add(self.stride))
            .unwrap_or(&[])
    }

    /// `values` padded for this matrix; what is longer than a row is cut.
    pub fn query(&self, values: &[f32]) -> Vec<f32> {
        let mut query: Vec<f32> = values.iter().copied().take(self.stride).collect();
        query.resize(self.stride, 0.0);
        query
    }

    /// Squared L2 distances between `query` and the rows `ids`, into `out` (the shorter of the two decides).
    pub fn squared_l2(&self, query: &[f32], ids: &[u32], out: &mut [f32]) {
        if !self.can_score(query) {
            return;
        }
        match self.isa.level() {
            Level::Portable => self.portable::<SquaredL2>(query, ids, out),
            // SAFETY: an `Isa` of this level exists only on a processor that has AVX2 and FMA.
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => unsafe { x86::avx2::<true>(self, query, ids, out) },
            // SAFETY: an `Isa` of this level exists only on a processor that has AVX-512F.
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => unsafe { x86::avx512::<true>(self, query, ids, out) },
        }
    }

    /// Dot products of `query` and the rows `ids`, into `out` (the shorter of the two decides).
    pub fn dot(&self, query: &[f32], ids: &[u32], out: &mut [f32]) {
        if !self.can_score(query) {
            return;
        }
        match self.isa.level() {
            Level::Portable => self.portable::<Dot>(query, ids, out),
            // SAFETY: an `Isa` of this level exists only on a processor that has AVX2 and FMA.
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => unsafe { x86::avx2::<false>(self, query, ids, out) },
            // SAFETY: an `Isa` of this level exists only on a processor that has AVX-512F.
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => unsafe { x86::avx512::<false>(self, query, ids, out) },
        }
    }

    /// Asks for a row to be brought near the processor.
    #[inline(always)]
    pub fn prefetch(&self, id: u32) {
        let start = self.offset(id);
        prefetch(self.data, start, self.stride);
    }

    fn can_score(&self, query: &[f32]) -> bool {
        debug_assert_eq!(query.len(), self.stride);
        self.rows > 0 && query.len() == self.stride
    }

    fn portable<T: scalar::Term>(&self, query: &[f32], ids: &[u32], out: &mut [f32]) {
        for (slot, id) in out.iter_mut().zip(ids) {
            let start = self.offset(*id);
            *slot = scalar::sum::<T>(
                query,
                self.data.get(start..start + self.stride).unwrap_or(&[]),
            );
        }
    }

    /// Where a row starts, clamped to the last row: always `offset + stride <= data.len()` while there are rows.
    #[inline(always)]
    pub(crate) fn offset(&self, id: u32) -> usize {
        (id as usize).min(self.rows.saturating_sub(1)) * self.stride
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(crate) fn data(&self) -> &'a [f32] {
        self.data
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(crate) fn stride(&self) -> usize {
        self.stride
    }
}

/// Asks for `length` elements of `data` from `start` on to be brought near the processor.
#[inline(always)]
pub fn prefetch<T>(data: &[T], start: usize, length: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let Some(part) = data.get(start..start.saturating_add(length)) else {
            return;
        };
        let bytes = size_of_val(part);
        let mut offset = 0;
        while offset < bytes {
            // SAFETY: a prefetch reads nothing; the address lies inside `part`.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(part.as_ptr().cast::<i8>().add(offset)) };
            offset += 64;
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = (data, start, length);
    }
}

/// Marks the neighbours whose mark is not `epoch` yet and writes them to the front of `out`; returns how many.
#[inline]
pub fn gather_unvisited(neighbours: &[u32], marks: &mut [u8], epoch: u8, out: &mut [u32]) -> usize {
    let mut count = 0;
    for &id in neighbours {
        let (Some(mark), Some(slot)) = (marks.get_mut(id as usize), out.get_mut(count)) else {
            continue;
        };
        *slot = id;
        count += usize::from(*mark != epoch);
        *mark = epoch;
    }
    count
}
