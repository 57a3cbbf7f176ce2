//! Reads one data file of a split: selected physical rows, minus deletes, projected by field id, filtered
//! exactly by the predicate. Positions are physical whatever was pruned.

mod absent;
mod layout;
mod metadata;
mod project;
mod promote;
mod variant;

use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{FieldRef, Schema as ArrowSchema, SchemaRef};
use futures::{Stream, StreamExt as _, TryStreamExt as _};
use roaring::RoaringBitmap;

use super::deletes::DeletedRows;
use super::environment::Environment;
use super::file::{Decode, OpenFile};
use super::split::FileTask;
use crate::error::{Error, Result};
use crate::iceberg::mapping::{NameMapping, has_ids, ids_by_name, ids_by_place};
use crate::iceberg::predicate::{Predicate, reserved};
use crate::iceberg::schema::{Schema, check_supported, field_id};
use crate::storage::Confined;
use layout::{Hidden, Layout};

pub(super) use project::relabel;
pub(super) use promote::promote;

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
    /// The table's columns, and `_partition` where it is asked for.
    pub(crate) table_schema: SchemaRef,
    pub(crate) deletes: Arc<DeletedRows>,
    schema: Arc<Schema>,
    /// The members of `_partition`, where it is asked for.
    partition: Option<Arc<Schema>>,
    name_mapping: Option<Arc<NameMapping>>,
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

/// The Arrow field of an output column. Errors: InvalidInput for an unknown id, Unsupported for a type that is not
/// read.
pub(crate) fn output_field(table_schema: &ArrowSchema, id: i32) -> Result<FieldRef> {
    let mut fields = table_schema.fields().iter();
    let field = metadata::field(id)
        .or_else(|| fields.find(|f| field_id(f) == Some(id)).cloned())
        .ok_or_else(|| match id {
            reserved::PARTITION => Error::invalid_input("the column _partition was not planned"),
            _ => Error::invalid_input(format!("the table has no column with field id {id}")),
        })?;
    check_supported(&field)?;
    Ok(field)
}

/// The output schema of a projection.
pub(crate) fn output_schema(table_schema: &ArrowSchema, columns: &[i32]) -> Result<SchemaRef> {
    let fields = columns
        .iter()
        .map(|id| output_field(table_schema, *id))
        .collect::<Result<Vec<_>>>()?;
    Ok(Arc::new(ArrowSchema::new(fields)))
}

/// The table's columns, and the column `_partition` with the members given.
pub(crate) fn row_schema(schema: &Schema, partition: Option<&Schema>) -> Result<SchemaRef> {
    let mut columns: Vec<FieldRef> = schema.to_arrow()?.fields().iter().cloned().collect();
    if let Some(partition) = partition {
        columns.push(metadata::partition_field(partition)?);
    }
    Ok(Arc::new(ArrowSchema::new(columns)))
}

impl FileRead {
    /// Whether a column is put out or filtered by.
    fn asks_for(&self, id: i32) -> bool {
        let filtered = |p: &Arc<Predicate>| p.columns().contains(&id);
        self.columns.contains(&id) || self.predicate.as_ref().is_some_and(filtered)
    }
}

impl ReadContext {
    /// A context for tables of this schema. Errors: Corrupt for a damaged name mapping.
    pub(crate) fn new(
        environment: &Environment,
        files: Confined,
        schema: Schema,
        partition: Option<&Schema>,
        name_mapping: Option<&str>,
    ) -> Result<ReadContext> {
        Ok(ReadContext {
            environment: environment.clone(),
            files,
            table_schema: row_schema(&schema, partition)?,
            deletes: Arc::default(),
            schema: Arc::new(schema),
            partition: partition.cloned().map(Arc::new),
            name_mapping: name_mapping
                .map(|text| NameMapping::parse(text).map(Arc::new))
                .transpose()?,
        })
    }

    /// Reads a file as a stream of batches of `output_schema(columns)`. Errors name the file.
    pub(crate) async fn read(&self, read: FileRead) -> Result<Batches> {
        let path = read.task.path.clone();
        let stream = self.open(read).await.map_err(|e| e.with("file", &path))?;
        Ok(Box::pin(stream.map_err(move |e| e.with("file", &path))))
    }

    /// The physical rows of a file that no delete of any kind takes away.
    pub(crate) async fn live(&self, task: &FileTask) -> Result<Arc<RoaringBitmap>> {
        self.deletes.live(self, task).await
    }

    /// A file's columns with the field ids that they have, or that stand for them where the file has none; and
    /// whether it has none.
    fn identified(&self, file: &OpenFile) -> (SchemaRef, bool) {
        let found = file.schema();
        if has_ids(found.fields()) {
            return (Arc::clone(found), false);
        }
        let identified = match (&self.name_mapping, file) {
            (Some(mapping), _) => mapping.apply(found),
            (None, OpenFile::Parquet(_)) => ids_by_place(found, &self.schema),
            (None, OpenFile::Orc(_) | OpenFile::Avro(_)) => ids_by_name(found, &self.schema),
        };
        (Arc::new(identified), true)
    }

    async fn open(&self, read: FileRead) -> Result<Batches> {
        let location = self.files.resolve(&read.task.path)?;
        let store = self.files.reader();
        let task = Arc::clone(&read.task);
        let file =
            OpenFile::open(&self.environment, store, &location, task.size, &task.format).await?;
        let physical = file.rows();
        if physical != task.record_count {
            return Err(Error::corrupt(format!(
                "the data file holds {physical} rows, its manifest says {}",
                task.record_count
            )));
        }
        row_count(&task)?;
        let mut hidden = Hidden::default();
        let mut dead = Arc::new(RoaringBitmap::new());
        if read.apply_deletes {
            dead = self.deletes.of(self, &task).await?;
            hidden.equality = self.deletes.equality(self, &task).await?;
        }
        let span = file.span(task.row_groups)?;
        if read.asks_for(reserved::DELETED) {
            hidden.deleted = Some(std::mem::take(&mut dead));
        }
        let predicate = read.predicate.as_deref();
        let matching = predicate.and_then(|p| file.matching_rows(p, &self.schema));
        let Some(rows) = select(&read, matching.as_ref(), &dead, span)? else {
            return Ok(Box::pin(futures::stream::empty()));
        };
        let layout = Layout::new(self, &read, &file, hidden)?;
        let decode = Decode {
            roots: layout.roots().clone(),
            views: layout.views(&file),
            rows: rows.rows,
            row_groups: task.row_groups,
            positions: layout.wants_positions(),
            filter: layout.early_filter(&file)?,
        };
        let stream = file.stream(decode)?;
        Ok(Box::pin(stream.map(move |batch| layout.finish(&batch?))))
    }
}

/// How many rows the manifest says that a file has. Errors: Unsupported for more than positions are counted to.
fn row_count(task: &FileTask) -> Result<u32> {
    let rows = task.record_count;
    u32::try_from(rows).map_err(|_| Error::unsupported(format!("a data file of {rows} rows")))
}

/// Which rows to decode.
struct Selection {
    /// None: all of the row groups.
    rows: Option<RoaringBitmap>,
}

/// Which rows of the span to decode; None: none at all.
fn select(
    read: &FileRead,
    matching: Option<&RoaringBitmap>,
    dead: &RoaringBitmap,
    span: Range<u64>,
) -> Result<Option<Selection>> {
    let proposed = read.task.rows.as_ref().map(|r| &r.0);
    if span.is_empty() {
        return Ok(None);
    }
    let wanted = [proposed, read.rows.as_deref(), matching];
    if wanted.iter().all(Option::is_none) && dead.is_empty() {
        return Ok(Some(Selection { rows: None }));
    }
    let narrow = |n: u64| {
        u32::try_from(n).map_err(|_| Error::corrupt("row groups hold more rows than their file"))
    };
    let mut rows = RoaringBitmap::new();
    rows.insert_range(narrow(span.start)?..narrow(span.end)?);
    for wanted in wanted.into_iter().flatten() {
        rows &= wanted;
    }
    rows -= dead;
    Ok((!rows.is_empty()).then_some(Selection { rows: Some(rows) }))
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
