//! Blobs that other engines wrote, decoded and written again byte for byte; damaged ones are refused, never a panic.

use std::collections::BTreeSet;
use std::path::Path;

use roaring::RoaringTreemap;

use super::{
    BLOB_BYTES_MAX, BLOB_TYPE, KEY_MAX, MAGIC, decode, encode, read_positions, write_positions,
};
use crate::error::ErrorKind;
use crate::iceberg::puffin;
use crate::iceberg::tests::{Random, fixtures};

/// A blob around the bytes of a bitmap.
fn framed(bitmap: &[u8]) -> Vec<u8> {
    let body = [MAGIC.as_slice(), bitmap].concat();
    let mut blob = u32::try_from(body.len()).unwrap().to_be_bytes().to_vec();
    blob.extend_from_slice(&body);
    blob.extend_from_slice(&crc32fast::hash(&body).to_be_bytes());
    blob
}

fn corrupt(blob: &[u8], cardinality: u64, why: &str) {
    let error = decode(blob, cardinality).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    assert!(error.to_string().contains(why), "{error}, not {why}");
}

fn sample(path: &Path, folder: &str, ending: &str) -> bool {
    let path = path.to_str().unwrap();
    path.contains("_format_samples") && path.contains(folder) && path.ends_with(ending)
}

/// The cardinality that Iceberg's libraries publish for each of their samples.
const SAMPLES: [(&str, u64); 5] = [
    ("empty-position-index.bin", 0),
    ("small-alternating-values-position-index.bin", 5),
    ("small-and-large-values-position-index.bin", 4),
    ("all-container-types-position-index.bin", 64_512),
    ("deletion-vector-v1-payload.bin", 5),
];

#[test]
fn r_dv_samples_of_other_libraries_are_read_and_written_byte_for_byte() {
    let files = fixtures("r_dv_samples_of_other_libraries_are_read_and_written_byte_for_byte");
    let mut seen = BTreeSet::new();
    for (name, cardinality) in SAMPLES {
        for path in files.iter().filter(|path| sample(path, "", name)) {
            let blob = std::fs::read(path).unwrap();
            let positions = read_positions(&blob[8..blob.len() - 4]).unwrap();
            println!(
                "{name}: {} positions to {:?}",
                positions.len(),
                positions.max()
            );
            if name != "all-container-types-position-index.bin" {
                assert_eq!(positions.len(), cardinality, "{name}");
            }
            assert_eq!(decode(&blob, positions.len()).unwrap(), positions);
            assert!(encode(&positions).unwrap() == blob, "{name}");
            corrupt(&blob, positions.len() + 1, "its manifest says");
            seen.insert(name);
        }
    }
    assert!(files.is_empty() || seen.len() == SAMPLES.len(), "{seen:?}");
}

#[test]
fn r_dv_blobs_of_puffin_samples_are_read_by_offset_and_length() {
    let files = fixtures("r_dv_blobs_of_puffin_samples_are_read_by_offset_and_length");
    let mut blobs = 0;
    for path in files.iter().filter(|path| sample(path, "", ".puffin")) {
        let file = std::fs::read(path).unwrap();
        for blob in puffin::read_footer(&file).unwrap().blobs {
            assert_eq!(blob.kind, BLOB_TYPE);
            let bytes = &file[puffin::blob_range(&blob).unwrap()];
            let cardinality = blob.properties["cardinality"].parse().unwrap();
            let positions = decode(bytes, cardinality).unwrap();
            assert!(encode(&positions).unwrap() == bytes, "{}", path.display());
            blobs += 1;
        }
    }
    assert!(files.is_empty() || blobs == 4, "{blobs} blobs");
}

#[test]
fn r_dv_plain_bitmaps_of_java_are_read_and_a_key_beyond_its_range_is_corrupt() {
    let test = "r_dv_plain_bitmaps_of_java_are_read_and_a_key_beyond_its_range_is_corrupt";
    for path in fixtures(test)
        .iter()
        .filter(|path| sample(path, "roaring64", ".bin"))
    {
        let bytes = std::fs::read(path).unwrap();
        let name = path.file_name().unwrap().to_str().unwrap();
        let wanted: u64 = match name {
            "64mapempty.bin" => 0,
            "64map32bitvals.bin" => 10,
            "64mapspreadvals.bin" => 100,
            "64maphighvals.bin" => {
                corrupt(&framed(&bytes), 0, "out of order");
                continue;
            }
            _ => continue,
        };
        let positions = decode(&framed(&bytes), wanted).unwrap();
        let mut written = Vec::new();
        write_positions(&positions, &mut written).unwrap();
        assert!(written == bytes, "{name}");
    }
}

#[test]
fn r_dv_every_set_of_positions_comes_back() {
    let mut random = Random(5);
    for round in 0..200 {
        let mut positions = RoaringTreemap::new();
        for _ in 0..random.below(60) {
            let start = match random.below(3) {
                0 => random.next() >> (1 + random.below(40)),
                _ => random.below(300_000) as u64,
            };
            positions.insert_range(start..start + 1 + random.below(5_000) as u64);
        }
        let blob = encode(&positions).unwrap();
        assert_eq!(
            decode(&blob, positions.len()).unwrap(),
            positions,
            "{round}"
        );
        assert!(encode(&positions).unwrap() == blob, "{round}");
    }
    let last = RoaringTreemap::from_iter([u64::from(KEY_MAX) << 32 | 7]);
    assert_eq!(decode(&encode(&last).unwrap(), 1).unwrap(), last);
    let beyond = RoaringTreemap::from_iter([1 << 63]);
    assert_eq!(encode(&beyond).unwrap_err().kind(), ErrorKind::InvalidInput);
}

#[test]
fn r_dv_wrong_length_magic_checksum_order_and_cardinality_are_corrupt() {
    let positions = RoaringTreemap::from_iter([1, 7, 1 << 40]);
    let blob = encode(&positions).unwrap();
    corrupt(&blob, 2, "its manifest says 2");
    corrupt(&blob[..blob.len() - 1], 3, "bytes and has");
    corrupt(&[&blob[..], &[0]].concat(), 3, "bytes and has");
    corrupt(&blob[..5], 3, "checksum");
    corrupt(&[], 3, "length");
    let mut changed = blob.clone();
    changed[4] ^= 1;
    corrupt(&changed, 3, "magic");
    let mut changed = blob.clone();
    *changed.last_mut().unwrap() ^= 1;
    corrupt(&changed, 3, "checksum");

    let bitmap = &blob[8..blob.len() - 4];
    let mut backwards = bitmap.to_vec();
    backwards[8] = 0xff;
    backwards[9] = 0xff;
    corrupt(&framed(&backwards), 3, "out of order");
    corrupt(&framed(&[bitmap, &[0]].concat()), 3, "behind its last");
    corrupt(&framed(&bitmap[..bitmap.len() - 1]), 3, "cannot be read");
}

#[test]
fn r_dv_counts_beyond_the_blob_are_corrupt_before_anything_is_allocated() {
    for count in [2u64, 1 << 20, u64::MAX] {
        let bitmap = [count.to_le_bytes().as_slice(), &[0; 12]].concat();
        corrupt(&framed(&bitmap), 0, "too short for its bitmaps");
    }
    let error = super::check_length(BLOB_BYTES_MAX + 1).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ResourceExhausted);
}

#[test]
fn r_dv_damaged_blobs_never_panic() {
    let mut positions = RoaringTreemap::from_iter((0..9_000).map(|i| i * 7));
    positions.insert_range(1 << 33..(1 << 33) + 70_000);
    let good = encode(&positions).unwrap();
    let mut random = Random(11);
    for _ in 0..3_000 {
        let mut bytes = good[8..good.len() - 4].to_vec();
        for _ in 0..=random.below(4) {
            let at = random.below(bytes.len());
            bytes[at] = random.next() as u8;
        }
        bytes.truncate(1 + random.below(bytes.len()));
        let _ = decode(&framed(&bytes), positions.len());
    }
}
