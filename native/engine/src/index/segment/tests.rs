//! The segment envelope: round trips, and any damage is an error.

use std::collections::BTreeMap;

use bytes::Bytes;
use roaring::RoaringBitmap;

use super::{CoveredFile, RowLayout, SegmentHeader, SegmentReader, write};
use crate::error::ErrorKind;
use crate::iceberg::puffin;
use crate::index::overlay::FileIdentity;
use crate::index::testing::Random;
use crate::index::{Blob, IndexDefinition};

fn header() -> SegmentHeader {
    let file = |path: &str, rows: u32| CoveredFile {
        identity: FileIdentity {
            path: path.into(),
            size: 100,
            record_count: rows.into(),
            data_sequence_number: 3,
            file_sequence_number: 3,
        },
        rows,
    };
    SegmentHeader {
        definition: IndexDefinition {
            name: "c_bitmap".into(),
            kind: "bitmap".into(),
            columns: vec![4],
            parameters: BTreeMap::from([("b".into(), "1".into())]),
        },
        table_uuid: "5c1a1f0e-0000-4000-8000-000000000001".into(),
        files: vec![
            file("data/a.parquet", 5),
            file("data/ü \"b\".parquet", 0),
            file("s3://x/c.parquet", 7),
        ],
    }
}

fn blobs() -> Vec<Blob> {
    vec![
        Blob {
            kind: "one".into(),
            data: Bytes::from_static(b"hello"),
        },
        Blob {
            kind: "two".into(),
            data: Bytes::from(vec![7; 300]),
        },
    ]
}

fn same(a: &[Blob], b: &[Blob]) -> bool {
    a.len() == b.len()
        && a.iter()
            .zip(b)
            .all(|(a, b)| a.kind == b.kind && a.data == b.data)
}

#[test]
fn segment_written_reads_back() {
    let written = write(&header(), blobs()).unwrap();
    let reader = SegmentReader::open(written.data.clone()).unwrap();
    assert_eq!(reader.header(), &header());
    assert!(same(&reader.blobs().unwrap(), &blobs()));
    assert_eq!(reader.layout().unwrap().rows(), 12);
    assert_eq!(written.name, format!("{}.bsdb_idx", written.checksum));
    assert_eq!(written.checksum.len(), 32);
}

#[test]
fn segment_written_twice_has_equal_bytes() {
    assert_eq!(
        write(&header(), blobs()).unwrap(),
        write(&header(), blobs()).unwrap()
    );
    let mut other = header();
    other.files.pop();
    assert_ne!(
        write(&header(), blobs()).unwrap().name,
        write(&other, blobs()).unwrap().name
    );
}

#[test]
fn segment_is_a_puffin_file() {
    let data = write(&header(), blobs()).unwrap().data;
    assert!(data.starts_with(b"PFA1") && data.ends_with(b"PFA1"));
    let length =
        i32::from_le_bytes(data[data.len() - 12..data.len() - 8].try_into().unwrap()) as usize;
    let footer: serde_json::Value =
        serde_json::from_slice(&data[data.len() - 12 - length..data.len() - 12]).unwrap();
    assert_eq!(footer["blobs"][1]["type"], "two");
    assert_eq!(footer["blobs"][1]["fields"], serde_json::json!([4]));
    assert_eq!(footer["blobs"][1]["snapshot-id"], -1);
    let offset = footer["blobs"][0]["offset"].as_u64().unwrap() as usize;
    assert_eq!(&data[offset..offset + 5], b"hello");
}

#[test]
fn segment_of_unknown_version_is_unsupported() {
    let text = serde_json::json!({"format-version": 2, "something": "else"}).to_string();
    let checksum = format!("{:016x}", xxhash_rust::xxh3::xxh3_64(text.as_bytes()));
    let properties = BTreeMap::from([
        ("benostream.segment".to_owned(), text),
        ("benostream.segment-xxh3".to_owned(), checksum),
    ]);
    let data = puffin::write(Vec::new(), properties).unwrap();
    assert_eq!(
        SegmentReader::open(data.into()).unwrap_err().kind(),
        ErrorKind::Unsupported
    );
}

#[test]
fn segment_of_too_many_rows_is_refused() {
    let mut header = header();
    header.files[0].rows = u32::MAX;
    assert!(write(&header, blobs()).is_err());
}

#[test]
fn foreign_puffin_file_is_corrupt() {
    let data = puffin::write(Vec::new(), BTreeMap::new()).unwrap();
    assert_eq!(
        SegmentReader::open(data.into()).unwrap_err().kind(),
        ErrorKind::Corrupt
    );
}

/// Opens damaged bytes: an error of the right kind, or what was written.
fn check_damaged(data: Vec<u8>) {
    let result = SegmentReader::open(data.into())
        .and_then(|reader| Ok((reader.header().clone(), reader.blobs()?)));
    match result {
        Ok((read, content)) => assert!(read == header() && same(&content, &blobs())),
        Err(error) => assert!(
            matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Unsupported),
            "{error}"
        ),
    }
}

#[test]
fn segment_truncated_is_corrupt() {
    let data = write(&header(), blobs()).unwrap().data;
    for sixteenth in 0..16 {
        let cut = data[..data.len() * sixteenth / 16].to_vec();
        assert_eq!(
            SegmentReader::open(cut.into()).unwrap_err().kind(),
            ErrorKind::Corrupt
        );
    }
}

#[test]
fn segment_with_any_flipped_bit_is_an_error_or_unchanged() {
    let data = write(&header(), blobs()).unwrap().data;
    for position in 0..data.len() {
        let mut damaged = data.to_vec();
        damaged[position] ^= 1 << (position % 8);
        check_damaged(damaged);
    }
}

#[test]
fn segment_with_random_damage_is_an_error_or_unchanged() {
    let data = write(&header(), blobs()).unwrap().data;
    for seed in 0..2000 {
        let mut random = Random(seed);
        let mut damaged = data.to_vec();
        for _ in 0..=random.below(8) {
            let position = random.below(damaged.len());
            damaged[position] = random.next() as u8;
        }
        check_damaged(damaged);
        let noise: Vec<u8> = (0..random.below(200))
            .map(|_| random.next() as u8)
            .collect();
        assert!(
            SegmentReader::open([b"PFA1".as_slice(), &noise, b"PFA1"].concat().into()).is_err()
        );
    }
}

#[test]
fn l11_blob_lengths_out_of_bounds_are_corrupt() {
    let good = puffin::BlobMetadata {
        kind: "x".into(),
        fields: vec![],
        snapshot_id: -1,
        sequence_number: -1,
        offset: 4,
        length: 0,
        compression_codec: None,
        properties: BTreeMap::new(),
    };
    for (offset, length) in [(0, 0), (4, 1), (u64::MAX, 1), (4, u64::MAX), (1 << 40, 0)] {
        let footer = puffin::Footer {
            blobs: vec![puffin::BlobMetadata {
                offset,
                length,
                ..good.clone()
            }],
            properties: BTreeMap::new(),
        };
        let payload = serde_json::to_vec(&footer).unwrap();
        let size = (payload.len() as i32).to_le_bytes();
        let data = [b"PFA1PFA1".as_slice(), &payload, &size, &[0; 4], b"PFA1"].concat();
        assert_eq!(
            puffin::read_footer(&data).unwrap_err().kind(),
            ErrorKind::Corrupt,
            "{offset} {length}"
        );
    }
}

#[test]
fn layout_maps_rows_to_files_and_back() {
    let layout = RowLayout::new([5, 0, 7]).unwrap();
    assert_eq!((layout.rows(), layout.file_count()), (12, 3));
    assert_eq!(layout.locate(4), Some((0, 4)));
    assert_eq!(layout.locate(5), Some((2, 0)));
    assert_eq!(layout.locate(12), None);
    let rows: RoaringBitmap = [0, 4, 5, 11].into();
    assert_eq!(layout.extract(0, &rows), [0, 4].into());
    assert_eq!(layout.extract(1, &rows), RoaringBitmap::new());
    assert_eq!(layout.extract(2, &rows), [0, 6].into());
    assert_eq!(layout.extract(3, &rows), RoaringBitmap::new());
    assert_eq!(layout.embed(2, &[0, 6, 7, 900].into()), [5, 11].into());
}
