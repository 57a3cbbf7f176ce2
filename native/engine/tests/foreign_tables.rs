//! Tables that other engines wrote, read end to end: each gives the rows that its oracles give, or is refused for
//! the reason that is listed here by its name, never a wrong row. The inputs are in `fixtures/iceberg` under
//! `BSDB_SHARED`; without them these tests say so and pass.
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
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::datatypes::DataType;
use arrow::util::display::array_value_to_string;
use benostreamdb::{
    ErrorKind, FileWindow, RangeRows, Result, ScanRequest, Session, SessionOptions, SnapshotRange,
    Split,
};
use futures::TryStreamExt;
use serde_json::Value as Json;

/// The tables that are refused, with the kind and a word of the reason. All others must be read.
const REFUSED: &[(&str, ErrorKind, &str)] = &[
    // Damaged: a name mapping with other ids than the schema, and an id above 64 bits.
    (
        "impala__iceberg_migrated_complex_test",
        ErrorKind::Unsupported,
        "is stored as",
    ),
    (
        "duckdb-iceberg__equality_delete_extra_column",
        ErrorKind::Corrupt,
        "does not fit",
    ),
];
/// The length at which the oracles' values were cut, and the word that stands for what is missing.
const CUT_LENGTH: usize = 200;
const CUT: &str = "\u{2026}";
/// The tables of which the oracles kept the number of rows only, or values in a form of their own.
const COUNTED: [&str; 3] = [
    "duckdb-iceberg__lineitem_iceberg_gz",
    "impala__iceberg_v3_default_value_orc",
    "impala__trino_variant",
];
/// The tables that no oracle could read; tests of their own say what they hold.
const OURS_ALONE: [&str; 1] = ["impala__trino_nested_variant"];

/// Says on the real standard error, which the test runner does not hold back, that a test did nothing.
fn skipped(name: &str) {
    let missing = match std::env::var("BSDB_SHARED") {
        Ok(shared) => format!("no fixtures in BSDB_SHARED={shared}"),
        Err(_) => "BSDB_SHARED is not set".to_owned(),
    };
    let _ = writeln!(std::io::stderr(), "skipped: {name}: {missing}");
}

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
    scan_columns(name, metadata, recorded, None).await
}

async fn scan_columns(
    name: &str,
    metadata: &str,
    recorded: &str,
    projection: Option<Vec<i32>>,
) -> Result<Vec<RecordBatch>> {
    let request = ScanRequest {
        projection,
        ..ScanRequest::default()
    };
    scan_request(name, metadata, recorded, request).await
}

async fn scan_request(
    name: &str,
    metadata: &str,
    recorded: &str,
    request: ScanRequest,
) -> Result<Vec<RecordBatch>> {
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
    // Some hold files beside the table.
    if let Some((above, table)) = recorded.split_once("/warehouse/")
        && let Some(warehouse) = actual.strip_suffix(&format!("/{table}"))
    {
        map_prefix.push((format!("{above}/warehouse"), warehouse.to_owned()));
    }
    let session = Session::open(&SessionOptions {
        warehouse: None,
        options: BTreeMap::new(),
        map_prefix,
    })?;
    let table = session
        .table(&session.table_ref(metadata.to_str().unwrap())?)
        .await?;
    let plan = table.plan_scan(&request).await?;
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

/// The words of a text: what brackets, quotes, commas and blanks separate.
fn split_words(text: &str, words: &mut Vec<String>) {
    let separators = |c: char| c.is_whitespace() || "{}[]()'\",=".contains(c);
    let parts = text
        .split(separators)
        .map(|word| word.trim_end_matches(':'));
    words.extend(parts.filter(|word| !word.is_empty()).map(str::to_owned));
}

/// The words of an oracle's row, spelled as ours: DuckDB's as Python prints them, Java's as `Record(...)`.
fn oracle_words(row: &str) -> Vec<String> {
    let mut words = Vec::new();
    split_words(row.strip_prefix("Record").unwrap_or(row), &mut words);
    let mut spelled = Vec::new();
    for word in words {
        match word.as_str() {
            "None" | "NULL" => spelled.push("null".to_owned()),
            "True" => spelled.push("true".to_owned()),
            "False" => spelled.push("false".to_owned()),
            "Record" | "Decimal" => {}
            _ => {
                let plain = word.trim_end_matches("+00:00").trim_end_matches('Z');
                match plain.split_once('T') {
                    Some((date, time)) if date.len() == 10 && time.contains(':') => {
                        spelled.push(date.to_owned());
                        let seconds = if time.len() == 5 { ":00" } else { "" };
                        spelled.push(format!("{time}{seconds}"));
                    }
                    _ if plain.contains(':') => spelled.push(plain.to_owned()),
                    _ => spelled.push(word),
                }
            }
        }
    }
    spelled
}

/// The words of one of our values; field names of structs where the oracle has them.
fn value_words(array: &ArrayRef, row: usize, names: bool, words: &mut Vec<String>) {
    if array.is_null(row) {
        words.push("null".to_owned());
        return;
    }
    match array.data_type() {
        DataType::Struct(fields) => {
            for (field, column) in fields.iter().zip(array.as_struct().columns()) {
                if names {
                    split_words(field.name(), words);
                }
                value_words(column, row, names, words);
            }
        }
        DataType::List(_) => {
            let items = array.as_list::<i32>().value(row);
            (0..items.len()).for_each(|item| value_words(&items, item, names, words));
        }
        DataType::Map(..) => {
            let entries = array.as_map().value(row);
            for entry in 0..entries.len() {
                value_words(entries.column(0), entry, names, words);
                value_words(entries.column(1), entry, names, words);
            }
        }
        DataType::FixedSizeBinary(16) => {
            let bytes = array.as_fixed_size_binary().value(row).try_into().unwrap();
            words.push(uuid::Uuid::from_bytes(bytes).to_string());
        }
        DataType::FixedSizeBinary(_) => {
            split_words(
                &python_bytes(array.as_fixed_size_binary().value(row)),
                words,
            );
        }
        DataType::Binary => split_words(&python_bytes(array.as_binary::<i32>().value(row)), words),
        DataType::Timestamp(..) => {
            let text = array_value_to_string(array, row).unwrap();
            words.extend(text.trim_end_matches('Z').split('T').map(str::to_owned));
        }
        _ => split_words(&array_value_to_string(array, row).unwrap(), words),
    }
}

fn python_bytes(bytes: &[u8]) -> String {
    let mut text = "b'".to_owned();
    for byte in bytes {
        match byte {
            b' '..=b'~' => text.push(char::from(*byte)),
            _ => write!(text, "\\x{byte:02x}").unwrap(),
        }
    }
    text + "'"
}

/// Whether two words say the same; numbers with a fraction as far as a 32-bit float tells them apart.
fn same_word(ours: &str, theirs: &str) -> bool {
    let number = |word: &str| word.parse::<f64>().ok().filter(|n| n.is_finite());
    match (number(ours), number(theirs)) {
        (Some(a), Some(b)) if ours.contains('.') || theirs.contains('.') => {
            (a - b).abs() <= 1e-7 * a.abs()
        }
        _ => ours == theirs,
    }
}

/// The rows that an oracle kept, as words, and whether they name the fields of structs.
fn oracle_rows(table: &Json) -> Option<(Vec<Vec<String>>, bool)> {
    if let Some(rows) = table["rows_duckdb"].as_array() {
        let cells = |row: &Json| -> Vec<String> {
            let mut words = Vec::new();
            for cell in row.as_array().unwrap() {
                let cell = cell.as_str().unwrap();
                words.extend(oracle_words(cell));
                if cell.chars().count() == CUT_LENGTH {
                    words.pop();
                    words.push(CUT.to_owned());
                }
            }
            words
        };
        return Some((rows.iter().map(cells).collect(), true));
    }
    let rows = table["rows_java"].as_array()?;
    let words = |row: &Json| oracle_words(row.as_str().unwrap());
    Some((rows.iter().map(words).collect(), false))
}

/// The first of our rows that no row of the oracle equals; each row of the oracle is used once.
fn row_without_equal(
    batches: &[RecordBatch],
    mut theirs: Vec<Vec<String>>,
    names: bool,
) -> Option<String> {
    for batch in batches {
        for row in 0..batch.num_rows() {
            let mut ours = Vec::new();
            for column in batch.columns() {
                value_words(column, row, names, &mut ours);
            }
            // Java adds the position to rows of files with deletes.
            let equal = theirs.iter().position(|other| {
                let (other, cut) = match other.split_last() {
                    Some((last, head)) if last == CUT => (head, true),
                    _ => (other.as_slice(), false),
                };
                (cut || other.len() == ours.len() || (!names && other.len() == ours.len() + 1))
                    && ours.iter().zip(other).all(|(a, b)| same_word(a, b))
            });
            match equal {
                Some(found) => drop(theirs.swap_remove(found)),
                None => return Some(format!("{ours:?} is not among {theirs:?}")),
            }
        }
    }
    None
}

/// What is wrong with the rows of a table that was read.
fn misread(name: &str, table: &Json, batches: &[RecordBatch]) -> Option<String> {
    if REFUSED.iter().any(|(refused, ..)| *refused == name) {
        return Some("is read now: take it off the list of refused tables".to_owned());
    }
    if OURS_ALONE.contains(&name) {
        return None;
    }
    let count = batches.iter().map(|b| b.num_rows() as u64).sum::<u64>();
    let engines = table["engines"].as_object().unwrap();
    let oracles: Vec<u64> = engines.values().filter_map(Json::as_u64).collect();
    if !oracles.contains(&count) {
        return Some(format!("{count} rows, oracles {oracles:?}"));
    }
    if COUNTED.contains(&name) {
        return None;
    }
    match oracle_rows(table) {
        Some((theirs, _)) if theirs.len() as u64 != count => {
            Some(format!("{count} rows, the oracle kept {}", theirs.len()))
        }
        Some((theirs, names)) => row_without_equal(batches, theirs, names),
        None => Some("its oracles kept no rows".to_owned()),
    }
}

/// What is wrong with the refusal of a table.
fn misrefused(name: &str, error: &benostreamdb::Error) -> Option<String> {
    let listed = REFUSED.iter().find(|(refused, ..)| *refused == name);
    match listed {
        Some((_, kind, why)) if error.kind() == *kind && error.to_string().contains(why) => None,
        Some((_, kind, why)) => Some(format!("{error}, not {kind:?} because of {why}")),
        None => Some(format!("is refused: {error}")),
    }
}

#[tokio::test]
async fn l12_foreign_tables_give_the_rows_of_their_oracles_or_are_refused() {
    let Ok(text) = std::fs::read_to_string(root().join("expected.json")) else {
        skipped("l12_foreign_tables_give_the_rows_of_their_oracles_or_are_refused");
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
            let problem = match scan(name, metadata, recorded).await {
                Ok(batches) => {
                    read += 1;
                    misread(name, table, &batches)
                }
                Err(error) => {
                    refused += 1;
                    println!("refused {name}: {error}");
                    misrefused(name, &error)
                }
            };
            wrong.extend(problem.map(|problem| format!("{name}: {problem}")));
        }
    }
    println!("{read} read, {refused} refused");
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(read >= 20, "only {read} tables are read");
}

#[test]
fn rows_that_differ_in_one_value_have_no_equal() {
    use arrow::array::{Int64Array, StringArray};
    let batch = RecordBatch::try_from_iter([
        (
            "id",
            std::sync::Arc::new(Int64Array::from(vec![1, 2])) as ArrayRef,
        ),
        (
            "name",
            std::sync::Arc::new(StringArray::from(vec![Some("a b"), None])) as ArrayRef,
        ),
    ])
    .unwrap();
    let check = |rows: [&str; 2]| {
        let theirs = rows.map(oracle_words).to_vec();
        row_without_equal(std::slice::from_ref(&batch), theirs, false)
    };
    assert_eq!(check(["Record(2, null)", "Record(1, a b, 0)"]), None);
    assert!(check(["Record(2, null)", "Record(1, a c)"]).is_some());
    assert!(check(["Record(2, x)", "Record(1, a b)"]).is_some());
    assert!(check(["Record(1, a b)", "Record(1, a b)"]).is_some());
}

#[tokio::test]
async fn row_older_than_its_column_reads_the_initial_default() {
    let name = "impala__iceberg_v3_default_value";
    if !folder(name).exists() {
        skipped("row_older_than_its_column_reads_the_initial_default");
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

/// The snapshot lists its manifests by itself and does not say which commit added them.
#[tokio::test]
async fn append_of_version_1_without_manifest_list_is_read_as_a_commit() {
    let name = "duckdb-iceberg__iceberg_v1_deprecated";
    if !folder(name).exists() {
        skipped("append_of_version_1_without_manifest_list_is_read_as_a_commit");
        return;
    }
    let range = SnapshotRange {
        start_exclusive: None,
        end_inclusive: None,
        rows: RangeRows::Appended,
        window: FileWindow::default(),
    };
    let request = ScanRequest {
        range: Some(range),
        ..ScanRequest::default()
    };
    let recorded = "data/persistent/iceberg_v1_deprecated/default/legacy_v1";
    let metadata = "default/legacy_v1/metadata/v2.metadata.json";
    let found = scan_request(name, metadata, recorded, request).await;
    let expected = [
        ["1", "alpha", "10"],
        ["2", "beta", "20"],
        ["3", "alpha", ""],
    ];
    assert_eq!(rows(&found.unwrap()), expected);
}

#[tokio::test]
async fn r_rl1_row_ids_of_another_engine_are_read() {
    use benostreamdb::iceberg::predicate::reserved;
    let name = "impala__iceberg_v3_row_lineage";
    if !folder(name).exists() {
        skipped("r_rl1_row_ids_of_another_engine_are_read");
        return;
    }
    let recorded = "hdfs://localhost:20500/test-warehouse/iceberg_v3_row_lineage";
    let columns = vec![1, reserved::ROW_ID, reserved::LAST_UPDATED];
    let found = scan_columns(name, "metadata/v5.metadata.json", recorded, Some(columns)).await;
    let expected = [["1", "0", "1"], ["2", "1", "2"], ["3", "2", "3"]];
    assert_eq!(rows(&found.unwrap()), expected);
}

#[tokio::test]
async fn r_ty_orc_row_older_than_its_column_reads_the_initial_default() {
    let name = "impala__iceberg_v3_default_value_orc";
    if !folder(name).exists() {
        skipped("r_ty_orc_row_older_than_its_column_reads_the_initial_default");
        return;
    }
    let recorded = "hdfs://localhost:20500/test-warehouse/iceberg_v3_default_value_orc";
    let found = scan(name, "metadata/v4.metadata.json", recorded).await;
    assert_eq!(rows(&found.unwrap()), [["1", "-1"], ["2", "2"]]);
}

#[tokio::test]
async fn r_ty2_variants_of_another_engine_are_json_text() {
    let name = "impala__trino_variant";
    if !folder(name).exists() {
        skipped("r_ty2_variants_of_another_engine_are_json_text");
        return;
    }
    let found = scan(
        name,
        "metadata/v2.metadata.json",
        "/test-warehouse/trino_variant",
    )
    .await;
    let found: BTreeMap<String, String> = rows(&found.unwrap())
        .into_iter()
        .map(|row| (row[1].clone(), row[2].clone()))
        .collect();
    for (description, text) in [
        ("NULL", ""),
        ("variant null", "null"),
        ("bool true", "true"),
        ("int32 -12345", "-12345"),
        ("int64 1e10", "10000000000"),
        ("double -14.3", "-14.3"),
        ("str hello", r#""hello""#),
        ("array [1,2,3]", "[1,2,3]"),
        ("array empty", "[]"),
        ("array of string", r#"["iceberg","string"]"#),
        ("obj age/name", r#"{"age":30,"name":"Alice"}"#),
        ("obj empty", "{}"),
        ("decimal4 3.14", "3.14"),
        ("date 1957-11-07", r#""1957-11-07""#),
        ("uuid", r#""f24f9b64-81fa-49d1-b74e-8c09a6e31c56""#),
    ] {
        let value = found.get(description).map(String::as_str);
        assert_eq!(value, Some(text), "{description}");
    }
}

#[tokio::test]
async fn r_ty2_variants_inside_lists_maps_and_structs_are_json_text() {
    let name = "impala__trino_nested_variant";
    if !folder(name).exists() {
        skipped("r_ty2_variants_inside_lists_maps_and_structs_are_json_text");
        return;
    }
    let recorded = "hdfs://localhost:20500/test-warehouse/trino_nested_variant-40cf1503a2cd4c6b97611cf70338ffa7";
    let found = scan(name, "metadata/v2.metadata.json", recorded).await;
    let expected = [
        [
            "1",
            "scalars",
            "42",
            r#"[1, "a"]"#,
            r#"{k1: 10, k2: "x"}"#,
            r#"{a: {"age":30}, b: 5}"#,
            "[{v: 7}]",
        ],
        [
            "2",
            "objects/arrays",
            r#"{"name":"Alice"}"#,
            "[[1,2,3]]",
            r#"{obj: {"page":"home","retries":3}}"#,
            r#"{a: ["iceberg","string"], b: 9}"#,
            r#"[{v: {"k":1}}, {v: null}]"#,
        ],
    ];
    assert_eq!(rows(&found.unwrap()), expected);
}
