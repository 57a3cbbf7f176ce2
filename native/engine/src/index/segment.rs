//! The segment envelope `.bsdb_idx`: an immutable Puffin file, named by its content, that holds the blobs of
//! one index over one or several data files and says in its footer which. Every blob and the header carry
//! a checksum, so that damaged bytes are an error and never an answer. Opens no store.

use std::collections::BTreeMap;

use bytes::Bytes;
use roaring::RoaringBitmap;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::{Xxh3, xxh3_64, xxh3_128};

use super::overlay::FileIdentity;
use super::{Blob, IndexDefinition};
use crate::error::{Error, Result};
use crate::iceberg::puffin;

/// The only format version of the envelope there is.
pub const FORMAT_VERSION: u32 = 1;
/// How segment files end.
pub const FILE_EXTENSION: &str = ".bsdb_idx";

const HEADER_KEY: &str = "benostream.segment";
const HEADER_CHECKSUM_KEY: &str = "benostream.segment-xxh3";
const BLOB_CHECKSUM_KEY: &str = "benostream.xxh3";

/// One data file that a segment covers.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct CoveredFile {
    /// Which file.
    pub identity: FileIdentity,
    /// Its physical rows, deleted ones included.
    pub rows: u32,
}

/// What a segment says about itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct SegmentHeader {
    /// The index this is a piece of.
    pub definition: IndexDefinition,
    /// The table's UUID.
    pub table_uuid: String,
    /// The files covered, in the order of their row ids.
    pub files: Vec<CoveredFile>,
}

impl SegmentHeader {
    /// How the segment's row ids map to its files. Errors: Corrupt where the rows exceed u32.
    pub fn layout(&self) -> Result<RowLayout> {
        RowLayout::new(self.files.iter().map(|f| f.rows))
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct StoredHeader {
    format_version: u32,
    #[serde(flatten)]
    header: SegmentHeader,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct StoredVersion {
    format_version: u32,
}

/// A written segment.
#[derive(Clone, Debug, PartialEq)]
pub struct WrittenSegment {
    /// File name: the hash of the bytes and the extension.
    pub name: String,
    /// Hash of the bytes, as the manifest and splits carry it.
    pub checksum: String,
    /// The file.
    pub data: Bytes,
}

/// Writes a segment: equal header and blobs give equal bytes and thus an equal name.
pub fn write(header: &SegmentHeader, blobs: Vec<Blob>) -> Result<WrittenSegment> {
    header.layout()?;
    let stored = StoredHeader {
        format_version: FORMAT_VERSION,
        header: header.clone(),
    };
    let text = serde_json::to_string(&stored)
        .map_err(|e| Error::internal("cannot encode a segment header").caused_by(e))?;
    let mut properties = BTreeMap::new();
    properties.insert(
        HEADER_CHECKSUM_KEY.to_owned(),
        format!("{:016x}", xxh3_64(text.as_bytes())),
    );
    properties.insert(HEADER_KEY.to_owned(), text);
    let blobs = blobs
        .into_iter()
        .map(|blob| puffin::NewBlob {
            properties: BTreeMap::from([(
                BLOB_CHECKSUM_KEY.to_owned(),
                blob_checksum(&blob.kind, &blob.data),
            )]),
            fields: header.definition.columns.clone(),
            kind: blob.kind,
            data: blob.data,
        })
        .collect();
    let data = Bytes::from(puffin::write(blobs, properties)?);
    let checksum = checksum(&data);
    Ok(WrittenSegment {
        name: format!("{checksum}{FILE_EXTENSION}"),
        checksum,
        data,
    })
}

/// The checksum of a whole segment file: 128 bits in hex, which is also the stem of its name.
pub fn checksum(data: &[u8]) -> String {
    format!("{:032x}", xxh3_128(data))
}

/// An opened segment.
#[derive(Clone, Debug)]
pub struct SegmentReader {
    header: SegmentHeader,
    footer: puffin::Footer,
    data: Bytes,
}

impl SegmentReader {
    /// Reads the footer and checks it. Errors: Corrupt for damaged bytes; Unsupported for a format
    /// version this build does not know. Callers treat both as "not covered".
    pub fn open(data: Bytes) -> Result<SegmentReader> {
        let footer = puffin::read_footer(&data)?;
        let property = |key: &str| {
            footer
                .properties
                .get(key)
                .ok_or_else(|| Error::corrupt(format!("segment without property {key}")))
        };
        let text = property(HEADER_KEY)?;
        if *property(HEADER_CHECKSUM_KEY)? != format!("{:016x}", xxh3_64(text.as_bytes())) {
            return Err(Error::corrupt("segment header does not match its checksum"));
        }
        let invalid =
            |e: serde_json::Error| Error::corrupt("segment header is not valid JSON").caused_by(e);
        let version = serde_json::from_str::<StoredVersion>(text)
            .map_err(invalid)?
            .format_version;
        if version != FORMAT_VERSION {
            return Err(Error::unsupported(format!(
                "segment format version {version} is not known"
            )));
        }
        let header = serde_json::from_str::<StoredHeader>(text)
            .map_err(invalid)?
            .header;
        header.layout()?;
        Ok(SegmentReader {
            header,
            footer,
            data,
        })
    }

    /// What the segment says about itself.
    pub fn header(&self) -> &SegmentHeader {
        &self.header
    }

    /// How the segment's row ids map to its files.
    pub fn layout(&self) -> Result<RowLayout> {
        self.header.layout()
    }

    /// All blobs in file order, each checked against its checksum; views of the file, nothing is copied.
    pub fn blobs(&self) -> Result<Vec<Blob>> {
        self.footer
            .blobs
            .iter()
            .map(|entry| self.blob(entry))
            .collect()
    }

    fn blob(&self, entry: &puffin::BlobMetadata) -> Result<Blob> {
        if let Some(codec) = &entry.compression_codec {
            return Err(Error::unsupported(format!(
                "segment blob compressed with {codec}"
            )));
        }
        let range = puffin::blob_range(entry)?;
        if range.end > self.data.len() {
            return Err(Error::corrupt("segment blob beyond the end of the file"));
        }
        let data = self.data.slice(range);
        if entry.properties.get(BLOB_CHECKSUM_KEY) != Some(&blob_checksum(&entry.kind, &data)) {
            return Err(Error::corrupt(format!(
                "segment blob {} does not match its checksum",
                entry.kind
            )));
        }
        Ok(Blob {
            kind: entry.kind.clone(),
            data,
        })
    }
}

/// Covers the type too: a blob under another type's name is damage.
fn blob_checksum(kind: &str, data: &[u8]) -> String {
    let mut hash = Xxh3::new();
    hash.update(kind.as_bytes());
    hash.update(&[0]);
    hash.update(data);
    format!("{:016x}", hash.digest())
}

/// How a segment's row ids `0..rows` map to (file ordinal, row in the file).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowLayout {
    /// First row id of each file, then the number of rows.
    starts: Vec<u32>,
}

impl RowLayout {
    /// The layout of files with these row counts. Errors: Corrupt where the sum exceeds u32.
    pub fn new(rows: impl IntoIterator<Item = u32>) -> Result<RowLayout> {
        let mut end = 0u32;
        let mut starts = vec![0];
        for count in rows {
            end = end
                .checked_add(count)
                .ok_or_else(|| Error::corrupt("segment covers more than 4294967295 rows"))?;
            starts.push(end);
        }
        Ok(RowLayout { starts })
    }

    /// Rows of all files.
    pub fn rows(&self) -> u32 {
        self.starts.last().copied().unwrap_or(0)
    }

    /// The number of files.
    pub fn file_count(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// The row ids of a file; empty for an ordinal out of range.
    pub fn file_rows(&self, file: usize) -> std::ops::Range<u32> {
        match (self.starts.get(file), self.starts.get(file + 1)) {
            (Some(start), Some(end)) => *start..*end,
            _ => 0..0,
        }
    }

    /// The file ordinal and row in the file of a row id; None beyond the last row.
    pub fn locate(&self, row: u32) -> Option<(usize, u32)> {
        let file = self
            .starts
            .partition_point(|start| *start <= row)
            .checked_sub(1)?;
        let range = self.file_rows(file);
        range.contains(&row).then(|| (file, row - range.start))
    }

    /// The rows of one file among segment rows, as rows in the file.
    pub fn extract(&self, file: usize, rows: &RoaringBitmap) -> RoaringBitmap {
        let range = self.file_rows(file);
        let start = range.start;
        RoaringBitmap::from_sorted_iter(rows.range(range).map(|row| row - start))
            .unwrap_or_default()
    }

    /// Rows in one file as segment rows; rows beyond the file's end are left out.
    pub fn embed(&self, file: usize, rows: &RoaringBitmap) -> RoaringBitmap {
        let range = self.file_rows(file);
        let local = rows.range(0..range.end - range.start);
        RoaringBitmap::from_sorted_iter(local.map(|row| row + range.start)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
