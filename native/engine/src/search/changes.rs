//! The rows of a changelog: those that came or went with a file or by delete files, and behind them what happened.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, Int32Array, Int64Array, RecordBatch, RecordBatchOptions, StringArray,
};
use arrow::datatypes::SchemaRef;
use futures::{StreamExt as _, TryStreamExt as _};

use crate::error::{Error, Result};
use crate::table::{
    Batches, CHANGE_ORDINAL, CHANGE_TYPE, COMMIT_SNAPSHOT_ID, Change, ChangeKind, DeletedRows,
    FileRead, FileTask, ReadContext, SplitScope,
};

/// Reads the changed rows of some files, one after the other.
pub(super) fn read(
    context: ReadContext,
    scope: Arc<SplitScope>,
    schema: SchemaRef,
    tasks: Vec<FileTask>,
) -> Batches {
    let rows = futures::stream::iter(tasks).then(move |task| {
        let (context, scope, schema) = (context.clone(), Arc::clone(&scope), Arc::clone(&schema));
        async move { read_file(&context, &scope, schema, task).await }
    });
    rows.try_flatten().boxed()
}

async fn read_file(
    context: &ReadContext,
    scope: &SplitScope,
    schema: SchemaRef,
    task: FileTask,
) -> Result<Batches> {
    let change = task
        .change
        .clone()
        .ok_or_else(|| Error::invalid_input("a split of changes with a file that has none"))?;
    // Deletes of several snapshots are numbered apart from each other: each file goes by its own.
    let context = of_task(context, &task);
    let rows = match &change.kind {
        ChangeKind::Inserted | ChangeKind::Deleted => None,
        ChangeKind::DeletedSince(before) => {
            let was = FileTask {
                deletes: before.iter().cloned().map(Arc::new).collect(),
                ..task.clone()
            };
            let was_live = of_task(&context, &was).live(&was).await?;
            Some(was_live.as_ref() - context.live(&task).await?.as_ref())
        }
    };
    let columns: Vec<i32> = scope
        .projection
        .iter()
        .copied()
        .filter(|id| !is_change(*id))
        .collect();
    let batches = context
        .read(FileRead {
            apply_deletes: rows.is_none(),
            task: Arc::new(task),
            columns: columns.into(),
            predicate: scope.predicate.clone().map(Arc::new),
            rows: rows.map(Arc::new),
        })
        .await?;
    let projection = scope.projection.clone();
    let batches = batches.map(move |batch| with_change(&batch?, &projection, &schema, &change));
    Ok(batches.boxed())
}

/// The context of one file and its deletes.
fn of_task(context: &ReadContext, task: &FileTask) -> ReadContext {
    let mut context = context.clone();
    context.deletes = Arc::new(DeletedRows::of_files([task]));
    context
}

fn is_change(id: i32) -> bool {
    matches!(id, CHANGE_TYPE | CHANGE_ORDINAL | COMMIT_SNAPSHOT_ID)
}

fn with_change(
    batch: &RecordBatch,
    projection: &[i32],
    schema: &SchemaRef,
    change: &Change,
) -> Result<RecordBatch> {
    let count = batch.num_rows();
    let what = match change.kind {
        ChangeKind::Inserted => "INSERT",
        ChangeKind::Deleted | ChangeKind::DeletedSince(_) => "DELETE",
    };
    let mut read = batch.columns().iter();
    let mut columns: Vec<ArrayRef> = Vec::with_capacity(projection.len());
    for id in projection {
        columns.push(match *id {
            CHANGE_TYPE => Arc::new(StringArray::from_iter_values(std::iter::repeat_n(
                what, count,
            ))),
            CHANGE_ORDINAL => Arc::new(Int32Array::from_value(change.ordinal, count)),
            COMMIT_SNAPSHOT_ID => Arc::new(Int64Array::from_value(change.snapshot_id, count)),
            _ => Arc::clone(
                read.next()
                    .ok_or_else(|| Error::internal("a batch is too narrow"))?,
            ),
        });
    }
    let options = RecordBatchOptions::new().with_row_count(Some(count));
    Ok(RecordBatch::try_new_with_options(
        Arc::clone(schema),
        columns,
        &options,
    )?)
}
