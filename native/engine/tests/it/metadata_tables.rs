//! The metadata tables through SQL and as splits: Iceberg's columns, and rows that agree with the table.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use benostreamdb::{
    CompareOp, Error, ErrorKind, MetadataKind, Predicate, ScanRequest, Session, SessionOptions,
    Split, Value,
};
use futures::TryStreamExt as _;
use serde_json::json;

use crate::fixture::{lines, name};
use crate::history::{NEW_YEAR_MS, edit_metadata};
use crate::support::{Folder, error, fails, line, memory, rows, try_rows};

async fn table(folder: &Folder) -> Vec<i64> {
    let session = folder.session();
    rows(
        &session,
        "CREATE TABLE t (id int, s text);
         INSERT INTO t VALUES (1, 'a'), (2, 'b');
         INSERT INTO t VALUES (3, NULL);
         DELETE FROM t WHERE id = 1",
    )
    .await;
    let table = session.table(&name("t")).await.unwrap();
    let snapshots = table.document().snapshots().iter();
    snapshots.map(|s| s.snapshot_id).collect()
}

#[tokio::test]
async fn metadata_tables_have_icebergs_columns() {
    let session = memory();
    rows(&session, "CREATE TABLE t (id int)").await;
    let table = session.table(&name("t")).await.unwrap();
    let files = "content:int file_path:string file_format:string spec_id:int record_count:long \
                 file_size_in_bytes:long column_sizes:map<int, long> value_counts:map<int, long> \
                 null_value_counts:map<int, long> nan_value_counts:map<int, long> lower_bounds:map<int, binary> \
                 upper_bounds:map<int, binary> key_metadata:binary split_offsets:list<long> equality_ids:list<int> \
                 sort_order_id:int first_row_id:long referenced_data_file:string content_offset:long \
                 content_size_in_bytes:long";
    let manifests = "content:int path:string length:long partition_spec_id:int added_snapshot_id:long \
                     added_data_files_count:int existing_data_files_count:int deleted_data_files_count:int \
                     added_delete_files_count:int existing_delete_files_count:int deleted_delete_files_count:int \
                     partition_summaries:list<struct<contains_null: boolean, contains_nan: boolean, lower_bound: \
                     string, upper_bound: string>>";
    let known = BTreeMap::from([
        (
            "snapshots",
            "committed_at:timestamptz snapshot_id:long parent_id:long operation:string manifest_list:string \
             summary:map<string, string>"
                .to_string(),
        ),
        (
            "history",
            "made_current_at:timestamptz snapshot_id:long parent_id:long is_current_ancestor:boolean".to_string(),
        ),
        (
            "refs",
            "name:string type:string snapshot_id:long max_reference_age_in_ms:long min_snapshots_to_keep:int \
             max_snapshot_age_in_ms:long"
                .to_string(),
        ),
        (
            "metadata_log_entries",
            "timestamp:timestamptz file:string latest_snapshot_id:long latest_schema_id:int \
             latest_sequence_number:long"
                .to_string(),
        ),
        ("manifests", manifests.to_string()),
        (
            "all_manifests",
            format!("{manifests} reference_snapshot_id:long key_metadata:binary"),
        ),
        (
            "partitions",
            "record_count:long file_count:int total_data_file_size_in_bytes:long \
             position_delete_record_count:long position_delete_file_count:int equality_delete_record_count:long \
             equality_delete_file_count:int last_updated_at:timestamptz last_updated_snapshot_id:long"
                .to_string(),
        ),
    ]);
    for kind in MetadataKind::names() {
        let metadata = table.metadata_table(kind.parse().unwrap()).unwrap();
        let fields = metadata.schema().fields.iter();
        let found: Vec<String> = fields.map(|f| format!("{}:{}", f.name, f.ty)).collect();
        let found = found.join(" ");
        if kind.contains("entries") && !kind.contains("log") {
            assert!(found.starts_with("status:int snapshot_id:long sequence_number:long"));
            assert!(found.contains("data_file:struct<content: int, file_path: string"));
        } else {
            let expected = known.get(kind).map_or(files, String::as_str);
            assert_eq!(found, expected, "{kind}");
        }
        let text = format!("SELECT count(*) FROM \"t${kind}\"");
        let empty = match kind {
            "metadata_log_entries" | "partitions" => "1",
            _ => "0",
        };
        assert_eq!(line(&session, &text).await, empty, "{kind}");
    }
}

#[tokio::test]
async fn metadata_tables_tell_what_the_snapshots_hold() {
    let folder = Folder::new();
    let ids = table(&folder).await;
    let session = folder.session();
    let location = folder.path().join("default/t");
    let location = location.to_str().unwrap();
    let (first, second, third) = (ids[0], ids[1], ids[2]);
    for (text, expected) in [
        (
            "SELECT snapshot_id, parent_id, operation FROM \"t$snapshots\"".to_string(),
            format!("{first}|NULL|append {second}|{first}|append {third}|{second}|delete"),
        ),
        ("SELECT summary['added-records'] FROM t$snapshots WHERE operation = 'delete'".into(), "NULL".into()),
        (format!("SELECT summary['added-records'] FROM t$snapshots WHERE snapshot_id = {first}"), "2".into()),
        ("SELECT count(*) FROM \"t$history\" WHERE is_current_ancestor".into(), "3".into()),
        ("SELECT name, type, snapshot_id FROM \"t$refs\"".into(), format!("main|BRANCH|{third}")),
        ("SELECT content, record_count FROM \"t$files\" ORDER BY content, record_count".into(), "0|1 0|2 1|1".into()),
        ("SELECT sum(record_count) FROM \"t$data_files\"".into(), "3".into()),
        ("SELECT content, file_format FROM \"t$delete_files\"".into(), "1|PARQUET".into()),
        ("SELECT null_value_counts FROM \"t$data_files\" WHERE record_count = 1".into(), "{1: 0, 2: 1}".into()),
        (format!("SELECT count(*) FROM \"{location}$files\""), "3".into()),
        (format!("SELECT count(*) FROM '{location}$files'"), "3".into()),
        ("SELECT count(*) FROM \"default\".\"t$files\" f JOIN t$entries e ON e.data_file['file_path'] = f.file_path".into(), "3".into()),
        ("SELECT status, count(*) FROM \"t$entries\" GROUP BY status".into(), "1|3".into()),
        (
            "SELECT content, sum(added_data_files_count), sum(added_delete_files_count) FROM \"t$manifests\" GROUP BY content ORDER BY content".into(),
            "0|2|0 1|0|1".into(),
        ),
        (
            "SELECT record_count, file_count, position_delete_record_count, position_delete_file_count, last_updated_snapshot_id FROM t$partitions".into(),
            format!("3|2|1|1|{third}"),
        ),
        ("SELECT count(*), max(latest_sequence_number) FROM t$metadata_log_entries".into(), "4|3".into()),
        // Older snapshots, where the metadata table is of one.
        (format!("SELECT sum(record_count) FROM \"t$files\" FOR VERSION AS OF {first}"), "2".into()),
        (format!("SELECT count(*) FROM t$manifests FOR VERSION AS OF {second}"), "2".into()),
        (format!("SELECT record_count FROM t$partitions FOR VERSION AS OF {first}"), "2".into()),
        ("DESCRIBE t$refs".into(), "name|string|false|NULL type|string|false|NULL snapshot_id|long|false|NULL \
          max_reference_age_in_ms|long|true|NULL min_snapshots_to_keep|int|true|NULL \
          max_snapshot_age_in_ms|long|true|NULL".into()),
        // The table as a whole.
        ("SELECT count(*) FROM t$all_manifests".into(), "6".into()),
        ("SELECT count(DISTINCT path) FROM t$all_manifests".into(), "3".into()),
        ("SELECT count(*) FROM t$all_files".into(), "3".into()),
        ("SELECT count(*) FROM t$all_data_files".into(), "2".into()),
        ("SELECT count(*) FROM t$all_delete_files".into(), "1".into()),
        ("SELECT count(*) FROM t$all_entries".into(), "3".into()),
    ] {
        assert_eq!(line(&session, &text).await, expected, "{text}");
    }
}

#[tokio::test]
async fn entries_keep_files_that_the_snapshot_removed() {
    let folder = Folder::new();
    table(&folder).await;
    let session = folder.session();
    rows(&session, "TRUNCATE t").await;
    for (text, expected) in [
        ("SELECT count(*) FROM t$files", "0"),
        ("SELECT count(*) FROM t$data_files", "0"),
        ("SELECT DISTINCT status FROM t$entries", "2"),
        ("SELECT count(*) > 3 FROM t$all_entries", "true"),
        ("SELECT record_count, file_count FROM t$partitions", "0|0"),
    ] {
        assert_eq!(line(&session, text).await, expected, "{text}");
    }
}

#[tokio::test]
async fn refs_tell_how_long_they_are_kept() {
    let folder = Folder::new();
    let ids = table(&folder).await;
    edit_metadata(&folder, |metadata| {
        metadata["refs"]["v1"] =
            json!({"snapshot-id": ids[0], "type": "tag", "max-ref-age-ms": NEW_YEAR_MS});
        metadata["refs"]["dev"] = json!({
            "snapshot-id": ids[1], "type": "branch", "min-snapshots-to-keep": 5, "max-snapshot-age-ms": 6,
        });
    });
    let session = folder.session();
    assert_eq!(
        rows(&session, "SELECT * FROM t$refs ORDER BY name").await,
        [
            format!("dev|BRANCH|{}|NULL|5|6", ids[1]),
            format!("main|BRANCH|{}|NULL|NULL|NULL", ids[2]),
            format!("v1|TAG|{}|{NEW_YEAR_MS}|NULL|NULL", ids[0]),
        ]
    );
}

#[tokio::test]
async fn unknown_metadata_tables_name_the_known_ones() {
    let folder = Folder::new();
    let ids = table(&folder).await;
    let session = folder.session();
    let error = error(&session, "SELECT * FROM \"t$nope\"").await;
    assert_eq!(error.kind(), ErrorKind::NotFound);
    for kind in MetadataKind::names() {
        assert!(error.to_string().contains(kind), "{kind}: {error}");
    }
    fails(
        &session,
        "SELECT * FROM \"nope$files\"",
        ErrorKind::NotFound,
    )
    .await;
    fails(
        &session,
        "SELECT * FROM t$files FOR VERSION AS OF 1",
        ErrorKind::NotFound,
    )
    .await;
    for kind in [
        "snapshots",
        "history",
        "refs",
        "metadata_log_entries",
        "all_files",
        "all_manifests",
    ] {
        let text = format!("SELECT * FROM t${kind} FOR VERSION AS OF {}", ids[0]);
        fails(&session, &text, ErrorKind::Unsupported).await;
    }
}

#[tokio::test]
async fn names_of_new_tables_hold_no_dollar() {
    let folder = Folder::new();
    let session = folder.session();
    let location = folder.path().join("a$files");
    for text in [
        "CREATE TABLE \"a$files\" (id int)".to_string(),
        "CREATE TABLE a$b AS SELECT 1 AS x".to_string(),
        format!("CREATE TABLE '{}' (id int)", location.to_str().unwrap()),
    ] {
        fails(&session, &text, ErrorKind::InvalidInput).await;
    }
}

/// Engines read a metadata table by a split, columns by field id, rows by predicates.
#[tokio::test]
async fn splits_of_metadata_tables_give_the_columns_and_rows_asked_for() {
    let folder = Folder::new();
    let ids = table(&folder).await;
    let session = folder.session();
    let table = session.table(&name("t")).await.unwrap();
    let snapshots = table.metadata_table(MetadataKind::Snapshots).unwrap();
    let request = ScanRequest {
        projection: Some(vec![4, 2]),
        conjuncts: vec![Predicate::Compare {
            column: 4,
            op: CompareOp::Eq,
            value: Value::String("append".into()),
        }],
        ..ScanRequest::default()
    };
    let plan = snapshots.plan_scan(&request).unwrap();
    // What happens later is not seen.
    rows(&session, "INSERT INTO t VALUES (9, 'z')").await;
    let mut found = Vec::new();
    for split in &plan.splits {
        let split = Split::from_bytes(&split.to_bytes().unwrap()).unwrap();
        let (schema, batches) = split.open(folder.session().environment()).await.unwrap();
        assert_eq!(schema, plan.schema);
        for batch in batches.try_collect::<Vec<_>>().await.unwrap() {
            found.extend(lines(&batch));
        }
    }
    assert_eq!(
        found,
        [format!("append|{}", ids[0]), format!("append|{}", ids[1])]
    );
    let unknown = ScanRequest {
        projection: Some(vec![99]),
        ..ScanRequest::default()
    };
    let refused = snapshots.plan_scan(&unknown).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidInput);
}

/// The newest metadata file of each fixture that another engine wrote.
fn foreign_metadata() -> Vec<PathBuf> {
    let shared = std::env::var("BSDB_SHARED").map(PathBuf::from);
    let shared = shared
        .unwrap_or_else(|_| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"))
        .join("fixtures/iceberg");
    let mut newest: BTreeMap<PathBuf, PathBuf> = BTreeMap::new();
    let mut folders = vec![shared];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.to_str().unwrap().ends_with(".metadata.json") {
                let known = newest.entry(path.parent().unwrap().into()).or_default();
                *known = path.max(std::mem::take(known));
            }
        }
    }
    newest.into_values().collect()
}

/// What the data files of a table hold by its metadata tables, and what its snapshot says of them.
async fn totals(metadata: &Path) -> Result<(i64, Option<i64>), Error> {
    let text = std::fs::read(metadata).unwrap();
    let parsed: serde_json::Value = serde_json::from_slice(&text).unwrap_or_default();
    let recorded = parsed["location"].as_str().unwrap_or("nowhere").to_string();
    let folder = metadata.parent().unwrap().parent().unwrap();
    let actual = folder.to_str().unwrap().to_string();
    let session = Session::open(&SessionOptions {
        map_prefix: vec![
            (recorded.clone(), actual.clone()),
            (format!("hdfs://localhost:20500{recorded}"), actual.clone()),
            (recorded.replacen("hdfs://localhost:20500", "", 1), actual),
        ],
        ..SessionOptions::default()
    })?;
    let location = metadata.to_str().unwrap();
    let mut records = 0;
    for kind in MetadataKind::names() {
        let text = match kind {
            "data_files" => {
                format!("SELECT coalesce(sum(record_count), 0) FROM '{location}${kind}'")
            }
            _ => format!("SELECT count(*) FROM (SELECT * FROM '{location}${kind}')"),
        };
        let found = try_rows(&session, &text).await?;
        if kind == "data_files" {
            records = found[0].parse().unwrap();
        }
    }
    let table = session.table(&session.table_ref(location)?).await?;
    let total = table
        .snapshot()
        .and_then(|s| s.summary.get("total-records")?.parse().ok());
    Ok((records, total))
}

#[tokio::test]
async fn metadata_tables_of_foreign_tables_add_up() {
    let (mut read, mut problems) = (0, Vec::new());
    for metadata in foreign_metadata() {
        let path = metadata.to_str().unwrap();
        // One whose summary counts another file than its manifests list, and one that records no whole paths.
        if path.contains("v2_null_delete_record") || path.contains("lineitem_iceberg_gz") {
            continue;
        }
        match totals(&metadata.canonicalize().unwrap()).await {
            Ok((records, total)) => {
                read += 1;
                if total.is_some_and(|total| total != records) {
                    problems.push(format!("{metadata:?}: {records} records, not {total:?}"));
                }
            }
            // Types that are not read yet, damaged files, and snapshots whose files the fixture lacks.
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::Unsupported | ErrorKind::Corrupt | ErrorKind::NotFound
                ) => {}
            Err(error) => problems.push(format!("{metadata:?}: {error}")),
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(
        read > 15 || foreign_metadata().is_empty(),
        "{read} tables were read"
    );
}
