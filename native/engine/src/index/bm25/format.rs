//! The layout of a `benostream-bm25-v1` blob, little-endian throughout:
//!
//! ```text
//! postings     per term with two or more rows, terms ascending:
//!                skip entries  one per 128 rows: last row, data offset, widths, bound (16 bytes)
//!                data          per 128 rows: gaps - 1, frequencies - 1, bit-packed
//!                tail          the other rows as varints: (gap - 1) * 2 + (frequency is 1), frequency - 2 if not
//! dictionary   blocks of front-coded terms: shared, suffix length, suffix, rows, then postings length,
//!              or row and frequency where the term has one row only
//! fences       per dictionary block: its offset, the offset of its first postings, the end of its first term;
//!              then those terms
//! codes        a length code per row
//! lengths      16 bits per row, 65535: see exceptions
//! exceptions   row and length, 32 bits each, ascending
//! trailer      section sizes and counts, versions, magic
//! ```

use crate::error::{Error, Result};

use super::analyzer::REVISION;
use super::bits::{u32_at, u64_at};
use super::hull::{PAIRS, Pair};

/// The blob's type.
pub const BLOB_KIND: &str = "benostream-bm25-v1";

const MAGIC: u64 = u64::from_le_bytes(*b"BSDBBM25");
const VERSION: u64 = 1;
const TRAILER_FIELDS: usize = 11;
/// Bytes of the trailer.
pub(super) const TRAILER_LEN: usize = TRAILER_FIELDS * 8;
/// Bytes of a fence without its term.
pub(super) const FENCE_LEN: usize = 20;
/// Bytes of a skip entry.
pub(super) const SKIP_LEN: usize = 16;
/// A 16-bit length that says: look among the exceptions.
pub(super) const LENGTH_ESCAPE: u16 = u16::MAX;
/// Dictionary bytes after which a new block starts.
pub(super) const DICTIONARY_BLOCK: usize = 2048;

/// An error for damaged bytes.
pub(super) fn damaged(what: &str) -> Error {
    Error::corrupt(format!("bm25 segment: damaged {what}"))
}

/// Sizes and counts of a blob.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Trailer {
    pub(super) postings_len: u64,
    pub(super) dictionary_len: u64,
    pub(super) fences_len: u64,
    pub(super) fence_count: u64,
    pub(super) term_count: u64,
    pub(super) row_count: u64,
    pub(super) exception_count: u64,
    /// Rows with a token.
    pub(super) document_count: u64,
    /// Sum of the lengths of all rows.
    pub(super) token_count: u64,
}

impl Trailer {
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let fields: [u64; TRAILER_FIELDS] = [
            self.postings_len,
            self.dictionary_len,
            self.fences_len,
            self.fence_count,
            self.term_count,
            self.row_count,
            self.exception_count,
            self.document_count,
            self.token_count,
            VERSION | (REVISION << 32),
            MAGIC,
        ];
        out.extend(fields.iter().flat_map(|field| field.to_le_bytes()));
    }

    /// Errors: Corrupt; Unsupported for another version of the format or of the analyzers.
    pub(super) fn read(bytes: &[u8]) -> Result<Trailer> {
        let fields: Option<Vec<u64>> = (0..TRAILER_FIELDS)
            .map(|index| u64_at(bytes, index * 8))
            .collect();
        let fields = fields.ok_or_else(|| damaged("trailer"))?;
        let [
            postings_len,
            dictionary_len,
            fences_len,
            fence_count,
            term_count,
            row_count,
            exception_count,
            document_count,
            token_count,
            version,
            MAGIC,
        ] = *fields.as_slice()
        else {
            return Err(damaged("magic number"));
        };
        if version != VERSION | (REVISION << 32) {
            return Err(Error::unsupported(format!(
                "bm25 segment of format {} and analyzer revision {}, known are {VERSION} and {REVISION}",
                version & u64::from(u32::MAX),
                version >> 32
            )));
        }
        Ok(Trailer {
            postings_len,
            dictionary_len,
            fences_len,
            fence_count,
            term_count,
            row_count,
            exception_count,
            document_count,
            token_count,
        })
    }
}

/// A full block of postings, found without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SkipEntry {
    pub(super) last_row: u32,
    /// From the start of the term's data.
    pub(super) data_offset: u32,
    pub(super) gap_width: u8,
    pub(super) frequency_width: u8,
    pub(super) bound: [Pair; PAIRS],
}

impl SkipEntry {
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.last_row.to_le_bytes());
        out.extend_from_slice(&self.data_offset.to_le_bytes());
        out.extend_from_slice(&[self.gap_width, self.frequency_width]);
        out.extend(
            self.bound
                .iter()
                .flat_map(|pair| [pair.frequency, pair.code]),
        );
    }

    /// The entry of block `index` in the skip entries of a term.
    pub(super) fn read(skips: &[u8], index: usize) -> Option<SkipEntry> {
        let at = index.checked_mul(SKIP_LEN)?;
        let last_row = u32_at(skips, at)?;
        let data_offset = u32_at(skips, at + 4)?;
        let &[gap_width, frequency_width, ref pairs @ ..] = skips.get(at + 8..at + SKIP_LEN)?
        else {
            return None;
        };
        let mut bound = [Pair::default(); PAIRS];
        for (slot, pair) in bound.iter_mut().zip(pairs.chunks_exact(2)) {
            let &[frequency, code] = pair else {
                return None;
            };
            *slot = Pair { frequency, code };
        }
        Some(SkipEntry {
            last_row,
            data_offset,
            gap_width,
            frequency_width,
            bound,
        })
    }
}
