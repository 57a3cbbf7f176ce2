//! The kind through its interface: parameters, columns, building and opening.

use super::*;

fn float_list() -> FieldRef {
    Arc::new(Field::new(
        "embedding",
        DataType::new_list(DataType::Float32, true),
        true,
    ))
}

fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

#[test]
fn resolve_fills_in_defaults_and_refuses_what_is_unknown() {
    let kind = HnswKind::new();
    let resolve = |pairs: &[(&str, &str)]| kind.resolve(&[float_list()], &map(pairs));
    assert_eq!(
        resolve(&[]).unwrap(),
        map(&[("metric", "l2"), ("m", "16"), ("ef_construction", "200")])
    );
    let aliased = resolve(&[
        ("complexity", "24"),
        ("quality", "300"),
        ("metric", "cosine"),
        ("dimension", "3"),
    ])
    .unwrap();
    assert_eq!(
        aliased,
        map(&[
            ("metric", "cosine"),
            ("m", "24"),
            ("ef_construction", "300"),
            ("dimension", "3")
        ])
    );
    assert_eq!(kind.resolve(&[float_list()], &aliased).unwrap(), aliased);
    let wrong: [&[(&str, &str)]; 7] = [
        &[("ef", "3")],
        &[("m", "1")],
        &[("m", "x")],
        &[("metric", "l1")],
        &[("dimension", "0")],
        &[("m", "16"), ("complexity", "16")],
        &[("ef_construction", "-1")],
    ];
    for pairs in wrong {
        assert_eq!(
            resolve(pairs).unwrap_err().kind(),
            ErrorKind::InvalidInput,
            "{pairs:?}"
        );
    }
    assert!(
        resolve(&[("ef", "3")])
            .unwrap_err()
            .message()
            .contains("metric, m, ef_construction")
    );
    let text: FieldRef = Arc::new(Field::new("t", DataType::Utf8, true));
    assert_eq!(
        kind.resolve(&[text], &map(&[])).unwrap_err().kind(),
        ErrorKind::InvalidInput
    );
    assert_eq!(
        kind.resolve(&[float_list(), float_list()], &map(&[]))
            .unwrap_err()
            .kind(),
        ErrorKind::InvalidInput
    );
    let fixed: FieldRef = Arc::new(Field::new(
        "v",
        DataType::new_fixed_size_list(DataType::Float32, 4, true),
        true,
    ));
    assert_eq!(
        kind.resolve(std::slice::from_ref(&fixed), &map(&[]))
            .unwrap()
            .get("dimension")
            .map(String::as_str),
        Some("4")
    );
    assert_eq!(
        kind.resolve(&[fixed], &map(&[("dimension", "5")]))
            .unwrap_err()
            .kind(),
        ErrorKind::InvalidInput
    );
}

#[test]
fn kind_builds_and_opens_through_its_interface() {
    let kind = HnswKind::new();
    let fields = [float_list()];
    let definition = IndexDefinition {
        name: "embedding_hnsw".to_owned(),
        kind: kind.name().to_owned(),
        columns: vec![1],
        parameters: kind.resolve(&fields, &map(&[])).unwrap(),
    };
    let mut builder = kind.builder(&definition, &fields).unwrap();
    builder
        .add(&batch(column([
            Some([0.0f32, 0.0].as_slice()),
            None,
            Some(&[3.0, 4.0]),
        ])))
        .unwrap();
    let blobs = builder.finish().unwrap();
    let OpenIndex::Vector(index) = kind.open(&definition, &blobs, 3).unwrap() else {
        panic!("not a vector index")
    };
    let hits = index.search(&[0.0, 0.0], 5, 10, None).unwrap().hits;
    assert_eq!(
        hits.iter()
            .map(|hit| (hit.row, hit.value))
            .collect::<Vec<_>>(),
        [(0, 0.0), (2, 5.0)]
    );
    let foreign = [Blob {
        kind: "other".to_owned(),
        data: blobs[0].data.clone(),
    }];
    assert_eq!(
        kind.open(&definition, &foreign, 3)
            .err()
            .map(|error| error.kind()),
        Some(ErrorKind::Corrupt)
    );
    assert_eq!(blobs[0].kind, BLOB_KIND);
}
