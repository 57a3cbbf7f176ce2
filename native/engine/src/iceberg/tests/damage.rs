//! Metadata and manifests that were cut, flipped or blown up: an error or a value, never a panic, never memory
//! without bound.

use std::io::Write;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::DeflateEncoder;

use super::super::avro::{put_bytes, put_long};
use super::super::document::Document;
use super::super::manifest::{
    DataContent, DataFile, Entry, FileFormat, ListSpec, ManifestContent, ManifestFile,
    ManifestSpec, PartitionValue, read_manifest, read_manifest_list, write_manifest,
    write_manifest_list,
};
use super::super::schema::{Field, Schema, Type};
use super::super::spec::{PartitionField, PartitionSpec, Transform};
use super::{Random, fixtures, of_kind, read, scale};
use crate::error::ErrorKind;

/// Some bytes of `original` changed, cut or put in.
fn mutated(original: &[u8], random: &mut Random) -> Bytes {
    let mut bytes = original.to_vec();
    for _ in 0..=random.below(3) {
        let at = random.below(bytes.len());
        match random.below(5) {
            0 => bytes.truncate(at + 1),
            1 => bytes[at] ^= 1 << random.below(8),
            2 => bytes[at] = random.next() as u8,
            3 => bytes[at] = [0x00, 0x7f, 0x80, 0xff][random.below(4)],
            _ => bytes.insert(at, random.next() as u8),
        }
    }
    bytes.into()
}

/// Reads `bytes` as everything that they might be.
fn digest(bytes: &Bytes) {
    if let Ok(document) = Document::parse(bytes) {
        let _ = document.current_schema().and_then(Schema::to_arrow);
    }
    let _ = read_manifest_list(bytes);
    let data = ManifestFile::from_path("m", 1);
    let deletes = ManifestFile {
        content: ManifestContent::Deletes,
        ..data.clone()
    };
    for manifest in [data, deletes] {
        for file in read_manifest(bytes, &manifest)
            .unwrap_or_default()
            .iter()
            .map(|e| &e.data_file)
        {
            file.lower_bounds
                .iter()
                .chain(file.upper_bounds.iter())
                .for_each(drop);
            file.column_sizes
                .iter()
                .chain(file.value_counts.iter())
                .for_each(drop);
            let _ = file.piece_count();
        }
    }
}

#[test]
fn l8_damaged_metadata_of_other_engines_never_panics() {
    let files = fixtures("l8_damaged_metadata_of_other_engines_never_panics");
    let mut random = Random(7);
    let all = [of_kind(&files, ".metadata.json"), of_kind(&files, ".avro")].concat();
    for path in all.iter().filter(|p| p.metadata().unwrap().len() < 60_000) {
        let original = read(path);
        for _ in 0..40 * scale() {
            digest(&mutated(&original, &mut random));
        }
    }
}

/// A manifest list, a manifest and metadata as this engine writes them.
fn own() -> Vec<Vec<u8>> {
    let fields = vec![
        Field::new(1, "a", false, Type::Long),
        Field::new(2, "b", false, Type::String),
    ];
    let schema = Schema::new(0, fields).unwrap();
    let partition = PartitionField {
        source_ids: vec![2],
        field_id: 1000,
        name: "my-b".into(),
        transform: Transform::Truncate(3),
    };
    let spec = PartitionSpec {
        spec_id: 0,
        fields: vec![partition],
    };
    let file = DataFile {
        partition: vec![(1000, Some(PartitionValue::String("abc".into())))],
        split_offsets: Some(vec![4, 99]),
        ..DataFile::new(DataContent::Data, "f.parquet", FileFormat::Parquet, 5, 200)
    };
    let mut written = Vec::new();
    for format_version in [1, 2, 3] {
        let manifest = ManifestSpec {
            format_version,
            schema: &schema,
            spec: &spec,
            content: ManifestContent::Data,
            snapshot_id: 4,
        };
        let entries = vec![Entry::added(4, file.clone()); 20];
        let (bytes, row) = write_manifest(&manifest, "m.avro", &entries).unwrap();
        written.push(bytes.to_vec());
        let list = ListSpec {
            format_version,
            snapshot_id: 4,
            parent_snapshot_id: None,
            sequence_number: i64::from(format_version) - 1,
            next_row_id: (format_version > 2).then_some(0),
        };
        let list = write_manifest_list(&list, &vec![row; 10]).unwrap();
        written.push(list.bytes.to_vec());
    }
    written
}

#[test]
fn l8_damaged_manifests_of_our_own_never_panic() {
    let mut random = Random(8);
    for original in own() {
        for length in 0..original.len() {
            digest(&Bytes::copy_from_slice(&original[..length]));
        }
        for _ in 0..2_000 * scale() {
            digest(&mutated(&original, &mut random));
        }
    }
}

/// A container of one block with this codec, whose schema is of a manifest list.
fn container(codec: &str, rows: i64, block: &[u8]) -> Bytes {
    let schema = r#"{"type": "record", "name": "m", "fields": [
        {"name": "manifest_path", "type": "string", "field-id": 500},
        {"name": "manifest_length", "type": "long", "field-id": 501}]}"#;
    let mut out = b"Obj\x01".to_vec();
    put_long(&mut out, 2);
    for (key, value) in [("avro.schema", schema), ("avro.codec", codec)] {
        put_bytes(&mut out, key.as_bytes());
        put_bytes(&mut out, value.as_bytes());
    }
    put_long(&mut out, 0);
    out.extend([7; 16]);
    put_long(&mut out, rows);
    put_bytes(&mut out, block);
    out.extend([7; 16]);
    out.into()
}

#[test]
fn l11_blocks_that_unpack_beyond_the_limit_are_refused() {
    let mut bomb = DeflateEncoder::new(Vec::new(), Compression::fast());
    let zeros = vec![0; 1 << 20];
    for _ in 0..257 {
        bomb.write_all(&zeros).unwrap();
    }
    let bomb = bomb.finish().unwrap();
    assert!(bomb.len() < 4 << 20);
    let error = read_manifest_list(&container("deflate", 1, &bomb)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ResourceExhausted, "{error}");
}

#[test]
fn l11_row_counts_beyond_their_block_are_refused_before_allocation() {
    for rows in [2, 1 << 40, i64::MAX, -1, i64::MIN] {
        let mut row = Vec::new();
        put_bytes(&mut row, b"m");
        put_long(&mut row, 1);
        let error = read_manifest_list(&container("null", rows, &row)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{rows}: {error}");
    }
    let unknown = read_manifest_list(&container("lzo", 1, &[0])).unwrap_err();
    assert_eq!(unknown.kind(), ErrorKind::Unsupported, "{unknown}");
}

#[test]
fn encrypted_files_are_unsupported_and_key_metadata_on_plain_ones_is_read() {
    let error = read_manifest_list(&Bytes::from_static(b"AGS1\0\0\x10\0rest")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    assert!(error.to_string().contains("encrypted"), "{error}");
    let plain = read_manifest_list(&own()[3].clone().into()).unwrap();
    let keyed: Vec<ManifestFile> = plain
        .into_iter()
        .map(|m| ManifestFile {
            key_metadata: Some(vec![1, 2]),
            ..m
        })
        .collect();
    let list = ListSpec {
        format_version: 3,
        snapshot_id: 4,
        parent_snapshot_id: None,
        sequence_number: 2,
        next_row_id: Some(0),
    };
    let written = write_manifest_list(&list, &keyed).unwrap();
    let read = read_manifest_list(&written.bytes).unwrap();
    assert_eq!(read[0].key_metadata.as_deref(), Some(&[1u8, 2][..]));
}
