//! The overlay of one table as files: its newest manifest, its segments, and publication by
//! put-if-absent. Whatever is wrong here costs time, never rows: a reader that cannot use the overlay
//! says why and scans.

use std::sync::Arc;

use bytes::Bytes;

use super::environment::Environment;
use super::split::SegmentRef;
use crate::error::{Error, ErrorKind, Result};
use crate::index::overlay::{OverlayChange, OverlayManifest, ParsedOverlay, SegmentEntry};
use crate::index::segment::{self, SegmentReader};
use crate::index::{self, IndexDefinition, OpenIndex};
use crate::storage::{Confined, Location, PutOutcome, ReadStore};

/// Publication attempts before a Conflict is given up.
const PUBLISH_ATTEMPTS: usize = 20;
/// An overlay manifest larger than this is not read.
const MAX_MANIFEST_BYTES: u64 = 256 << 20;
/// A segment larger than this is not opened.
const MAX_SEGMENT_BYTES: u64 = 16 << 30;

/// Where a table's overlay lies.
#[derive(Clone)]
pub(crate) struct OverlayStore {
    files: Confined,
    root: Location,
    table_uuid: String,
}

/// What a reader found.
#[derive(Clone, Default)]
pub(crate) struct OverlayView {
    pub(crate) manifest: Option<Arc<OverlayManifest>>,
    pub(crate) warnings: Vec<String>,
}

impl OverlayStore {
    pub(crate) fn new(files: Confined, root: Location, table_uuid: String) -> Self {
        OverlayStore {
            files,
            root,
            table_uuid,
        }
    }

    pub(crate) fn root(&self) -> &Location {
        &self.root
    }

    /// The newest manifest for a query; damage becomes a warning and "no overlay".
    pub(crate) async fn view(&self) -> OverlayView {
        match self.newest().await {
            Ok((_, Some(manifest))) => OverlayView {
                manifest: Some(Arc::new(manifest)),
                warnings: Vec::new(),
            },
            Ok((_, None)) => OverlayView::default(),
            Err(error) => OverlayView {
                manifest: None,
                warnings: vec![format!("the overlay is not used: {error}")],
            },
        }
    }

    /// The newest version number (0: none) and its manifest. Errors: Corrupt, or Unsupported for a newer format.
    async fn newest(&self) -> Result<(u64, Option<OverlayManifest>)> {
        let listed = match self.files.reader().list(&self.root).await {
            Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
            other => other?,
        };
        let newest = listed
            .iter()
            .filter_map(|(location, _)| version_of(location))
            .max();
        let Some(version) = newest else {
            return Ok((0, None));
        };
        let location = self.manifest_location(version)?;
        let reader = self.files.reader();
        let bytes = reader.get_limited(&location, MAX_MANIFEST_BYTES).await?;
        match OverlayManifest::parse(&bytes).map_err(|e| e.with("file", &location))? {
            ParsedOverlay::Known(manifest) if manifest.table_uuid == self.table_uuid => {
                Ok((version, Some(manifest)))
            }
            ParsedOverlay::Known(manifest) => Err(Error::corrupt(format!(
                "{location} belongs to table {}, this table is {}",
                manifest.table_uuid, self.table_uuid
            ))),
            ParsedOverlay::UnknownVersion(format) => Err(Error::unsupported(format!(
                "{location} has overlay format {format}, this build knows format {}",
                index::overlay::FORMAT_VERSION
            ))),
        }
    }

    fn manifest_location(&self, version: u64) -> Result<Location> {
        self.root.join(&format!("manifest-{version}.json"))
    }

    /// The manifest as a writer must see it: errors instead of warnings.
    pub(crate) async fn manifest(&self) -> Result<OverlayManifest> {
        Ok(self
            .newest()
            .await?
            .1
            .unwrap_or_else(|| OverlayManifest::new(&self.table_uuid)))
    }

    /// Publishes changes on top of whatever is newest. Errors: those of the changes; Conflict after many lost races.
    pub(crate) async fn publish(&self, changes: &[OverlayChange]) -> Result<OverlayManifest> {
        for _ in 0..PUBLISH_ATTEMPTS {
            let (version, found) = self.newest().await?;
            let mut manifest = found.unwrap_or_else(|| OverlayManifest::new(&self.table_uuid));
            for change in changes {
                manifest = manifest.apply(change, crate::clock::now_ms())?;
            }
            let bytes = Bytes::from(manifest.to_bytes()?);
            let location = self.manifest_location(version + 1)?;
            if let PutOutcome::Created = self.files.put_if_absent(&location, bytes.clone()).await? {
                // A convenience for people who look at the folder; nothing reads it.
                let _ = self
                    .files
                    .put(&self.root.join("manifest.json")?, bytes)
                    .await;
                return Ok(manifest);
            }
        }
        Err(Error::conflict(format!(
            "the overlay {} changed {PUBLISH_ATTEMPTS} times while publishing",
            self.root
        )))
    }

    /// Stores a segment under its content name. The same content twice is one file.
    pub(crate) async fn put_segment(&self, written: &segment::WrittenSegment) -> Result<()> {
        let location = self.root.join(&written.name)?;
        self.files
            .put_if_absent(&location, written.data.clone())
            .await?;
        Ok(())
    }

    /// The reference that a split may carry.
    pub(crate) fn segment_ref(
        &self,
        definition: &IndexDefinition,
        entry: &SegmentEntry,
    ) -> Result<SegmentRef> {
        let rows = entry
            .files
            .iter()
            .try_fold(0u32, |sum, f| sum.checked_add(f.rows));
        Ok(SegmentRef {
            location: self.root.join(&entry.name)?.to_string(),
            length: entry.length,
            checksum: entry.checksum.clone(),
            rows: rows.ok_or_else(|| {
                Error::corrupt(format!("segment {} holds more than 2^32 rows", entry.name))
            })?,
            definition: definition.clone(),
        })
    }
}

fn version_of(location: &Location) -> Option<u64> {
    location
        .name()
        .strip_prefix("manifest-")?
        .strip_suffix(".json")?
        .parse()
        .ok()
}

/// Opens a segment, or takes it from the cache. Any error means: not covered.
pub(crate) async fn open_segment(
    environment: &Environment,
    store: &ReadStore,
    files: &Confined,
    reference: &SegmentRef,
) -> Result<OpenIndex> {
    let key = format!("{}:{}", reference.checksum, reference.definition.name);
    if let Some(open) = environment.segments().get(&key) {
        return Ok(open);
    }
    let location = files.resolve(&reference.location)?;
    let open = load_segment(store, &location, reference)
        .await
        .map_err(|e| e.with("segment", &location))?;
    environment.segments().put(
        key,
        open.clone(),
        usize::try_from(reference.length).unwrap_or(usize::MAX),
    );
    Ok(open)
}

async fn load_segment(
    store: &ReadStore,
    location: &Location,
    reference: &SegmentRef,
) -> Result<OpenIndex> {
    let size = store.head(location).await?;
    if size != reference.length || size > MAX_SEGMENT_BYTES {
        return Err(Error::corrupt(format!(
            "the segment has {size} bytes, the overlay says {}",
            reference.length
        )));
    }
    let data = store.get(location).await?;
    let reference = reference.clone();
    tokio::task::spawn_blocking(move || {
        if segment::checksum(&data) != reference.checksum {
            return Err(Error::corrupt(
                "the segment's checksum differs from the overlay's",
            ));
        }
        let reader = SegmentReader::open(data)?;
        if reader.header().definition != reference.definition
            || reader.layout()?.rows() != reference.rows
        {
            return Err(Error::corrupt("the segment belongs to another index"));
        }
        index::kind(&reference.definition.kind)?.open(
            &reference.definition,
            &reader.blobs()?,
            reference.rows,
        )
    })
    .await
    .map_err(|e| Error::corrupt(format!("the segment could not be opened: {e}")))?
}
