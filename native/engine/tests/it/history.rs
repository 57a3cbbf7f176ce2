//! Reading tables as they were, through SQL and the embedded API: snapshots, times, branches and tags.

use std::fs;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int32Array, RecordBatch};
use benostreamdb::table::{CHANGE_ORDINAL, CHANGE_TYPE, COMMIT_SNAPSHOT_ID};
use benostreamdb::{
    AsOf, CommitOperation, CommitRequest, Error, ErrorKind, FileWindow, Metric, NullDistance,
    RangeRows, ScanRequest, SearchMode, SearchRequest, Session, SnapshotRange, Table, TextSearch,
    Value, VectorSearch,
};
use serde_json::{Value as Json, json};

use crate::fixture::{docs, docs_table, equals, id, index, lines, memory as counted, name, read};
use crate::support::{Folder, error, fails, line, rows};

/// 2024-01-01 00:00:00 UTC.
pub(crate) const NEW_YEAR_MS: i64 = 1_704_067_200_000;
const HOUR_MS: i64 = 3_600_000;

/// Writes the next version of a table's metadata as another engine would, changed by `edit`.
pub(crate) fn edit_metadata(folder: &Folder, edit: impl FnOnce(&mut Json)) {
    let newest = folder
        .files(".metadata.json")
        .into_iter()
        .max_by_key(|path| version(path))
        .unwrap();
    let mut metadata: Json = serde_json::from_slice(&fs::read(&newest).unwrap()).unwrap();
    edit(&mut metadata);
    let next = newest.with_file_name(format!("v{}.metadata.json", version(&newest) + 1));
    fs::write(next, metadata.to_string()).unwrap();
}

fn version(path: &std::path::Path) -> u64 {
    let name = path.file_name().unwrap().to_str().unwrap();
    name[1..].split('.').next().unwrap().parse().unwrap()
}

/// Three snapshots of table t: rows 1, then 1 and 2, then 2 alone; afterwards column s is renamed to label and column extra is
/// added, with no snapshot; branch `dev` is at the first snapshot, tag `v1` at the second.
async fn three_snapshots(folder: &Folder) -> Vec<i64> {
    let session = folder.session();
    rows(
        &session,
        "CREATE TABLE t (id int, s text);
         INSERT INTO t VALUES (1, 'a');
         INSERT INTO t VALUES (2, 'b');
         DELETE FROM t WHERE id = 1",
    )
    .await;
    let ids: Vec<i64> = session
        .table(&name("t"))
        .await
        .unwrap()
        .document()
        .snapshots()
        .iter()
        .map(|s| s.snapshot_id)
        .collect();
    let log = ids.clone();
    edit_metadata(folder, |metadata| {
        for (number, id) in ids.iter().enumerate() {
            let time = NEW_YEAR_MS + number as i64 * HOUR_MS;
            metadata["snapshots"][number]["timestamp-ms"] = json!(time);
            metadata["snapshot-log"][number] = json!({"snapshot-id": id, "timestamp-ms": time});
        }
        metadata["refs"]["dev"] = json!({"snapshot-id": ids[0], "type": "branch"});
        metadata["refs"]["v1"] = json!({"snapshot-id": ids[1], "type": "tag"});
        let mut schema = metadata["schemas"][0].clone();
        schema["schema-id"] = json!(1);
        schema["fields"][1]["name"] = json!("label");
        let extra = json!({"id": 3, "name": "extra", "required": false, "type": "int"});
        schema["fields"].as_array_mut().unwrap().push(extra);
        metadata["schemas"].as_array_mut().unwrap().push(schema);
        metadata["current-schema-id"] = json!(1);
        metadata["last-column-id"] = json!(3);
    });
    log
}

#[tokio::test]
async fn r_sc6_every_version_gives_its_rows_under_its_schema() {
    let folder = Folder::new();
    let ids = three_snapshots(&folder).await;
    let session = folder.session();
    assert_eq!(line(&session, "SELECT * FROM t").await, "2|b|NULL");
    let first = ids[0];
    for (version, expected) in [
        (format!("VERSION AS OF {first}"), "1|a"),
        (format!("VERSION AS OF {}", ids[1]), "1|a 2|b"),
        (format!("VERSION AS OF {}", ids[2]), "2|b"),
        ("VERSION AS OF 'v1'".to_string(), "1|a 2|b"),
        // A branch is read with the table's schema, a tag with its snapshot's.
        ("VERSION AS OF 'dev'".to_string(), "1|a|NULL"),
        ("VERSION AS OF 'main'".to_string(), "2|b|NULL"),
        ("TIMESTAMP AS OF '2024-01-01'".to_string(), "1|a"),
        (
            "TIMESTAMP AS OF '2024-01-01 00:59:59.999'".to_string(),
            "1|a",
        ),
        (
            "TIMESTAMP AS OF '2024-01-01T01:00:00Z'".to_string(),
            "1|a 2|b",
        ),
        (
            "TIMESTAMP AS OF '2024-01-01 03:30:00+02:30'".to_string(),
            "1|a 2|b",
        ),
        (
            "TIMESTAMP AS OF TIMESTAMP '2024-01-01 05:00'".to_string(),
            "2|b",
        ),
    ] {
        let text = format!("SELECT * FROM t FOR {version} ORDER BY id");
        assert_eq!(line(&session, &text).await, expected, "{version}");
    }
}

#[tokio::test]
async fn versions_stand_wherever_a_table_is_read() {
    let folder = Folder::new();
    let ids = three_snapshots(&folder).await;
    let session = folder.session();
    let location = folder.path().join("default/t");
    let location = location.to_str().unwrap();
    let (first, second) = (ids[0], ids[1]);
    for (text, expected) in [
        (
            format!("SELECT t.id, t.s FROM t FOR VERSION AS OF {first}"),
            "1|a",
        ),
        (
            format!("SELECT x.id FROM t FOR VERSION AS OF {first} AS x WHERE x.s = 'a'"),
            "1",
        ),
        (
            format!("SELECT x.id FROM t FOR VERSION AS OF {first} x"),
            "1",
        ),
        (
            format!("SELECT x.k FROM t FOR VERSION AS OF {first} AS x (k, v)"),
            "1",
        ),
        (
            format!("SELECT id FROM '{location}' FOR VERSION AS OF {first}"),
            "1",
        ),
        (
            format!("SELECT id FROM \"default\".t FOR VERSION AS OF {first}"),
            "1",
        ),
        (
            format!("SELECT count(*) FROM t FOR VERSION AS OF {second} o JOIN t n ON o.id = n.id"),
            "1",
        ),
        (
            format!(
                "SELECT id FROM t FOR VERSION AS OF {second} EXCEPT SELECT id FROM t FOR VERSION AS OF {first}"
            ),
            "2",
        ),
        (
            format!("SELECT id FROM t WHERE id IN (SELECT id FROM t FOR VERSION AS OF {second})"),
            "2",
        ),
        (
            format!("WITH old AS (SELECT * FROM t FOR VERSION AS OF {first}) SELECT id FROM old"),
            "1",
        ),
        (
            "SELECT at, before, changes FROM (SELECT 1 AS at, 2 AS before, 3 AS changes)".into(),
            "1|2|3",
        ),
        ("SELECT at.id FROM t at".into(), "2"),
    ] {
        assert_eq!(line(&session, &text).await, expected, "{text}");
    }
    let copied = format!(
        "CREATE TABLE c AS SELECT * FROM t FOR VERSION AS OF {first};
         INSERT INTO c SELECT * FROM t FOR VERSION AS OF 'v1' WHERE id = 2;
         DELETE FROM c USING t FOR VERSION AS OF {first} AS o WHERE c.id = o.id;
         SELECT * FROM c"
    );
    assert_eq!(line(&session, &copied).await, "2|b");
}

#[tokio::test]
async fn unknown_versions_are_not_found_and_list_what_there_is() {
    let folder = Folder::new();
    let ids = three_snapshots(&folder).await;
    let session = folder.session();
    let cases = [
        ("t FOR VERSION AS OF 7", ids[0].to_string()),
        ("t FOR VERSION AS OF 'nope'", "branch 'dev'".to_string()),
        ("t FOR VERSION AS OF 'nope'", "tag 'v1'".to_string()),
        (
            "t FOR TIMESTAMP AS OF '2023-12-31'",
            "2024-01-01 00:00:00".to_string(),
        ),
        ("nope FOR VERSION AS OF 7", "nope".to_string()),
    ];
    for (text, named) in cases {
        let error = error(&session, &format!("SELECT * FROM {text}")).await;
        assert_eq!(error.kind(), ErrorKind::NotFound, "{text}: {error}");
        assert!(error.to_string().contains(&named), "{text}: {error}");
    }
    for text in [
        "SELECT * FROM t FOR VERSION AS OF 99999999999999999999",
        "SELECT * FROM t FOR VERSION AS OF 1.5",
        "SELECT * FROM t FOR VERSION AS OF id",
        "SELECT * FROM t FOR TIMESTAMP AS OF 'yesterday'",
        "SELECT * FROM t FOR TIMESTAMP AS OF now()",
        "SELECT * FROM t x FOR VERSION AS OF 1",
    ] {
        fails(&session, text, ErrorKind::InvalidInput).await;
    }
}

#[tokio::test]
async fn what_is_written_has_no_version() {
    let folder = Folder::new();
    let ids = three_snapshots(&folder).await;
    let session = folder.session();
    for text in [
        "INSERT INTO t FOR VERSION AS OF 'dev' VALUES (1, 'a', 1)",
        "DELETE FROM t FOR VERSION AS OF 'dev'",
        "UPDATE t FOR VERSION AS OF 'dev' SET id = 1",
        "TRUNCATE t FOR VERSION AS OF 'dev'",
    ] {
        fails(&session, text, ErrorKind::Unsupported).await;
    }
    let table = session.table(&name("t")).await.unwrap();
    let old = table.as_of(&AsOf::Snapshot(ids[0])).unwrap();
    let unsupported = |outcome: Result<(), Error>| {
        assert_eq!(outcome.unwrap_err().kind(), ErrorKind::Unsupported);
    };
    unsupported(old.writer().map(drop));
    unsupported(old.append(&[]).await.map(drop));
    unsupported(old.set_properties(&[], &[]).await.map(drop));
    unsupported(old.resolve_index(&index("bitmap", "id")).map(drop));
    unsupported(old.drop().await.map(drop));
    assert_eq!(line(&session, "SELECT id FROM t").await, "2");
}

/// The history after a rollback is in the log, not among the parents of the current snapshot.
#[tokio::test]
async fn r_sc6_times_are_looked_up_in_the_log_and_not_in_the_parents() {
    let folder = Folder::new();
    let ids = three_snapshots(&folder).await;
    edit_metadata(&folder, |metadata| {
        metadata["current-snapshot-id"] = json!(ids[0]);
        metadata["refs"]["main"]["snapshot-id"] = json!(ids[0]);
        let entry = json!({"snapshot-id": ids[0], "timestamp-ms": NEW_YEAR_MS + 3 * HOUR_MS});
        metadata["snapshot-log"].as_array_mut().unwrap().push(entry);
    });
    let session = folder.session();
    for (time, expected) in [("01:30", "1|a 2|b"), ("02:30", "2|b"), ("03:30", "1|a")] {
        let text = format!("SELECT * FROM t FOR TIMESTAMP AS OF '2024-01-01 {time}' ORDER BY id");
        assert_eq!(line(&session, &text).await, expected, "{time}");
    }
    let expired = edit_log_to_an_expired_snapshot(&folder).await;
    let error = error(
        &session,
        "SELECT * FROM t FOR TIMESTAMP AS OF '2024-01-01 04:30'",
    )
    .await;
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.to_string().contains(&expired.to_string()), "{error}");
}

async fn edit_log_to_an_expired_snapshot(folder: &Folder) -> i64 {
    let expired = 4_711;
    edit_metadata(folder, |metadata| {
        let entry = json!({"snapshot-id": expired, "timestamp-ms": NEW_YEAR_MS + 4 * HOUR_MS});
        metadata["snapshot-log"].as_array_mut().unwrap().push(entry);
    });
    expired
}

/// The scan and its answer without indexes; whether an index took part.
async fn with_and_without_index(table: &Table, request: &ScanRequest) -> bool {
    let plain = ScanRequest {
        use_indexes: false,
        ..request.clone()
    };
    let (with, without) = (read(table, request).await, read(table, &plain).await);
    let (mut with, mut without) = (lines(&with.unwrap()), lines(&without.unwrap()));
    with.sort();
    without.sort();
    assert_eq!(with, without, "{request:?}");
    let plan = table.plan_scan(request).await.unwrap();
    plan.report.segments.values().sum::<u64>() > 0
}

#[tokio::test]
async fn indexes_answer_old_snapshots_as_scans_do() {
    let (session, _) = counted();
    let table = docs_table(&session, "t", 3, 40).await;
    for (kind, column) in [("bitmap", "kind"), ("bm25", "text"), ("hnsw", "embedding")] {
        table.create_index(&index(kind, column)).await.unwrap();
    }
    let table = table.refresh().await.unwrap();
    let deleted = equals(&table, "kind", Value::String("k4".into()));
    crate::fixture::delete_where(&table, deleted).await.unwrap();
    let table = table.refresh().await.unwrap();
    table.overwrite(&[docs(900, 40, 3)]).await.unwrap();
    let table = table.refresh().await.unwrap();
    table.refresh_index(None).await.unwrap();
    let mut used = 0;
    for snapshot in table.document().snapshots() {
        let old = table.as_of(&AsOf::Snapshot(snapshot.snapshot_id)).unwrap();
        let vector = SearchRequest::Vector(VectorSearch {
            column: id(&old, "embedding"),
            query: vec![0.5; 8],
            k: 200,
            metric: Metric::L2,
            ef: None,
            mode: SearchMode::Balanced,
            nulls: NullDistance::Drop,
        });
        let text = SearchRequest::Text(TextSearch {
            column: id(&old, "text"),
            query: "river fox".into(),
            k: 200,
            all: false,
            analyzer: None,
        });
        for search in [None, Some(vector), Some(text)] {
            for value in ["k4", "k5", " lead"] {
                let request = ScanRequest {
                    conjuncts: vec![equals(&old, "kind", Value::String(value.into()))],
                    search: search.clone(),
                    ..ScanRequest::default()
                };
                used += usize::from(with_and_without_index(&old, &request).await);
            }
        }
    }
    assert!(used >= 30, "indexes took part in {used} of 45 answers");
}

/// An old snapshot is read by its splits in any process.
#[tokio::test]
async fn splits_of_an_old_snapshot_read_it_elsewhere() {
    let folder = Folder::new();
    let ids = three_snapshots(&folder).await;
    let session: Session = folder.session();
    let table = session.table(&name("t")).await.unwrap();
    let old = table.as_of(&AsOf::Snapshot(ids[1])).unwrap();
    assert_eq!(old.snapshot_id(), Some(ids[1]));
    let batch = read(&old, &ScanRequest::default()).await.unwrap();
    let mut found = lines(&batch);
    found.sort();
    assert_eq!(found, ["1|a", "2|b"]);
    assert_eq!(batch.schema().field(1).name(), "s");
}

fn between(start: Option<i64>, end: Option<i64>, what: RangeRows) -> ScanRequest {
    ScanRequest {
        range: Some(SnapshotRange {
            start_exclusive: start,
            end_inclusive: end,
            rows: what,
            window: FileWindow::default(),
        }),
        ..ScanRequest::default()
    }
}

async fn found(table: &Table, request: &ScanRequest) -> Vec<String> {
    let mut lines = lines(&read(table, request).await.unwrap());
    lines.sort();
    lines
}

#[tokio::test]
async fn incremental_scan_gives_what_append_commits_added() {
    let folder = Folder::new();
    let ids = three_snapshots(&folder).await;
    let session = folder.session();
    let table = session.table(&name("t")).await.unwrap();
    let appended = |start, end| between(start, end, RangeRows::Appended);
    for (start, end, expected) in [
        (None, None, vec!["1|a|NULL", "2|b|NULL"]),
        (None, Some(ids[0]), vec!["1|a|NULL"]),
        (Some(ids[0]), None, vec!["2|b|NULL"]),
        (Some(ids[0]), Some(ids[1]), vec!["2|b|NULL"]),
        // A delete appends nothing.
        (Some(ids[1]), Some(ids[2]), vec![]),
        (Some(ids[2]), Some(ids[2]), vec![]),
    ] {
        assert_eq!(
            found(&table, &appended(start, end)).await,
            expected,
            "{start:?} to {end:?}"
        );
    }
    let filtered = ScanRequest {
        conjuncts: vec![equals(&table, "id", Value::Int(2))],
        ..appended(None, None)
    };
    assert_eq!(found(&table, &filtered).await, ["2|b|NULL"]);
    for (start, end, kind) in [
        (Some(ids[1]), Some(ids[0]), ErrorKind::InvalidInput),
        (Some(7), None, ErrorKind::InvalidInput),
        (None, Some(7), ErrorKind::NotFound),
    ] {
        let refused = read(&table, &appended(start, end)).await.unwrap_err();
        assert_eq!(refused.kind(), kind, "{refused}");
    }
}

/// Readers that take few files at a time see each of them once, and know how many a commit added.
#[tokio::test]
async fn parts_of_an_append_are_read_in_the_order_of_its_manifests() {
    let folder = Folder::new();
    let session = folder.session();
    rows(&session, "CREATE TABLE t (id int)").await;
    let mut table = session.table(&name("t")).await.unwrap();
    for commit in 0..2 {
        let mut messages = Vec::new();
        for file in 0..3 {
            let mut writer = table.writer().unwrap();
            let ids = Int32Array::from(vec![10 * commit + file; file as usize + 1]);
            let batch = RecordBatch::try_from_iter([("id", Arc::new(ids) as ArrayRef)]);
            writer.write(&batch.unwrap()).await.unwrap();
            messages.push(writer.finish().await.unwrap());
        }
        let request = CommitRequest {
            operation: CommitOperation::Append,
            messages,
            base_snapshot: table.snapshot_id(),
        };
        table.commit(&request).await.unwrap();
        table = session.table(&name("t")).await.unwrap();
    }
    let part = |skip_first, take_last| {
        let mut request = between(None, None, RangeRows::Appended);
        request.range.as_mut().unwrap().window = FileWindow {
            skip_first,
            take_last,
        };
        request
    };
    let plan = table.plan_scan(&part(0, None)).await.unwrap();
    let appended = plan.report.appended;
    assert_eq!(appended.len(), 6);
    let mut counts: Vec<u64> = appended.iter().map(|file| file.row_count).collect();
    assert_ne!(appended[0].snapshot_id, appended[5].snapshot_id);
    let all = found(&table, &part(0, None)).await;
    for cut in 0..=3 {
        // Up to a place in the second commit, and from a place in the first.
        let head = found(&table, &part(0, Some(cut))).await;
        let wanted: u64 = counts[..3 + cut].iter().sum();
        assert_eq!(head.len() as u64, wanted, "up to {cut}");
        let tail = found(&table, &part(cut, None)).await;
        let wanted: u64 = counts[cut..].iter().sum();
        assert_eq!(tail.len() as u64, wanted, "from {cut}");
        assert!(head.iter().chain(&tail).all(|line| all.contains(line)));
    }
    counts.sort_unstable();
    assert_eq!(counts, [1, 1, 2, 2, 3, 3]);
    for (skip_first, take_last) in [(4, None), (0, Some(4))] {
        let refused = table.plan_scan(&part(skip_first, take_last)).await;
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::InvalidInput);
    }
    let mut changes = part(1, None);
    changes.range.as_mut().unwrap().rows = RangeRows::Changed;
    let refused = table.plan_scan(&changes).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Unsupported, "{refused}");
}

#[tokio::test]
async fn changelog_tells_every_row_that_came_and_went() {
    let folder = Folder::new();
    let ids = three_snapshots(&folder).await;
    let session = folder.session();
    edit_metadata(&folder, |metadata| metadata["current-schema-id"] = json!(0));
    rows(&session, "INSERT INTO t VALUES (3, 'c'), (4, 'd'); DELETE FROM t WHERE id = 3; DELETE FROM t WHERE id = 4").await;
    rows(&session, "TRUNCATE t").await;
    let table = session.table(&name("t")).await.unwrap();
    let all: Vec<i64> = table
        .document()
        .snapshots()
        .iter()
        .map(|s| s.snapshot_id)
        .collect();
    let changes = |start, end| ScanRequest {
        projection: Some(vec![
            CHANGE_ORDINAL,
            CHANGE_TYPE,
            id(&table, "id"),
            COMMIT_SNAPSHOT_ID,
        ]),
        ..between(start, end, RangeRows::Changed)
    };
    let expected = |rows: &[(i32, &str, i32, i64)]| -> Vec<String> {
        rows.iter()
            .map(|(o, t, id, s)| format!("{o}|{t}|{id}|{s}"))
            .collect()
    };
    assert_eq!(
        found(&table, &changes(None, None)).await,
        expected(&[
            (0, "INSERT", 1, all[0]),
            (1, "INSERT", 2, all[1]),
            (2, "DELETE", 1, all[2]),
            (3, "INSERT", 3, all[3]),
            (3, "INSERT", 4, all[3]),
            (4, "DELETE", 3, all[4]),
            (5, "DELETE", 4, all[5]),
            (6, "DELETE", 2, all[6]),
        ])
    );
    assert_eq!(
        found(&table, &changes(Some(ids[0]), Some(ids[2]))).await,
        expected(&[(0, "INSERT", 2, all[1]), (1, "DELETE", 1, all[2])])
    );
    let filtered = ScanRequest {
        conjuncts: vec![equals(&table, "id", Value::Int(3))],
        ..changes(None, None)
    };
    assert_eq!(
        found(&table, &filtered).await,
        expected(&[(3, "INSERT", 3, all[3]), (4, "DELETE", 3, all[4])])
    );
    let plain = ScanRequest {
        range: None,
        ..changes(None, None)
    };
    assert_eq!(
        read(&table, &plain).await.unwrap_err().kind(),
        ErrorKind::InvalidInput
    );
}

/// A commit that rewrites files changes no row.
#[tokio::test]
async fn changelog_passes_over_rewritten_files() {
    let folder = Folder::new();
    let ids = three_snapshots(&folder).await;
    edit_metadata(&folder, |metadata| {
        metadata["snapshots"][1]["summary"]["operation"] = json!("replace");
    });
    let table = folder.session().table(&name("t")).await.unwrap();
    let request = ScanRequest {
        projection: Some(vec![CHANGE_ORDINAL, CHANGE_TYPE, id(&table, "id")]),
        ..between(Some(ids[0]), None, RangeRows::Changed)
    };
    assert_eq!(found(&table, &request).await, ["0|DELETE|1"]);
}
