//! The bytes of a bitmap segment, format 1. Two blobs, integers little-endian, `varint` is LEB128:
//! dictionary = key type u8, its parameter i32, rows u32, entry count u32, length of the NULL posting varint, then per entry
//! a flag u8, the low key, for spans the high key, the posting's length varint. A key is front-coded against the key before it
//! (shared length, rest length, rest). postings = the NULL posting, then one per entry, back to back. A posting is empty, or
//! a tag and the row gaps as varints (0) or a portable Roaring bitmap (1).

use std::ops::Range;

use roaring::RoaringBitmap;

use super::key::KeyType;
use crate::error::{Error, Result};

/// Blob type of the dictionary.
pub(super) const DICTIONARY_KIND: &str = "benostream-bitmap-dictionary-v1";
/// Blob type of the postings.
pub(super) const POSTINGS_KIND: &str = "benostream-bitmap-postings-v1";
/// Distinct values up to which every value has its own entry.
pub(super) const ENTRY_COUNT_TARGET: usize = 65_536;
/// Longest key; longer values are kept by their prefix of this length.
pub(super) const KEY_LENGTH_MAX: usize = 256;

const ENTRY_COUNT_MAX: usize = 2 * ENTRY_COUNT_TARGET;
/// Row sets up to this size may be stored as gaps, which decode slower than Roaring.
const GAP_ROWS_MAX: usize = 1024;
const TAG_GAPS: u8 = 0;
const TAG_ROARING: u8 = 1;

/// What an entry's rows hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Span {
    /// Exactly the low key.
    Exact,
    /// Values from the low to the high key.
    Closed,
    /// Values from the low to the high key, or longer values that start with the high key.
    Open,
}

/// An entry as it is written.
pub(super) struct NewEntry<'a> {
    pub(super) span: Span,
    pub(super) low: &'a [u8],
    pub(super) high: &'a [u8],
    /// Ascending.
    pub(super) rows: &'a [u32],
}

/// Writes the two blobs.
pub(super) struct Encoder {
    dictionary: Vec<u8>,
    postings: Vec<u8>,
    last_key: Vec<u8>,
    rows: u32,
}

impl Encoder {
    /// Starts with the NULL rows, ascending.
    pub(super) fn new(
        key_type: KeyType,
        rows: u32,
        entry_count: usize,
        null_rows: &[u32],
    ) -> Result<Encoder> {
        let (code, parameter) = key_type.code();
        let entry_count = u32::try_from(entry_count)
            .map_err(|_| Error::internal("bitmap entry count overflows"))?;
        let mut dictionary = vec![code];
        dictionary.extend_from_slice(&parameter.to_le_bytes());
        dictionary.extend_from_slice(&rows.to_le_bytes());
        dictionary.extend_from_slice(&entry_count.to_le_bytes());
        let mut encoder = Encoder {
            dictionary,
            postings: Vec::new(),
            last_key: Vec::new(),
            rows,
        };
        encoder.put_posting(null_rows)?;
        Ok(encoder)
    }

    /// Adds the next entry in key order.
    pub(super) fn add(&mut self, entry: &NewEntry<'_>) -> Result<()> {
        self.dictionary.push(match entry.span {
            Span::Exact => 0,
            Span::Closed => 1,
            Span::Open => 2,
        });
        self.put_key(entry.low)?;
        if entry.span != Span::Exact {
            self.put_key(entry.high)?;
        }
        self.put_posting(entry.rows)
    }

    /// The dictionary's and the postings' bytes.
    pub(super) fn finish(self) -> (Vec<u8>, Vec<u8>) {
        (self.dictionary, self.postings)
    }

    fn put_key(&mut self, key: &[u8]) -> Result<()> {
        let shared = self
            .last_key
            .iter()
            .zip(key)
            .take_while(|(a, b)| a == b)
            .count();
        let rest = key.get(shared..).unwrap_or_default();
        put_varint(&mut self.dictionary, length_u64(shared)?);
        put_varint(&mut self.dictionary, length_u64(rest.len())?);
        self.dictionary.extend_from_slice(rest);
        self.last_key.truncate(shared);
        self.last_key.extend_from_slice(rest);
        Ok(())
    }

    fn put_posting(&mut self, rows: &[u32]) -> Result<()> {
        let start = self.postings.len();
        encode_posting(&mut self.postings, rows, self.rows)?;
        put_varint(
            &mut self.dictionary,
            length_u64(self.postings.len() - start)?,
        );
        Ok(())
    }
}

fn encode_posting(out: &mut Vec<u8>, rows: &[u32], row_count: u32) -> Result<()> {
    let not_ascending = || Error::internal("bitmap rows are not ascending");
    if rows.is_empty() {
        return Ok(());
    }
    if rows.last().is_some_and(|last| *last >= row_count) {
        return Err(Error::internal("bitmap row beyond the segment"));
    }
    let mut bitmap =
        RoaringBitmap::from_sorted_iter(rows.iter().copied()).map_err(|_| not_ascending())?;
    bitmap.optimize();
    if rows.len() <= GAP_ROWS_MAX {
        let start = out.len();
        out.push(TAG_GAPS);
        let mut next = 0u32;
        for row in rows {
            put_varint(
                out,
                u64::from(row.checked_sub(next).ok_or_else(not_ascending)?),
            );
            next = row + 1;
        }
        if out.len() - start <= bitmap.serialized_size() + 1 {
            return Ok(());
        }
        out.truncate(start);
    }
    out.push(TAG_ROARING);
    bitmap
        .serialize_into(out)
        .map_err(|e| Error::internal("cannot encode a bitmap").caused_by(e))
}

/// The rows of one posting. Errors: Corrupt.
pub(super) fn decode_posting(data: &[u8], row_count: u32) -> Result<Posting> {
    let Some((tag, mut rest)) = data.split_first() else {
        return Ok(Posting::Rows(Vec::new()));
    };
    match *tag {
        TAG_GAPS => {
            let mut rows = Vec::with_capacity(rest.len().min(GAP_ROWS_MAX));
            let mut next = 0u64;
            while !rest.is_empty() {
                let row = take_varint(&mut rest)?
                    .checked_add(next)
                    .filter(|row| *row < u64::from(row_count))
                    .ok_or_else(|| damaged("row out of range"))?;
                rows.push(u32::try_from(row).map_err(|_| damaged("row out of range"))?);
                next = row + 1;
            }
            Ok(Posting::Rows(rows))
        }
        TAG_ROARING => {
            let bitmap = RoaringBitmap::deserialize_from(&mut rest)
                .map_err(|e| damaged("row set is not valid").caused_by(e))?;
            if !rest.is_empty() || bitmap.max().is_some_and(|max| max >= row_count) {
                return Err(damaged("row set out of range"));
            }
            Ok(Posting::Bitmap(bitmap))
        }
        _ => Err(damaged("unknown row set")),
    }
}

/// A decoded posting.
pub(super) enum Posting {
    /// Few rows, ascending.
    Rows(Vec<u32>),
    /// Many rows.
    Bitmap(RoaringBitmap),
}

/// An entry as it is read; its keys lie in the dictionary's arena.
#[derive(Debug)]
struct Entry {
    span: Span,
    low: Range<usize>,
    high: Range<usize>,
    posting: Range<usize>,
}

/// The decoded dictionary.
#[derive(Debug)]
pub(super) struct Dictionary {
    pub(super) key_type: KeyType,
    /// Where the NULL rows lie in the postings.
    pub(super) null_posting: Range<usize>,
    entries: Vec<Entry>,
    arena: Vec<u8>,
}

/// One entry's view.
#[derive(Clone, Copy)]
pub(super) struct EntryView<'a> {
    pub(super) span: Span,
    pub(super) low: &'a [u8],
    pub(super) high: &'a [u8],
}

impl Dictionary {
    /// Decodes the blob; `rows` and `postings_length` are what it must agree with. Errors: Corrupt.
    pub(super) fn decode(mut data: &[u8], rows: u32, postings_length: usize) -> Result<Dictionary> {
        let input = &mut data;
        let [code] = take_array::<1>(input)?;
        let parameter = i32::from_le_bytes(take_array(input)?);
        let key_type =
            KeyType::from_code(code, parameter).ok_or_else(|| damaged("unknown key type"))?;
        if u32::from_le_bytes(take_array(input)?) != rows {
            return Err(damaged("row count differs from the segment's"));
        }
        let entry_count = usize::try_from(u32::from_le_bytes(take_array(input)?))
            .map_err(|_| damaged("entry count out of bounds"))?;
        // An entry takes four bytes at least, which bounds the allocation by the input.
        if entry_count > ENTRY_COUNT_MAX || entry_count > input.len() / 4 {
            return Err(damaged("entry count out of bounds"));
        }
        let mut posting_end = 0;
        let null_posting = take_posting(input, &mut posting_end, postings_length)?;
        let mut dictionary = Dictionary {
            key_type,
            null_posting,
            entries: Vec::with_capacity(entry_count),
            arena: Vec::new(),
        };
        let mut last_key = 0..0;
        for _ in 0..entry_count {
            let entry =
                dictionary.take_entry(input, last_key, &mut posting_end, postings_length)?;
            last_key = entry.high.clone();
            dictionary.entries.push(entry);
        }
        if !input.is_empty() || posting_end != postings_length {
            return Err(damaged("surplus bytes"));
        }
        Ok(dictionary)
    }

    fn take_entry(
        &mut self,
        input: &mut &[u8],
        last_key: Range<usize>,
        posting_end: &mut usize,
        postings_length: usize,
    ) -> Result<Entry> {
        let span = match take_array::<1>(input)? {
            [0] => Span::Exact,
            [1] => Span::Closed,
            [2] => Span::Open,
            _ => return Err(damaged("unknown entry")),
        };
        let low = self.take_key(input, last_key.clone())?;
        let high = if span == Span::Exact {
            low.clone()
        } else {
            self.take_key(input, low.clone())?
        };
        if self.arena_slice(&low) > self.arena_slice(&high)
            || (span == Span::Open && high.len() != KEY_LENGTH_MAX)
        {
            return Err(damaged("span is not valid"));
        }
        if let Some(previous) = self.entries.last() {
            let (last, low) = (self.arena_slice(&last_key), self.arena_slice(&low));
            // Values longer than a full key follow the value that is equal to it.
            let follows =
                last < low || (last == low && span == Span::Open && previous.span != Span::Open);
            if !follows {
                return Err(damaged("keys are not in order"));
            }
        }
        Ok(Entry {
            span,
            low,
            high,
            posting: take_posting(input, posting_end, postings_length)?,
        })
    }

    fn take_key(&mut self, input: &mut &[u8], previous: Range<usize>) -> Result<Range<usize>> {
        let mut length = |max: usize| -> Result<usize> {
            let length = take_varint(input)?;
            usize::try_from(length)
                .ok()
                .filter(|length| *length <= max)
                .ok_or_else(|| damaged("key length out of bounds"))
        };
        let shared = length(previous.len())?;
        let rest = length(KEY_LENGTH_MAX - shared.min(KEY_LENGTH_MAX))?;
        let rest = take(input, rest)?;
        let start = self.arena.len();
        self.arena
            .extend_from_within(previous.start..previous.start + shared);
        self.arena.extend_from_slice(rest);
        Ok(start..self.arena.len())
    }

    fn arena_slice(&self, range: &Range<usize>) -> &[u8] {
        self.arena.get(range.clone()).unwrap_or_default()
    }

    /// The number of entries.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The entries in key order.
    pub(super) fn iter(&self) -> impl Iterator<Item = EntryView<'_>> {
        self.entries.iter().map(|entry| self.view(entry))
    }

    /// The first entry for which `before` is false, given that it is true for all before it.
    pub(super) fn partition_point(&self, before: impl Fn(EntryView<'_>) -> bool) -> usize {
        self.entries
            .partition_point(|entry| before(self.view(entry)))
    }

    /// One entry.
    pub(super) fn get(&self, index: usize) -> Option<EntryView<'_>> {
        self.entries.get(index).map(|entry| self.view(entry))
    }

    /// Where an entry's rows lie in the postings.
    pub(super) fn posting(&self, index: usize) -> Option<Range<usize>> {
        self.entries.get(index).map(|entry| entry.posting.clone())
    }

    fn view(&self, entry: &Entry) -> EntryView<'_> {
        EntryView {
            span: entry.span,
            low: self.arena_slice(&entry.low),
            high: self.arena_slice(&entry.high),
        }
    }
}

fn take_posting(
    input: &mut &[u8],
    end: &mut usize,
    postings_length: usize,
) -> Result<Range<usize>> {
    let length =
        usize::try_from(take_varint(input)?).map_err(|_| damaged("row set out of bounds"))?;
    let start = *end;
    *end = start
        .checked_add(length)
        .filter(|end| *end <= postings_length)
        .ok_or_else(|| damaged("row set out of bounds"))?;
    Ok(start..*end)
}

fn take<'a>(input: &mut &'a [u8], length: usize) -> Result<&'a [u8]> {
    let (taken, rest) = input
        .split_at_checked(length)
        .ok_or_else(|| damaged("ends early"))?;
    *input = rest;
    Ok(taken)
}

fn take_array<const N: usize>(input: &mut &[u8]) -> Result<[u8; N]> {
    take(input, N)?
        .try_into()
        .map_err(|_| damaged("ends early"))
}

fn take_varint(input: &mut &[u8]) -> Result<u64> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let [byte] = take_array::<1>(input)?;
        let part = u64::from(byte & 0x7f);
        if shift == 63 && part > 1 {
            break;
        }
        value |= part << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(damaged("number out of range"))
}

fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    loop {
        let [low, ..] = value.to_le_bytes();
        value >>= 7;
        if value == 0 {
            out.push(low & 0x7f);
            return;
        }
        out.push(low | 0x80);
    }
}

fn length_u64(length: usize) -> Result<u64> {
    u64::try_from(length).map_err(|_| Error::internal("length overflows"))
}

pub(super) fn damaged(what: &str) -> Error {
    Error::corrupt(format!("bitmap index is damaged: {what}"))
}
