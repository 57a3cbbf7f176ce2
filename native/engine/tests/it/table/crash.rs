//! L3: a process killed at any store operation of a write leaves the old rows or the new ones, none doubled,
//! with and without indexes, whatever a later session does with the table.

use std::sync::Arc;

use benostreamdb::iceberg::predicate::reserved;
use benostreamdb::maintain::IndexRequest;
use benostreamdb::storage::testing::{FaultMode, FaultStore};
use benostreamdb::{
    CompareOp, ErrorKind, Metric, NullDistance, Predicate, Result, ScanRequest, SearchMode,
    SearchRequest, Table, TextSearch, Value, VectorSearch,
};
use object_store::memory::InMemory;

use crate::fixture::{delete_where, docs, docs_table, id, index, name, over, read, rows, sorted};

/// What the process does when it is killed.
#[derive(Clone, Copy, Debug)]
enum Work {
    Insert,
    Delete,
    Build,
    Refresh,
}

fn killed_rows(table: &Table) -> Predicate {
    Predicate::Compare {
        column: id(table, "id"),
        op: CompareOp::Lt,
        value: Value::Long(7),
    }
}

fn missing_index(kind: &str, column: &str) -> IndexRequest {
    IndexRequest {
        if_not_exists: true,
        ..index(kind, column)
    }
}

impl Work {
    async fn run(self, table: &Table) -> Result<()> {
        match self {
            Work::Insert => table.append(&[docs(40, 20, 7)]).await.map(|_| ()),
            Work::Delete => delete_where(table, killed_rows(table)).await.map(|_| ()),
            Work::Build => table
                .create_index(&missing_index("bitmap", "score"))
                .await
                .map(|_| ()),
            Work::Refresh => table.refresh_index(None).await.map(|_| ()),
        }
    }
}

/// A table of two files with an index of each kind; for a refresh a third file that no index covers.
async fn prepared(store: &Arc<FaultStore>, work: Work) -> Table {
    let table = docs_table(&over(store.clone()), "t", 2, 20).await;
    for (kind, column) in [("bitmap", "kind"), ("bm25", "text"), ("hnsw", "embedding")] {
        table
            .create_index(&missing_index(kind, column))
            .await
            .unwrap();
    }
    if matches!(work, Work::Refresh) {
        table.append(&[docs(40, 20, 7)]).await.unwrap();
    }
    table.refresh().await.unwrap()
}

/// Scans and searches whose rows an index may propose.
fn queries(table: &Table) -> Vec<ScanRequest> {
    let plain = ScanRequest {
        projection: Some(vec![id(table, "id"), reserved::POS]),
        ..ScanRequest::default()
    };
    let filter = |column: &str, value| Predicate::Compare {
        column: id(table, column),
        op: CompareOp::GtEq,
        value,
    };
    let vector = VectorSearch {
        column: id(table, "embedding"),
        query: vec![0.5; 8],
        k: 200,
        metric: Metric::L2,
        ef: None,
        mode: SearchMode::Balanced,
        nulls: NullDistance::Last,
    };
    let text = TextSearch {
        column: id(table, "text"),
        query: "fox river".into(),
        k: 200,
        all: false,
        analyzer: None,
    };
    vec![
        plain.clone(),
        ScanRequest {
            conjuncts: vec![filter("kind", Value::String("k4".into()))],
            ..plain.clone()
        },
        ScanRequest {
            conjuncts: vec![filter("score", Value::Double(0.0))],
            ..plain.clone()
        },
        ScanRequest {
            search: Some(SearchRequest::Vector(vector)),
            ..plain.clone()
        },
        ScanRequest {
            search: Some(SearchRequest::Text(text)),
            ..plain
        },
    ]
}

/// The rows of a table, the same with and without its indexes.
async fn checked(table: &Table, what: &str) -> Vec<String> {
    for request in queries(table) {
        let scan = ScanRequest {
            use_indexes: false,
            ..request.clone()
        };
        let with = sorted(&read(table, &request).await.unwrap());
        let without = sorted(&read(table, &scan).await.unwrap());
        assert_eq!(with, without, "{what}: {request:?}");
    }
    rows(table).await
}

/// Kills the work at one operation and checks what is left; false if the work has fewer operations.
async fn kill(work: Work, operation: u64) -> bool {
    let store = Arc::new(FaultStore::new(Arc::new(InMemory::new())));
    let table = prepared(&store, work).await;
    let old = rows(&table).await;
    let what = format!("{work:?} killed at {operation}");
    store.fail_from(operation, FaultMode::Error);
    let outcome = work.run(&table).await;
    let reached = store.operations() >= operation;
    store.heal();
    let fresh = over(store.clone()).table(&name("t")).await.unwrap();
    let left = checked(&fresh, &what).await;
    let new = match work {
        Work::Insert => 60,
        Work::Delete => 33,
        Work::Build | Work::Refresh => old.len(),
    };
    assert!(
        left == old || left.len() == new,
        "{what}: {} rows",
        left.len()
    );
    let mut distinct = left.clone();
    distinct.dedup();
    assert_eq!(distinct, left, "{what}: a row twice");
    if outcome.is_ok() {
        assert_eq!(left.len(), new, "{what}: said to be done");
    }
    // A later session does what is not done yet, and brings the indexes up to date.
    if left.len() != new || new == old.len() {
        work.run(&fresh).await.unwrap();
    }
    let fresh = fresh.refresh().await.unwrap();
    fresh.refresh_index(None).await.unwrap();
    assert_eq!(checked(&fresh, &what).await.len(), new, "{what}: at last");
    for status in fresh.indexes().await.unwrap() {
        assert_eq!(status.covered_files, status.total_files, "{what}");
    }
    reached
}

#[tokio::test]
async fn l3_process_killed_at_every_operation_leaves_old_or_new_rows_once() {
    for work in [Work::Insert, Work::Delete, Work::Build, Work::Refresh] {
        let mut operation = 1;
        while kill(work, operation).await {
            operation += 1;
        }
        assert!(
            operation > 4,
            "{work:?} reached the store {operation} times"
        );
    }
}

/// Fills the disk at one operation of the work and checks what is left; false if the work ends before.
async fn fill(work: Work, operation: u64) -> bool {
    let store = Arc::new(FaultStore::new(Arc::new(InMemory::new())));
    let table = prepared(&store, work).await;
    let old = rows(&table).await;
    let what = format!("{work:?} with a disk full at {operation}");
    store.fail_from(operation, FaultMode::DiskFull);
    let outcome = work.run(&table).await;
    let reached = store.operations() >= operation;
    // The disk stays full: reading needs no room.
    let fresh = over(store.clone()).table(&name("t")).await.unwrap();
    let left = checked(&fresh, &what).await;
    match outcome {
        Err(error) => {
            assert_eq!(
                error.kind(),
                ErrorKind::ResourceExhausted,
                "{what}: {error}"
            );
            assert!(error.to_string().contains("/t/"), "{what}: {error}");
            assert_eq!(left, old, "{what}");
        }
        // What follows the publication, such as a hint, may fail without a loss.
        Ok(()) => assert!(left.len() != old.len() || matches!(work, Work::Build | Work::Refresh)),
    }
    store.heal();
    fresh.refresh_index(None).await.unwrap();
    assert_eq!(checked(&fresh, &what).await, left, "{what}: at last");
    reached
}

#[tokio::test]
async fn full_disk_is_resource_exhausted_that_names_the_file_and_loses_nothing() {
    for work in [Work::Insert, Work::Delete, Work::Build, Work::Refresh] {
        let (mut operation, mut refused) = (1, 0);
        while fill(work, operation).await {
            operation += 1;
            refused += 1;
        }
        assert!(refused > 2, "{work:?} met a full disk {refused} times");
    }
}
