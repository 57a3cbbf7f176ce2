//! What cannot be applied is refused by file and feature; removed files do not matter.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

use super::*;
use crate::error::ErrorKind;
use crate::iceberg::document::NewTable;
use crate::iceberg::manifest::DataFile;
use crate::iceberg::schema::{Field, Schema, Type};
use crate::iceberg::spec::PartitionSpec;

fn document(change: impl Fn(&mut Json)) -> Document {
    let table = NewTable {
        table_uuid: uuid::Uuid::nil(),
        location: "l".into(),
        schema: Schema::new(0, vec![Field::new(1, "c", false, Type::Int)]).unwrap(),
        spec: PartitionSpec::unpartitioned(),
        properties: BTreeMap::new(),
        now_ms: 0,
    };
    let mut json = serde_json::from_slice(&Document::create(&table).unwrap().to_bytes()).unwrap();
    change(&mut json);
    Document::parse(json.to_string().as_bytes()).unwrap()
}

fn entry(content: DataContent, format: FileFormat) -> Entry {
    Entry {
        sequence_number: Some(1),
        ..Entry::added(1, DataFile::new(content, "the-file", format, 1, 1))
    }
}

#[test]
fn unsupported_content_is_refused_by_file_and_feature() {
    let plain = document(|_| {});
    let good = [
        entry(DataContent::Data, FileFormat::Parquet),
        entry(DataContent::PositionDeletes, FileFormat::Parquet),
        entry(DataContent::PositionDeletes, FileFormat::Puffin),
        entry(DataContent::EqualityDeletes, FileFormat::Parquet),
    ];
    check_readable(&plain, &good).unwrap();
    for (content, format, named) in [
        (DataContent::Data, FileFormat::Puffin, "PUFFIN"),
        (
            DataContent::Data,
            FileFormat::Other("LANCE".into()),
            "LANCE",
        ),
    ] {
        let bad = entry(content, format);
        let error = check_readable(&plain, std::slice::from_ref(&bad)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(
            error.to_string().contains(named) && error.to_string().contains("the-file"),
            "{error}"
        );
        check_readable(&plain, &[bad.into_deleted(2)]).unwrap();
    }
    let unnumbered = Entry {
        sequence_number: None,
        ..entry(DataContent::Data, FileFormat::Parquet)
    };
    assert_eq!(
        check_readable(&plain, &[unnumbered]).unwrap_err().kind(),
        ErrorKind::Corrupt
    );
}

#[test]
fn encryption_is_refused() {
    let encrypted = document(|json| json["encryption-keys"] = json!([{"key-id": "k"}]));
    assert_eq!(
        check_readable(&encrypted, &[]).unwrap_err().kind(),
        ErrorKind::Unsupported
    );
    check_readable(&document(|json| json["encryption-keys"] = json!([])), &[]).unwrap();
}
