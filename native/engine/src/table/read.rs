//! Reads one data file of a split: selected physical rows, minus position deletes, projected by
//! field id, filtered exactly by the predicate. Positions are physical whatever was pruned.

use std::collections::BTreeSet;
use std::ops::Range;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, BooleanArray, Int64Array, RecordBatch, RecordBatchOptions, StringArray,
};
use arrow::compute::filter_record_batch;
use arrow::datatypes::{DataType, Field, FieldRef, Schema as ArrowSchema, SchemaRef};
use futures::{Stream, StreamExt as _, TryStreamExt as _};
use parquet::arrow::arrow_reader::{
    ArrowPredicateFn, ArrowReaderMetadata, ArrowReaderOptions, RowFilter, RowSelection, RowSelector,
};
use parquet::arrow::{ParquetRecordBatchStreamBuilder, ProjectionMask, RowNumber};
use parquet::file::metadata::ParquetMetaData;
use roaring::RoaringBitmap;

use super::deletes::DeletedRows;
use super::environment::Environment;
use super::parquet::ParquetFile;
use super::project::{adapt, field_id};
use super::split::FileTask;
use crate::error::{Error, Result};
use crate::iceberg::predicate::{Predicate, evaluate, reserved};
use crate::iceberg::value::{Value, to_array};
use crate::storage::Confined;

/// Rows of a batch: large enough to amortise a call over any boundary, small enough to stay in cache.
pub const BATCH_ROWS: usize = 8_192;

/// The column `_seq`: the data sequence number of a row's file. Above the largest id that Iceberg gives to columns.
pub const SEQUENCE: i32 = 2_147_483_500;

/// A stream of batches, all of one schema.
pub type Batches = Pin<Box<dyn Stream<Item = Result<RecordBatch>> + Send>>;

/// What every read of one split shares.
#[derive(Clone)]
pub(crate) struct ReadContext {
    pub(crate) environment: Environment,
    pub(crate) files: Confined,
    /// All columns of the table's schema.
    pub(crate) table_schema: SchemaRef,
    pub(crate) deletes: Arc<DeletedRows>,
}

/// What to read of one file.
#[derive(Clone)]
pub(crate) struct FileRead {
    pub(crate) task: Arc<FileTask>,
    /// Output columns by field id, reserved ids included.
    pub(crate) columns: Arc<[i32]>,
    pub(crate) predicate: Option<Arc<Predicate>>,
    /// Physical rows to look at, beside what the task says; None: all.
    pub(crate) rows: Option<Arc<RoaringBitmap>>,
    /// False for index builds, which see every physical row.
    pub(crate) apply_deletes: bool,
}

/// The Arrow field of an output column. Errors: InvalidInput for an unknown id.
pub(crate) fn output_field(table_schema: &ArrowSchema, id: i32) -> Result<FieldRef> {
    let reserved = |name: &str, data_type| Ok(Arc::new(Field::new(name, data_type, false)));
    match id {
        reserved::FILE => reserved("_file", DataType::Utf8),
        reserved::POS => reserved("_pos", DataType::Int64),
        SEQUENCE => reserved("_seq", DataType::Int64),
        _ => table_schema
            .fields()
            .iter()
            .find(|f| field_id(f) == Some(id))
            .cloned()
            .ok_or_else(|| {
                Error::invalid_input(format!("the table has no column with field id {id}"))
            }),
    }
}

/// The output schema of a projection.
pub(crate) fn output_schema(table_schema: &ArrowSchema, columns: &[i32]) -> Result<SchemaRef> {
    let fields = columns
        .iter()
        .map(|id| output_field(table_schema, *id))
        .collect::<Result<Vec<_>>>()?;
    Ok(Arc::new(ArrowSchema::new(fields)))
}

fn is_reserved(id: i32) -> bool {
    matches!(id, reserved::FILE | reserved::POS | SEQUENCE)
}

impl ReadContext {
    /// Reads a file as a stream of batches of `output_schema(columns)`. Errors name the file.
    pub(crate) async fn read(&self, read: FileRead) -> Result<Batches> {
        let path = read.task.path.clone();
        let stream = self.open(read).await.map_err(|e| e.with("file", &path))?;
        Ok(Box::pin(stream.map_err(move |e| e.with("file", &path))))
    }

    async fn open(&self, read: FileRead) -> Result<Batches> {
        let location = self.files.resolve(&read.task.path)?;
        let file = ParquetFile::open(
            &self.environment,
            self.files.reader(),
            &location,
            read.task.size,
        )
        .await?;
        let physical = physical_rows(&file.metadata)?;
        if physical != read.task.record_count {
            return Err(Error::corrupt(format!(
                "the data file holds {physical} rows, its manifest says {}",
                read.task.record_count
            )));
        }
        let dead = if read.apply_deletes {
            self.deletes.of(self, &read.task).await?
        } else {
            Arc::new(RoaringBitmap::new())
        };
        let groups = row_groups(&file.metadata, read.task.row_groups)?;
        let Some(selection) = select(&read, &dead, &groups)? else {
            return Ok(Box::pin(futures::stream::empty()));
        };
        self.decode(file, read, groups, selection)
    }

    fn decode(
        &self,
        file: ParquetFile,
        read: FileRead,
        groups: RowGroups,
        selection: Selection,
    ) -> Result<Batches> {
        let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
        let row_number =
            Arc::new(Field::new("_pos", DataType::Int64, false).with_extension_type(RowNumber));
        let plain = ArrowReaderMetadata::try_new(Arc::clone(&file.metadata), options.clone())?;
        check_field_ids(plain.schema())?;
        let layout = Layout::new(self, &read, plain.schema())?;
        let options = if layout.wants_positions {
            options.with_virtual_columns(vec![row_number])?
        } else {
            options
        };
        let metadata = ArrowReaderMetadata::try_new(Arc::clone(&file.metadata), options)?;
        let descriptor = file.metadata.file_metadata().schema_descr_ptr();
        let mask = ProjectionMask::roots(&descriptor, layout.file_roots.iter().copied());
        let mut builder = ParquetRecordBatchStreamBuilder::new_with_metadata(file.reader, metadata)
            .with_batch_size(BATCH_ROWS)
            .with_row_groups(groups.indices)
            .with_projection(mask);
        if let Selection::Rows(rows) = selection {
            builder = builder.with_row_selection(rows);
        }
        if let Some(filter) = layout.early_filter(plain.schema(), &descriptor)? {
            builder = builder.with_row_filter(filter);
        }
        let stream = guarded(builder.build()?);
        let layout = Arc::new(layout);
        Ok(Box::pin(stream.map(move |batch| layout.finish(&batch?))))
    }
}

/// Decoders index into what the file says; on damaged bytes some of them panic, which is Corrupt here.
pub(super) fn guarded<S>(stream: S) -> impl Stream<Item = Result<RecordBatch>> + Send
where
    S: Stream<Item = parquet::errors::Result<RecordBatch>> + Send,
{
    AssertUnwindSafe(stream)
        .catch_unwind()
        .map(|batch| match batch {
            Ok(batch) => Ok(batch?),
            Err(_) => Err(Error::corrupt("the file cannot be decoded")),
        })
}

fn physical_rows(metadata: &ParquetMetaData) -> Result<u64> {
    let rows = metadata.file_metadata().num_rows();
    u64::try_from(rows)
        .ok()
        .filter(|n| *n <= u64::from(u32::MAX))
        .ok_or_else(|| Error::unsupported(format!("a data file of {rows} rows")))
}

fn check_field_ids(schema: &ArrowSchema) -> Result<()> {
    if schema.fields().is_empty() || schema.fields().iter().any(|f| field_id(f).is_some()) {
        return Ok(());
    }
    Err(Error::unsupported(
        "the data file has no field ids and name mapping is not supported",
    ))
}

/// The row groups to read and the physical rows they span.
struct RowGroups {
    indices: Vec<usize>,
    rows: Range<u32>,
}

fn row_groups(metadata: &ParquetMetaData, wanted: Option<(usize, usize)>) -> Result<RowGroups> {
    let (first, end) = wanted.unwrap_or((0, metadata.num_row_groups()));
    let mut start = 0u64;
    let mut rows = 0..0u64;
    for (index, group) in metadata.row_groups().iter().enumerate() {
        let next = start
            + u64::try_from(group.num_rows())
                .map_err(|_| Error::corrupt("row group with a negative row count"))?;
        if index == first {
            rows.start = start;
        }
        if index < end {
            rows.end = next;
        }
        start = next;
    }
    let narrow = |n: u64| {
        u32::try_from(n).map_err(|_| Error::corrupt("row groups hold more rows than their file"))
    };
    Ok(RowGroups {
        indices: (first..end.min(metadata.num_row_groups())).collect(),
        rows: narrow(rows.start)?..narrow(rows.end)?,
    })
}

enum Selection {
    All,
    Rows(RowSelection),
}

/// Which rows of the row groups to decode; None: none at all.
fn select(read: &FileRead, dead: &RoaringBitmap, groups: &RowGroups) -> Result<Option<Selection>> {
    let proposed = read.task.rows.as_ref().map(|r| &r.0);
    if groups.rows.is_empty() {
        return Ok(None);
    }
    if proposed.is_none() && read.rows.is_none() && dead.is_empty() {
        return Ok(Some(Selection::All));
    }
    let mut rows = RoaringBitmap::new();
    rows.insert_range(groups.rows.clone());
    for wanted in [proposed, read.rows.as_deref()].into_iter().flatten() {
        rows &= wanted;
    }
    rows -= dead;
    if rows.is_empty() {
        return Ok(None);
    }
    Ok(Some(Selection::Rows(selectors(&rows, groups.rows.clone()))))
}

fn selectors(rows: &RoaringBitmap, span: Range<u32>) -> RowSelection {
    let mut selectors = Vec::new();
    let mut at = span.start;
    let mut iter = rows.iter();
    while let Some(range) = iter.next_range() {
        let (start, end) = (*range.start(), *range.end());
        if start > at {
            selectors.push(RowSelector::skip((start - at) as usize));
        }
        selectors.push(RowSelector::select((end - start) as usize + 1));
        at = end.saturating_add(1);
    }
    if at < span.end {
        selectors.push(RowSelector::skip((span.end - at) as usize));
    }
    RowSelection::from(selectors)
}

/// How the columns of a decoded batch become output columns.
struct Layout {
    output: SchemaRef,
    columns: Vec<Source>,
    /// Columns that only a late predicate needs, after the output columns.
    full: SchemaRef,
    late: Option<Arc<Predicate>>,
    early: Option<Arc<Predicate>>,
    table_schema: SchemaRef,
    /// Indices of the top-level Parquet columns to read.
    file_roots: BTreeSet<usize>,
    wants_positions: bool,
    path: String,
    sequence: i64,
}

enum Source {
    /// Index in the file's top-level fields, the file's field, the table's field.
    File(usize, FieldRef, FieldRef),
    /// The value of every row, and the table's field.
    Missing(Option<Value>, FieldRef),
    Path,
    Position,
    Sequence,
}

impl Layout {
    fn new(context: &ReadContext, read: &FileRead, file: &SchemaRef) -> Result<Layout> {
        let used = read
            .predicate
            .as_ref()
            .map(|p| p.columns())
            .unwrap_or_default();
        let covered = read
            .columns
            .iter()
            .all(|id| is_reserved(*id) || used.contains(id));
        let in_file = |id: i32| file.fields().iter().any(|f| field_id(f) == Some(id));
        let late = read
            .predicate
            .clone()
            .filter(|_| covered || used.is_empty() || !used.iter().all(|id| in_file(*id)));
        let early = if late.is_some() {
            None
        } else {
            read.predicate.clone()
        };
        let mut ids = read.columns.to_vec();
        if late.is_some() {
            ids.extend(used.iter().filter(|id| !read.columns.contains(id)));
        }
        let mut columns = Vec::with_capacity(ids.len());
        let mut fields = Vec::with_capacity(ids.len());
        for id in &ids {
            let (source, field) =
                source(&context.table_schema, file, &read.task.absent_values, *id)?;
            columns.push(source);
            fields.push(field);
        }
        let file_roots = columns
            .iter()
            .filter_map(|c| {
                if let Source::File(i, ..) = c {
                    Some(*i)
                } else {
                    None
                }
            })
            .collect();
        let output = output_schema(&context.table_schema, &read.columns)?;
        Ok(Layout {
            output,
            wants_positions: columns.iter().any(|c| matches!(c, Source::Position)),
            columns,
            full: Arc::new(ArrowSchema::new(fields)),
            late,
            early,
            table_schema: Arc::clone(&context.table_schema),
            file_roots,
            path: read.task.path.clone(),
            sequence: read.task.data_sequence_number,
        })
    }

    /// The predicate as a filter that the decoder applies before it reads the other columns.
    fn early_filter(
        &self,
        file: &SchemaRef,
        descriptor: &parquet::schema::types::SchemaDescriptor,
    ) -> Result<Option<RowFilter>> {
        let Some(predicate) = self.early.clone() else {
            return Ok(None);
        };
        let mut sources = Vec::new();
        let mut fields = Vec::new();
        for id in predicate.columns() {
            let (source, field) = source(&self.table_schema, file, &[], id)?;
            sources.push(source);
            fields.push(field);
        }
        let roots: Vec<usize> = sources
            .iter()
            .filter_map(|c| {
                if let Source::File(i, ..) = c {
                    Some(*i)
                } else {
                    None
                }
            })
            .collect();
        let schema = Arc::new(ArrowSchema::new(fields));
        let mask = ProjectionMask::roots(descriptor, roots.iter().copied());
        let function = ArrowPredicateFn::new(mask, move |batch: RecordBatch| {
            let columns = sources
                .iter()
                .map(|s| column(s, &batch, "", 0))
                .collect::<Result<Vec<_>>>()?;
            let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
            let batch = RecordBatch::try_new_with_options(Arc::clone(&schema), columns, &options)?;
            Ok(evaluate(&predicate, &batch)?)
        });
        Ok(Some(RowFilter::new(vec![Box::new(function)])))
    }

    /// The output batch of a decoded batch.
    fn finish(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let columns = self
            .columns
            .iter()
            .map(|s| column(s, batch, &self.path, self.sequence))
            .collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let full = RecordBatch::try_new_with_options(Arc::clone(&self.full), columns, &options)?;
        let Some(predicate) = &self.late else {
            return Ok(full);
        };
        let keep: BooleanArray = evaluate(predicate, &full)?;
        let width = self.output.fields().len();
        let head = RecordBatch::try_new_with_options(
            Arc::clone(&self.output),
            full.columns().iter().take(width).cloned().collect(),
            &options,
        )?;
        if keep.true_count() == keep.len() {
            return Ok(head);
        }
        Ok(filter_record_batch(&head, &keep)?)
    }
}

fn source(
    table_schema: &ArrowSchema,
    file: &SchemaRef,
    absent: &[(i32, Option<Value>)],
    id: i32,
) -> Result<(Source, FieldRef)> {
    let field = output_field(table_schema, id)?;
    let source = match id {
        reserved::FILE => Source::Path,
        reserved::POS => Source::Position,
        SEQUENCE => Source::Sequence,
        _ => match file
            .fields()
            .iter()
            .enumerate()
            .find(|(_, f)| field_id(f) == Some(id))
        {
            Some((index, found)) => Source::File(index, Arc::clone(found), Arc::clone(&field)),
            None => {
                let value = absent
                    .iter()
                    .find(|(column, _)| *column == id)
                    .and_then(|(_, value)| value.clone());
                Source::Missing(value, Arc::clone(&field))
            }
        },
    };
    Ok((source, field))
}

/// One output column. Decoded batches hold the chosen top-level columns in file order, found by name position.
fn column(source: &Source, batch: &RecordBatch, path: &str, sequence: i64) -> Result<ArrayRef> {
    let rows = batch.num_rows();
    Ok(match source {
        Source::File(_, from, to) => {
            let wanted = field_id(from);
            let index = batch
                .schema_ref()
                .fields()
                .iter()
                .position(|f| field_id(f) == wanted)
                .ok_or_else(|| {
                    Error::internal(format!("column {} was not decoded", from.name()))
                })?;
            let array = batch
                .columns()
                .get(index)
                .ok_or_else(|| Error::internal("decoded batch is too narrow"))?;
            let adapted = adapt(array, from, to, to.name())?;
            if adapted.null_count() > 0 && !to.is_nullable() {
                return Err(Error::corrupt(format!(
                    "required column {} holds NULL",
                    to.name()
                )));
            }
            super::project::relabel(&adapted, to.data_type())?
        }
        Source::Missing(value, field) if value.is_some() || field.is_nullable() => {
            to_array(value.as_ref(), field.data_type(), rows)?
        }
        Source::Missing(_, field) => {
            return Err(Error::corrupt(format!(
                "required column {} is not in the data file",
                field.name()
            )));
        }
        Source::Path => Arc::new(StringArray::from_iter_values(std::iter::repeat_n(
            path, rows,
        ))),
        Source::Sequence => Arc::new(Int64Array::from_value(sequence, rows)),
        Source::Position => {
            let index = batch
                .schema_ref()
                .fields()
                .iter()
                .rposition(|f| field_id(f).is_none() && f.name() == "_pos");
            let array = index
                .and_then(|i| batch.columns().get(i))
                .ok_or_else(|| Error::internal("row numbers were not decoded"))?;
            Arc::clone(array)
        }
    })
}

/// Reads the files one after another.
pub(crate) fn read_all(context: ReadContext, reads: Vec<FileRead>) -> Batches {
    Box::pin(
        futures::stream::iter(reads)
            .then(move |read| {
                let context = context.clone();
                async move { context.read(read).await }
            })
            .try_flatten(),
    )
}
