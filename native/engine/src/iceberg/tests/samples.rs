//! Single files of other projects' test suites: each is read, or refused with the right kind and by name.

use super::super::document::Document;
use super::super::manifest::read_manifest_list;
use super::{fixtures, of_kind, read};
use crate::error::ErrorKind;

/// Files that are wrong on purpose, what is wrong with them, and the kind of the refusal.
const INVALID: &[(&str, ErrorKind, &str)] = &[
    // Version 3 was unknown when this one was made.
    (
        "iceberg-rust/table_metadata/TableMetadataUnsupportedVersion.json",
        ErrorKind::Corrupt,
        "schemas",
    ),
    (
        "TableMetadataUnsupportedVersion.json",
        ErrorKind::Unsupported,
        "format version",
    ),
    (
        "TableMetadataV1MissingSchemaType.json",
        ErrorKind::Corrupt,
        "schema",
    ),
    (
        "TableMetadataV1NoValidSchema.json",
        ErrorKind::Corrupt,
        "schema",
    ),
    // Its current schema is not there either.
    (
        "iceberg-java/table_metadata/TableMetadataV2CurrentSchemaNotFound.json",
        ErrorKind::Corrupt,
        "last-partition-id",
    ),
    (
        "TableMetadataV2CurrentSchemaNotFound.json",
        ErrorKind::Corrupt,
        "current-schema-id",
    ),
    (
        "TableMetadataV2MissingLastPartitionId.json",
        ErrorKind::Corrupt,
        "last-partition-id",
    ),
    (
        "TableMetadataV2MissingPartitionSpecs.json",
        ErrorKind::Corrupt,
        "partition-specs",
    ),
    (
        "TableMetadataV2MissingSchemas.json",
        ErrorKind::Corrupt,
        "schemas",
    ),
    (
        "TableMetadataV2MissingSortOrder.json",
        ErrorKind::Corrupt,
        "sort-orders",
    ),
];

#[test]
fn r_md1_r_md3_samples_of_metadata_are_read_or_refused_by_key() {
    let test = "r_md1_r_md3_samples_of_metadata_are_read_or_refused_by_key";
    let mut lines = Vec::new();
    for path in of_kind(&fixtures(test), ".json") {
        let text = path.to_str().unwrap();
        let name = path.file_name().unwrap().to_str().unwrap();
        if !text.contains("_format_samples") || !name.to_lowercase().contains("table") {
            continue;
        }
        let outcome = Document::parse(&read(&path));
        let wrong = INVALID.iter().find(|(file, ..)| text.ends_with(file));
        lines.push(match (&outcome, wrong) {
            (Ok(_), None) => continue,
            (Err(error), Some((_, kind, part)))
                if error.kind() == *kind && error.to_string().contains(part) =>
            {
                continue;
            }
            (Ok(_), Some(_)) => format!("{text} is read"),
            (Err(error), _) => format!("{text}: {error}"),
        });
    }
    assert!(lines.is_empty(), "{}", lines.join("\n"));
}

#[test]
fn samples_of_manifest_lists_are_read_and_the_encrypted_one_is_refused() {
    let test = "samples_of_manifest_lists_are_read_and_the_encrypted_one_is_refused";
    for path in of_kind(&fixtures(test), ".avro") {
        let text = path.to_str().unwrap();
        if !text.contains("_format_samples") {
            continue;
        }
        match read_manifest_list(&read(&path)) {
            Ok(manifests) => {
                assert!(!text.contains("encrypted"), "{text}");
                assert!(!manifests.is_empty(), "{text}");
            }
            Err(error) => {
                assert!(text.contains("encrypted"), "{text}: {error}");
                assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
            }
        }
    }
}
