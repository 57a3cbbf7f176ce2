//! The bytes of one ORC stream, decompressed chunk by chunk. No chunk grows beyond the block size that the
//! file declares, and that is bounded, so that damaged bytes cost no more memory than sound ones.

use std::io::Read;

use bytes::{Buf as _, Bytes};

use crate::error::{Error, Result};

/// The greatest block of a compressed stream: chunk headers have 23 bits for a length.
pub(super) const BLOCK_MAX: u64 = 1 << 23;

/// How streams are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Codec {
    None,
    Zlib,
    Snappy,
    Lz4,
    Zstd,
}

/// The codec of a file and the greatest decompressed chunk.
#[derive(Clone, Copy, Debug)]
pub(super) struct Compression {
    pub(super) codec: Codec,
    pub(super) block: usize,
}

/// A reading position in a stream.
pub(super) struct Stream {
    compression: Compression,
    /// What is not decompressed yet.
    rest: Bytes,
    chunk: Bytes,
}

impl Stream {
    pub(super) fn new(compression: Compression, bytes: Bytes) -> Self {
        let (rest, chunk) = match compression.codec {
            Codec::None => (Bytes::new(), bytes),
            _ => (bytes, Bytes::new()),
        };
        Stream {
            compression,
            rest,
            chunk,
        }
    }

    /// Makes sure that the chunk is not empty; false at the end of the stream.
    fn fill(&mut self) -> Result<bool> {
        while self.chunk.is_empty() {
            if self.rest.is_empty() {
                return Ok(false);
            }
            let Some(&[a, b, c]) = self.rest.first_chunk::<3>() else {
                return Err(Error::corrupt("ORC: a stream ends inside a chunk header"));
            };
            let header = u32::from_le_bytes([a, b, c, 0]);
            let length = (header >> 1) as usize;
            if self.rest.len() < 3 + length {
                return Err(Error::corrupt("ORC: a chunk reaches beyond its stream"));
            }
            let mut body = self.rest.split_to(3 + length);
            let body = body.split_off(3);
            self.chunk = if header & 1 == 1 {
                body
            } else {
                decompress(self.compression, &body)?.into()
            };
            if self.chunk.len() > self.compression.block {
                return Err(too_large());
            }
        }
        Ok(true)
    }

    #[inline]
    pub(super) fn byte(&mut self) -> Result<u8> {
        if self.chunk.is_empty() && !self.fill()? {
            return Err(ended());
        }
        let first = self.chunk.first().copied().ok_or_else(ended)?;
        self.chunk.advance(1);
        Ok(first)
    }

    /// Appends the next `count` bytes; memory grows with what is there, not with what is asked for.
    pub(super) fn take(&mut self, mut count: usize, into: &mut Vec<u8>) -> Result<()> {
        while count > 0 {
            if !self.fill()? {
                return Err(ended());
            }
            let part = self.chunk.split_to(count.min(self.chunk.len()));
            into.extend_from_slice(&part);
            count -= part.len();
        }
        Ok(())
    }

    pub(super) fn skip(&mut self, mut count: usize) -> Result<()> {
        while count > 0 {
            if !self.fill()? {
                return Err(ended());
            }
            let part = self.chunk.split_to(count.min(self.chunk.len()));
            count -= part.len();
        }
        Ok(())
    }

    /// A number in groups of seven bits, the lowest first.
    #[inline]
    pub(super) fn varint(&mut self) -> Result<u64> {
        let (mut value, mut shift) = (0u64, 0u32);
        loop {
            let byte = self.byte()?;
            if shift == 63 && byte > 1 {
                return Err(Error::corrupt("ORC: a number exceeds 64 bits"));
            }
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
            shift += 7;
        }
    }

    /// A decimal's unscaled value: zigzag, in groups of seven bits.
    pub(super) fn wide(&mut self) -> Result<i128> {
        let (mut value, mut shift) = (0u128, 0u32);
        loop {
            let byte = self.byte()?;
            if shift == 126 && byte > 3 {
                return Err(Error::corrupt("ORC: a decimal exceeds 128 bits"));
            }
            value |= u128::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok((value >> 1).cast_signed() ^ -(value & 1).cast_signed());
            }
            shift += 7;
        }
    }

    /// All of it, ResourceExhausted beyond `max` bytes.
    pub(super) fn read_all(mut self, max: usize) -> Result<Vec<u8>> {
        let mut all = Vec::new();
        while self.fill()? {
            let part = std::mem::take(&mut self.chunk);
            if all.len() + part.len() > max {
                return Err(Error::resource_exhausted(format!(
                    "ORC: a footer has more than {max} bytes"
                )));
            }
            all.extend_from_slice(&part);
        }
        Ok(all)
    }
}

fn ended() -> Error {
    Error::corrupt("ORC: a stream ends before its values do")
}

fn too_large() -> Error {
    Error::corrupt("ORC: a chunk is larger than the block size of its file")
}

fn decompress(compression: Compression, raw: &[u8]) -> Result<Vec<u8>> {
    let block = compression.block;
    match compression.codec {
        Codec::None => Ok(raw.to_vec()),
        Codec::Zlib => read_all(flate2::read::DeflateDecoder::new(raw), block),
        Codec::Zstd => {
            let decoder = zstd::stream::read::Decoder::new(raw).map_err(failed)?;
            read_all(decoder, block)
        }
        Codec::Snappy => {
            let length = snap::raw::decompress_len(raw).map_err(failed)?;
            if length > block {
                return Err(too_large());
            }
            snap::raw::Decoder::new()
                .decompress_vec(raw)
                .map_err(failed)
        }
        Codec::Lz4 => lz4(raw, block),
    }
}

fn failed(error: impl std::fmt::Display) -> Error {
    Error::corrupt(format!("ORC: a chunk cannot be decompressed: {error}"))
}

fn read_all(reader: impl Read, block: usize) -> Result<Vec<u8>> {
    let mut data = Vec::new();
    reader
        .take(block as u64 + 1)
        .read_to_end(&mut data)
        .map_err(failed)?;
    Ok(data)
}

/// An LZ4 block: literals and copies of what came before.
fn lz4(raw: &[u8], block: usize) -> Result<Vec<u8>> {
    let short = || failed("it is truncated");
    let mut rest = raw;
    let mut data: Vec<u8> = Vec::new();
    loop {
        let (&token, after) = rest.split_first().ok_or_else(short)?;
        rest = after;
        let literals = lz4_length(usize::from(token >> 4), &mut rest)?;
        let (literal, after) = rest.split_at_checked(literals).ok_or_else(short)?;
        data.extend_from_slice(literal);
        rest = after;
        if rest.is_empty() {
            return Ok(data);
        }
        let (offset, after) = rest.split_first_chunk::<2>().ok_or_else(short)?;
        rest = after;
        let offset = usize::from(u16::from_le_bytes(*offset));
        let length = lz4_length(usize::from(token & 15), &mut rest)? + 4;
        let start = data.len().checked_sub(offset).filter(|_| offset > 0);
        let start = start.ok_or_else(|| failed("a copy reaches before the start"))?;
        if data.len() + length > block {
            return Err(too_large());
        }
        copy_within(&mut data, start, length);
    }
}

fn lz4_length(nibble: usize, rest: &mut &[u8]) -> Result<usize> {
    let mut length = nibble;
    if nibble < 15 {
        return Ok(length);
    }
    loop {
        let (&byte, after) = rest
            .split_first()
            .ok_or_else(|| failed("it is truncated"))?;
        *rest = after;
        length += usize::from(byte);
        if byte < 255 {
            return Ok(length);
        }
    }
}

/// Appends `length` bytes from `start` on; the copy may overlap what it appends.
fn copy_within(data: &mut Vec<u8>, start: usize, length: usize) {
    let mut left = length;
    while left > 0 {
        let part = left.min(data.len() - start);
        data.extend_from_within(start..start + part);
        left -= part;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lz4_copies_overlap_and_stay_within_the_block() {
        // "abc", then nine bytes from three before, then "d".
        let raw = [0x35, b'a', b'b', b'c', 3, 0, 0x10, b'd'];
        assert_eq!(lz4(&raw, 100).unwrap(), b"abcabcabcabcd");
        assert!(lz4(&raw, 8).is_err());
        assert!(
            lz4(&[0x15, b'a', 2, 0, 0], 100).is_err(),
            "before the start"
        );
        for end in 0..raw.len() {
            let _ = lz4(raw.get(..end).unwrap(), 100);
        }
    }
}
