//! Deletion vectors and foreign position files: several blobs in a file, what each of them reaches, damage.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray as _, Int64Array, RecordBatch};
use arrow::datatypes::Int64Type;
use benostreamdb::iceberg::manifest::DataFile;
use benostreamdb::iceberg::predicate::reserved;
use benostreamdb::{ErrorKind, Predicate, ScanRequest, Session, Split, Table};

use crate::fixture::{delete_where, memory, name, read, reopened};
use crate::foreign::{commit, deletion_vectors, paths, position_deletes, upgrade};

/// A table of longs with a file for each hundred.
async fn hundreds(session: &Session, files: i64) -> Table {
    let numbers = |first: i64| {
        let values: ArrayRef = Arc::new(Int64Array::from_iter_values(first..first + 100));
        RecordBatch::try_from_iter_with_nullable([("id", values, false)]).unwrap()
    };
    let table = session
        .create_table(&name("t"), &numbers(0).schema(), &BTreeMap::new())
        .await
        .unwrap();
    for file in 0..files {
        table.append(&[numbers(file * 100)]).await.unwrap();
    }
    table.refresh().await.unwrap()
}

/// The numbers that are gone; the others have their position.
async fn gone(table: &Table, files: i64) -> Vec<i64> {
    let request = ScanRequest {
        projection: Some(vec![1, reserved::POS]),
        ..ScanRequest::default()
    };
    let found = read(table, &request).await.unwrap();
    let ids = found.column(0).as_primitive::<Int64Type>().values();
    let positions = found.column(1).as_primitive::<Int64Type>().values();
    for (id, position) in ids.iter().zip(positions) {
        assert_eq!(id % 100, *position);
    }
    (0..files * 100).filter(|id| !ids.contains(id)).collect()
}

#[tokio::test]
async fn r_dv_blobs_of_one_file_each_take_the_rows_of_their_data_file() {
    let (session, store) = memory();
    let table = hundreds(&session, 3).await;
    let paths = paths(&table, 1).await;
    let every: Vec<u64> = (0..100).collect();
    // Positions behind the last row name none.
    let vectors: [(&str, &[u64]); 3] = [
        (&paths[0], &[3, 99, 100, 1 << 40]),
        (&paths[1], &every),
        ("memory:///lake/default/t/data/gone.parquet", &[1]),
    ];
    let vectors = deletion_vectors(&table, "dv.puffin", &vectors).await;
    let blobs = |vectors: &[DataFile]| -> i64 {
        let lengths = vectors.iter().filter_map(|v| v.content_size_in_bytes);
        lengths.sum()
    };
    let wanted = blobs(&vectors[..2]);
    let table = commit(&table, vectors, upgrade).await;
    store.reset();
    let mut expected = vec![3, 99];
    expected.extend(100..200);
    assert_eq!(gone(&table, 3).await, expected);
    assert_eq!(gone(&table, 3).await, expected);
    // Only the blobs that are needed, and once.
    let count = store.reads_of("dv.puffin");
    assert_eq!((count.gets, count.bytes), (2, wanted as u64));
    let fresh = reopened(&session).table(&name("t")).await.unwrap();
    assert_eq!(gone(&fresh, 3).await, expected);
}

#[tokio::test]
async fn r_de8_counts_and_limits_leave_deleted_rows_out() {
    let (session, _) = memory();
    let table = hundreds(&session, 2).await;
    let paths = paths(&table, 1).await;
    let all: Vec<u64> = (1..100).collect();
    let vectors = deletion_vectors(&table, "dv", &[(&paths[0], &all), (&paths[1], &[5])]).await;
    commit(&table, vectors, upgrade).await;
    for (statement, expected) in [
        ("SELECT count(*) FROM t", "100"),
        ("SELECT count(id) FROM t WHERE id < 100", "1"),
        ("SELECT min(id) + max(id) FROM t", "199"),
        ("SELECT count(*) FROM (SELECT id FROM t LIMIT 150) x", "100"),
    ] {
        assert_eq!(
            crate::support::rows(&session, statement).await,
            [expected],
            "{statement}"
        );
    }
}

#[tokio::test]
async fn r_de1_vector_replaces_position_files_and_a_second_one_is_corrupt() {
    let (session, _) = memory();
    let table = hundreds(&session, 2).await;
    let files = paths(&table, 1).await;
    let rows = [
        (Some(files[0].as_str()), Some(1)),
        (Some(files[1].as_str()), Some(1)),
    ];
    let positions = position_deletes(&table, "positions.parquet", &rows).await;
    let table = commit(&table, vec![positions], |_| {}).await;
    assert_eq!(gone(&table, 2).await, [1, 101]);
    let vectors = deletion_vectors(&table, "dv", &[(&files[0], &[2])]).await;
    let table = commit(&table, vectors, upgrade).await;
    assert_eq!(gone(&table, 2).await, [2, 101]);
    let vectors = deletion_vectors(&table, "dv-2", &[(&files[0], &[3])]).await;
    let table = commit(&table, vectors, |_| {}).await;
    let error = read(&table, &ScanRequest::default()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(error.to_string().contains(&files[0]), "{error}");
}

#[tokio::test]
async fn r_dv_vector_that_is_not_what_its_entry_says_is_corrupt_and_named() {
    type Spoil = fn(&mut DataFile);
    let spoils: [(&str, Spoil, ErrorKind); 6] = [
        (
            "cardinality",
            |file| file.record_count += 1,
            ErrorKind::Corrupt,
        ),
        (
            "offset",
            |file| *file.content_offset.as_mut().unwrap() += 1,
            ErrorKind::Corrupt,
        ),
        (
            "length",
            |file| *file.content_size_in_bytes.as_mut().unwrap() -= 1,
            ErrorKind::Corrupt,
        ),
        (
            "end",
            |file| file.content_offset = Some(1 << 40),
            ErrorKind::Corrupt,
        ),
        (
            "overflow",
            |file| file.content_offset = Some(i64::MAX),
            ErrorKind::Corrupt,
        ),
        (
            "size",
            |file| file.content_size_in_bytes = Some(1 << 40),
            ErrorKind::ResourceExhausted,
        ),
    ];
    for (what, spoil, kind) in spoils {
        let (session, _) = memory();
        let table = hundreds(&session, 1).await;
        let paths = paths(&table, 1).await;
        let mut vectors = deletion_vectors(&table, "dv.bin", &[(&paths[0], &[3])]).await;
        spoil(&mut vectors[0]);
        let table = commit(&table, vectors, upgrade).await;
        let error = read(&table, &ScanRequest::default()).await.unwrap_err();
        assert_eq!(error.kind(), kind, "{what}: {error}");
        assert!(error.to_string().contains("dv.bin"), "{what}: {error}");
    }
}

#[tokio::test]
async fn r_de2_foreign_position_files_delete_only_rows_that_exist() {
    let (session, _) = memory();
    let table = hundreds(&session, 2).await;
    let files = paths(&table, 1).await;
    let (first, second) = (files[0].as_str(), files[1].as_str());
    let rows = [
        (Some(second), Some(7)),
        (Some(first), Some(9)),
        (Some(first), Some(2)),
        (Some(first), Some(9)),
        (None, Some(4)),
        (Some(first), None),
        (Some(first), Some(-1)),
        (Some(first), Some(100)),
        (Some(first), Some(i64::MAX)),
        (Some("elsewhere"), Some(0)),
    ];
    let positions = position_deletes(&table, "positions.parquet", &rows).await;
    let table = commit(&table, vec![positions], |_| {}).await;
    assert_eq!(gone(&table, 2).await, [2, 9, 107]);
}

#[tokio::test]
async fn r_de7_delete_file_that_names_no_row_is_corrupt_only_where_its_entry_promises_some() {
    for (promised, count, fails) in [(true, 1, true), (true, 0, false), (false, 1, false)] {
        let (session, _) = memory();
        let table = hundreds(&session, 1).await;
        let files = paths(&table, 1).await;
        let mut positions =
            position_deletes(&table, "positions.parquet", &[(Some("gone"), Some(0))]).await;
        positions.referenced_data_file = promised.then(|| files[0].clone());
        positions.record_count = count;
        let table = commit(&table, vec![positions], |_| {}).await;
        match read(&table, &ScanRequest::default()).await {
            Ok(rows) => assert!(!fails && rows.num_rows() == 100, "{promised} {count}"),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Corrupt);
                assert!(
                    fails && error.to_string().contains("names no row"),
                    "{error}"
                );
            }
        }
    }
}

#[tokio::test]
async fn r_dv_splits_carry_their_vectors_and_changes_of_the_table_are_refused() {
    let (session, _) = memory();
    let table = hundreds(&session, 2).await;
    let files = paths(&table, 1).await;
    let vectors: [(&str, &[u64]); 2] = [(&files[0], &[1, 2]), (&files[1], &[3])];
    let vectors = deletion_vectors(&table, "dv", &vectors).await;
    let table = commit(&table, vectors, upgrade).await;
    let plan = table.plan_scan(&ScanRequest::default()).await.unwrap();
    for split in &plan.splits {
        let back = Split::from_bytes(&split.to_bytes().unwrap()).unwrap();
        assert_eq!(&back, split);
        assert!(back.files.iter().all(|file| file.deletes.len() == 1));
    }
    let error = delete_where(&table, Predicate::IsNull { column: 1 })
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
}
