//! Answers searches: by a walk, or by a scan where few rows are allowed or the walk cannot be trusted.
//! Whatever proposes the candidates, their distances are computed again in `f64`.

use std::sync::{Mutex, PoisonError};

use benostream_gpu_ann::{Isa, Matrix, order_key, padded_length};
use bytes::Bytes;
use roaring::RoaringBitmap;

use super::layout::Layout;
use super::pool::node_of;
use super::space::{Probe, Space, is_regular};
use super::walk::{Graph, Scratch, scan, walk, walk_filtered};
use crate::error::{Error, Result};
use crate::index::{Hit, VectorHits, VectorIndex};

/// With so many allowed rows or fewer a scan is as fast as a filtered walk.
const SCAN_ROWS: u64 = 10_000;
/// With so small a part of the rows allowed, one in so many, too.
const SCAN_SHARE: u64 = 10;
/// A walk computes about so many distances for each place in its pool.
const DISTANCES_PER_PLACE: u64 = 16;
/// Candidates beyond k that are compared in `f64`.
const SPARE: usize = 16;
/// A pool below this saves no time.
const LEAST_EF: usize = 10;
/// A walk that came back short is tried again with so many times the places, once.
const GROWTH: usize = 4;
/// How many walks' memory is kept for the next ones.
const MAX_KEPT_SCRATCHES: usize = 8;

/// An opened segment.
pub(super) struct HnswIndex {
    layout: Layout,
    graph_rows: RoaringBitmap,
    odd_rows: RoaringBitmap,
    valid_rows: RoaringBitmap,
    isa: Isa,
    scratches: Mutex<Vec<Scratch>>,
}

/// One search, checked.
struct Search<'a> {
    query: &'a [f32],
    k: usize,
    ef: usize,
    allowed: Option<&'a RoaringBitmap>,
    /// How many rows in the graph are allowed.
    allowed_count: u64,
}

impl HnswIndex {
    pub(super) fn open(bytes: &Bytes, segment_rows: u32, isa: Isa) -> Result<HnswIndex> {
        let layout = Layout::open(bytes, segment_rows)?;
        let bitmap = |rows: &[u32]| {
            RoaringBitmap::from_sorted_iter(rows.iter().copied())
                .map_err(|_| Error::corrupt("vector segment is damaged: rows"))
        };
        let graph_rows = bitmap(layout.rows())?;
        let odd_rows = bitmap(layout.odd_rows())?;
        if !graph_rows.is_disjoint(&odd_rows) {
            return Err(Error::corrupt(
                "vector segment is damaged: a row is stored twice",
            ));
        }
        let valid_rows = &graph_rows | &odd_rows;
        Ok(HnswIndex {
            layout,
            graph_rows,
            odd_rows,
            valid_rows,
            isa,
            scratches: Mutex::new(Vec::new()),
        })
    }

    fn space(&self) -> Option<Space<'_>> {
        let matrix = Matrix::new(
            self.layout.vectors(),
            padded_length(self.layout.dimension),
            self.isa,
        )?;
        Some(Space {
            matrix,
            factors: self.layout.factors(),
            metric: self.layout.metric,
        })
    }

    fn search_graph(&self, space: &Space<'_>, search: &Search<'_>, hits: &mut VectorHits) {
        if search.allowed_count == 0 {
            return;
        }
        let mut scratch = self.take_scratch();
        scratch.distance_count = 0;
        let padded = space.matrix.query(search.query);
        let probe = space.query(&padded);
        let wanted = search.allowed_count.min(search.k as u64);
        let mut ef = search.ef;
        let mut found = Vec::new();
        for _ in 0..2 {
            if self.prefers_scan(search, ef)
                || !self.propose(space, &probe, search, ef, &mut scratch)
            {
                break;
            }
            found = self.rescore(space, search, &mut scratch);
            if found.len() as u64 >= wanted {
                break;
            }
            ef *= GROWTH;
        }
        if (found.len() as u64) < wanted {
            scan(
                space,
                self.allowed_nodes(search.allowed),
                &probe,
                search.k.saturating_add(SPARE),
                &mut scratch,
            );
            found = self.rescore(space, search, &mut scratch);
        }
        hits.hits.append(&mut found);
        hits.distance_count += scratch.distance_count;
        self.return_scratch(scratch);
    }

    fn prefers_scan(&self, search: &Search<'_>, ef: usize) -> bool {
        let few = search.allowed.is_some()
            && (search.allowed_count <= SCAN_ROWS
                || search.allowed_count.saturating_mul(SCAN_SHARE) <= self.layout.row_count as u64);
        few || self.layout.entries().is_empty()
            || search.allowed_count <= (ef as u64).saturating_mul(DISTANCES_PER_PLACE)
    }

    /// Walks; leaves the candidates in `scratch.results`. False where a scan must decide.
    fn propose(
        &self,
        space: &Space<'_>,
        probe: &Probe<'_>,
        search: &Search<'_>,
        ef: usize,
        scratch: &mut Scratch,
    ) -> bool {
        let graph = Graph {
            neighbours: self.layout.neighbours(),
            width: self.layout.width,
            entries: self.layout.entries(),
        };
        let Some(allowed) = search.allowed else {
            walk(space, &graph, probe, ef, scratch);
            std::mem::swap(&mut scratch.pool, &mut scratch.results);
            return true;
        };
        // Precision is of no matter: the share only sizes a pool.
        #[allow(clippy::cast_precision_loss)]
        let share = search.allowed_count as f64 / self.layout.row_count.max(1) as f64;
        let passes = |node: u32| {
            self.layout
                .members(node)
                .iter()
                .any(|row| allowed.contains(*row))
        };
        walk_filtered(space, &graph, probe, ef, share, &passes, scratch)
    }

    /// The allowed rows of the best candidates with their exact distances.
    fn rescore(&self, space: &Space<'_>, search: &Search<'_>, scratch: &mut Scratch) -> Vec<Hit> {
        let mut found = Vec::new();
        for key in scratch
            .results
            .keys()
            .iter()
            .take(search.k.saturating_add(SPARE))
        {
            let node = node_of(*key);
            let vector = space
                .matrix
                .row(node)
                .get(..self.layout.dimension)
                .unwrap_or(&[]);
            let Some(value) = space.metric.distance(search.query, vector) else {
                continue;
            };
            scratch.distance_count += 1;
            let rows = self
                .layout
                .members(node)
                .iter()
                .filter(|row| search.allowed.is_none_or(|allowed| allowed.contains(**row)));
            found.extend(rows.take(search.k).map(|row| Hit { row: *row, value }));
        }
        keep_nearest(&mut found, search.k);
        found
    }

    /// Nodes of the allowed rows; a node comes once for each of its rows.
    fn allowed_nodes<'a>(
        &'a self,
        allowed: Option<&'a RoaringBitmap>,
    ) -> Box<dyn Iterator<Item = u32> + 'a> {
        let Some(allowed) = allowed else {
            return Box::new(0..u32::try_from(self.layout.node_count).unwrap_or(u32::MAX));
        };
        let rows = self.layout.rows();
        let mut from = 0;
        Box::new(allowed.iter().filter_map(move |row| {
            from = advance(rows, from, row);
            if rows.get(from) == Some(&row) {
                self.layout.node_at(from)
            } else {
                None
            }
        }))
    }

    /// Every allowed row in `f64`: for queries that the kernels cannot order.
    fn search_exactly(&self, space: &Space<'_>, search: &Search<'_>, hits: &mut VectorHits) {
        for node in 0..u32::try_from(self.layout.node_count).unwrap_or(u32::MAX) {
            let rows = self
                .layout
                .members(node)
                .iter()
                .filter(|row| search.allowed.is_none_or(|allowed| allowed.contains(**row)));
            let mut rows = rows.take(search.k).peekable();
            if rows.peek().is_none() {
                continue;
            }
            let vector = space
                .matrix
                .row(node)
                .get(..self.layout.dimension)
                .unwrap_or(&[]);
            let Some(value) = space.metric.distance(search.query, vector) else {
                continue;
            };
            hits.distance_count += 1;
            hits.hits.extend(rows.map(|row| Hit { row: *row, value }));
            if hits.hits.len() >= search.k.saturating_mul(2).saturating_add(4096) {
                keep_nearest(&mut hits.hits, search.k);
            }
        }
    }

    fn take_scratch(&self) -> Scratch {
        let kept = self
            .scratches
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop();
        kept.unwrap_or_else(|| Scratch::new(self.layout.node_count))
    }

    fn return_scratch(&self, scratch: Scratch) {
        let mut kept = self
            .scratches
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if kept.len() < MAX_KEPT_SCRATCHES {
            kept.push(scratch);
        }
    }
}

impl VectorIndex for HnswIndex {
    fn search(
        &self,
        query: &[f32],
        k: usize,
        ef: usize,
        allowed: Option<&RoaringBitmap>,
    ) -> Result<VectorHits> {
        if !query.iter().all(|x| x.is_finite()) {
            return Err(Error::invalid_input(
                "the query vector has an element that is NaN or infinite",
            ));
        }
        if self.valid_rows.is_empty() || k == 0 {
            return Ok(VectorHits::default());
        }
        if query.len() != self.layout.dimension {
            return Err(Error::invalid_input(format!(
                "the query vector has {} elements, the index {}",
                query.len(),
                self.layout.dimension
            )));
        }
        let k = k.min(usize::try_from(self.valid_rows.len()).unwrap_or(usize::MAX));
        let allowed_count = allowed.map_or(self.layout.row_count as u64, |allowed| {
            allowed.intersection_len(&self.graph_rows)
        });
        let search = Search {
            query,
            k,
            ef: ef.max(LEAST_EF).max(k.saturating_add(k / 4)),
            allowed: allowed.filter(|_| allowed_count < self.layout.row_count as u64),
            allowed_count,
        };
        let mut hits = VectorHits::default();
        if let Some(space) = self.space() {
            if is_regular(query, space.metric) {
                self.search_graph(&space, &search, &mut hits);
            } else {
                self.search_exactly(&space, &search, &mut hits);
            }
        }
        for (row, vector) in self.layout.odd() {
            if allowed.is_none_or(|allowed| allowed.contains(row))
                && let Some(value) = self.layout.metric.distance(query, vector)
            {
                hits.distance_count += 1;
                hits.hits.push(Hit { row, value });
            }
        }
        keep_nearest(&mut hits.hits, k);
        Ok(hits)
    }

    fn valid_rows(&self) -> &RoaringBitmap {
        &self.valid_rows
    }

    fn odd_rows(&self) -> &RoaringBitmap {
        &self.odd_rows
    }

    fn dimension(&self) -> usize {
        self.layout.dimension
    }
}

/// Sorts as results are sorted, NaN greatest, ties by row, and cuts to `k`.
fn keep_nearest(hits: &mut Vec<Hit>, k: usize) {
    let order = |hit: &Hit| (order_key(hit.value), hit.row);
    if hits.len() > k.saturating_mul(2) {
        hits.select_nth_unstable_by_key(k, order);
        hits.truncate(k);
    }
    hits.sort_unstable_by_key(order);
    hits.truncate(k);
}

/// The first place at or after `from` whose row is not below `row`, found in steps that double.
fn advance(rows: &[u32], from: usize, row: u32) -> usize {
    let mut step = 1;
    let mut low = from;
    while rows.get(low + step).is_some_and(|held| *held < row) {
        low += step;
        step *= 2;
    }
    let high = (low + step).min(rows.len());
    low + rows
        .get(low..high)
        .unwrap_or(&[])
        .partition_point(|held| *held < row)
}
