//! Builds segments: which files lack one, grouped into pieces; one piece read and built; all pieces
//! published at once. Building reads every physical row, deleted ones too, since deletes come from the
//! queried snapshot and never from an index. Equal input gives equal bytes and thus one file.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::TryStreamExt as _;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::index::overlay::{FileIdentity, OverlayChange, SegmentEntry};
use crate::index::segment::{self, CoveredFile, SegmentHeader};
use crate::index::{self, Blob, IndexBuilder, IndexDefinition};
use crate::storage::Location;
use crate::table::{
    Environment, FileRead, FileTask, LiveFile, OverlayStore, ReadContext, Table, build_id,
    check_build, decode, dimension_property, encode, live_files,
};
use crate::telemetry;

const PIECE_MAGIC: &[u8; 4] = b"BSDI";
const MESSAGE_MAGIC: &[u8; 4] = b"BSDJ";
/// Rows of a piece: one graph or one set of postings stays in memory while it is built.
const PIECE_ROWS: u64 = 2_000_000;

/// The pieces that an index lacks for a snapshot.
#[derive(Clone, Debug)]
pub struct IndexBuildPlan {
    /// The index.
    pub definition: IndexDefinition,
    /// Independent units of work.
    pub pieces: Vec<IndexPiece>,
}

/// One segment to build; may leave the process as bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IndexPiece {
    build: String,
    definition: IndexDefinition,
    table_uuid: String,
    table_location: String,
    overlay_location: String,
    schema: serde_json::Value,
    name_mapping: Option<String>,
    files: Vec<(FileTask, FileIdentity)>,
}

/// A built segment that waits for its publication.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SegmentMessage {
    build: String,
    table_uuid: String,
    definition: IndexDefinition,
    segment: SegmentEntry,
    vector_lengths: Vec<usize>,
}

impl IndexPiece {
    /// The opaque bytes that may leave the process.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        encode(PIECE_MAGIC, self)
    }

    /// Reads what `to_bytes` of the same build wrote. Errors: InvalidInput.
    pub fn from_bytes(bytes: &[u8]) -> Result<IndexPiece> {
        let piece: IndexPiece = decode(PIECE_MAGIC, "index piece", bytes)?;
        check_build("index piece", &piece.build)?;
        Ok(piece)
    }

    /// Rows to index.
    pub fn rows(&self) -> u64 {
        self.files.iter().map(|(f, _)| f.record_count).sum()
    }

    /// Bytes of the data files to read.
    pub fn size_bytes(&self) -> u64 {
        self.files.iter().map(|(f, _)| f.size).sum()
    }

    /// Reads the files, builds the segment and stores it; nothing refers to it yet.
    pub async fn build(&self, environment: &Environment) -> Result<SegmentMessage> {
        let storage = environment.storage();
        let root = storage.resolve(&self.overlay_location)?;
        let files = storage.open(&[storage.resolve(&self.table_location)?, root.clone()]);
        let schema = crate::iceberg::schema::Schema::from_json(&self.schema)?;
        let context = ReadContext::new(
            environment,
            files.clone(),
            schema,
            None,
            self.name_mapping.as_deref(),
        )?;
        let (blobs, vector_lengths) = self.build_blobs(&context).await?;
        let header = SegmentHeader {
            definition: self.definition.clone(),
            table_uuid: self.table_uuid.clone(),
            files: self.covered()?,
        };
        let written = tokio::task::spawn_blocking(move || segment::write(&header, blobs))
            .await
            .map_err(|e| Error::internal(format!("the build failed: {e}")))??;
        OverlayStore::new(files, root, self.table_uuid.clone())
            .put_segment(&written)
            .await?;
        let length = u64::try_from(written.data.len())
            .map_err(|_| Error::resource_exhausted("a segment beyond 2^64 bytes"))?;
        let segment = SegmentEntry {
            name: written.name,
            length,
            checksum: written.checksum,
            files: self.covered()?,
        };
        Ok(SegmentMessage {
            build: build_id(),
            table_uuid: self.table_uuid.clone(),
            definition: self.definition.clone(),
            segment,
            vector_lengths,
        })
    }

    fn covered(&self) -> Result<Vec<CoveredFile>> {
        let rows = |task: &FileTask| {
            u32::try_from(task.record_count).map_err(|_| {
                Error::unsupported(format!("indexing {} with more than 2^32 rows", task.path))
            })
        };
        self.files
            .iter()
            .map(|(task, identity)| {
                Ok(CoveredFile {
                    identity: identity.clone(),
                    rows: rows(task)?,
                })
            })
            .collect()
    }

    async fn build_blobs(&self, context: &ReadContext) -> Result<(Vec<Blob>, Vec<usize>)> {
        let fields = self
            .definition
            .columns
            .iter()
            .map(|id| crate::table::output_field(&context.table_schema, *id))
            .collect::<Result<Vec<_>>>()?;
        let mut builder: Box<dyn IndexBuilder> =
            index::kind(&self.definition.kind)?.builder(&self.definition, &fields)?;
        for (task, _) in &self.files {
            let read = FileRead {
                task: Arc::new(task.clone()),
                columns: self.definition.columns.clone().into(),
                predicate: None,
                rows: None,
                apply_deletes: false,
            };
            let mut batches = context.read(read).await?;
            while let Some(batch) = batches.try_next().await? {
                builder.add(&batch)?;
                tokio::task::yield_now().await;
            }
        }
        let stop = StopOnDrop::default();
        builder.stop_on(Arc::clone(&stop.0));
        let lengths = builder.vector_lengths();
        let blobs = tokio::task::spawn_blocking(move || builder.finish())
            .await
            .map_err(|e| Error::internal(format!("the build failed: {e}")))??;
        Ok((blobs, lengths))
    }
}

/// Ends the work of a thread whose result nobody waits for any more.
#[derive(Default)]
struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl SegmentMessage {
    /// The opaque bytes that may leave the process.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        encode(MESSAGE_MAGIC, self)
    }

    /// Reads what `to_bytes` of the same build wrote. Errors: InvalidInput.
    pub fn from_bytes(bytes: &[u8]) -> Result<SegmentMessage> {
        let message: SegmentMessage = decode(MESSAGE_MAGIC, "segment message", bytes)?;
        check_build("segment message", &message.build)?;
        Ok(message)
    }
}

impl Table {
    /// Which pieces an index lacks for the pinned snapshot; at least `parallelism` where there are so many files.
    pub async fn plan_index_build(&self, name: &str, parallelism: usize) -> Result<IndexBuildPlan> {
        let manifest = self.overlay().manifest().await?;
        let Some(entry) = manifest.index(name) else {
            return Err(self.missing_index(name).await?);
        };
        let definition = entry.definition.clone();
        let files: Vec<LiveFile> = live_files(self)
            .await?
            .into_iter()
            .map(|(f, _)| f)
            .filter(|f| f.task.record_count > 0)
            .collect();
        let identities: Vec<_> = files.iter().map(|f| f.identity.clone()).collect();
        let uncovered = manifest.coverage(name, &identities).uncovered;
        let mut lacking: Vec<LiveFile> = uncovered
            .into_iter()
            .filter_map(|i| files.get(i).cloned())
            .collect();
        // Segment rows break ties between equal scores, so they follow the order that searches promise.
        lacking.sort_by(|a, b| {
            (a.task.data_sequence_number, &a.task.path)
                .cmp(&(b.task.data_sequence_number, &b.task.path))
        });
        let total: u64 = lacking.iter().map(|f| f.task.record_count).sum();
        let share = total.div_ceil(u64::try_from(parallelism.max(1)).unwrap_or(1));
        let pieces = cut(lacking, share.clamp(1, PIECE_ROWS));
        Ok(IndexBuildPlan {
            pieces: pieces
                .into_iter()
                .map(|files| self.piece(&definition, files))
                .collect::<Result<_>>()?,
            definition,
        })
    }

    fn piece(&self, definition: &IndexDefinition, files: Vec<LiveFile>) -> Result<IndexPiece> {
        let bare = |f: LiveFile| {
            (
                FileTask {
                    deletes: Vec::new(),
                    ..f.task
                },
                f.identity,
            )
        };
        Ok(IndexPiece {
            build: build_id(),
            definition: definition.clone(),
            table_uuid: self.uuid().to_string(),
            table_location: self.location().to_string(),
            overlay_location: self.overlay().root().to_string(),
            schema: self.schema()?.to_json(),
            name_mapping: self.name_mapping().map(str::to_owned),
            files: files.into_iter().map(bare).collect(),
        })
    }

    /// Publishes built segments in one step. The first vectors that an index takes fix the dimension of their column
    /// if they have but one. Errors: Conflict if the index was dropped or defined anew meanwhile.
    pub async fn commit_index(&self, messages: &[SegmentMessage]) -> Result<()> {
        let mut changes = Vec::new();
        let dimension = self.dimension_to_declare(messages).await?;
        for message in messages {
            if message.table_uuid != self.uuid() {
                return Err(Error::invalid_input(format!(
                    "a segment message belongs to table {}, not to {}",
                    message.table_uuid,
                    self.uuid()
                )));
            }
            changes.push(OverlayChange::AddSegments {
                definition: message.definition.clone(),
                segments: vec![message.segment.clone()],
            });
        }
        changes.extend(self.snapshot_id().map(OverlayChange::Synced));
        self.overlay().publish(&changes).await?;
        if let Some((column, dimension)) = dimension {
            self.declare_dimension(&column, dimension).await;
        }
        Ok(())
    }

    /// The column and the dimension that the first vectors of an index fix; none where they have several lengths, the
    /// table declares one, or takes no commits.
    async fn dimension_to_declare(
        &self,
        messages: &[SegmentMessage],
    ) -> Result<Option<(String, usize)>> {
        let lengths: BTreeSet<usize> = messages
            .iter()
            .flat_map(|message| message.vector_lengths.iter().copied())
            .collect();
        let (Some(message), Some(length), 1) = (messages.first(), lengths.first(), lengths.len())
        else {
            return Ok(None);
        };
        let definition = &message.definition;
        let column = definition.columns.first();
        let Some(field) = column.and_then(|id| self.schema().ok()?.field(*id)) else {
            return Ok(None);
        };
        if self.check_writable().is_err() || !matches!(self.dimension(&field.name), Ok(None)) {
            return Ok(None);
        }
        let manifest = self.overlay().manifest().await?;
        let known = manifest.index(&definition.name);
        let first = known.is_none_or(|entry| entry.segments.is_empty());
        Ok(first.then(|| (field.name.clone(), *length)))
    }

    /// Declares the dimension of a column. Many commits at once may leave it undeclared: searches answer without it.
    async fn declare_dimension(&self, column: &str, dimension: usize) {
        let declared = [(dimension_property(column), dimension.to_string())];
        let newest = self.refresh().await;
        let set = async { newest?.set_properties(&declared, &[]).await };
        if let Err(error) = set.await {
            telemetry::warn(&format!(
                "the dimension of column {column} of table {} was not declared: {error}",
                self.name()
            ));
        }
    }

    /// Builds what one index, or every index, lacks for the newest snapshot. Returns how many files were indexed.
    pub async fn refresh_index(&self, name: Option<&str>) -> Result<u64> {
        let table = self.refresh().await?;
        let names = match name {
            Some(name) => vec![name.to_string()],
            None => table
                .overlay()
                .manifest()
                .await?
                .indexes
                .iter()
                .map(|e| e.definition.name.clone())
                .collect(),
        };
        let mut count = 0;
        for name in names {
            let plan = table.plan_index_build(&name, 1).await?;
            let mut messages = Vec::new();
            for piece in &plan.pieces {
                count += piece.files.len() as u64;
                messages.push(piece.build(table.environment()).await?);
            }
            if !messages.is_empty() {
                table.commit_index(&messages).await?;
            }
        }
        Ok(count)
    }

    /// Where the overlay lies.
    pub fn overlay_location(&self) -> &Location {
        self.overlay().root()
    }
}

fn cut(files: Vec<LiveFile>, rows_max: u64) -> Vec<Vec<LiveFile>> {
    let mut pieces: Vec<Vec<LiveFile>> = Vec::new();
    let mut rows = 0;
    for file in files {
        let full = rows + file.task.record_count > rows_max;
        match pieces.last_mut() {
            Some(piece) if !full => piece.push(file.clone()),
            _ => {
                rows = 0;
                pieces.push(vec![file.clone()]);
            }
        }
        rows += file.task.record_count;
    }
    pieces
}
