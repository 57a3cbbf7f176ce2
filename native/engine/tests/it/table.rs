//! Tables: create, append, read, delete, commit, and what must be refused.

mod crash;
mod deletes;
mod deletion_vectors;
mod equality_deletes;
mod evolution;
mod foreign;
mod metadata;
mod resolution;
mod types_v3;
mod work;

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{Int32Array, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema};
use benostreamdb::storage::testing::{FaultMode, FaultStore, TempFolder};
use benostreamdb::{
    CommitOperation, CommitRequest, CompareOp, ErrorKind, Predicate, Result, ScanRequest, Session,
    SessionOptions, Table, Value,
};
use object_store::memory::InMemory;

use crate::fixture::{
    delete_where, docs, docs_schema, docs_table, equals, id, index, lines, memory, name, over,
    read, rows,
};

fn disk(folder: &TempFolder) -> Session {
    Session::open(&SessionOptions {
        warehouse: Some(folder.path().to_string_lossy().into_owned()),
        ..SessionOptions::default()
    })
    .unwrap()
}

#[tokio::test]
async fn table_written_on_disk_reads_back_every_value() {
    let folder = TempFolder::new().unwrap();
    let session = disk(&folder);
    let table = docs_table(&session, "t", 3, 50).await;
    let expected: Vec<String> = {
        let mut all: Vec<String> = (0..3).flat_map(|f| lines(&docs(f * 50, 50, 7))).collect();
        all.sort();
        all
    };
    assert_eq!(rows(&table).await, expected);
    assert_eq!(
        rows(&disk(&folder).table(&name("t")).await.unwrap()).await,
        expected
    );
}

#[tokio::test]
async fn projection_without_the_filter_column_still_filters() {
    let (session, _) = memory();
    let table = docs_table(&session, "t", 2, 200).await;
    let filter = equals(&table, "kind", Value::String("k5".into()));
    let narrow = ScanRequest {
        projection: Some(vec![id(&table, "id")]),
        conjuncts: vec![filter.clone()],
        ..ScanRequest::default()
    };
    let wide = ScanRequest {
        conjuncts: vec![filter],
        ..ScanRequest::default()
    };
    let narrow = lines(&read(&table, &narrow).await.unwrap());
    let wide: Vec<String> = lines(&read(&table, &wide).await.unwrap())
        .iter()
        .map(|l| l.split('|').next().unwrap().to_string())
        .collect();
    assert!(!narrow.is_empty() && narrow.len() < 400);
    assert_eq!(narrow, wide);
}

#[tokio::test]
async fn empty_projection_keeps_the_row_count() {
    let (session, _) = memory();
    let table = docs_table(&session, "t", 2, 30).await;
    let all = read(
        &table,
        &ScanRequest {
            projection: Some(vec![]),
            ..ScanRequest::default()
        },
    )
    .await
    .unwrap();
    assert_eq!((all.num_rows(), all.num_columns()), (60, 0));
}

#[tokio::test]
async fn delete_of_one_row_in_a_million_writes_one_small_delete_file() {
    let (session, store) = memory();
    let schema = Schema::new(vec![Field::new("id", DataType::Int64, false)]);
    let table = session
        .create_table(&name("big"), &schema, &BTreeMap::new())
        .await
        .unwrap();
    let batch = RecordBatch::try_new(
        Arc::new(schema),
        vec![Arc::new(Int64Array::from_iter_values(0..1_000_000))],
    )
    .unwrap();
    table.append(&[batch]).await.unwrap();
    store.reset();
    let table = table.refresh().await.unwrap();
    let outcome = delete_where(&table, equals(&table, "id", Value::Long(777_777)))
        .await
        .unwrap();
    assert_eq!((outcome.deleted_rows, outcome.added_rows), (1, 0));
    let written: Vec<(String, u64)> = store
        .puts()
        .into_iter()
        .filter(|(path, _)| path.contains("/data/"))
        .collect();
    assert_eq!(written.len(), 1, "{written:?}");
    assert!(written[0].1 < 64 << 10, "{written:?}");
    let left = read(
        &table.refresh().await.unwrap(),
        &ScanRequest {
            projection: Some(vec![]),
            ..ScanRequest::default()
        },
    )
    .await
    .unwrap();
    assert_eq!(left.num_rows(), 999_999);
}

#[tokio::test]
async fn delete_with_bounds_from_and_removes_only_the_range() {
    let (session, _) = memory();
    let table = docs_table(&session, "t", 1, 10).await;
    let bound = |op, value| Predicate::Compare {
        column: id(&table, "id"),
        op,
        value: Value::Long(value),
    };
    delete_where(
        &table,
        Predicate::And(vec![
            bound(CompareOp::GtEq, 2),
            bound(CompareOp::Lt, 5),
            bound(CompareOp::NotEq, 3),
        ]),
    )
    .await
    .unwrap();
    let left = read(
        &table.refresh().await.unwrap(),
        &ScanRequest {
            projection: Some(vec![id(&table, "id")]),
            ..ScanRequest::default()
        },
    )
    .await
    .unwrap();
    assert_eq!(lines(&left), ["0", "1", "3", "5", "6", "7", "8", "9"]);
}

#[tokio::test]
async fn row_delta_on_an_old_base_is_a_conflict_and_appends_are_rebased() {
    let (session, _) = memory();
    let old = docs_table(&session, "t", 1, 20).await;
    old.append(&[docs(100, 5, 1)]).await.unwrap();
    old.append(&[docs(200, 5, 1)]).await.unwrap();
    let error = delete_where(&old, equals(&old, "id", Value::Long(3)))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
    assert!(error.to_string().contains("default.t"), "{error}");
    assert_eq!(rows(&old.refresh().await.unwrap()).await.len(), 30);
}

#[tokio::test]
async fn l3_concurrent_appends_all_land_once() {
    let (session, _) = memory();
    let table = docs_table(&session, "t", 0, 0).await;
    let tasks: Vec<_> = (0..8)
        .map(|n| {
            let table = table.clone();
            tokio::spawn(async move { table.append(&[docs(n * 10, 10, 3)]).await })
        })
        .collect();
    for task in tasks {
        task.await.unwrap().unwrap();
    }
    assert_eq!(rows(&table.refresh().await.unwrap()).await.len(), 80);
}

#[tokio::test]
async fn append_of_bad_rows_is_invalid_input_and_leaves_the_table() {
    let (session, _) = memory();
    let table = docs_table(&session, "t", 1, 10).await;
    let before = rows(&table).await;
    let one = |field: Field, array: arrow::array::ArrayRef| {
        RecordBatch::try_new(Arc::new(Schema::new(vec![field])), vec![array]).unwrap()
    };
    let unknown = one(
        Field::new("nope", DataType::Int64, false),
        Arc::new(Int64Array::from(vec![1])),
    );
    let mistyped = one(
        Field::new("id", DataType::Utf8, false),
        Arc::new(StringArray::from(vec!["x"])),
    );
    let missing = one(
        Field::new("kind", DataType::Utf8, false),
        Arc::new(StringArray::from(vec!["x"])),
    );
    let twice = RecordBatch::try_new(
        Arc::new(Schema::new(vec![
            Field::new("id", DataType::Int32, false),
            Field::new("id", DataType::Int32, false),
        ])),
        vec![
            Arc::new(Int32Array::from(vec![1])),
            Arc::new(Int32Array::from(vec![1])),
        ],
    )
    .unwrap();
    for (batch, named) in [
        (unknown, "nope"),
        (mistyped, "id"),
        (missing, "id"),
        (twice, "id"),
    ] {
        let error = table.append(&[batch]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
        assert!(error.to_string().contains(named), "{error}");
    }
    assert_eq!(rows(&table.refresh().await.unwrap()).await, before);
}

#[tokio::test]
async fn create_with_duplicate_names_is_invalid_input() {
    let (session, _) = memory();
    let schema = Schema::new(vec![
        Field::new("a", DataType::Int64, true),
        Field::new("a", DataType::Utf8, true),
    ]);
    let error = session
        .create_table(&name("t"), &schema, &BTreeMap::new())
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(error.to_string().contains('a'));
    assert_eq!(
        session.table(&name("t")).await.unwrap_err().kind(),
        ErrorKind::NotFound
    );
}

#[tokio::test]
async fn missing_table_is_not_found_and_creates_nothing() {
    let folder = TempFolder::new().unwrap();
    let session = disk(&folder);
    let reference = session
        .table_ref(&format!("{}/nope", folder.path().display()))
        .unwrap();
    let error = session.table(&reference).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.to_string().contains("nope"));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn fixed_size_list_declares_the_dimension_that_every_write_must_have() {
    let (session, _) = memory();
    let item = Arc::new(Field::new("element", DataType::Float32, true));
    let schema = Schema::new(vec![Field::new(
        "v",
        DataType::FixedSizeList(item, 8),
        true,
    )]);
    let table = session
        .create_table(&name("t"), &schema, &BTreeMap::new())
        .await
        .unwrap();
    assert_eq!(table.dimension("v").unwrap(), Some(8));
    let short = RecordBatch::try_from_iter([(
        "v",
        crate::fixture::vectors(3, [Some(vec![1.0, 2.0, 3.0])]),
    )])
    .unwrap();
    let error = table.append(&[short]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(error.to_string().contains("dimension 8"), "{error}");
}

#[tokio::test]
async fn overwrite_replaces_all_rows_in_one_snapshot() {
    let (session, _) = memory();
    let table = docs_table(&session, "t", 2, 10).await;
    delete_where(&table, equals(&table, "id", Value::Long(3)))
        .await
        .unwrap();
    let table = table.refresh().await.unwrap();
    let outcome = table.overwrite(&[docs(500, 4, 1)]).await.unwrap();
    assert_eq!((outcome.added_rows, outcome.deleted_rows), (4, 20));
    assert_eq!(rows(&table.refresh().await.unwrap()).await.len(), 4);
}

#[tokio::test]
async fn l6_drop_removes_the_table_and_leaves_foreign_files() {
    let folder = TempFolder::new().unwrap();
    let session = disk(&folder);
    let table = docs_table(&session, "t", 2, 10).await;
    let foreign = folder.path().join("default/t/data/notes.txt");
    std::fs::write(&foreign, "mine").unwrap();
    table.drop().await.unwrap();
    assert_eq!(
        session.table(&name("t")).await.unwrap_err().kind(),
        ErrorKind::NotFound
    );
    assert!(foreign.exists());
    let left: Vec<_> = std::fs::read_dir(folder.path().join("default/t/data"))
        .unwrap()
        .collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

/// Something that a user does to a table of ten rows, and how many rows there are then.
#[derive(Clone, Copy, Debug)]
enum Change {
    Append,
    Delete,
    Index,
}

impl Change {
    async fn apply(self, table: &Table) -> Result<()> {
        match self {
            Change::Append => table.append(&[docs(10, 10, 1)]).await.map(|_| ()),
            Change::Delete => delete_where(table, equals(table, "id", Value::Long(3)))
                .await
                .map(|_| ()),
            Change::Index => table
                .create_index(&index("bitmap", "kind"))
                .await
                .map(|_| ()),
        }
    }

    fn rows_after(self) -> usize {
        match self {
            Change::Append => 20,
            Change::Delete => 9,
            Change::Index => 10,
        }
    }
}

/// L3 and L8: whatever store operation of a change fails, the table is the old one or the new one, success was said
/// only for the new, and the error names a file of the table.
#[tokio::test]
async fn l3_change_failing_at_every_operation_leaves_old_or_new() {
    for change in [Change::Append, Change::Delete, Change::Index] {
        for mode in [FaultMode::Error, FaultMode::LostAnswer, FaultMode::DiskFull] {
            for operation in 1.. {
                if !fail_once(change, mode, operation).await {
                    assert!(
                        operation > 4,
                        "{change:?} reached the store {operation} times"
                    );
                    break;
                }
            }
        }
    }
}

/// Fails one store operation of a change and checks what is left; false if the change has fewer operations.
async fn fail_once(change: Change, mode: FaultMode, operation: u64) -> bool {
    let store = Arc::new(FaultStore::new(Arc::new(InMemory::new())));
    let table = over(store.clone())
        .create_table(&name("t"), &docs_schema(), &BTreeMap::new())
        .await
        .unwrap();
    table.append(&[docs(0, 10, 1)]).await.unwrap();
    let table = table.refresh().await.unwrap();
    match mode {
        FaultMode::DiskFull => store.fail_from(operation, mode),
        _ => store.fail_at(operation, mode),
    }
    let outcome = change.apply(&table).await;
    let reached = store.operations() >= operation;
    let built = outcome.is_ok();
    store.heal();
    let count = rows(&table.refresh().await.unwrap()).await.len();
    let what = format!("{change:?} with {mode:?} at {operation}");
    match outcome {
        Ok(()) => assert_eq!(count, change.rows_after(), "{what}"),
        Err(error) => {
            match error.kind() {
                ErrorKind::CommitUnknown => {
                    assert!(count == 10 || count == change.rows_after(), "{what}");
                }
                _ => assert_eq!(count, 10, "{what}: {error}"),
            }
            assert!(
                error.to_string().contains("lake/default/t"),
                "{what}: {error}"
            );
        }
    }
    if matches!((change, mode), (Change::Index, FaultMode::Error)) && !built {
        let left = table.refresh().await.unwrap().indexes().await.unwrap();
        assert!(left.is_empty(), "{what}: {left:?}");
    }
    reached
}

#[tokio::test]
async fn l7_path_outside_the_table_is_permission_denied() {
    let folder = TempFolder::new().unwrap();
    let session = disk(&folder);
    let table = docs_table(&session, "t", 1, 10).await;
    let mut writer = table.writer().unwrap();
    writer.write(&docs(50, 3, 1)).await.unwrap();
    let mut message = writer.finish().await.unwrap();
    message.data_files[0].path = "/etc/passwd".to_string();
    let request = CommitRequest {
        operation: CommitOperation::Append,
        messages: vec![message],
        base_snapshot: None,
    };
    let error = table.commit(&request).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PermissionDenied);
    assert!(error.to_string().contains("/etc/passwd"));
}

#[tokio::test]
async fn l7_index_folder_outside_the_table_is_permission_denied() {
    let (session, _) = memory();
    let table = docs_table(&session, "t", 1, 10).await;
    let key = "benostream.overlay.location".to_string();
    for outside in [
        "memory:///lake/default/other/_overlay",
        "memory:///lake/default/t/data",
        "memory:///lake/default/t",
    ] {
        let set = table
            .set_properties(&[(key.clone(), outside.to_string())], &[])
            .await;
        let error = set.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{outside}");
        assert!(error.to_string().contains(outside), "{error}");
    }
    let inside = [(key.clone(), "memory:///lake/default/t/_mine".to_string())];
    let table = table.set_properties(&inside, &[]).await.unwrap();
    assert_eq!(rows(&table).await.len(), 10);
    // Metadata that somebody else wrote.
    let catalog = session.environment().catalog();
    let head = catalog.load(&name("t")).await.unwrap();
    let text = String::from_utf8(head.metadata.to_vec()).unwrap();
    let hostile = text.replace("/t/_mine", "/other/_overlay");
    catalog.swap(&head, hostile.into()).await.unwrap();
    let error = session.table(&name("t")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{error}");
}
