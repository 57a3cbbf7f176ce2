//! Tables in S3, on a real server: the same statements give the same answers as on the local disk, large files go
//! up in parts, and no secret is in anything that leaves the session.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{AsArray, Int64Array, RecordBatch};
use arrow::datatypes::{DataType, Field, Int64Type, Schema};
use benostreamdb::storage::testing::{Gateway, SECRET, TempFolder};
use benostreamdb::{ErrorKind, ScanRequest, Session, SessionOptions};

use crate::fixture::{Random, docs_table, name, read, rows as table_rows};
use crate::support::{error, rows, try_rows};

/// The server of this process; none where it is not installed.
fn gateway() -> Option<Arc<Gateway>> {
    match Gateway::shared() {
        Ok(gateway) => Some(gateway),
        Err(error) => {
            println!("skipped: {error}");
            None
        }
    }
}

fn session(gateway: &Gateway, warehouse: &str) -> Session {
    let options = SessionOptions {
        warehouse: Some(warehouse.to_string()),
        options: gateway.options(),
        ..SessionOptions::default()
    };
    assert!(!format!("{options:?}").contains(SECRET));
    Session::open(&options).unwrap()
}

/// A life of two tables, statement by statement.
const STATEMENTS: [&str; 30] = [
    "CREATE TABLE d (id bigint, kind text, body text, v vector(2))",
    "INSERT INTO d VALUES (1,'a','quick brown fox','[0,0]'), (2,'b','lazy dog','[1,0]'),
        (3,'a','quick quick dog','[2,0]'), (4,NULL,NULL,NULL)",
    "INSERT INTO d SELECT x, 'c', 'word number ' || x, ARRAY[x, 1]
        FROM (SELECT value AS x FROM generate_series(5, 400)) s",
    "SELECT count(*), sum(id) FROM d",
    "SELECT id, kind FROM d WHERE kind = 'a' ORDER BY id",
    "CREATE INDEX ON d USING bitmap (kind)",
    "CREATE INDEX ON d USING bm25 (body)",
    "CREATE INDEX ON d USING hnsw (v)",
    "SELECT id FROM bm25_search('d', 'body', 'quick', 5)",
    "SELECT id, _distance FROM vector_search('d', 'v', '[1.9,0]', 3)",
    "SELECT id FROM d ORDER BY v <-> '[7,1]' LIMIT 2",
    "DELETE FROM d WHERE id % 3 = 0",
    "UPDATE d SET body = 'quick update', kind = 'u' WHERE id = 10",
    "INSERT INTO d VALUES (500, 'new', 'a late fox', '[1.9,0]')",
    "SELECT count(*), sum(id) FROM d",
    "SELECT id FROM d WHERE kind IN ('a', 'u', 'new') ORDER BY id",
    "SELECT id FROM bm25_search('d', 'body', 'quick fox', 5)",
    "SELECT id, _distance FROM vector_search('d', 'v', '[1.9,0]', 3)",
    "CALL system.refresh_index(table => 'd')",
    "SELECT id, _distance FROM vector_search('d', 'v', '[1.9,0]', 3)",
    "SELECT id FROM bm25_search('d', 'body', 'quick fox', 5)",
    "DROP INDEX d_bitmap_gone ON d",
    "CREATE TABLE e AS SELECT id, kind FROM d WHERE id < 20",
    "SELECT kind, count(*) FROM e GROUP BY kind ORDER BY kind",
    "TRUNCATE e",
    "SELECT count(*) FROM e",
    "DROP TABLE e",
    "SELECT * FROM e",
    "DROP TABLE d",
    "SELECT * FROM d",
];

#[tokio::test]
async fn tables_in_s3_answer_as_tables_on_disk() {
    let Some(gateway) = gateway() else { return };
    let folder = TempFolder::new().unwrap();
    let disk = crate::support::open(folder.path().to_str().unwrap());
    let bucket = gateway.bucket().unwrap();
    // Three spellings of one place: each statement goes by the next.
    let sessions = ["s3", "s3a", "s3n"]
        .map(|scheme| session(&gateway, &format!("{scheme}://{bucket}/ware house")));
    let mut answered = 0;
    for (at, statement) in STATEMENTS.iter().enumerate() {
        let expected = try_rows(&disk, statement).await.map_err(|e| e.kind());
        let found = try_rows(&sessions[at % 3], statement).await;
        let shown = format!("{statement}: {found:?}");
        assert_eq!(found.map_err(|e| e.kind()), expected, "{shown}");
        answered += usize::from(expected.is_ok());
    }
    assert!(answered > 25, "{answered} statements were answered");
    let mut left = Vec::new();
    let mut folders = vec![gateway.files(&bucket)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => left.push(path),
            }
        }
    }
    assert!(left.is_empty(), "dropped tables leave {left:?}");
}

#[tokio::test]
async fn table_by_location_with_files_of_many_parts_reads_back() {
    let Some(gateway) = gateway() else { return };
    let bucket = gateway.bucket().unwrap();
    let session = session(&gateway, &format!("s3://{bucket}/wh"));
    let schema = Schema::new(vec![Field::new("id", DataType::Int64, false)]);
    let table = session
        .create_table(&name("big"), &schema, &BTreeMap::new())
        .await
        .unwrap();
    let mut random = Random(7);
    let values = Int64Array::from_iter_values((0..3_000_000).map(|_| random.next() as i64));
    let sum = values.iter().flatten().fold(0, i64::wrapping_add);
    let batch = RecordBatch::try_new(Arc::new(schema), vec![Arc::new(values)]).unwrap();
    table.append(&[batch]).await.unwrap();
    let location = format!("s3a://{bucket}/wh/default/big");
    let table = session.table_ref(&location).unwrap();
    let table = session.table(&table).await.unwrap();
    let found = read(&table, &ScanRequest::default()).await.unwrap();
    let found = found.column(0).as_primitive::<Int64Type>();
    assert_eq!(found.len(), 3_000_000);
    assert_eq!(found.iter().flatten().fold(0, i64::wrapping_add), sum);
    let files = gateway.files(&bucket).join("wh/default/big/data");
    let sizes = std::fs::read_dir(files).unwrap();
    let largest = sizes.map(|f| f.unwrap().metadata().unwrap().len()).max();
    assert!(largest > Some(17 << 20), "{largest:?}: not in parts");
}

#[tokio::test]
async fn secrets_are_in_no_plan_split_error_or_file() {
    let Some(gateway) = gateway() else { return };
    let bucket = gateway.bucket().unwrap();
    let session = session(&gateway, &format!("s3://{bucket}/wh"));
    let table = docs_table(&session, "docs", 2, 50).await;
    assert_eq!(table_rows(&table).await.len(), 100);
    rows(&session, "CREATE INDEX ON docs USING bitmap (kind)").await;
    let mut texts = vec![
        format!("{table:?}"),
        format!("{:?}", session.environment().storage()),
        rows(&session, "EXPLAIN VERBOSE SELECT * FROM docs WHERE id = 3")
            .await
            .join("\n"),
        rows(
            &session,
            "EXPLAIN ANALYZE SELECT * FROM docs WHERE kind = 'k1'",
        )
        .await
        .join("\n"),
        error(&session, "SELECT * FROM nowhere").await.to_string(),
        error(&session, "SELECT * FROM 's3://another-bucket/t'")
            .await
            .to_string(),
    ];
    let plan = table.plan_scan(&ScanRequest::default()).await.unwrap();
    texts.push(format!("{plan:?}"));
    for split in &plan.splits {
        texts.push(String::from_utf8_lossy(&split.to_bytes().unwrap()).into_owned());
    }
    assert!(texts.iter().all(|text| !text.contains(SECRET)));
    let mut folders = vec![gateway.files(&bucket)];
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            files += 1;
            let bytes = std::fs::read(&path).unwrap();
            let found = bytes.windows(SECRET.len()).any(|w| w == SECRET.as_bytes());
            assert!(!found, "{path:?} holds the secret");
        }
    }
    assert!(files > 8, "{files} files were looked at");
}

#[tokio::test]
async fn wrong_place_or_wrong_keys_are_errors_and_never_an_empty_answer() {
    let Some(gateway) = gateway() else { return };
    let bucket = gateway.bucket().unwrap();
    let good = session(&gateway, &format!("s3://{bucket}/wh"));
    docs_table(&good, "docs", 1, 10).await;
    let mut wrong = gateway.options();
    wrong.insert("s3.secret-access-key".to_string(), "wr0ng".to_string());
    let open = |bucket: &str, options| {
        let options = SessionOptions {
            warehouse: Some(format!("s3://{bucket}/wh")),
            options,
            ..SessionOptions::default()
        };
        Session::open(&options).unwrap()
    };
    for (session, kind) in [
        (
            open("no-such-bucket", gateway.options()),
            ErrorKind::NotFound,
        ),
        (open(&bucket, wrong), ErrorKind::PermissionDenied),
    ] {
        let error = error(&session, "SELECT * FROM docs").await;
        assert_eq!(error.kind(), kind, "{error}");
        let listed = session.list_tables(&["default".to_string()]).await;
        assert_eq!(listed.unwrap_err().kind(), kind);
        let created = session.create_namespace(&["n".to_string()]).await;
        assert_eq!(created.unwrap_err().kind(), kind);
    }
    assert_eq!(
        table_rows(&good.table(&name("docs")).await.unwrap())
            .await
            .len(),
        10
    );
}
