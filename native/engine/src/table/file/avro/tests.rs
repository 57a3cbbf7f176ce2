//! Avro files: every type and codec, written by hand and by another writer; damage at every byte.

use std::io::Write as _;

use arrow::array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, Float64Array, Int32Array,
    Int64Array, StringArray, TimestampMicrosecondArray,
};
use arrow_avro::compression::CompressionCodec;
use arrow_avro::writer::WriterBuilder;
use arrow_avro::writer::format::AvroOcfFormat;
use serde_json::json;

use super::super::testing::{collect, decode, stored, texts};
use super::*;
use crate::iceberg::schema::field_id;

fn number(out: &mut Vec<u8>, value: i64) {
    let mut value = ((value << 1) ^ (value >> 63)).cast_unsigned();
    while value >= 0x80 {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn bytes(out: &mut Vec<u8>, value: &[u8]) {
    number(out, value.len() as i64);
    out.extend_from_slice(value);
}

const SYNC: [u8; 16] = *b"0123456789abcdef";

fn container(schema: &serde_json::Value, codec: &str, blocks: &[(i64, Vec<u8>)]) -> Vec<u8> {
    let mut file = b"Obj\x01".to_vec();
    number(&mut file, 2);
    bytes(&mut file, b"avro.schema");
    bytes(&mut file, schema.to_string().as_bytes());
    bytes(&mut file, b"avro.codec");
    bytes(&mut file, codec.as_bytes());
    number(&mut file, 0);
    file.extend(SYNC);
    for (rows, block) in blocks {
        number(&mut file, *rows);
        let packed = match codec {
            "null" => block.clone(),
            "deflate" => {
                let level = flate2::Compression::new(6);
                let mut out = flate2::write::DeflateEncoder::new(Vec::new(), level);
                out.write_all(block).unwrap();
                out.finish().unwrap()
            }
            "snappy" => {
                let mut out = snap::raw::Encoder::new().compress_vec(block).unwrap();
                out.extend(crc32fast::hash(block).to_be_bytes());
                out
            }
            _ => zstd::bulk::compress(block, 1).unwrap(),
        };
        bytes(&mut file, &packed);
        file.extend(SYNC);
    }
    file
}

/// Two rows that hold values with a row of NULLs between them, in every type that Iceberg writes and some more.
fn sample(codec: &str) -> Vec<u8> {
    let optional = |ty: serde_json::Value| json!(["null", ty]);
    let logical = |ty: &str, logical: &str| json!({"type": ty, "logicalType": logical});
    let stamp = |utc: bool| json!({"type": "long", "logicalType": "timestamp-micros", "adjust-to-utc": utc});
    let entry = json!({"type": "record", "name": "k5_v6", "fields": [
        {"name": "key", "type": "int", "field-id": 5},
        {"name": "value", "type": ["null", "string"], "field-id": 6}]});
    let inner = json!({"type": "record", "name": "r7", "fields": [
        {"name": "x", "type": ["null", "boolean"], "field-id": 8},
        {"name": "y", "type": {"type": "fixed", "name": "f3", "size": 3}, "field-id": 9}]});
    let fields = [
        ("time", optional(logical("long", "time-micros")), 1),
        (
            "uuid",
            optional(
                json!({"type": "fixed", "size": 16, "name": "uuid_fixed", "logicalType": "uuid"}),
            ),
            2,
        ),
        (
            "decimal",
            optional(
                json!({"type": "fixed", "size": 4, "name": "d_9_2", "logicalType": "decimal", "precision": 9, "scale": 2}),
            ),
            3,
        ),
        (
            "map",
            optional(json!({"type": "array", "logicalType": "map", "items": entry})),
            4,
        ),
        ("struct", optional(inner), 7),
        (
            "list",
            optional(json!({"type": "array", "items": ["null", "long"], "element-id": 11})),
            10,
        ),
        ("ts", optional(stamp(false)), 12),
        ("tz", optional(stamp(true)), 13),
        (
            "names",
            json!([{"type": "map", "values": "double", "key-id": 15, "value-id": 16}, "null"]),
            14,
        ),
        (
            "millis",
            optional(
                json!({"type": "long", "logicalType": "timestamp-millis", "adjust-to-utc": true}),
            ),
            17,
        ),
        (
            "enum",
            optional(json!({"type": "enum", "name": "e", "symbols": ["no", "yes"]})),
            18,
        ),
        ("again", optional(json!("f3")), 19),
        ("text_id", optional(logical("string", "uuid")), 20),
        ("several", json!(["null", "int", "string"]), 21),
        ("nanos", optional(logical("long", "timestamp-nanos")), 22),
    ];
    let fields: Vec<_> = fields
        .iter()
        .map(|(name, ty, id)| json!({"name": name, "type": ty, "field-id": id}))
        .collect();
    let schema = json!({"type": "record", "name": "table", "fields": fields});
    let row = |last: bool| {
        let mut out = Vec::new();
        let one = i64::from(last);
        number(&mut out, 1);
        number(&mut out, 86_399_999_999 * one);
        number(&mut out, 1);
        out.extend([one as u8; 16]);
        number(&mut out, 1);
        out.extend(if last { 700i32 } else { -12_345 }.to_be_bytes());
        // Two blocks of items, the second of which says how long it is.
        number(&mut out, 1);
        number(&mut out, 1);
        out.extend([2, 2, 2, b'a']);
        if last {
            number(&mut out, -1);
            number(&mut out, 2);
            out.extend([4, 0]);
        }
        number(&mut out, 0);
        number(&mut out, 1);
        out.extend([2, one as u8]);
        out.extend(b"xyz");
        number(&mut out, 1);
        number(&mut out, 2);
        out.extend([0, 2, 20]);
        number(&mut out, 0);
        for stamp in [1_000_000, -1] {
            number(&mut out, 1);
            number(&mut out, stamp);
        }
        number(&mut out, 0);
        number(&mut out, 1);
        bytes(&mut out, b"k");
        out.extend(0.5f64.to_le_bytes());
        number(&mut out, 0);
        number(&mut out, 1);
        number(&mut out, 1_500);
        number(&mut out, 1);
        number(&mut out, one);
        number(&mut out, 1);
        out.extend(b"abc");
        number(&mut out, 1);
        bytes(&mut out, b"f79c3e09-677c-4bbd-a479-3f349cb785e7");
        number(&mut out, 1);
        number(&mut out, 5);
        number(&mut out, 1);
        number(&mut out, 7);
        out
    };
    let nulls = vec![0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0];
    let first = [row(false), nulls].concat();
    container(
        &schema,
        codec,
        &[(2, first), (0, Vec::new()), (1, row(true))],
    )
}

async fn open(file: &[u8]) -> Result<AvroFile> {
    let (store, location, size) = stored(file).await;
    AvroFile::open(&store, &location, size).await
}

/// All columns but the one that is refused.
const SOUND: [usize; 14] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14];

async fn read(file: &[u8], rows: Option<RoaringBitmap>) -> Result<RecordBatch> {
    collect(open(file).await?.stream(decode(SOUND, rows))?).await
}

#[tokio::test]
async fn r_ty_avro_types_and_ids_are_read_in_every_codec() {
    for codec in ["null", "deflate", "snappy", "zstandard"] {
        let file = sample(codec);
        let opened = open(&file).await.unwrap();
        assert_eq!(opened.rows(), 3);
        let schema = opened.schema();
        let ids: Vec<_> = schema.fields().iter().map(|f| field_id(f)).collect();
        assert_eq!(
            ids,
            [1, 2, 3, 4, 7, 10, 12, 13, 14, 17, 18, 19, 20, 21, 22].map(Some)
        );
        let DataType::Map(entries, _) = schema.field(3).data_type() else {
            panic!("no map");
        };
        let DataType::Struct(pair) = entries.data_type() else {
            panic!("no entries");
        };
        assert_eq!(
            pair.iter().map(|f| field_id(f)).collect::<Vec<_>>(),
            [Some(5), Some(6)]
        );
        let DataType::List(element) = schema.field(5).data_type() else {
            panic!("no list");
        };
        assert_eq!(field_id(element), Some(11));
        let batch = read(&file, None).await.unwrap();
        let expected = [
            ("time", "00:00:00", "23:59:59.999999"),
            (
                "uuid",
                "00000000000000000000000000000000",
                "01010101010101010101010101010101",
            ),
            ("decimal", "-123.45", "7.00"),
            ("map", "{1: a}", "{1: a, 2: }"),
            ("struct", "{x: false, y: 78797a}", "{x: true, y: 78797a}"),
            ("list", "[, 10]", "[, 10]"),
            ("ts", "1970-01-01T00:00:01", "1970-01-01T00:00:01"),
            (
                "tz",
                "1969-12-31T23:59:59.999999Z",
                "1969-12-31T23:59:59.999999Z",
            ),
            ("names", "{k: 0.5}", "{k: 0.5}"),
            (
                "millis",
                "1970-01-01T00:00:01.500Z",
                "1970-01-01T00:00:01.500Z",
            ),
            ("enum", "no", "yes"),
            ("again", "616263", "616263"),
            (
                "text_id",
                "f79c3e09677c4bbda4793f349cb785e7",
                "f79c3e09677c4bbda4793f349cb785e7",
            ),
            (
                "nanos",
                "1970-01-01T00:00:00.000000007",
                "1970-01-01T00:00:00.000000007",
            ),
        ];
        for (column, first, last) in expected {
            assert_eq!(texts(&batch, column), [first, "", last], "{column} {codec}");
        }
        assert_eq!(texts(&batch, "_pos"), ["0", "1", "2"]);
    }
}

#[tokio::test]
async fn r_de1_chosen_rows_of_avro_keep_their_positions() {
    let batch = read(&sample("null"), Some(RoaringBitmap::from_iter([2])))
        .await
        .unwrap();
    assert_eq!(texts(&batch, "_pos"), ["2"]);
    assert_eq!(texts(&batch, "decimal"), ["7.00"]);
    let none = open(&sample("null")).await.unwrap();
    let none = none.stream(decode([], None)).unwrap();
    assert_eq!(
        texts(&collect(none).await.unwrap(), "_pos"),
        ["0", "1", "2"]
    );
}

#[tokio::test]
async fn avro_union_of_several_types_is_refused_by_name_when_it_is_selected() {
    let file = open(&sample("null")).await.unwrap();
    let error = file.stream(decode([13], None)).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("'several'"), "{error}");
}

#[tokio::test]
async fn avro_files_of_another_writer_are_read() {
    let rows = 20_000i64;
    let some = |n: i64| (n % 7 != 0).then_some(n);
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("a", Arc::new((0..rows).map(some).collect::<Int64Array>())),
        (
            "b",
            Arc::new(
                (0..rows)
                    .map(|n| some(n).map(|n| n as i32))
                    .collect::<Int32Array>(),
            ),
        ),
        (
            "c",
            Arc::new(
                (0..rows)
                    .map(|n| some(n).map(|n| n.to_string()))
                    .collect::<StringArray>(),
            ),
        ),
        (
            "d",
            Arc::new(
                (0..rows)
                    .map(|n| some(n).map(|n| n as f64 / 3.0))
                    .collect::<Float64Array>(),
            ),
        ),
        (
            "e",
            Arc::new(
                (0..rows)
                    .map(|n| some(n).map(|n| n % 2 == 0))
                    .collect::<BooleanArray>(),
            ),
        ),
        (
            "f",
            Arc::new(
                (0..rows)
                    .map(|n| some(n).map(|n| n as i32))
                    .collect::<Date32Array>(),
            ),
        ),
        (
            "g",
            Arc::new(
                (0..rows)
                    .map(|n| some(n).map(|n| n.to_le_bytes()))
                    .collect::<BinaryArray>(),
            ),
        ),
        (
            "h",
            Arc::new(
                (0..rows)
                    .map(|n| some(n).map(|n| i128::from(n * 1000 - 5)))
                    .collect::<Decimal128Array>()
                    .with_precision_and_scale(20, 3)
                    .unwrap(),
            ),
        ),
        (
            "i",
            Arc::new((0..rows).map(some).collect::<TimestampMicrosecondArray>()),
        ),
    ];
    let columns = columns.into_iter().map(|(name, array)| (name, array, true));
    let written = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
    for codec in [
        None,
        Some(CompressionCodec::Deflate),
        Some(CompressionCodec::Snappy),
    ] {
        let builder = WriterBuilder::new(written.schema().as_ref().clone()).with_compression(codec);
        let mut writer = builder.build::<_, AvroOcfFormat>(Vec::new()).unwrap();
        for start in (0..written.num_rows()).step_by(3_000) {
            let part = written.slice(start, 3_000.min(written.num_rows() - start));
            writer.write(&part).unwrap();
        }
        writer.finish().unwrap();
        let file = open(&writer.into_inner()).await.unwrap();
        assert_eq!(file.rows(), rows.cast_unsigned());
        let found = collect(file.stream(decode(0..9, None)).unwrap())
            .await
            .unwrap();
        for (index, column) in written.columns().iter().enumerate() {
            assert_eq!(found.column(index), column, "column {index}");
        }
    }
}

#[tokio::test]
async fn l8_damaged_avro_files_are_errors_and_never_fewer_rows() {
    for codec in ["null", "deflate"] {
        let file = sample(codec);
        let whole = read(&file, None).await.unwrap().num_rows();
        for end in 0..file.len() {
            // A file that ends after a block is whole as far as it can tell; its manifest knows its rows.
            match open(&file[..end]).await {
                Ok(opened) => assert!(
                    opened.rows() < 3 && file[..end].ends_with(&SYNC),
                    "cut at {end}"
                ),
                Err(error) => assert!(
                    matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Unsupported),
                    "cut at {end}: {error}"
                ),
            }
        }
        for place in 0..file.len() {
            for bit in 0..8 {
                let mut damaged = file.clone();
                damaged[place] ^= 1 << bit;
                let Ok(opened) = open(&damaged).await else {
                    continue;
                };
                let (rows, width) = (opened.rows(), opened.schema().fields().len());
                let roots = SOUND.into_iter().filter(|root| *root < width);
                let batch = match opened.stream(decode(roots, None)) {
                    Ok(stream) => collect(stream).await,
                    Err(error) => Err(error),
                };
                match batch {
                    Ok(batch) => assert_eq!(batch.num_rows() as u64, rows, "byte {place}"),
                    Err(error) => assert!(
                        matches!(
                            error.kind(),
                            ErrorKind::Corrupt
                                | ErrorKind::Unsupported
                                | ErrorKind::ResourceExhausted
                        ),
                        "byte {place} bit {bit}: {error}"
                    ),
                }
            }
        }
        assert_eq!(whole, 3);
    }
}
