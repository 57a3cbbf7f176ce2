//! The metadata columns of rows: where a row lies, whether it is deleted, its partition and its lineage.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use arrow::datatypes::{DataType, Field, Schema};
use benostreamdb::iceberg::manifest::PartitionValue;
use benostreamdb::iceberg::predicate::reserved;
use benostreamdb::{CompareOp, ErrorKind, Predicate, ScanRequest, Session, Table, Value};
use serde_json::json;

use super::foreign::{add_file, column, edit, parquet, set_fields};
use crate::fixture::{delete_where, lines, memory, name, read};

fn ids(values: impl IntoIterator<Item = i64>) -> RecordBatch {
    let schema = Schema::new(vec![Field::new("id", DataType::Int64, true)]);
    let values: ArrayRef = Arc::new(Int64Array::from_iter_values(values));
    RecordBatch::try_new(Arc::new(schema), vec![values]).unwrap()
}

async fn id_table(session: &Session) -> Table {
    session
        .create_table(&name("t"), &ids([]).schema(), &BTreeMap::new())
        .await
        .unwrap()
}

async fn append(table: &Table, values: impl IntoIterator<Item = i64>) -> Table {
    table.append(&[ids(values)]).await.unwrap();
    table.refresh().await.unwrap()
}

async fn upgrade(table: &Table) -> Table {
    edit(table, |metadata| {
        metadata["format-version"] = 3.into();
        metadata["next-row-id"] = 0.into();
    })
    .await
}

/// The rows of a scan in order of their text.
async fn select(table: &Table, columns: &[i32], conjuncts: Vec<Predicate>) -> Vec<String> {
    let request = ScanRequest {
        projection: Some(columns.to_vec()),
        conjuncts,
        ..ScanRequest::default()
    };
    let mut found = lines(&read(table, &request).await.unwrap());
    found.sort();
    found
}

fn compare(column: i32, op: CompareOp, value: Value) -> Predicate {
    Predicate::Compare { column, op, value }
}

const LINEAGE: [i32; 3] = [1, reserved::ROW_ID, reserved::LAST_UPDATED];

/// A file of ids in format version 3, which the engine does not write.
async fn add_ids(table: &Table, name: &str, values: impl IntoIterator<Item = i64>) -> Table {
    let id = ("PARQUET:field_id".to_owned(), "1".to_owned());
    let field = Field::new("id", DataType::Int64, true).with_metadata(HashMap::from([id]));
    let columns = vec![column(Int64Array::from_iter_values(values))];
    let batch = RecordBatch::try_new(Arc::new(Schema::new(vec![field])), columns).unwrap();
    add_file(
        table,
        name,
        parquet(&batch),
        batch.num_rows() as u64,
        |_| {},
    )
    .await
}

#[tokio::test]
async fn r_rl1_row_ids_are_inherited_by_place_and_sequence_number() {
    let (session, _) = memory();
    let table = upgrade(&id_table(&session).await).await;
    let table = add_ids(&table, "a", 10..13).await;
    let table = add_ids(&table, "b", 20..22).await;
    let all = ["10|0|1", "11|1|1", "12|2|1", "20|3|2", "21|4|2"];
    assert_eq!(select(&table, &LINEAGE, vec![]).await, all);
    // Whatever is pruned or filtered, ids stay.
    let last = compare(1, CompareOp::Eq, Value::Long(21));
    assert_eq!(select(&table, &LINEAGE, vec![last]).await, ["21|4|2"]);
}

#[tokio::test]
async fn r_rl1_rows_from_before_an_upgrade_get_ids_with_the_next_commit() {
    let (session, _) = memory();
    let table = append(&id_table(&session).await, 10..13).await;
    delete_where(&table, compare(1, CompareOp::Eq, Value::Long(11)))
        .await
        .unwrap();
    let table = append(&table.refresh().await.unwrap(), 20..22).await;
    let nothing = [
        "10|NULL|NULL",
        "12|NULL|NULL",
        "20|NULL|NULL",
        "21|NULL|NULL",
    ];
    assert_eq!(select(&table, &LINEAGE, vec![]).await, nothing);
    let table = upgrade(&table).await;
    assert_eq!(select(&table, &LINEAGE, vec![]).await, nothing);
    let table = add_ids(&table, "new", [30]).await;
    // The newest manifest comes first in the list; the deleted row keeps its id for itself.
    let all = ["10|3|1", "12|5|1", "20|1|3", "21|2|3", "30|0|4"];
    assert_eq!(select(&table, &LINEAGE, vec![]).await, all);
}

/// Rows that were moved here with some of their ids stored.
fn moved() -> Vec<u8> {
    let with_id = |name: &str, id: i32| {
        let id = ("PARQUET:field_id".to_owned(), id.to_string());
        Field::new(name, DataType::Int64, true).with_metadata(HashMap::from([id]))
    };
    let schema = Schema::new(vec![
        with_id("id", 1),
        with_id("_row_id", reserved::ROW_ID),
        with_id("_last_updated_sequence_number", reserved::LAST_UPDATED),
    ]);
    let columns = vec![
        column(Int64Array::from(vec![1, 2, 3])),
        column(Int64Array::from(vec![Some(500), None, Some(502)])),
        column(Int64Array::from(vec![Some(7), Some(8), None])),
    ];
    parquet(&RecordBatch::try_new(Arc::new(schema), columns).unwrap())
}

#[tokio::test]
async fn r_rl2_stored_row_ids_go_first_and_filters_see_the_result() {
    let (session, _) = memory();
    let table = upgrade(&id_table(&session).await).await;
    let table = add_ids(&table, "first", [0]).await;
    let table = add_file(&table, "moved", moved(), 3, |_| {}).await;
    let all = ["0|0|1", "1|500|7", "2|2|8", "3|502|2"];
    assert_eq!(select(&table, &LINEAGE, vec![]).await, all);
    let equal = |column, value| compare(column, CompareOp::Eq, Value::Long(value));
    for (column, value, expected) in [
        (reserved::ROW_ID, 2, vec!["2"]),
        (reserved::ROW_ID, 500, vec!["1"]),
        (reserved::ROW_ID, 1, vec![]),
        (reserved::LAST_UPDATED, 2, vec!["3"]),
        (reserved::LAST_UPDATED, 8, vec!["2"]),
    ] {
        let found = select(&table, &[1], vec![equal(column, value)]).await;
        assert_eq!(found, expected, "{column} = {value}");
    }
}

#[tokio::test]
async fn r_rl1_file_without_a_first_row_id_has_no_row_ids() {
    let (session, _) = memory();
    let table = id_table(&session).await;
    let table = add_file(&table, "moved", moved(), 3, |_| {}).await;
    let nothing = ["1|NULL|NULL", "2|NULL|NULL", "3|NULL|NULL"];
    assert_eq!(select(&table, &LINEAGE, vec![]).await, nothing);
    let null = Predicate::IsNull {
        column: reserved::ROW_ID,
    };
    assert_eq!(select(&table, &[1], vec![null]).await, ["1", "2", "3"]);
}

#[tokio::test]
async fn deleted_rows_come_only_where_it_is_asked_for() {
    let (session, _) = memory();
    let table = append(&append(&id_table(&session).await, 0..3).await, 3..5).await;
    let odd = Predicate::In {
        column: 1,
        values: vec![Value::Long(1), Value::Long(3)],
        has_null: false,
    };
    delete_where(&table, odd).await.unwrap();
    let table = table.refresh().await.unwrap();
    assert_eq!(select(&table, &[1], vec![]).await, ["0", "2", "4"]);
    let columns = [1, reserved::POS, reserved::DELETED];
    let all = [
        "0|0|false",
        "1|1|true",
        "2|2|false",
        "3|0|true",
        "4|1|false",
    ];
    assert_eq!(select(&table, &columns, vec![]).await, all);
    let deleted = |value| compare(reserved::DELETED, CompareOp::Eq, Value::Boolean(value));
    assert_eq!(select(&table, &[1], vec![deleted(true)]).await, ["1", "3"]);
    let large = compare(1, CompareOp::Gt, Value::Long(1));
    let found = select(&table, &[reserved::DELETED, 1], vec![large]).await;
    assert_eq!(found, ["false|2", "false|4", "true|3"]);
}

#[tokio::test]
async fn partition_has_the_fields_of_all_specs() {
    let (session, _) = memory();
    let table = append(&id_table(&session).await, [1]).await;
    let spec = |id: i32, fields: serde_json::Value| json!({"spec-id": id, "fields": fields});
    let field = |id: i32, name: &str, transform: &str| json!({"name": name, "transform": transform, "source-id": 1, "field-id": id});
    let table = edit(&table, |metadata| {
        let specs = json!([
            spec(0, json!([])),
            spec(1, json!([field(1000, "old", "identity")])),
            spec(
                2,
                json!([
                    field(1001, "bucket", "bucket[4]"),
                    field(1000, "new", "identity")
                ])
            ),
        ]);
        metadata["partition-specs"] = specs;
        metadata["default-spec-id"] = 1.into();
        metadata["last-partition-id"] = 1001.into();
    })
    .await;
    let schema = Schema::new(vec![Field::new("x", DataType::Int64, true).with_metadata(
        HashMap::from([("PARQUET:field_id".to_owned(), "9".to_owned())]),
    )]);
    let none = column(Int64Array::from(vec![None]));
    let other = parquet(&RecordBatch::try_new(Arc::new(schema), vec![none]).unwrap());
    let integer = |value| Some(PartitionValue::Integer(value));
    let table = add_file(&table, "one", other.clone(), 1, |f| {
        f.spec_id = 1;
        f.partition = vec![(1000, integer(7))];
    })
    .await;
    let table = edit(&table, |metadata| metadata["default-spec-id"] = 2.into()).await;
    let table = add_file(&table, "two", other, 1, |f| {
        f.spec_id = 2;
        f.partition = vec![(1001, integer(3)), (1000, None)];
    })
    .await;
    let columns = [1, reserved::SPEC_ID, reserved::PARTITION];
    assert_eq!(
        select(&table, &columns, vec![]).await,
        [
            "1|0|{new: NULL, bucket: NULL}",
            "7|1|{new: 7, bucket: NULL}",
            "NULL|2|{new: NULL, bucket: 3}",
        ]
    );
    let of_spec = compare(reserved::SPEC_ID, CompareOp::GtEq, Value::Int(2));
    let request = ScanRequest {
        projection: Some(vec![1]),
        conjuncts: vec![of_spec],
        ..ScanRequest::default()
    };
    let plan = table.plan_scan(&request).await.unwrap();
    assert_eq!(plan.report.files_pruned_by_statistics, 2);
    assert_eq!(lines(&read(&table, &request).await.unwrap()), ["NULL"]);
    let table = edit(&table, |metadata| {
        metadata["partition-specs"][1]["fields"][0]["transform"] = "swirl[4]".into();
    })
    .await;
    let error = table
        .plan_scan(&ScanRequest {
            projection: Some(vec![reserved::PARTITION]),
            ..ScanRequest::default()
        })
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("swirl"), "{error}");
}

#[tokio::test]
async fn file_and_position_of_a_row_are_filtered_by() {
    let (session, _) = memory();
    let table = append(&append(&id_table(&session).await, 0..3).await, 3..5).await;
    let files = select(&table, &[1, reserved::FILE], vec![]).await;
    let file = files[4].split_once('|').unwrap().1.to_owned();
    let of_file = compare(reserved::FILE, CompareOp::Eq, Value::String(file));
    assert_eq!(select(&table, &[1], vec![of_file]).await, ["3", "4"]);
    let second = compare(reserved::POS, CompareOp::Eq, Value::Long(1));
    assert_eq!(select(&table, &[1], vec![second]).await, ["1", "4"]);
}

#[tokio::test]
async fn column_that_is_named_like_a_metadata_column_is_its_own() {
    let (session, _) = memory();
    let table = edit(
        &append(&id_table(&session).await, [5, 6]).await,
        |metadata| {
            let fields = json!([{"id": 1, "name": "_pos", "required": false, "type": "long"}]);
            set_fields(metadata, fields, 1);
        },
    )
    .await;
    assert_eq!(
        select(&table, &[1, reserved::POS], vec![]).await,
        ["5|0", "6|1"]
    );
    let six = compare(1, CompareOp::Eq, Value::Long(6));
    assert_eq!(select(&table, &[reserved::POS], vec![six]).await, ["1"]);
}

#[tokio::test]
async fn r_sc8_metadata_columns_are_named_in_sql_and_hidden_from_the_wildcard() {
    use crate::support::{error, line};
    let (session, _) = memory();
    let table = append(&append(&id_table(&session).await, 0..3).await, 3..5).await;
    delete_where(&table, compare(1, CompareOp::Eq, Value::Long(1)))
        .await
        .unwrap();
    for (text, expected) in [
        ("SELECT * FROM t WHERE _pos = 0 ORDER BY id", "0 3"),
        (
            "SELECT _pos, t.* FROM t WHERE id > 1 ORDER BY id",
            "2|2 0|3 1|4",
        ),
        (
            "SELECT *, _deleted FROM t WHERE id < 2 ORDER BY id",
            "0|false 1|true",
        ),
        ("SELECT count(*) FROM t WHERE _deleted", "1"),
        ("SELECT count(DISTINCT _file), min(_spec_id) FROM t", "2|0"),
        ("SELECT count(_row_id), count(*) FROM t", "0|4"),
        (
            "SELECT count(*) FROM t WHERE _last_updated_sequence_number IS NULL",
            "4",
        ),
        (
            "SELECT * FROM t a, t b WHERE a._pos = 1 AND b.id = a.id",
            "4|4",
        ),
        (
            "SELECT a.*, b._pos FROM t a JOIN t b ON a.id = b.id WHERE a.id = 3",
            "3|0",
        ),
        (
            "WITH c AS (SELECT id, _pos FROM t) SELECT * FROM c WHERE id = 4",
            "4|1",
        ),
        (
            "SELECT * FROM (SELECT id, \"_pos\" AS place FROM t) d WHERE place = 2",
            "2|2",
        ),
        ("SELECT * FROM t ORDER BY id LIMIT 1", "0"),
    ] {
        assert_eq!(line(&session, text).await, expected, "{text}");
    }
    let refused = error(&session, "SELECT *, a._pos FROM t a JOIN t b USING (id)").await;
    assert_eq!(refused.kind(), ErrorKind::Unsupported, "{refused}");
    let unknown = error(&session, "SELECT _position FROM t").await;
    assert_eq!(unknown.kind(), ErrorKind::InvalidInput, "{unknown}");
}
