//! How the batches that a file decodes to become output batches: where each column comes from, and which
//! rows stay. Columns that only filters and equality deletes need are decoded too and dropped again.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Int64Array, RecordBatch, RecordBatchOptions,
};
use arrow::compute::{and, cast, filter_record_batch};
use arrow::datatypes::{DataType, FieldRef, Int64Type, Schema as ArrowSchema, SchemaRef};
use parquet::arrow::arrow_reader::{ArrowPredicateFn, RowFilter};
use roaring::RoaringBitmap;

use super::absent::Absent;
use super::metadata::{self, BatchRows};
use super::project::{adapt, relabel};
use super::{FileRead, ReadContext, output_field, output_schema};
use crate::error::{Error, Result};
use crate::iceberg::predicate::{Predicate, evaluate, reserved};
use crate::iceberg::schema::{Schema, field_id};
use crate::table::deletes::EqualityDeletes;
use crate::table::file::{OpenFile, POSITIONS};

/// What decides about rows beside the predicate.
#[derive(Default)]
pub(super) struct Hidden {
    pub(super) equality: Option<Arc<EqualityDeletes>>,
    /// Dead rows that are decoded all the same, since `_deleted` is asked for.
    pub(super) deleted: Option<Arc<RoaringBitmap>>,
}

/// How the columns of a decoded batch become output columns.
pub(super) struct Layout {
    output: SchemaRef,
    /// The output columns, then those that only filters and deletes need.
    columns: Vec<Source>,
    full: SchemaRef,
    late: Option<Arc<Predicate>>,
    early: Option<Arc<Predicate>>,
    /// With the places of their columns.
    equality: Option<(Arc<EqualityDeletes>, Vec<usize>)>,
    deleted: Option<Arc<RoaringBitmap>>,
    table_schema: SchemaRef,
    /// Places of the top-level columns of the file to decode.
    roots: BTreeSet<usize>,
    found: Found,
}

/// What is known of the file's columns.
#[derive(Clone)]
struct Found {
    /// With field ids, its own or those that stand for them.
    file: SchemaRef,
    absent: Absent,
    partition: Option<Arc<Schema>>,
}

/// Where a column comes from, and the field wanted.
struct Source {
    field: FieldRef,
    from: Origin,
}

enum Origin {
    /// Place among the file's top-level columns.
    File(usize),
    Absent,
    /// A metadata column by its id; and where the file stores it.
    Metadata(i32, Option<usize>),
}

impl Layout {
    pub(super) fn new(
        context: &ReadContext,
        read: &FileRead,
        file: &OpenFile,
        hidden: Hidden,
    ) -> Result<Layout> {
        let (schema, derived_ids) = context.identified(file);
        let found = Found {
            file: schema,
            absent: Absent {
                schema: Arc::clone(&context.schema),
                task: Arc::clone(&read.task),
                derived_ids,
            },
            partition: context.partition.clone(),
        };
        let (early, late) = found.stages(read, file);
        let mut ids = read.columns.to_vec();
        for id in late.iter().flat_map(|p| p.columns()) {
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
        let mut columns = Vec::with_capacity(ids.len());
        for id in ids {
            columns.push(found.source(id, output_field(&context.table_schema, id)?));
        }
        let mut equality = None;
        if let Some(deletes) = hidden.equality {
            let mut places = Vec::new();
            for field in deletes.fields() {
                let id = field_id(field)
                    .ok_or_else(|| Error::internal("an equality delete column without id"))?;
                places.push(columns.len());
                columns.push(found.source(id, Arc::clone(field)));
            }
            equality = Some((deletes, places));
        }
        let fields: Vec<FieldRef> = columns.iter().map(|c| Arc::clone(&c.field)).collect();
        Ok(Layout {
            output: output_schema(&context.table_schema, &read.columns)?,
            roots: columns.iter().filter_map(Source::root).collect(),
            columns,
            full: Arc::new(ArrowSchema::new(fields)),
            late,
            early,
            equality,
            deleted: hidden.deleted,
            table_schema: Arc::clone(&context.table_schema),
            found,
        })
    }

    /// Places of the top-level columns to decode.
    pub(super) fn roots(&self) -> &BTreeSet<usize> {
        &self.roots
    }

    /// Places of the text columns that the early filter looks at.
    pub(super) fn views(&self, file: &OpenFile) -> BTreeSet<usize> {
        let Some(predicate) = self.early.as_ref().filter(|_| file.filters_early()) else {
            return BTreeSet::new();
        };
        let roots = predicate
            .columns()
            .into_iter()
            .filter_map(|id| self.found.root(id));
        roots.filter(|root| self.found.is_text(*root)).collect()
    }

    pub(super) fn wants_positions(&self) -> bool {
        let needs = |source: &Source| match source.from {
            Origin::Metadata(id, _) => metadata::needs_positions(id),
            _ => false,
        };
        self.columns.iter().any(needs)
    }

    /// The predicate as a filter that the decoder applies before it reads the other columns.
    pub(super) fn early_filter(&self, file: &OpenFile) -> Result<Option<RowFilter>> {
        let (Some(predicate), OpenFile::Parquet(parquet)) = (self.early.clone(), file) else {
            return Ok(None);
        };
        let mut sources = Vec::new();
        for id in predicate.columns() {
            let field = output_field(&self.table_schema, id)?;
            let mut source = self.found.source(id, field);
            let is_text = source.root().is_some_and(|root| self.found.is_text(root));
            if is_text && *source.field.data_type() == DataType::Utf8 {
                let view = source.field.as_ref().clone();
                source.field = Arc::new(view.with_data_type(DataType::Utf8View));
            }
            sources.push(source);
        }
        let roots: BTreeSet<usize> = sources.iter().filter_map(Source::root).collect();
        let fields: Vec<FieldRef> = sources.iter().map(|s| Arc::clone(&s.field)).collect();
        let schema = Arc::new(ArrowSchema::new(fields));
        let mask = parquet.mask(roots.iter().copied());
        let found = self.found.clone();
        let function = ArrowPredicateFn::new(mask, move |batch: RecordBatch| {
            let columns = sources
                .iter()
                .map(|source| found.stored(source, &batch, &roots))
                .collect::<Result<Vec<_>>>()?;
            let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
            let batch = RecordBatch::try_new_with_options(Arc::clone(&schema), columns, &options)?;
            Ok(evaluate(&predicate, &batch)?)
        });
        Ok(Some(RowFilter::new(vec![Box::new(function)])))
    }

    /// The output batch of a decoded batch.
    pub(super) fn finish(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let positions = positions(batch);
        let live = self.live(batch)?;
        let deleted = match (&self.deleted, positions) {
            (Some(dead), Some(positions)) => {
                Some(metadata::deleted(positions, dead, live.as_ref()))
            }
            _ => None,
        };
        let rows = BatchRows {
            task: &self.found.absent.task,
            rows: batch.num_rows(),
            positions,
            deleted: deleted.as_ref(),
        };
        let columns = self
            .columns
            .iter()
            .map(|source| self.column(source, batch, &rows))
            .collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let full = RecordBatch::try_new_with_options(Arc::clone(&self.full), columns, &options)?;
        let width = self.output.fields().len();
        let head = RecordBatch::try_new_with_options(
            Arc::clone(&self.output),
            full.columns().iter().take(width).cloned().collect(),
            &options,
        )?;
        let keep: BooleanArray = match (&self.late, live.filter(|_| deleted.is_none())) {
            (None, None) => return Ok(head),
            (Some(predicate), None) => evaluate(predicate, &full)?,
            (None, Some(live)) => live,
            (Some(predicate), Some(live)) => and(&evaluate(predicate, &full)?, &live)?,
        };
        if keep.true_count() == keep.len() {
            return Ok(head);
        }
        Ok(filter_record_batch(&head, &keep)?)
    }

    /// Which rows no equality delete takes away; None: all.
    fn live(&self, batch: &RecordBatch) -> Result<Option<BooleanArray>> {
        let Some((deletes, places)) = &self.equality else {
            return Ok(None);
        };
        let mut columns = Vec::with_capacity(places.len());
        for source in places.iter().filter_map(|place| self.columns.get(*place)) {
            columns.push(self.found.stored(source, batch, &self.roots)?);
        }
        deletes.live(&columns).map(Some)
    }

    fn column(
        &self,
        source: &Source,
        batch: &RecordBatch,
        rows: &BatchRows<'_>,
    ) -> Result<ArrayRef> {
        let Origin::Metadata(id, root) = source.from else {
            return self.found.stored(source, batch, &self.roots);
        };
        let stored = match root {
            None => None,
            Some(root) => Some(
                self.found
                    .decoded(root, &source.field, batch, &self.roots)?,
            ),
        };
        let partition = self.found.partition.as_deref();
        rows.column(id, &source.field, partition, stored.as_ref())
    }
}

impl Source {
    fn root(&self) -> Option<usize> {
        match self.from {
            Origin::File(root) | Origin::Metadata(_, Some(root)) => Some(root),
            _ => None,
        }
    }
}

impl Found {
    /// The predicate before or after the other columns are decoded: before where the file holds all that it names
    /// and something else remains to be spared.
    fn stages(
        &self,
        read: &FileRead,
        file: &OpenFile,
    ) -> (Option<Arc<Predicate>>, Option<Arc<Predicate>>) {
        let Some(predicate) = &read.predicate else {
            return (None, None);
        };
        let used = predicate.columns();
        let covered = read
            .columns
            .iter()
            .all(|id| metadata::is_metadata(*id) || used.contains(id));
        let in_file = |id: &i32| {
            !metadata::is_metadata(*id) && !self.absent.overrides(*id) && self.root(*id).is_some()
        };
        let early =
            file.filters_early() && !covered && !used.is_empty() && used.iter().all(in_file);
        if early {
            (Some(Arc::clone(predicate)), None)
        } else {
            (None, Some(Arc::clone(predicate)))
        }
    }

    /// Whether the file's column there may be decoded as views.
    fn is_text(&self, root: usize) -> bool {
        let field = self.file.fields().get(root);
        field.is_some_and(|field| *field.data_type() == DataType::Utf8)
    }

    /// The place of the file's top-level column with this id.
    fn root(&self, id: i32) -> Option<usize> {
        let mut fields = self.file.fields().iter();
        fields.position(|field| field_id(field) == Some(id))
    }

    fn source(&self, id: i32, field: FieldRef) -> Source {
        let root = self.root(id);
        let from = if metadata::is_metadata(id) {
            Origin::Metadata(id, root.filter(|_| metadata::is_lineage(id)))
        } else {
            match root {
                // What a file holds for a column of type unknown is no value of it.
                Some(root)
                    if !self.absent.overrides(id) && *field.data_type() != DataType::Null =>
                {
                    Origin::File(root)
                }
                _ => Origin::Absent,
            }
        };
        Source { field, from }
    }

    /// A column that is no metadata. `roots` are the file's columns in the batch, in its order.
    fn stored(
        &self,
        source: &Source,
        batch: &RecordBatch,
        roots: &BTreeSet<usize>,
    ) -> Result<ArrayRef> {
        match source.from {
            Origin::File(root) => self.decoded(root, &source.field, batch, roots),
            Origin::Absent => self.absent.array(&source.field, batch.num_rows(), None),
            Origin::Metadata(id, _) => {
                let name = reserved::name(id).unwrap_or("_seq");
                Err(Error::internal(format!("{name} before rows are decoded")))
            }
        }
    }

    fn decoded(
        &self,
        root: usize,
        to: &FieldRef,
        batch: &RecordBatch,
        roots: &BTreeSet<usize>,
    ) -> Result<ArrayRef> {
        let array = batch.columns().get(roots.range(..root).count());
        let from = self.file.fields().get(root);
        let (Some(array), Some(from)) = (array, from) else {
            let name = to.name();
            return Err(Error::internal(format!("column {name} was not decoded")));
        };
        let adapted = match (array.data_type(), to.data_type()) {
            (DataType::Utf8View, DataType::Utf8View) => Arc::clone(array),
            (DataType::Utf8View, _) => {
                let plain = cast(array, from.data_type())?;
                adapt(&plain, from, to, to.name(), &self.absent)?
            }
            _ => adapt(array, from, to, to.name(), &self.absent)?,
        };
        if adapted.null_count() > 0 && !to.is_nullable() {
            return Err(Error::corrupt(format!(
                "required column {} holds NULL",
                to.name()
            )));
        }
        relabel(&adapted, to.data_type())
    }
}

/// The physical positions of a decoded batch, its last column.
fn positions(batch: &RecordBatch) -> Option<&Int64Array> {
    let field = batch.schema_ref().fields().last()?;
    let column = batch.columns().last()?;
    (field.name() == POSITIONS)
        .then(|| column.as_primitive_opt::<Int64Type>())
        .flatten()
}
