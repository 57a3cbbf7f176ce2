//! What vector and text search share inside one split: which rows a filter lets pass, reading a
//! column of many rows, and fetching the final rows.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Float64Array, RecordBatch, UInt32Array};
use arrow::compute::{concat_batches, take_record_batch};
use arrow::datatypes::{Int64Type, SchemaRef};
use futures::TryStreamExt as _;
use roaring::RoaringBitmap;

use super::candidate::{Candidate, Direction, file_ranks};
use crate::error::{Error, Result};
use crate::iceberg::predicate::reserved;
use crate::index::OpenIndex;
use crate::table::{FileRead, FileTask, ReadContext, SegmentRef, Split, open_segment};
use crate::telemetry;

/// One search split being worked on.
pub(super) struct SplitSearch {
    pub(super) context: ReadContext,
    pub(super) split: Split,
    /// Output columns, the value last.
    pub(super) schema: SchemaRef,
}

/// A segment of the split that opened, and the split's files in it.
pub(super) struct Covered {
    pub(super) open: OpenIndex,
    /// File index in the split and first segment row.
    pub(super) files: Vec<(usize, u32)>,
}

impl Covered {
    /// The split's file and physical position of a segment row.
    pub(super) fn locate(&self, tasks: &[FileTask], row: u32) -> Option<(usize, u32)> {
        self.files.iter().find_map(|(file, first)| {
            let position = row.checked_sub(*first)?;
            let rows = tasks.get(*file)?.record_count;
            (u64::from(position) < rows).then_some((*file, position))
        })
    }
}

impl SplitSearch {
    pub(super) fn task(&self, file: usize) -> Result<&FileTask> {
        self.split
            .files
            .get(file)
            .ok_or_else(|| Error::internal("a candidate of a file outside the split"))
    }

    pub(super) fn ranks(&self) -> Vec<usize> {
        file_ranks(&self.split.files)
    }

    fn read(
        &self,
        task: &FileTask,
        columns: Vec<i32>,
        rows: Option<RoaringBitmap>,
        filtered: bool,
    ) -> FileRead {
        let predicate = self
            .split
            .scope
            .predicate
            .clone()
            .filter(|_| filtered)
            .map(Arc::new);
        FileRead {
            task: Arc::new(task.clone()),
            columns: columns.into(),
            predicate,
            rows: rows.map(Arc::new),
            apply_deletes: true,
        }
    }

    /// The segments that open, and the files that must be scanned.
    pub(super) async fn open_segments(&self) -> (Vec<Covered>, Vec<usize>) {
        let mut covered = Vec::new();
        let mut scanned: Vec<usize> = (0..self.split.files.len())
            .filter(|f| self.split.files.get(*f).is_some_and(|t| t.place.is_none()))
            .collect();
        for (number, reference) in self.split.segments.iter().enumerate() {
            let files: Vec<(usize, u32)> = self
                .split
                .files
                .iter()
                .enumerate()
                .filter_map(|(file, task)| {
                    task.place
                        .filter(|p| p.segment_index == number)
                        .map(|p| (file, p.first_row))
                })
                .collect();
            match self.open_one(reference).await {
                Ok(open) => covered.push(Covered { open, files }),
                Err(error) => {
                    telemetry::warn(&format!(
                        "index {} is not used for {} files, they are scanned: {error}",
                        reference.definition.name,
                        files.len()
                    ));
                    scanned.extend(files.into_iter().map(|(file, _)| file));
                }
            }
        }
        (covered, scanned)
    }

    async fn open_one(&self, reference: &SegmentRef) -> Result<OpenIndex> {
        open_segment(
            &self.context.environment,
            self.context.files.reader(),
            &self.context.files,
            reference,
        )
        .await
    }

    /// The segment rows that live, pass the filter and belong to the split's files.
    pub(super) async fn allowed(&self, covered: &Covered) -> Result<RoaringBitmap> {
        let mut allowed = RoaringBitmap::new();
        for (file, first) in &covered.files {
            let passing = self.passing(self.task(*file)?).await?;
            let Some(last) = passing.max() else { continue };
            let end = first.checked_add(last);
            let end = end.ok_or_else(|| Error::corrupt("a segment of more than 2^32 rows"))?;
            if passing.len() == u64::from(last) + 1 {
                allowed.insert_range(*first..=end);
            } else {
                allowed.extend(passing.iter().map(|row| first + row));
            }
        }
        Ok(allowed)
    }

    /// The physical rows of a file that live and pass the filter.
    async fn passing(&self, task: &FileTask) -> Result<RoaringBitmap> {
        if self.split.scope.predicate.is_none() {
            return Ok(self.context.live(task).await?.as_ref().clone());
        }
        let mut rows = RoaringBitmap::new();
        let mut batches = self
            .context
            .read(self.read(task, vec![reserved::POS], None, true))
            .await?;
        while let Some(batch) = batches.try_next().await? {
            rows.extend(positions(&batch, 0)?);
        }
        Ok(rows)
    }

    /// Calls `each` for every passing row of a file: its position and the column's array with an index in it.
    pub(super) async fn scan_column(
        &self,
        file: usize,
        column: i32,
        rows: Option<RoaringBitmap>,
        mut each: impl FnMut(&ArrayRef, usize, u32) -> Result<()> + Send,
    ) -> Result<()> {
        let mut batches = self
            .context
            .read(self.read(self.task(file)?, vec![column, reserved::POS], rows, true))
            .await?;
        while let Some(batch) = batches.try_next().await? {
            let values = column_at(&batch, 0)?;
            for (index, position) in positions(&batch, 1)?.into_iter().enumerate() {
                each(values, index, position)?;
            }
            tokio::task::yield_now().await;
        }
        Ok(())
    }

    /// The rows of the candidates as one output batch, in the candidates' order.
    pub(super) async fn fetch(&self, candidates: &[Candidate]) -> Result<RecordBatch> {
        let plain = self.context_schema()?;
        let mut by_file: BTreeMap<usize, RoaringBitmap> = BTreeMap::new();
        for candidate in candidates {
            by_file
                .entry(candidate.file)
                .or_default()
                .insert(candidate.position);
        }
        let mut parts = Vec::new();
        let mut found: BTreeMap<(usize, u32), u32> = BTreeMap::new();
        let mut count = 0u32;
        for (file, rows) in by_file {
            let mut columns = self.split.scope.projection.clone();
            columns.push(reserved::POS);
            // The rows were chosen from the task already: what an index proposed plays no part here.
            let task = FileTask {
                rows: None,
                ..self.task(file)?.clone()
            };
            let mut batches = self
                .context
                .read(self.read(&task, columns, Some(rows), false))
                .await?;
            while let Some(batch) = batches.try_next().await? {
                for position in positions(&batch, plain.fields().len())? {
                    found.insert((file, position), count);
                    count += 1;
                }
                let kept: Vec<usize> = (0..plain.fields().len()).collect();
                parts.push(batch.project(&kept)?.with_schema(Arc::clone(&plain))?);
            }
        }
        let all = concat_batches(&plain, &parts)?;
        let order = candidates.iter().map(|c| {
            found.get(&(c.file, c.position)).copied().ok_or_else(|| {
                Error::internal(format!("row {} vanished while reading", c.position))
            })
        });
        let order = UInt32Array::from(order.collect::<Result<Vec<u32>>>()?);
        let rows = if plain.fields().is_empty() {
            all
        } else {
            take_record_batch(&all, &order)?
        };
        let mut columns = rows.columns().to_vec();
        columns.push(Arc::new(Float64Array::from(
            candidates.iter().map(|c| c.value).collect::<Vec<_>>(),
        )));
        Ok(RecordBatch::try_new(Arc::clone(&self.schema), columns)?)
    }

    fn context_schema(&self) -> Result<SchemaRef> {
        crate::table::output_schema(&self.context.table_schema, &self.split.scope.projection)
    }

    /// The best `k` in order.
    pub(super) fn best(
        &self,
        mut candidates: Vec<Candidate>,
        k: usize,
        direction: Direction,
    ) -> Vec<Candidate> {
        let ranks = self.ranks();
        candidates.sort_by(|a, b| direction.compare(a, b, &ranks));
        candidates.truncate(k);
        candidates
    }
}

pub(super) fn column_at(batch: &RecordBatch, index: usize) -> Result<&ArrayRef> {
    batch
        .columns()
        .get(index)
        .ok_or_else(|| Error::internal("a batch is too narrow"))
}

fn positions(batch: &RecordBatch, index: usize) -> Result<Vec<u32>> {
    let column = column_at(batch, index)?;
    let array = column
        .as_primitive_opt::<Int64Type>()
        .ok_or_else(|| Error::internal("positions are not of type long"))?;
    array
        .values()
        .iter()
        .map(|p| {
            u32::try_from(*p)
                .map_err(|_| Error::corrupt(format!("row position {p} is out of range")))
        })
        .collect()
}
