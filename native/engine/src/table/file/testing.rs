//! What the tests of the formats share: files in memory, and rows as text.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use arrow::util::display::array_value_to_string;
use futures::TryStreamExt as _;
use futures::stream::BoxStream;
use object_store::memory::InMemory;
use object_store::{ObjectStoreExt as _, PutPayload};
use roaring::RoaringBitmap;

use super::Decode;
use crate::error::Result;
use crate::storage::{Location, ReadStore, Storage};

/// A store that holds one file.
pub(super) async fn stored(bytes: &[u8]) -> (ReadStore, Location, u64) {
    let memory = Arc::new(InMemory::new());
    let payload = PutPayload::from(bytes.to_vec());
    memory.put(&"t/file".into(), payload).await.unwrap();
    let storage = Storage::new(&BTreeMap::new(), &[])
        .unwrap()
        .with_store("memory://", memory);
    let root = storage.resolve("memory:///t").unwrap();
    let location = root.join("file").unwrap();
    let store = storage.open(&[root]).reader().clone();
    (store, location, bytes.len() as u64)
}

/// These columns, and these rows or all.
pub(super) fn decode(
    roots: impl IntoIterator<Item = usize>,
    rows: Option<RoaringBitmap>,
) -> Decode {
    Decode {
        roots: roots.into_iter().collect::<BTreeSet<_>>(),
        views: BTreeSet::new(),
        rows,
        row_groups: None,
        positions: true,
        filter: None,
    }
}

/// All batches as one.
pub(super) async fn collect(
    stream: BoxStream<'static, Result<RecordBatch>>,
) -> Result<RecordBatch> {
    let batches: Vec<RecordBatch> = stream.try_collect().await?;
    let schema = batches.first().map(RecordBatch::schema);
    let schema = schema.unwrap_or_else(|| Arc::new(arrow::datatypes::Schema::empty()));
    Ok(concat_batches(&schema, &batches)?)
}

/// The values of a column as text; NULL is empty.
pub(super) fn texts(batch: &RecordBatch, column: &str) -> Vec<String> {
    let array = batch.column_by_name(column).unwrap();
    (0..batch.num_rows())
        .map(|row| array_value_to_string(array, row).unwrap())
        .collect()
}
