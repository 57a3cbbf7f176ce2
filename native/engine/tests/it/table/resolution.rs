//! Columns of files that other writers made: found without field ids, defaulted at every depth, read in
//! every physical form of their type.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, Date32Array, Decimal128Array, Float32Array, Int32Array, Int64Array, ListArray,
    MapArray, RecordBatch, StringArray, StructArray, Time32MillisecondArray,
    TimestampMillisecondArray, TimestampNanosecondArray,
};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::{DataType, Field, Fields, Schema};
use benostreamdb::iceberg::manifest::PartitionValue;
use benostreamdb::{CompareOp, ErrorKind, Predicate, ScanRequest, Session, Table, Value};
use parquet::data_type::{ByteArray, ByteArrayType, FixedLenByteArrayType, Int32Type, Int64Type};
use parquet::data_type::{FixedLenByteArray, Int96, Int96Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use serde_json::{Value as Json, json};

use super::foreign::{add_file, batch, column, edit, parquet, set_fields};
use crate::fixture::{lines, memory, name, read, rows};

/// An empty table with these columns.
async fn table_of(session: &Session, fields: Json, last_column: i32) -> Table {
    let schema = Schema::new(vec![Field::new("unused", DataType::Int64, true)]);
    let table = session
        .create_table(&name("t"), &schema, &BTreeMap::new())
        .await
        .unwrap();
    edit(&table, |metadata| set_fields(metadata, fields, last_column)).await
}

async fn filtered(table: &Table, predicate: Predicate) -> Vec<String> {
    let request = ScanRequest {
        conjuncts: vec![predicate],
        ..ScanRequest::default()
    };
    lines(&read(table, &request).await.unwrap())
}

fn field(id: i32, name: &str, ty: &str) -> Json {
    json!({"id": id, "name": name, "required": false, "type": ty})
}

fn compare(column: i32, op: CompareOp, value: Value) -> Predicate {
    Predicate::Compare { column, op, value }
}

fn with_id(field: Field, id: i32) -> Field {
    field.with_metadata(HashMap::from([("PARQUET:field_id".into(), id.to_string())]))
}

fn with_mapping(metadata: &mut Json, mapping: &Json) {
    metadata["properties"]["schema.name-mapping.default"] = mapping.to_string().into();
}

/// A file of a name with a dot, a struct, a list of structs and a map, all without ids.
fn nested_file() -> Vec<u8> {
    let point = |first: i64| -> StructArray {
        let fields: Fields = ["x", "y"]
            .map(|name| Field::new(name, DataType::Int64, true))
            .into_iter()
            .collect();
        let column = |add: i64| column(Int64Array::from(vec![first + add, first + add + 1]));
        StructArray::new(fields, vec![column(0), column(10)], None)
    };
    let element = Arc::new(Field::new("item", point(1).data_type().clone(), true));
    let list = ListArray::new(
        element,
        OffsetBuffer::from_lengths([2, 0]),
        column(point(100)),
        None,
    );
    let entries = StructArray::from(vec![
        (
            Arc::new(Field::new("k", DataType::Utf8, false)),
            column(StringArray::from(vec!["p", "q"])),
        ),
        (
            Arc::new(Field::new("v", DataType::Int64, true)),
            column(Int64Array::from(vec![7, 8])),
        ),
    ]);
    let map = MapArray::new(
        Arc::new(Field::new("entries", entries.data_type().clone(), false)),
        OffsetBuffer::from_lengths([1, 1]),
        entries,
        None,
        false,
    );
    parquet(&batch(vec![
        ("a.b", column(Int64Array::from(vec![1, 2]))),
        ("s", column(point(1))),
        ("l", column(list)),
        ("m", column(map)),
        ("extra", column(Int64Array::from(vec![0, 0]))),
    ]))
}

#[tokio::test]
async fn r_sc3_files_without_ids_are_read_by_name_mapping() {
    let (session, _) = memory();
    let fields = json!([
        {"id": 4, "name": "l", "required": false, "type": {"type": "list", "element-id": 9,
            "element-required": false, "element": {"type": "struct", "fields": [field(11, "why", "long"), field(10, "x", "long")]}}},
        {"id": 2, "name": "renamed", "required": false, "type": "long"},
        {"id": 3, "name": "s", "required": false, "type": {"type": "struct", "fields": [field(8, "y", "long"), field(20, "new", "long")]}},
        {"id": 5, "name": "m", "required": false, "type": {"type": "map", "key-id": 12, "key": "string",
            "value-id": 13, "value-required": false, "value": "long"}},
        field(6, "extra", "long"),
    ]);
    let table = table_of(&session, fields, 20).await;
    let mapping = json!([
        {"field-id": 2, "names": ["renamed", "a.b"]},
        {"field-id": 3, "names": ["s"], "fields": [{"field-id": 7, "names": ["x"]}, {"field-id": 8, "names": ["y"]}]},
        {"field-id": 4, "names": ["l"], "fields": [{"field-id": 9, "names": ["element"],
            "fields": [{"field-id": 10, "names": ["x"]}, {"field-id": 11, "names": ["y"]}]}]},
        {"field-id": 5, "names": ["m"], "fields": [{"field-id": 12, "names": ["key"]}, {"field-id": 13, "names": ["value"]}]},
        {"names": ["extra"]},
    ]);
    let table = edit(&table, |metadata| with_mapping(metadata, &mapping)).await;
    let table = add_file(&table, "f", nested_file(), 2, |_| {}).await;
    assert_eq!(
        rows(&table).await,
        [
            "[]|2|{y: 12, new: NULL}|{q: 8}|NULL",
            "[{why: 110, x: 100}, {why: 111, x: 101}]|1|{y: 11, new: NULL}|{p: 7}|NULL",
        ]
    );
    let found = filtered(&table, compare(2, CompareOp::Eq, Value::Long(2))).await;
    assert_eq!(found, ["[]|2|{y: 12, new: NULL}|{q: 8}|NULL"]);
    let found = filtered(&table, Predicate::IsNull { column: 6 }).await;
    assert_eq!(found.len(), 2);
}

#[tokio::test]
async fn r_sc3_damaged_mapping_is_an_error_and_not_null() {
    let (session, _) = memory();
    let table = table_of(&session, json!([field(2, "a", "long")]), 2).await;
    let table = edit(&table, |metadata| with_mapping(metadata, &json!({}))).await;
    let table = add_file(&table, "f", nested_file(), 2, |_| {}).await;
    let error = read(&table, &ScanRequest::default()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(error.to_string().contains("name mapping"), "{error}");
}

#[tokio::test]
async fn r_sc3_files_without_ids_and_mapping_are_read_by_place() {
    let (session, _) = memory();
    let fields = json!([
        field(1, "first", "long"),
        {"id": 2, "name": "s", "required": false, "type": {"type": "struct", "fields": [field(8, "y", "long")]}},
        field(5, "last", "long"),
        field(6, "later", "long"),
    ]);
    let table = table_of(&session, fields, 8).await;
    let table = add_file(&table, "f", nested_file(), 2, |_| {}).await;
    assert_eq!(rows(&table).await, ["1|{y: 11}|0|NULL", "2|{y: 12}|0|NULL"]);
}

#[tokio::test]
async fn r_sc2_partition_value_goes_before_mapping_and_default() {
    let (session, _) = memory();
    let mut defaulted = field(3, "p", "string");
    defaulted["initial-default"] = "default".into();
    let fields = json!([field(2, "id", "long"), defaulted]);
    let table = table_of(&session, fields, 3).await;
    let mapping = json!([{"field-id": 2, "names": ["id"]}, {"field-id": 3, "names": ["p"]}]);
    let table = edit(&table, |metadata| {
        with_mapping(metadata, &mapping);
        metadata["partition-specs"] = json!([{"spec-id": 0, "fields": [
            {"name": "p", "transform": "identity", "source-id": 3, "field-id": 1000}]}]);
        metadata["last-partition-id"] = 1000.into();
    })
    .await;
    let bare = batch(vec![("id", column(Int64Array::from(vec![1])))]);
    let full = batch(vec![
        ("id", column(Int64Array::from(vec![2]))),
        ("p", column(StringArray::from(vec!["in the file"]))),
    ]);
    let value = |text: &str| vec![(1000, Some(PartitionValue::String(text.into())))];
    let null = vec![(1000, None)];
    let table = add_file(&table, "f1", parquet(&bare), 1, |f| {
        f.partition = value("a")
    })
    .await;
    let table = add_file(&table, "f2", parquet(&full), 1, |f| {
        f.partition = value("b")
    })
    .await;
    let table = add_file(&table, "f3", parquet(&bare), 1, |f| f.partition = null).await;
    assert_eq!(rows(&table).await, ["1|NULL", "1|a", "2|b"]);
    let equal = compare(3, CompareOp::Eq, Value::String("b".into()));
    assert_eq!(filtered(&table, equal).await, ["2|b"]);
    let found = filtered(&table, Predicate::IsNull { column: 3 }).await;
    assert_eq!(found, ["1|NULL"]);
}

/// Files older than most columns: an id alone, and an id with a struct, a list of structs and a map of structs
/// that have one member.
async fn old_files(table: &Table) -> Table {
    let id = |values: Vec<i64>| column(Int64Array::from(values));
    let inner = |id: i32| Fields::from(vec![with_id(Field::new("x", DataType::Int64, true), id)]);
    let member = |id: i32, values: Vec<i64>, nulls: Option<NullBuffer>| {
        StructArray::new(inner(id), vec![column(Int64Array::from(values))], nulls)
    };
    let point = member(6, vec![5, 6], Some(NullBuffer::from(vec![true, false])));
    let element = with_id(Field::new("element", DataType::Struct(inner(8)), true), 7);
    let list = ListArray::new(
        Arc::new(element),
        OffsetBuffer::from_lengths([1, 1]),
        column(member(8, vec![1, 2], None)),
        None,
    );
    let key = with_id(Field::new("key", DataType::Utf8, false), 9);
    let value = with_id(Field::new("value", DataType::Struct(inner(11)), true), 10);
    let entries = StructArray::new(
        Fields::from(vec![key, value]),
        vec![
            column(StringArray::from(vec!["k", "k"])),
            column(member(11, vec![3, 4], None)),
        ],
        None,
    );
    let map = MapArray::new(
        Arc::new(Field::new("key_value", entries.data_type().clone(), false)),
        OffsetBuffer::from_lengths([1, 1]),
        entries,
        None,
        false,
    );
    let columns: [(&str, i32, ArrayRef); 4] = [
        ("id", 2, id(vec![1, 2])),
        ("s", 3, column(point)),
        ("l", 4, column(list)),
        ("m", 5, column(map)),
    ];
    let fields: Vec<Field> = columns
        .iter()
        .map(|(name, id, c)| with_id(Field::new(*name, c.data_type().clone(), true), *id))
        .collect();
    let arrays = columns.iter().map(|(_, _, c)| Arc::clone(c)).collect();
    let nested = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).unwrap();
    let only = with_id(Field::new("id", DataType::Int64, true), 2);
    let bare = RecordBatch::try_new(Arc::new(Schema::new(vec![only])), vec![id(vec![3])]).unwrap();
    let table = add_file(table, "f1", parquet(&nested), 2, |_| {}).await;
    add_file(&table, "f2", parquet(&bare), 1, |_| {}).await
}

#[tokio::test]
async fn r_sc4_defaults_stand_for_absent_fields_at_every_depth() {
    let (session, _) = memory();
    let defaulted = |id: i32, name: &str, value: Json| {
        let mut field = field(id, name, "long");
        field["initial-default"] = value;
        field
    };
    let members = |x: i32, y: i32| json!({"type": "struct", "fields": [field(x, "x", "long"), defaulted(y, "y", 70.into())]});
    let fields = json!([
        field(2, "id", "long"),
        {"id": 3, "name": "s", "required": false, "initial-default": {}, "type": members(6, 20)},
        {"id": 4, "name": "l", "required": false, "type": {"type": "list", "element-id": 7, "element-required": false, "element": members(8, 21)}},
        {"id": 5, "name": "m", "required": false, "type": {"type": "map", "key-id": 9, "key": "string",
            "value-id": 10, "value-required": false, "value": members(11, 22)}},
        defaulted(23, "d", 9.into()),
        {"id": 24, "name": "e", "required": false, "initial-default": [1, 2],
            "type": {"type": "list", "element-id": 25, "element-required": true, "element": "int"}},
    ]);
    let table = old_files(&table_of(&session, fields, 25).await).await;
    let older = "{x: 5, y: 70}|[{x: 1, y: 70}]|{k: {x: 3, y: 70}}|9|[1, 2]";
    let null = "NULL|[{x: 2, y: 70}]|{k: {x: 4, y: 70}}|9|[1, 2]";
    let oldest = "{x: NULL, y: 70}|NULL|NULL|9|[1, 2]";
    let expected = [
        format!("1|{older}"),
        format!("2|{null}"),
        format!("3|{oldest}"),
    ];
    assert_eq!(rows(&table).await, expected);
    let of = |op, value: i64| compare(23, op, Value::Long(value));
    assert_eq!(filtered(&table, of(CompareOp::Eq, 9)).await.len(), 3);
    assert_eq!(filtered(&table, of(CompareOp::Gt, 9)).await.len(), 0);
    let absent = Predicate::IsNull { column: 23 };
    assert_eq!(filtered(&table, absent).await.len(), 0);
}

#[tokio::test]
async fn r_sc4_required_column_without_default_is_an_error() {
    let (session, _) = memory();
    let mut required = field(20, "r", "long");
    required["required"] = true.into();
    let fields = json!([field(2, "id", "long"), required]);
    let table = old_files(&table_of(&session, fields, 20).await).await;
    let error = read(&table, &ScanRequest::default()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(error.to_string().contains("required column r"), "{error}");
}

/// One file with one column of an old type.
async fn promoted(old: ArrayRef, ty: &str) -> benostreamdb::Result<Vec<String>> {
    let (session, _) = memory();
    let table = table_of(&session, json!([field(2, "c", ty)]), 2).await;
    let field = with_id(Field::new("c", old.data_type().clone(), true), 2);
    let count = old.len() as u64;
    let batch = RecordBatch::try_new(Arc::new(Schema::new(vec![field])), vec![old]).unwrap();
    let table = add_file(&table, "f", parquet(&batch), count, |_| {}).await;
    Ok(lines(&read(&table, &ScanRequest::default()).await?))
}

#[tokio::test]
async fn r_sc5_values_of_narrower_types_are_widened() {
    let decimal = |precision| {
        let array = Decimal128Array::from(vec![Some(-150), None]);
        column(array.with_precision_and_scale(precision, 2).unwrap())
    };
    let cases: [(ArrayRef, &str, [&str; 2]); 6] = [
        (
            column(Int32Array::from(vec![Some(i32::MIN), None])),
            "long",
            ["-2147483648", "NULL"],
        ),
        (
            column(Float32Array::from(vec![Some(0.5), None])),
            "double",
            ["0.5", "NULL"],
        ),
        (decimal(5), "decimal(9, 2)", ["-1.50", "NULL"]),
        (decimal(12), "decimal(38, 2)", ["-1.50", "NULL"]),
        (
            column(Date32Array::from(vec![Some(-1), None])),
            "timestamp",
            ["1969-12-31T00:00:00", "NULL"],
        ),
        (
            column(TimestampNanosecondArray::from(vec![Some(-1), None])),
            "timestamp",
            ["1969-12-31T23:59:59.999999", "NULL"],
        ),
    ];
    for (old, ty, expected) in cases {
        let what = format!("{} as {ty}", old.data_type());
        assert_eq!(promoted(old, ty).await.unwrap(), expected, "{what}");
    }
}

#[tokio::test]
async fn r_sc5_value_out_of_the_new_range_is_an_error_that_names_it() {
    let date = column(Date32Array::from(vec![0, 200_000_000]));
    let error = promoted(date, "timestamp").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    let text = error.to_string();
    assert!(
        text.contains("column c") && text.contains("200000000"),
        "{text}"
    );
    let millis = column(TimestampMillisecondArray::from(vec![i64::MAX]));
    let error = promoted(millis, "timestamp").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    let error = promoted(column(Int64Array::from(vec![1])), "int")
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    let zoned = column(Date32Array::from(vec![0]));
    let error = promoted(zoned, "timestamptz").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
}

#[tokio::test]
async fn r_ty_times_of_other_units_are_microseconds() {
    let time = column(Time32MillisecondArray::from(vec![Some(81_068_123), None]));
    assert_eq!(
        promoted(time, "time").await.unwrap(),
        ["22:31:08.123", "NULL"]
    );
    let millis = TimestampMillisecondArray::from(vec![Some(-1), None]);
    let zoned = column(millis.clone().with_timezone("UTC"));
    assert_eq!(
        promoted(column(millis), "timestamp").await.unwrap(),
        ["1969-12-31T23:59:59.999", "NULL"]
    );
    assert_eq!(
        promoted(zoned, "timestamptz").await.unwrap(),
        ["1969-12-31T23:59:59.999Z", "NULL"]
    );
}

/// A file as writers of the Hive age made it: a two-level list, INT96, decimals in every physical type, text
/// without a mark.
fn hive_file() -> Vec<u8> {
    let schema = "message hive {
        optional group l (LIST) { repeated int32 array; }
        optional int96 t;
        optional int32 d1 (DECIMAL(9, 2));
        optional int64 d2 (DECIMAL(18, 2));
        optional fixed_len_byte_array(5) d3 (DECIMAL(10, 2));
        optional binary d4 (DECIMAL(20, 2));
        optional binary s;
    }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let mut bytes = Vec::new();
    let properties = Arc::new(WriterProperties::builder().build());
    let mut writer = SerializedFileWriter::new(&mut bytes, schema, properties).unwrap();
    let mut group = writer.next_row_group().unwrap();
    macro_rules! next {
        ($type:ty, $values:expr, $definition:expr, $repetition:expr) => {{
            let mut column = group.next_column().unwrap().unwrap();
            column
                .typed::<$type>()
                .write_batch($values, Some($definition), $repetition)
                .unwrap();
            column.close().unwrap();
        }};
    }
    // Two rows: [1, 2] and [].
    next!(Int32Type, &[1, 2], &[2, 2, 1], Some(&[0, 1, 0]));
    // 0001-01-01T00:00:00.000001 as nanoseconds of a Julian day, and NULL.
    let mut moment = Int96::new();
    moment.set_data(1_000, 0, 1_721_426);
    next!(Int96Type, &[moment], &[1, 0], None);
    next!(Int32Type, &[-150], &[1, 0], None);
    next!(Int64Type, &[-150], &[1, 0], None);
    let minus = |length: usize| -> Vec<u8> {
        let mut bytes = vec![0xff; length];
        bytes[length - 1] = 0x6a;
        bytes
    };
    let fixed = FixedLenByteArray::from(minus(5));
    next!(FixedLenByteArrayType, &[fixed], &[1, 0], None);
    next!(ByteArrayType, &[ByteArray::from(minus(2))], &[1, 0], None);
    next!(ByteArrayType, &[ByteArray::from("ü")], &[1, 0], None);
    group.close().unwrap();
    writer.close().unwrap();
    bytes
}

#[tokio::test]
async fn r_ty_physical_forms_of_old_writers_are_read() {
    let (session, _) = memory();
    let fields = json!([
        {"id": 1, "name": "l", "required": false, "type": {"type": "list", "element-id": 10,
            "element-required": false, "element": "long"}},
        field(2, "t", "timestamptz"),
        field(3, "d1", "decimal(9, 2)"),
        field(4, "d2", "decimal(20, 2)"),
        field(5, "d3", "decimal(10, 2)"),
        field(6, "d4", "decimal(20, 2)"),
        field(7, "s", "string"),
    ]);
    let table = table_of(&session, fields, 10).await;
    let table = add_file(&table, "f", hive_file(), 2, |_| {}).await;
    assert_eq!(
        rows(&table).await,
        [
            "[1, 2]|0001-01-01T00:00:00.000001Z|-1.50|-1.50|-1.50|-1.50|ü",
            "[]|NULL|NULL|NULL|NULL|NULL|NULL",
        ]
    );
    let equal = compare(7, CompareOp::Eq, Value::String("ü".into()));
    assert_eq!(filtered(&table, equal).await.len(), 1);
}

#[tokio::test]
async fn l8_file_of_another_size_than_recorded_is_read_and_a_torn_one_is_corrupt() {
    let (session, _) = memory();
    let mut table = table_of(&session, json!([field(2, "c", "long")]), 2).await;
    let only = with_id(Field::new("c", DataType::Int64, true), 2);
    let rows_of = column(Int64Array::from(vec![1, 2, 3]));
    let batch = RecordBatch::try_new(Arc::new(Schema::new(vec![only])), vec![rows_of]).unwrap();
    let bytes = parquet(&batch);
    let size = bytes.len() as u64;
    for recorded in [1, 20, size - 1, size + 1, size * 100] {
        let change = |f: &mut benostreamdb::iceberg::manifest::DataFile| {
            f.file_size_in_bytes = recorded;
        };
        let name = format!("f{recorded}");
        table = add_file(&table, &name, bytes.clone(), 3, change).await;
    }
    assert_eq!(rows(&table).await.len(), 15);
    for cut in [0, 4, bytes.len() / 2, bytes.len() - 1] {
        let (session, _) = memory();
        let table = table_of(&session, json!([field(2, "c", "long")]), 2).await;
        let torn = bytes[..cut].to_vec();
        let table = add_file(&table, "torn", torn, 3, |f| f.file_size_in_bytes = size).await;
        let error = read(&table, &ScanRequest::default()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{cut}: {error}");
        assert!(error.to_string().contains("torn"), "{error}");
    }
}
