//! L1: for every query, rows with the overlay equal rows without it. Each case runs with the index fresh,
//! partial, stale after deletes, foreign, truncated and bit-flipped, over seeded random predicates. Fresh cases
//! assert that the index proposed rows, so the suite cannot pass by never using one.

use benostreamdb::iceberg::predicate::reserved;
use benostreamdb::maintain::IndexRequest;
use benostreamdb::table::SEQUENCE;
use benostreamdb::{
    CompareOp, MatchOp, Metric, NullDistance, Predicate, ScanRequest, SearchMode, SearchRequest,
    Session, Table, TextSearch, Value, VectorSearch,
};
use bytes::Bytes;

use crate::fixture::{
    Random, delete_where, docs, docs_table, id, lines, memory, read, scale, sorted,
};

fn operator(random: &mut Random) -> CompareOp {
    [
        CompareOp::Eq,
        CompareOp::NotEq,
        CompareOp::Lt,
        CompareOp::LtEq,
        CompareOp::Gt,
        CompareOp::GtEq,
    ][random.below(6) as usize]
}

fn leaf(table: &Table, random: &mut Random) -> Predicate {
    let (ids, kinds, scores) = (id(table, "id"), id(table, "kind"), id(table, "score"));
    let kind = |random: &mut Random| {
        Value::String(
            ["k4", "k5", "k7", "", " lead", "lead", "ü日本", "zz"][random.below(8) as usize].into(),
        )
    };
    let score = |random: &mut Random| {
        Value::Double(
            [-1.5, -0.5, 0.0, -0.0, 1.5, f64::NAN, f64::INFINITY][random.below(7) as usize],
        )
    };
    match random.below(11) {
        0 => Predicate::Compare {
            column: ids,
            op: operator(random),
            value: Value::Long(random.below(320) as i64),
        },
        1 => Predicate::In {
            column: ids,
            values: (0..random.below(9))
                .map(|_| Value::Long(random.below(320) as i64))
                .collect(),
            has_null: random.below(4) == 0,
        },
        2 | 3 => Predicate::Compare {
            column: kinds,
            op: operator(random),
            value: kind(random),
        },
        4 => Predicate::In {
            column: kinds,
            values: (0..1 + random.below(3)).map(|_| kind(random)).collect(),
            has_null: random.below(3) == 0,
        },
        5 => Predicate::IsNull {
            column: [kinds, scores][random.below(2) as usize],
        },
        6 => Predicate::Match {
            column: kinds,
            op: [MatchOp::StartsWith, MatchOp::EndsWith, MatchOp::Contains]
                [random.below(3) as usize],
            pattern: ["k", " ", "", "日", "5"][random.below(5) as usize].into(),
        },
        7 => Predicate::NullSafeEq {
            column: kinds,
            value: (random.below(3) > 0).then(|| kind(random)),
        },
        8 => Predicate::IsNan { column: scores },
        _ => Predicate::Compare {
            column: scores,
            op: operator(random),
            value: score(random),
        },
    }
}

fn predicate(table: &Table, random: &mut Random, depth: u32) -> Predicate {
    match random.below(if depth == 0 { 1 } else { 5 }) {
        1 => Predicate::And(
            (0..1 + random.below(3))
                .map(|_| predicate(table, random, depth - 1))
                .collect(),
        ),
        2 => Predicate::Or(
            (0..1 + random.below(3))
                .map(|_| predicate(table, random, depth - 1))
                .collect(),
        ),
        3 => Predicate::Not(Box::new(predicate(table, random, depth - 1))),
        _ => leaf(table, random),
    }
}

async fn index(table: &Table, kind: &str, column: &str) {
    table
        .create_index(&IndexRequest {
            kind: kind.into(),
            columns: vec![column.into()],
            ..IndexRequest::default()
        })
        .await
        .unwrap();
}

async fn indexed(session: &Session, table: &str) -> Table {
    let table = docs_table(session, table, 4, 80).await;
    for column in ["id", "kind", "score"] {
        index(&table, "bitmap", column).await;
    }
    index(&table, "bm25", "text").await;
    index(&table, "hnsw", "embedding").await;
    table
}

/// How often indexes proposed rows, and how many queries gave other rows than the plain scan.
#[derive(Debug, Default, PartialEq)]
struct Verdict {
    queries: usize,
    used: usize,
    wrong: usize,
}

async fn compare(table: &Table, request: ScanRequest, ordered: bool, verdict: &mut Verdict) {
    let plain = ScanRequest {
        use_indexes: false,
        ..request.clone()
    };
    let expected = read(table, &plain).await.unwrap();
    let found = read(table, &request).await.unwrap();
    let report = table.plan_scan(&request).await.unwrap().report;
    verdict.queries += 1;
    verdict.used += usize::from(
        !report.segments.is_empty()
            && (report.rows_proposed > 0 || report.files_pruned_by_index > 0),
    );
    let same = if ordered {
        merged(&expected, &request) == merged(&found, &request)
    } else {
        sorted(&expected) == sorted(&found)
    };
    if !same {
        eprintln!("other rows with the overlay: {request:?}");
    }
    verdict.wrong += usize::from(!same);
}

/// The rows of a search in final order: value, then sequence number, file, position (the last four columns).
fn merged(batch: &arrow::array::RecordBatch, request: &ScanRequest) -> Vec<String> {
    use arrow::compute::{SortColumn, SortOptions, lexsort_to_indices, take_record_batch};
    let search = request.search.as_ref().unwrap();
    let width = batch.num_columns();
    let value = SortOptions {
        descending: matches!(search, SearchRequest::Text(_)),
        nulls_first: false,
    };
    let keys: Vec<SortColumn> = [
        (width - 1, Some(value)),
        (width - 4, None),
        (width - 3, None),
        (width - 2, None),
    ]
    .map(|(column, options)| SortColumn {
        values: batch.column(column).clone(),
        options,
    })
    .to_vec();
    let order = lexsort_to_indices(&keys, Some(search.k())).unwrap();
    lines(&take_record_batch(batch, &order).unwrap())
}

async fn run(table: &Table, queries: usize, seed: u64) -> Verdict {
    let mut random = Random(seed);
    let mut verdict = Verdict::default();
    let all: Vec<i32> = table
        .schema()
        .unwrap()
        .fields
        .iter()
        .map(|f| f.id)
        .collect();
    for number in 0..queries * scale() {
        let conjuncts: Vec<Predicate> = (0..1 + random.below(2))
            .map(|_| predicate(table, &mut random, 2))
            .collect();
        let projection = if random.below(2) == 0 {
            all.clone()
        } else {
            vec![id(table, "text"), reserved::POS]
        };
        compare(
            table,
            ScanRequest {
                projection: Some(projection),
                conjuncts: conjuncts.clone(),
                ..ScanRequest::default()
            },
            false,
            &mut verdict,
        )
        .await;
        let conjuncts = if number % 2 == 0 {
            Vec::new()
        } else {
            conjuncts
        };
        let projection = Some(vec![
            id(table, "id"),
            SEQUENCE,
            reserved::FILE,
            reserved::POS,
        ]);
        let query: Vec<f32> = (0..8).map(|_| random.float()).collect();
        let k = 1 + random.below(30) as usize;
        let vector = VectorSearch {
            column: id(table, "embedding"),
            query,
            k,
            metric: Metric::L2,
            ef: Some(400),
            mode: SearchMode::Balanced,
            nulls: NullDistance::Drop,
        };
        compare(
            table,
            ScanRequest {
                projection: projection.clone(),
                conjuncts: conjuncts.clone(),
                search: Some(SearchRequest::Vector(vector)),
                ..ScanRequest::default()
            },
            true,
            &mut verdict,
        )
        .await;
        let text =
            ["fox", "quick river", "the of stone", "nothing", "Fox's"][random.below(5) as usize];
        let text = TextSearch {
            column: id(table, "text"),
            query: text.into(),
            k,
            all: random.below(3) == 0,
            analyzer: None,
        };
        compare(
            table,
            ScanRequest {
                projection,
                conjuncts,
                search: Some(SearchRequest::Text(text)),
                ..ScanRequest::default()
            },
            true,
            &mut verdict,
        )
        .await;
    }
    verdict
}

fn assert_lawful(verdict: &Verdict, what: &str) {
    assert_eq!(verdict.wrong, 0, "{what}: {verdict:?}");
}

#[tokio::test]
async fn l1_fresh_partial_and_stale_indexes_never_change_an_answer() {
    let (session, _) = memory();
    let table = indexed(&session, "t").await;
    let fresh = run(&table, 60, 1).await;
    assert_lawful(&fresh, "fresh");
    assert!(fresh.used > fresh.queries / 2, "{fresh:?}");
    table.append(&[docs(320, 40, 9)]).await.unwrap();
    let table = table.refresh().await.unwrap();
    assert_lawful(&run(&table, 40, 2).await, "partial");
    delete_where(
        &table,
        Predicate::Compare {
            column: id(&table, "kind"),
            op: CompareOp::Eq,
            value: Value::String("k5".into()),
        },
    )
    .await
    .unwrap();
    let table = table.refresh().await.unwrap();
    assert_lawful(&run(&table, 40, 3).await, "after delete");
    table.refresh_index(None).await.unwrap();
    let refreshed = run(&table, 40, 4).await;
    assert_lawful(&refreshed, "refreshed");
    assert!(refreshed.used > refreshed.queries / 2, "{refreshed:?}");
    table.overwrite(&[docs(1000, 50, 5)]).await.unwrap();
    assert_lawful(
        &run(&table.refresh().await.unwrap(), 20, 5).await,
        "after overwrite",
    );
}

/// The segment files of a table, by path in the store.
async fn segments(table: &Table) -> Vec<(benostreamdb::storage::Location, Bytes)> {
    let files = table
        .environment()
        .storage()
        .open(&[table.location().clone()]);
    let mut found = Vec::new();
    for (location, _) in files.list(table.overlay_location()).await.unwrap() {
        if location.name().ends_with(".bsdb_idx") {
            let bytes = files.get(&location).await.unwrap();
            found.push((location, bytes));
        }
    }
    found
}

/// The same table opened without any cache.
async fn reopened(session: &Session, table: &Table) -> Table {
    let session = Session::over(
        session.environment().storage().clone(),
        Some("memory:///lake"),
    )
    .unwrap();
    session.table(table.reference()).await.unwrap()
}

#[tokio::test]
async fn l1_damaged_foreign_and_missing_segments_never_change_an_answer() {
    let (session, _) = memory();
    let table = indexed(&session, "t").await;
    let other = indexed(&session, "other").await;
    let foreign = segments(&other).await;
    let files = table
        .environment()
        .storage()
        .open(&[table.location().clone()]);
    let good = segments(&table).await;
    let mut random = Random(99);
    for round in 0..8 {
        for (number, (location, bytes)) in good.iter().enumerate() {
            let damaged = match round {
                0 => Bytes::new(),
                1 => bytes.slice(..bytes.len() / 2),
                2 => bytes.slice(..bytes.len() - 1),
                3 => foreign[number % foreign.len()].1.clone(),
                _ => {
                    let mut copy = bytes.to_vec();
                    for _ in 0..20 {
                        let at = random.below(copy.len() as u64) as usize;
                        copy[at] ^= 1 << random.below(8);
                    }
                    Bytes::from(copy)
                }
            };
            files.put(location, damaged).await.unwrap();
        }
        assert_lawful(
            &run(&reopened(&session, &table).await, 5, 10 + round).await,
            "damaged",
        );
    }
    for (location, _) in &good {
        files.delete(location).await.unwrap();
    }
    assert_lawful(
        &run(&reopened(&session, &table).await, 5, 30).await,
        "missing",
    );
}

#[tokio::test]
async fn l1_suite_sees_a_planted_wrong_segment() {
    use benostreamdb::index::overlay::{
        OverlayChange, OverlayManifest, ParsedOverlay, SegmentEntry,
    };
    use benostreamdb::index::segment::{self, SegmentReader};
    let (session, _) = memory();
    let table = docs_table(&session, "t", 4, 80).await;
    for column in ["id", "kind", "score"] {
        index(&table, "bitmap", column).await;
    }
    let files = table
        .environment()
        .storage()
        .open(&[table.location().clone()]);
    let listed = files.list(table.overlay_location()).await.unwrap();
    let newest = listed
        .iter()
        .filter(|(l, _)| l.name().starts_with("manifest-"))
        .map(|(l, _)| l.clone())
        .max_by_key(|l| {
            l.name()["manifest-".len()..]
                .trim_end_matches(".json")
                .parse::<u64>()
                .unwrap()
        })
        .unwrap();
    let ParsedOverlay::Known(manifest) =
        OverlayManifest::parse(&files.get(&newest).await.unwrap()).unwrap()
    else {
        panic!("version")
    };
    // The postings of column `kind` under the header of column `id`'s files in reversed order: valid bytes, wrong rows.
    let entry = manifest.index("kind_bitmap").unwrap();
    let location = table
        .overlay_location()
        .join(&entry.segments[0].name)
        .unwrap();
    let reader = SegmentReader::open(files.get(&location).await.unwrap()).unwrap();
    let mut header = reader.header().clone();
    header.files.reverse();
    let written = segment::write(&header, reader.blobs().unwrap()).unwrap();
    files
        .put(
            &table.overlay_location().join(&written.name).unwrap(),
            written.data.clone(),
        )
        .await
        .unwrap();
    let wrong = SegmentEntry {
        name: written.name.clone(),
        length: written.data.len() as u64,
        checksum: written.checksum.clone(),
        files: header.files.clone(),
    };
    let change = OverlayChange::ReplaceSegments {
        definition: entry.definition.clone(),
        removed: vec![entry.segments[0].name.clone()],
        added: vec![wrong],
    };
    let planted = manifest.apply(&change, 0).unwrap();
    files
        .put(
            &table.overlay_location().join("manifest-900.json").unwrap(),
            planted.to_bytes().unwrap().into(),
        )
        .await
        .unwrap();
    let verdict = run(&reopened(&session, &table).await, 30, 1).await;
    assert!(
        verdict.wrong > 0,
        "the suite did not see the wrong segment: {verdict:?}"
    );
}

#[tokio::test]
async fn overlay_of_an_unknown_version_covers_nothing_and_warns() {
    let (session, _) = memory();
    let table = indexed(&session, "t").await;
    let files = table
        .environment()
        .storage()
        .open(&[table.location().clone()]);
    for content in [br#"{"format-version": 99}"#.as_slice(), b"{", b""] {
        files
            .put(
                &table.overlay_location().join("manifest-800.json").unwrap(),
                Bytes::from_static(content),
            )
            .await
            .unwrap();
        let report = table
            .plan_scan(&ScanRequest::default())
            .await
            .unwrap()
            .report;
        assert_eq!(report.warnings.len(), 1, "{report:?}");
        let verdict = run(&table, 5, 3).await;
        assert_eq!((verdict.wrong, verdict.used), (0, 0));
    }
}
