//! Rows of every type in every output format.

use std::sync::Arc;

use arrow::array::Int32Builder;
use arrow::array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, FixedSizeBinaryArray,
    Float32Array, Float64Array, Int64Array, ListArray, MapBuilder, RecordBatch, StringArray,
    StringBuilder, StructArray, Time64MicrosecondArray, TimestampMicrosecondArray,
};
use arrow::datatypes::{DataType, Field, Float32Type, Schema};

use super::{Writer, csv::CsvWriter, json::JsonWriter, table::TableWriter};

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(
        columns
            .into_iter()
            .map(|(name, column)| (name, column, true)),
    )
    .unwrap()
}

fn text(writer: &mut dyn Writer, batch: &RecordBatch) -> String {
    writer.begin(batch.schema_ref()) + &writer.rows(batch).unwrap() + &writer.end()
}

#[test]
fn json_of_every_scalar_follows_the_contract() {
    let rows = batch(vec![
        ("b", Arc::new(BooleanArray::from(vec![Some(true), None]))),
        (
            "i",
            Arc::new(Int64Array::from(vec![9_007_199_254_740_993, -5])),
        ),
        ("f", Arc::new(Float32Array::from(vec![0.1, f32::NAN]))),
        (
            "d",
            Arc::new(Float64Array::from(vec![-0.0, f64::NEG_INFINITY])),
        ),
        (
            "n",
            Arc::new(
                Decimal128Array::from(vec![12_345, -5])
                    .with_precision_and_scale(10, 2)
                    .unwrap(),
            ),
        ),
        ("s", Arc::new(StringArray::from(vec!["a\"\\\n\u{1}é", ""]))),
        ("x", Arc::new(BinaryArray::from(vec![&[0u8, 255][..], &[]]))),
        ("day", Arc::new(Date32Array::from(vec![0, 19_723]))),
        (
            "t",
            Arc::new(Time64MicrosecondArray::from(vec![1, 3_600_000_000])),
        ),
        (
            "ts",
            Arc::new(TimestampMicrosecondArray::from(vec![0, 1_500_000])),
        ),
        (
            "tz",
            Arc::new(TimestampMicrosecondArray::from(vec![0, 1_500_000]).with_timezone("UTC")),
        ),
    ]);
    let expected = concat!(
        "{\"b\":true,\"i\":\"9007199254740993\",\"f\":0.1,\"d\":-0.0,\"n\":\"123.45\",\"s\":\"a\\\"\\\\\\n\\u0001é\",",
        "\"x\":\"00ff\",\"day\":\"1970-01-01\",\"t\":\"00:00:00.000001\",\"ts\":\"1970-01-01T00:00:00\",",
        "\"tz\":\"1970-01-01T00:00:00Z\"}\n",
        "{\"b\":null,\"i\":-5,\"f\":\"NaN\",\"d\":\"-Infinity\",\"n\":\"-0.05\",\"s\":\"\",",
        "\"x\":\"\",\"day\":\"2024-01-01\",\"t\":\"01:00:00\",\"ts\":\"1970-01-01T00:00:01.500\",",
        "\"tz\":\"1970-01-01T00:00:01.500Z\"}\n",
    );
    assert_eq!(text(&mut JsonWriter, &rows), expected);
}

#[test]
fn json_of_nested_values_uses_objects_and_entry_arrays() {
    let list =
        ListArray::from_iter_primitive::<Float32Type, _, _>(vec![Some(vec![Some(1.0), None])]);
    let fields = vec![Field::new("a b", DataType::Int64, true)];
    let object = StructArray::new(
        fields.into(),
        vec![Arc::new(Int64Array::from(vec![7]))],
        None,
    );
    let mut map = MapBuilder::new(None, StringBuilder::new(), Int32Builder::new());
    map.keys().append_value("k");
    map.values().append_value(3);
    map.append(true).unwrap();
    let rows = batch(vec![
        ("l", Arc::new(list)),
        ("o", Arc::new(object)),
        ("m", Arc::new(map.finish())),
    ]);
    let expected = "{\"l\":[1.0,null],\"o\":{\"a b\":7},\"m\":[{\"key\":\"k\",\"value\":3}]}\n";
    assert_eq!(text(&mut JsonWriter, &rows), expected);
    assert_eq!(
        text(&mut CsvWriter, &rows),
        "l,o,m\n\"[1.0,null]\",\"{\"\"a b\"\":7}\",\"[{\"\"key\"\":\"\"k\"\",\"\"value\"\":3}]\"\n"
    );
}

#[test]
fn uuid_columns_print_hyphenated_other_bytes_as_hex() {
    let bytes = FixedSizeBinaryArray::try_from_iter([[0x12u8; 16]].into_iter()).unwrap();
    let uuid = Field::new("u", DataType::FixedSizeBinary(16), true)
        .with_metadata([("ARROW:extension:name".to_string(), "arrow.uuid".to_string())].into());
    let fixed = Field::new("x", DataType::FixedSizeBinary(16), true);
    let schema = Arc::new(Schema::new(vec![uuid, fixed]));
    let rows =
        RecordBatch::try_new(schema, vec![Arc::new(bytes.clone()), Arc::new(bytes)]).unwrap();
    let hex = "12".repeat(16);
    assert_eq!(
        text(&mut CsvWriter, &rows),
        format!("u,x\n12121212-1212-1212-1212-121212121212,{hex}\n")
    );
}

#[test]
fn csv_tells_null_from_empty_string() {
    let rows = batch(vec![
        (
            "a,b",
            Arc::new(StringArray::from(vec![Some(""), None, Some("x,\"y\"")])),
        ),
        (
            "n",
            Arc::new(Int64Array::from(vec![None, Some(1), Some(2)])),
        ),
    ]);
    assert_eq!(
        text(&mut CsvWriter, &rows),
        "\"a,b\",n\n\"\",\n,1\n\"x,\"\"y\"\"\",2\n"
    );
}

#[test]
fn table_of_rows_is_aligned_and_counted() {
    let rows = batch(vec![
        ("id", Arc::new(Int64Array::from(vec![Some(1), None]))),
        (
            "name",
            Arc::new(StringArray::from(vec!["x".repeat(100), "a\nb".to_string()])),
        ),
    ]);
    let printed = text(&mut TableWriter::default(), &rows);
    let lines: Vec<&str> = printed.lines().collect();
    assert_eq!(lines[0], "   id | name");
    assert!(lines[1].starts_with("------+---"));
    assert!(lines[2].starts_with("    1 | xxx") && lines[2].ends_with('…'));
    assert_eq!(lines[3], " NULL | a↵b");
    assert_eq!(lines[4], "(2 rows)");
}

#[test]
fn table_without_rows_has_a_header() {
    let rows = batch(vec![("id", Arc::new(Int64Array::from(Vec::<i64>::new())))]);
    assert_eq!(
        text(&mut TableWriter::default(), &rows),
        " id\n----\n(0 rows)\n"
    );
}
