//! The container and the cursor: every codec, every edge of a number, and limits.

use serde_json::json;

use super::*;
use crate::error::ErrorKind;
use crate::iceberg::tests::Random;

fn rows(bytes: &[u8]) -> crate::error::Result<Vec<i64>> {
    let container = Container::open(bytes)?;
    let mut rows = Vec::new();
    container.for_each_block(|count, block| {
        let mut cursor = Cursor::new(&block);
        for _ in 0..count {
            rows.push(cursor.long()?);
        }
        Ok(())
    })?;
    Ok(rows)
}

/// A container of one block, compressed by hand.
fn container(codec: &str, count: i64, block: &[u8]) -> Vec<u8> {
    let mut out = b"Obj\x01".to_vec();
    put_long(&mut out, 2);
    for (key, value) in [("avro.schema", "\"long\""), ("avro.codec", codec)] {
        put_bytes(&mut out, key.as_bytes());
        put_bytes(&mut out, value.as_bytes());
    }
    put_long(&mut out, 0);
    out.extend([7; 16]);
    put_long(&mut out, count);
    put_bytes(&mut out, block);
    out.extend([7; 16]);
    out
}

#[test]
fn numbers_are_read_as_written_up_to_64_bits() {
    let mut random = Random(2);
    let mut numbers = vec![0, -1, 1, 63, 64, -64, -65, i64::MAX, i64::MIN];
    numbers.extend((0..1000).map(|_| (random.next() >> random.below(64)).cast_signed()));
    let mut out = Vec::new();
    numbers.iter().for_each(|n| put_long(&mut out, *n));
    let mut cursor = Cursor::new(&out);
    for number in numbers {
        assert_eq!(cursor.long().unwrap(), number);
    }
    assert!(cursor.is_at_end());
    let beyond = [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x02];
    assert_eq!(
        Cursor::new(&beyond).long().unwrap_err().kind(),
        ErrorKind::Corrupt
    );
    assert!(Cursor::new(&[0x80]).long().is_err());
}

#[test]
fn written_container_is_read_back_and_equal_for_equal_rows() {
    let write = || {
        let mut writer = ContainerWriter::new(&json!("long"), &[("k", "v".to_owned())]);
        (0..50_000).for_each(|i| writer.row(|out| put_long(out, i)).unwrap());
        writer.finish().unwrap()
    };
    let bytes = write();
    assert_eq!(bytes, write());
    assert_eq!(rows(&bytes).unwrap(), (0..50_000).collect::<Vec<_>>());
    assert_eq!(Container::open(&bytes).unwrap().text("k"), Some("v"));
}

#[test]
fn every_codec_of_other_writers_is_read() {
    let mut plain = Vec::new();
    (0..100).for_each(|i| put_long(&mut plain, i));
    let expected: Vec<i64> = (0..100).collect();
    assert_eq!(rows(&container("null", 100, &plain)).unwrap(), expected);
    let zstd = zstd::bulk::compress(&plain, 3).unwrap();
    assert_eq!(rows(&container("zstandard", 100, &zstd)).unwrap(), expected);
    let mut snappy = snap::raw::Encoder::new().compress_vec(&plain).unwrap();
    snappy.extend(crc32fast::hash(&plain).to_be_bytes());
    assert_eq!(rows(&container("snappy", 100, &snappy)).unwrap(), expected);
    *snappy.last_mut().unwrap() ^= 1;
    assert_eq!(
        rows(&container("snappy", 100, &snappy)).unwrap_err().kind(),
        ErrorKind::Corrupt
    );
    assert_eq!(
        rows(&container("lzma", 100, &plain)).unwrap_err().kind(),
        ErrorKind::Unsupported
    );
}

#[test]
fn lengths_beyond_the_input_are_refused_before_allocation() {
    let mut plain = Vec::new();
    put_long(&mut plain, 5);
    assert!(rows(&container("null", i64::MAX, &plain)).is_err());
    assert!(rows(&container("null", -1, &plain)).is_err());
    let claim = [0xff, 0xff, 0xff, 0xff, 0x0f, 0, 0, 0, 0, 0];
    assert!(rows(&container("snappy", 1, &claim)).is_err());
    let mut items = Vec::new();
    put_long(&mut items, i64::MAX);
    assert!(Cursor::new(&items).items(|c| c.long().map(drop)).is_err());
    assert!(
        Cursor::new(&items).items(|_| Ok(())).is_err(),
        "items without bytes are limited"
    );
    assert!(
        Cursor::new(&items)
            .skip(&AvroType::Array(Box::new(AvroType::Null)))
            .is_err()
    );
    let mut bytes = container("null", 1, &plain);
    let end = bytes.len() - 1;
    bytes[end] ^= 1;
    assert!(rows(&bytes).is_err(), "the sync marker is checked");
}

#[test]
fn schema_that_unfolds_without_end_is_refused() {
    // Each type holds the one before it twice.
    let mut fields = vec![
        json!({"name": "f0", "type": {"type": "record", "name": "r0", "fields": [{"name": "x", "type": "int"}]}}),
    ];
    for i in 1..40 {
        let inner = format!("r{}", i - 1);
        let pair = [
            json!({"name": "a", "type": inner}),
            json!({"name": "b", "type": inner}),
        ];
        fields.push(json!({"name": format!("f{i}"), "type": {"type": "record", "name": format!("r{i}"), "fields": pair}}));
    }
    let schema = json!({"type": "record", "name": "top", "fields": fields});
    let bytes = ContainerWriter::new(&schema, &[]).finish().unwrap();
    assert!(Container::open(&bytes).is_err());
}

#[test]
fn damaged_containers_never_panic() {
    let mut writer = ContainerWriter::new(&json!("long"), &[]);
    (0..50).for_each(|i| writer.row(|out| put_long(out, i)).unwrap());
    let good = writer.finish().unwrap();
    let mut random = Random(9);
    for _ in 0..5_000 {
        let mut bytes = good.clone();
        for _ in 0..=random.below(3) {
            let at = random.below(bytes.len());
            bytes[at] = random.next() as u8;
        }
        bytes.truncate(1 + random.below(bytes.len()));
        let _ = rows(&bytes);
    }
}
