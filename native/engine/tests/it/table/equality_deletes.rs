//! Equality deletes that other engines wrote: NULLs, several sets of columns, partitions, and columns that were
//! added, dropped, widened or nested since.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{
    Array as _, ArrayRef, Int32Array, Int64Array, RecordBatch, StringArray, StructArray,
};
use arrow::datatypes::{DataType, Field};
use benostreamdb::iceberg::manifest::{DataContent, PartitionValue};
use benostreamdb::{CompareOp, ErrorKind, Predicate, ScanRequest, Session, Table, Value};
use serde_json::{Value as Json, json};

use crate::fixture::{delete_where, equals, lines, memory, name, read, reopened, rows};
use crate::foreign::{commit, equality_deletes, parquet_file, position_deletes, set_columns};

fn longs(values: &[Option<i64>]) -> ArrayRef {
    Arc::new(Int64Array::from(values.to_vec()))
}

fn texts(values: &[Option<&str>]) -> ArrayRef {
    Arc::new(StringArray::from(values.to_vec()))
}

/// Rows of `a`, a long with id 1, and `b`, a string with id 2.
fn pairs(rows: &[(Option<i64>, Option<&str>)]) -> RecordBatch {
    let (a, b): (Vec<_>, Vec<_>) = rows.iter().copied().unzip();
    RecordBatch::try_from_iter_with_nullable([("a", longs(&a), true), ("b", texts(&b), true)])
        .unwrap()
}

async fn pair_table(session: &Session, files: &[&[(Option<i64>, Option<&str>)]]) -> Table {
    let table = session
        .create_table(&name("t"), &pairs(&[]).schema(), &BTreeMap::new())
        .await
        .unwrap();
    for file in files {
        table.append(&[pairs(file)]).await.unwrap();
    }
    table.refresh().await.unwrap()
}

const FOUR: &[(Option<i64>, Option<&str>)] = &[
    (Some(1), Some("x")),
    (Some(2), None),
    (None, Some("x")),
    (None, None),
];

async fn by_a(table: &Table, file: &str, keys: &[Option<i64>]) -> Table {
    let deletes = equality_deletes(table, file, &[(1, "a", longs(keys))], &[1]).await;
    commit(table, vec![deletes], |_| {}).await
}

#[tokio::test]
async fn r_de4_deletes_take_equal_rows_of_older_files_only() {
    let (session, _) = memory();
    let table = pair_table(&session, &[FOUR, &[(Some(1), Some("y"))]]).await;
    let table = by_a(&table, "eq.parquet", &[Some(1), None]).await;
    assert_eq!(rows(&table).await, ["2|NULL"]);
    table.append(&[pairs(FOUR)]).await.unwrap();
    let table = table.refresh().await.unwrap();
    assert_eq!(
        rows(&table).await,
        ["1|x", "2|NULL", "2|NULL", "NULL|NULL", "NULL|x"]
    );
    let fresh = reopened(&session).table(&name("t")).await.unwrap();
    assert_eq!(rows(&fresh).await.len(), 5);
}

#[tokio::test]
async fn r_de4_delete_of_the_same_commit_spares_its_data() {
    let (session, _) = memory();
    let table = pair_table(&session, &[FOUR]).await;
    let columns = [(1, "a", longs(&[Some(1)])), (2, "b", texts(&[Some("new")]))];
    let data = parquet_file(&table, "new.parquet", DataContent::Data, &columns).await;
    let deletes = equality_deletes(&table, "eq.parquet", &columns[..1], &[1]).await;
    let table = commit(&table, vec![data, deletes], |_| {}).await;
    assert_eq!(
        rows(&table).await,
        ["1|new", "2|NULL", "NULL|NULL", "NULL|x"]
    );
}

#[tokio::test]
async fn r_de4_several_sets_of_columns_apply_and_other_columns_of_the_file_do_not() {
    let (session, _) = memory();
    let table = pair_table(&session, &[FOUR]).await;
    // The first compares `b` alone, though its file holds `a` too; the second compares both.
    let both = [(1, "a", longs(&[Some(77)])), (2, "b", texts(&[None]))];
    let first = equality_deletes(&table, "b.parquet", &both, &[2]).await;
    let both = [
        (1, "a", longs(&[Some(1), None])),
        (2, "b", texts(&[None, Some("x")])),
    ];
    let second = equality_deletes(&table, "ab.parquet", &both, &[2, 1]).await;
    let table = commit(&table, vec![first, second], |_| {}).await;
    assert_eq!(rows(&table).await, ["1|x"]);
    // The compared columns are in no projection and in no filter.
    let request = ScanRequest {
        projection: Some(vec![2]),
        conjuncts: vec![Predicate::Compare {
            column: 1,
            op: CompareOp::LtEq,
            value: Value::Long(1),
        }],
        ..ScanRequest::default()
    };
    assert_eq!(lines(&read(&table, &request).await.unwrap()), ["x"]);
    let nothing = ScanRequest {
        projection: Some(Vec::new()),
        ..ScanRequest::default()
    };
    assert_eq!(read(&table, &nothing).await.unwrap().num_rows(), 1);
}

#[tokio::test]
async fn r_de8_counts_see_what_equality_and_position_deletes_left() {
    let (session, _) = memory();
    let table = pair_table(&session, &[FOUR, FOUR]).await;
    let file = crate::foreign::paths(&table, 1).await.remove(0);
    let dead = [
        (Some(file.as_str()), Some(1)),
        (Some(file.as_str()), Some(1)),
    ];
    let positions = position_deletes(&table, "positions.parquet", &dead).await;
    let table = commit(&table, vec![positions], |_| {}).await;
    by_a(&table, "eq.parquet", &[None]).await;
    for (statement, expected) in [
        ("SELECT count(*) FROM t", "3"),
        ("SELECT count(b) FROM t", "2"),
        ("SELECT count(*) FROM t WHERE a IS NULL", "0"),
    ] {
        assert_eq!(
            crate::support::rows(&session, statement).await,
            [expected],
            "{statement}"
        );
    }
}

fn column(id: i32, name: &str, ty: &Json) -> Json {
    json!({"id": id, "name": name, "required": false, "type": ty})
}

#[tokio::test]
async fn r_de4_columns_dropped_since_still_decide() {
    let (session, _) = memory();
    let table = pair_table(&session, &[FOUR]).await;
    let table = by_a(&table, "eq.parquet", &[Some(2), None]).await;
    // Another column has the name now.
    let columns = json!([
        column(2, "b", &"string".into()),
        column(3, "a", &"long".into())
    ]);
    let table = commit(&table, Vec::new(), |json| set_columns(json, columns)).await;
    assert_eq!(rows(&table).await, ["x|NULL"]);
    // Files that never had the column hold NULL in it.
    let new = [(2, "b", texts(&[Some("n")]))];
    let file = parquet_file(&table, "new", DataContent::Data, &new).await;
    let table = commit(&table, vec![file], |_| {}).await;
    assert_eq!(rows(&table).await, ["n|NULL", "x|NULL"]);
    let table = by_a(&table, "eq-2.parquet", &[None]).await;
    assert_eq!(rows(&table).await, ["x|NULL"]);
}

#[tokio::test]
async fn r_de4_columns_added_since_read_null_or_their_default_in_older_files() {
    for (id, key, left) in [(3, Some(0), 2), (3, None, 0), (4, None, 2), (4, Some(7), 0)] {
        let (session, _) = memory();
        let table = pair_table(&session, &[&[(Some(1), None), (Some(2), None)]]).await;
        let mut defaulted = column(4, "d", &"long".into());
        defaulted["initial-default"] = 7.into();
        let plain = column(3, "c", &"long".into());
        let columns = json!([column(1, "a", &"long".into()), plain, defaulted]);
        let table = commit(&table, Vec::new(), |json| set_columns(json, columns)).await;
        let deletes = equality_deletes(&table, "eq", &[(id, "k", longs(&[key]))], &[id]).await;
        let table = commit(&table, vec![deletes], |_| {}).await;
        assert_eq!(rows(&table).await.len(), left, "{id} {key:?}");
    }
}

#[tokio::test]
async fn r_de4_widened_columns_compare_across_their_types() {
    let narrow: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), Some(2), None]));
    for table_type in ["int", "long"] {
        let (session, _) = memory();
        let batch =
            RecordBatch::try_from_iter_with_nullable([("a", narrow.clone(), true)]).unwrap();
        let table = session
            .create_table(&name("t"), &batch.schema(), &BTreeMap::new())
            .await
            .unwrap();
        table.append(&[batch]).await.unwrap();
        let table = table.refresh().await.unwrap();
        let columns = json!([column(1, "a", &table_type.into())]);
        let keys: ArrayRef = match table_type {
            "long" => longs(&[Some(2), Some((1 << 32) + 1)]),
            _ => narrow.slice(1, 1),
        };
        let deletes = equality_deletes(&table, "eq", &[(1, "a", keys)], &[1]).await;
        let table = commit(&table, vec![deletes], |json| set_columns(json, columns)).await;
        assert_eq!(rows(&table).await, ["1", "NULL"], "{table_type}");
        // Keys from before the column was widened reach rows from after it.
        if table_type == "long" {
            let wide = [(1, "a", longs(&[Some(5), Some(6)]))];
            let data = parquet_file(&table, "wide", DataContent::Data, &wide).await;
            let table = commit(&table, vec![data], |_| {}).await;
            let keys: ArrayRef = Arc::new(Int32Array::from(vec![6, 1]));
            let deletes = equality_deletes(&table, "eq-2", &[(1, "a", keys)], &[1]).await;
            let table = commit(&table, vec![deletes], |_| {}).await;
            assert_eq!(rows(&table).await, ["5", "NULL"]);
        }
    }
}

#[tokio::test]
async fn r_de5_members_of_structs_decide() {
    let members = [
        Arc::new(Field::new("x", DataType::Int64, true)),
        Arc::new(Field::new("y", DataType::Utf8, true)),
    ];
    let point = StructArray::new(
        members.to_vec().into(),
        vec![
            longs(&[Some(1), Some(2), Some(3), None]),
            texts(&[Some("a"), Some("b"), Some("c"), Some("d")]),
        ],
        Some(vec![true, true, false, true].into()),
    );
    let batch = RecordBatch::try_from_iter_with_nullable([
        ("id", longs(&[Some(0), Some(1), Some(2), Some(3)]), true),
        ("p", Arc::new(point) as ArrayRef, true),
    ])
    .unwrap();
    for (key, expected) in [
        (Some(2), &["0", "2", "3"][..]),
        (Some(3), &["0", "1", "2", "3"]),
        (None, &["0", "1"]),
    ] {
        let (session, _) = memory();
        let table = session
            .create_table(&name("t"), &batch.schema(), &BTreeMap::new())
            .await
            .unwrap();
        table.append(std::slice::from_ref(&batch)).await.unwrap();
        let table = table.refresh().await.unwrap();
        let root = table.schema().unwrap().column("p").unwrap();
        let member = root
            .ty
            .children()
            .find(|member| member.name == "x")
            .unwrap();
        let (root, member) = (root.id, member.id);
        let inner = crate::foreign::batch(&[(member, "x", longs(&[key]))]);
        let keys: ArrayRef = Arc::new(StructArray::from(inner));
        let deletes = equality_deletes(&table, "eq", &[(root, "p", keys)], &[member]).await;
        let table = commit(&table, vec![deletes], |_| {}).await;
        let request = ScanRequest {
            projection: Some(vec![1]),
            ..ScanRequest::default()
        };
        let found = lines(&read(&table, &request).await.unwrap());
        assert_eq!(found, expected, "{key:?}");
    }
}

#[tokio::test]
async fn r_de4_partitioned_deletes_stay_in_their_partition_and_unpartitioned_ones_do_not() {
    let (session, _) = memory();
    let table = pair_table(&session, &[FOUR]).await;
    let partitioned = |json: &mut Json| {
        let field = json!({"source-id": 2, "field-id": 1000, "name": "b", "transform": "identity"});
        let spec = json!({"spec-id": 1, "fields": [field]});
        json["partition-specs"].as_array_mut().unwrap().push(spec);
        json["last-partition-id"] = 1000.into();
    };
    let within = |mut file: benostreamdb::iceberg::manifest::DataFile, value: &str| {
        file.spec_id = 1;
        file.partition = vec![(1000, Some(PartitionValue::String(value.into())))];
        file
    };
    // The files lack the partition column: it is in the tuple alone.
    let keys = [(1, "a", longs(&[Some(1), Some(2)]))];
    let mut added = Vec::new();
    for value in ["p", "q"] {
        let file = parquet_file(&table, value, DataContent::Data, &keys).await;
        added.push(within(file, value));
    }
    let table = commit(&table, added, partitioned).await;
    assert_eq!(rows(&table).await.len(), 8);
    let scoped = equality_deletes(&table, "scoped", &[(1, "a", longs(&[Some(1)]))], &[1]).await;
    let table = commit(&table, vec![within(scoped, "p")], |_| {}).await;
    let left = ["1|q", "1|x", "2|NULL", "2|p", "2|q", "NULL|NULL", "NULL|x"];
    assert_eq!(rows(&table).await, left);
    let table = by_a(&table, "global", &[Some(2)]).await;
    assert_eq!(rows(&table).await, ["1|q", "1|x", "NULL|NULL", "NULL|x"]);
    // A key that only the tuple holds.
    let of_b = equality_deletes(&table, "b", &[(2, "b", texts(&[Some("q")]))], &[2]).await;
    let table = commit(&table, vec![of_b], |_| {}).await;
    assert_eq!(rows(&table).await, ["1|x", "NULL|NULL", "NULL|x"]);
}

#[tokio::test]
async fn r_de4_our_deletes_add_to_equality_deletes_and_count_no_row_twice() {
    let (session, _) = memory();
    let table = pair_table(&session, &[FOUR]).await;
    let table = by_a(&table, "eq.parquet", &[Some(1)]).await;
    let outcome = delete_where(&table, equals(&table, "b", Value::String("x".into())))
        .await
        .unwrap();
    assert_eq!(outcome.deleted_rows, 1);
    let table = table.refresh().await.unwrap();
    assert_eq!(rows(&table).await, ["2|NULL", "NULL|NULL"]);
    let updated = crate::support::rows(&session, "UPDATE t SET b = 'u' WHERE a IS NULL").await;
    assert_eq!(updated, ["1"]);
    let table = table.refresh().await.unwrap();
    assert_eq!(rows(&table).await, ["2|NULL", "NULL|u"]);
    let removed = crate::support::rows(&session, "DELETE FROM t").await;
    assert_eq!(removed, ["2"]);
    let table = table.refresh().await.unwrap();
    assert!(rows(&table).await.is_empty());
    let summary = &table.snapshot().unwrap().summary;
    assert_eq!(summary["removed-equality-deletes"], "1");
}

#[tokio::test]
async fn r_de4_many_delete_files_are_each_read_once_for_all_data_files() {
    let (session, store) = memory();
    let files: Vec<Vec<(Option<i64>, Option<&str>)>> = (0..20)
        .map(|file| (0..50).map(|row| (Some(file * 50 + row), None)).collect())
        .collect();
    let files: Vec<&[(Option<i64>, Option<&str>)]> = files.iter().map(Vec::as_slice).collect();
    let mut table = pair_table(&session, &files).await;
    let mut deletes = Vec::new();
    for number in 0..40 {
        let keys: Vec<Option<i64>> = (0..10).map(|key| Some(key * 100 + number)).collect();
        let file = format!("eq-{number}.parquet");
        deletes.push(equality_deletes(&table, &file, &[(1, "a", longs(&keys))], &[1]).await);
    }
    table = commit(&table, deletes, |_| {}).await;
    store.reset();
    let request = ScanRequest {
        min_splits: 4,
        target_split_bytes: 1,
        ..ScanRequest::default()
    };
    for _ in 0..2 {
        let found = read(&table, &request).await.unwrap();
        assert_eq!(found.num_rows(), 1_000 - 400);
    }
    let reads = store.reads();
    let of_deletes: Vec<_> = reads
        .iter()
        .filter(|(path, _)| path.contains("eq-"))
        .collect();
    assert_eq!(of_deletes.len(), 40);
    assert!(
        of_deletes.iter().all(|(_, count)| count.gets <= 3),
        "{of_deletes:?}"
    );
    // A split says each delete file once, however many data files it has.
    let whole = table.plan_scan(&ScanRequest::default()).await.unwrap();
    assert_eq!(whole.splits.len(), 1);
    let bytes = String::from_utf8(whole.splits[0].to_bytes().unwrap()[6..].to_vec()).unwrap();
    assert_eq!(bytes.matches("eq-17.parquet").count(), 1);
}

#[tokio::test]
async fn r_de4_delete_files_that_lack_or_misname_their_columns_are_corrupt() {
    for (columns, ids, why) in [
        (
            vec![(2, "b", texts(&[None]))],
            vec![1],
            "lacks the column 'a'",
        ),
        (
            vec![(1, "a", longs(&[None]))],
            vec![],
            "without equality_ids",
        ),
        (
            vec![(1, "a", longs(&[None]))],
            vec![9],
            "equality_ids name 9",
        ),
    ] {
        let (session, _) = memory();
        let table = pair_table(&session, &[FOUR]).await;
        let deletes = equality_deletes(&table, "eq.parquet", &columns, &ids).await;
        let table = commit(&table, vec![deletes], |_| {}).await;
        let error = read(&table, &ScanRequest::default()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
        let text = error.to_string();
        assert!(text.contains(why) && text.contains("eq.parquet"), "{text}");
    }
}
