//! Names become ids at every depth, and nothing else does.

use super::*;
use crate::error::ErrorKind;
use crate::iceberg::schema::Type;

fn leaf(name: &str) -> FieldRef {
    Arc::new(ArrowField::new(name, DataType::Int32, true))
}

/// A field of every nesting, with names as old writers choose them.
fn file() -> ArrowSchema {
    let point = DataType::Struct(vec![leaf("x"), leaf("y")].into());
    let list = DataType::List(Arc::new(ArrowField::new("array", point.clone(), true)));
    let entries = DataType::Struct(vec![leaf("k"), leaf("v")].into());
    let map = DataType::Map(Arc::new(ArrowField::new("map", entries, false)), false);
    ArrowSchema::new(vec![
        leaf("a.b"),
        leaf("old"),
        Arc::new(ArrowField::new("s", point, true)),
        Arc::new(ArrowField::new("l", list, true)),
        Arc::new(ArrowField::new("m", map, true)),
        leaf(""),
    ])
}

/// Every field with an id, by its names from the top.
fn ids(schema: &ArrowSchema) -> Vec<(String, i32)> {
    fn walk(fields: &[FieldRef], prefix: &str, found: &mut Vec<(String, i32)>) {
        for field in fields {
            let path = format!("{prefix}/{}", field.name());
            found.extend(field_id(field).map(|id| (path.clone(), id)));
            match field.data_type() {
                DataType::Struct(inside) => walk(inside, &path, found),
                DataType::List(item) | DataType::Map(item, _) => {
                    walk(&[Arc::clone(item)], &path, found);
                }
                _ => {}
            }
        }
    }
    let mut found = Vec::new();
    walk(schema.fields(), "", &mut found);
    found
}

#[test]
fn r_sc3_names_give_ids_at_every_depth() {
    let mapping = NameMapping::parse(
        r#"[
            {"field-id": 1, "names": ["a.b"]},
            {"field-id": 2, "names": ["new", "old"]},
            {"names": ["s"], "fields": [{"field-id": 4, "names": ["y"]}]},
            {"field-id": 5, "names": ["l"], "fields": [
                {"field-id": 6, "names": ["element"], "fields": [{"field-id": 7, "names": ["x"]}]}]},
            {"field-id": 8, "names": ["m"], "fields": [
                {"field-id": 9, "names": ["key"]}, {"field-id": 10, "names": ["value"]}]},
            {"field-id": 11, "names": []}
        ]"#,
    )
    .unwrap();
    let file = file();
    assert!(!has_ids(file.fields()));
    let mapped = mapping.apply(&file);
    assert!(has_ids(mapped.fields()));
    let expected = [
        ("/a.b", 1),
        ("/old", 2),
        ("/s/y", 4),
        ("/l", 5),
        ("/l/array", 6),
        ("/l/array/x", 7),
        ("/m", 8),
        ("/m/map/k", 9),
        ("/m/map/v", 10),
    ];
    let expected = expected.map(|(path, id)| (path.to_owned(), id));
    assert_eq!(ids(&mapped), expected);
}

#[test]
fn r_sc3_id_inside_a_list_counts_as_an_id() {
    let metadata = HashMap::from([(FIELD_ID_KEY.to_owned(), "3".to_owned())]);
    let item = ArrowField::new("element", DataType::Int32, true).with_metadata(metadata);
    let list = ArrowField::new("l", DataType::List(Arc::new(item)), true);
    assert!(has_ids(&Fields::from(vec![list])));
}

#[test]
fn r_sc3_damaged_mapping_is_corrupt() {
    for text in [
        "",
        "{}",
        "[1]",
        r#"[{"field-id": 1}]"#,
        r#"[{"field-id": 1, "names": [1]}]"#,
        r#"[{"field-id": 1, "names": ["a"]}, {"field-id": 2, "names": ["a"]}]"#,
        r#"[{"field-id": 4294967296, "names": ["a"]}]"#,
        r#"[{"names": ["a"], "fields": 3}]"#,
    ] {
        let error = NameMapping::parse(text).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{text}: {error}");
        assert!(error.to_string().contains("name mapping"), "{error}");
    }
    let deep = format!(
        "{}[]{}",
        r#"[{"names":["a"],"fields":"#.repeat(99),
        "}]".repeat(99)
    );
    let error = NameMapping::parse(&deep).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
}

#[test]
fn columns_without_mapping_have_ids_by_place() {
    let point = Type::Struct(vec![
        Field::new(8, "y", false, Type::Int),
        Field::new(7, "x", false, Type::Int),
    ]);
    let schema = Schema::new(
        0,
        vec![
            Field::new(2, "renamed", false, Type::Int),
            Field::new(3, "s", false, point),
        ],
    )
    .unwrap();
    let found = ids(&ids_by_place(&file(), &schema));
    let expected = [
        ("/a.b", 1),
        ("/old", 2),
        ("/s", 3),
        ("/s/x", 7),
        ("/s/y", 8),
        ("/l", 4),
        ("/m", 5),
        ("/", 6),
    ];
    assert_eq!(found, expected.map(|(path, id)| (path.to_owned(), id)));
    let by_name = ids(&NameMapping::of(&schema).apply(&file()));
    let expected = [("/s", 3), ("/s/x", 7), ("/s/y", 8)];
    assert_eq!(by_name, expected.map(|(path, id)| (path.to_owned(), id)));
}
