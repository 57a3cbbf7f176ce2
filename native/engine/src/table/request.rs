//! What a caller asks of a scan or a search, and what planning answers: pure data, no I/O.
//! A `Split` is the unit of work that leaves a process; it never holds secrets or handles.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use arrow::datatypes::SchemaRef;
use serde::{Deserialize, Serialize};

use super::history::{AppendedFile, SnapshotRange};
use super::plan::ColumnStatistics;
use super::split::Split;
use crate::error::{Error, Result};
use crate::iceberg::predicate::Predicate;

/// The largest k of a search.
pub const MAX_K: usize = 10_000;

/// A scan of one table at its pinned snapshot.
#[derive(Clone, Debug, PartialEq)]
pub struct ScanRequest {
    /// Field ids of the output columns, in output order; reserved ids are allowed. None: all columns.
    pub projection: Option<Vec<i32>>,
    /// All must hold; evaluated exactly. For a search they select before the top k.
    pub conjuncts: Vec<Predicate>,
    /// At most this many rows are needed by the caller. A split may return more.
    pub limit: Option<u64>,
    /// Ask for what commits changed instead of what the snapshot holds.
    pub range: Option<SnapshotRange>,
    /// Ask for the best rows instead of all.
    pub search: Option<SearchRequest>,
    /// False gives the plain scan, the reference that every index answer equals.
    pub use_indexes: bool,
    /// Preferred size of a split in bytes of data file.
    pub target_split_bytes: u64,
    /// At least this many splits, if there are so many files or row groups.
    pub min_splits: usize,
    /// Columns, by field id, whose statistics the plan shall give.
    pub statistics: Vec<i32>,
}

impl Default for ScanRequest {
    fn default() -> Self {
        ScanRequest {
            projection: None,
            conjuncts: Vec::new(),
            limit: None,
            range: None,
            search: None,
            use_indexes: true,
            target_split_bytes: 128 << 20,
            min_splits: 1,
            statistics: Vec::new(),
        }
    }
}

/// A search over one column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum SearchRequest {
    /// Nearest vectors; adds the column `_distance`.
    Vector(VectorSearch),
    /// Best matching texts; adds the column `_score`.
    Text(TextSearch),
}

impl SearchRequest {
    /// The field id of the searched column.
    pub fn column(&self) -> i32 {
        match self {
            SearchRequest::Vector(v) => v.column,
            SearchRequest::Text(t) => t.column,
        }
    }

    /// How many rows are asked for.
    pub fn k(&self) -> usize {
        match self {
            SearchRequest::Vector(v) => v.k,
            SearchRequest::Text(t) => t.k,
        }
    }

    /// The name of the column that a search adds.
    pub fn value_name(&self) -> &'static str {
        match self {
            SearchRequest::Vector(_) => "_distance",
            SearchRequest::Text(_) => "_score",
        }
    }
}

/// Nearest vectors by a metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VectorSearch {
    /// Field id of the vector column.
    pub column: i32,
    /// The query vector; finite.
    pub query: Vec<f32>,
    /// 1 to [`MAX_K`].
    pub k: usize,
    /// The metric; an index of another metric is not used.
    pub metric: Metric,
    /// Width of the graph walk; None: the default for k.
    pub ef: Option<usize>,
    /// Whether an approximate index may propose the candidates.
    pub mode: SearchMode,
    /// Where rows without a distance stand.
    pub nulls: NullDistance,
}

/// Best matching texts by BM25.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TextSearch {
    /// Field id of the text column.
    pub column: i32,
    /// The query text, analysed like the column.
    pub query: String,
    /// 1 to [`MAX_K`].
    pub k: usize,
    /// True: every term must match.
    pub all: bool,
    /// None: the index's analyzer, without an index `standard`.
    pub analyzer: Option<String>,
}

/// A vector metric. Distances: L2 not squared, 1 - cosine, negative inner product, L1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Metric {
    /// Euclidean distance.
    L2,
    /// 1 - cosine similarity; NaN for a zero vector.
    Cosine,
    /// Negative inner product.
    InnerProduct,
    /// Manhattan distance.
    L1,
}

impl Metric {
    /// The function that computes it, the same for every way in.
    pub fn kernel(self) -> benostream_gpu_ann::Metric {
        match self {
            Metric::L2 => benostream_gpu_ann::Metric::L2,
            Metric::Cosine => benostream_gpu_ann::Metric::Cosine,
            Metric::InnerProduct => benostream_gpu_ann::Metric::InnerProduct,
            Metric::L1 => benostream_gpu_ann::Metric::L1,
        }
    }

    /// The name users type.
    pub fn name(self) -> &'static str {
        self.kernel().name()
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Metric {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text.to_ascii_lowercase().as_str() {
            "l2" => Ok(Metric::L2),
            "cosine" => Ok(Metric::Cosine),
            "inner_product" | "ip" => Ok(Metric::InnerProduct),
            "l1" => Ok(Metric::L1),
            _ => Err(Error::invalid_input(format!(
                "unknown metric '{text}'; known: l2, cosine, inner_product, l1"
            ))),
        }
    }
}

/// How far an index is trusted to find the candidates; scores are always exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum SearchMode {
    /// Plain scan.
    Exact,
    /// The index at its default width.
    #[default]
    Balanced,
    /// The index at a narrow width.
    Fast,
}

impl FromStr for SearchMode {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text.to_ascii_lowercase().as_str() {
            "exact" => Ok(SearchMode::Exact),
            "balanced" | "auto" => Ok(SearchMode::Balanced),
            "fast" => Ok(SearchMode::Fast),
            _ => Err(Error::invalid_input(format!(
                "unknown recall '{text}'; known: fast, balanced, exact"
            ))),
        }
    }
}

/// What happens to rows whose distance is NULL.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum NullDistance {
    /// Left out, as in search functions.
    #[default]
    Drop,
    /// Before all others, as in Spark's ascending order.
    First,
    /// After all others, as in PostgreSQL's ascending order.
    Last,
}

/// A planned scan: one snapshot, its splits, and what planning saw.
#[derive(Clone, Debug)]
pub struct ScanPlan {
    /// The pinned snapshot; None for a table without one.
    pub snapshot_id: Option<i64>,
    /// Independent units of work; each returns rows of `schema`.
    pub splits: Vec<Split>,
    /// The output columns.
    pub schema: SchemaRef,
    /// What was pruned and why.
    pub report: ScanReport,
    /// The statistics asked for, by field id.
    pub columns: BTreeMap<i32, ColumnStatistics>,
}

/// What planning pruned and which indexes it used; shown by EXPLAIN.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ScanReport {
    /// Manifests of the snapshot.
    pub manifests_total: u64,
    /// Manifests not read: no live file, or no partition that may match.
    pub manifests_skipped: u64,
    /// Data files of the snapshot, as far as the manifest list tells of manifests that were not read.
    pub files_total: u64,
    /// Files skipped by their partition, those in skipped manifests included.
    pub files_pruned_by_partition: u64,
    /// Files skipped by Iceberg statistics.
    pub files_pruned_by_statistics: u64,
    /// Files skipped because an index proposed no row of them.
    pub files_pruned_by_index: u64,
    /// Files read although an index was asked, because it does not cover them.
    pub files_scanned_without_index: u64,
    /// Rows of all files of the snapshot, deleted ones included.
    pub rows_total: u64,
    /// Rows that the indexes proposed, of the files they cover.
    pub rows_proposed: u64,
    /// Per index name, how many segments are used.
    pub segments: BTreeMap<String, u64>,
    /// Why an index on a column of the request is not used, by index name.
    pub unused_indexes: BTreeMap<String, String>,
    /// Whether this is a search; its indexes propose rows when it runs, and `rows_proposed` counts what they hold.
    pub is_search: bool,
    /// What was wrong with an index without changing the answer.
    pub warnings: Vec<String>,
    /// The files that the commits of a range appended, oldest commit first, pruned ones too.
    pub appended: Vec<AppendedFile>,
}

impl fmt::Display for ScanReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "files={}, pruned_by_partition={}, pruned_by_statistics={}, pruned_by_index={}",
            self.files_total,
            self.files_pruned_by_partition,
            self.files_pruned_by_statistics,
            self.files_pruned_by_index
        )?;
        write!(
            f,
            ", manifests={}, manifests_skipped={}",
            self.manifests_total, self.manifests_skipped
        )?;
        for (name, count) in &self.segments {
            write!(f, ", index={name} segments={count}")?;
        }
        let what = if self.is_search {
            "rows_indexed"
        } else {
            "rows_proposed"
        };
        if self.segments.is_empty() {
            write!(f, ", index=none")?;
        } else {
            write!(
                f,
                ", {what}={} of {}, files_without_index={}",
                self.rows_proposed, self.rows_total, self.files_scanned_without_index
            )?;
        }
        for (name, reason) in &self.unused_indexes {
            write!(f, ", index {name} is not used: {reason}")?;
        }
        Ok(())
    }
}
