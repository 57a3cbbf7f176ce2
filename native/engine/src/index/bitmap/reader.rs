//! Answers leaf predicates from a bitmap segment. The dictionary is decoded once; row sets are decoded
//! for the entries a predicate selects, or for the others where those are fewer.

use std::ops::Range;

use bytes::Bytes;
use roaring::RoaringBitmap;

use super::format::{
    DICTIONARY_KIND, Dictionary, EntryView, POSTINGS_KIND, Posting, Span, damaged, decode_posting,
};
use super::key::{KeyType, float_key};
use crate::error::Result;
use crate::iceberg::predicate::{CompareOp, MatchOp, Predicate};
use crate::iceberg::value::Value;
use crate::index::bounds::{all_rows, not};
use crate::index::{Blob, Bounds, ScalarIndex};

/// The entries whose rows all satisfy a predicate, and those of which some may.
#[derive(Debug, Default)]
struct Selection {
    sure: Vec<Range<usize>>,
    maybe: Vec<Range<usize>>,
}

pub(super) struct BitmapReader {
    column: i32,
    rows: u32,
    dictionary: Dictionary,
    postings: Bytes,
    nulls: RoaringBitmap,
}

impl BitmapReader {
    /// Decodes the dictionary and the NULL rows. Errors: Corrupt.
    pub(super) fn open(column: i32, blobs: &[Blob], rows: u32) -> Result<BitmapReader> {
        let blob = |kind: &str| {
            blobs
                .iter()
                .find(|blob| blob.kind == kind)
                .ok_or_else(|| damaged("blob missing").with("type", kind))
        };
        let postings = blob(POSTINGS_KIND)?.data.clone();
        let dictionary = Dictionary::decode(&blob(DICTIONARY_KIND)?.data, rows, postings.len())?;
        let mut reader = BitmapReader {
            column,
            rows,
            dictionary,
            postings,
            nulls: RoaringBitmap::new(),
        };
        reader.nulls = reader.decode([reader.dictionary.null_posting.clone()].into_iter())?;
        Ok(reader)
    }

    fn key_type(&self) -> KeyType {
        self.dictionary.key_type
    }

    /// The union of postings.
    fn decode(&self, postings: impl Iterator<Item = Range<usize>>) -> Result<RoaringBitmap> {
        let mut rows = RoaringBitmap::new();
        let mut loose = Vec::new();
        for range in postings {
            let data = self
                .postings
                .get(range)
                .ok_or_else(|| damaged("row set out of bounds"))?;
            match decode_posting(data, self.rows)? {
                Posting::Rows(few) => loose.extend_from_slice(&few),
                Posting::Bitmap(bitmap) => rows |= bitmap,
            }
        }
        loose.sort_unstable();
        loose.dedup();
        rows |= RoaringBitmap::from_sorted_iter(loose).map_err(|_| damaged("row sets overlap"))?;
        Ok(rows)
    }

    /// The rows of some entries.
    fn rows_of(&self, ranges: &[Range<usize>]) -> Result<RoaringBitmap> {
        let ranges = merge(ranges);
        let entries = |ranges: &[Range<usize>]| {
            self.decode(
                ranges
                    .iter()
                    .cloned()
                    .flatten()
                    .filter_map(|i| self.dictionary.posting(i)),
            )
        };
        let selected: usize = ranges.iter().map(ExactSizeIterator::len).sum();
        if selected <= self.dictionary.len() / 2 {
            return entries(&ranges);
        }
        let starts = ranges
            .iter()
            .map(|range| range.start)
            .chain([self.dictionary.len()]);
        let ends = [0].into_iter().chain(ranges.iter().map(|range| range.end));
        let others: Vec<Range<usize>> = ends.zip(starts).map(|(end, start)| end..start).collect();
        Ok(all_rows(self.rows) - &self.nulls - entries(&others)?)
    }

    /// Bounds of a predicate that is NULL exactly for NULL.
    fn bounds(&self, selection: &Selection) -> Result<Bounds> {
        let sure = self.rows_of(&selection.sure)?;
        let maybe = &sure | self.rows_of(&selection.maybe)?;
        Ok(Bounds::with_known_nulls(
            sure,
            maybe,
            self.nulls.clone(),
            self.rows,
        ))
    }

    fn equal(&self, key: &[u8]) -> Selection {
        let start = self
            .dictionary
            .partition_point(|entry| !reaches(entry, key));
        let end = self.dictionary.partition_point(|entry| entry.low <= key);
        let exact = self
            .dictionary
            .get(start)
            .is_some_and(|entry| start < end && entry.span == Span::Exact);
        if exact {
            select(start..start + 1, start + 1..end)
        } else {
            select(start..start, start..end)
        }
    }

    fn compare(&self, op: CompareOp, key: &[u8]) -> Result<Bounds> {
        let count = self.dictionary.len();
        let point =
            |before: &dyn Fn(EntryView<'_>) -> bool| self.dictionary.partition_point(before);
        let continues =
            |entry: EntryView<'_>| entry.span == Span::Open && key.starts_with(entry.high);
        let selection = match op {
            CompareOp::Eq => self.equal(key),
            CompareOp::NotEq => return Ok(not(self.compare(CompareOp::Eq, key)?, self.rows)),
            CompareOp::Lt => {
                let sure = point(&|entry| entry.high < key && !continues(entry));
                select(0..sure, sure..point(&|entry| entry.low < key))
            }
            CompareOp::LtEq => {
                let sure = point(&|entry| entry.high <= key && !continues(entry));
                select(0..sure, sure..point(&|entry| entry.low <= key))
            }
            CompareOp::Gt => {
                let sure = point(&|entry| entry.low <= key);
                select(
                    sure..count,
                    point(&|entry| entry.high <= key && !continues(entry))..sure,
                )
            }
            CompareOp::GtEq => {
                let sure = point(&|entry| entry.low < key);
                select(sure..count, point(&|entry| !reaches(entry, key))..sure)
            }
        };
        self.bounds(&selection)
    }

    fn any_of(&self, values: &[Value], has_null: bool) -> Result<Option<Bounds>> {
        let mut selection = Selection::default();
        for value in values {
            let Some(key) = self.key_type().key(value) else {
                return Ok(None);
            };
            let equal = self.equal(&key);
            selection.sure.extend(equal.sure);
            selection.maybe.extend(equal.maybe);
        }
        let mut bounds = self.bounds(&selection)?;
        if has_null {
            bounds.nulls |= &bounds.false_sure;
            bounds.false_sure.clear();
        } else if values.is_empty() {
            // Engines differ on whether NULL IN () is false or NULL.
            bounds.nulls.clear();
        }
        Ok(Some(bounds))
    }

    fn null_safe_equal(&self, value: Option<&Value>) -> Result<Option<Bounds>> {
        let Some(value) = value else {
            return Ok(Some(self.is_null()));
        };
        let Some(key) = self.key_type().key(value) else {
            return Ok(None);
        };
        let mut bounds = self.compare(CompareOp::Eq, &key)?;
        bounds.false_sure |= std::mem::take(&mut bounds.nulls);
        Ok(Some(bounds))
    }

    fn is_null(&self) -> Bounds {
        Bounds::with_known_nulls(
            self.nulls.clone(),
            RoaringBitmap::new(),
            RoaringBitmap::new(),
            self.rows,
        )
    }

    fn matches(&self, op: MatchOp, pattern: &[u8]) -> Result<Bounds> {
        let mut selection = Selection::default();
        for (i, entry) in self.dictionary.iter().enumerate() {
            match entry_matches(entry, op, pattern) {
                Some(true) => selection.sure.push(i..i + 1),
                Some(false) => {}
                None => selection.maybe.push(i..i + 1),
            }
        }
        self.bounds(&selection)
    }
}

impl ScalarIndex for BitmapReader {
    fn leaf(&self, predicate: &Predicate) -> Result<Option<Bounds>> {
        match predicate {
            Predicate::Compare { column, op, value } if *column == self.column => {
                match self.key_type().key(value) {
                    Some(key) => self.compare(*op, &key).map(Some),
                    None => Ok(None),
                }
            }
            Predicate::NullSafeEq { column, value } if *column == self.column => {
                self.null_safe_equal(value.as_ref())
            }
            Predicate::In {
                column,
                values,
                has_null,
            } if *column == self.column => self.any_of(values, *has_null),
            Predicate::IsNull { column } if *column == self.column => Ok(Some(self.is_null())),
            Predicate::IsNan { column }
                if *column == self.column && self.key_type() == KeyType::Float =>
            {
                self.compare(CompareOp::Eq, &float_key(f64::NAN)).map(Some)
            }
            Predicate::Match {
                column,
                op,
                pattern,
            } if *column == self.column && self.key_type() == KeyType::String => {
                self.matches(*op, pattern.as_bytes()).map(Some)
            }
            _ => Ok(None),
        }
    }
}

fn select(sure: Range<usize>, maybe: Range<usize>) -> Selection {
    Selection {
        sure: vec![sure],
        maybe: vec![maybe],
    }
}

/// Whether an entry may hold a value that is `key` or greater.
fn reaches(entry: EntryView<'_>, key: &[u8]) -> bool {
    entry.high >= key || (entry.span == Span::Open && key.starts_with(entry.high))
}

/// Whether all values of an entry match (true), none does (false), or some may (None).
fn entry_matches(entry: EntryView<'_>, op: MatchOp, pattern: &[u8]) -> Option<bool> {
    let contains = |text: &[u8]| {
        pattern.is_empty() || text.windows(pattern.len()).any(|window| window == pattern)
    };
    if entry.span == Span::Exact {
        return Some(match op {
            MatchOp::StartsWith => entry.low.starts_with(pattern),
            MatchOp::EndsWith => entry.low.ends_with(pattern),
            MatchOp::Contains => contains(entry.low),
        });
    }
    let shared = entry
        .low
        .iter()
        .zip(entry.high)
        .take_while(|(a, b)| a == b)
        .count();
    let prefix = entry.low.get(..shared).unwrap_or_default();
    match op {
        MatchOp::StartsWith if prefix.starts_with(pattern) => Some(true),
        MatchOp::StartsWith if !reaches(entry, pattern) => Some(false),
        MatchOp::StartsWith if entry.low > pattern && !entry.low.starts_with(pattern) => {
            Some(false)
        }
        MatchOp::EndsWith if pattern.is_empty() => Some(true),
        MatchOp::Contains if contains(prefix) => Some(true),
        MatchOp::StartsWith | MatchOp::EndsWith | MatchOp::Contains => None,
    }
}

/// Ascending ranges without overlap.
fn merge(ranges: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut ranges: Vec<Range<usize>> = ranges
        .iter()
        .filter(|range| range.start < range.end)
        .cloned()
        .collect();
    ranges.sort_unstable_by_key(|range| (range.start, range.end));
    let mut merged: Vec<Range<usize>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}
