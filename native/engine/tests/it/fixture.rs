//! Tables and readers that the tests share.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, Float32Array, Float64Array, Int64Array, ListArray, RecordBatch, StringArray,
};
use arrow::buffer::OffsetBuffer;
use arrow::compute::concat_batches;
use arrow::datatypes::{DataType, Field, Schema};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use benostreamdb::maintain::IndexRequest;
use benostreamdb::storage::Storage;
use benostreamdb::storage::testing::CountingStore;
use benostreamdb::{CompareOp, Predicate, Result, ScanRequest, Session, Table, TableRef, Value};
use futures::TryStreamExt as _;
use object_store::ObjectStore;
use object_store::memory::InMemory;

/// A small deterministic generator (splitmix64), so that every run sees the same data.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    pub fn float(&mut self) -> f32 {
        (self.below(1 << 24) as f32) / (1 << 24) as f32
    }
}

/// A session over a counting in-memory store with the warehouse `memory:///lake`.
pub fn memory() -> (Session, Arc<CountingStore>) {
    let store = Arc::new(CountingStore::new(Arc::new(InMemory::new())));
    (over(store.clone()), store)
}

/// A session over a store with the warehouse `memory:///lake`.
pub fn over(store: Arc<dyn ObjectStore>) -> Session {
    let storage = Storage::new(&BTreeMap::new(), &[])
        .unwrap()
        .with_store("memory://", store);
    Session::over(storage, Some("memory:///lake")).unwrap()
}

/// A session over the same store with nothing cached.
pub fn reopened(session: &Session) -> Session {
    let storage = session.environment().storage().clone();
    Session::over(storage, Some("memory:///lake")).unwrap()
}

/// An index of this kind on one column, with the kind's own parameters.
pub fn index(kind: &str, column: &str) -> IndexRequest {
    IndexRequest {
        kind: kind.into(),
        columns: vec![column.into()],
        ..IndexRequest::default()
    }
}

/// How many times the usual number of random cases run: `make test-long` asks for more of them.
pub fn scale() -> usize {
    std::env::var("BSDB_TEST_SCALE").map_or(1, |scale| scale.parse().unwrap())
}

pub fn name(name: &str) -> TableRef {
    TableRef::in_default(name)
}

pub fn vectors(dimension: usize, rows: impl IntoIterator<Item = Option<Vec<f32>>>) -> ArrayRef {
    let mut values = Vec::new();
    let mut lengths = Vec::new();
    let mut valid = Vec::new();
    for row in rows {
        valid.push(row.is_some());
        let row = row.unwrap_or_default();
        assert!(row.is_empty() || dimension == 0 || row.len() == dimension);
        lengths.push(row.len());
        values.extend(row);
    }
    let field = Arc::new(Field::new("element", DataType::Float32, true));
    Arc::new(ListArray::new(
        field,
        OffsetBuffer::from_lengths(lengths),
        Arc::new(Float32Array::from(values)),
        Some(valid.into()),
    ))
}

pub fn docs_schema() -> Schema {
    Schema::new(vec![
        Field::new("id", DataType::Int64, false),
        Field::new("kind", DataType::Utf8, true),
        Field::new("score", DataType::Float64, true),
        Field::new("text", DataType::Utf8, true),
        Field::new(
            "embedding",
            DataType::List(Arc::new(Field::new("element", DataType::Float32, true))),
            true,
        ),
    ])
}

const WORDS: [&str; 12] = [
    "alpha", "beta", "gamma", "delta", "river", "stone", "cloud", "the", "of", "quick", "fox",
    "Fox's",
];

/// Rows `first..first + count` with NULLs, NaN, -0.0, blanks and unicode among the values.
pub fn docs(first: i64, count: usize, seed: u64) -> RecordBatch {
    let mut random = Random(seed ^ first as u64);
    let mut kinds = Vec::new();
    let mut scores = Vec::new();
    let mut texts = Vec::new();
    let mut embeddings = Vec::new();
    for _ in 0..count {
        kinds.push(match random.below(8) {
            0 => None,
            1 => Some(String::new()),
            2 => Some(" lead".to_string()),
            3 => Some("ü日本".to_string()),
            n => Some(format!("k{n}")),
        });
        scores.push(match random.below(9) {
            0 => None,
            1 => Some(f64::NAN),
            2 => Some(-0.0),
            3 => Some(0.0),
            4 => Some(f64::INFINITY),
            n => Some(n as f64 - 6.5),
        });
        texts.push((random.below(10) > 0).then(|| {
            (0..random.below(9))
                .map(|_| WORDS[random.below(12) as usize])
                .collect::<Vec<_>>()
                .join(" ")
        }));
        embeddings.push(
            (random.below(12) > 0).then(|| (0..8).map(|_| random.float()).collect::<Vec<f32>>()),
        );
    }
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from_iter_values(first..first + count as i64)),
        Arc::new(StringArray::from(kinds)),
        Arc::new(Float64Array::from(scores)),
        Arc::new(StringArray::from(texts)),
        vectors(8, embeddings),
    ];
    RecordBatch::try_new(Arc::new(docs_schema()), columns).unwrap()
}

/// A table of `files` data files with `rows` rows each.
pub async fn docs_table(session: &Session, table: &str, files: usize, rows: usize) -> Table {
    let table = session
        .create_table(&name(table), &docs_schema(), &BTreeMap::new())
        .await
        .unwrap();
    for file in 0..files {
        table
            .append(&[docs((file * rows) as i64, rows, 7)])
            .await
            .unwrap();
    }
    table.refresh().await.unwrap()
}

pub fn id(table: &Table, column: &str) -> i32 {
    table.schema().unwrap().column(column).unwrap().id
}

pub fn equals(table: &Table, column: &str, value: Value) -> Predicate {
    Predicate::Compare {
        column: id(table, column),
        op: CompareOp::Eq,
        value,
    }
}

/// All batches of a scan in one, in split order.
pub async fn read(table: &Table, request: &ScanRequest) -> Result<RecordBatch> {
    let plan = table.plan_scan(request).await?;
    let mut batches = Vec::new();
    for split in &plan.splits {
        let bytes = split.to_bytes()?;
        let (schema, stream) = benostreamdb::Split::from_bytes(&bytes)?
            .open(table.environment())
            .await?;
        assert_eq!(schema, plan.schema);
        batches.extend(stream.try_collect::<Vec<_>>().await?);
    }
    Ok(concat_batches(&plan.schema, &batches).unwrap())
}

/// Rows as text, in order.
pub fn lines(batch: &RecordBatch) -> Vec<String> {
    let options = FormatOptions::default().with_null("NULL");
    let columns: Vec<_> = batch
        .columns()
        .iter()
        .map(|c| ArrayFormatter::try_new(c, &options).unwrap())
        .collect();
    (0..batch.num_rows())
        .map(|row| {
            columns
                .iter()
                .map(|c| c.value(row).to_string())
                .collect::<Vec<_>>()
                .join("|")
        })
        .collect()
}

/// Rows as text, sorted.
pub fn sorted(batch: &RecordBatch) -> Vec<String> {
    let mut lines = lines(batch);
    lines.sort();
    lines
}

/// The scan of everything.
pub async fn rows(table: &Table) -> Vec<String> {
    sorted(&read(table, &ScanRequest::default()).await.unwrap())
}

/// Deletes the rows of a predicate as a row delta, as every surface does it.
pub async fn delete_where(
    table: &Table,
    predicate: Predicate,
) -> Result<benostreamdb::CommitOutcome> {
    use arrow::array::AsArray as _;
    use benostreamdb::iceberg::predicate::reserved;
    let request = ScanRequest {
        projection: Some(vec![reserved::FILE, reserved::POS]),
        conjuncts: vec![predicate],
        ..ScanRequest::default()
    };
    let found = read(table, &request).await?;
    let mut writer = table.writer()?;
    let files = found.column(0).as_string::<i32>();
    let positions = found
        .column(1)
        .as_primitive::<arrow::datatypes::Int64Type>();
    for row in 0..found.num_rows() {
        writer.delete_rows(files.value(row), [positions.value(row) as u64])?;
    }
    let messages = vec![writer.finish().await?];
    table
        .commit(&benostreamdb::CommitRequest {
            operation: benostreamdb::CommitOperation::RowDelta,
            messages,
            base_snapshot: table.snapshot_id(),
        })
        .await
}
