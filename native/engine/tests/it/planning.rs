//! Planning: which files a selective filter reads, counted at the store, on metadata of our own making.

use std::collections::BTreeMap;

use benostreamdb::iceberg::document::{Commit, Document, NewTable, Update};
use benostreamdb::iceberg::manifest::{
    BoundMap, DataContent, DataFile, Entry, FileFormat, ListSpec, ManifestContent, ManifestFile,
    ManifestSpec, PartitionValue, write_manifest, write_manifest_list,
};
use benostreamdb::iceberg::schema::Schema;
use benostreamdb::iceberg::snapshot::Snapshot;
use benostreamdb::iceberg::spec::{PartitionField, PartitionSpec, Transform};
use benostreamdb::iceberg::value;
use benostreamdb::storage::testing::CountingStore;
use benostreamdb::{
    CompareOp, IcebergField, IcebergType, Predicate, ScanPlan, ScanRequest, Session, Value,
};
use bytes::Bytes;

use crate::fixture::{memory, name, reopened};
use crate::support;

const DAY: i32 = 1;
const ID: i32 = 2;
const MANIFESTS: i32 = 200;
/// Data files of a manifest.
const FILES: i32 = 50;
const LOCATION: &str = "memory:///lake/default/t";
const SNAPSHOT: i64 = 77;

fn schema() -> Schema {
    let field = |id, name: &str, ty| IcebergField::new(id, name, false, ty);
    let fields = vec![
        field(DAY, "day", IcebergType::Int),
        field(ID, "id", IcebergType::Long),
    ];
    Schema::new(0, fields).unwrap()
}

fn spec() -> PartitionSpec {
    let day = PartitionField {
        source_ids: vec![DAY],
        field_id: 1000,
        name: "day".into(),
        transform: Transform::Identity,
    };
    PartitionSpec {
        spec_id: 0,
        fields: vec![day],
    }
}

/// A file of 100 rows of a day, ids ascending over the table.
fn data_file(day: i32, number: i32) -> DataFile {
    let first = i64::from(day * FILES + number) * 100;
    let bound = |v: i64| BoundMap::new([(ID, value::encode(&Value::Long(v)))]);
    DataFile {
        partition: vec![(1000, Some(PartitionValue::Integer(day.into())))],
        lower_bounds: bound(first),
        upper_bounds: bound(first + 99),
        ..DataFile::new(
            DataContent::Data,
            format!("{LOCATION}/data/{day}-{number}.parquet"),
            FileFormat::Parquet,
            100,
            1_000,
        )
    }
}

/// A manifest of a day, as bytes and as the row of the manifest list.
fn manifest(content: ManifestContent, path: &str, files: Vec<DataFile>) -> (Bytes, ManifestFile) {
    let (schema, spec) = (schema(), spec());
    let manifest = ManifestSpec {
        format_version: 2,
        schema: &schema,
        spec: &spec,
        content,
        snapshot_id: SNAPSHOT,
    };
    let entries: Vec<Entry> = files
        .into_iter()
        .map(|file| Entry::added(SNAPSHOT, file))
        .collect();
    write_manifest(&manifest, path, &entries).unwrap()
}

/// Stores the metadata of a table with one manifest a day, and one of position deletes for some days; no data file
/// exists.
async fn store_table(session: &Session, days_with_deletes: &[i32]) {
    let storage = session.environment().storage();
    let root = storage.resolve(LOCATION).unwrap();
    let files = storage.open(std::slice::from_ref(&root));
    let put = async |path: &str, bytes: Bytes| {
        files
            .put(&files.resolve(path).unwrap(), bytes)
            .await
            .unwrap();
    };
    let mut manifests: Vec<ManifestFile> = Vec::new();
    for day in 0..MANIFESTS {
        let path = format!("{LOCATION}/metadata/{day}-m0.avro");
        let data = (0..FILES).map(|number| data_file(day, number)).collect();
        let (bytes, row) = manifest(ManifestContent::Data, &path, data);
        put(&path, bytes).await;
        manifests.push(row);
    }
    for day in days_with_deletes {
        let path = format!("{LOCATION}/metadata/deletes-{day}-m0.avro");
        let deletes = DataFile {
            content: DataContent::PositionDeletes,
            path: format!("{LOCATION}/data/{day}-deletes.parquet"),
            ..data_file(*day, 0)
        };
        let (bytes, row) = manifest(ManifestContent::Deletes, &path, vec![deletes]);
        put(&path, bytes).await;
        manifests.push(row);
    }
    let (schema, spec) = (schema(), spec());
    let list = ListSpec {
        format_version: 2,
        snapshot_id: SNAPSHOT,
        parent_snapshot_id: None,
        sequence_number: 1,
        next_row_id: None,
    };
    let list_path = format!("{LOCATION}/metadata/snap-{SNAPSHOT}.avro");
    let written = write_manifest_list(&list, &manifests).unwrap();
    put(&list_path, written.bytes).await;
    let snapshot = Snapshot {
        snapshot_id: SNAPSHOT,
        parent_snapshot_id: None,
        sequence_number: 1,
        timestamp_ms: 1,
        manifest_list: Some(list_path),
        manifests: Vec::new(),
        summary: BTreeMap::new(),
        schema_id: Some(0),
        first_row_id: None,
        added_rows: None,
    };
    let empty = Document::create(&NewTable {
        table_uuid: uuid::Uuid::nil(),
        location: LOCATION.into(),
        schema,
        spec,
        properties: BTreeMap::new(),
        now_ms: 1,
    });
    let commit = Commit {
        previous_file: "v0.metadata.json",
        now_ms: 1,
    };
    let document = empty
        .unwrap()
        .apply(&[Update::AddSnapshot(snapshot)], commit)
        .unwrap();
    let path = format!("{LOCATION}/metadata/v1.metadata.json");
    put(&path, document.to_bytes().into()).await;
}

fn compare(column: i32, op: CompareOp, value: Value) -> Predicate {
    Predicate::Compare { column, op, value }
}

async fn plan(session: &Session, conjuncts: Vec<Predicate>) -> ScanPlan {
    let request = ScanRequest {
        conjuncts,
        ..ScanRequest::default()
    };
    let table = session.table(&name("t")).await.unwrap();
    table.plan_scan(&request).await.unwrap()
}

/// How many manifests and data files were asked for since the last time.
fn reads(store: &CountingStore) -> (u64, u64) {
    let counts = (
        store.reads_of("-m0.avro").gets,
        store.reads_of(".parquet").gets,
    );
    store.reset();
    counts
}

#[tokio::test]
async fn plan_of_a_selective_filter_reads_only_the_manifests_it_must() {
    let (session, store) = memory();
    store_table(&session, &[]).await;
    store.reset();
    let chosen = || {
        let id = i64::from(17 * FILES + 3) * 100 + 5;
        vec![
            compare(DAY, CompareOp::Eq, Value::Int(17)),
            compare(ID, CompareOp::Eq, Value::Long(id)),
        ]
    };
    let found = plan(&session, chosen()).await;
    assert_eq!(reads(&store), (1, 0));
    let paths: Vec<&str> = found
        .splits
        .iter()
        .flat_map(|s| &s.files)
        .map(|f| f.path.as_str())
        .collect();
    assert_eq!(paths, [format!("{LOCATION}/data/17-3.parquet")]);
    let report = &found.report;
    assert_eq!(
        (report.manifests_total, report.manifests_skipped),
        (200, 199)
    );
    assert_eq!((report.files_total, report.rows_total), (10_000, 1_000_000));
    assert_eq!(
        (
            report.files_pruned_by_partition,
            report.files_pruned_by_statistics
        ),
        (9_950, 49)
    );

    plan(&session, chosen()).await;
    assert_eq!(reads(&store), (0, 0), "a decoded manifest is kept");
    let two = compare(DAY, CompareOp::GtEq, Value::Int(198));
    assert_eq!(
        plan(&session, vec![two.clone()])
            .await
            .report
            .manifests_skipped,
        198
    );
    assert_eq!(reads(&store), (2, 0));
    plan(&reopened(&session), vec![two]).await;
    assert_eq!(reads(&store), (2, 0), "another session has its own");

    let all = plan(&session, Vec::new()).await;
    assert_eq!(reads(&store), (197, 0));
    assert_eq!(all.report.manifests_skipped, 0);
    assert_eq!(
        all.splits.iter().map(|s| s.files.len()).sum::<usize>(),
        10_000
    );
}

#[tokio::test]
async fn explain_says_what_was_pruned_and_why() {
    let (session, _) = memory();
    store_table(&session, &[]).await;
    let shown = support::rows(
        &session,
        "EXPLAIN SELECT id FROM t WHERE day = 17 AND id < 85010",
    )
    .await
    .join("\n");
    for part in [
        "files_scanned=1, files=10000",
        "pruned_by_partition=9950",
        "pruned_by_statistics=49",
        "manifests=200, manifests_skipped=199",
    ] {
        assert!(shown.contains(part), "{part} is not in {shown}");
    }
}

#[tokio::test]
async fn r_pl3_delete_manifest_is_read_where_its_partition_may_match_and_only_there() {
    let (session, store) = memory();
    store_table(&session, &[3, 4]).await;
    store.reset();
    let on = |op, day| vec![compare(DAY, op, Value::Int(day))];
    let deletes_of = |plan: &ScanPlan| -> Vec<usize> {
        let files = plan.splits.iter().flat_map(|s| &s.files);
        files.map(|f| f.deletes.len()).collect()
    };
    let three = plan(&session, on(CompareOp::Eq, 3)).await;
    assert_eq!(reads(&store), (2, 0));
    assert_eq!(deletes_of(&three), vec![1; 50]);
    let report = &three.report;
    assert_eq!(
        (report.manifests_total, report.manifests_skipped),
        (202, 200)
    );
    assert_eq!(
        (report.files_total, report.files_pruned_by_partition),
        (10_000, 9_950)
    );
    let five = plan(&session, on(CompareOp::Eq, 5)).await;
    assert_eq!(reads(&store), (1, 0));
    assert_eq!(deletes_of(&five), vec![0; 50]);
    let first = plan(&session, on(CompareOp::LtEq, 4)).await;
    assert_eq!(reads(&store), (5, 0));
    assert_eq!(deletes_of(&first).iter().sum::<usize>(), 100);
}
