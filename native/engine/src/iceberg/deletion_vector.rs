//! Deletion vectors of format version 3: the positions of a data file's deleted rows as one blob: length, magic,
//! portable 64-bit Roaring bitmap, checksum. Bytes in and out; where the blob lies in its file is the manifest's
//! business, so that blobs outside a Puffin container are read too. Reading trusts nothing, and allocates no
//! more than the blob itself holds.

#[cfg(test)]
mod tests;

use std::io::Read;

use roaring::{RoaringBitmap, RoaringTreemap};

use crate::error::{Error, Result};

/// The type of the blob in a Puffin file.
pub const BLOB_TYPE: &str = "deletion-vector-v1";

/// Longer blobs are not read: this holds any set of 32-bit positions.
pub const BLOB_BYTES_MAX: u64 = 576 << 20;

const MAGIC: [u8; 4] = [0xD1, 0xD3, 0x39, 0x64];
/// The length before the bitmap and the checksum after it.
const FRAME_BYTES: usize = 8;
/// A key and the smallest bitmap there is.
const BITMAP_BYTES_MIN: usize = 12;
/// Keys are the high halves of positions, which are not negative.
const KEY_MAX: u32 = i32::MAX.unsigned_abs();

/// The deleted positions. Errors: Corrupt for everything that is not one whole blob of `cardinality` positions;
/// ResourceExhausted for a blob beyond [`BLOB_BYTES_MAX`].
pub fn decode(blob: &[u8], cardinality: u64) -> Result<RoaringTreemap> {
    check_length(blob.len() as u64)?;
    let (length, rest) = blob
        .split_first_chunk::<4>()
        .ok_or_else(|| damaged("it is shorter than its length"))?;
    let (body, checksum) = rest
        .split_last_chunk::<4>()
        .ok_or_else(|| damaged("it is shorter than its checksum"))?;
    let length = u32::from_be_bytes(*length);
    if usize::try_from(length) != Ok(body.len()) {
        return Err(damaged(&format!(
            "it says {length} bytes and has {}",
            body.len()
        )));
    }
    let bitmap = body
        .strip_prefix(&MAGIC)
        .ok_or_else(|| damaged("its magic is missing"))?;
    if crc32fast::hash(body) != u32::from_be_bytes(*checksum) {
        return Err(damaged("its checksum is wrong"));
    }
    let positions = read_positions(bitmap)?;
    if positions.len() != cardinality {
        return Err(damaged(&format!(
            "it holds {} positions, its manifest says {cardinality}",
            positions.len()
        )));
    }
    Ok(positions)
}

/// The blob of these positions; the same positions give the same bytes. Errors: InvalidInput for positions that Iceberg
/// has none of, ResourceExhausted for more of them than a blob holds.
pub fn encode(positions: &RoaringTreemap) -> Result<Vec<u8>> {
    let mut positions = positions.clone();
    positions.optimize();
    let bytes = MAGIC.len() + positions.serialized_size() + FRAME_BYTES;
    check_length(bytes as u64)?;
    if positions
        .max()
        .is_some_and(|last| last >> 32 > KEY_MAX.into())
    {
        return Err(Error::invalid_input(
            "a deletion vector holds no position of 2^63 or more",
        ));
    }
    let length = u32::try_from(bytes - FRAME_BYTES)
        .map_err(|_| Error::internal("length of a deletion vector overflows"))?;
    let mut blob = Vec::with_capacity(bytes);
    blob.extend_from_slice(&length.to_be_bytes());
    blob.extend_from_slice(&MAGIC);
    write_positions(&positions, &mut blob)?;
    let checksum = crc32fast::hash(blob.get(4..).unwrap_or_default());
    blob.extend_from_slice(&checksum.to_be_bytes());
    Ok(blob)
}

/// Whether a blob of so many bytes is read at all. Errors: ResourceExhausted.
pub fn check_length(bytes: u64) -> Result<()> {
    if bytes <= BLOB_BYTES_MAX {
        return Ok(());
    }
    Err(Error::resource_exhausted(format!(
        "a deletion vector of {bytes} bytes exceeds the limit of {BLOB_BYTES_MAX}"
    )))
}

fn write_positions(positions: &RoaringTreemap, out: &mut Vec<u8>) -> Result<()> {
    positions
        .serialize_into(out)
        .map_err(|e| Error::internal("cannot encode a deletion vector").caused_by(e))
}

/// Reads a portable 64-bit Roaring bitmap: how many 32-bit ones, then each behind its key, in order of the keys.
fn read_positions(bytes: &[u8]) -> Result<RoaringTreemap> {
    let (count, mut rest) = bytes
        .split_first_chunk::<8>()
        .ok_or_else(|| damaged("it ends before the number of its bitmaps"))?;
    let count = usize::try_from(u64::from_le_bytes(*count))
        .ok()
        .filter(|count| {
            count
                .checked_mul(BITMAP_BYTES_MIN)
                .is_some_and(|least| least <= rest.len())
        })
        .ok_or_else(|| damaged("it is too short for its bitmaps"))?;
    let mut bitmaps = Vec::with_capacity(count);
    let mut last_key = None;
    for _ in 0..count {
        let mut key = [0; 4];
        rest.read_exact(&mut key)
            .map_err(|_| damaged("it ends within a bitmap"))?;
        let key = u32::from_le_bytes(key);
        if key > KEY_MAX || last_key.is_some_and(|last| key <= last) {
            return Err(damaged(&format!("its key {key} is out of order")));
        }
        last_key = Some(key);
        let bitmap = RoaringBitmap::deserialize_from(&mut rest)
            .map_err(|e| damaged("a bitmap of it cannot be read").caused_by(e))?;
        bitmaps.push((key, bitmap));
    }
    if !rest.is_empty() {
        return Err(damaged("it goes on behind its last bitmap"));
    }
    Ok(RoaringTreemap::from_bitmaps(bitmaps))
}

fn damaged(what: &str) -> Error {
    Error::corrupt(format!("the deletion vector is damaged: {what}"))
}
