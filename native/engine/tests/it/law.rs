//! L1: for every query, rows with the overlay equal rows without it. Each case runs with the index fresh,
//! partial, stale after deletes, foreign, truncated and bit-flipped, over seeded random predicates. Fresh cases
//! assert kind by kind that the index proposed rows, so the suite cannot pass by never using one.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema};
use benostreamdb::iceberg::predicate::reserved;
use benostreamdb::index::overlay::{OverlayChange, OverlayManifest, ParsedOverlay, SegmentEntry};
use benostreamdb::index::segment::{self, SegmentReader};
use benostreamdb::storage::Location;
use benostreamdb::table::SEQUENCE;
use benostreamdb::{
    CompareOp, MatchOp, Metric, NullDistance, Predicate, ScanRequest, SearchMode, SearchRequest,
    Session, Table, TextSearch, Value, VectorSearch,
};
use bytes::Bytes;

use crate::fixture::{
    Random, delete_where, docs, docs_table, id, index, lines, memory, name, read, reopened, rows,
    scale, sorted, vectors,
};
use crate::foreign::{commit, deletion_vectors, equality_deletes, paths, upgrade};

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

async fn indexed(session: &Session, table: &str) -> Table {
    let table = docs_table(session, table, 4, 80).await;
    with_indexes(&table).await;
    table
}

/// Builds an index of every kind.
async fn with_indexes(table: &Table) {
    for column in ["id", "kind", "score"] {
        table.create_index(&index("bitmap", column)).await.unwrap();
    }
    table.create_index(&index("bm25", "text")).await.unwrap();
    table
        .create_index(&index("hnsw", "embedding"))
        .await
        .unwrap();
}

/// How often an index of one kind proposed rows, and how many queries gave other rows than the plain scan.
#[derive(Debug, Default, PartialEq)]
struct Verdict {
    queries: usize,
    used: usize,
    wrong: usize,
}

/// The verdict by kind of index: scans on bitmaps, text searches on bm25, vector searches on hnsw.
type Verdicts = BTreeMap<&'static str, Verdict>;

/// The kind of index that a request is about.
fn kind(request: &ScanRequest) -> &'static str {
    match request.search {
        None => "bitmap",
        Some(SearchRequest::Text(_)) => "bm25",
        Some(SearchRequest::Vector(_)) => "hnsw",
    }
}

async fn compare(table: &Table, request: ScanRequest, verdicts: &mut Verdicts) {
    let plain = ScanRequest {
        use_indexes: false,
        ..request.clone()
    };
    let expected = read(table, &plain).await.unwrap();
    let before = table.environment().distances_computed();
    let found = read(table, &request).await.unwrap();
    let distances = table.environment().distances_computed() - before;
    let report = table.plan_scan(&request).await.unwrap().report;
    let kind = kind(&request);
    let ours = |name: &str| name.ends_with(&format!("_{kind}"));
    let opened = report.segments.iter().any(|(n, c)| ours(n) && *c > 0);
    let verdict = verdicts.entry(kind).or_default();
    verdict.queries += 1;
    verdict.used += usize::from(
        opened
            && (report.rows_proposed > 0 || report.files_pruned_by_index > 0)
            && (kind != "hnsw" || distances > 0),
    );
    let same = if request.search.is_some() {
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
fn merged(batch: &RecordBatch, request: &ScanRequest) -> Vec<String> {
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

fn vector(table: &Table, random: &mut Random, k: usize) -> SearchRequest {
    SearchRequest::Vector(VectorSearch {
        column: id(table, "embedding"),
        query: (0..8).map(|_| random.float()).collect(),
        k,
        metric: Metric::L2,
        ef: Some(400),
        mode: SearchMode::Balanced,
        nulls: NullDistance::Drop,
    })
}

fn text(table: &Table, random: &mut Random, k: usize) -> SearchRequest {
    let query =
        ["fox", "quick river", "the of stone", "nothing", "Fox's"][random.below(5) as usize];
    SearchRequest::Text(TextSearch {
        column: id(table, "text"),
        query: query.into(),
        k,
        all: random.below(3) == 0,
        analyzer: None,
    })
}

async fn run(table: &Table, queries: usize, seed: u64) -> Verdicts {
    let mut random = Random(seed);
    let mut verdicts = Verdicts::new();
    let fields = &table.schema().unwrap().fields;
    let all: Vec<i32> = fields.iter().map(|f| f.id).collect();
    for number in 0..queries * scale() {
        let conjuncts: Vec<Predicate> = (0..1 + random.below(2))
            .map(|_| predicate(table, &mut random, 2))
            .collect();
        let projection = if random.below(2) == 0 {
            all.clone()
        } else {
            vec![id(table, "text"), reserved::POS]
        };
        let scan = ScanRequest {
            projection: Some(projection),
            conjuncts: conjuncts.clone(),
            ..ScanRequest::default()
        };
        compare(table, scan, &mut verdicts).await;
        let conjuncts = if number % 2 == 0 {
            Vec::new()
        } else {
            conjuncts
        };
        let k = 1 + random.below(30) as usize;
        for search in [vector(table, &mut random, k), text(table, &mut random, k)] {
            let request = ScanRequest {
                projection: Some(ordered(table)),
                conjuncts: conjuncts.clone(),
                search: Some(search),
                ..ScanRequest::default()
            };
            compare(table, request, &mut verdicts).await;
        }
    }
    verdicts
}

/// The columns by which [`merged`] breaks ties, after the id.
fn ordered(table: &Table) -> Vec<i32> {
    vec![id(table, "id"), SEQUENCE, reserved::FILE, reserved::POS]
}

fn assert_lawful(verdicts: &Verdicts, what: &str) {
    for (kind, verdict) in verdicts {
        assert_eq!(verdict.wrong, 0, "{what}: {kind} {verdict:?}");
    }
}

/// An index of every kind proposed rows, for most of its queries: statistics alone answer the others.
fn assert_used(verdicts: &Verdicts, what: &str) {
    assert_eq!(verdicts.len(), 3, "{what}: {verdicts:?}");
    for (kind, verdict) in verdicts {
        assert!(
            verdict.used > verdict.queries / 2,
            "{what}: {kind} {verdict:?}"
        );
    }
}

#[tokio::test]
async fn l1_fresh_partial_and_stale_indexes_never_change_an_answer() {
    let (session, _) = memory();
    let table = indexed(&session, "t").await;
    let fresh = run(&table, 60, 1).await;
    assert_lawful(&fresh, "fresh");
    assert_used(&fresh, "fresh");
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
    assert_used(&refreshed, "refreshed");
    table.overwrite(&[docs(1000, 50, 5)]).await.unwrap();
    assert_lawful(
        &run(&table.refresh().await.unwrap(), 20, 5).await,
        "after overwrite",
    );
}

#[tokio::test]
async fn r_de_l1_equality_deletes_and_deletion_vectors_never_change_an_answer() {
    let (session, _) = memory();
    let table = indexed(&session, "t").await;
    let all = rows(&table).await;
    let kinds: ArrayRef = Arc::new(StringArray::from(vec![Some("k4"), None]));
    let kinds = [(id(&table, "kind"), "kind", kinds)];
    let by_kind = equality_deletes(&table, "kind", &kinds, &[kinds[0].0]).await;
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values((0..400).step_by(7)));
    let numbers = [(id(&table, "id"), "id", numbers)];
    let by_number = equality_deletes(&table, "id", &numbers, &[numbers[0].0]).await;
    let table = commit(&table, vec![by_kind, by_number], |_| {}).await;
    let number = |line: &str| line.split('|').next().unwrap().parse::<u64>().unwrap();
    let kept = |line: &&String| {
        let kind = line.split('|').nth(1).unwrap();
        kind != "k4" && kind != "NULL" && number(line) % 7 != 0
    };
    let left: Vec<String> = all.iter().filter(kept).cloned().collect();
    assert!(left.len() > 100 && left.len() < 240, "{} rows", left.len());
    assert_eq!(rows(&table).await, left);
    let verdicts = run(&table, 40, 11).await;
    assert_lawful(&verdicts, "after equality deletes");
    assert_used(&verdicts, "after equality deletes");

    let files = paths(&table, numbers[0].0).await;
    let every: Vec<u64> = (0..80).collect();
    let vectors: [(&str, &[u64]); 2] = [(&files[1], &every[10..70]), (&files[2], &every)];
    let vectors = deletion_vectors(&table, "dv", &vectors).await;
    let table = commit(&table, vectors, upgrade).await;
    let kept =
        |line: &&String| !(90..150).contains(&number(line)) && !(160..240).contains(&number(line));
    let left: Vec<String> = left.iter().filter(kept).cloned().collect();
    assert_eq!(rows(&table).await, left);
    let verdicts = run(&table, 40, 12).await;
    assert_lawful(&verdicts, "after deletion vectors");
    assert_used(&verdicts, "after deletion vectors");
}

#[tokio::test]
async fn r_de_l1_index_built_after_equality_deletes_never_changes_an_answer() {
    let (session, _) = memory();
    let table = docs_table(&session, "t", 4, 80).await;
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(40..200));
    let numbers = [(id(&table, "id"), "id", numbers)];
    let deletes = equality_deletes(&table, "id", &numbers, &[numbers[0].0]).await;
    let table = commit(&table, vec![deletes], |_| {}).await;
    with_indexes(&table).await;
    let verdicts = run(&table, 40, 13).await;
    assert_lawful(&verdicts, "built after");
    assert_used(&verdicts, "built after");
    assert_eq!(rows(&table).await.len(), 160);
}

#[tokio::test]
async fn l1_walked_graph_never_changes_an_answer() {
    const ROWS: usize = 3_000;
    let (session, _) = memory();
    let mut random = Random(17);
    let mut point = || -> Vec<f32> { (0..4).map(|_| random.float()).collect() };
    let list = Field::new("element", DataType::Float32, true);
    let schema = Schema::new(vec![
        Field::new("id", DataType::Int64, false),
        Field::new("embedding", DataType::List(Arc::new(list)), true),
    ]);
    let table = session
        .create_table(&name("t"), &schema, &BTreeMap::new())
        .await
        .unwrap();
    for file in 0..3 {
        let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(
            file * 1_000..(file + 1) * 1_000,
        ));
        let points = vectors(4, (0..1_000).map(|_| Some(point())));
        let batch = RecordBatch::try_new(Arc::new(schema.clone()), vec![ids, points]).unwrap();
        table.append(&[batch]).await.unwrap();
    }
    let table = table.refresh().await.unwrap();
    table
        .create_index(&index("hnsw", "embedding"))
        .await
        .unwrap();
    let mut verdicts = Verdicts::new();
    for number in 0..40 {
        let search = VectorSearch {
            column: id(&table, "embedding"),
            query: point(),
            k: 1 + number % 10,
            metric: Metric::L2,
            ef: Some(100),
            mode: SearchMode::Balanced,
            nulls: NullDistance::Drop,
        };
        let request = ScanRequest {
            projection: Some(ordered(&table)),
            search: Some(SearchRequest::Vector(search)),
            ..ScanRequest::default()
        };
        let before = session.environment().distances_computed();
        compare(&table, request, &mut verdicts).await;
        let distances = session.environment().distances_computed() - before;
        assert!(
            (1..ROWS as u64).contains(&distances),
            "{distances} distances for {ROWS} rows"
        );
    }
    assert_lawful(&verdicts, "walked");
    assert_eq!(verdicts["hnsw"].used, 40);
}

/// The segment files of a table, by path in the store.
async fn segments(table: &Table) -> Vec<(Location, Bytes)> {
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
            &run(
                &reopened(&session).table(table.reference()).await.unwrap(),
                5,
                10 + round,
            )
            .await,
            "damaged",
        );
    }
    for (location, _) in &good {
        files.delete(location).await.unwrap();
    }
    assert_lawful(
        &run(
            &reopened(&session).table(table.reference()).await.unwrap(),
            5,
            30,
        )
        .await,
        "missing",
    );
}

/// The newest manifest of a table's overlay.
async fn newest_manifest(table: &Table) -> OverlayManifest {
    let files = table
        .environment()
        .storage()
        .open(&[table.location().clone()]);
    let listed = files.list(table.overlay_location()).await.unwrap();
    let number = |location: &Location| -> Option<u64> {
        let name = location.name().strip_prefix("manifest-")?;
        name.strip_suffix(".json")?.parse().ok()
    };
    let newest = listed.iter().map(|(l, _)| l).max_by_key(|l| number(l));
    match OverlayManifest::parse(&files.get(newest.unwrap()).await.unwrap()).unwrap() {
        ParsedOverlay::Known(manifest) => manifest,
        ParsedOverlay::UnknownVersion(version) => panic!("version {version}"),
    }
}

/// Puts in place of an index's segment one that is valid, but says that its files came in reversed order.
async fn plant_wrong_segment(table: &Table, index: &str) {
    let files = table
        .environment()
        .storage()
        .open(&[table.location().clone()]);
    let manifest = newest_manifest(table).await;
    let entry = manifest.index(index).unwrap();
    let overlay = table.overlay_location();
    let location = overlay.join(&entry.segments[0].name).unwrap();
    let reader = SegmentReader::open(files.get(&location).await.unwrap()).unwrap();
    let mut header = reader.header().clone();
    header.files.reverse();
    let written = segment::write(&header, reader.blobs().unwrap()).unwrap();
    let location = overlay.join(&written.name).unwrap();
    files.put(&location, written.data.clone()).await.unwrap();
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
    let location = overlay.join("manifest-900.json").unwrap();
    let bytes = planted.to_bytes().unwrap();
    files.put(&location, bytes.into()).await.unwrap();
}

#[tokio::test]
async fn l1_suite_sees_a_planted_wrong_segment() {
    for (kind, column) in [("bitmap", "kind"), ("bm25", "text"), ("hnsw", "embedding")] {
        let (session, _) = memory();
        let table = docs_table(&session, "t", 4, 80).await;
        table.create_index(&index(kind, column)).await.unwrap();
        assert_lawful(&run(&table, 5, 1).await, kind);
        plant_wrong_segment(&table, &format!("{column}_{kind}")).await;
        let verdicts = run(
            &reopened(&session).table(table.reference()).await.unwrap(),
            30,
            1,
        )
        .await;
        assert!(
            verdicts[kind].wrong > 0,
            "the suite did not see the wrong segment: {kind} {verdicts:?}"
        );
    }
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
        for (kind, verdict) in run(&table, 5, 3).await {
            assert_eq!((verdict.wrong, verdict.used), (0, 0), "{kind}");
        }
    }
}
