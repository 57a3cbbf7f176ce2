//! Plans which data files of a snapshot a scan must read: Iceberg statistics first, then what the
//! overlay's scalar indexes propose. Indexes only ever take rows away that are certainly not true.

mod entries;
mod statistics;

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::Table;
use super::deletes::DeleteIndex;
use super::history::{AppendedFile, RangeRows, SnapshotRange, changed_files};
use super::overlay::{OverlayView, open_segment};
use super::request::{ScanReport, ScanRequest};
use super::split::{FileTask, RowSet, Split, SplitScope};
use crate::error::{Error, Result};
use crate::iceberg::manifest::{DataContent, DataFile, Entry};
use crate::iceberg::predicate::Predicate;
use crate::iceberg::prune;
use crate::index::overlay::{FileIdentity, SegmentUse, identity_path};
use crate::index::segment::RowLayout;
use crate::index::{Bounds, IndexDefinition, OpenIndex, ScalarIndex, bounds};
use statistics::column_statistics;

pub use statistics::ColumnStatistics;

/// When an index proposes more than this share of a file's rows, the plain read is cheaper.
const SELECTIVE_SHARE: u64 = 2;

/// A live data file of the snapshot.
#[derive(Clone, Debug)]
pub(crate) struct LiveFile {
    pub(crate) task: FileTask,
    pub(crate) identity: FileIdentity,
}

/// The files that may hold rows, and what was seen on the way.
pub(crate) struct PlannedFiles {
    pub(crate) files: Vec<LiveFile>,
    pub(crate) overlay: OverlayView,
    pub(crate) report: ScanReport,
    /// Of the columns whose statistics are asked for.
    pub(crate) columns: BTreeMap<i32, ColumnStatistics>,
}

/// The live data files of the pinned snapshot with their deletes, in manifest order.
pub(crate) async fn live_files(table: &Table) -> Result<Vec<(LiveFile, Entry)>> {
    with_deletes(table, table.entries().await?)
}

/// The data files among live entries with the deletes that apply to them, in order.
fn with_deletes(table: &Table, entries: Vec<Entry>) -> Result<Vec<(LiveFile, Entry)>> {
    let (data, deletes): (Vec<Entry>, Vec<Entry>) = entries
        .into_iter()
        .partition(|e| e.data_file.content == DataContent::Data);
    let deletes = DeleteIndex::new(table.document(), table.schema()?, &deletes)?;
    let mut files = Vec::with_capacity(data.len());
    for entry in data {
        files.push((live_file(table, &entry, &deletes)?, entry));
    }
    Ok(files)
}

/// Inheritance leaves no live entry without sequence numbers.
fn sequence(number: Option<i64>, entry: &Entry) -> Result<i64> {
    number.ok_or_else(|| {
        Error::corrupt(format!(
            "data file {} has no sequence number",
            entry.data_file.path
        ))
    })
}

pub(super) fn live_file(
    table: &Table,
    entry: &Entry,
    deletes: &DeleteIndex<'_>,
) -> Result<LiveFile> {
    let file = &entry.data_file;
    let document = table.document();
    let spec = document.spec(file.spec_id).ok_or_else(|| {
        Error::corrupt(format!(
            "data file {} has the unknown partition spec {}",
            file.path, file.spec_id
        ))
    })?;
    let task = FileTask {
        path: file.path.clone(),
        format: file.format.clone(),
        size: file.file_size_in_bytes,
        record_count: file.record_count,
        data_sequence_number: sequence(entry.sequence_number, entry)?,
        row_groups: None,
        row_group_count: file.piece_count(),
        rows: None,
        deletes: deletes.of(entry)?,
        absent_values: file
            .absent_values(spec, deletes.schema())?
            .into_iter()
            .collect(),
        spec_id: file.spec_id,
        partition: file.partition.clone(),
        first_row_id: file.first_row_id,
        place: None,
        change: None,
    };
    let identity = FileIdentity {
        path: identity_path(table.document().location(), &file.path),
        size: task.size,
        record_count: task.record_count,
        data_sequence_number: task.data_sequence_number,
        file_sequence_number: sequence(entry.file_sequence_number, entry)?,
    };
    Ok(LiveFile { task, identity })
}

/// The files of what commits changed that may hold a row for which the predicate is true, and a report of the others.
async fn changes(
    table: &Table,
    range: &SnapshotRange,
    predicate: Option<&Predicate>,
) -> Result<(Vec<(LiveFile, Entry)>, ScanReport)> {
    let schema = table.schema()?;
    let mut files = changed_files(table, range).await?;
    let mut report = ScanReport {
        files_total: files.len() as u64,
        rows_total: files.iter().map(|(f, _)| f.task.record_count).sum(),
        ..ScanReport::default()
    };
    if range.rows == RangeRows::Appended {
        let of = |(file, entry): &(LiveFile, Entry)| {
            Some(AppendedFile {
                snapshot_id: entry.snapshot_id?,
                row_count: file.task.record_count,
            })
        };
        report.appended = files.iter().filter_map(of).collect();
    }
    if let Some(predicate) = predicate {
        files.retain(|(_, entry)| prune::may_match(predicate, &entry.data_file, schema));
        report.files_pruned_by_statistics = report.files_total - files.len() as u64;
    }
    Ok((files, report))
}

/// Plans the files of a request. Searches get every live file: their statistics need them.
pub(crate) async fn plan_files(
    table: &Table,
    request: &ScanRequest,
    predicate: Option<&Predicate>,
) -> Result<PlannedFiles> {
    let (live, mut report) = match &request.range {
        None => {
            let (entries, report) = table.live_entries(predicate).await?;
            (with_deletes(table, entries)?, report)
        }
        Some(range) => changes(table, range, predicate).await?,
    };
    let described: Vec<&DataFile> = live.iter().map(|(_, entry)| &entry.data_file).collect();
    let columns = column_statistics(table.schema()?, &request.statistics, &described);
    let mut files = live.into_iter().map(|(file, _)| file).collect();
    let overlay = if request.use_indexes {
        table.overlay().view().await
    } else {
        OverlayView::default()
    };
    report.warnings.extend(overlay.warnings.iter().cloned());
    if let Some(predicate) = predicate {
        propose(table, &overlay, predicate, &mut files, &mut report).await?;
    }
    Ok(PlannedFiles {
        files,
        overlay,
        report,
        columns,
    })
}

/// A scalar index opened for the files it covers: per live file the segment and its place there.
struct OpenScalar {
    definition: IndexDefinition,
    segments: Vec<(Arc<dyn ScalarIndex>, RowLayout)>,
    /// Per live file: segment and file position in it.
    places: HashMap<usize, (usize, usize)>,
}

/// Restricts each file to the rows that the indexes propose.
async fn propose(
    table: &Table,
    overlay: &OverlayView,
    predicate: &Predicate,
    files: &mut Vec<LiveFile>,
    report: &mut ScanReport,
) -> Result<()> {
    let indexes = open_scalars(table, overlay, predicate, files, report).await?;
    if indexes.is_empty() {
        return Ok(());
    }
    let answers = RefCell::new(BTreeMap::new());
    let mut kept = Vec::with_capacity(files.len());
    for (position, mut file) in files.drain(..).enumerate() {
        if !indexes.iter().any(|i| i.places.contains_key(&position)) {
            report.files_scanned_without_index += 1;
            kept.push(file);
            continue;
        }
        let rows = u32::try_from(file.task.record_count)
            .map_err(|_| Error::unsupported("a data file of 2^32 rows or more"))?;
        let found = bounds::evaluate(predicate, rows, &|leaf| {
            leaf_bounds(&indexes, &answers, position, leaf)
        })?;
        report.rows_proposed += found.maybe.len();
        if found.maybe.is_empty() {
            report.files_pruned_by_index += 1;
            continue;
        }
        if found.maybe.len() * SELECTIVE_SHARE < u64::from(rows) {
            file.task.rows = Some(RowSet(found.maybe));
        }
        kept.push(file);
    }
    *files = kept;
    Ok(())
}

type Answers = RefCell<BTreeMap<(usize, usize, String), Option<Arc<Bounds>>>>;

/// What the index of a leaf's column knows about one file; each segment answers a leaf once.
fn leaf_bounds(
    indexes: &[OpenScalar],
    answers: &Answers,
    file: usize,
    leaf: &Predicate,
) -> Result<Option<Bounds>> {
    let columns = leaf.columns();
    for (number, index) in indexes.iter().enumerate() {
        if !index.definition.columns.iter().all(|c| columns.contains(c)) {
            continue;
        }
        let Some((segment, place)) = index.places.get(&file).copied() else {
            continue;
        };
        let Some((open, layout)) = index.segments.get(segment) else {
            continue;
        };
        let key = (number, segment, format!("{leaf:?}"));
        let known = answers.borrow().get(&key).cloned();
        let whole = match known {
            Some(known) => known,
            None => {
                let answer = open.leaf(leaf)?.map(Arc::new);
                answers.borrow_mut().insert(key, answer.clone());
                answer
            }
        };
        if let Some(whole) = whole {
            return Ok(Some(Bounds {
                sure: layout.extract(place, &whole.sure),
                maybe: layout.extract(place, &whole.maybe),
                false_sure: layout.extract(place, &whole.false_sure),
                nulls: layout.extract(place, &whole.nulls),
            }));
        }
    }
    Ok(None)
}

async fn open_scalars(
    table: &Table,
    overlay: &OverlayView,
    predicate: &Predicate,
    files: &[LiveFile],
    report: &mut ScanReport,
) -> Result<Vec<OpenScalar>> {
    let Some(manifest) = &overlay.manifest else {
        return Ok(Vec::new());
    };
    let used = predicate.columns();
    let identities: Vec<FileIdentity> = files.iter().map(|f| f.identity.clone()).collect();
    let mut indexes = Vec::new();
    for entry in &manifest.indexes {
        let definition = &entry.definition;
        if definition.kind != "bitmap" || !definition.columns.iter().all(|c| used.contains(c)) {
            continue;
        }
        let mut index = OpenScalar {
            definition: definition.clone(),
            segments: Vec::new(),
            places: HashMap::new(),
        };
        for used in manifest.coverage(&definition.name, &identities).segments {
            match open_scalar(table, definition, &used).await {
                Ok((open, layout)) => {
                    let number = index.segments.len();
                    index.segments.push((open, layout));
                    let live = used
                        .live_files
                        .iter()
                        .enumerate()
                        .filter_map(|(place, live)| live.map(|l| (l, (number, place))));
                    index.places.extend(live);
                }
                Err(error) => report.warnings.push(format!(
                    "a segment of index {} is not used: {error}",
                    definition.name
                )),
            }
        }
        report
            .segments
            .insert(definition.name.clone(), index.segments.len() as u64);
        indexes.push(index);
    }
    Ok(indexes)
}

async fn open_scalar(
    table: &Table,
    definition: &IndexDefinition,
    used: &SegmentUse,
) -> Result<(Arc<dyn ScalarIndex>, RowLayout)> {
    let reference = table.overlay().segment_ref(definition, &used.segment)?;
    let layout = RowLayout::new(used.segment.files.iter().map(|f| f.rows))?;
    match open_segment(
        table.environment(),
        table.files().reader(),
        table.files(),
        &reference,
    )
    .await?
    {
        OpenIndex::Scalar(open) => Ok((open, layout)),
        OpenIndex::Vector(_) | OpenIndex::Text(_) => {
            Err(Error::corrupt("the segment is of another kind"))
        }
    }
}

/// Groups files into splits of about the wanted size, at least `min_splits` where there are so many files.
pub(crate) fn group(
    scope: &Arc<SplitScope>,
    files: Vec<FileTask>,
    request: &ScanRequest,
) -> Vec<Split> {
    let total: u64 = files.iter().map(|f| f.size).sum();
    let wanted = u64::try_from(request.min_splits.max(1)).unwrap_or(1);
    let target = request
        .target_split_bytes
        .max(1)
        .min(total.div_ceil(wanted).max(1));
    let mut splits = Vec::new();
    let mut current: Vec<FileTask> = Vec::new();
    let mut bytes = 0;
    for file in files.into_iter().flat_map(|f| f.cut(target)) {
        let weight = file.weight_bytes();
        if !current.is_empty() && bytes + weight > target {
            splits.push(Split {
                scope: Arc::clone(scope),
                files: std::mem::take(&mut current),
                segments: Vec::new(),
            });
            bytes = 0;
        }
        bytes += weight;
        current.push(file);
    }
    if !current.is_empty() {
        splits.push(Split {
            scope: Arc::clone(scope),
            files: current,
            segments: Vec::new(),
        });
    }
    splits
}
