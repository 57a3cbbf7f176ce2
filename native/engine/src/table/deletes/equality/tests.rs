//! Which rows a set of keys takes away, type by type.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, Date32Array, Float64Array, Int32Array, Int64Array, StringArray, StructArray,
};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType, Field as ArrowField, FieldRef, Fields};
use serde_json::{Value as Json, json};

use super::{EqualityDeletes, key_columns};
use crate::error::ErrorKind;
use crate::iceberg::document::{Document, NewTable};
use crate::iceberg::schema::{FIELD_ID_KEY, Field, Schema, Type};
use crate::iceberg::spec::PartitionSpec;
use crate::table::deletes::key_table::KeyTable;

fn field(id: i32, ty: &DataType) -> FieldRef {
    let metadata = HashMap::from([(FIELD_ID_KEY.to_owned(), id.to_string())]);
    Arc::new(ArrowField::new(format!("f{id}"), ty.clone(), true).with_metadata(metadata))
}

fn table(columns: &[ArrayRef], sequence_number: i64) -> Arc<KeyTable> {
    let fields = columns
        .iter()
        .zip(1..)
        .map(|(c, id)| field(id, c.data_type()));
    let mut table = KeyTable::new(fields.collect()).unwrap();
    table.add(columns, sequence_number).unwrap();
    Arc::new(table)
}

/// Which rows of data with sequence number 5 live after deletes with number 6.
fn live(deletes: &[ArrayRef], rows: &[ArrayRef]) -> Vec<bool> {
    let deletes = EqualityDeletes::new(vec![table(deletes, 6)], 5);
    assert_eq!(deletes.fields().len(), rows.len());
    let live = deletes.live(rows).unwrap();
    live.iter().map(Option::unwrap).collect()
}

fn longs(values: &[Option<i64>]) -> ArrayRef {
    Arc::new(Int64Array::from(values.to_vec()))
}

fn texts(values: &[Option<&str>]) -> ArrayRef {
    Arc::new(StringArray::from(values.to_vec()))
}

fn doubles(values: &[f64]) -> ArrayRef {
    Arc::new(Float64Array::from(values.to_vec()))
}

#[test]
fn r_de4_null_equals_null_and_nothing_else() {
    let rows = [longs(&[Some(1), None, Some(2), Some(0)])];
    assert_eq!(
        live(&[longs(&[Some(2), None])], &rows),
        [true, false, false, true]
    );
    assert_eq!(live(&[longs(&[Some(0)])], &rows), [true, true, true, false]);
    let rows = [
        longs(&[Some(1), Some(1), None, None]),
        texts(&[Some("a"), None, Some("a"), None]),
    ];
    let deletes = [longs(&[Some(1), None]), texts(&[None, Some("a")])];
    assert_eq!(live(&deletes, &rows), [true, false, false, true]);
    let days: ArrayRef = Arc::new(Date32Array::from(vec![Some(3), None]));
    assert_eq!(live(&[days.slice(0, 1)], &[days]), [false, true]);
    assert_eq!(
        live(&[texts(&[Some("")])], &[texts(&[None, Some("")])]),
        [true, false]
    );
}

#[test]
fn r_de5_floats_compare_as_java_compares_them() {
    let other_nan = f64::from_bits(0xfff8_0000_0000_0001);
    let rows = [doubles(&[f64::NAN, other_nan, 0.0, -0.0, 1.5])];
    let deletes = [doubles(&[f64::NAN, -0.0])];
    assert_eq!(live(&deletes, &rows), [false, false, true, false, true]);
}

#[test]
fn r_de5_nested_columns_compare_by_their_members_and_an_absent_struct_is_null() {
    let members: Fields = [field(11, &DataType::Int32), field(12, &DataType::Utf8)]
        .into_iter()
        .collect();
    let nested = |ids: Vec<Option<i32>>, names: &[Option<&str>], valid: Vec<bool>| -> ArrayRef {
        let columns: Vec<ArrayRef> = vec![Arc::new(Int32Array::from(ids)), texts(names)];
        let valid = Some(NullBuffer::from(valid));
        Arc::new(StructArray::new(members.clone(), columns, valid))
    };
    let rows = [nested(
        vec![Some(1), Some(1), Some(2), None],
        &[Some("a"), Some("b"), Some("a"), None],
        vec![true, true, false, true],
    )];
    let one = nested(vec![Some(1)], &[Some("a")], vec![true]);
    assert_eq!(live(&[one], &rows), [false, true, true, true]);
    // The values beneath an absent struct are none.
    let absent = nested(vec![Some(2)], &[Some("a")], vec![false]);
    assert_eq!(live(&[absent], &rows), [true, true, false, false]);
    let two = nested(vec![Some(2)], &[Some("a")], vec![true]);
    assert_eq!(live(&[two], &rows), [true; 4]);
}

#[test]
fn r_de4_rows_live_that_are_not_older_than_their_delete() {
    let mut keys = KeyTable::new(vec![field(1, &DataType::Int64)]).unwrap();
    keys.add(&[longs(&[Some(1), None])], 4).unwrap();
    keys.add(&[longs(&[Some(1), Some(2)])], 7).unwrap();
    keys.add(&[longs(&[Some(1)])], 5).unwrap();
    let keys = Arc::new(keys);
    let rows = [longs(&[Some(1), Some(2), None, Some(3)])];
    for (sequence_number, expected) in [
        (3, [false, false, false, true]),
        (4, [false, false, true, true]),
        (6, [false, false, true, true]),
        (7, [true, true, true, true]),
    ] {
        let deletes = EqualityDeletes::new(vec![Arc::clone(&keys)], sequence_number);
        let live: Vec<bool> = deletes.live(&rows).unwrap().iter().flatten().collect();
        assert_eq!(live, expected, "{sequence_number}");
    }
}

#[test]
fn r_de4_several_sets_of_columns_share_the_columns_they_name() {
    let first = table(&[longs(&[Some(1)])], 6);
    let both = table(&[longs(&[Some(2)]), texts(&[Some("b")])], 6);
    let deletes = EqualityDeletes::new(vec![first, both], 5);
    assert_eq!(deletes.fields().len(), 2);
    let rows = [
        longs(&[Some(1), Some(2), Some(2)]),
        texts(&[Some("a"), Some("a"), Some("b")]),
    ];
    let live: Vec<bool> = deletes.live(&rows).unwrap().iter().flatten().collect();
    assert_eq!(live, [false, true, false]);
}

fn document(schemas: Json) -> Document {
    let table = NewTable {
        table_uuid: uuid::Uuid::nil(),
        location: "l".into(),
        schema: Schema::new(0, vec![Field::new(1, "c", true, Type::Int)]).unwrap(),
        spec: PartitionSpec::unpartitioned(),
        properties: std::collections::BTreeMap::new(),
        now_ms: 0,
    };
    let bytes = Document::create(&table).unwrap().to_bytes();
    let mut json: Json = serde_json::from_slice(&bytes).unwrap();
    json["schemas"] = schemas;
    json["current-schema-id"] = 2.into();
    Document::parse(json.to_string().as_bytes()).unwrap()
}

#[test]
fn r_de4_key_columns_come_from_any_schema_the_newest_first() {
    let member = |id: i32, ty: &str| json!({"id": id, "name": format!("m{id}"), "required": true, "type": ty});
    let schema =
        |id: i32, fields: Json| json!({"type": "struct", "schema-id": id, "fields": fields});
    let point = |members: Json| {
        let ty = json!({"type": "struct", "fields": members});
        json!({"id": 3, "name": "p", "required": true, "type": ty})
    };
    let list = json!({"id": 9, "name": "l", "required": false,
        "type": {"type": "list", "element-id": 10, "element-required": true, "element": "int"}});
    let document = document(json!([
        schema(
            0,
            json!([
                member(1, "int"),
                member(2, "int"),
                point(json!([member(4, "int")]))
            ])
        ),
        schema(
            1,
            json!([
                member(2, "long"),
                point(json!([member(4, "int"), member(5, "int")]))
            ])
        ),
        schema(2, json!([point(json!([member(5, "long")])), list])),
    ]));
    let found = key_columns(&document, &[1, 2, 4, 5]).unwrap();
    let shown: Vec<String> = found
        .iter()
        .map(|f| format!("{}: {}", f.name, f.ty))
        .collect();
    assert_eq!(
        shown,
        ["m1: int", "m2: long", "p: struct<m4: int, m5: long>"]
    );
    assert!(found.iter().all(|field| !field.required));
    for (ids, why) in [
        (vec![], "without equality_ids"),
        (vec![77], "77"),
        (vec![3], "3"),
        (vec![10], "10"),
    ] {
        let error = key_columns(&document, &ids).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt);
        assert!(error.to_string().contains(why), "{error}");
    }
}
