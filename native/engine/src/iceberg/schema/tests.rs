//! Between Iceberg JSON, Iceberg schemas and Arrow schemas.

use std::sync::Arc;

use ::arrow::datatypes::{
    DataType, Field as ArrowField, Fields, IntervalUnit, Schema as ArrowSchema, TimeUnit,
};
use serde_json::json;

use super::*;
use crate::error::ErrorKind;

fn optional(name: &str, ty: DataType) -> ArrowField {
    ArrowField::new(name, ty, true)
}

#[test]
fn nested_ids_are_assigned_level_by_level_as_java_does() {
    let point = DataType::Struct(Fields::from(vec![
        optional("x", DataType::Float64),
        optional("y", DataType::Float64),
    ]));
    let entries = DataType::Struct(Fields::from(vec![
        ArrowField::new("k", DataType::Utf8, false),
        optional("v", point.clone()),
    ]));
    let arrow = ArrowSchema::new(vec![
        ArrowField::new("id", DataType::Int64, false),
        optional("points", DataType::List(Arc::new(optional("item", point)))),
        optional(
            "m",
            DataType::Map(Arc::new(ArrowField::new("entries", entries, false)), false),
        ),
        optional("last", DataType::Utf8),
    ]);
    let (schema, last_id) = Schema::from_arrow(&arrow, 1).unwrap();
    let mut seen = Vec::new();
    schema.visit(&mut |f| seen.push((f.id, f.name.as_str())));
    let expected = [
        (1, "id"),
        (2, "points"),
        (5, "element"),
        (6, "x"),
        (7, "y"),
        (3, "m"),
        (8, "key"),
        (9, "value"),
        (10, "x"),
        (11, "y"),
        (4, "last"),
    ];
    assert_eq!(seen, expected);
    assert_eq!((last_id, schema.highest_field_id()), (11, 11));
    assert_eq!(schema.path(7), Some(vec!["points", "element", "y"]));
    let back = schema.to_arrow().unwrap();
    assert_eq!(field_id(back.field(1)), Some(2));
    let DataType::List(element) = back.field(1).data_type() else {
        panic!()
    };
    assert_eq!(
        (element.name().as_str(), field_id(element)),
        ("element", Some(5))
    );
    let DataType::Map(entries, _) = back.field(2).data_type() else {
        panic!()
    };
    let DataType::Struct(pair) = entries.data_type() else {
        panic!()
    };
    assert_eq!(
        (
            entries.name().as_str(),
            field_id(&pair[0]),
            field_id(&pair[1])
        ),
        ("key_value", Some(8), Some(9))
    );
    assert_eq!(Schema::from_json(&schema.to_json()).unwrap(), schema);
}

#[test]
fn arrow_types_map_to_iceberg_or_are_refused_by_column() {
    let us = |zone: Option<&str>| DataType::Timestamp(TimeUnit::Microsecond, zone.map(Into::into));
    let vector = DataType::FixedSizeList(Arc::new(optional("item", DataType::Float32)), 3);
    let sound = [
        (DataType::Int8, "int"),
        (DataType::Int16, "int"),
        (DataType::LargeUtf8, "string"),
        (DataType::Utf8View, "string"),
        (
            DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8)),
            "string",
        ),
        (DataType::LargeBinary, "binary"),
        (DataType::FixedSizeBinary(5), "fixed[5]"),
        (DataType::FixedSizeBinary(16), "fixed[16]"),
        (DataType::Decimal256(38, 4), "decimal(38, 4)"),
        (DataType::Time32(TimeUnit::Second), "time"),
        (DataType::Timestamp(TimeUnit::Second, None), "timestamp"),
        (us(Some("Europe/Berlin")), "timestamptz"),
        (us(None), "timestamp"),
        (vector.clone(), "list<float>"),
        (
            DataType::LargeList(Arc::new(optional("item", DataType::Int64))),
            "list<long>",
        ),
    ];
    for (ty, expected) in sound {
        let (schema, _) =
            Schema::from_arrow(&ArrowSchema::new(vec![optional("c", ty.clone())]), 1).unwrap();
        assert_eq!(schema.fields[0].ty.to_string(), expected, "{ty}");
    }
    let refused = [
        DataType::UInt8,
        DataType::UInt64,
        DataType::Time64(TimeUnit::Nanosecond),
        DataType::Timestamp(TimeUnit::Nanosecond, None),
        DataType::Interval(IntervalUnit::DayTime),
        DataType::Duration(TimeUnit::Second),
        DataType::Null,
        DataType::Decimal256(50, 4),
        DataType::Decimal128(10, -2),
        DataType::List(Arc::new(optional("item", DataType::UInt16))),
    ];
    for ty in refused {
        let error = Schema::from_arrow(&ArrowSchema::new(vec![optional("my col", ty.clone())]), 1)
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(error.to_string().contains("my col"), "{error}");
    }
    let uuid = optional("u", DataType::FixedSizeBinary(16))
        .with_metadata([("ARROW:extension:name".to_owned(), "arrow.uuid".to_owned())].into());
    let (schema, _) = Schema::from_arrow(&ArrowSchema::new(vec![uuid]), 1).unwrap();
    assert_eq!(schema.fields[0].ty, Type::Uuid);
    assert!(is_uuid(schema.to_arrow().unwrap().field(0)));
    let dimensions = vector_dimensions(&ArrowSchema::new(vec![
        optional("v", vector),
        optional("i", DataType::Int32),
    ]));
    assert_eq!(
        dimensions.into_iter().collect::<Vec<_>>(),
        [("v".to_owned(), 3)]
    );
}

#[test]
fn names_taken_twice_are_refused_by_name() {
    let twice =
        |fields: Vec<ArrowField>| Schema::from_arrow(&ArrowSchema::new(fields), 1).unwrap_err();
    let error = twice(vec![
        optional("a", DataType::Int32),
        optional("a", DataType::Utf8),
    ]);
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(error.to_string().contains("'a'"), "{error}");
    let inner = DataType::Struct(Fields::from(vec![optional("b", DataType::Int32)]));
    let error = twice(vec![optional("a", inner), optional("a.b", DataType::Utf8)]);
    assert!(error.to_string().contains("'a.b'"), "{error}");
    assert!(
        Schema::from_arrow(
            &ArrowSchema::new(vec![
                optional("a", DataType::Int32),
                optional("A", DataType::Int32)
            ]),
            1
        )
        .is_ok()
    );
}

#[test]
fn types_with_blanks_are_read_and_unknown_ones_are_opaque() {
    let ty = |text: &str| Type::from_json(&json!(text)).unwrap();
    assert_eq!(
        ty("decimal( 9 ,2 )"),
        Type::Decimal {
            precision: 9,
            scale: 2
        }
    );
    assert_eq!(ty("fixed[ 16 ]"), Type::Fixed(16));
    for opaque in [
        "interval",
        "decimal(39, 2)",
        "decimal(4, 5)",
        "fixed[x]",
        "geometry(",
        "geometry()",
        "geographyx",
    ] {
        assert_eq!(ty(opaque), Type::Opaque(json!(opaque)));
    }
    let json = json!({"type": "struct", "fields": [
        {"id": 1, "name": "v", "required": false, "type": {"type": "tensor", "of": "float"}},
        {"id": 2, "name": "l", "required": false, "type": {"type": "list", "element-id": 3, "element": "interval", "element-required": false}},
        {"id": 4, "name": "ok", "required": true, "type": "int", "doc": "d", "initial-default": 5, "write-default": 6},
    ]});
    let schema = Schema::from_json(&json).unwrap();
    assert!(
        schema.fields[0].ty.has_opaque()
            && schema.fields[1].ty.has_opaque()
            && !schema.fields[2].ty.has_opaque()
    );
    assert_eq!(
        schema.fields[2].initial_value().unwrap(),
        Some(Value::Int(5))
    );
    assert_eq!(Schema::from_json(&schema.to_json()).unwrap(), schema);
    let arrow = schema.to_arrow().unwrap();
    for column in ["v", "l"] {
        let error = check_supported(arrow.field_with_name(column).unwrap()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(
            error.to_string().contains(&format!("'{column}'")),
            "{error}"
        );
    }
    check_supported(arrow.field_with_name("ok").unwrap()).unwrap();
    assert_eq!(
        schema.fields[2].to_arrow().unwrap().data_type(),
        &DataType::Int32
    );
}

#[test]
fn r_ty2_types_of_version_3_are_read_and_written_back() {
    let ns = |zone: Option<&str>| DataType::Timestamp(TimeUnit::Nanosecond, zone.map(Into::into));
    for (text, arrow) in [
        ("timestamp_ns", ns(None)),
        ("timestamptz_ns", ns(Some("UTC"))),
        ("unknown", DataType::Null),
        ("variant", DataType::Utf8),
        ("geometry", DataType::Binary),
        ("geometry(OGC:CRS84)", DataType::Binary),
        ("geography( srid:4326 , karney )", DataType::Binary),
    ] {
        let ty = Type::from_json(&json!(text)).unwrap();
        assert!(!ty.has_opaque() && ty.is_read_only(), "{text}");
        assert_eq!(ty.to_json(), json!(text));
        let field = Field::new(1, "c", false, ty).to_arrow().unwrap();
        assert_eq!(field.data_type(), &arrow, "{text}");
        assert_eq!(is_variant(&field), text == "variant");
        check_supported(&field).unwrap();
    }
}

#[test]
fn field_id_used_twice_is_corrupt() {
    let field = |name: &str| json!({"id": 1, "name": name, "required": false, "type": "int"});
    let error = Schema::from_json(&json!({"type": "struct", "fields": [field("a"), field("b")]}))
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    let mut deep = json!("int");
    for id in 2..100 {
        deep =
            json!({"type": "list", "element-id": id, "element": deep, "element-required": false});
    }
    assert_eq!(
        Type::from_json(&deep).unwrap_err().kind(),
        ErrorKind::Corrupt
    );
}

#[test]
fn promoted_column_reads_the_narrower_file_type() {
    assert!(
        Type::Long.reads(&Type::Int)
            && Type::Double.reads(&Type::Float)
            && !Type::Int.reads(&Type::Long)
    );
    let decimal = |precision, scale| Type::Decimal { precision, scale };
    assert!(decimal(12, 2).reads(&decimal(9, 2)) && !decimal(12, 3).reads(&decimal(9, 2)));
}
