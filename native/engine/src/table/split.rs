//! Splits: the serialisable units of a planned scan or search. They carry paths, positions and
//! statistics, never secrets and never handles, and start with a magic, a version and the build id,
//! so that an executor of another build refuses them instead of misreading them.

use std::collections::HashMap;
use std::sync::Arc;

use roaring::RoaringBitmap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::history::Change;
use super::request::SearchRequest;
use crate::error::{Error, Result};
use crate::iceberg::manifest::{FileFormat, PartitionValue};
use crate::iceberg::predicate::Predicate;
use crate::iceberg::value::Value;
use crate::index::{IndexDefinition, TextStatistics};

const MAGIC: &[u8; 4] = b"BSDS";
const VERSION: u16 = 1;
/// Splits are small; anything larger is not ours.
const MAX_SPLIT_BYTES: usize = 256 << 20;

/// What all splits of one plan share.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SplitScope {
    /// The table's location, root of the allow-list.
    pub table_location: String,
    /// Further roots: data and overlay locations outside the table.
    pub roots: Vec<String>,
    /// The pinned snapshot.
    pub snapshot_id: i64,
    /// The table's schema as Iceberg JSON.
    pub schema: serde_json::Value,
    /// The table property that gives ids to the columns of files without any.
    pub name_mapping: Option<String>,
    /// The members of the column `_partition` as an Iceberg schema; None where it is not asked for.
    pub partition: Option<serde_json::Value>,
    /// Output columns by field id, reserved ids included.
    pub projection: Vec<i32>,
    /// Selects rows exactly.
    pub predicate: Option<Predicate>,
    /// The search, if this is one.
    pub search: Option<SearchPlan>,
    /// The metadata table, if this is one's; then there are no files.
    pub metadata: Option<MetadataScope>,
}

/// A metadata table as planned.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MetadataScope {
    /// Its name.
    pub kind: String,
    /// The metadata file that is read.
    pub metadata_location: String,
    /// Whether it is of the scope's snapshot instead of the newest.
    pub is_pinned: bool,
}

/// A search as planned: the request and what only the planner could know.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SearchPlan {
    /// What was asked.
    pub request: SearchRequest,
    /// Text only: the analyzed query and the statistics of the snapshot's live rows.
    pub text: Option<TextPlan>,
}

/// The table-wide part of a text search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TextPlan {
    /// Name of the analyzer of the column.
    pub analyzer: String,
    /// Term saturation.
    pub k1: f64,
    /// Length normalisation.
    pub b: f64,
    /// Over the live rows of the snapshot, whatever the filter.
    pub statistics: TextStatistics,
}

/// A segment that a split may use; a vanished or damaged one means "not covered".
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SegmentRef {
    /// Absolute location.
    pub location: String,
    /// Bytes.
    pub length: u64,
    /// Checksum of the whole file as the overlay records it.
    pub checksum: String,
    /// Rows of the segment, all of its files.
    pub rows: u32,
    /// The index it belongs to.
    pub definition: IndexDefinition,
}

/// Where a file's rows stand in a segment.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SegmentPlace {
    /// Which of the split's segments.
    pub segment_index: usize,
    /// Segment row id of the file's first row.
    pub first_row: u32,
}

/// A file of deletes that applies to a data file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeleteRef {
    /// Recorded path.
    pub path: String,
    /// Bytes.
    pub size: u64,
    /// What to read it as.
    pub format: FileFormat,
    /// Its data sequence number.
    pub sequence_number: i64,
    /// How it says which rows are deleted.
    pub kind: DeleteKind,
}

impl DeleteRef {
    /// Whether it compares values, so that rows must be read to know which of them are deleted.
    pub(crate) fn is_by_value(&self) -> bool {
        matches!(self.kind, DeleteKind::Equality { .. })
    }
}

/// How a delete file says which rows are deleted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum DeleteKind {
    /// By path and position.
    Positions {
        /// Whether the manifest says that it deletes rows of one data file.
        for_one_file: bool,
    },
    /// By a deletion vector.
    Vector {
        /// First byte of the blob.
        offset: u64,
        /// Bytes of the blob.
        length: u64,
        /// Rows deleted.
        cardinality: u64,
    },
    /// By the values of some columns.
    Equality {
        /// Equal for the files of one plan that compare the same columns and reach the same data files.
        group: u32,
        /// The columns as an Iceberg schema, nothing else inside them.
        columns: serde_json::Value,
    },
}

/// One data file, or some row groups of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FileTask {
    /// Recorded path.
    pub path: String,
    /// What to read it as.
    pub format: FileFormat,
    /// Bytes.
    pub size: u64,
    /// Physical rows.
    pub record_count: u64,
    /// Data sequence number, the first tie-breaker of searches.
    pub data_sequence_number: i64,
    /// First row group and the one after the last; None: all.
    pub row_groups: Option<(usize, usize)>,
    /// Row groups of the file as the manifest tells; at least 1. Only Parquet files have more.
    pub row_group_count: usize,
    /// Physical rows that an index proposed; None: all.
    pub rows: Option<RowSet>,
    /// The delete files that apply; a split's bytes hold each of them once for all of its files.
    #[serde(skip)]
    pub deletes: Vec<Arc<DeleteRef>>,
    /// What columns hold that the file may lack, by field id: the values of identity partition fields; None is NULL.
    pub absent_values: Vec<(i32, Option<Value>)>,
    /// Its partition spec.
    pub spec_id: i32,
    /// Its partition by partition field id; None is NULL.
    pub partition: Vec<(i32, Option<PartitionValue>)>,
    /// The row id of its first row, inherited already; None: its rows have no ids.
    pub first_row_id: Option<i64>,
    /// The segment that covers the file for the split's search.
    pub place: Option<SegmentPlace>,
    /// In a changelog, what happened to the rows.
    pub change: Option<Change>,
}

impl FileTask {
    /// The share of the file's bytes that the task reads.
    pub fn weight_bytes(&self) -> u64 {
        let Some((first, end)) = self.row_groups else {
            return self.size;
        };
        let count = u64::try_from(self.row_group_count.max(1)).unwrap_or(1);
        let part =
            u64::try_from(end.min(self.row_group_count).saturating_sub(first)).unwrap_or(count);
        self.size / count * part
    }

    /// The file cut at row groups into pieces of about `target` bytes.
    pub fn cut(self, target: u64) -> Vec<FileTask> {
        let pieces = usize::try_from(self.size.div_ceil(target.max(1)))
            .unwrap_or(usize::MAX)
            .min(self.row_group_count);
        if pieces <= 1 || self.row_groups.is_some() {
            return vec![self];
        }
        let bound = |piece: usize| piece * self.row_group_count / pieces;
        (0..pieces)
            .map(|piece| {
                // The last piece takes whatever the file really holds.
                let end = if piece + 1 == pieces {
                    usize::MAX
                } else {
                    bound(piece + 1)
                };
                FileTask {
                    row_groups: Some((bound(piece), end)),
                    ..self.clone()
                }
            })
            .collect()
    }
}

/// A set of row positions, kept as Roaring bytes in base64.
#[derive(Clone, Debug, PartialEq)]
pub struct RowSet(pub RoaringBitmap);

impl Serialize for RowSet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use base64::Engine as _;
        let mut bytes = Vec::with_capacity(self.0.serialized_size());
        self.0
            .serialize_into(&mut bytes)
            .map_err(serde::ser::Error::custom)?;
        serializer.serialize_str(&base64::engine::general_purpose::STANDARD.encode(bytes))
    }
}

impl<'de> Deserialize<'de> for RowSet {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use base64::Engine as _;
        let text = String::deserialize(deserializer)?;
        let bytes = base64::engine::general_purpose::STANDARD
            .decode(text)
            .map_err(serde::de::Error::custom)?;
        RoaringBitmap::deserialize_from(bytes.as_slice())
            .map(RowSet)
            .map_err(serde::de::Error::custom)
    }
}

/// The unit of work of a scan.
#[derive(Clone, Debug, PartialEq)]
pub struct Split {
    /// Shared by all splits of the plan.
    pub scope: Arc<SplitScope>,
    /// Files to read.
    pub files: Vec<FileTask>,
    /// Segments that `FileTask::place` refers to.
    pub segments: Vec<SegmentRef>,
}

#[derive(Serialize, Deserialize)]
struct SplitBody {
    build: String,
    scope: SplitScope,
    files: Vec<FileTask>,
    deletes: Vec<DeleteRef>,
    /// Per file the places of its deletes.
    deletes_of_files: Vec<Vec<usize>>,
    segments: Vec<SegmentRef>,
}

/// Each delete file once, and per data file the places of its own.
fn shared_deletes(files: &[FileTask]) -> (Vec<DeleteRef>, Vec<Vec<usize>>) {
    let mut places: HashMap<*const DeleteRef, usize> = HashMap::new();
    let mut deletes = Vec::new();
    let mut of_file = |file: &FileTask| {
        let mut place = |delete: &Arc<DeleteRef>| {
            *places.entry(Arc::as_ptr(delete)).or_insert_with(|| {
                deletes.push(delete.as_ref().clone());
                deletes.len() - 1
            })
        };
        file.deletes.iter().map(&mut place).collect()
    };
    let of_files = files.iter().map(&mut of_file).collect();
    (deletes, of_files)
}

/// Gives the files the deletes that [`shared_deletes`] took from them. Errors: InvalidInput.
fn give_back(
    files: &mut [FileTask],
    deletes: Vec<DeleteRef>,
    of_files: &[Vec<usize>],
) -> Result<()> {
    let damaged = || Error::invalid_input("split is damaged: its deletes do not fit its files");
    if files.len() != of_files.len() {
        return Err(damaged());
    }
    let deletes: Vec<Arc<DeleteRef>> = deletes.into_iter().map(Arc::new).collect();
    for (file, places) in files.iter_mut().zip(of_files) {
        let of_file = places.iter().map(|place| deletes.get(*place).cloned());
        file.deletes = of_file.collect::<Option<_>>().ok_or_else(damaged)?;
    }
    Ok(())
}

impl Split {
    /// Bytes of the data files that the split reads, for schedulers.
    pub fn size_bytes(&self) -> u64 {
        self.files.iter().map(FileTask::weight_bytes).sum()
    }

    /// Physical rows of its files, deleted ones included.
    pub fn record_count(&self) -> u64 {
        self.files.iter().map(|f| f.record_count).sum()
    }

    /// The opaque bytes that may leave the process.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let (deletes, deletes_of_files) = shared_deletes(&self.files);
        encode(
            MAGIC,
            &SplitBody {
                build: build_id(),
                scope: (*self.scope).clone(),
                files: self.files.clone(),
                deletes,
                deletes_of_files,
                segments: self.segments.clone(),
            },
        )
    }

    /// Reads what `to_bytes` of the same build wrote. Errors: InvalidInput.
    pub fn from_bytes(bytes: &[u8]) -> Result<Split> {
        let mut body: SplitBody = decode(MAGIC, "split", bytes)?;
        check_build("split", &body.build)?;
        give_back(&mut body.files, body.deletes, &body.deletes_of_files)?;
        Ok(Split {
            scope: Arc::new(body.scope),
            files: body.files,
            segments: body.segments,
        })
    }
}

/// The build that wrote a message; both sides must agree.
pub fn build_id() -> String {
    env!("CARGO_PKG_VERSION").to_string()
}

pub(crate) fn check_build(what: &str, found: &str) -> Result<()> {
    let own = build_id();
    if found == own {
        return Ok(());
    }
    Err(Error::invalid_input(format!(
        "this {what} was made by build {found}, this process is build {own}; use the same jar everywhere"
    )))
}

/// Magic, version, JSON.
pub(crate) fn encode<T: Serialize>(magic: &[u8; 4], body: &T) -> Result<Vec<u8>> {
    let mut bytes = magic.to_vec();
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    serde_json::to_writer(&mut bytes, body)
        .map_err(|e| Error::internal(format!("message cannot be encoded: {e}")))?;
    Ok(bytes)
}

/// Reads what [`encode`] wrote; anything else is InvalidInput.
pub(crate) fn decode<T: serde::de::DeserializeOwned>(
    magic: &[u8; 4],
    what: &str,
    bytes: &[u8],
) -> Result<T> {
    if bytes.len() > MAX_SPLIT_BYTES {
        return Err(Error::resource_exhausted(format!(
            "{what} of {} bytes exceeds the limit of {MAX_SPLIT_BYTES}",
            bytes.len()
        )));
    }
    let body = bytes
        .strip_prefix(magic.as_slice())
        .ok_or_else(|| Error::invalid_input(format!("these bytes are no {what}")))?;
    let (version, json) = body
        .split_first_chunk::<2>()
        .ok_or_else(|| Error::invalid_input(format!("these bytes are no {what}")))?;
    let version = u16::from_le_bytes(*version);
    if version != VERSION {
        return Err(Error::invalid_input(format!(
            "{what} has version {version}, this build reads version {VERSION}"
        )));
    }
    serde_json::from_slice(json)
        .map_err(|e| Error::invalid_input(format!("{what} is damaged: {e}")))
}
