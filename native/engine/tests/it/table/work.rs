//! How work is cut and what a commit takes in: file sizes, splits, pieces of an index, messages that are refused.

use std::collections::BTreeMap;

use benostreamdb::{
    CommitMessage, CommitOperation, CommitRequest, ErrorKind, IndexBuildPlan, IndexPiece,
    ScanRequest, SegmentMessage, Table, Value,
};

use crate::fixture::{
    docs, docs_schema, docs_table, equals, index, memory, name, read, rows, sorted,
};

/// Data files, and their sizes but for the last, of a table written in forty batches.
async fn files_written(target: Option<&str>) -> (usize, Vec<u64>) {
    let (session, _) = memory();
    let properties: BTreeMap<String, String> = target
        .map(|bytes| {
            (
                "write.target-file-size-bytes".to_string(),
                bytes.to_string(),
            )
        })
        .into_iter()
        .collect();
    let table = session
        .create_table(&name("t"), &docs_schema(), &properties)
        .await
        .unwrap();
    let mut writer = table.writer().unwrap();
    for batch in 0..40 {
        writer.write(&docs(batch * 100, 100, 3)).await.unwrap();
    }
    let message = writer.finish().await.unwrap();
    let files = &message.data_files;
    assert_eq!(files.iter().map(|f| f.record_count).sum::<u64>(), 4_000);
    let mut sizes: Vec<u64> = files.iter().map(|f| f.file_size_in_bytes).collect();
    let count = sizes.len();
    sizes.pop();
    let request = CommitRequest {
        operation: CommitOperation::Append,
        messages: vec![message],
        base_snapshot: None,
    };
    table.commit(&request).await.unwrap();
    assert_eq!(rows(&table.refresh().await.unwrap()).await.len(), 4_000);
    (count, sizes)
}

#[tokio::test]
async fn writer_starts_a_new_file_at_the_target_size() {
    assert_eq!(files_written(None).await.0, 1);
    assert_eq!(files_written(Some("1")).await.0, 40);
    let (count, sizes) = files_written(Some("40000")).await;
    assert!((3..20).contains(&count), "{count} files");
    // What is buffered counts before it is compressed, so a file may end somewhat smaller.
    assert!(
        sizes.iter().all(|size| (10_000..80_000).contains(size)),
        "{sizes:?}"
    );
}

#[tokio::test]
async fn scan_has_at_least_the_splits_that_were_asked_for() {
    let (session, _) = memory();
    let table = docs_table(&session, "t", 6, 200).await;
    let expected = rows(&table).await;
    for (min_splits, target_split_bytes, allowed) in [
        (1, 128 << 20, 1..=1),
        (0, 128 << 20, 1..=1),
        (3, 128 << 20, 3..=6),
        (6, 128 << 20, 6..=6),
        (50, 128 << 20, 6..=6),
        (1, 1, 6..=6),
    ] {
        let request = ScanRequest {
            min_splits,
            target_split_bytes,
            ..ScanRequest::default()
        };
        let splits = table.plan_scan(&request).await.unwrap().splits.len();
        assert!(
            allowed.contains(&splits),
            "{splits} splits where at least {min_splits} were wanted"
        );
        assert_eq!(sorted(&read(&table, &request).await.unwrap()), expected);
    }
}

async fn built(table: &Table, plan: &IndexBuildPlan) -> Vec<SegmentMessage> {
    let mut messages = Vec::new();
    for piece in &plan.pieces {
        let piece = IndexPiece::from_bytes(&piece.to_bytes().unwrap()).unwrap();
        let message = piece.build(table.environment()).await.unwrap();
        messages.push(SegmentMessage::from_bytes(&message.to_bytes().unwrap()).unwrap());
    }
    messages
}

#[tokio::test]
async fn index_build_is_cut_into_as_many_pieces_as_can_run() {
    let (session, _) = memory();
    let table = docs_table(&session, "t", 6, 50).await;
    let definition = table.resolve_index(&index("bitmap", "kind")).unwrap();
    table.define_index(&definition).await.unwrap();
    for (parallelism, rows) in [
        (0, vec![300]),
        (1, vec![300]),
        (2, vec![150, 150]),
        (3, vec![100; 3]),
        (6, vec![50; 6]),
        (64, vec![50; 6]),
    ] {
        let plan = table
            .plan_index_build("kind_bitmap", parallelism)
            .await
            .unwrap();
        let found: Vec<u64> = plan.pieces.iter().map(IndexPiece::rows).collect();
        assert_eq!(found, rows, "parallelism {parallelism}");
    }
    let request = ScanRequest {
        conjuncts: vec![equals(&table, "kind", Value::String("k5".into()))],
        ..ScanRequest::default()
    };
    let expected = sorted(&read(&table, &request).await.unwrap());
    let plan = table.plan_index_build("kind_bitmap", 3).await.unwrap();
    let messages = built(&table, &plan).await;
    table.commit_index(&messages).await.unwrap();
    let status = table.indexes().await.unwrap();
    assert_eq!(
        (status[0].segment_count, status[0].covered_rows),
        (3, 300),
        "{status:?}"
    );
    assert_eq!(sorted(&read(&table, &request).await.unwrap()), expected);
}

/// A message of three new rows.
async fn message(table: &Table) -> CommitMessage {
    let mut writer = table.writer().unwrap();
    writer.write(&docs(900, 3, 1)).await.unwrap();
    writer.finish().await.unwrap()
}

async fn refused(table: &Table, operation: CommitOperation, message: CommitMessage) -> ErrorKind {
    let before = rows(table).await;
    let request = CommitRequest {
        operation,
        messages: vec![message],
        base_snapshot: table.snapshot_id(),
    };
    let error = table.commit(&request).await.unwrap_err();
    let after = table.refresh().await.unwrap();
    assert_eq!(after.snapshot_id(), table.snapshot_id(), "{error}");
    assert_eq!(rows(&after).await, before, "{error}");
    error.kind()
}

#[tokio::test]
async fn commit_message_with_a_file_outside_the_data_folder_is_permission_denied() {
    let (session, _) = memory();
    let table = docs_table(&session, "t", 1, 10).await;
    for folder in ["metadata", "_overlay", "data-of-others"] {
        let mut message = message(&table).await;
        let path = table.location().join(folder).unwrap();
        message.data_files[0].path = path.join("rows.parquet").unwrap().to_string();
        let kind = refused(&table, CommitOperation::Append, message).await;
        assert_eq!(kind, ErrorKind::PermissionDenied, "{folder}");
    }
    let mut deletes = table.writer().unwrap();
    let path = &message(&table).await.data_files[0].path;
    deletes.delete_rows(path, [0]).unwrap();
    let mut deletes = deletes.finish().await.unwrap();
    deletes.referenced_files.clear();
    let metadata = table.location().join("metadata").unwrap();
    deletes.delete_files[0].path = metadata.join("dead.parquet").unwrap().to_string();
    let kind = refused(&table, CommitOperation::RowDelta, deletes).await;
    assert_eq!(kind, ErrorKind::PermissionDenied);
}

#[tokio::test]
async fn row_delta_on_a_file_that_is_not_in_the_snapshot_is_a_conflict() {
    let (session, _) = memory();
    let table = docs_table(&session, "t", 1, 10).await;
    let mut writer = table.writer().unwrap();
    let absent = message(&table).await.data_files[0].path.clone();
    writer.delete_rows(&absent, [1, 2]).unwrap();
    let message = writer.finish().await.unwrap();
    assert_eq!(message.referenced_files, [absent]);
    let kind = refused(&table, CommitOperation::RowDelta, message).await;
    assert_eq!(kind, ErrorKind::Conflict);
}

#[tokio::test]
async fn commit_message_of_another_table_is_invalid_input() {
    let (session, _) = memory();
    let table = docs_table(&session, "t", 1, 10).await;
    let mut foreign = message(&table).await;
    foreign.table_uuid = docs_table(&session, "other", 0, 0).await.uuid().to_string();
    let kind = refused(&table, CommitOperation::Append, foreign).await;
    assert_eq!(kind, ErrorKind::InvalidInput);
}

#[tokio::test]
async fn segment_message_of_another_table_is_invalid_input() {
    let (session, _) = memory();
    let table = docs_table(&session, "t", 2, 20).await;
    let other = docs_table(&session, "other", 2, 20).await;
    for table in [&table, &other] {
        let definition = table.resolve_index(&index("bitmap", "kind")).unwrap();
        table.define_index(&definition).await.unwrap();
    }
    let before = table.indexes().await.unwrap();
    let plan = other.plan_index_build("kind_bitmap", 1).await.unwrap();
    let messages = built(&other, &plan).await;
    let error = table.commit_index(&messages).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
    assert!(error.to_string().contains(other.uuid()), "{error}");
    assert_eq!(table.indexes().await.unwrap(), before);
    other.commit_index(&messages).await.unwrap();
    assert_eq!(other.indexes().await.unwrap()[0].covered_rows, 40);
}
