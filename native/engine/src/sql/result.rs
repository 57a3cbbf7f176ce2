//! What a statement answers: rows as a stream, the count of changed rows, or nothing.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use arrow::datatypes::{DataType, Field, Schema as ArrowSchema, SchemaRef};
use futures::TryStreamExt;

use crate::error::{Error, Result};
use crate::table::Batches;

/// The result of one statement.
pub struct QueryResult {
    schema: SchemaRef,
    batches: Batches,
    changed_rows: Option<u64>,
}

impl QueryResult {
    /// Rows that come as they are read.
    pub(crate) fn rows(schema: SchemaRef, batches: Batches) -> QueryResult {
        QueryResult {
            schema,
            batches,
            changed_rows: None,
        }
    }

    /// Rows that are known.
    pub(crate) fn batch(batch: RecordBatch) -> QueryResult {
        let schema = batch.schema();
        QueryResult::rows(
            schema,
            Box::pin(futures::stream::once(async move { Ok(batch) })),
        )
    }

    /// Columns that are known.
    pub(crate) fn columns<const N: usize>(columns: [(&str, ArrayRef); N]) -> Result<QueryResult> {
        Ok(QueryResult::batch(RecordBatch::try_from_iter(columns)?))
    }

    /// One row `count`.
    pub(crate) fn count(rows: u64) -> Result<QueryResult> {
        let schema = Arc::new(ArrowSchema::new(vec![Field::new(
            "count",
            DataType::Int64,
            false,
        )]));
        let count =
            i64::try_from(rows).map_err(|_| Error::internal(format!("{rows} changed rows")))?;
        let column: ArrayRef = Arc::new(Int64Array::from(vec![count]));
        let mut result = QueryResult::batch(RecordBatch::try_new(schema, vec![column])?);
        result.changed_rows = Some(rows);
        Ok(result)
    }

    /// No columns and no rows.
    pub(crate) fn nothing() -> QueryResult {
        QueryResult::rows(
            Arc::new(ArrowSchema::empty()),
            Box::pin(futures::stream::empty()),
        )
    }

    /// The columns; none for a statement that only does something.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// How many rows a statement changed; None for a query.
    pub fn changed_rows(&self) -> Option<u64> {
        self.changed_rows
    }

    /// The rows, all batches of `schema`; dropping the stream stops the query.
    pub fn into_batches(self) -> Batches {
        self.batches
    }

    /// All rows at once.
    pub async fn collect(self) -> Result<Vec<RecordBatch>> {
        self.batches.try_collect().await
    }
}
