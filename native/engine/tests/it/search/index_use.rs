//! That a fresh index is what answers a search, seen by what is computed and read, and that an exact search does
//! without. Rows are the same either way (L1), so only this can tell.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema};
use benostreamdb::storage::testing::CountingStore;
use benostreamdb::{
    Metric, NullDistance, ScanRequest, SearchMode, SearchRequest, Session, Table, TextSearch,
    VectorSearch,
};

use crate::fixture::{Random, id, index, memory, name, read, reopened, sorted, vectors};

const ROWS: i64 = 200;

/// Four files of [`ROWS`] points each, every file far from the others; one index over all.
async fn points(session: &Session) -> Table {
    let list = Field::new("element", DataType::Float32, true);
    let schema = Schema::new(vec![
        Field::new("id", DataType::Int64, false),
        Field::new("v", DataType::List(Arc::new(list)), true),
    ]);
    let table = session
        .create_table(&name("t"), &schema, &BTreeMap::new())
        .await
        .unwrap();
    let mut random = Random(3);
    for file in 0..4 {
        let mut point = || {
            (0..4)
                .map(|_| file as f32 * 100.0 + random.float())
                .collect()
        };
        let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(file * ROWS..(file + 1) * ROWS));
        let points = vectors(4, (0..ROWS).map(|_| Some(point())));
        let batch = RecordBatch::try_new(Arc::new(schema.clone()), vec![ids, points]).unwrap();
        table.append(&[batch]).await.unwrap();
    }
    table.create_index(&index("hnsw", "v")).await.unwrap();
    table.refresh().await.unwrap()
}

fn near(table: &Table, mode: SearchMode) -> ScanRequest {
    let search = VectorSearch {
        column: id(table, "v"),
        query: vec![200.5; 4],
        k: 5,
        metric: Metric::L2,
        ef: None,
        mode,
        nulls: NullDistance::Drop,
    };
    ScanRequest {
        projection: Some(vec![id(table, "id")]),
        search: Some(SearchRequest::Vector(search)),
        ..ScanRequest::default()
    }
}

/// The data files read since the last reset, with their bytes read.
fn data_read(store: &CountingStore) -> Vec<u64> {
    let reads = store.reads();
    let data = reads.iter().filter(|(path, _)| path.contains("/data/"));
    data.map(|(_, count)| count.bytes).collect()
}

/// The same table with nothing cached and nothing counted.
async fn uncounted(session: &Session, store: &CountingStore) -> Table {
    let table = reopened(session).table(&name("t")).await.unwrap();
    store.reset();
    table
}

#[tokio::test]
async fn vector_search_reads_only_the_files_of_what_the_graph_proposes() {
    let (session, store) = memory();
    points(&session).await;
    let mut answers = Vec::new();
    for (mode, files) in [
        (SearchMode::Balanced, 1),
        (SearchMode::Fast, 1),
        (SearchMode::Exact, 4),
    ] {
        let table = uncounted(&session, &store).await;
        let found = read(&table, &near(&table, mode)).await.unwrap();
        let distances = table.environment().distances_computed();
        assert_eq!(distances > 0, mode != SearchMode::Exact, "{mode:?}");
        assert_eq!(data_read(&store).len(), files, "{mode:?}");
        let segments = store.reads_of(".bsdb_idx").gets;
        assert_eq!(segments > 0, mode != SearchMode::Exact, "{mode:?}");
        let mut best = sorted(&found);
        best.sort_by_key(|row| row.split_once('|').unwrap().1.to_string());
        best.truncate(5);
        answers.push(best);
    }
    assert_eq!(answers[0], answers[2]);
    assert_eq!(answers[1], answers[2]);
}

#[tokio::test]
async fn scan_without_indexes_computes_no_distance_of_an_index() {
    let (session, store) = memory();
    points(&session).await;
    let table = uncounted(&session, &store).await;
    let request = ScanRequest {
        use_indexes: false,
        ..near(&table, SearchMode::Balanced)
    };
    read(&table, &request).await.unwrap();
    assert_eq!(table.environment().distances_computed(), 0);
    assert_eq!(data_read(&store).len(), 4);
    assert_eq!(store.reads_of("_overlay").gets, 0);
}

/// Three files of long texts that hardly compress; the word `needle` is in three rows of the second.
async fn texts(session: &Session) -> Table {
    let schema = Schema::new(vec![
        Field::new("id", DataType::Int64, false),
        Field::new("text", DataType::Utf8, true),
    ]);
    let table = session
        .create_table(&name("t"), &schema, &BTreeMap::new())
        .await
        .unwrap();
    let mut random = Random(5);
    for file in 0..3 {
        let text = (0..ROWS).map(|row| {
            let mut words: Vec<String> = (0..80)
                .map(|_| format!("{:016x}{:016x}", random.next(), random.next()))
                .collect();
            if file == 1 && row % 80 == 0 {
                words[40] = "needle".to_string();
            }
            words.join(" ")
        });
        let text: ArrayRef = Arc::new(StringArray::from_iter_values(text));
        let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(file * ROWS..(file + 1) * ROWS));
        let batch = RecordBatch::try_new(Arc::new(schema.clone()), vec![ids, text]).unwrap();
        table.append(&[batch]).await.unwrap();
    }
    table.create_index(&index("bm25", "text")).await.unwrap();
    table.refresh().await.unwrap()
}

#[tokio::test]
async fn text_search_reads_only_matching_files_and_no_text() {
    /// The end of a file that is read first, and some for the ids.
    const NO_TEXT: u64 = 80 << 10;
    let (session, store) = memory();
    texts(&session).await;
    let mut answers = Vec::new();
    for use_indexes in [true, false] {
        let table = uncounted(&session, &store).await;
        let search = TextSearch {
            column: id(&table, "text"),
            query: "needle".into(),
            k: 10,
            all: false,
            analyzer: None,
        };
        let request = ScanRequest {
            projection: Some(vec![id(&table, "id")]),
            search: Some(SearchRequest::Text(search)),
            use_indexes,
            ..ScanRequest::default()
        };
        let found = sorted(&read(&table, &request).await.unwrap());
        let ids: Vec<&str> = found
            .iter()
            .map(|row| row.split_once('|').unwrap().0)
            .collect();
        assert_eq!(ids, ["200", "280", "360"]);
        let data = data_read(&store);
        if use_indexes {
            assert_eq!(data.len(), 1, "{data:?}");
            assert!(data[0] < NO_TEXT, "{data:?}");
        } else {
            assert_eq!(data.len(), 3, "{data:?}");
            assert!(data.iter().all(|bytes| *bytes > 2 * NO_TEXT), "{data:?}");
        }
        answers.push(found);
    }
    assert_eq!(answers[0], answers[1]);
}
