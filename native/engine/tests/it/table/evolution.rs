//! Schema evolution by other engines: columns are found by field id at every depth, whatever they are called.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, ListArray, RecordBatch, StringArray, StructArray};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{DataType, Field, Fields, Schema};
use benostreamdb::{CompareOp, Predicate, ScanRequest, Session, Table, Value};
use serde_json::{Value as Json, json};

use crate::fixture::{index, lines, memory, name, read, rows};

fn long(id: i32, name: &str) -> Json {
    json!({"id": id, "name": name, "required": false, "type": "long"})
}

/// Publishes the next version of the metadata with other columns, as another engine would.
async fn evolve(table: &Table, fields: &Json, last_column: i32) -> Table {
    let files = table
        .environment()
        .storage()
        .open(&[table.location().clone()]);
    let bytes = files.get(table.metadata_location()).await.unwrap();
    let mut metadata: Json = serde_json::from_slice(&bytes).unwrap();
    let schema = json!({"type": "struct", "schema-id": 1, "fields": fields});
    metadata["schemas"].as_array_mut().unwrap().push(schema);
    metadata["current-schema-id"] = 1.into();
    metadata["last-column-id"] = last_column.into();
    let current = table.metadata_location().name();
    let version: u64 = current["v".len()..current.find('.').unwrap()]
        .parse()
        .unwrap();
    let next = format!("v{}.metadata.json", version + 1);
    let folder = table.location().join("metadata").unwrap();
    let bytes = serde_json::to_vec(&metadata).unwrap();
    files
        .put(&folder.join(&next).unwrap(), bytes.into())
        .await
        .unwrap();
    let table = table.refresh().await.unwrap();
    assert_eq!(table.metadata_location().name(), next);
    table
}

fn longs(values: [i64; 3]) -> ArrayRef {
    Arc::new(Int64Array::from(values.to_vec()))
}

async fn flat(session: &Session) -> Table {
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["x", "y", "z"]));
    let batch = RecordBatch::try_from_iter_with_nullable([
        ("a", longs([1, 2, 3]), true),
        ("b", longs([10, 20, 30]), true),
        ("c", texts, true),
        ("d", longs([7, 8, 9]), true),
    ])
    .unwrap();
    let table = session
        .create_table(&name("t"), &batch.schema(), &BTreeMap::new())
        .await
        .unwrap();
    table.append(&[batch]).await.unwrap();
    table.refresh().await.unwrap()
}

/// `c` renamed and moved to the front, `a` and `b` with each other's name, `d` dropped and added anew.
fn evolved() -> Json {
    json!([
        {"id": 3, "name": "label", "required": false, "type": "string"},
        long(1, "b"),
        long(5, "d"),
        long(2, "a"),
    ])
}

#[tokio::test]
async fn r_sc1_renamed_swapped_and_readded_columns_read_by_field_id() {
    let (session, _) = memory();
    let table = evolve(&flat(&session).await, &evolved(), 5).await;
    assert_eq!(
        rows(&table).await,
        ["x|1|NULL|10", "y|2|NULL|20", "z|3|NULL|30"]
    );
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["u", "v", "w"]));
    let batch = RecordBatch::try_from_iter_with_nullable([
        ("a", longs([40, 50, 60]), true),
        ("b", longs([4, 5, 6]), true),
        ("d", longs([0, 0, 1]), true),
        ("label", texts, true),
    ])
    .unwrap();
    table.append(&[batch]).await.unwrap();
    assert_eq!(
        rows(&table.refresh().await.unwrap()).await,
        [
            "u|4|0|40",
            "v|5|0|50",
            "w|6|1|60",
            "x|1|NULL|10",
            "y|2|NULL|20",
            "z|3|NULL|30"
        ]
    );
}

#[tokio::test]
async fn filter_and_index_after_a_rename_mean_the_field_id() {
    let (session, _) = memory();
    let table = flat(&session).await;
    for column in ["a", "b", "d"] {
        table.create_index(&index("bitmap", column)).await.unwrap();
    }
    let table = evolve(&table, &evolved(), 5).await;
    let equals = |column: i32, value: i64| Predicate::Compare {
        column,
        op: CompareOp::Eq,
        value: Value::Long(value),
    };
    for use_indexes in [false, true] {
        for (predicate, expected) in [
            (equals(1, 2), vec!["y|2|NULL|20"]),
            (equals(2, 20), vec!["y|2|NULL|20"]),
            (equals(1, 20), vec![]),
            (equals(2, 2), vec![]),
            (equals(5, 8), vec![]),
            (
                Predicate::And(vec![Predicate::IsNull { column: 5 }, equals(2, 30)]),
                vec!["z|3|NULL|30"],
            ),
        ] {
            let request = ScanRequest {
                conjuncts: vec![predicate.clone()],
                use_indexes,
                ..ScanRequest::default()
            };
            let found = lines(&read(&table, &request).await.unwrap());
            assert_eq!(found, expected, "{predicate:?}, indexes: {use_indexes}");
        }
    }
}

fn inner() -> Fields {
    ["x", "y", "z"]
        .map(|name| Field::new(name, DataType::Int64, true))
        .into_iter()
        .collect()
}

fn point(first: i64) -> ArrayRef {
    let columns = [0, 10, 20].map(|add| longs([first, first + 1, first + 2].map(|v| v + add)));
    Arc::new(StructArray::new(inner(), columns.to_vec(), None))
}

#[tokio::test]
async fn r_sc1_nested_fields_renamed_swapped_and_readded_read_by_field_id() {
    let (session, _) = memory();
    let element = Arc::new(Field::new("element", DataType::Struct(inner()), true));
    let list = ListArray::new(
        Arc::clone(&element),
        OffsetBuffer::from_lengths([1, 0, 2]),
        point(100),
        None,
    );
    let schema = Schema::new(vec![
        Field::new("s", DataType::Struct(inner()), true),
        Field::new("l", DataType::List(element), true),
    ]);
    let batch =
        RecordBatch::try_new(Arc::new(schema), vec![point(1), Arc::new(list) as ArrayRef]).unwrap();
    let table = session
        .create_table(&name("t"), &batch.schema(), &BTreeMap::new())
        .await
        .unwrap();
    table.append(&[batch]).await.unwrap();
    let table = table.refresh().await.unwrap();
    // The ids that the new table gave to the fields, by path.
    let old = serde_json::to_value(table.schema().unwrap().to_json()).unwrap();
    let mut ids = HashMap::new();
    for column in old["fields"].as_array().unwrap() {
        let nested = column["type"].get("element").unwrap_or(&column["type"]);
        for field in nested["fields"].as_array().unwrap() {
            let path = format!(
                "{}.{}",
                column["name"].as_str().unwrap(),
                field["name"].as_str().unwrap()
            );
            ids.insert(path, field["id"].as_i64().unwrap() as i32);
        }
    }
    let id = |path: &str| ids[path];
    let mut columns = old["fields"].clone();
    columns[0]["type"]["fields"] =
        json!([long(20, "z"), long(id("s.y"), "x"), long(id("s.x"), "y"),]);
    columns[1]["type"]["element"]["fields"] =
        json!([long(id("l.z"), "y"), long(21, "x"), long(id("l.y"), "w"),]);
    let table = evolve(&table, &columns, 21).await;
    let found = lines(&read(&table, &ScanRequest::default()).await.unwrap());
    assert_eq!(
        found,
        [
            "{z: , x: 11, y: 1}|[{y: 120, x: , w: 110}]",
            "{z: , x: 12, y: 2}|[]",
            "{z: , x: 13, y: 3}|[{y: 121, x: , w: 111}, {y: 122, x: , w: 112}]"
        ]
        .map(|line| line.replace(": ,", ": NULL,"))
    );
}
