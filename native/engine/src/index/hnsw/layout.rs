//! The blob `benostream-hnsw-v1`: a header of 64 bytes, then little-endian arrays, each on a 64-byte
//! boundary from the start of the blob, so that a segment opened from aligned memory is walked as it is;
//! otherwise it is copied once.
//!
//! Header: eight u32 (version 1, metric code, dimension, list width, node count, row count, entry count,
//! odd row count), then zeros. Arrays in order: `rows` (rows in the graph, ascending); only where two
//! rows share a vector `nodes` (the node of each of `rows`), `offsets` and `members` (the rows of each
//! node); `entries` (none: no graph, searches scan); `factors` (not for l2); `neighbours`; `vectors` (zero-padded to 16 floats);
//! `odd_rows`, `odd_vectors`. Nothing follows. What is read is checked here once: ids in range, rows
//! ascending, nodes and members in agreement.

use std::ops::Range;

use benostream_gpu_ann::{AlignedBytes, Metric, as_floats, as_ids, padded_length};
use bytes::Bytes;

use super::parameter::MAX_DIMENSION;
use super::pool::MAX_NODES;
use crate::error::{Error, Result};

/// The type of the blob.
pub(super) const BLOB_KIND: &str = "benostream-hnsw-v1";
const VERSION: u32 = 1;
const LINE: usize = 64;
const MAX_WIDTH: usize = 256;

/// The arrays to store.
pub(super) struct Parts<'a> {
    pub(super) metric: Metric,
    pub(super) dimension: usize,
    pub(super) width: usize,
    pub(super) rows: &'a [u32],
    /// The node of each of `rows`.
    pub(super) nodes: &'a [u32],
    pub(super) entries: &'a [u32],
    pub(super) factors: &'a [f32],
    pub(super) neighbours: &'a [u32],
    pub(super) vectors: &'a [f32],
    pub(super) odd_rows: &'a [u32],
    pub(super) odd_vectors: &'a [f32],
}

/// Bytes that are aligned, or a copy that is.
enum Memory {
    Shared(Bytes),
    Copied(AlignedBytes),
}

/// An opened blob: ranges of bytes that were checked.
pub(super) struct Layout {
    memory: Memory,
    pub(super) metric: Metric,
    pub(super) dimension: usize,
    pub(super) width: usize,
    pub(super) node_count: usize,
    pub(super) row_count: usize,
    sections: Sections,
}

#[derive(Default)]
struct Sections {
    rows: Range<usize>,
    nodes: Range<usize>,
    offsets: Range<usize>,
    members: Range<usize>,
    entries: Range<usize>,
    factors: Range<usize>,
    neighbours: Range<usize>,
    vectors: Range<usize>,
    odd_rows: Range<usize>,
    odd_vectors: Range<usize>,
}

/// The bytes of a blob.
pub(super) fn encode(parts: &Parts<'_>) -> Result<Bytes> {
    let stride = padded_length(parts.dimension);
    let node_count = parts.vectors.len().checked_div(stride).unwrap_or(0);
    let counts = [
        parts.dimension,
        parts.width,
        node_count,
        parts.rows.len(),
        parts.entries.len(),
        parts.odd_rows.len(),
    ];
    let mut out = Vec::with_capacity(
        (parts.vectors.len() + parts.neighbours.len() + 3 * parts.rows.len()) * 4 + 1024,
    );
    out.extend(VERSION.to_le_bytes());
    out.extend(metric_code(parts.metric).to_le_bytes());
    for count in counts {
        let count = u32::try_from(count).map_err(|_| {
            Error::resource_exhausted(format!("{count} does not fit in a vector segment"))
        })?;
        out.extend(count.to_le_bytes());
    }
    pad(&mut out);
    put_ids(&mut out, parts.rows);
    if node_count != parts.rows.len() {
        let (offsets, members) = members_of(parts.rows, parts.nodes, node_count);
        put_ids(&mut out, parts.nodes);
        put_ids(&mut out, &offsets);
        put_ids(&mut out, &members);
    }
    put_ids(&mut out, parts.entries);
    if parts.metric != Metric::L2 {
        put_floats(&mut out, parts.factors);
    }
    put_ids(&mut out, parts.neighbours);
    put_floats(&mut out, parts.vectors);
    put_ids(&mut out, parts.odd_rows);
    put_floats(&mut out, parts.odd_vectors);
    Ok(Bytes::from(out))
}

/// The rows of each node, as offsets into one array: a counting sort, so rows stay ascending.
fn members_of(rows: &[u32], nodes: &[u32], node_count: usize) -> (Vec<u32>, Vec<u32>) {
    let mut pairs: Vec<(u32, u32)> = nodes.iter().copied().zip(rows.iter().copied()).collect();
    pairs.sort_unstable();
    let mut offsets = Vec::with_capacity(node_count + 1);
    let mut at = 0u32;
    offsets.push(at);
    for group in pairs.chunk_by(|a, b| a.0 == b.0) {
        at = at.saturating_add(u32::try_from(group.len()).unwrap_or(u32::MAX));
        offsets.push(at);
    }
    (offsets, pairs.into_iter().map(|(_, row)| row).collect())
}

fn put_ids(out: &mut Vec<u8>, ids: &[u32]) {
    out.extend(ids.iter().flat_map(|id| id.to_le_bytes()));
    pad(out);
}

fn put_floats(out: &mut Vec<u8>, floats: &[f32]) {
    out.extend(floats.iter().flat_map(|float| float.to_le_bytes()));
    pad(out);
}

fn pad(out: &mut Vec<u8>) {
    out.resize(out.len().next_multiple_of(LINE), 0);
}

fn metric_code(metric: Metric) -> u32 {
    match metric {
        Metric::L2 => 0,
        Metric::Cosine => 1,
        Metric::InnerProduct => 2,
        Metric::L1 => 3,
    }
}

fn damaged(what: &str) -> Error {
    Error::corrupt(format!("vector segment is damaged: {what}"))
}

impl Layout {
    /// Opens a blob of a segment of `segment_rows` rows. Errors: Corrupt.
    pub(super) fn open(bytes: &Bytes, segment_rows: u32) -> Result<Layout> {
        let header = bytes
            .get(..LINE)
            .ok_or_else(|| damaged("shorter than its header"))?;
        let mut words = header
            .as_chunks::<4>()
            .0
            .iter()
            .map(|word| u32::from_le_bytes(*word));
        let mut next = || words.next().unwrap_or(0);
        let version = next();
        if version != VERSION {
            return Err(damaged("unknown version").with("version", version));
        }
        let metric = match next() {
            0 => Metric::L2,
            1 => Metric::Cosine,
            2 => Metric::InnerProduct,
            code => return Err(damaged("unknown metric").with("code", code)),
        };
        let mut count = || next() as usize;
        let (dimension, width, node_count, row_count, entry_count, odd_count) =
            (count(), count(), count(), count(), count(), count());
        if words.any(|word| word != 0) {
            return Err(damaged("header is not zero where it must be"));
        }
        let rows = segment_rows as usize;
        let is_empty = node_count == 0 && odd_count == 0;
        if dimension > MAX_DIMENSION
            || (dimension == 0 && !is_empty)
            || !(1..=MAX_WIDTH).contains(&width)
            || row_count > rows
            || odd_count > rows
            || node_count > row_count.min(MAX_NODES - 1)
        {
            return Err(damaged("counts out of range"));
        }
        let counts = Counts {
            dimension,
            width,
            node_count,
            row_count,
            entry_count,
            odd_count,
        };
        let sections = counts.sections(metric, bytes.len())?;
        // Rows across cache lines cost a walk 15 to 20 %, more than copying once.
        let memory = if bytes.as_ptr().align_offset(LINE) == 0 {
            Memory::Shared(bytes.clone())
        } else {
            Memory::Copied(AlignedBytes::copy_of(bytes))
        };
        let layout = Layout {
            memory,
            metric,
            dimension,
            width,
            node_count,
            row_count,
            sections,
        };
        layout.check(segment_rows)?;
        Ok(layout)
    }

    fn bytes(&self, range: &Range<usize>) -> &[u8] {
        let all = match &self.memory {
            Memory::Shared(bytes) => bytes,
            Memory::Copied(bytes) => bytes.as_slice(),
        };
        all.get(range.clone()).unwrap_or(&[])
    }

    fn ids(&self, range: &Range<usize>) -> &[u32] {
        as_ids(self.bytes(range)).unwrap_or(&[])
    }

    fn floats(&self, range: &Range<usize>) -> &[f32] {
        as_floats(self.bytes(range)).unwrap_or(&[])
    }

    /// Rows in the graph, ascending.
    pub(super) fn rows(&self) -> &[u32] {
        self.ids(&self.sections.rows)
    }

    /// The node of the row at a place in `rows`.
    pub(super) fn node_at(&self, place: usize) -> Option<u32> {
        if self.has_shared_vectors() {
            self.ids(&self.sections.nodes).get(place).copied()
        } else {
            u32::try_from(place).ok()
        }
    }

    /// The rows that have the vector of a node, ascending.
    pub(super) fn members(&self, node: u32) -> &[u32] {
        let at = node as usize;
        if !self.has_shared_vectors() {
            return self.rows().get(at..=at).unwrap_or(&[]);
        }
        let offsets = self.ids(&self.sections.offsets);
        match (offsets.get(at), offsets.get(at + 1)) {
            (Some(from), Some(to)) => self
                .ids(&self.sections.members)
                .get(*from as usize..*to as usize)
                .unwrap_or(&[]),
            _ => &[],
        }
    }

    /// Where walks start.
    pub(super) fn entries(&self) -> &[u32] {
        self.ids(&self.sections.entries)
    }

    /// One factor a node; none for l2.
    pub(super) fn factors(&self) -> &[f32] {
        self.floats(&self.sections.factors)
    }

    /// Lists of `width` nodes.
    pub(super) fn neighbours(&self) -> &[u32] {
        self.ids(&self.sections.neighbours)
    }

    /// One padded vector a node.
    pub(super) fn vectors(&self) -> &[f32] {
        self.floats(&self.sections.vectors)
    }

    /// Rows whose vector cannot stand in the graph, ascending, each with its vector.
    pub(super) fn odd(&self) -> impl Iterator<Item = (u32, &[f32])> {
        let stride = padded_length(self.dimension).max(1);
        let vectors = self.floats(&self.sections.odd_vectors).chunks_exact(stride);
        self.ids(&self.sections.odd_rows)
            .iter()
            .copied()
            .zip(vectors.map(|vector| vector.get(..self.dimension).unwrap_or(&[])))
    }

    /// How many odd rows there are.
    pub(super) fn odd_rows(&self) -> &[u32] {
        self.ids(&self.sections.odd_rows)
    }

    fn has_shared_vectors(&self) -> bool {
        self.node_count != self.row_count
    }

    fn check(&self, segment_rows: u32) -> Result<()> {
        let ascending = |ids: &[u32]| {
            ids.is_sorted_by(|a, b| a < b) && ids.last().is_none_or(|last| *last < segment_rows)
        };
        if !ascending(self.rows()) || !ascending(self.odd_rows()) {
            return Err(damaged("rows are not ascending or beyond the segment"));
        }
        let is_node = |node: &u32| (*node as usize) < self.node_count;
        if !self.neighbours().iter().all(is_node) || !self.entries().iter().all(is_node) {
            return Err(damaged("a neighbour or entry is not a node"));
        }
        if self.has_shared_vectors() {
            self.check_members()
        } else {
            Ok(())
        }
    }

    /// Nodes and members must say the same: then every row is found from its node and the other way round.
    fn check_members(&self) -> Result<()> {
        let offsets = self.ids(&self.sections.offsets);
        let members = self.ids(&self.sections.members);
        let (first, last) = (
            offsets.first().copied(),
            offsets.last().map(|last| *last as usize),
        );
        if first != Some(0) || last != Some(members.len()) || !offsets.is_sorted_by(|a, b| a < b) {
            return Err(damaged("offsets of shared vectors"));
        }
        let mut cursors = offsets.to_vec();
        for (row, node) in self.rows().iter().zip(self.ids(&self.sections.nodes)) {
            let (Some(cursor), Some(end)) = (
                cursors.get_mut(*node as usize),
                offsets.get(*node as usize + 1),
            ) else {
                return Err(damaged("a row has no node"));
            };
            if *cursor >= *end || members.get(*cursor as usize) != Some(row) {
                return Err(damaged("rows and nodes disagree"));
            }
            *cursor += 1;
        }
        Ok(())
    }
}

struct Counts {
    dimension: usize,
    width: usize,
    node_count: usize,
    row_count: usize,
    entry_count: usize,
    odd_count: usize,
}

impl Counts {
    /// Where the arrays lie; they must fill `length` bytes exactly.
    fn sections(&self, metric: Metric, length: usize) -> Result<Sections> {
        let stride = padded_length(self.dimension);
        let mut at = LINE;
        let mut section = |count: usize, each: usize| -> Result<Range<usize>> {
            let end = count
                .checked_mul(each)
                .and_then(|n| n.checked_mul(4))
                .and_then(|n| n.checked_add(at))
                .filter(|end| *end <= length);
            let range = at..end.ok_or_else(|| damaged("shorter than its counts say"))?;
            at = range.end.next_multiple_of(LINE);
            Ok(range)
        };
        let shared = self.node_count != self.row_count;
        let only_shared = |count: usize| if shared { count } else { 0 };
        let sections = Sections {
            rows: section(self.row_count, 1)?,
            nodes: section(only_shared(self.row_count), 1)?,
            offsets: section(only_shared(self.node_count + 1), 1)?,
            members: section(only_shared(self.row_count), 1)?,
            entries: section(self.entry_count, 1)?,
            factors: section(
                if metric == Metric::L2 {
                    0
                } else {
                    self.node_count
                },
                1,
            )?,
            neighbours: section(
                if self.entry_count == 0 {
                    0
                } else {
                    self.node_count
                },
                self.width,
            )?,
            vectors: section(self.node_count, stride)?,
            odd_rows: section(self.odd_count, 1)?,
            odd_vectors: section(self.odd_count, stride)?,
        };
        if at != length {
            return Err(damaged("longer than its counts say"));
        }
        Ok(sections)
    }
}
