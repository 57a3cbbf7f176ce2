//! Builds a bitmap segment: collects distinct keys by hash, sorts them once, groups rows by key, and
//! writes entries in key order. The order in which rows come decides their ids and nothing else.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::RecordBatch;
use bytes::Bytes;

use super::format::{DICTIONARY_KIND, Encoder, KEY_LENGTH_MAX, NewEntry, POSTINGS_KIND, Span};
use super::key::{KeyType, for_each_key};
use crate::error::{Error, Result};
use crate::index::{Blob, IndexBuilder};

/// Stands for NULL among key ordinals.
const NULL_ORDINAL: u32 = u32::MAX;

/// A distinct value: its bytes, or those of its prefix.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    bytes: Arc<[u8]>,
    /// Whether the values go on after `bytes`; sorts after the value that ends there.
    is_prefix: bool,
}

pub(super) struct BitmapBuilder {
    key_type: KeyType,
    entry_count_target: usize,
    whole: HashMap<Arc<[u8]>, u32>,
    prefixes: HashMap<Arc<[u8]>, u32>,
    keys: Vec<Key>,
    /// Per row the ordinal of its key.
    ordinals: Vec<u32>,
}

impl BitmapBuilder {
    /// Values share entries once there are more than `entry_count_target` of them.
    pub(super) fn new(key_type: KeyType, entry_count_target: usize) -> BitmapBuilder {
        BitmapBuilder {
            key_type,
            entry_count_target,
            whole: HashMap::new(),
            prefixes: HashMap::new(),
            keys: Vec::new(),
            ordinals: Vec::new(),
        }
    }

    fn push(&mut self, value: Option<&[u8]>) -> Result<()> {
        let ordinal = match value {
            None => NULL_ORDINAL,
            Some(value) => self.ordinal(value)?,
        };
        if u32::try_from(self.ordinals.len() + 1).is_err() {
            return Err(Error::resource_exhausted(
                "a bitmap segment holds at most 4294967295 rows",
            ));
        }
        self.ordinals.push(ordinal);
        Ok(())
    }

    fn ordinal(&mut self, value: &[u8]) -> Result<u32> {
        let prefix = value
            .get(..KEY_LENGTH_MAX)
            .filter(|_| value.len() > KEY_LENGTH_MAX);
        let (known, bytes) = match prefix {
            Some(prefix) => (&mut self.prefixes, prefix),
            None => (&mut self.whole, value),
        };
        if let Some(ordinal) = known.get(bytes) {
            return Ok(*ordinal);
        }
        let ordinal = u32::try_from(self.keys.len())
            .map_err(|_| Error::internal("bitmap key count overflows"))?;
        let bytes: Arc<[u8]> = bytes.into();
        known.insert(bytes.clone(), ordinal);
        self.keys.push(Key {
            bytes,
            is_prefix: prefix.is_some(),
        });
        Ok(ordinal)
    }
}

impl IndexBuilder for BitmapBuilder {
    fn add(&mut self, batch: &RecordBatch) -> Result<()> {
        let [column] = batch.columns() else {
            return Err(Error::invalid_input(format!(
                "bitmap index got {} columns instead of one",
                batch.num_columns()
            )));
        };
        self.ordinals.reserve(batch.num_rows());
        for_each_key(column, self.key_type, &mut |value| self.push(value))
    }

    fn finish(self: Box<Self>) -> Result<Vec<Blob>> {
        let rows = u32::try_from(self.ordinals.len())
            .map_err(|_| Error::internal("bitmap row count overflows"))?;
        let (sorted, groups, null_rows) = group_rows(&self.keys, &self.ordinals)?;
        let bins = bin(&groups, self.entry_count_target);
        let mut encoder = Encoder::new(self.key_type, rows, bins.len(), &null_rows)?;
        for members in bins {
            let keys = sorted.get(members.clone()).unwrap_or_default();
            let (Some(first), Some(last)) = (keys.first(), keys.last()) else {
                return Err(Error::internal("bitmap entry without a key"));
            };
            let span = match (last.is_prefix, members.len()) {
                (true, _) => Span::Open,
                (false, 1) => Span::Exact,
                (false, _) => Span::Closed,
            };
            let mut entry_rows = groups.get(members).unwrap_or_default().concat();
            entry_rows.sort_unstable();
            encoder.add(&NewEntry {
                span,
                low: &first.bytes,
                high: &last.bytes,
                rows: &entry_rows,
            })?;
        }
        let (dictionary, postings) = encoder.finish();
        Ok(vec![
            Blob {
                kind: DICTIONARY_KIND.to_owned(),
                data: Bytes::from(dictionary),
            },
            Blob {
                kind: POSTINGS_KIND.to_owned(),
                data: Bytes::from(postings),
            },
        ])
    }
}

type Grouped = (Vec<Key>, Vec<Vec<u32>>, Vec<u32>);

/// The keys in order, the ascending rows of each, and the NULL rows.
fn group_rows(keys: &[Key], ordinals: &[u32]) -> Result<Grouped> {
    let out_of_range = || Error::internal("bitmap key ordinal out of range");
    let mut order: Vec<usize> = (0..keys.len()).collect();
    order.sort_unstable_by(|a, b| keys.get(*a).cmp(&keys.get(*b)));
    let mut ranks = vec![0usize; keys.len()];
    for (rank, ordinal) in order.iter().enumerate() {
        *ranks.get_mut(*ordinal).ok_or_else(out_of_range)? = rank;
    }
    let mut groups = vec![Vec::new(); keys.len()];
    let mut null_rows = Vec::new();
    for (row, ordinal) in (0u32..).zip(ordinals) {
        if *ordinal == NULL_ORDINAL {
            null_rows.push(row);
            continue;
        }
        let rank = usize::try_from(*ordinal)
            .ok()
            .and_then(|ordinal| ranks.get(ordinal))
            .ok_or_else(out_of_range)?;
        groups.get_mut(*rank).ok_or_else(out_of_range)?.push(row);
    }
    let sorted = order
        .iter()
        .map(|ordinal| keys.get(*ordinal).cloned().ok_or_else(out_of_range))
        .collect::<Result<_>>()?;
    Ok((sorted, groups, null_rows))
}

/// Which neighbouring keys share an entry. A key with many rows keeps its own, so that at most twice as
/// many entries remain as the target asks for.
fn bin(groups: &[Vec<u32>], entry_count_target: usize) -> Vec<std::ops::Range<usize>> {
    if groups.len() <= entry_count_target {
        return (0..groups.len()).map(|i| i..i + 1).collect();
    }
    let rows: usize = groups.iter().map(Vec::len).sum();
    let full = rows.div_ceil(entry_count_target.max(1));
    let mut bins = Vec::new();
    let (mut start, mut held) = (0, 0);
    for (i, group) in groups.iter().enumerate() {
        if group.len() >= full && start < i {
            bins.push(start..i);
            (start, held) = (i, 0);
        }
        held += group.len();
        if held >= full {
            bins.push(start..i + 1);
            (start, held) = (i + 1, 0);
        }
    }
    if start < groups.len() {
        bins.push(start..groups.len());
    }
    bins
}
