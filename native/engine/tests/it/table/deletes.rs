//! Position deletes: many rows, many files, several row groups, and which data files a delete file applies to.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray as _, Int64Array, RecordBatch};
use arrow::datatypes::{DataType, Field, Int64Type, Schema};
use benostreamdb::iceberg::predicate::reserved;
use benostreamdb::{
    CommitMessage, CommitOperation, CommitRequest, ScanPlan, ScanRequest, Session, Table,
};

use crate::fixture::{docs, docs_table, lines, memory, name, read, reopened, rows};

/// A writer closes a row group after so many rows.
const ROW_GROUP_ROWS: i64 = 256 << 10;

fn numbers(values: impl IntoIterator<Item = i64>) -> RecordBatch {
    let values: ArrayRef = Arc::new(Int64Array::from_iter_values(values));
    let schema = Schema::new(vec![Field::new("id", DataType::Int64, false)]);
    RecordBatch::try_new(Arc::new(schema), vec![values]).unwrap()
}

/// A table of one file for each range.
async fn number_table(session: &Session, files: &[std::ops::Range<i64>]) -> Table {
    let table = session
        .create_table(&name("n"), &numbers([]).schema(), &BTreeMap::new())
        .await
        .unwrap();
    for file in files {
        table.append(&[numbers(file.clone())]).await.unwrap();
    }
    table.refresh().await.unwrap()
}

fn located(columns: Vec<i32>) -> ScanRequest {
    ScanRequest {
        projection: Some(columns),
        ..ScanRequest::default()
    }
}

/// Deletes the rows of the table `n` whose number is chosen, as one commit.
async fn delete(table: &Table, chosen: impl Fn(i64) -> bool) -> Table {
    let found = read(table, &located(vec![1, reserved::FILE, reserved::POS]))
        .await
        .unwrap();
    let ids = found.column(0).as_primitive::<Int64Type>().values();
    let positions = found.column(2).as_primitive::<Int64Type>().values();
    let mut by_file: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for (row, file) in found.column(1).as_string::<i32>().iter().enumerate() {
        if chosen(ids[row]) {
            let dead = by_file.entry(file.unwrap()).or_default();
            dead.push(positions[row] as u64);
        }
    }
    let mut writer = table.writer().unwrap();
    for (file, dead) in by_file {
        writer.delete_rows(file, dead).unwrap();
    }
    let message = writer.finish().await.unwrap();
    commit(table, CommitOperation::RowDelta, message).await
}

async fn commit(table: &Table, operation: CommitOperation, message: CommitMessage) -> Table {
    table
        .commit(&CommitRequest {
            operation,
            messages: vec![message],
            base_snapshot: table.snapshot_id(),
        })
        .await
        .unwrap();
    table.refresh().await.unwrap()
}

async fn ids(table: &Table) -> Vec<i64> {
    let found = read(table, &located(vec![1])).await.unwrap();
    let mut ids = found
        .column(0)
        .as_primitive::<Int64Type>()
        .values()
        .to_vec();
    ids.sort_unstable();
    ids
}

#[tokio::test]
async fn many_deletes_over_files_and_row_groups_take_each_row_once() {
    let (session, _) = memory();
    let end = ROW_GROUP_ROWS + 40_000;
    let table = number_table(
        &session,
        &[0..end, end..end + 9_000, end + 9_000..end + 9_100],
    )
    .await;
    let mut expected: Vec<i64> = (0..end + 9_100).collect();
    let deletes: [&dyn Fn(i64) -> bool; 4] = [
        &|id| id % 3 == 0,
        &|id| id % 5 == 0,
        &|id| (ROW_GROUP_ROWS - 2_500..ROW_GROUP_ROWS + 2_500).contains(&id),
        &|id| id == end + 9_050,
    ];
    let mut table = table;
    for chosen in deletes {
        table = delete(&table, chosen).await;
        expected.retain(|id| !chosen(*id));
        assert_eq!(ids(&table).await, expected);
    }
    let fresh = reopened(&session);
    assert_eq!(ids(&fresh.table(&name("n")).await.unwrap()).await, expected);
}

/// Each row's number and position, one split after the other.
async fn positions(table: &Table, plan: &ScanPlan) -> Vec<Vec<(i64, i64)>> {
    use futures::TryStreamExt as _;
    let mut splits = Vec::new();
    for split in &plan.splits {
        let (_, stream) = split.open(table.environment()).await.unwrap();
        let mut rows = Vec::new();
        for batch in stream.try_collect::<Vec<_>>().await.unwrap() {
            let ids = batch.column(0).as_primitive::<Int64Type>().values();
            let positions = batch.column(1).as_primitive::<Int64Type>().values();
            rows.extend(ids.iter().copied().zip(positions.iter().copied()));
        }
        splits.push(rows);
    }
    splits
}

#[tokio::test]
async fn split_of_a_later_row_group_has_file_positions_and_its_deletes() {
    let (session, _) = memory();
    let end = 2 * ROW_GROUP_ROWS + 30_000;
    let table = number_table(&session, std::slice::from_ref(&(0..end))).await;
    let dead = |id: i64| id % 7 == 0 || id >= end - 1_000;
    for deleted in [false, true] {
        let table = if deleted {
            delete(&table, dead).await
        } else {
            table.clone()
        };
        let request = ScanRequest {
            min_splits: 3,
            ..located(vec![1, reserved::POS])
        };
        let plan = table.plan_scan(&request).await.unwrap();
        let splits = positions(&table, &plan).await;
        assert_eq!(splits.len(), 3);
        for (number, rows) in splits.iter().enumerate() {
            let first = number as i64 * ROW_GROUP_ROWS;
            let last = end.min(first + ROW_GROUP_ROWS);
            let expected: Vec<(i64, i64)> = (first..last)
                .filter(|id| !(deleted && dead(*id)))
                .map(|id| (id, id))
                .collect();
            assert!(*rows == expected, "split {number}, deleted: {deleted}");
        }
    }
}

/// The message of ten new rows, and that of the delete of three of them.
async fn rows_and_their_delete(table: &Table) -> (CommitMessage, CommitMessage) {
    let mut writer = table.writer().unwrap();
    writer.write(&docs(100, 10, 1)).await.unwrap();
    let data = writer.finish().await.unwrap();
    let mut writer = table.writer().unwrap();
    writer
        .delete_rows(&data.data_files[0].path, [0, 4, 9])
        .unwrap();
    let mut deletes = writer.finish().await.unwrap();
    // The file is not in the snapshot yet, which the commit would refuse.
    deletes.referenced_files.clear();
    (data, deletes)
}

#[tokio::test]
async fn delete_older_than_a_data_file_does_not_apply_to_it() {
    let (session, _) = memory();
    let table = docs_table(&session, "t", 1, 5).await;
    let (data, deletes) = rows_and_their_delete(&table).await;
    let table = commit(&table, CommitOperation::RowDelta, deletes).await;
    let table = commit(&table, CommitOperation::Append, data).await;
    assert_eq!(rows(&table).await.len(), 15);
}

#[tokio::test]
async fn delete_of_the_same_commit_applies_to_its_data_file() {
    let (session, _) = memory();
    let table = docs_table(&session, "t", 1, 5).await;
    let (data, deletes) = rows_and_their_delete(&table).await;
    let request = CommitRequest {
        operation: CommitOperation::RowDelta,
        messages: vec![data, deletes],
        base_snapshot: table.snapshot_id(),
    };
    table.commit(&request).await.unwrap();
    let found = read(&table.refresh().await.unwrap(), &located(vec![1]))
        .await
        .unwrap();
    let mut found: Vec<i64> = lines(&found).iter().map(|id| id.parse().unwrap()).collect();
    found.sort_unstable();
    assert_eq!(found, [0, 1, 2, 3, 4, 101, 102, 103, 105, 106, 107, 108]);
}
