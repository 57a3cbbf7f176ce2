//! Our side of `bench/planning.py`: `plan_bench WAREHOUSE ROUNDS` writes the metadata of the table `default.t`, 10,000
//! data files in 200 manifests of a day each, and plans a scan of one file of it, each round in a session of its own
//! that opens the metadata file.
//! One JSON line: the metadata file, the filter's numbers, seconds of each round, and the files planned.
#![allow(
    clippy::cast_possible_truncation,
    clippy::unwrap_used,
    reason = "a benchmark stops at the first surprise"
)]

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::time::Instant;

use benostreamdb::iceberg::document::{Commit, Document, NewTable, Update};
use benostreamdb::iceberg::manifest::{
    BoundMap, CountMap, DataContent, DataFile, Entry, FileFormat, ListSpec, ManifestContent,
    ManifestFile, ManifestSpec, PartitionValue, write_manifest, write_manifest_list,
};
use benostreamdb::iceberg::schema::Schema;
use benostreamdb::iceberg::snapshot::Snapshot;
use benostreamdb::iceberg::spec::{PartitionField, PartitionSpec, Transform};
use benostreamdb::iceberg::value;
use benostreamdb::{
    CompareOp, IcebergField, IcebergType, Predicate, ScanRequest, Session, SessionOptions, Value,
};

const DAY: i32 = 1;
const ID: i32 = 2;
const DAYS: i32 = 200;
const FILES_OF_A_DAY: i32 = 50;
const ROWS_OF_A_FILE: i64 = 100;
const SNAPSHOT: i64 = 77;
/// The file that the filter is for.
const WANTED: (i32, i32) = (17, 3);

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [warehouse, rounds] = arguments.as_slice() else {
        return Err("expected WAREHOUSE ROUNDS".into());
    };
    let metadata = write(&format!("{warehouse}/default/t"))?;
    let id = first_id(WANTED.0, WANTED.1) + 5;
    let compare = |column, value| Predicate::Compare {
        column,
        op: CompareOp::Eq,
        value,
    };
    let request = ScanRequest {
        conjuncts: vec![
            compare(DAY, Value::Int(WANTED.0)),
            compare(ID, Value::Long(id)),
        ],
        ..ScanRequest::default()
    };
    let (mut seconds, mut files) = (Vec::new(), 0);
    for _ in 0..rounds.parse()? {
        let started = Instant::now();
        let session = Session::open(&SessionOptions {
            warehouse: Some(warehouse.clone()),
            ..SessionOptions::default()
        })?;
        let table = session.table(&session.table_ref(&metadata)?).await?;
        let plan = table.plan_scan(&request).await?;
        seconds.push(started.elapsed().as_secs_f64());
        files = plan.splits.iter().map(|split| split.files.len()).sum();
    }
    println!(
        "{{\"metadata\": {metadata:?}, \"day\": {}, \"id\": {id}, \"seconds\": {seconds:?}, \"files\": {files}}}",
        WANTED.0
    );
    Ok(())
}

fn first_id(day: i32, number: i32) -> i64 {
    i64::from(day * FILES_OF_A_DAY + number) * ROWS_OF_A_FILE
}

fn data_file(location: &str, day: i32, number: i32) -> DataFile {
    let first = first_id(day, number);
    let last = first + ROWS_OF_A_FILE - 1;
    let bounds = |day: i32, id: i64| {
        BoundMap::new([
            (DAY, value::encode(&Value::Int(day))),
            (ID, value::encode(&Value::Long(id))),
        ])
    };
    DataFile {
        partition: vec![(1000, Some(PartitionValue::Integer(day.into())))],
        value_counts: CountMap::new([(DAY, ROWS_OF_A_FILE), (ID, ROWS_OF_A_FILE)]),
        null_value_counts: CountMap::new([(DAY, 0), (ID, 0)]),
        lower_bounds: bounds(day, first),
        upper_bounds: bounds(day, last),
        ..DataFile::new(
            DataContent::Data,
            format!("{location}/data/{day}-{number}.parquet"),
            FileFormat::Parquet,
            ROWS_OF_A_FILE.cast_unsigned(),
            1_000,
        )
    }
}

fn write_manifests(
    location: &str,
    folder: &str,
    schema: &Schema,
    spec: &PartitionSpec,
) -> Result<Vec<ManifestFile>, Box<dyn Error>> {
    let mut manifests = Vec::new();
    for day in 0..DAYS {
        let path = format!("{folder}/{day}-m0.avro");
        let manifest = ManifestSpec {
            format_version: 2,
            schema,
            spec,
            content: ManifestContent::Data,
            snapshot_id: SNAPSHOT,
        };
        let entries: Vec<Entry> = (0..FILES_OF_A_DAY)
            .map(|number| Entry::added(SNAPSHOT, data_file(location, day, number)))
            .collect();
        let (bytes, row) = write_manifest(&manifest, &path, &entries)?;
        fs::write(&path, bytes)?;
        manifests.push(row);
    }
    Ok(manifests)
}

/// Writes the table's metadata; gives the path of its newest file.
fn write(location: &str) -> Result<String, Box<dyn Error>> {
    let folder = format!("{location}/metadata");
    fs::create_dir_all(&folder)?;
    let schema = Schema::new(
        0,
        vec![
            IcebergField::new(DAY, "day", false, IcebergType::Int),
            IcebergField::new(ID, "id", false, IcebergType::Long),
        ],
    )?;
    let spec = PartitionSpec {
        spec_id: 0,
        fields: vec![PartitionField {
            source_ids: vec![DAY],
            field_id: 1000,
            name: "day".into(),
            transform: Transform::Identity,
        }],
    };
    let manifests = write_manifests(location, &folder, &schema, &spec)?;
    let list = ListSpec {
        format_version: 2,
        snapshot_id: SNAPSHOT,
        parent_snapshot_id: None,
        sequence_number: 1,
        next_row_id: None,
    };
    let list_path = format!("{folder}/snap-{SNAPSHOT}.avro");
    fs::write(&list_path, write_manifest_list(&list, &manifests)?.bytes)?;
    let snapshot = Snapshot {
        snapshot_id: SNAPSHOT,
        parent_snapshot_id: None,
        sequence_number: 1,
        timestamp_ms: 1,
        manifest_list: Some(list_path),
        manifests: Vec::new(),
        summary: BTreeMap::from([("operation".into(), "append".into())]),
        schema_id: Some(0),
        first_row_id: None,
        added_rows: None,
    };
    let empty = Document::create(&NewTable {
        table_uuid: uuid::Uuid::from_u128(1),
        location: location.into(),
        schema,
        spec,
        properties: BTreeMap::new(),
        now_ms: 1,
    })?;
    let commit = Commit {
        previous_file: "v0.metadata.json",
        now_ms: 1,
    };
    let document = empty.apply(&[Update::AddSnapshot(snapshot)], commit)?;
    let path = format!("{folder}/v1.metadata.json");
    fs::write(&path, document.to_bytes())?;
    Ok(path)
}
