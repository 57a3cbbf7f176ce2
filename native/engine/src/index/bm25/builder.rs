//! Builds a segment: rows in order, terms gathered in memory as finished blocks of postings and an open one.
//! The bytes depend on rows and analyzer alone.

use arrow::array::{Array, RecordBatch, StringArray};
use bytes::Bytes;

use crate::error::{Error, Result};
use crate::index::{Blob, IndexBuilder};

use super::analyzer::Analyzer;
use super::bits::{BLOCK, pack, put_varint, width_of};
use super::format::{BLOB_KIND, DICTIONARY_BLOCK, LENGTH_ESCAPE, SkipEntry, Trailer};
use super::hull;
use super::score::length_code;
use super::vocabulary::{TermTable, Vocabulary};

/// Takes the rows of one segment.
pub(super) struct Bm25Builder {
    vocabulary: Vocabulary,
    names: TermTable,
    terms: Vec<Postings>,
    lengths: Vec<u32>,
    codes: Vec<u8>,
}

impl Bm25Builder {
    pub(super) fn new(analyzer: Analyzer) -> Bm25Builder {
        Bm25Builder {
            vocabulary: Vocabulary::new(analyzer),
            names: TermTable::new(),
            terms: Vec::new(),
            lengths: Vec::new(),
            codes: Vec::new(),
        }
    }

    /// Adds a row; NULL is the empty text.
    pub(super) fn add_row(&mut self, text: &str) -> Result<()> {
        let row = u32::try_from(self.lengths.len()).map_err(|_| too_large("rows"))?;
        let Bm25Builder {
            vocabulary,
            names,
            terms,
            codes,
            ..
        } = self;
        let mut length = 0u32;
        let mut fits = true;
        let number = |term: &str| {
            let id = names
                .insert(term.as_bytes())
                .and_then(|id| u32::try_from(id).ok());
            id.unwrap_or(u32::MAX)
        };
        vocabulary.numbers(text, number, |number| {
            length = length.saturating_add(1);
            let id = number as usize;
            if id == terms.len() {
                terms.push(Postings::default());
            }
            let added = terms
                .get_mut(id)
                .and_then(|postings| postings.add(row, codes));
            fits &= added.is_some();
        });
        if !fits {
            return Err(too_large("terms"));
        }
        self.lengths.push(length);
        self.codes.push(length_code(length));
        Ok(())
    }

    /// The blob of all rows.
    pub(super) fn into_bytes(mut self) -> Result<Vec<u8>> {
        let mut order: Vec<(&[u8], usize)> = (0..self.terms.len())
            .map(|id| (self.names.text(id), id))
            .collect();
        order.sort_unstable();
        let mut sections = Sections::default();
        for (text, id) in order {
            if let Some(slot) = self.terms.get_mut(id) {
                sections.add_term(text, std::mem::take(slot), &self.codes)?;
            }
        }
        sections.finish(&self.lengths, &self.codes)
    }
}

impl IndexBuilder for Bm25Builder {
    fn add(&mut self, batch: &RecordBatch) -> Result<()> {
        let texts = batch
            .columns()
            .first()
            .and_then(|column| column.as_any().downcast_ref::<StringArray>());
        let texts = texts
            .ok_or_else(|| Error::internal("bm25 builder got a batch without a string column"))?;
        for text in texts {
            self.add_row(text.unwrap_or_default())?;
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<Vec<Blob>> {
        let data = Bytes::from(self.into_bytes()?);
        Ok(vec![Blob {
            kind: BLOB_KIND.to_owned(),
            data,
        }])
    }
}

fn too_large(what: &str) -> Error {
    Error::resource_exhausted(format!("too many {what} for one bm25 segment"))
}

/// Postings of one term: full blocks encoded, the last rows open.
#[derive(Default)]
struct Postings {
    row_count: u32,
    /// Row and frequency.
    open: Vec<(u32, u32)>,
    /// Last row of the last full block.
    last_full: Option<u32>,
    skips: Vec<u8>,
    data: Vec<u8>,
}

impl Postings {
    /// Counts one more token in `row`; None when the term outgrows the format.
    fn add(&mut self, row: u32, codes: &[u8]) -> Option<()> {
        match self.open.last_mut() {
            Some((last, frequency)) if *last == row => *frequency += 1,
            _ => {
                self.flush_full(codes)?;
                self.open.push((row, 1));
                self.row_count += 1;
            }
        }
        Some(())
    }

    fn flush_full(&mut self, codes: &[u8]) -> Option<()> {
        let Ok(full) = <[(u32, u32); BLOCK]>::try_from(self.open.as_slice()) else {
            return Some(());
        };
        let mut before = self.last_full;
        let gaps = full.map(|(row, _)| gap(before.replace(row), row));
        let above_one = full.map(|(_, frequency)| frequency - 1);
        let bounded = full
            .iter()
            .map(|(row, frequency)| (*frequency, code_of(codes, *row)));
        let entry = SkipEntry {
            last_row: before?,
            data_offset: u32::try_from(self.data.len()).ok()?,
            gap_width: width_of(&gaps),
            frequency_width: width_of(&above_one),
            bound: hull::bound(bounded),
        };
        entry.write(&mut self.skips);
        pack(&gaps, entry.gap_width, &mut self.data);
        pack(&above_one, entry.frequency_width, &mut self.data);
        self.last_full = before;
        self.open.clear();
        Some(())
    }

    /// Appends skip entries, data and tail.
    fn write(mut self, codes: &[u8], out: &mut Vec<u8>) -> Option<()> {
        self.flush_full(codes)?;
        out.append(&mut self.skips);
        out.append(&mut self.data);
        let mut before = self.last_full;
        for (row, frequency) in self.open {
            let gap = u64::from(gap(before.replace(row), row));
            put_varint(gap << 1 | u64::from(frequency == 1), out);
            if frequency > 1 {
                put_varint(u64::from(frequency - 2), out);
            }
        }
        Some(())
    }
}

/// Rows between `before` (None: before the first) and `row`.
fn gap(before: Option<u32>, row: u32) -> u32 {
    row - before.map_or(0, |before| before + 1)
}

fn code_of(codes: &[u8], row: u32) -> u8 {
    usize::try_from(row)
        .ok()
        .and_then(|row| codes.get(row))
        .copied()
        .unwrap_or_default()
}

/// The sections of a blob while terms come in ascending order.
#[derive(Default)]
struct Sections {
    postings: Vec<u8>,
    dictionary: Vec<u8>,
    fences: Vec<u8>,
    fence_terms: Vec<u8>,
    fence_count: u64,
    term_count: u64,
    block_start: usize,
    previous: Vec<u8>,
}

impl Sections {
    fn add_term(&mut self, text: &[u8], postings: Postings, codes: &[u8]) -> Result<()> {
        if self.term_count == 0 || self.dictionary.len() - self.block_start >= DICTIONARY_BLOCK {
            self.start_block(text)?;
        }
        let shared = self
            .previous
            .iter()
            .zip(text)
            .take_while(|(a, b)| a == b)
            .count();
        let suffix = text.get(shared..).unwrap_or_default();
        put_varint(shared as u64, &mut self.dictionary);
        put_varint(suffix.len() as u64, &mut self.dictionary);
        self.dictionary.extend_from_slice(suffix);
        put_varint(u64::from(postings.row_count), &mut self.dictionary);
        if let [(row, frequency)] = postings.open.as_slice()
            && postings.row_count == 1
        {
            put_varint(u64::from(*row), &mut self.dictionary);
            put_varint(u64::from(*frequency), &mut self.dictionary);
        } else {
            let start = self.postings.len();
            postings
                .write(codes, &mut self.postings)
                .ok_or_else(|| too_large("postings of one term"))?;
            put_varint((self.postings.len() - start) as u64, &mut self.dictionary);
        }
        self.previous.clear();
        self.previous.extend_from_slice(text);
        self.term_count += 1;
        Ok(())
    }

    fn start_block(&mut self, first: &[u8]) -> Result<()> {
        self.block_start = self.dictionary.len();
        self.previous.clear();
        self.fence_terms.extend_from_slice(first);
        let end = u32::try_from(self.fence_terms.len()).map_err(|_| too_large("terms"))?;
        self.fences
            .extend_from_slice(&(self.dictionary.len() as u64).to_le_bytes());
        self.fences
            .extend_from_slice(&(self.postings.len() as u64).to_le_bytes());
        self.fences.extend_from_slice(&end.to_le_bytes());
        self.fence_count += 1;
        Ok(())
    }

    fn finish(mut self, lengths: &[u32], codes: &[u8]) -> Result<Vec<u8>> {
        let mut out = self.postings;
        let mut trailer = Trailer {
            postings_len: out.len() as u64,
            dictionary_len: self.dictionary.len() as u64,
            fences_len: (self.fences.len() + self.fence_terms.len()) as u64,
            fence_count: self.fence_count,
            term_count: self.term_count,
            row_count: lengths.len() as u64,
            document_count: lengths.iter().filter(|length| **length > 0).count() as u64,
            token_count: lengths.iter().map(|length| u64::from(*length)).sum(),
            exception_count: 0,
        };
        out.append(&mut self.dictionary);
        out.append(&mut self.fences);
        out.append(&mut self.fence_terms);
        out.extend_from_slice(codes);
        let mut exceptions = Vec::new();
        for (row, length) in (0u32..).zip(lengths) {
            let short = u16::try_from(*length).unwrap_or(LENGTH_ESCAPE);
            out.extend_from_slice(&short.to_le_bytes());
            if short == LENGTH_ESCAPE {
                exceptions.extend_from_slice(&row.to_le_bytes());
                exceptions.extend_from_slice(&length.to_le_bytes());
                trailer.exception_count += 1;
            }
        }
        out.append(&mut exceptions);
        trailer.write(&mut out);
        Ok(out)
    }
}
