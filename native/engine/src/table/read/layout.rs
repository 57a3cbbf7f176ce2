//! How the batches that a file decodes to become output batches: where each column comes from, and which
//! rows stay. Columns that only filters and equality deletes need are decoded too and dropped again.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, BooleanArray, Int64Array, RecordBatch, RecordBatchOptions, StringArray,
};
use arrow::compute::{and, filter_record_batch};
use arrow::datatypes::{FieldRef, Schema as ArrowSchema, SchemaRef};
use parquet::arrow::arrow_reader::{ArrowPredicateFn, RowFilter};

use super::project::{adapt, relabel};
use super::{FileRead, ReadContext, SEQUENCE, output_field, output_schema};
use crate::error::{Error, Result};
use crate::iceberg::predicate::{Predicate, evaluate, reserved};
use crate::iceberg::schema::field_id;
use crate::iceberg::value::{Value, to_array};
use crate::table::deletes::EqualityDeletes;
use crate::table::file::{OpenFile, POSITIONS};
use crate::table::split::FileTask;

/// What decides about rows beside the predicate.
#[derive(Default)]
pub(super) struct Hidden {
    pub(super) equality: Option<Arc<EqualityDeletes>>,
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
    table_schema: SchemaRef,
    /// Places of the top-level columns of the file to decode.
    roots: BTreeSet<usize>,
    task: Arc<FileTask>,
}

#[derive(Clone)]
enum Source {
    /// Place among the file's top-level columns, the file's field, the field wanted.
    File(usize, FieldRef, FieldRef),
    /// The value of every row, and the field wanted.
    Missing(Option<Value>, FieldRef),
    Path,
    Position,
    Sequence,
}

fn is_reserved(id: i32) -> bool {
    matches!(id, reserved::FILE | reserved::POS | SEQUENCE)
}

impl Layout {
    pub(super) fn new(
        context: &ReadContext,
        read: &FileRead,
        file: &OpenFile,
        hidden: Hidden,
    ) -> Result<Layout> {
        check_field_ids(file.schema())?;
        let task = &read.task;
        let (early, late) = stages(read, file);
        let mut fields = Vec::new();
        for id in read.columns.iter() {
            fields.push(output_field(&context.table_schema, *id)?);
        }
        let mut ids = read.columns.to_vec();
        for id in late.iter().flat_map(|p| p.columns()) {
            if !ids.contains(&id) {
                ids.push(id);
                fields.push(output_field(&context.table_schema, id)?);
            }
        }
        let mut columns = Vec::with_capacity(ids.len());
        for (id, field) in ids.iter().zip(&fields) {
            columns.push(source(*id, field, file.schema(), task));
        }
        let mut equality = None;
        if let Some(deletes) = hidden.equality {
            let mut places = Vec::new();
            for field in deletes.fields() {
                let id = field_id(field)
                    .ok_or_else(|| Error::internal("an equality delete column without id"))?;
                places.push(columns.len());
                columns.push(source(id, field, file.schema(), task));
                fields.push(Arc::clone(field));
            }
            equality = Some((deletes, places));
        }
        Ok(Layout {
            output: output_schema(&context.table_schema, &read.columns)?,
            roots: columns.iter().filter_map(Source::root).collect(),
            columns,
            full: Arc::new(ArrowSchema::new(fields)),
            late,
            early,
            equality,
            table_schema: Arc::clone(&context.table_schema),
            task: Arc::clone(task),
        })
    }

    /// Places of the top-level columns to decode.
    pub(super) fn roots(&self) -> &BTreeSet<usize> {
        &self.roots
    }

    pub(super) fn wants_positions(&self) -> bool {
        self.columns.iter().any(|c| matches!(c, Source::Position))
    }

    /// The predicate as a filter that the decoder applies before it reads the other columns.
    pub(super) fn early_filter(&self, file: &OpenFile) -> Result<Option<RowFilter>> {
        let (Some(predicate), OpenFile::Parquet(parquet)) = (self.early.clone(), file) else {
            return Ok(None);
        };
        let (mut sources, mut fields) = (Vec::new(), Vec::new());
        for id in predicate.columns() {
            let field = output_field(&self.table_schema, id)?;
            sources.push(source(id, &field, file.schema(), &self.task));
            fields.push(field);
        }
        let roots: BTreeSet<usize> = sources.iter().filter_map(Source::root).collect();
        let schema = Arc::new(ArrowSchema::new(fields));
        let mask = parquet.mask(roots.iter().copied());
        let task = Arc::clone(&self.task);
        let function = ArrowPredicateFn::new(mask, move |batch: RecordBatch| {
            let columns = sources
                .iter()
                .map(|source| column(source, &batch, &roots, &task))
                .collect::<Result<Vec<_>>>()?;
            let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
            let batch = RecordBatch::try_new_with_options(Arc::clone(&schema), columns, &options)?;
            Ok(evaluate(&predicate, &batch)?)
        });
        Ok(Some(RowFilter::new(vec![Box::new(function)])))
    }

    /// The output batch of a decoded batch.
    pub(super) fn finish(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let columns = self
            .columns
            .iter()
            .map(|source| column(source, batch, &self.roots, &self.task))
            .collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let full = RecordBatch::try_new_with_options(Arc::clone(&self.full), columns, &options)?;
        let width = self.output.fields().len();
        let head = RecordBatch::try_new_with_options(
            Arc::clone(&self.output),
            full.columns().iter().take(width).cloned().collect(),
            &options,
        )?;
        let keep: BooleanArray = match (&self.late, self.live(&full)?) {
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
    fn live(&self, full: &RecordBatch) -> Result<Option<BooleanArray>> {
        let Some((deletes, places)) = &self.equality else {
            return Ok(None);
        };
        let columns: Vec<ArrayRef> = places
            .iter()
            .filter_map(|place| full.columns().get(*place).cloned())
            .collect();
        deletes.live(&columns).map(Some)
    }
}

/// The predicate before or after the other columns are decoded: before where the file holds all that it names and
/// something else remains to be spared.
fn stages(read: &FileRead, file: &OpenFile) -> (Option<Arc<Predicate>>, Option<Arc<Predicate>>) {
    let Some(predicate) = &read.predicate else {
        return (None, None);
    };
    let used = predicate.columns();
    let covered = read
        .columns
        .iter()
        .all(|id| is_reserved(*id) || used.contains(id));
    let in_file = |id: &i32| {
        let mut fields = file.schema().fields().iter();
        fields.any(|field| field_id(field) == Some(*id))
    };
    let early = file.filters_early() && !covered && !used.is_empty() && used.iter().all(in_file);
    if early {
        (Some(Arc::clone(predicate)), None)
    } else {
        (None, Some(Arc::clone(predicate)))
    }
}

fn check_field_ids(schema: &ArrowSchema) -> Result<()> {
    if schema.fields().is_empty() || schema.fields().iter().any(|f| field_id(f).is_some()) {
        return Ok(());
    }
    Err(Error::unsupported(
        "the data file has no field ids and name mapping is not supported",
    ))
}

impl Source {
    fn root(&self) -> Option<usize> {
        match self {
            Source::File(root, ..) => Some(*root),
            _ => None,
        }
    }
}

fn source(id: i32, field: &FieldRef, file: &ArrowSchema, task: &FileTask) -> Source {
    let has_id = |(_, f): &(usize, &FieldRef)| field_id(f) == Some(id);
    match id {
        reserved::FILE => Source::Path,
        reserved::POS => Source::Position,
        SEQUENCE => Source::Sequence,
        _ => match file.fields().iter().enumerate().find(has_id) {
            Some((root, found)) => Source::File(root, Arc::clone(found), Arc::clone(field)),
            None => {
                let known = task.absent_values.iter().find(|(column, _)| *column == id);
                Source::Missing(
                    known.and_then(|(_, value)| value.clone()),
                    Arc::clone(field),
                )
            }
        },
    }
}

/// One column. `roots` are the file's columns in the batch, in its order.
fn column(
    source: &Source,
    batch: &RecordBatch,
    roots: &BTreeSet<usize>,
    task: &FileTask,
) -> Result<ArrayRef> {
    let rows = batch.num_rows();
    Ok(match source {
        Source::File(root, from, to) => {
            let array = batch
                .columns()
                .get(roots.range(..root).count())
                .ok_or_else(|| {
                    Error::internal(format!("column {} was not decoded", from.name()))
                })?;
            let adapted = adapt(array, from, to, to.name())?;
            if adapted.null_count() > 0 && !to.is_nullable() {
                return Err(Error::corrupt(format!(
                    "required column {} holds NULL",
                    to.name()
                )));
            }
            relabel(&adapted, to.data_type())?
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
            &task.path, rows,
        ))),
        Source::Sequence => Arc::new(Int64Array::from_value(task.data_sequence_number, rows)),
        Source::Position => positions(batch)?,
    })
}

fn positions(batch: &RecordBatch) -> Result<ArrayRef> {
    let (fields, columns) = (batch.schema_ref().fields(), batch.columns());
    match (fields.last(), columns.last()) {
        (Some(field), Some(column)) if field.name() == POSITIONS => Ok(Arc::clone(column)),
        _ => Err(Error::internal("positions were not decoded")),
    }
}
