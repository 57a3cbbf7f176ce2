//! Searches: recall, filters, deletes, counts, refusals.

mod index_use;

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use arrow::array::{AsArray as _, Int64Array, RecordBatch};
use arrow::datatypes::{DataType, Field, Float64Type, Int64Type, Schema};
use benostreamdb::storage::testing::CountingStore;
use benostreamdb::{
    CompareOp, ErrorKind, Metric, NullDistance, Predicate, ScanRequest, SearchMode, SearchRequest,
    Session, Table, TextSearch, Value, VectorSearch,
};
use object_store::memory::InMemory;
use tokio::sync::OnceCell;

use crate::fixture::{
    Random, delete_where, docs, docs_schema, docs_table, id, index, lines, memory, name, over,
    read, vectors,
};

/// So many rows that the graph is walked even where a filter takes half of them.
const MANY: usize = 50_000;
const DIMENSION: usize = 32;

fn clustered(seed: u64, rows: usize) -> Vec<Vec<f32>> {
    let mut random = Random(seed);
    let centres: Vec<Vec<f32>> = (0..60)
        .map(|_| (0..DIMENSION).map(|_| random.float() * 4.0).collect())
        .collect();
    (0..rows)
        .map(|_| {
            let centre = &centres[random.below(60) as usize];
            centre
                .iter()
                .map(|c| c + random.float() + random.float() - 1.0)
                .collect()
        })
        .collect()
}

async fn vector_table(session: &Session, row_count: usize) -> Table {
    let list = DataType::List(Arc::new(Field::new("element", DataType::Float32, true)));
    let schema = Schema::new(vec![
        Field::new("id", DataType::Int64, false),
        Field::new("bucket", DataType::Int64, false),
        Field::new("v", list, true),
    ]);
    let table = session
        .create_table(&name("v"), &schema, &BTreeMap::new())
        .await
        .unwrap();
    let rows = clustered(11, row_count);
    let file_rows = row_count / 3;
    for (file, part) in rows.chunks(file_rows).enumerate() {
        let ids =
            Int64Array::from_iter_values((0..part.len()).map(|i| (file * file_rows + i) as i64));
        let buckets = Int64Array::from_iter_values(ids.values().iter().map(|i| i * 7919 % 100));
        let batch = RecordBatch::try_from_iter([
            ("id", Arc::new(ids) as _),
            ("bucket", Arc::new(buckets) as _),
            ("v", vectors(DIMENSION, part.iter().cloned().map(Some))),
        ])
        .unwrap();
        table.append(&[batch]).await.unwrap();
    }
    table.refresh().await.unwrap()
}

fn nearest(
    table: &Table,
    query: &[f32],
    k: usize,
    mode: SearchMode,
    conjuncts: Vec<Predicate>,
) -> ScanRequest {
    let search = VectorSearch {
        column: id(table, "v"),
        query: query.to_vec(),
        k,
        metric: Metric::L2,
        ef: None,
        mode,
        nulls: NullDistance::Drop,
    };
    ScanRequest {
        projection: Some(vec![id(table, "id")]),
        conjuncts,
        search: Some(SearchRequest::Vector(search)),
        ..ScanRequest::default()
    }
}

/// Ids and distances of the best k over all splits.
async fn best(table: &Table, request: &ScanRequest) -> Vec<(i64, f64)> {
    let batch = read(table, request).await.unwrap();
    let ids = batch.column(0).as_primitive::<Int64Type>();
    let distances = batch.column(1).as_primitive::<Float64Type>();
    let mut rows: Vec<(i64, f64)> = ids
        .values()
        .iter()
        .copied()
        .zip(distances.values().iter().copied())
        .collect();
    rows.sort_by(|a, b| a.1.total_cmp(&b.1));
    rows.truncate(request.search.as_ref().unwrap().k());
    rows
}

/// The share of the true neighbours that were found, and the most distances that a query computed.
async fn recall(table: &Table, filter: Option<Predicate>) -> (f64, u64) {
    let queries = clustered(11, MANY + 20).split_off(MANY);
    let (mut found, mut most) = (0, 0);
    for query in &queries {
        let conjuncts: Vec<Predicate> = filter.iter().cloned().collect();
        let exact = best(
            table,
            &nearest(table, query, 10, SearchMode::Exact, conjuncts.clone()),
        )
        .await;
        let before = table.environment().distances_computed();
        let ours = best(
            table,
            &nearest(table, query, 10, SearchMode::Balanced, conjuncts),
        )
        .await;
        most = most.max(table.environment().distances_computed() - before);
        assert_eq!(ours.len(), exact.len());
        let truth: HashSet<i64> = exact.iter().map(|r| r.0).collect();
        found += ours.iter().filter(|r| truth.contains(&r.0)).count();
        for (id, distance) in &ours {
            if let Some(same) = exact.iter().find(|r| r.0 == *id) {
                assert_eq!(same.1, *distance);
            }
        }
    }
    (found as f64 / (queries.len() * 10) as f64, most)
}

/// A session with the table `v` of [`MANY`] rows and its graph: built once, every test has a copy of its own.
async fn many() -> (Session, Arc<CountingStore>) {
    static BUILT: OnceCell<InMemory> = OnceCell::const_new();
    let build = async || {
        let store = Arc::new(InMemory::new());
        let table = vector_table(&over(store.clone()), MANY).await;
        table.create_index(&index("hnsw", "v")).await.unwrap();
        store.fork()
    };
    let copy = BUILT.get_or_init(build).await.fork();
    let store = Arc::new(CountingStore::new(Arc::new(copy)));
    (over(store.clone()), store)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hnsw_recall_holds_plain_filtered_and_after_deletes() {
    let (session, _) = many().await;
    let table = session.table(&name("v")).await.unwrap();
    let request = nearest(
        &table,
        &clustered(1, 1)[0],
        10,
        SearchMode::Balanced,
        vec![],
    );
    let report = table.plan_scan(&request).await.unwrap().report;
    assert_eq!(report.rows_proposed, MANY as u64);
    assert_eq!(report.segments.get("v_hnsw"), Some(&1));
    let (plain, distances) = recall(&table, None).await;
    assert!(plain >= 0.95, "{plain}");
    assert!((1..MANY as u64 / 10).contains(&distances), "{distances}");
    for below in [50, 10, 1] {
        let filter = Predicate::Compare {
            column: id(&table, "bucket"),
            op: CompareOp::Lt,
            value: Value::Long(below),
        };
        let (recall, distances) = recall(&table, Some(filter)).await;
        assert!(recall >= 0.95, "{below} %: {recall}");
        let allowed = MANY as u64 / 100 * below as u64;
        // Half of the rows are walked; of fewer every one may be compared, and the best once more.
        let most = if below == 50 { allowed } else { allowed + 100 };
        assert!((1..most).contains(&distances), "{below} %: {distances}");
    }
    let half = Predicate::Compare {
        column: id(&table, "bucket"),
        op: CompareOp::GtEq,
        value: Value::Long(50),
    };
    delete_where(&table, half).await.unwrap();
    let (left, distances) = recall(&table.refresh().await.unwrap(), None).await;
    assert!(left >= 0.95, "after deletes: {left}");
    assert!((1..MANY as u64 / 2).contains(&distances), "{distances}");
}

#[tokio::test]
async fn search_with_bad_arguments_is_refused_by_kind() {
    let (session, _) = memory();
    let table = docs_table(&session, "t", 1, 30).await;
    let mut search = VectorSearch {
        column: id(&table, "embedding"),
        query: vec![0.5; 8],
        k: 3,
        metric: Metric::L2,
        ef: None,
        mode: SearchMode::Balanced,
        nulls: NullDistance::Drop,
    };
    let request = |search: VectorSearch| ScanRequest {
        search: Some(SearchRequest::Vector(search)),
        ..ScanRequest::default()
    };
    let kind = async |search: &VectorSearch| {
        table
            .plan_scan(&request(search.clone()))
            .await
            .map(|_| ())
            .map_err(|e| e.kind())
    };
    assert_eq!(kind(&search).await, Ok(()));
    search.k = 0;
    assert_eq!(kind(&search).await, Err(ErrorKind::InvalidInput));
    search.k = 10_001;
    assert_eq!(kind(&search).await, Err(ErrorKind::ResourceExhausted));
    search.k = 3;
    search.query[2] = f32::NAN;
    assert_eq!(kind(&search).await, Err(ErrorKind::InvalidInput));
    search.query = vec![0.5; 8];
    search.column = id(&table, "text");
    assert_eq!(kind(&search).await, Err(ErrorKind::InvalidInput));
    search.column = 999;
    assert_eq!(kind(&search).await, Err(ErrorKind::InvalidInput));
}

#[tokio::test]
async fn vector_of_other_length_or_null_has_no_distance() {
    let (session, _) = memory();
    let list = DataType::List(Arc::new(Field::new("element", DataType::Float32, true)));
    let schema = Schema::new(vec![
        Field::new("id", DataType::Int64, false),
        Field::new("v", list, true),
    ]);
    let table = session
        .create_table(&name("ragged"), &schema, &BTreeMap::new())
        .await
        .unwrap();
    let rows = vectors(
        0,
        [
            Some(vec![1.0, 0.0]),
            None,
            Some(vec![1.0, 2.0, 3.0]),
            Some(vec![f32::NAN, 0.0]),
            Some(vec![0.0, 0.0]),
            Some(vec![]),
        ],
    );
    let batch = RecordBatch::try_from_iter([
        ("id", Arc::new(Int64Array::from_iter_values(0..6)) as _),
        ("v", rows),
    ])
    .unwrap();
    table.append(&[batch]).await.unwrap();
    let table = table.refresh().await.unwrap();
    let search = |nulls| {
        let search = VectorSearch {
            column: id(&table, "v"),
            query: vec![0.0, 0.0],
            k: 10,
            metric: Metric::L2,
            ef: None,
            mode: SearchMode::Balanced,
            nulls,
        };
        ScanRequest {
            projection: Some(vec![id(&table, "id")]),
            search: Some(SearchRequest::Vector(search)),
            ..ScanRequest::default()
        }
    };
    for indexed in [false, true] {
        if indexed {
            table.create_index(&index("hnsw", "v")).await.unwrap();
        }
        assert_eq!(
            lines(&read(&table, &search(NullDistance::Drop)).await.unwrap()),
            ["4|0.0", "0|1.0", "3|NaN"],
            "indexed: {indexed}"
        );
        assert_eq!(
            lines(&read(&table, &search(NullDistance::First)).await.unwrap()),
            ["1|NULL", "2|NULL", "5|NULL", "4|0.0", "0|1.0", "3|NaN"],
            "indexed: {indexed}"
        );
        assert_eq!(
            lines(&read(&table, &search(NullDistance::Last)).await.unwrap()),
            ["4|0.0", "0|1.0", "3|NaN", "1|NULL", "2|NULL", "5|NULL"],
            "indexed: {indexed}"
        );
    }
}

/// A table of twenty files whose ids lie so mixed that every file's bounds hold all of them.
async fn mixed_table(session: &Session) -> Table {
    let table = session
        .create_table(&name("t"), &docs_schema(), &BTreeMap::new())
        .await
        .unwrap();
    for file in 0..20 {
        let batch = docs(file * 100, 100, 7);
        let mut columns = batch.columns().to_vec();
        let ids = (file * 100..(file + 1) * 100).map(|row| row * 777 % 2_000);
        columns[0] = Arc::new(Int64Array::from_iter_values(ids));
        let mixed = RecordBatch::try_new(batch.schema(), columns).unwrap();
        table.append(&[mixed]).await.unwrap();
    }
    table.refresh().await.unwrap()
}

#[tokio::test]
async fn equality_over_twenty_files_reads_data_of_matching_files_only() {
    let (session, store) = memory();
    let table = mixed_table(&session).await;
    for column in ["kind", "id"] {
        table.create_index(&index("bitmap", column)).await.unwrap();
    }
    store.reset();
    // A fresh session: nothing is cached.
    let table = over(store.clone()).table(&name("t")).await.unwrap();
    let request = ScanRequest {
        conjuncts: vec![crate::fixture::equals(&table, "id", Value::Long(1234))],
        ..ScanRequest::default()
    };
    let report = table.plan_scan(&request).await.unwrap().report;
    assert_eq!(
        (
            report.files_pruned_by_statistics,
            report.files_pruned_by_index,
            report.rows_proposed
        ),
        (0, 19, 1)
    );
    let found = read(&table, &request).await.unwrap();
    assert_eq!(found.num_rows(), 1);
    let data: Vec<String> = store
        .reads()
        .into_keys()
        .filter(|path| path.contains("/data/"))
        .collect();
    assert_eq!(data.len(), 1, "{data:?}");
}

#[tokio::test]
async fn search_of_fifty_thousand_rows_computes_few_distances_and_builds_nothing() {
    let (opened, store) = many().await;
    let table = opened.table(&name("v")).await.unwrap();
    let queries = clustered(11, MANY + 20).split_off(MANY);
    for query in &queries {
        let before = opened.environment().distances_computed();
        let request = nearest(&table, query, 10, SearchMode::Balanced, vec![]);
        assert_eq!(best(&table, &request).await.len(), 10);
        let distances = opened.environment().distances_computed() - before;
        assert!(
            (10..MANY as u64 / 10).contains(&distances),
            "{distances} distances"
        );
    }
    assert!(store.puts().is_empty(), "{:?}", store.puts());
    let segment = store.reads_of(".bsdb_idx");
    assert!(segment.gets <= 4, "the segment was read {segment:?}");
}

#[tokio::test]
async fn bm25_scores_do_not_depend_on_the_index() {
    let (session, _) = memory();
    let table = docs_table(&session, "t", 3, 120).await;
    let request = |all| {
        let search = TextSearch {
            column: id(&table, "text"),
            query: "quick river fox".into(),
            k: 400,
            all,
            analyzer: None,
        };
        ScanRequest {
            projection: Some(vec![id(&table, "id")]),
            search: Some(SearchRequest::Text(search)),
            ..ScanRequest::default()
        }
    };
    let mut plain = Vec::new();
    for all in [false, true] {
        plain.push(crate::fixture::sorted(
            &read(&table, &request(all)).await.unwrap(),
        ));
    }
    assert!(plain[0].len() > plain[1].len() && !plain[1].is_empty());
    table.create_index(&index("bm25", "text")).await.unwrap();
    for (all, expected) in [false, true].into_iter().zip(&plain) {
        let plan = table.plan_scan(&request(all)).await.unwrap();
        assert_eq!(plan.report.rows_proposed, 360);
        assert_eq!(
            &crate::fixture::sorted(&read(&table, &request(all)).await.unwrap()),
            expected
        );
    }
}
