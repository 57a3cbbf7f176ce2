//! Runs the plan of a row-level statement into a table writer and publishes what it wrote as one snapshot.

use std::collections::BTreeMap;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::Int64Type;
use datafusion::logical_expr::LogicalPlan;
use futures::StreamExt;
use roaring::RoaringTreemap;

use crate::error::{Error, Result};
use crate::sql::query::Planner;
use crate::sql::result::QueryResult;
use crate::sql::scan::row_id;
use crate::table::{CommitOperation, CommitRequest, Table, TableWriter};

/// What to do with the rows of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChangeKind {
    /// The rows are new.
    Insert,
    /// The rows name rows to delete; a row may be named more than once.
    Delete,
    /// The rows name rows to replace, and hold the new values; a row must be named once.
    Update,
}

/// A planned change.
pub(crate) struct Change {
    pub(super) kind: ChangeKind,
    pub(super) table: Table,
    pub(super) planner: Planner,
    pub(super) plan: LogicalPlan,
}

impl Change {
    /// The planner and the plan, for EXPLAIN.
    pub(crate) fn into_plan(self) -> (Planner, LogicalPlan) {
        (self.planner, self.plan)
    }

    /// Writes, commits and gives the number of changed rows; no snapshot if there is none.
    pub(super) async fn run(self) -> Result<QueryResult> {
        let base_snapshot = self.table.snapshot_id();
        let mut writer = self.table.writer()?;
        let rows = match self.write(&mut writer).await {
            Ok(rows) => rows,
            Err(error) => {
                writer.abort().await;
                return Err(error);
            }
        };
        if rows == 0 {
            writer.abort().await;
            return QueryResult::count(0);
        }
        let operation = match self.kind {
            ChangeKind::Insert => CommitOperation::Append,
            ChangeKind::Delete | ChangeKind::Update => CommitOperation::RowDelta,
        };
        let messages = vec![writer.finish().await?];
        self.table
            .commit(&CommitRequest {
                operation,
                messages,
                base_snapshot,
            })
            .await?;
        QueryResult::count(rows)
    }

    async fn write(&self, writer: &mut TableWriter) -> Result<u64> {
        let mut rows = 0u64;
        let mut deleted = DeletedRows::default();
        let mut batches = self.planner.run(self.plan.clone()).await?.into_batches();
        while let Some(batch) = batches.next().await {
            let batch = batch?;
            match self.kind {
                ChangeKind::Insert => {
                    rows += u64::try_from(batch.num_rows()).unwrap_or(u64::MAX);
                    writer.write(&batch).await?;
                }
                ChangeKind::Delete => {
                    deleted.add(&batch)?;
                }
                ChangeKind::Update => {
                    let repeated = deleted.add(&batch)?;
                    if repeated {
                        let table = self.table.name();
                        return Err(Error::invalid_input(format!(
                            "a row of table {table} would be updated twice"
                        )));
                    }
                    writer.write(&without_row_ids(&batch)?).await?;
                }
            }
        }
        if self.kind == ChangeKind::Insert {
            return Ok(rows);
        }
        for (file, positions) in &deleted.files {
            writer.delete_rows(file, positions.iter())?;
        }
        Ok(deleted.files.values().map(RoaringTreemap::len).sum())
    }
}

/// Rows to delete, by file.
#[derive(Default)]
struct DeletedRows {
    files: BTreeMap<String, RoaringTreemap>,
}

impl DeletedRows {
    /// Adds the rows that a batch names; true if one was there already.
    fn add(&mut self, batch: &RecordBatch) -> Result<bool> {
        let column = |name: &str| {
            batch
                .column_by_name(name)
                .ok_or_else(|| Error::internal("a row-level plan without the rows it means"))
        };
        let files = column(row_id::FILE)?.as_string::<i32>();
        let positions = column(row_id::POSITION)?.as_primitive::<Int64Type>();
        let mut repeated = false;
        for (row, position) in positions.values().iter().enumerate() {
            let position = u64::try_from(*position)
                .map_err(|_| Error::internal(format!("row position {position}")))?;
            let file = files.value(row);
            let rows = match self.files.get_mut(file) {
                Some(rows) => rows,
                None => self.files.entry(file.to_string()).or_default(),
            };
            repeated |= !rows.insert(position);
        }
        debug_assert_eq!(files.len(), batch.num_rows());
        Ok(repeated)
    }
}

/// The new values of an update.
fn without_row_ids(batch: &RecordBatch) -> Result<RecordBatch> {
    let schema = batch.schema();
    let kept: Vec<usize> = schema
        .fields()
        .iter()
        .enumerate()
        .filter(|(_, field)| !row_id::ORDER.contains(&field.name().as_str()))
        .map(|(index, _)| index)
        .collect();
    Ok(batch.project(&kept)?)
}
