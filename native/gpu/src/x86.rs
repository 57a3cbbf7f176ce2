//! AVX2 and AVX-512 forms of the list kernels: four rows at a time, the lanes and the folding order of `scalar`.

use std::arch::x86_64::*;

use crate::{LANES, Matrix};

/// How many rows ahead of the one being scored are prefetched.
const AHEAD: usize = 12;

/// The offsets of the rows at `at..at + 4`; behind the end the last one is repeated.
#[inline(always)]
fn four(matrix: &Matrix<'_>, ids: &[u32], at: usize) -> [usize; 4] {
    let last = ids.len().saturating_sub(1);
    [0, 1, 2, 3].map(|i| matrix.offset(ids.get((at + i).min(last)).copied().unwrap_or(0)))
}

#[inline(always)]
fn prefetch_ahead(matrix: &Matrix<'_>, ids: &[u32], from: usize, to: usize) {
    for &id in ids
        .get(from.min(ids.len())..to.min(ids.len()))
        .unwrap_or(&[])
    {
        matrix.prefetch(id);
    }
}

/// Squared L2 (`L2`) or dot products. The query is `stride` long and there is at least one row.
#[target_feature(enable = "avx2,fma")]
pub(crate) fn avx2<const L2: bool>(
    matrix: &Matrix<'_>,
    query: &[f32],
    ids: &[u32],
    out: &mut [f32],
) {
    let stride = matrix.stride().min(query.len());
    prefetch_ahead(matrix, ids, 0, AHEAD);
    for (group, slots) in out.chunks_mut(4).enumerate() {
        let at = group * 4;
        if at >= ids.len() {
            break;
        }
        prefetch_ahead(matrix, ids, at + AHEAD, at + AHEAD + 4);
        let rows = four(matrix, ids, at);
        let mut low = [_mm256_setzero_ps(); 4];
        let mut high = [_mm256_setzero_ps(); 4];
        let mut block = 0;
        while block + LANES <= stride {
            // SAFETY: `block + 16 <= query.len()`.
            let (q0, q1) = unsafe {
                (
                    _mm256_loadu_ps(query.as_ptr().add(block)),
                    _mm256_loadu_ps(query.as_ptr().add(block + 8)),
                )
            };
            for ((low, high), row) in low.iter_mut().zip(&mut high).zip(rows) {
                // SAFETY: `Matrix::offset` gives a row start with `stride` floats behind it, and `block + 16 <= stride`.
                let (x0, x1) = unsafe {
                    let start = matrix.data().as_ptr().add(row + block);
                    (_mm256_loadu_ps(start), _mm256_loadu_ps(start.add(8)))
                };
                if L2 {
                    let (d0, d1) = (_mm256_sub_ps(q0, x0), _mm256_sub_ps(q1, x1));
                    *low = _mm256_fmadd_ps(d0, d0, *low);
                    *high = _mm256_fmadd_ps(d1, d1, *high);
                } else {
                    *low = _mm256_fmadd_ps(q0, x0, *low);
                    *high = _mm256_fmadd_ps(q1, x1, *high);
                }
            }
            block += LANES;
        }
        let ([l0, l1, l2, l3], [h0, h1, h2, h3]) = (low, high);
        let [s0, s1, s2, s3] =
            [(l0, h0), (l1, h1), (l2, h2), (l3, h3)].map(|(low, high)| _mm256_add_ps(low, high));
        store(fold(s0, s1, s2, s3), slots, ids.len() - at);
    }
}

/// Squared L2 (`L2`) or dot products. The query is `stride` long and there is at least one row.
#[target_feature(enable = "avx512f,avx2,fma")]
pub(crate) fn avx512<const L2: bool>(
    matrix: &Matrix<'_>,
    query: &[f32],
    ids: &[u32],
    out: &mut [f32],
) {
    let stride = matrix.stride().min(query.len());
    prefetch_ahead(matrix, ids, 0, AHEAD);
    for (group, slots) in out.chunks_mut(4).enumerate() {
        let at = group * 4;
        if at >= ids.len() {
            break;
        }
        prefetch_ahead(matrix, ids, at + AHEAD, at + AHEAD + 4);
        let rows = four(matrix, ids, at);
        let mut sums = [_mm512_setzero_ps(); 4];
        let mut block = 0;
        while block + LANES <= stride {
            // SAFETY: `block + 16 <= query.len()`.
            let q = unsafe { _mm512_loadu_ps(query.as_ptr().add(block)) };
            for (sum, row) in sums.iter_mut().zip(rows) {
                // SAFETY: `Matrix::offset` gives a row start with `stride` floats behind it, and `block + 16 <= stride`.
                let x = unsafe { _mm512_loadu_ps(matrix.data().as_ptr().add(row + block)) };
                if L2 {
                    let d = _mm512_sub_ps(q, x);
                    *sum = _mm512_fmadd_ps(d, d, *sum);
                } else {
                    *sum = _mm512_fmadd_ps(q, x, *sum);
                }
            }
            block += LANES;
        }
        let [s0, s1, s2, s3] = sums.map(|sum| {
            let high = _mm256_castpd_ps(_mm512_extractf64x4_pd::<1>(_mm512_castps_pd(sum)));
            _mm256_add_ps(_mm512_castps512_ps256(sum), high)
        });
        store(fold(s0, s1, s2, s3), slots, ids.len() - at);
    }
}

/// Four sums of eight lanes each, folded 4, 2 and 1 apart.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn fold(a: __m256, b: __m256, c: __m256, d: __m256) -> __m128 {
    let half = |x: __m256| _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps::<1>(x));
    let (a, b, c, d) = (half(a), half(b), half(c), half(d));
    let ab = _mm_add_ps(_mm_movelh_ps(a, b), _mm_movehl_ps(b, a));
    let cd = _mm_add_ps(_mm_movelh_ps(c, d), _mm_movehl_ps(d, c));
    _mm_add_ps(
        _mm_shuffle_ps::<0x88>(ab, cd),
        _mm_shuffle_ps::<0xdd>(ab, cd),
    )
}

/// Writes the first `count` of four results.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn store(results: __m128, slots: &mut [f32], count: usize) {
    let mut values = [0f32; 4];
    // SAFETY: `values` has room for four floats.
    unsafe { _mm_storeu_ps(values.as_mut_ptr(), results) };
    for (slot, value) in slots.iter_mut().zip(values).take(count) {
        *slot = value;
    }
}
