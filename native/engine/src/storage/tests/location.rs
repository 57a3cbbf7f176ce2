//! Locations, the prefix map and the allow-list: no file is touched.

use std::collections::BTreeMap;

use super::{ODD_NAMES, at, storage};
use crate::error::ErrorKind;
use crate::storage::Storage;

fn mapped(pairs: &[(&str, &str)]) -> Storage {
    let pairs: Vec<_> = pairs
        .iter()
        .map(|(from, to)| (from.to_string(), to.to_string()))
        .collect();
    Storage::new(&BTreeMap::new(), &pairs).unwrap()
}

#[test]
fn location_typed_by_a_user_is_normalised() {
    let cases = [
        ("/lake/t", "/lake/t"),
        ("/lake//t/", "/lake/t"),
        ("/lake/./x/../t", "/lake/t"),
        ("file:/lake/t", "/lake/t"),
        ("file:///lake/t", "/lake/t"),
        ("FILE://localhost/lake/t", "/lake/t"),
        ("/", "/"),
        ("file:///", "/"),
        ("/lake/a%20b", "/lake/a%20b"),
        ("file:///lake/a%20b", "/lake/a%20b"),
        ("/lake/a b:c", "/lake/a b:c"),
        ("memory://", "memory:///"),
        ("memory:///", "memory:///"),
        ("memory:/t", "memory:///t"),
        ("memory://t/x", "memory:///t/x"),
        ("memory:///t/x/", "memory:///t/x"),
        ("s3://b", "s3://b/"),
        ("S3A://b.c-d/", "s3://b.c-d/"),
        ("s3n://b/t/", "s3://b/t"),
        ("s3://b/t/./x/../a%20b c", "s3://b/t/a%20b c"),
    ];
    for (given, expected) in cases {
        assert_eq!(at(given).as_str(), expected, "{given}");
    }
}

#[test]
fn location_typed_relative_starts_at_the_current_directory() {
    let here = std::env::current_dir().unwrap();
    for (given, expected) in [
        ("t", here.join("t")),
        ("./a/t", here.join("a/t")),
        ("a:b", here.join("a:b")),
    ] {
        assert_eq!(at(given).as_str(), expected.to_str().unwrap(), "{given}");
    }
    assert_eq!(
        at("../t").as_str(),
        here.parent().unwrap().join("t").to_str().unwrap()
    );
}

#[test]
fn location_that_cannot_be_is_refused_by_kind() {
    let cases = [
        ("", ErrorKind::InvalidInput, "empty"),
        ("http://h/t", ErrorKind::InvalidInput, "http://h/t"),
        ("HTTPS://h/t", ErrorKind::InvalidInput, "HTTPS://h/t"),
        ("file://host/t", ErrorKind::InvalidInput, "host"),
        ("/a\0b", ErrorKind::InvalidInput, "control"),
        ("/a\nb", ErrorKind::InvalidInput, "control"),
        ("/a\\..\\b", ErrorKind::InvalidInput, "backslash"),
        ("/../etc", ErrorKind::InvalidInput, "above the top"),
        ("/c|/t", ErrorKind::InvalidInput, "drive letter"),
        ("s3:/b/t", ErrorKind::InvalidInput, "s3://bucket/path"),
        ("s3:///t", ErrorKind::InvalidInput, "s3://bucket/path"),
        ("s3://../t", ErrorKind::InvalidInput, "s3://bucket/path"),
        ("s3://key:word@b/t", ErrorKind::InvalidInput, "options"),
        ("s3://b/a//t", ErrorKind::Unsupported, "a//t"),
        ("s3://b//t", ErrorKind::Unsupported, "b//t"),
        ("abfss://c@a/t", ErrorKind::Unsupported, "\"abfss\""),
        ("hdfs:/t", ErrorKind::Unsupported, "\"hdfs\""),
    ];
    for (given, kind, part) in cases {
        let error = storage().resolve(given).unwrap_err();
        assert_eq!(error.kind(), kind, "{given}");
        assert!(error.message().contains(part), "{error}");
    }
    let long = format!("/{}", "x".repeat(5000));
    assert_eq!(
        storage().resolve(&long).unwrap_err().kind(),
        ErrorKind::InvalidInput
    );
}

#[test]
fn location_joins_only_what_lies_below() {
    let table = at("/lake/t");
    assert_eq!(
        table.join("data/f.parquet").unwrap().as_str(),
        "/lake/t/data/f.parquet"
    );
    assert_eq!(at("/").join("x").unwrap().as_str(), "/x");
    assert_eq!(
        at("memory:///").join("x/y").unwrap().as_str(),
        "memory:///x/y"
    );
    for wrong in ["", "/x", "..", "a/../../b", "a\0", "a\\b"] {
        assert_eq!(
            table.join(wrong).unwrap_err().kind(),
            ErrorKind::InvalidInput,
            "{wrong:?}"
        );
    }
    for name in ODD_NAMES {
        let joined = table.join(name).unwrap();
        assert_eq!(
            (joined.name(), joined.parent().unwrap()),
            (name, table.clone())
        );
        assert_eq!(joined.relative_to(&table).as_deref(), Some(name));
    }
}

#[test]
fn location_relative_to_a_root_respects_whole_parts() {
    let cases = [
        ("/lake/t/x/y", "/lake/t", Some("x/y")),
        ("/lake/t", "/lake/t", Some("")),
        ("/lake/t2", "/lake/t", None),
        ("/lake", "/lake/t", None),
        ("/lake/t", "/", Some("lake/t")),
        ("memory:///lake/t", "/lake", None),
        ("memory:///lake/t", "memory:///lake", Some("t")),
        ("memory:///lake/t", "memory:///", Some("lake/t")),
        ("s3://b/lake/t", "s3a://b/lake", Some("t")),
        ("s3://b/lake/t", "s3://b", Some("lake/t")),
        ("s3://b/lake/t", "s3://c", None),
        ("s3://b/lake/t", "s3://b/la", None),
        ("s3://b/lake/t", "/", None),
    ];
    for (location, root, expected) in cases {
        assert_eq!(
            at(location).relative_to(&at(root)).as_deref(),
            expected,
            "{location} {root}"
        );
    }
    assert_eq!(at("/a").parent().unwrap().as_str(), "/");
    assert!(at("/").parent().is_none());
    assert_eq!(at("memory:///a").parent().unwrap().as_str(), "memory:///");
}

#[test]
fn recorded_path_within_the_roots_resolves_whatever_its_spelling() {
    let store = storage().open(&[at("/lake/t"), at("/elsewhere/data")]);
    for recorded in [
        "/lake/t/a b",
        "file:/lake/t/a b",
        "file:///lake/t//a b",
        "/lake/t/./a b",
    ] {
        assert_eq!(
            store.resolve(recorded).unwrap().as_str(),
            "/lake/t/a b",
            "{recorded}"
        );
    }
    assert_eq!(
        store.resolve("/elsewhere/data/f").unwrap().as_str(),
        "/elsewhere/data/f"
    );
}

#[test]
fn recorded_path_that_leads_elsewhere_is_denied_by_name() {
    let store = storage().open(&[at("/lake/t")]);
    let cases = [
        "/lake/t/../u/f",
        "/lake/t2/f",
        "/etc/passwd",
        "file:///etc/passwd",
        "lake/t/f",
        "t",
        "",
        "s3://lake/t/f",
        "http://h/lake/t/f",
        "memory:///lake/t/f",
        "/lake/t/\0f",
        "/lake/t/..\\..\\etc",
        "file://host/lake/t/f",
        "..",
    ];
    for recorded in cases {
        let error = store.resolve(recorded).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{recorded:?}");
        assert!(
            error.message().contains(&format!("{recorded:?}")),
            "{error}"
        );
    }
    // Text is literal: this names a folder that is really called so.
    assert_eq!(
        store.resolve("/lake/t/%2e%2e/f").unwrap().as_str(),
        "/lake/t/%2e%2e/f"
    );
}

#[test]
fn prefix_map_moves_recorded_paths_by_the_longest_match() {
    let storage = mapped(&[
        ("s3://b/wh", "/data/wh"),
        ("s3://b/wh/special/", "/fast"),
        ("hdfs://nn:9000/t", "/h"),
        ("data/persistent/t", "/fixtures/t"),
        ("file:/old", "/new"),
        ("/gone", "s3a://moved"),
    ]);
    let store = storage.open(&[]);
    let cases = [
        ("s3://b/wh/x/f", "/data/wh/x/f"),
        ("s3a://b/wh//x/f", "/data/wh/x/f"),
        ("S3N://b/wh", "/data/wh"),
        ("s3://b/wh/special/f", "/fast/f"),
        ("s3://b/wh/special2/f", "/data/wh/special2/f"),
        ("hdfs://nn:9000/t/f", "/h/f"),
        (
            "data/persistent/t/metadata/m.avro",
            "/fixtures/t/metadata/m.avro",
        ),
        ("/old/f", "/new/f"),
        ("file:///old/f", "/new/f"),
        ("/gone/f", "s3://moved/f"),
        ("/gone", "s3://moved/"),
    ];
    for (recorded, expected) in cases {
        assert_eq!(
            store.resolve(recorded).unwrap().as_str(),
            expected,
            "{recorded}"
        );
    }
    for outside in [
        "s3://b/wh2/f",
        "s3://b/w",
        "s3://b/wh/../../etc",
        "hdfs://other:9000/t/f",
        "/older/f",
    ] {
        assert_eq!(
            store.resolve(outside).unwrap_err().kind(),
            ErrorKind::PermissionDenied,
            "{outside}"
        );
    }
    let empty = Storage::new(&BTreeMap::new(), &[(String::new(), "/x".to_string())]).unwrap_err();
    assert_eq!(empty.kind(), ErrorKind::InvalidInput);
    let remote = Storage::new(
        &BTreeMap::new(),
        &[("/x".to_string(), "abfss://c@a/t".to_string())],
    )
    .unwrap_err();
    assert_eq!(remote.kind(), ErrorKind::Unsupported);
}
