//! What functions read from text: vectors and UUIDs.

use super::uuid::parse_uuid;
use super::{parse_vector, scalar_vector};
use crate::error::ErrorKind;
use datafusion::common::ScalarValue;

#[test]
fn vector_text_reads_numbers_only() {
    assert_eq!(
        parse_vector(" [1, -2.5,3e2 ] ").unwrap(),
        [1.0, -2.5, 300.0]
    );
    for text in [
        "", "[]", "[1", "1,2", "[a]", "[1,,2]", "[NaN]", "[inf]", "[1e39]", "[1 2]",
    ] {
        assert_eq!(
            parse_vector(text).unwrap_err().kind(),
            ErrorKind::InvalidInput,
            "{text:?}"
        );
    }
    let long = format!("[{}]", vec!["1"; 70_000].join(","));
    assert_eq!(
        parse_vector(&long).unwrap_err().kind(),
        ErrorKind::ResourceExhausted
    );
}

#[test]
fn constant_vectors_come_from_text_and_lists() {
    let text = ScalarValue::Utf8(Some("[1,2]".to_string()));
    assert_eq!(scalar_vector(&text).unwrap(), Some(vec![1.0, 2.0]));
    let list = ScalarValue::List(ScalarValue::new_list_nullable(
        &[
            ScalarValue::Float64(Some(1.5)),
            ScalarValue::Float64(Some(2.0)),
        ],
        &arrow::datatypes::DataType::Float64,
    ));
    assert_eq!(scalar_vector(&list).unwrap(), Some(vec![1.5, 2.0]));
    assert_eq!(scalar_vector(&ScalarValue::Null).unwrap(), None);
}

#[test]
fn uuid_text_reads_every_spelling_of_a_uuid() {
    let bytes = parse_uuid("00112233-4455-6677-8899-aabbccddeeff").unwrap();
    assert_eq!(bytes[..3], [0x00, 0x11, 0x22]);
    assert_eq!(
        parse_uuid("00112233445566778899AABBCCDDEEFF").unwrap(),
        bytes
    );
    assert_eq!(
        parse_uuid("nope").unwrap_err().kind(),
        ErrorKind::InvalidInput
    );
}
