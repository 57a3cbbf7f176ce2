//! Deletes: which delete files apply to a data file, and which of its rows they take away. Positions are physical
//! ordinals, from position files or deletion vectors; equality deletes are asked row by row. What is read is
//! kept in bounded caches of the session, since many data files share a delete file.

mod association;
mod bounds;
mod equality;
mod key_table;
mod position;
mod vector;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use arrow::array::AsArray as _;
use arrow::datatypes::Int64Type;
use futures::{StreamExt as _, TryStreamExt as _};
use roaring::RoaringBitmap;
use serde_json::Value as Json;
use tokio::sync::Mutex;
use xxhash_rust::xxh3::Xxh3;

use super::cache::Cache;
use super::file::OpenFile;
use super::read::{FileRead, ReadContext};
use super::split::{DeleteKind, DeleteRef, FileTask};
use crate::error::{Error, Result};
use crate::iceberg::predicate::reserved;
use equality::{KeyBatches, KeysKey};
use key_table::KeyTable;
use position::{Positions, spelling};
use vector::VectorKey;

pub(crate) use association::DeleteIndex;
pub(crate) use equality::EqualityDeletes;
pub(crate) use position::{DELETE_PATH, DELETE_POS};

/// Delete files that are read at a time for one data file.
const FILES_AT_ONCE: usize = 8;

const POSITION_CACHE_BYTES: usize = 128 << 20;
const VECTOR_CACHE_BYTES: usize = 128 << 20;
const KEY_CACHE_BYTES: usize = 128 << 20;
const TABLE_CACHE_BYTES: usize = 256 << 20;
const LIVE_CACHE_BYTES: usize = 128 << 20;

/// What a session keeps of the deletes it has read; all of it is immutable.
pub(crate) struct DeleteCaches {
    positions: Cache<(String, u64), Arc<Positions>>,
    vectors: Cache<VectorKey, Arc<RoaringBitmap>>,
    keys: Cache<KeysKey, Arc<KeyBatches>>,
    /// By the files in them.
    tables: Cache<u128, Arc<KeyTable>>,
    /// The live rows of data files with equality deletes, by data file and its deletes.
    live: Cache<u128, Arc<RoaringBitmap>>,
}

impl Default for DeleteCaches {
    fn default() -> Self {
        DeleteCaches {
            positions: Cache::new(POSITION_CACHE_BYTES),
            vectors: Cache::new(VECTOR_CACHE_BYTES),
            keys: Cache::new(KEY_CACHE_BYTES),
            tables: Cache::new(TABLE_CACHE_BYTES),
            live: Cache::new(LIVE_CACHE_BYTES),
        }
    }
}

/// The deletes of the files that are read together. Equality deletes of one reach are put into one table for all of
/// them: a file that is newer than a delete is not touched by it, so that a table may hold more than a file needs.
#[derive(Default)]
pub(crate) struct DeletedRows {
    groups: HashMap<u32, Vec<Arc<DeleteRef>>>,
    /// The tables of the groups, those that were asked for.
    tables: Mutex<HashMap<u32, Arc<KeyTable>>>,
}

impl DeletedRows {
    /// The deletes of some data files.
    pub(crate) fn of_files<'a>(tasks: impl IntoIterator<Item = &'a FileTask>) -> DeletedRows {
        let mut groups: HashMap<u32, BTreeMap<(&str, i64), &Arc<DeleteRef>>> = HashMap::new();
        for delete in tasks.into_iter().flat_map(|task| &task.deletes) {
            if let DeleteKind::Equality { group, .. } = delete.kind {
                let file = (delete.path.as_str(), delete.sequence_number);
                groups.entry(group).or_default().insert(file, delete);
            }
        }
        DeletedRows {
            groups: groups
                .into_iter()
                .map(|(group, files)| (group, files.into_values().cloned().collect()))
                .collect(),
            tables: Mutex::default(),
        }
    }

    /// The rows of the task's file that are deleted by position.
    pub(crate) async fn of(
        &self,
        context: &ReadContext,
        task: &FileTask,
    ) -> Result<Arc<RoaringBitmap>> {
        let by_position = task.deletes.iter().filter(|delete| !delete.is_by_value());
        let by_position: Vec<Arc<DeleteRef>> = by_position.cloned().collect();
        let mut dead = futures::stream::iter(by_position)
            .map(|delete| async move {
                let rows = positions(context, task, &delete).await;
                rows.map_err(|e| e.with("delete file", &delete.path))
            })
            .buffered(FILES_AT_ONCE);
        let mut all = RoaringBitmap::new();
        while let Some(rows) = dead.try_next().await? {
            all |= rows;
        }
        Ok(Arc::new(all))
    }

    /// The equality deletes of the task's file; None: there are none.
    pub(crate) async fn equality(
        &self,
        context: &ReadContext,
        task: &FileTask,
    ) -> Result<Option<Arc<EqualityDeletes>>> {
        let mut groups: BTreeMap<u32, &Json> = BTreeMap::new();
        for delete in &task.deletes {
            if let DeleteKind::Equality { group, columns } = &delete.kind {
                groups.insert(*group, columns);
            }
        }
        if groups.is_empty() {
            return Ok(None);
        }
        let mut tables = Vec::with_capacity(groups.len());
        for (group, columns) in groups {
            tables.push(self.table(context, group, columns).await?);
        }
        let deletes = EqualityDeletes::new(tables, task.data_sequence_number);
        Ok(Some(Arc::new(deletes)))
    }

    /// The keys of a group, from the session's cache where the same files were put together before.
    async fn table(
        &self,
        context: &ReadContext,
        group: u32,
        columns: &Json,
    ) -> Result<Arc<KeyTable>> {
        // Held while loading: files that are read together want the same table.
        let mut tables = self.tables.lock().await;
        if let Some(known) = tables.get(&group) {
            return Ok(Arc::clone(known));
        }
        let files = self.groups.get(&group).ok_or_else(|| {
            Error::internal("equality deletes of a file that is not among those read together")
        })?;
        let mut digest = Xxh3::new();
        digest.update(columns.to_string().as_bytes());
        files
            .iter()
            .for_each(|delete| describe(delete, &mut digest));
        let load = async {
            let table = equality::load_table(context, files, columns).await?;
            let bytes = table.bytes();
            Ok((Arc::new(table), bytes))
        };
        let caches = context.environment.deletes();
        let loaded = caches.tables.get_or_load(digest.digest128(), load).await?;
        tables.insert(group, Arc::clone(&loaded));
        Ok(loaded)
    }

    /// The physical rows of the task's file that no delete takes away.
    pub(crate) async fn live(
        &self,
        context: &ReadContext,
        task: &FileTask,
    ) -> Result<Arc<RoaringBitmap>> {
        if !task.deletes.iter().any(|delete| delete.is_by_value()) {
            let rows = u32::try_from(task.record_count)
                .map_err(|_| Error::unsupported("a data file of 2^32 rows or more"))?;
            let mut live = RoaringBitmap::new();
            live.insert_range(0..rows);
            return Ok(Arc::new(live - self.of(context, task).await?.as_ref()));
        }
        let mut digest = Xxh3::new();
        describe_file(&task.path, task.size, &mut digest);
        digest.update(&task.data_sequence_number.to_le_bytes());
        task.deletes
            .iter()
            .for_each(|delete| describe(delete, &mut digest));
        let load = async {
            let live = Arc::new(scan_live(context, task).await?);
            let bytes = live.serialized_size();
            Ok((live, bytes))
        };
        let caches = context.environment.deletes();
        caches.live.get_or_load(digest.digest128(), load).await
    }
}

/// The rows of a file that a scan gives.
async fn scan_live(context: &ReadContext, task: &FileTask) -> Result<RoaringBitmap> {
    let read = FileRead {
        task: Arc::new(FileTask {
            rows: None,
            row_groups: None,
            ..task.clone()
        }),
        columns: [reserved::POS].into(),
        predicate: None,
        rows: None,
        apply_deletes: true,
    };
    let mut live = RoaringBitmap::new();
    let mut batches = context.read(read).await?;
    while let Some(batch) = batches.try_next().await? {
        let positions = batch.columns().first();
        let positions = positions
            .and_then(|column| column.as_primitive_opt::<Int64Type>())
            .ok_or_else(|| Error::internal("positions are not of type long"))?;
        let rows = positions.values().iter();
        live.extend(rows.filter_map(|row| u32::try_from(*row).ok()));
    }
    Ok(live)
}

/// What a delete file takes from the task's file by position.
async fn positions(
    context: &ReadContext,
    task: &FileTask,
    delete: &DeleteRef,
) -> Result<RoaringBitmap> {
    match &delete.kind {
        DeleteKind::Equality { .. } => Ok(RoaringBitmap::new()),
        DeleteKind::Vector {
            offset,
            length,
            cardinality,
        } => {
            let key = VectorKey {
                path: delete.path.clone(),
                offset: *offset,
                length: *length,
                cardinality: *cardinality,
            };
            let rows = vector::load(context, key).await?;
            Ok(rows.as_ref().clone())
        }
        DeleteKind::Positions { for_one_file } => {
            let positions = position::load(context, delete).await?;
            match positions.get(&spelling(&task.path)) {
                Some(rows) => Ok(rows.clone()),
                // Another file in its place would bring deleted rows back.
                None if *for_one_file => Err(Error::corrupt(format!(
                    "delete file {} names no row of {}",
                    delete.path, task.path
                ))),
                None => Ok(RoaringBitmap::new()),
            }
        }
    }
}

/// What tells a delete file from every other.
fn describe(delete: &DeleteRef, digest: &mut Xxh3) {
    describe_file(&delete.path, delete.size, digest);
    digest.update(&delete.sequence_number.to_le_bytes());
    if let DeleteKind::Vector { offset, length, .. } = delete.kind {
        digest.update(&offset.to_le_bytes());
        digest.update(&length.to_le_bytes());
    }
}

fn describe_file(path: &str, size: u64, digest: &mut Xxh3) {
    digest.update(&path.len().to_le_bytes());
    digest.update(path.as_bytes());
    digest.update(&size.to_le_bytes());
}

/// Opens a delete file of any format that data files have.
async fn open(context: &ReadContext, delete: &DeleteRef) -> Result<OpenFile> {
    let location = context.files.resolve(&delete.path)?;
    let (environment, store) = (&context.environment, context.files.reader());
    OpenFile::open(environment, store, &location, delete.size, &delete.format).await
}
