//! The Puffin container (Iceberg's Puffin spec): magic, blobs, a JSON footer that lists them.
//! Writes uncompressed footers and blobs only and gives equal bytes for equal input. Reading trusts
//! nothing: every length is checked before it is used. Knows nothing about what the blobs mean.

use std::collections::BTreeMap;
use std::ops::Range;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// First and last bytes of a Puffin file, and the first of its footer.
const MAGIC: &[u8; 4] = b"PFA1";
/// Payload size (4), flags (4) and magic (4), which end every file.
const TAIL_LENGTH: usize = 12;
/// Largest footer payload that is read.
const FOOTER_LENGTH_MAX: usize = 64 << 20;
/// Most blobs in one file.
const BLOB_COUNT_MAX: usize = 4096;
/// Blobs start at multiples of this, so that readers may view numbers in place.
const ALIGNMENT: usize = 64;

/// What the footer says about one blob.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct BlobMetadata {
    /// Blob type.
    #[serde(rename = "type")]
    pub(crate) kind: String,
    /// Field ids the blob was computed from.
    #[serde(default)]
    pub(crate) fields: Vec<i32>,
    /// Always -1 in our files: a blob belongs to data files, not to a snapshot.
    pub(crate) snapshot_id: i64,
    /// Always -1 in our files.
    pub(crate) sequence_number: i64,
    /// Byte position in the file.
    pub(crate) offset: u64,
    /// Length in bytes.
    pub(crate) length: u64,
    /// Codec name, absent when the blob is stored as is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) compression_codec: Option<String>,
    /// Free properties.
    #[serde(default)]
    pub(crate) properties: BTreeMap<String, String>,
}

/// The footer of a Puffin file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Footer {
    /// The blobs, in file order.
    pub(crate) blobs: Vec<BlobMetadata>,
    /// Properties of the file.
    #[serde(default)]
    pub(crate) properties: BTreeMap<String, String>,
}

/// A blob to write: type, field ids, properties and bytes.
#[derive(Clone, Debug)]
pub(crate) struct NewBlob {
    /// Blob type.
    pub(crate) kind: String,
    /// Field ids the blob was computed from.
    pub(crate) fields: Vec<i32>,
    /// Free properties.
    pub(crate) properties: BTreeMap<String, String>,
    /// The bytes.
    pub(crate) data: Bytes,
}

/// Writes a whole file. Errors: ResourceExhausted beyond the format's limits.
pub(crate) fn write(blobs: Vec<NewBlob>, properties: BTreeMap<String, String>) -> Result<Vec<u8>> {
    if blobs.len() > BLOB_COUNT_MAX {
        return Err(Error::resource_exhausted(format!(
            "a puffin file holds at most {BLOB_COUNT_MAX} blobs, not {}",
            blobs.len()
        )));
    }
    let mut out = Vec::with_capacity(
        blobs
            .iter()
            .map(|b| b.data.len() + ALIGNMENT)
            .sum::<usize>()
            + 1024,
    );
    out.extend_from_slice(MAGIC);
    let mut entries = Vec::with_capacity(blobs.len());
    for blob in blobs {
        out.resize(out.len().next_multiple_of(ALIGNMENT), 0);
        entries.push(BlobMetadata {
            kind: blob.kind,
            fields: blob.fields,
            snapshot_id: -1,
            sequence_number: -1,
            offset: length_u64(out.len())?,
            length: length_u64(blob.data.len())?,
            compression_codec: None,
            properties: blob.properties,
        });
        out.extend_from_slice(&blob.data);
    }
    let footer = Footer {
        blobs: entries,
        properties,
    };
    let payload = serde_json::to_vec(&footer)
        .map_err(|e| Error::internal("cannot encode a puffin footer").caused_by(e))?;
    if payload.len() > FOOTER_LENGTH_MAX {
        return Err(Error::resource_exhausted(format!(
            "a puffin footer of {} bytes exceeds {FOOTER_LENGTH_MAX}",
            payload.len()
        )));
    }
    let payload_length = i32::try_from(payload.len())
        .map_err(|_| Error::internal("puffin footer length overflows"))?;
    out.extend_from_slice(MAGIC);
    out.extend_from_slice(&payload);
    out.extend_from_slice(&payload_length.to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(MAGIC);
    Ok(out)
}

/// Reads the footer of a whole file. Errors: Corrupt for damaged bytes, Unsupported for a compressed footer.
pub(crate) fn read_footer(file: &[u8]) -> Result<Footer> {
    let tail_start = file
        .len()
        .checked_sub(TAIL_LENGTH)
        .ok_or_else(|| damaged("shorter than a footer"))?;
    if file.get(..MAGIC.len()) != Some(MAGIC) || file.get(file.len() - MAGIC.len()..) != Some(MAGIC)
    {
        return Err(damaged("magic missing"));
    }
    let word = |at: usize| {
        file.get(at..at + 4)
            .and_then(|b| <[u8; 4]>::try_from(b).ok())
            .ok_or_else(|| damaged("tail missing"))
    };
    let payload_length = usize::try_from(i32::from_le_bytes(word(tail_start)?))
        .map_err(|_| damaged("negative footer length"))?;
    if payload_length > FOOTER_LENGTH_MAX {
        return Err(damaged("footer length out of bounds"));
    }
    let flags = u32::from_le_bytes(word(tail_start + 4)?);
    if flags & !1 != 0 {
        return Err(damaged("unknown flags"));
    }
    if flags & 1 == 1 {
        return Err(Error::unsupported("puffin file with a compressed footer"));
    }
    let payload_start = tail_start
        .checked_sub(payload_length)
        .ok_or_else(|| damaged("footer length out of bounds"))?;
    let footer_start = payload_start
        .checked_sub(MAGIC.len())
        .ok_or_else(|| damaged("footer length out of bounds"))?;
    if footer_start < MAGIC.len() || file.get(footer_start..payload_start) != Some(MAGIC) {
        return Err(damaged("footer magic missing"));
    }
    let payload = file
        .get(payload_start..tail_start)
        .ok_or_else(|| damaged("footer missing"))?;
    let footer: Footer = serde_json::from_slice(payload)
        .map_err(|e| damaged("footer is not valid JSON").caused_by(e))?;
    if footer.blobs.len() > BLOB_COUNT_MAX {
        return Err(damaged("too many blobs"));
    }
    for blob in &footer.blobs {
        if blob_range(blob)?.end > footer_start {
            return Err(damaged("blob beyond the footer"));
        }
    }
    Ok(footer)
}

/// Where a blob lies in its file.
pub(crate) fn blob_range(blob: &BlobMetadata) -> Result<Range<usize>> {
    let start = usize::try_from(blob.offset).map_err(|_| damaged("blob offset out of bounds"))?;
    let length = usize::try_from(blob.length).map_err(|_| damaged("blob length out of bounds"))?;
    let end = start
        .checked_add(length)
        .ok_or_else(|| damaged("blob length out of bounds"))?;
    if start < MAGIC.len() {
        return Err(damaged("blob offset out of bounds"));
    }
    Ok(start..end)
}

fn length_u64(length: usize) -> Result<u64> {
    u64::try_from(length).map_err(|_| Error::internal("length overflows"))
}

fn damaged(what: &str) -> Error {
    Error::corrupt(format!("puffin file is damaged: {what}"))
}
