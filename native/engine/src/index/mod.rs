//! Index kinds and the segment envelope: Arrow arrays in, row sets out. A segment covers the rows of one
//! or several data files; its row ids are `0..rows`, file after file, in physical order, deleted rows included.
//! Knows no table, no catalog, no SQL; opens no store.

pub mod bitmap;
pub mod bm25;
pub mod bounds;
pub mod hnsw;
pub mod overlay;
pub mod segment;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use arrow::array::RecordBatch;
use bytes::Bytes;
use roaring::RoaringBitmap;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::iceberg::predicate::Predicate;

/// What a user asked to index: part of the overlay's manifest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IndexDefinition {
    /// Unique in the table; by default `<columns>_<kind>`.
    pub name: String,
    /// The kind's name, such as `bitmap`.
    pub kind: String,
    /// Field ids of the indexed columns.
    pub columns: Vec<i32>,
    /// Parameters of the kind, all filled in (defaults included), as text.
    pub parameters: BTreeMap<String, String>,
}

/// One named piece of a segment.
#[derive(Clone, Debug)]
pub struct Blob {
    /// Blob type, such as `benostream-bitmap-v1`.
    pub kind: String,
    /// The bytes.
    pub data: Bytes,
}

/// What a scalar index knows about a predicate over the rows of one segment: `sure` <= true rows <= `maybe`.
/// `nulls` and `false_sure` let NOT keep NULL apart from false; a row in none of the four sets is false or NULL.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bounds {
    /// Rows for which the predicate is certainly true.
    pub sure: RoaringBitmap,
    /// Rows for which it may be true.
    pub maybe: RoaringBitmap,
    /// Rows for which it is certainly NULL.
    pub nulls: RoaringBitmap,
    /// Rows for which it is certainly false.
    pub false_sure: RoaringBitmap,
}

/// A row and its score or distance, best first in every list of hits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hit {
    /// Row id in the segment.
    pub row: u32,
    /// Distance (smaller is better) or score (greater is better).
    pub value: f64,
}

/// A kind of index. Building is deterministic: the same batches and definition give the same bytes,
/// for any thread count and instruction set.
pub trait IndexKind: Send + Sync {
    /// The name users type.
    fn name(&self) -> &'static str;
    /// Checks columns and parameters and fills in the defaults. `fields` are the indexed columns.
    /// Errors: InvalidInput that lists what is known.
    fn resolve(
        &self,
        fields: &[arrow::datatypes::FieldRef],
        parameters: &BTreeMap<String, String>,
    ) -> Result<BTreeMap<String, String>>;
    /// Starts a build over the indexed columns.
    fn builder(
        &self,
        definition: &IndexDefinition,
        fields: &[arrow::datatypes::FieldRef],
    ) -> Result<Box<dyn IndexBuilder>>;
    /// Opens a segment's blobs. Errors: Corrupt for damaged bytes; never panics.
    fn open(&self, definition: &IndexDefinition, blobs: &[Blob], rows: u32) -> Result<OpenIndex>;
}

/// Takes the indexed columns of every row, in segment row order.
pub trait IndexBuilder: Send {
    /// Adds rows. The batch has exactly the indexed columns.
    fn add(&mut self, batch: &RecordBatch) -> Result<()>;
    /// Takes a flag that ends a long build early, with an error, once it is set.
    fn stop_on(&mut self, _stop: Arc<AtomicBool>) {}
    /// The lengths of the vectors added so far, two at most: more do not matter, since then the column has no one
    /// dimension.
    fn vector_lengths(&self) -> Vec<usize> {
        Vec::new()
    }
    /// Ends the build.
    fn finish(self: Box<Self>) -> Result<Vec<Blob>>;
}

/// An opened segment, by what it can answer.
#[derive(Clone)]
#[allow(missing_docs)]
pub enum OpenIndex {
    Scalar(Arc<dyn ScalarIndex>),
    Vector(Arc<dyn VectorIndex>),
    Text(Arc<dyn TextIndex>),
}

/// Answers predicates with bounds.
pub trait ScalarIndex: Send + Sync {
    /// The bounds of a leaf predicate on an indexed column, over all rows of the segment;
    /// None when this index cannot say anything about it. AND, OR and NOT are combined by `index::bounds`.
    fn leaf(&self, predicate: &Predicate) -> Result<Option<Bounds>>;
}

/// Nearest neighbours.
pub trait VectorIndex: Send + Sync {
    /// Up to `k` candidate rows among `allowed` (None: all rows that have a vector), nearest first, NaN greatest,
    /// ties by row. Exactly min(k, allowed rows that have a vector); rows whose vector holds NaN or infinity are
    /// among them at their true place. Distances are exact (`Metric::distance` of the stored vector) and in the
    /// index's metric: L2 not squared, 1 - cosine, negative inner product.
    /// Errors: InvalidInput for a query with NaN or infinity, or of another dimension than a segment that has vectors.
    fn search(
        &self,
        query: &[f32],
        k: usize,
        ef: usize,
        allowed: Option<&RoaringBitmap>,
    ) -> Result<VectorHits>;
    /// Rows that have a vector of the index's dimension without NULL elements. Rows outside have no distance
    /// to a query of that dimension.
    fn valid_rows(&self) -> &RoaringBitmap;
    /// Those of `valid_rows` whose vector no graph can hold: NaN, infinity, extreme lengths, zero for cosine.
    /// Every search compares them one by one, so they are neither lost nor misplaced.
    fn odd_rows(&self) -> &RoaringBitmap;
    /// The dimension: of the definition, else of the segment's first vector (so segments of one index may
    /// differ; one that does not match the query says nothing about it); 0 when there is none.
    fn dimension(&self) -> usize;
}

/// The result of a vector probe, with the counter that tests gate on.
#[derive(Clone, Debug, Default)]
pub struct VectorHits {
    /// Nearest first.
    pub hits: Vec<Hit>,
    /// How many distances were computed.
    pub distance_count: u64,
}

/// Statistics of a corpus, over the live rows of a snapshot (Robertson and Zaragoza 2009; Lucene's formula).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TextStatistics {
    /// Live rows with at least one token.
    pub document_count: u64,
    /// Sum of their lengths in tokens.
    pub token_count: u64,
    /// Live rows that hold the term, by term.
    pub document_frequency: BTreeMap<String, u64>,
}

/// Postings of one segment.
pub trait TextIndex: Send + Sync {
    /// This segment's share of the statistics for `terms`, without the rows in `dead`.
    fn statistics(&self, terms: &[String], dead: &RoaringBitmap) -> Result<TextStatistics>;
    /// The best `k` rows among `allowed` (None: all) for the query, by table-wide statistics; ties by row.
    fn search(
        &self,
        query: &TextQuery,
        statistics: &TextStatistics,
        k: usize,
        allowed: Option<&RoaringBitmap>,
    ) -> Result<Vec<Hit>>;
}

/// An analysed query: terms in order, and whether all must match.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TextQuery {
    /// Analysed terms, duplicates kept.
    pub terms: Vec<String>,
    /// True for AND, false for OR.
    pub all: bool,
    /// Term saturation.
    pub k1: f64,
    /// Length normalisation.
    pub b: f64,
}

/// Kinds that users may name and that have no implementation yet.
const ANNOUNCED_KINDS: &[&str] = &[
    "sorted",
    "primary_key",
    "bloom",
    "json_path",
    "hnsw_tq8",
    "hnsw_tq4",
    "hnsw_pq",
    "ivf",
    "ivf_pq",
    "ivf_tq8",
    "ivf_tq4",
    "csr_graph",
];

/// The kinds that can be built.
static KINDS: &[&dyn IndexKind] = &[&bitmap::Bitmap, &bm25::Bm25, &hnsw::HnswKind::new()];

/// The index kind of this name. Errors: Unsupported for a kind that is not available yet, InvalidInput
/// with the list of kinds for any other name.
pub fn kind(name: &str) -> Result<&'static dyn IndexKind> {
    if let Some(kind) = KINDS.iter().find(|kind| kind.name() == name) {
        return Ok(*kind);
    }
    if ANNOUNCED_KINDS.contains(&name) {
        return Err(Error::unsupported(format!(
            "index kind {name} is not available yet"
        )));
    }
    let known: Vec<&str> = KINDS.iter().map(|kind| kind.name()).collect();
    Err(Error::invalid_input(format!(
        "unknown index kind {name}; known are {}",
        known.join(", ")
    )))
}

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
