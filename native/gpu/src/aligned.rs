//! Memory on 64-byte boundaries, and views of bytes as numbers. Arrays in files are little-endian;
//! on a big-endian machine the views refuse, so that nobody reads swapped numbers.

use crate::LANES;

const LINE: usize = 64;

#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([f32; LANES]);

/// A growing array of floats that starts on a 64-byte boundary and grows by whole lines of 16.
#[derive(Clone, Default)]
pub struct AlignedFloats {
    lines: Vec<Line>,
}

impl AlignedFloats {
    /// An empty array.
    pub fn new() -> Self {
        AlignedFloats::default()
    }

    /// Appends one row, padded with zeros to whole lines of 16 floats.
    pub fn push_row(&mut self, row: &[f32]) {
        for part in row.chunks(LANES) {
            let mut line = Line([0.0; LANES]);
            for (slot, value) in line.0.iter_mut().zip(part) {
                *slot = *value;
            }
            self.lines.push(line);
        }
    }

    /// All floats, padding included.
    pub fn as_slice(&self) -> &[f32] {
        // SAFETY: `Line` is `repr(C)` around `[f32; 16]` with size 64 and no padding bytes, so `lines`
        // are `16 * len` contiguous initialised floats that live as long as `self` is borrowed.
        unsafe {
            std::slice::from_raw_parts(self.lines.as_ptr().cast::<f32>(), self.lines.len() * LANES)
        }
    }
}

/// A copy of bytes that starts on a 64-byte boundary.
#[derive(Clone)]
pub struct AlignedBytes {
    lines: Vec<Line>,
    length: usize,
}

impl AlignedBytes {
    /// Copies `bytes`.
    pub fn copy_of(bytes: &[u8]) -> Self {
        let mut lines = vec![Line([0.0; LANES]); bytes.len().div_ceil(LINE)];
        // SAFETY: `lines` owns at least `bytes.len()` bytes, every byte pattern is a valid float, and
        // the freshly allocated target cannot overlap the source.
        unsafe {
            std::ptr::copy_nonoverlapping(
                bytes.as_ptr(),
                lines.as_mut_ptr().cast::<u8>(),
                bytes.len(),
            )
        };
        AlignedBytes {
            lines,
            length: bytes.len(),
        }
    }

    /// The bytes.
    pub fn as_slice(&self) -> &[u8] {
        // SAFETY: `lines` holds at least `length` initialised bytes (see `copy_of`), borrowed with `self`.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast::<u8>(), self.length) }
    }
}

/// The bytes as little-endian floats; None when they are not aligned to 4 or not a whole number of floats.
pub fn as_floats(bytes: &[u8]) -> Option<&[f32]> {
    // SAFETY: every bit pattern is a valid f32; `align_to` itself finds the aligned middle.
    let (before, middle, after) = unsafe { bytes.align_to::<f32>() };
    (cfg!(target_endian = "little") && before.is_empty() && after.is_empty()).then_some(middle)
}

/// The bytes as little-endian 32-bit numbers; None when they are not aligned to 4 or not a whole number of them.
pub fn as_ids(bytes: &[u8]) -> Option<&[u32]> {
    // SAFETY: every bit pattern is a valid u32; `align_to` itself finds the aligned middle.
    let (before, middle, after) = unsafe { bytes.align_to::<u32>() };
    (cfg!(target_endian = "little") && before.is_empty() && after.is_empty()).then_some(middle)
}
