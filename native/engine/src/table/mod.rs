//! Tables: one pinned snapshot of one table, its scans, its writers and the only place that commits.
//! Invariants: only `commit` publishes (L3); a table value never changes its snapshot (L9); all paths go
//! through the confined store (L7). Knows no SQL and no engine.

mod cache;
mod columns;
mod commit;
mod deletes;
mod environment;
mod file;
mod history;
mod lifecycle;
mod metadata;
mod overlay;
mod plan;
mod read;
mod request;
mod split;
mod writer;

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use bytes::Bytes;

pub use commit::{CommitOperation, CommitOutcome, CommitRequest};
pub use environment::Environment;
pub use history::{
    AppendedFile, AsOf, CHANGE_ORDINAL, CHANGE_TYPE, COMMIT_SNAPSHOT_ID, Change, ChangeKind,
    FileWindow, RangeRows, SnapshotRange,
};
pub use metadata::{MetadataKind, MetadataTable};
pub use read::{BATCH_ROWS, Batches, SEQUENCE};
pub use request::{
    MAX_K, Metric, NullDistance, ScanPlan, ScanReport, ScanRequest, SearchMode, SearchRequest,
    TextSearch, VectorSearch,
};
pub use split::{
    DeleteKind, DeleteRef, FileTask, MetadataScope, RowSet, SearchPlan, SegmentPlace, SegmentRef,
    Split, SplitScope, TextPlan, build_id,
};
pub use writer::{CommitMessage, TableWriter};

pub(crate) use deletes::DeletedRows;
pub(crate) use metadata::open_split as open_metadata;
pub(crate) use overlay::{OverlayStore, OverlayView, open_segment};
pub use plan::ColumnStatistics;
pub(crate) use plan::{LiveFile, PlannedFiles, group, live_files, plan_files};
pub(crate) use read::{FileRead, ReadContext, output_field, output_schema, read_all, row_schema};
pub(crate) use split::{check_build, decode, encode};

use crate::catalog::{TableHead, TableRef};
use crate::error::{Error, Result};
use crate::iceberg::document::{Document, NAME_MAPPING};
use crate::iceberg::manifest::{Entry, ManifestFile, read_manifest, read_manifest_list};
use crate::iceberg::schema::Schema;
use crate::iceberg::snapshot::Snapshot;
use crate::storage::{Confined, Location};

/// The property that holds a vector column's dimension.
pub fn dimension_property(column: &str) -> String {
    format!("benostream.vector.{column}.dimension")
}

/// A manifest, or a list of them, larger than this is not read.
const MANIFEST_BYTES_MAX: u64 = 512 << 20;

/// The property that names another folder of the table for its indexes.
const OVERLAY_PROPERTY: &str = "benostream.overlay.location";

/// A table pinned to the snapshot that was newest when it was loaded, or to an older one.
#[derive(Clone)]
pub struct Table {
    environment: Environment,
    reference: TableRef,
    head: Arc<TableHead>,
    document: Arc<Document>,
    pin: Option<history::Pin>,
    arrow_schema: SchemaRef,
    files: Confined,
    overlay: OverlayStore,
}

impl std::fmt::Debug for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Table({} at {:?})", self.reference, self.snapshot_id())
    }
}

impl Table {
    /// Loads the newest state. Errors: NotFound, Corrupt, Unsupported, each naming the table or file.
    pub async fn load(environment: &Environment, reference: &TableRef) -> Result<Table> {
        let head = environment.catalog().load(reference).await?;
        Table::from_head(environment, reference, head)
    }

    fn from_head(
        environment: &Environment,
        reference: &TableRef,
        head: TableHead,
    ) -> Result<Table> {
        let document =
            Document::parse(&head.metadata).map_err(|e| e.with("file", &head.metadata_location))?;
        let schema = document
            .current_schema()
            .map_err(|e| e.with("file", &head.metadata_location))?;
        let arrow_schema = Arc::new(schema.to_arrow()?);
        let files = environment
            .storage()
            .open(std::slice::from_ref(&head.location));
        let overlay_root = overlay_location(environment, &head.location, &document)?;
        let uuid = document.table_uuid().unwrap_or_default().to_string();
        let overlay = OverlayStore::new(files.clone(), overlay_root, uuid);
        Ok(Table {
            environment: environment.clone(),
            reference: reference.clone(),
            head: Arc::new(head),
            document: Arc::new(document),
            pin: None,
            arrow_schema,
            files,
            overlay,
        })
    }

    /// The table at its newest snapshot. Errors: Conflict where another table has taken its place.
    pub async fn refresh(&self) -> Result<Table> {
        let newest = Table::load(&self.environment, &self.reference).await?;
        let (was, is) = (self.document.table_uuid(), newest.document.table_uuid());
        if was.is_some() && was != is {
            return Err(Error::conflict(format!(
                "table {} was dropped and created again since it was opened: its uuid was {}, now it is {}; open it anew",
                self.name(),
                was.unwrap_or_default(),
                is.unwrap_or("missing")
            )));
        }
        Ok(newest)
    }

    /// The name or location it was opened by.
    pub fn name(&self) -> String {
        self.reference.to_string()
    }

    /// How the table was named.
    pub fn reference(&self) -> &TableRef {
        &self.reference
    }

    /// Where the table lies.
    pub fn location(&self) -> &Location {
        &self.head.location
    }

    /// The metadata document.
    pub fn document(&self) -> &Document {
        &self.document
    }

    /// The metadata file.
    pub fn metadata_location(&self) -> &Location {
        &self.head.metadata_location
    }

    /// The table's UUID.
    pub fn uuid(&self) -> &str {
        self.document.table_uuid().unwrap_or_default()
    }

    /// The schema of the rows: the current one, or that of an older snapshot.
    pub fn schema(&self) -> Result<&Schema> {
        match &self.pin {
            Some(pin) => pin.schema(&self.document),
            None => self.document.current_schema(),
        }
    }

    /// The schema in Arrow's normal form, with field ids.
    pub fn arrow_schema(&self) -> &SchemaRef {
        &self.arrow_schema
    }

    /// The pinned snapshot; None for a table without one.
    pub fn snapshot_id(&self) -> Option<i64> {
        self.snapshot().map(|s| s.snapshot_id)
    }

    /// The pinned snapshot.
    pub fn snapshot(&self) -> Option<&Snapshot> {
        match &self.pin {
            Some(pin) => pin.snapshot(&self.document),
            None => self.document.current_snapshot(),
        }
    }

    /// The table's properties.
    pub fn properties(&self) -> &BTreeMap<String, String> {
        self.document.properties()
    }

    /// The declared dimension of a vector column. Errors: Corrupt for a property that is no number.
    pub fn dimension(&self, column: &str) -> Result<Option<usize>> {
        let key = dimension_property(column);
        let Some(text) = self.properties().get(&key) else {
            return Ok(None);
        };
        text.parse()
            .map(Some)
            .map_err(|_| Error::corrupt(format!("table property {key} is '{text}', not a number")))
    }

    /// The session's shared parts.
    pub fn environment(&self) -> &Environment {
        &self.environment
    }

    pub(crate) fn files(&self) -> &Confined {
        &self.files
    }

    pub(crate) fn overlay(&self) -> &OverlayStore {
        &self.overlay
    }

    pub(crate) fn head(&self) -> &Arc<TableHead> {
        &self.head
    }

    /// The manifests of the pinned snapshot.
    pub(crate) async fn manifests(&self) -> Result<Vec<ManifestFile>> {
        let Some(snapshot) = self.snapshot() else {
            return Ok(Vec::new());
        };
        let Some(list) = &snapshot.manifest_list else {
            // The oldest V1 tables name their manifests in the snapshot itself.
            return Ok(snapshot
                .manifests
                .iter()
                .map(|path| ManifestFile::from_path(path, snapshot.snapshot_id))
                .collect());
        };
        let location = self.files.resolve(list)?;
        let cache = self.environment.manifest_lists();
        if let Some(manifests) = cache.get(&location) {
            return Ok(manifests.to_vec());
        }
        let bytes = self.manifest_bytes(&location).await?;
        let manifests = read_manifest_list(&bytes).map_err(|e| e.with("file", &location))?;
        let size = manifests.iter().map(ManifestFile::memory_bytes).sum();
        cache.put(location, manifests.as_slice().into(), size);
        Ok(manifests)
    }

    /// The entries of one manifest, sequence numbers inherited.
    pub(crate) async fn manifest_entries(&self, manifest: &ManifestFile) -> Result<Vec<Entry>> {
        let location = self.files.resolve(&manifest.path)?;
        let bytes = self.manifest_bytes(&location).await?;
        read_manifest(&bytes, manifest).map_err(|e| e.with("file", &location))
    }

    /// A manifest or a list of them.
    pub(crate) async fn manifest_bytes(&self, location: &Location) -> Result<Bytes> {
        let reader = self.files.reader();
        reader.get_limited(location, MANIFEST_BYTES_MAX).await
    }

    /// All live entries of the pinned snapshot, data and deletes. Errors: Unsupported for what cannot be read yet.
    pub(crate) async fn entries(&self) -> Result<Vec<Entry>> {
        Ok(self.live_entries(None).await?.0)
    }

    /// What reads of these files of the table share.
    pub(crate) fn read_context<'a>(
        &self,
        files: impl IntoIterator<Item = &'a FileTask>,
    ) -> Result<ReadContext> {
        let mut context = ReadContext::new(
            &self.environment,
            self.files.clone(),
            self.schema()?.clone(),
            None,
            self.name_mapping(),
        )?;
        context.deletes = Arc::new(DeletedRows::of_files(files));
        Ok(context)
    }

    /// The ids of columns in files that hold none, as the table's property gives them.
    pub(crate) fn name_mapping(&self) -> Option<&str> {
        self.properties().get(NAME_MAPPING).map(String::as_str)
    }
}

/// Where the indexes lie. Metadata may come from anybody, so it cannot open a place outside the table (law L7).
fn overlay_location(
    environment: &Environment,
    location: &Location,
    document: &Document,
) -> Result<Location> {
    let Some(text) = document.properties().get(OVERLAY_PROPERTY) else {
        return location.join("_overlay");
    };
    let overlay = environment.storage().resolve(text)?;
    match overlay.relative_to(location) {
        Some(inside) if inside.starts_with('_') => Ok(overlay),
        _ => Err(Error::permission_denied(format!(
            "the property {OVERLAY_PROPERTY} of table {location} names {overlay}, which is no folder of the table that starts with _"
        ))),
    }
}
