//! Reads a segment out of memory: dictionary look-up, lengths, and cursors over postings. Every offset and count
//! from the bytes is checked before use, damaged bytes are Corrupt; allocations are bounded by the bytes at hand.

use std::ops::Range;

use bytes::Bytes;

use crate::error::Result;

use super::bits::{
    BLOCK, Block, packed_len, take, take_varint, take_varint32, u32_at, u64_at, unpack,
};
use super::format::{FENCE_LEN, LENGTH_ESCAPE, SKIP_LEN, SkipEntry, TRAILER_LEN, Trailer, damaged};

/// An opened segment.
#[derive(Clone, Debug)]
pub(super) struct Segment {
    data: Bytes,
    trailer: Trailer,
    row_count: u32,
    postings: Range<usize>,
    dictionary: Range<usize>,
    fences: Range<usize>,
    fence_terms: Range<usize>,
    codes: Range<usize>,
    lengths: Range<usize>,
    exceptions: Range<usize>,
}

/// The start of a dictionary block.
struct Fence<'a> {
    dictionary_offset: u64,
    postings_offset: u64,
    term: &'a [u8],
}

/// Where the rows of a term stand.
#[derive(Clone, Debug)]
pub(super) struct TermEntry {
    pub(super) row_count: u32,
    place: Place,
}

#[derive(Clone, Debug)]
enum Place {
    Single { row: u32, frequency: u32 },
    List(Range<usize>),
}

/// Cuts consecutive sections off the bytes before the trailer.
struct Sections {
    at: usize,
    end: usize,
}

impl Sections {
    fn next(&mut self, length: Option<usize>) -> Result<Range<usize>> {
        let end = length
            .and_then(|length| self.at.checked_add(length))
            .filter(|end| *end <= self.end);
        let start = self.at;
        self.at = end.ok_or_else(|| damaged("section sizes"))?;
        Ok(start..self.at)
    }
}

impl Segment {
    /// Errors: Corrupt for bytes that are no segment of `row_count` rows, Unsupported for another version.
    pub(super) fn open(data: Bytes, row_count: u32) -> Result<Segment> {
        let end = data
            .len()
            .checked_sub(TRAILER_LEN)
            .ok_or_else(|| damaged("trailer"))?;
        let trailer = Trailer::read(data.get(end..).unwrap_or_default())?;
        if trailer.row_count != u64::from(row_count) || trailer.document_count > trailer.row_count {
            return Err(damaged("row count").with("rows", row_count));
        }
        let size = |value: u64| usize::try_from(value).ok();
        let rows = size(trailer.row_count);
        let mut sections = Sections { at: 0, end };
        let postings = sections.next(size(trailer.postings_len))?;
        let dictionary = sections.next(size(trailer.dictionary_len))?;
        let fences = sections
            .next(size(trailer.fence_count).and_then(|count| count.checked_mul(FENCE_LEN)))?;
        let fence_terms = sections
            .next(size(trailer.fences_len).and_then(|all| all.checked_sub(fences.len())))?;
        let codes = sections.next(rows)?;
        let lengths = sections.next(rows.and_then(|rows| rows.checked_mul(2)))?;
        let exceptions =
            sections.next(size(trailer.exception_count).and_then(|count| count.checked_mul(8)))?;
        if sections.at != end {
            return Err(damaged("section sizes"));
        }
        let segment = Segment {
            data,
            trailer,
            row_count,
            postings,
            dictionary,
            fences,
            fence_terms,
            codes,
            lengths,
            exceptions,
        };
        segment.check_fences()?;
        Ok(segment)
    }

    fn check_fences(&self) -> Result<()> {
        let mut before: Option<Fence<'_>> = None;
        for index in 0..self.fence_count() {
            let fence = self.fence(index).ok_or_else(|| damaged("fences"))?;
            let ordered = match &before {
                None => fence.dictionary_offset == 0 && fence.postings_offset == 0,
                Some(before) => {
                    fence.dictionary_offset > before.dictionary_offset
                        && fence.postings_offset >= before.postings_offset
                        && fence.term > before.term
                }
            };
            if !ordered
                || fence.dictionary_offset >= self.trailer.dictionary_len
                || fence.postings_offset > self.trailer.postings_len
            {
                return Err(damaged("fences"));
            }
            before = Some(fence);
        }
        if before.is_none() && self.trailer.term_count > 0 {
            return Err(damaged("fences"));
        }
        Ok(())
    }

    /// Rows, deleted and empty ones included.
    pub(super) fn row_count(&self) -> u32 {
        self.row_count
    }

    /// Rows with a token.
    pub(super) fn document_count(&self) -> u64 {
        self.trailer.document_count
    }

    /// Tokens of all rows.
    pub(super) fn token_count(&self) -> u64 {
        self.trailer.token_count
    }

    /// The length code of every row.
    pub(super) fn codes(&self) -> &[u8] {
        self.slice(&self.codes)
    }

    /// Tokens of a row.
    pub(super) fn length(&self, row: u32) -> Result<u32> {
        let index = usize::try_from(row).map_err(|_| damaged("row"))?;
        let bytes = index
            .checked_mul(2)
            .and_then(|at| self.slice(&self.lengths).get(at..at + 2));
        let &[low, high] = bytes.ok_or_else(|| damaged("lengths"))? else {
            return Err(damaged("lengths"));
        };
        match u16::from_le_bytes([low, high]) {
            LENGTH_ESCAPE => self.exception(row).ok_or_else(|| damaged("lengths")),
            length => Ok(u32::from(length)),
        }
    }

    fn exception(&self, row: u32) -> Option<u32> {
        let bytes = self.slice(&self.exceptions);
        let (mut low, mut high) = (0, bytes.len() / 8);
        while low < high {
            let middle = low + (high - low) / 2;
            match u32_at(bytes, middle * 8)?.cmp(&row) {
                std::cmp::Ordering::Equal => return u32_at(bytes, middle * 8 + 4),
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        None
    }

    /// Where the rows of a term stand; None for a term that no row holds.
    pub(super) fn term(&self, term: &str) -> Result<Option<TermEntry>> {
        let Some((mut bytes, mut postings)) = self.dictionary_block(term.as_bytes())? else {
            return Ok(None);
        };
        let mut current = Vec::new();
        while !bytes.is_empty() {
            let entry = self
                .next_entry(&mut bytes, &mut current, &mut postings)
                .ok_or_else(|| damaged("dictionary"))?;
            match current.as_slice().cmp(term.as_bytes()) {
                std::cmp::Ordering::Less => {}
                std::cmp::Ordering::Equal => return Ok(Some(entry)),
                std::cmp::Ordering::Greater => return Ok(None),
            }
        }
        Ok(None)
    }

    /// The block that may hold `term` and the offset of its first postings.
    fn dictionary_block(&self, term: &[u8]) -> Result<Option<(&[u8], u64)>> {
        let (mut low, mut high) = (0, self.fence_count());
        while low < high {
            let middle = low + (high - low) / 2;
            let fence = self.fence(middle).ok_or_else(|| damaged("fences"))?;
            if fence.term <= term {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let Some(fence) = low.checked_sub(1).and_then(|index| self.fence(index)) else {
            return Ok(None);
        };
        let end = self
            .fence(low)
            .map_or(self.trailer.dictionary_len, |next| next.dictionary_offset);
        let range = usize::try_from(fence.dictionary_offset)
            .ok()
            .zip(usize::try_from(end).ok());
        let block = range.and_then(|(start, end)| self.slice(&self.dictionary).get(start..end));
        Ok(Some((
            block.ok_or_else(|| damaged("fences"))?,
            fence.postings_offset,
        )))
    }

    fn next_entry(
        &self,
        bytes: &mut &[u8],
        current: &mut Vec<u8>,
        postings: &mut u64,
    ) -> Option<TermEntry> {
        let shared = usize::try_from(take_varint(bytes)?)
            .ok()
            .filter(|shared| *shared <= current.len())?;
        let suffix = usize::try_from(take_varint(bytes)?).ok()?;
        current.truncate(shared);
        current.extend_from_slice(take(bytes, suffix)?);
        let row_count =
            take_varint32(bytes).filter(|count| (1..=self.row_count).contains(count))?;
        if row_count == 1 {
            let row = take_varint32(bytes).filter(|row| *row < self.row_count)?;
            let frequency = take_varint32(bytes)?;
            return Some(TermEntry {
                row_count,
                place: Place::Single { row, frequency },
            });
        }
        let start = usize::try_from(*postings).ok()?;
        *postings = postings.checked_add(take_varint(bytes)?)?;
        let end = usize::try_from(*postings).ok()?;
        Some(TermEntry {
            row_count,
            place: Place::List(start..end),
        })
    }

    /// A cursor before the first row of a term.
    pub(super) fn cursor(&self, entry: &TermEntry) -> Result<Cursor<'_>> {
        let mut cursor = Cursor::empty(entry.row_count, self.row_count);
        match &entry.place {
            Place::Single { row, frequency } => {
                cursor.rows = [*row; BLOCK];
                cursor.frequencies = [*frequency; BLOCK];
                cursor.filled = 1;
            }
            Place::List(range) => {
                let bytes = self
                    .slice(&self.postings)
                    .get(range.clone())
                    .ok_or_else(|| damaged("postings"))?;
                let row_count =
                    usize::try_from(entry.row_count).map_err(|_| damaged("postings"))?;
                cursor.full_count = row_count / BLOCK;
                cursor.tail_count = row_count % BLOCK;
                (cursor.skips, cursor.data) = bytes
                    .split_at_checked(cursor.full_count * SKIP_LEN)
                    .ok_or_else(|| damaged("postings"))?;
            }
        }
        Ok(cursor)
    }

    fn fence_count(&self) -> usize {
        self.fences.len() / FENCE_LEN
    }

    fn fence(&self, index: usize) -> Option<Fence<'_>> {
        let fences = self.slice(&self.fences);
        let at = index.checked_mul(FENCE_LEN)?;
        let end = usize::try_from(u32_at(fences, at.checked_add(16)?)?).ok()?;
        let start = match index.checked_sub(1) {
            None => 0,
            Some(before) => usize::try_from(u32_at(fences, before * FENCE_LEN + 16)?).ok()?,
        };
        let term = self.slice(&self.fence_terms).get(start..end)?;
        Some(Fence {
            dictionary_offset: u64_at(fences, at)?,
            postings_offset: u64_at(fences, at + 8)?,
            term,
        })
    }

    fn slice(&self, range: &Range<usize>) -> &[u8] {
        self.data.get(range.clone()).unwrap_or_default()
    }
}

/// Walks the rows of a term in ascending order, a block at a time.
pub(super) struct Cursor<'a> {
    row_count: u32,
    row_limit: u32,
    skips: &'a [u8],
    data: &'a [u8],
    full_count: usize,
    tail_count: usize,
    /// The block to decode next; `full_count` is the tail.
    block: usize,
    /// The last row before that block.
    before: Option<u32>,
    rows: Block,
    frequencies: Block,
    at: usize,
    filled: usize,
}

impl<'a> Cursor<'a> {
    fn empty(row_count: u32, row_limit: u32) -> Cursor<'a> {
        Cursor {
            row_count,
            row_limit,
            skips: &[],
            data: &[],
            full_count: 0,
            tail_count: 0,
            block: 0,
            before: None,
            rows: [0; BLOCK],
            frequencies: [0; BLOCK],
            at: 0,
            filled: 0,
        }
    }

    /// Rows of the term.
    pub(super) fn row_count(&self) -> u32 {
        self.row_count
    }

    /// How often the row that `advance` told holds the term.
    pub(super) fn frequency(&self) -> u32 {
        self.frequencies.get(self.at).copied().unwrap_or_default()
    }

    /// Moves to the first row at or after `row` and tells it.
    pub(super) fn advance(&mut self, row: u32) -> Result<Option<u32>> {
        loop {
            let open = self.rows.get(self.at..self.filled).unwrap_or_default();
            if open.last().is_some_and(|last| *last >= row) {
                let skipped = open.partition_point(|candidate| *candidate < row);
                self.at += skipped;
                return Ok(open.get(skipped).copied());
            }
            self.skip_blocks(row);
            if !self.load()? {
                return Ok(None);
            }
        }
    }

    /// Calls `each` with the rows up to `last` and their frequencies, and moves past them.
    #[inline]
    pub(super) fn drain(&mut self, last: u32, mut each: impl FnMut(u32, u32)) -> Result<()> {
        loop {
            let rows = self.rows.get(self.at..self.filled).unwrap_or_default();
            let count = if rows.last().is_some_and(|end| *end <= last) {
                rows.len()
            } else {
                rows.partition_point(|row| *row <= last)
            };
            let frequencies = self
                .frequencies
                .get(self.at..self.filled)
                .unwrap_or_default();
            for (row, frequency) in rows.iter().zip(frequencies).take(count) {
                each(*row, *frequency);
            }
            self.at += count;
            if self.at < self.filled || !self.load()? {
                return Ok(());
            }
        }
    }

    /// Passes over undecoded blocks that end before `row`.
    fn skip_blocks(&mut self, row: u32) {
        while self.block < self.full_count
            && let Some(last) = u32_at(self.skips, self.block * SKIP_LEN).filter(|last| *last < row)
        {
            self.before = Some(last);
            self.block += 1;
        }
    }

    /// Decodes the next block; false at the end.
    fn load(&mut self) -> Result<bool> {
        (self.at, self.filled) = (0, 0);
        let read = match self.block {
            block if block < self.full_count => self.read_full(block),
            block if block == self.full_count && self.tail_count > 0 => self.read_tail(),
            _ => return Ok(false),
        };
        self.filled = read.ok_or_else(|| damaged("postings"))?;
        self.block += 1;
        Ok(true)
    }

    fn read_full(&mut self, block: usize) -> Option<usize> {
        let entry = SkipEntry::read(self.skips, block)?;
        let mut bytes = self.data.get(usize::try_from(entry.data_offset).ok()?..)?;
        unpack(
            take(&mut bytes, packed_len(entry.gap_width)?)?,
            entry.gap_width,
            &mut self.rows,
        )?;
        unpack(
            take(&mut bytes, packed_len(entry.frequency_width)?)?,
            entry.frequency_width,
            &mut self.frequencies,
        )?;
        let mut next = self
            .before
            .map_or(Some(0), |before| before.checked_add(1))?;
        // with the right sum no row on the way can overflow
        let gaps: u64 = self.rows.iter().map(|gap| u64::from(*gap)).sum();
        let last = u64::from(next) + gaps + (BLOCK as u64 - 1);
        if last != u64::from(entry.last_row) || entry.last_row >= self.row_limit {
            return None;
        }
        for slot in &mut self.rows {
            *slot = next.wrapping_add(*slot);
            next = slot.wrapping_add(1);
        }
        for frequency in &mut self.frequencies {
            *frequency = frequency.saturating_add(1);
        }
        self.before = Some(entry.last_row);
        Some(BLOCK)
    }

    fn read_tail(&mut self) -> Option<usize> {
        let start = match self.full_count.checked_sub(1) {
            None => 0,
            Some(last) => {
                let entry = SkipEntry::read(self.skips, last)?;
                let packed =
                    packed_len(entry.gap_width)?.checked_add(packed_len(entry.frequency_width)?)?;
                usize::try_from(entry.data_offset)
                    .ok()?
                    .checked_add(packed)?
            }
        };
        let mut bytes = self.data.get(start..)?;
        let mut next = self
            .before
            .map_or(Some(0), |before| before.checked_add(1))?;
        for (row, frequency) in self
            .rows
            .iter_mut()
            .zip(&mut self.frequencies)
            .take(self.tail_count)
        {
            let head = take_varint(&mut bytes)?;
            *row = u32::try_from(head >> 1)
                .ok()
                .and_then(|gap| next.checked_add(gap))
                .filter(|row| *row < self.row_limit)?;
            *frequency = if head & 1 == 1 {
                1
            } else {
                take_varint32(&mut bytes)?.checked_add(2)?
            };
            next = *row + 1;
        }
        bytes.is_empty().then_some(self.tail_count)
    }
}
