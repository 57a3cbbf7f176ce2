//! The overlay's root document, `_overlay/manifest-<N>.json`: index definitions, the live segments of each, the
//! last synced snapshot. Pure: parse, cover, change, encode. A file counts as covered only where its whole
//! identity is equal, so a stale or foreign document can cost time but never rows; a checksum at the document's end
//! keeps a damaged one from naming the wrong files. Opens no store.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::{Deserialize, Serialize};

use xxhash_rust::xxh3::xxh3_64;

use super::IndexDefinition;
use super::segment::CoveredFile;
use crate::error::{Error, Result};

/// The only format version of the document there is.
pub const FORMAT_VERSION: u64 = 1;
/// What follows the checksum's digits, which stand last in the document.
const CHECKSUM_END: &str = "\"\n}";
const CHECKSUM_DIGITS: usize = 16;

/// Which bytes a data file holds, from the manifests alone. Holds no root, so that a copied overlay still works.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct FileIdentity {
    /// Relative to the table's location, or absolute when outside; see `identity_path`.
    pub path: String,
    /// Length in bytes.
    pub size: u64,
    /// Rows by the manifest.
    pub record_count: u64,
    /// Data sequence number, after inheritance.
    pub data_sequence_number: i64,
    /// File sequence number, after inheritance.
    pub file_sequence_number: i64,
}

/// A data file's path as its identity holds it: below `table_location` the part after its slash, else the
/// path with one spelling per scheme (`file:/a`, `file:///a` and `/a` are one, as are s3, s3a and s3n).
pub fn identity_path(table_location: &str, path: &str) -> String {
    let root = one_spelling(table_location);
    let root = root.trim_end_matches('/');
    let path = one_spelling(path);
    match path
        .strip_prefix(root)
        .and_then(|rest| rest.strip_prefix('/'))
    {
        Some(rest) if !rest.is_empty() && !rest.starts_with('/') && !rest.contains("://") => {
            rest.to_owned()
        }
        _ => path,
    }
}

fn one_spelling(path: &str) -> String {
    if let Some(rest) = path.strip_prefix("file:") {
        return format!("/{}", rest.trim_start_matches('/'));
    }
    for scheme in ["s3a://", "s3n://"] {
        if let Some(rest) = path.strip_prefix(scheme) {
            return format!("s3://{rest}");
        }
    }
    path.to_owned()
}

/// One live segment of an index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct SegmentEntry {
    /// File name below the overlay.
    pub name: String,
    /// Length in bytes.
    pub length: u64,
    /// Checksum of the whole file (`segment::checksum`).
    pub checksum: String,
    /// The files covered, in the order of their row ids.
    pub files: Vec<CoveredFile>,
}

/// An index and its live segments.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct IndexEntry {
    /// What was asked for.
    pub definition: IndexDefinition,
    /// In publication order.
    pub segments: Vec<SegmentEntry>,
}

/// A segment file that no index refers to any more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Tombstone {
    /// File name below the overlay.
    pub name: String,
    /// When it was replaced, in milliseconds since 1970 by the store's clock.
    pub replaced_at_ms: i64,
}

/// The document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct OverlayManifest {
    format_version: u64,
    /// The table's UUID; an overlay of another table covers nothing.
    pub table_uuid: String,
    /// The newest snapshot whose files were all looked at; None before the first sync.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub synced_snapshot_id: Option<i64>,
    /// The indexes, ordered by name.
    #[serde(default)]
    pub indexes: Vec<IndexEntry>,
    /// Segment files that wait for their removal.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tombstones: Vec<Tombstone>,
}

/// What parsing a document gave.
#[derive(Clone, Debug, PartialEq)]
pub enum ParsedOverlay {
    /// A document of a known version.
    Known(OverlayManifest),
    /// Written by a newer build: read as no overlay and with a warning, never overwritten.
    UnknownVersion(u64),
}

/// What an index covers of a snapshot.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Coverage {
    /// The segments to probe; each live file appears in at most one of them.
    pub segments: Vec<SegmentUse>,
    /// Positions in the live list of the files to scan.
    pub uncovered: Vec<usize>,
}

/// A segment to probe, and which of its rows count.
#[derive(Clone, Debug, PartialEq)]
pub struct SegmentUse {
    /// The segment.
    pub segment: SegmentEntry,
    /// Per file of the segment: its position in the live list, or None where its rows must be masked.
    pub live_files: Vec<Option<usize>>,
}

/// A change of the document that can be applied again to whatever a concurrent publisher left.
#[derive(Clone, Debug, PartialEq)]
pub enum OverlayChange {
    /// Defines an index without segments.
    AddIndex(IndexDefinition),
    /// Removes an index by name.
    DropIndex(String),
    /// Adds segments built for exactly this definition.
    AddSegments {
        /// The definition they were built for.
        definition: IndexDefinition,
        /// The segments; one that is there already is skipped.
        segments: Vec<SegmentEntry>,
    },
    /// Replaces segments by others that cover at least what the queries need of them.
    ReplaceSegments {
        /// The definition they were built for.
        definition: IndexDefinition,
        /// Names of the segments that go.
        removed: Vec<String>,
        /// The segments that come.
        added: Vec<SegmentEntry>,
    },
    /// Records that all files of a snapshot were looked at.
    Synced(i64),
    /// Forgets tombstones, before their files are removed.
    ForgetTombstones(Vec<String>),
}

impl OverlayManifest {
    /// An overlay without indexes.
    pub fn new(table_uuid: impl Into<String>) -> OverlayManifest {
        OverlayManifest {
            format_version: FORMAT_VERSION,
            table_uuid: table_uuid.into(),
            synced_snapshot_id: None,
            indexes: Vec::new(),
            tombstones: Vec::new(),
        }
    }

    /// Reads a document. Errors: Corrupt for anything that is not one.
    pub fn parse(data: &[u8]) -> Result<ParsedOverlay> {
        #[derive(Deserialize)]
        #[serde(rename_all = "kebab-case")]
        struct Version {
            format_version: u64,
        }
        let damaged =
            |e: serde_json::Error| Error::corrupt("overlay manifest is not valid").caused_by(e);
        let version = serde_json::from_slice::<Version>(data)
            .map_err(damaged)?
            .format_version;
        if version != FORMAT_VERSION {
            return Ok(ParsedOverlay::UnknownVersion(version));
        }
        check_document(data)?;
        let manifest: OverlayManifest = serde_json::from_slice(data).map_err(damaged)?;
        let mut names = HashSet::new();
        for entry in &manifest.indexes {
            if !names.insert(&entry.definition.name) {
                return Err(Error::corrupt(format!(
                    "overlay manifest defines index {} twice",
                    entry.definition.name
                )));
            }
            entry.segments.iter().try_for_each(check_segment_name)?;
        }
        Ok(ParsedOverlay::Known(manifest))
    }

    /// The document's bytes; equal documents give equal bytes.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        #[derive(Serialize)]
        #[serde(rename_all = "kebab-case")]
        struct Document<'a> {
            #[serde(flatten)]
            manifest: &'a OverlayManifest,
            document_xxh3: &'a str,
        }
        let document = Document {
            manifest: self,
            document_xxh3: "",
        };
        let mut data = serde_json::to_vec_pretty(&document)
            .map_err(|e| Error::internal("cannot encode an overlay manifest").caused_by(e))?;
        data.truncate(data.len().saturating_sub(CHECKSUM_END.len()));
        let checksum = format!("{:016x}{CHECKSUM_END}", xxh3_64(&data));
        data.extend_from_slice(checksum.as_bytes());
        Ok(data)
    }

    /// The index of this name.
    pub fn index(&self, name: &str) -> Option<&IndexEntry> {
        self.indexes
            .iter()
            .find(|entry| entry.definition.name == name)
    }

    /// Which segments of an index answer for which live files, and which files remain. Deterministic; a file
    /// that several segments cover goes to the one that covers most. An unknown index covers nothing.
    pub fn coverage(&self, index_name: &str, live: &[FileIdentity]) -> Coverage {
        let mut open: HashMap<&FileIdentity, usize> = HashMap::with_capacity(live.len());
        for (position, identity) in live.iter().enumerate() {
            open.entry(identity).or_insert(position);
        }
        let segments = self
            .index(index_name)
            .map(|entry| entry.segments.as_slice())
            .unwrap_or_default();
        let mut ranked: Vec<(usize, &SegmentEntry)> = segments
            .iter()
            .map(|segment| {
                (
                    segment
                        .files
                        .iter()
                        .filter(|file| open.contains_key(&file.identity))
                        .count(),
                    segment,
                )
            })
            .collect();
        ranked.sort_by(|(a_count, a), (b_count, b)| {
            b_count.cmp(a_count).then_with(|| a.name.cmp(&b.name))
        });
        let mut coverage = Coverage::default();
        let mut covered = vec![false; live.len()];
        for (_, segment) in ranked {
            let live_files: Vec<Option<usize>> = segment
                .files
                .iter()
                .map(|file| open.remove(&file.identity))
                .collect();
            for position in live_files.iter().flatten() {
                if let Some(flag) = covered.get_mut(*position) {
                    *flag = true;
                }
            }
            if live_files.iter().any(Option::is_some) {
                coverage.segments.push(SegmentUse {
                    segment: segment.clone(),
                    live_files,
                });
            }
        }
        coverage.uncovered = covered
            .iter()
            .enumerate()
            .filter(|(_, covered)| !**covered)
            .map(|(position, _)| position)
            .collect();
        coverage
    }

    /// The document after a change, to be published as the next version. When somebody else published first, apply
    /// the same change to theirs. Errors: AlreadyExists, NotFound, or Conflict where the change has lost its ground.
    pub fn apply(&self, change: &OverlayChange, now_ms: i64) -> Result<OverlayManifest> {
        let mut next = self.clone();
        match change {
            OverlayChange::AddIndex(definition) => next.add_index(definition)?,
            OverlayChange::DropIndex(name) => {
                let position = next.position(name)?;
                next.indexes.remove(position);
            }
            OverlayChange::AddSegments {
                definition,
                segments,
            } => next.replace_segments(definition, &[], segments)?,
            OverlayChange::ReplaceSegments {
                definition,
                removed,
                added,
            } => next.replace_segments(definition, removed, added)?,
            OverlayChange::Synced(snapshot_id) => next.synced_snapshot_id = Some(*snapshot_id),
            OverlayChange::ForgetTombstones(names) => next
                .tombstones
                .retain(|tombstone| !names.contains(&tombstone.name)),
        }
        next.bury(self, now_ms);
        Ok(next)
    }

    fn add_index(&mut self, definition: &IndexDefinition) -> Result<()> {
        match self
            .indexes
            .binary_search_by(|entry| entry.definition.name.cmp(&definition.name))
        {
            Ok(_) => Err(Error::already_exists(format!(
                "index {} exists already",
                definition.name
            ))),
            Err(position) => {
                self.indexes.insert(
                    position,
                    IndexEntry {
                        definition: definition.clone(),
                        segments: Vec::new(),
                    },
                );
                Ok(())
            }
        }
    }

    fn position(&self, name: &str) -> Result<usize> {
        self.indexes
            .iter()
            .position(|entry| entry.definition.name == name)
            .ok_or_else(|| Error::not_found(format!("index {name} does not exist")))
    }

    fn replace_segments(
        &mut self,
        definition: &IndexDefinition,
        removed: &[String],
        added: &[SegmentEntry],
    ) -> Result<()> {
        added.iter().try_for_each(check_segment_name)?;
        let name = &definition.name;
        let position = self.position(name)?;
        let entry = self
            .indexes
            .get_mut(position)
            .ok_or_else(|| Error::internal("index position out of range"))?;
        if entry.definition != *definition {
            return Err(Error::conflict(format!(
                "index {name} was defined anew meanwhile"
            )));
        }
        let names: HashSet<&str> = entry
            .segments
            .iter()
            .map(|segment| segment.name.as_str())
            .collect();
        if let Some(missing) = removed
            .iter()
            .find(|segment| !names.contains(segment.as_str()))
        {
            return Err(Error::conflict(format!(
                "segment {missing} of index {name} was replaced meanwhile"
            )));
        }
        entry
            .segments
            .retain(|segment| !removed.contains(&segment.name));
        for segment in added {
            if !entry
                .segments
                .iter()
                .any(|present| present.name == segment.name)
            {
                entry.segments.push(segment.clone());
            }
        }
        Ok(())
    }

    /// Keeps the tombstones equal to "was live, is not": adds what `before` held, revives what came back.
    fn bury(&mut self, before: &OverlayManifest, now_ms: i64) {
        let live: HashSet<&str> = segment_names(&self.indexes).collect();
        let mut tombstones: BTreeMap<String, i64> = self
            .tombstones
            .iter()
            .map(|t| (t.name.clone(), t.replaced_at_ms))
            .collect();
        for name in segment_names(&before.indexes) {
            tombstones.entry(name.to_owned()).or_insert(now_ms);
        }
        tombstones.retain(|name, _| !live.contains(name.as_str()));
        self.tombstones = tombstones
            .into_iter()
            .map(|(name, replaced_at_ms)| Tombstone {
                name,
                replaced_at_ms,
            })
            .collect();
    }
}

/// The checksum covers all bytes before its digits.
fn check_document(data: &[u8]) -> Result<()> {
    let digits_at = data.len().checked_sub(CHECKSUM_DIGITS + CHECKSUM_END.len());
    let split = digits_at.and_then(|at| data.split_at_checked(at));
    match split {
        Some((text, end)) if end == format!("{:016x}{CHECKSUM_END}", xxh3_64(text)).as_bytes() => {
            Ok(())
        }
        _ => Err(Error::corrupt(
            "overlay manifest does not match its checksum",
        )),
    }
}

fn segment_names(indexes: &[IndexEntry]) -> impl Iterator<Item = &str> {
    indexes
        .iter()
        .flat_map(|entry| entry.segments.iter().map(|segment| segment.name.as_str()))
}

/// A segment's name is joined to the overlay's location, so it must stay one plain file name.
fn check_segment_name(segment: &SegmentEntry) -> Result<()> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if segment.name.is_empty() || segment.name.starts_with('.') || !segment.name.chars().all(plain)
    {
        return Err(Error::corrupt(format!(
            "overlay manifest names a segment {:?}",
            segment.name
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
