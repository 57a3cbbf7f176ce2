//! Overlay manifests: round trips, coverage, concurrent changes, garbage, golden bytes.

use std::collections::BTreeMap;

use super::{
    FileIdentity, OverlayChange, OverlayManifest, ParsedOverlay, SegmentEntry, identity_path,
};
use crate::error::ErrorKind;
use crate::index::IndexDefinition;
use crate::index::segment::CoveredFile;

fn identity(path: &str) -> FileIdentity {
    FileIdentity {
        path: path.into(),
        size: 10,
        record_count: 4,
        data_sequence_number: 1,
        file_sequence_number: 1,
    }
}

fn segment(name: &str, paths: &[&str]) -> SegmentEntry {
    let files = paths
        .iter()
        .map(|path| CoveredFile {
            identity: identity(path),
            rows: 4,
        })
        .collect();
    SegmentEntry {
        name: name.into(),
        length: 9,
        checksum: "00".into(),
        files,
    }
}

fn definition(name: &str) -> IndexDefinition {
    IndexDefinition {
        name: name.into(),
        kind: "bitmap".into(),
        columns: vec![1],
        parameters: BTreeMap::new(),
    }
}

fn with_segments(segments: Vec<SegmentEntry>) -> OverlayManifest {
    OverlayManifest::new("uuid")
        .apply(&OverlayChange::AddIndex(definition("i")), 0)
        .unwrap()
        .apply(
            &OverlayChange::AddSegments {
                definition: definition("i"),
                segments,
            },
            0,
        )
        .unwrap()
}

fn known(data: &[u8]) -> OverlayManifest {
    match OverlayManifest::parse(data).unwrap() {
        ParsedOverlay::Known(manifest) => manifest,
        other => panic!("{other:?}"),
    }
}

#[test]
fn manifest_round_trips() {
    let mut manifest = with_segments(vec![segment("a.bsdb_idx", &["data/1", "data/ü"])]);
    manifest.synced_snapshot_id = Some(i64::MAX);
    let bytes = manifest.to_bytes().unwrap();
    assert_eq!(known(&bytes), manifest);
    assert_eq!(known(&bytes).to_bytes().unwrap(), bytes);
}

#[test]
fn manifest_of_unknown_version_is_typed() {
    let parsed = OverlayManifest::parse(br#"{"format-version": 2, "anything": [1]}"#).unwrap();
    assert_eq!(parsed, ParsedOverlay::UnknownVersion(2));
}

#[test]
fn manifest_garbage_is_corrupt() {
    let good = with_segments(vec![segment("a.bsdb_idx", &["data/1"])])
        .to_bytes()
        .unwrap();
    for sixteenth in 0..16 {
        assert_eq!(
            OverlayManifest::parse(&good[..good.len() * sixteenth / 16])
                .unwrap_err()
                .kind(),
            ErrorKind::Corrupt
        );
    }
    for position in 0..good.len() {
        let mut damaged = good.clone();
        damaged[position] ^= 1 << (position % 8);
        match OverlayManifest::parse(&damaged) {
            Ok(parsed) => assert!(
                matches!(parsed, ParsedOverlay::UnknownVersion(_)),
                "{position}"
            ),
            Err(error) => assert_eq!(error.kind(), ErrorKind::Corrupt),
        }
    }
    for text in [
        "",
        "null",
        "[]",
        "{}",
        r#"{"format-version":1}"#,
        r#"{"format-version":-1}"#,
    ] {
        assert_eq!(
            OverlayManifest::parse(text.as_bytes()).unwrap_err().kind(),
            ErrorKind::Corrupt,
            "{text}"
        );
    }
}

#[test]
fn manifest_segment_name_with_a_path_is_refused() {
    for name in ["../a", "a/b", "", ".a", "a\\b", "a\0"] {
        let change = OverlayChange::AddSegments {
            definition: definition("i"),
            segments: vec![segment(name, &[])],
        };
        assert!(with_segments(vec![]).apply(&change, 0).is_err(), "{name:?}");
    }
    let mut manifest = with_segments(vec![segment("a.bsdb_idx", &[])]);
    manifest.indexes[0].segments[0].name = "../x".into();
    assert_eq!(
        OverlayManifest::parse(&manifest.to_bytes().unwrap())
            .unwrap_err()
            .kind(),
        ErrorKind::Corrupt
    );
}

#[test]
fn coverage_uses_equal_identities_only() {
    let manifest = with_segments(vec![segment("a", &["1", "2", "3"])]);
    let mut overwritten = identity("2");
    overwritten.size += 1;
    let coverage = manifest.coverage(
        "i",
        &[identity("9"), identity("3"), overwritten, identity("1")],
    );
    assert_eq!(coverage.uncovered, [0, 2]);
    assert_eq!(coverage.segments.len(), 1);
    assert_eq!(coverage.segments[0].live_files, [Some(3), None, Some(1)]);
}

#[test]
fn coverage_gives_each_file_to_one_segment() {
    let manifest = with_segments(vec![
        segment("a", &["1"]),
        segment("b", &["1", "2"]),
        segment("c", &["2", "gone"]),
    ]);
    let coverage = manifest.coverage("i", &[identity("1"), identity("2")]);
    assert!(coverage.uncovered.is_empty());
    assert_eq!(coverage.segments.len(), 1);
    assert_eq!(coverage.segments[0].segment.name, "b");
    assert_eq!(coverage.segments[0].live_files, [Some(0), Some(1)]);
}

#[test]
fn coverage_of_a_file_that_is_live_twice_scans_one() {
    let coverage =
        with_segments(vec![segment("a", &["1"])]).coverage("i", &[identity("1"), identity("1")]);
    assert_eq!(coverage.segments[0].live_files, [Some(0)]);
    assert_eq!(coverage.uncovered, [1]);
}

#[test]
fn coverage_of_unknown_index_is_empty() {
    let coverage = with_segments(vec![segment("a", &["1"])]).coverage("other", &[identity("1")]);
    assert!(coverage.segments.is_empty());
    assert_eq!(coverage.uncovered, [0]);
}

#[test]
fn changes_apply_on_a_concurrent_publishers_document() {
    let mine = OverlayChange::AddSegments {
        definition: definition("i"),
        segments: vec![segment("a", &["1"])],
    };
    let theirs = with_segments(vec![segment("b", &["2"])])
        .apply(&OverlayChange::AddIndex(definition("h")), 0)
        .unwrap();
    let merged = theirs.apply(&mine, 0).unwrap();
    let names: Vec<_> = merged
        .index("i")
        .unwrap()
        .segments
        .iter()
        .map(|s| s.name.as_str())
        .collect();
    assert_eq!(names, ["b", "a"]);
    assert_eq!(
        merged
            .indexes
            .iter()
            .map(|e| e.definition.name.as_str())
            .collect::<Vec<_>>(),
        ["h", "i"]
    );
    assert_eq!(merged.apply(&mine, 0).unwrap(), merged);
}

#[test]
fn changes_without_ground_are_refused() {
    let manifest = with_segments(vec![segment("a", &["1"])]);
    let kind = |change: OverlayChange| manifest.apply(&change, 0).unwrap_err().kind();
    assert_eq!(
        kind(OverlayChange::AddIndex(definition("i"))),
        ErrorKind::AlreadyExists
    );
    assert_eq!(
        kind(OverlayChange::DropIndex("x".into())),
        ErrorKind::NotFound
    );
    assert_eq!(
        kind(OverlayChange::AddSegments {
            definition: definition("x"),
            segments: vec![]
        }),
        ErrorKind::NotFound
    );
    let mut anew = definition("i");
    anew.columns = vec![2];
    assert_eq!(
        kind(OverlayChange::AddSegments {
            definition: anew,
            segments: vec![]
        }),
        ErrorKind::Conflict
    );
    let replace = OverlayChange::ReplaceSegments {
        definition: definition("i"),
        removed: vec!["gone".into()],
        added: vec![],
    };
    assert_eq!(kind(replace), ErrorKind::Conflict);
}

#[test]
fn replaced_segments_become_tombstones_until_they_return() {
    let manifest = with_segments(vec![segment("a", &["1"]), segment("b", &["2"])]);
    let replace = OverlayChange::ReplaceSegments {
        definition: definition("i"),
        removed: vec!["a".into(), "b".into()],
        added: vec![segment("c", &["1", "2"])],
    };
    let replaced = manifest.apply(&replace, 77).unwrap();
    let tombstones = |m: &OverlayManifest| {
        m.tombstones
            .iter()
            .map(|t| (t.name.clone(), t.replaced_at_ms))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        tombstones(&replaced),
        [("a".to_owned(), 77), ("b".to_owned(), 77)]
    );
    let again = replaced
        .apply(
            &OverlayChange::AddSegments {
                definition: definition("i"),
                segments: vec![segment("a", &["1"])],
            },
            99,
        )
        .unwrap();
    assert_eq!(tombstones(&again), [("b".to_owned(), 77)]);
    let dropped = again
        .apply(&OverlayChange::DropIndex("i".into()), 100)
        .unwrap();
    assert_eq!(
        tombstones(&dropped),
        [
            ("a".to_owned(), 100),
            ("b".to_owned(), 77),
            ("c".to_owned(), 100)
        ]
    );
    let forgotten = dropped
        .apply(
            &OverlayChange::ForgetTombstones(vec!["a".into(), "b".into()]),
            101,
        )
        .unwrap();
    assert_eq!(tombstones(&forgotten), [("c".to_owned(), 100)]);
}

#[test]
fn identity_paths_have_one_spelling() {
    for (table, path, want) in [
        ("/lake/t", "/lake/t/data/a", "data/a"),
        ("file:///lake/t/", "file:/lake/t/data/a", "data/a"),
        ("s3a://b/t", "s3://b/t/data/a", "data/a"),
        ("/lake/t", "file:///lake/t2/data/a", "/lake/t2/data/a"),
        ("/lake/t", "/lake/t", "/lake/t"),
        ("/lake/t", "/lake/t//a", "/lake/t//a"),
        ("memory:///t", "memory:///t/data/a", "data/a"),
        ("s3://b/t", "s3n://other/x", "s3://other/x"),
    ] {
        assert_eq!(identity_path(table, path), want, "{table} {path}");
    }
}

#[test]
fn manifest_golden_bytes_are_kept() {
    let manifest = with_segments(vec![segment("a.bsdb_idx", &["data/1"])])
        .apply(&OverlayChange::Synced(5), 0)
        .unwrap();
    let golden = include_str!("../../../tests/golden/overlay-manifest-v1.json");
    assert_eq!(
        String::from_utf8(manifest.to_bytes().unwrap()).unwrap(),
        golden
    );
    assert_eq!(known(golden.as_bytes()), manifest);
}
