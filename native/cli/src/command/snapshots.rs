//! `benostreamdb snapshots`.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray, TimestampMillisecondArray};
use benostreamdb::Result;

use super::open_table;
use crate::arguments::TableArguments;
use crate::output;

/// Prints one row a snapshot.
pub(crate) async fn run(arguments: &TableArguments) -> Result<()> {
    let table = open_table(arguments).await?;
    let mut snapshots: Vec<_> = table.document().snapshots().iter().collect();
    snapshots.sort_by_key(|snapshot| (snapshot.timestamp_ms, snapshot.sequence_number));
    let summary = |key: &str| -> ArrayRef {
        Arc::new(StringArray::from_iter(
            snapshots.iter().map(|snapshot| snapshot.summary.get(key)),
        ))
    };
    let times = TimestampMillisecondArray::from_iter_values(
        snapshots.iter().map(|snapshot| snapshot.timestamp_ms),
    );
    let columns: [(&str, ArrayRef); 7] = [
        ("committed_at", Arc::new(times.with_timezone("UTC"))),
        (
            "snapshot_id",
            Arc::new(Int64Array::from_iter_values(
                snapshots.iter().map(|s| s.snapshot_id),
            )),
        ),
        (
            "parent_id",
            Arc::new(Int64Array::from_iter(
                snapshots.iter().map(|s| s.parent_snapshot_id),
            )),
        ),
        ("operation", summary("operation")),
        ("added_records", summary("added-records")),
        ("total_records", summary("total-records")),
        ("total_position_deletes", summary("total-position-deletes")),
    ];
    let columns = columns
        .into_iter()
        .map(|(name, column)| (name, column, true));
    output::print_batch(
        RecordBatch::try_from_iter_with_nullable(columns)?,
        arguments.format,
    )
    .await
}
