//! ORC files: every type and codec from a small writer of our own, which another reader checks; run-length
//! encodings from another writer; damage at every byte.

use std::io::Write as _;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryArray, BooleanArray, Float32Array, Float64Array, Int8Array, Int16Array,
    Int32Array, Int64Array, RecordBatch, StringArray,
};
use arrow::compute::{cast, take_record_batch};
use arrow::datatypes::DataType;
use bytes::Bytes;
use roaring::RoaringBitmap;

use super::super::testing::{collect, decode, stored, texts};
use super::*;
use crate::error::ErrorKind;
use crate::iceberg::schema::field_id;

fn varint(out: &mut Vec<u8>, mut value: u128) {
    while value >= 0x80 {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn zigzag(value: i128) -> u128 {
    ((value << 1) ^ (value >> 127)).cast_unsigned()
}

/// Protobuf fields.
#[derive(Default)]
struct Proto(Vec<u8>);

impl Proto {
    fn number(mut self, field: u32, value: u64) -> Proto {
        varint(&mut self.0, u128::from(field) << 3);
        varint(&mut self.0, u128::from(value));
        self
    }

    fn bytes(mut self, field: u32, value: &[u8]) -> Proto {
        varint(&mut self.0, u128::from(field) << 3 | 2);
        varint(&mut self.0, value.len() as u128);
        self.0.extend_from_slice(value);
        self
    }
}

/// A type: kind, subtypes, member names, precision and scale, attributes.
fn ty(kind: u64, subtypes: &[u64], names: &[&str], attributes: &[(&str, &str)]) -> Proto {
    let mut proto = Proto::default().number(1, kind);
    for subtype in subtypes {
        proto = proto.number(2, *subtype);
    }
    for name in names {
        proto = proto.bytes(3, name.as_bytes());
    }
    for (key, value) in attributes {
        let pair = Proto::default()
            .bytes(1, key.as_bytes())
            .bytes(2, value.as_bytes());
        proto = proto.bytes(7, &pair.0);
    }
    proto
}

/// Integers as literals of version 1.
fn literals(signed: bool, values: &[i128]) -> Vec<u8> {
    let mut out = vec![(-(values.len() as i8)).cast_unsigned()];
    for value in values {
        let value = if signed {
            zigzag(*value)
        } else {
            value.cast_unsigned()
        };
        varint(&mut out, value);
    }
    out
}

fn pack(codec: u64, bytes: &[u8]) -> Vec<u8> {
    let packed = match codec {
        0 => return bytes.to_vec(),
        1 => {
            let mut out =
                flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::new(6));
            out.write_all(bytes).unwrap();
            out.finish().unwrap()
        }
        2 => snap::raw::Encoder::new().compress_vec(bytes).unwrap(),
        4 if bytes.len() < 15 => [&[(bytes.len() as u8) << 4], bytes].concat(),
        4 => {
            let mut out = vec![0xf0];
            out.extend(std::iter::repeat_n(255, (bytes.len() - 15) / 255));
            out.push(((bytes.len() - 15) % 255) as u8);
            [&out, bytes].concat()
        }
        _ => zstd::bulk::compress(bytes, 1).unwrap(),
    };
    let header = (packed.len() as u32) << 1;
    [&header.to_le_bytes()[..3], &packed].concat()
}

const PRESENT: u64 = 0;
const DATA: u64 = 1;
const LENGTH: u64 = 2;
const DICTIONARY: u64 = 3;
const SECONDARY: u64 = 5;

/// Two rows that hold values with a row of NULLs between them, in every type.
fn sample(codec: u64) -> Vec<u8> {
    let id = |n: &'static str| [("iceberg.id", n)];
    let types = [
        ty(
            12,
            &[1, 2, 3, 4, 5, 6, 7, 9, 12, 15],
            &["i", "t", "u", "d", "ts", "tz", "l", "m", "s", "un"],
            &[],
        ),
        ty(3, &[], &[], &id("1")),
        ty(
            4,
            &[],
            &[],
            &[("iceberg.id", "2"), ("iceberg.long-type", "TIME")],
        ),
        ty(
            8,
            &[],
            &[],
            &[("iceberg.id", "3"), ("iceberg.binary-type", "UUID")],
        ),
        ty(14, &[], &[], &id("4")).number(5, 9).number(6, 2),
        ty(9, &[], &[], &id("5")),
        ty(18, &[], &[], &id("6")),
        ty(10, &[8], &[], &id("7")),
        ty(3, &[], &[], &id("8")),
        ty(11, &[10, 11], &[], &id("9")),
        ty(7, &[], &[], &id("10")),
        ty(4, &[], &[], &id("11")),
        ty(12, &[13, 14], &["b", "x"], &id("12")),
        ty(0, &[], &[], &id("13")),
        ty(7, &[], &[], &id("14")),
        ty(13, &[16], &[], &id("15")),
        ty(3, &[], &[], &[]),
    ];
    // In summer the clocks of Los Angeles are seven hours behind; its 2015 began eight hours after ours.
    let noon = 1_435_752_000 + 7 * 3_600 - (1_420_070_400 + 8 * 3_600);
    // Two bits of three are set: a literal of one byte.
    let present = vec![0xff, 0b1010_0000];
    let two: Vec<u8> = (0..32).collect();
    let decimal = [zigzag(-12_345), zigzag(7)]
        .iter()
        .fold(Vec::new(), |mut out, v| {
            varint(&mut out, *v);
            out
        });
    let mut streams: Vec<(u64, u64, Vec<u8>)> = (1..16)
        .filter(|column| ![8, 10, 11, 13, 14].contains(column))
        .map(|column| (PRESENT, column, present.clone()))
        .collect();
    streams.extend([
        (DATA, 1, literals(true, &[-5, 2_147_483_647])),
        (DATA, 2, literals(true, &[0, 86_399_999_999])),
        (DATA, 3, two),
        (LENGTH, 3, literals(false, &[16, 16])),
        (DATA, 4, decimal),
        (SECONDARY, 4, literals(true, &[2, 0])),
        (DATA, 5, literals(true, &[noon, noon])),
        (SECONDARY, 5, literals(false, &[0, 5 << 3 | 7])),
        (DATA, 6, literals(true, &[0, -1_420_070_400])),
        (SECONDARY, 6, literals(false, &[1 << 3 | 2, 0])),
        (LENGTH, 7, literals(false, &[2, 0])),
        (DATA, 8, literals(true, &[10, 20])),
        (LENGTH, 9, literals(false, &[1, 2])),
        (DATA, 10, b"abc".to_vec()),
        (LENGTH, 10, literals(false, &[1, 1, 1])),
        (PRESENT, 11, vec![0xff, 0b1010_0000]),
        (DATA, 11, literals(true, &[1, 3])),
        (DATA, 13, vec![0xff, 0b1000_0000]),
        (DATA, 14, literals(false, &[1, 0])),
        (LENGTH, 14, literals(false, &[2, 4])),
        (DICTIONARY, 14, b"nosi\xc3\xad".to_vec()),
        (DATA, 15, vec![0xfe, 0, 0]),
        (DATA, 16, literals(true, &[1, 2])),
    ]);
    write_file(codec, &types, streams, "America/Los_Angeles", 14)
}

fn write_file(
    codec: u64,
    types: &[Proto],
    streams: Vec<(u64, u64, Vec<u8>)>,
    zone: &str,
    dictionary: usize,
) -> Vec<u8> {
    let mut file = b"ORC".to_vec();
    let mut stripe = Proto::default();
    let mut data = Vec::new();
    for (kind, column, bytes) in streams {
        let packed = pack(codec, &bytes);
        let stream = Proto::default()
            .number(1, kind)
            .number(2, column)
            .number(3, packed.len() as u64);
        stripe = stripe.bytes(1, &stream.0);
        data.extend(packed);
    }
    for column in 0..types.len() {
        let encoding = Proto::default().number(1, u64::from(column == dictionary));
        let encoding = encoding.number(2, 2 * u64::from(column == dictionary));
        stripe = stripe.bytes(2, &encoding.0);
    }
    let stripe = pack(codec, &stripe.bytes(3, zone.as_bytes()).0);
    let place = Proto::default()
        .number(1, file.len() as u64)
        .number(2, 0)
        .number(3, data.len() as u64)
        .number(4, stripe.len() as u64)
        .number(5, 3);
    file.extend(data);
    file.extend(stripe);
    let mut footer = Proto::default().bytes(3, &place.0);
    for ty in types {
        footer = footer.bytes(4, &ty.0);
    }
    let footer = pack(codec, &footer.number(6, 3).0);
    file.extend(&footer);
    let postscript = Proto::default()
        .number(1, footer.len() as u64)
        .number(2, codec)
        .number(3, 65_536)
        .bytes(4, &[0, 12])
        .number(5, 0)
        .bytes(8000, b"ORC");
    file.extend(&postscript.0);
    file.push(postscript.0.len() as u8);
    file
}

async fn open(bytes: &[u8]) -> Result<OrcFile> {
    let (store, location, size) = stored(bytes).await;
    OrcFile::open(&store, &location, size).await
}

async fn read(bytes: &[u8], roots: std::ops::Range<usize>) -> Result<RecordBatch> {
    collect(open(bytes).await?.stream(decode(roots, None))).await
}

#[tokio::test]
async fn r_ty_orc_types_attributes_and_zones_are_read_in_every_codec() {
    for codec in [0, 1, 2, 4, 5] {
        let bytes = sample(codec);
        let file = open(&bytes).await.unwrap();
        assert_eq!(file.rows(), 3);
        let schema = Arc::clone(file.schema());
        assert_eq!(schema.field(0).name(), "i");
        let ids: Vec<_> = schema.fields().iter().map(|f| field_id(f)).collect();
        assert_eq!(ids, [1, 2, 3, 4, 5, 6, 7, 9, 12, 15].map(Some));
        assert_eq!(schema.field(2).data_type(), &DataType::FixedSizeBinary(16));
        let DataType::Map(entries, _) = schema.field(7).data_type() else {
            panic!("no map");
        };
        let DataType::Struct(pair) = entries.data_type() else {
            panic!("no entries");
        };
        assert_eq!(
            pair.iter().map(|f| field_id(f)).collect::<Vec<_>>(),
            [Some(10), Some(11)]
        );
        let batch = read(&bytes, 0..9).await.unwrap();
        let expected = [
            ("i", "-5", "2147483647"),
            ("t", "00:00:00", "23:59:59.999999"),
            (
                "u",
                "000102030405060708090a0b0c0d0e0f",
                "101112131415161718191a1b1c1d1e1f",
            ),
            ("d", "-123.45", "7.00"),
            ("ts", "2015-07-01T12:00:00", "2015-07-01T12:00:00.500"),
            ("tz", "2015-01-01T00:00:00.000001Z", "1970-01-01T00:00:00Z"),
            ("l", "[10, 20]", "[]"),
            ("m", "{a: 1}", "{b: , c: 3}"),
            ("s", "{b: true, x: sií}", "{b: false, x: no}"),
        ];
        for (column, first, last) in expected {
            assert_eq!(
                texts(&batch, column),
                [first, "", last],
                "{column} codec {codec}"
            );
        }
        assert_eq!(texts(&batch, "_pos"), ["0", "1", "2"]);
    }
}

#[tokio::test]
async fn orc_files_of_these_tests_mean_the_same_to_another_reader() {
    let bytes = sample(0);
    let ours = read(&bytes, 0..9).await.unwrap();
    let builder = orc_rust::ArrowReaderBuilder::try_new(Bytes::from(bytes)).unwrap();
    let theirs: Vec<_> = builder.build().collect::<Result<_, _>>().unwrap();
    let theirs = &theirs[0];
    for column in ["i", "d", "ts", "tz", "l", "m", "s"] {
        assert_eq!(texts(&ours, column), texts(theirs, column), "{column}");
    }
}

#[tokio::test]
async fn orc_union_is_refused_by_name_when_it_is_selected() {
    let error = read(&sample(1), 9..10).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("'un'"), "{error}");
}

/// Random numbers that differ between runs of a test only by its seed.
fn random(seed: &mut u64) -> u64 {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    *seed
}

/// Rows that drive every run-length encoding: repeats, steps, small numbers with a few large ones, any number.
fn varied(rows: usize) -> RecordBatch {
    let mut seed = 42;
    let mut number = |row: usize| {
        let any = random(&mut seed).cast_signed();
        match row / 700 % 6 {
            0 => 7,
            1 => row as i64 * 3,
            2 if any % 50 == 0 => 1_000_000_000 + any % 1000,
            2 => any % 100,
            3 => 1_000_000 - (row as i64 * 10 + any % 5),
            4 => any,
            _ => any % 2,
        }
    };
    let numbers: Vec<Option<i64>> = (0..rows)
        .map(|row| Some(number(row)).filter(|_| row % 11 != 3))
        .collect();
    let mapped = |f: fn(i64) -> i64| numbers.iter().map(move |n| n.map(f));
    let text = |n: i64| format!("{}", n % 1000);
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("long", Arc::new(Int64Array::from(numbers.clone()))),
        (
            "int",
            Arc::new(
                mapped(|n| n % 70_000)
                    .map(|n| n.map(|n| n as i32))
                    .collect::<Int32Array>(),
            ),
        ),
        (
            "short",
            Arc::new(
                mapped(|n| n % 300)
                    .map(|n| n.map(|n| n as i16))
                    .collect::<Int16Array>(),
            ),
        ),
        (
            "byte",
            Arc::new(
                mapped(|n| n % 100)
                    .map(|n| n.map(|n| n as i8))
                    .collect::<Int8Array>(),
            ),
        ),
        (
            "boolean",
            Arc::new(
                numbers
                    .iter()
                    .map(|n| n.map(|n| n % 3 == 0))
                    .collect::<BooleanArray>(),
            ),
        ),
        (
            "float",
            Arc::new(
                numbers
                    .iter()
                    .map(|n| n.map(|n| n as f32))
                    .collect::<Float32Array>(),
            ),
        ),
        (
            "double",
            Arc::new(
                numbers
                    .iter()
                    .map(|n| n.map(|n| n as f64))
                    .collect::<Float64Array>(),
            ),
        ),
        (
            "text",
            Arc::new(numbers.iter().map(|n| n.map(text)).collect::<StringArray>()),
        ),
        (
            "bytes",
            Arc::new(
                numbers
                    .iter()
                    .map(|n| n.map(|n| n.to_le_bytes().to_vec()))
                    .collect::<BinaryArray>(),
            ),
        ),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(n, a)| (n, a, true)))
        .unwrap()
}

#[tokio::test]
async fn r_de1_orc_runs_of_another_writer_are_read_whole_and_by_chosen_rows() {
    let written = varied(20_000);
    let mut bytes = Vec::new();
    let mut writer = orc_rust::ArrowWriterBuilder::new(&mut bytes, written.schema())
        .with_stripe_byte_size(100_000)
        .try_build()
        .unwrap();
    for start in (0..written.num_rows()).step_by(2_500) {
        writer.write(&written.slice(start, 2_500)).unwrap();
    }
    writer.close().unwrap();
    assert!(open(&bytes).await.unwrap().footer.stripes.len() > 1);
    let mut seed = 7;
    let some: RoaringBitmap = (0..20_000)
        .filter(|row| row / 900 % 2 == 0 && random(&mut seed).is_multiple_of(3))
        .collect();
    for rows in [None, Some(some), Some(RoaringBitmap::from_iter([12_345]))] {
        let positions: Vec<i64> = match &rows {
            Some(rows) => rows.iter().map(i64::from).collect(),
            None => (0..20_000).collect(),
        };
        let stream = open(&bytes).await.unwrap().stream(decode(0..9, rows));
        let found = collect(stream).await.unwrap();
        let indices = Int64Array::from(positions);
        assert_eq!(
            found.column(9).as_ref(),
            &indices as &dyn arrow::array::Array
        );
        let expected =
            take_record_batch(&written, &cast(&indices, &DataType::UInt32).unwrap()).unwrap();
        for (index, column) in expected.columns().iter().enumerate() {
            let column = match column.data_type() {
                DataType::Int8 | DataType::Int16 => cast(column, &DataType::Int32).unwrap(),
                _ => Arc::clone(column),
            };
            assert_eq!(found.column(index), &column, "column {index}");
        }
    }
}

#[tokio::test]
async fn l8_damaged_orc_files_are_errors_and_never_fewer_rows() {
    for codec in [0, 1] {
        let bytes = sample(codec);
        for end in 0..bytes.len() {
            let error = read(&bytes[..end], 0..9).await.unwrap_err();
            assert!(
                matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Unsupported),
                "cut at {end}: {error}"
            );
        }
        for place in 0..bytes.len() {
            for bit in 0..8 {
                let mut damaged = bytes.clone();
                damaged[place] ^= 1 << bit;
                let Ok(file) = open(&damaged).await else {
                    continue;
                };
                let (rows, width) = (file.rows(), file.schema().fields().len());
                let stream = file.stream(decode(0..width.min(9), None));
                match collect(stream).await {
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
    }
}
