//! Tables that other engines wrote, read end to end: each gives the rows that its oracles give, or is refused with
//! a kind that says so, never a wrong count. The inputs are in `fixtures/iceberg` under `BSDB_SHARED`; without
//! them this test says so and passes. Refused as Corrupt are ids above 64 bits and files whose size in the
//! manifest is wrong; as PermissionDenied a file outside its table.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests say what they expect by panicking, on small numbers"
)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use arrow::array::RecordBatch;
use arrow::util::display::array_value_to_string;
use benostreamdb::{ErrorKind, Result, ScanRequest, Session, SessionOptions, Split};
use futures::TryStreamExt;
use serde_json::Value as Json;

fn root() -> PathBuf {
    let shared = std::env::var("BSDB_SHARED").map(PathBuf::from);
    shared
        .unwrap_or_else(|_| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"))
        .join("fixtures/iceberg")
}

fn folder(name: &str) -> PathBuf {
    let core = root().join(name);
    if core.exists() {
        core
    } else {
        root().join("_extra").join(name)
    }
}

async fn scan(name: &str, metadata: &str, recorded: &str) -> Result<Vec<RecordBatch>> {
    let metadata = folder(name).join(metadata).canonicalize().unwrap();
    let actual = metadata
        .parent()
        .unwrap()
        .parent()
        .unwrap()
        .to_str()
        .unwrap()
        .to_owned();
    // Some tables mix a location with and without its scheme.
    let mut map_prefix = vec![(recorded.to_owned(), actual.clone())];
    if let Some(path) = recorded.strip_prefix("./") {
        map_prefix.push((path.to_owned(), actual.clone()));
    }
    if let Some(path) = recorded.strip_prefix("hdfs://localhost:20500") {
        map_prefix.push((path.to_owned(), actual.clone()));
    } else if recorded.starts_with('/') {
        map_prefix.push((format!("hdfs://localhost:20500{recorded}"), actual.clone()));
    }
    let session = Session::open(&SessionOptions {
        warehouse: None,
        options: BTreeMap::new(),
        map_prefix,
    })?;
    let table = session
        .table(&session.table_ref(metadata.to_str().unwrap())?)
        .await?;
    let plan = table.plan_scan(&ScanRequest::default()).await?;
    let mut batches = Vec::new();
    for split in &plan.splits {
        let split = Split::from_bytes(&split.to_bytes()?)?;
        let (_, stream) = split.open(session.environment()).await?;
        batches.extend(stream.try_collect::<Vec<_>>().await?);
    }
    Ok(batches)
}

fn rows(batches: &[RecordBatch]) -> Vec<Vec<String>> {
    let row = |batch: &RecordBatch, i| {
        batch
            .columns()
            .iter()
            .map(|c| array_value_to_string(c, i).unwrap())
            .collect()
    };
    let mut rows: Vec<Vec<String>> = batches
        .iter()
        .flat_map(|b| (0..b.num_rows()).map(move |i| row(b, i)))
        .collect();
    rows.sort();
    rows
}

#[tokio::test]
async fn l12_foreign_tables_give_the_rows_of_their_oracles_or_are_refused() {
    let Ok(text) = std::fs::read_to_string(root().join("expected.json")) else {
        println!("skipped: no fixtures in {}", root().display());
        return;
    };
    let expected: Json = serde_json::from_str(&text).unwrap();
    let (mut read, mut refused, mut wrong) = (0, 0, Vec::new());
    for (name, entry) in expected.as_object().unwrap() {
        for table in entry["tables"].as_array().into_iter().flatten() {
            let (metadata, recorded) = (
                table["metadata"].as_str().unwrap(),
                table["recorded_location"].as_str().unwrap(),
            );
            let oracles: Vec<u64> = table["engines"]
                .as_object()
                .unwrap()
                .values()
                .filter_map(Json::as_u64)
                .collect();
            match scan(name, metadata, recorded).await {
                Ok(batches) => {
                    read += 1;
                    let count = batches.iter().map(|b| b.num_rows() as u64).sum::<u64>();
                    println!("{count:>7} rows  {name}");
                    if !oracles.contains(&count) {
                        wrong.push(format!("{name}: {count} rows, oracles {oracles:?}"));
                    }
                }
                Err(error) => {
                    refused += 1;
                    println!("refused       {name}: {error}");
                    if !matches!(
                        error.kind(),
                        ErrorKind::Unsupported | ErrorKind::Corrupt | ErrorKind::PermissionDenied
                    ) {
                        wrong.push(format!("{name}: {error}"));
                    }
                }
            }
        }
    }
    println!("{read} read, {refused} refused");
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(read >= 20, "only {read} tables are read");
}

#[tokio::test]
async fn row_older_than_its_column_reads_the_initial_default() {
    let name = "impala__iceberg_v3_default_value";
    if !folder(name).exists() {
        println!("skipped: no fixture {name}");
        return;
    }
    let recorded = "hdfs://localhost:20500/test-warehouse/iceberg_v3_default_value";
    let found = rows(
        &scan(name, "metadata/v4.metadata.json", recorded)
            .await
            .unwrap(),
    );
    assert_eq!(found, [["1", "-1"], ["2", "2"]]);
}
