//! Our side and plain DataFusion of `bench/tpch.py`, in one process over the same Parquet files, turn by turn.
//! `tpch_bench PARQUET WAREHOUSE QUERIES ROUNDS`: PARQUET holds `<table>.parquet`, QUERIES holds `q01.sql` and so on.
//! Tables that the warehouse lacks are written first. One JSON line a query, with the seconds of each round; our rows
//! go to `WAREHOUSE/q01.csv` and so on.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a benchmark stops at the first surprise"
)]

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::time::Instant;

use arrow::array::RecordBatch;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use benostreamdb::{CommitOperation, CommitRequest, Session, SessionOptions};
use datafusion::prelude::{ParquetReadOptions, SessionConfig, SessionContext};
use futures::TryStreamExt as _;

const TABLES: [&str; 8] = [
    "customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier",
];

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [parquet, warehouse, queries, rounds] = arguments.as_slice() else {
        return Err("expected PARQUET WAREHOUSE QUERIES ROUNDS".into());
    };
    let rounds: usize = rounds.parse()?;
    let ours = Session::open(&SessionOptions {
        warehouse: Some(warehouse.clone()),
        ..SessionOptions::default()
    })?;
    for table in TABLES {
        load(&ours, table, &format!("{parquet}/{table}.parquet")).await?;
    }
    let plain = SessionContext::new_with_config(SessionConfig::new());
    for table in TABLES {
        let data = format!("{warehouse}/default/{table}/data/");
        plain
            .register_parquet(table, data, ParquetReadOptions::default())
            .await?;
    }
    let mut files: Vec<_> = fs::read_dir(queries)?.collect::<Result<_, _>>()?;
    files.sort_by_key(fs::DirEntry::file_name);
    for file in files {
        let name = file.file_name().to_string_lossy().replace(".sql", "");
        let text = fs::read_to_string(file.path())?;
        let (mut our_seconds, mut plain_seconds) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            let started = Instant::now();
            let rows = plain.sql(&text).await?.collect().await?;
            plain_seconds.push(started.elapsed().as_secs_f64());
            drop(rows);
            let started = Instant::now();
            let results = ours.sql(&text).await?;
            let mut rows = Vec::new();
            for result in results {
                rows.extend(result.collect().await?);
            }
            our_seconds.push(started.elapsed().as_secs_f64());
            fs::write(format!("{warehouse}/{name}.csv"), csv(&rows)?)?;
        }
        println!(
            "{{\"query\": \"{name}\", \"ours\": {our_seconds:?}, \"datafusion\": {plain_seconds:?}}}"
        );
    }
    Ok(())
}

/// Writes a table as other users would, unless it is there.
async fn load(session: &Session, table: &str, file: &str) -> Result<(), Box<dyn Error>> {
    let reference = session.table_ref(table)?;
    if session.table(&reference).await.is_ok() {
        return Ok(());
    }
    let reader =
        SessionContext::new_with_config(SessionConfig::new().with_target_partitions(1).set_bool(
            "datafusion.execution.parquet.schema_force_view_types",
            false,
        ));
    let frame = reader
        .read_parquet(file, ParquetReadOptions::default())
        .await?;
    let columns = frame.schema().as_arrow().clone();
    let created = session
        .create_table(&reference, &columns, &BTreeMap::new())
        .await?;
    let mut rows = frame.execute_stream().await?;
    let mut writer = created.writer()?;
    while let Some(batch) = rows.try_next().await? {
        writer.write(&batch).await?;
    }
    let written = writer.finish().await?;
    let request = CommitRequest {
        operation: CommitOperation::Append,
        messages: vec![written],
        base_snapshot: None,
    };
    created.commit(&request).await?;
    Ok(())
}

fn csv(batches: &[RecordBatch]) -> Result<String, Box<dyn Error>> {
    let mut text = String::new();
    let options = FormatOptions::default();
    for batch in batches {
        let columns = batch
            .columns()
            .iter()
            .map(|column| ArrayFormatter::try_new(column.as_ref(), &options))
            .collect::<Result<Vec<_>, _>>()?;
        for row in 0..batch.num_rows() {
            let values: Vec<String> = columns.iter().map(|c| c.value(row).to_string()).collect();
            writeln!(text, "{}", values.join("|"))?;
        }
    }
    Ok(text)
}
