//! Reading object container files block by block.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::Read;

use super::cursor::Cursor;
use super::schema::AvroType;
use crate::error::{Error, Result};

/// The greatest decompressed block. Some writers put a whole manifest into one; those have a few megabytes.
const MAX_BLOCK: usize = 256 << 20;
/// The greatest header value.
const MAX_HEADER: usize = 64 << 20;

/// An opened container.
pub(crate) struct Container<'a> {
    metadata: HashMap<String, &'a [u8]>,
    root: AvroType,
    sync: [u8; 16],
    blocks: &'a [u8],
}

impl<'a> Container<'a> {
    /// Reads the header.
    pub(crate) fn open(bytes: &'a [u8]) -> Result<Self> {
        let mut cursor = Cursor::new(bytes);
        if cursor.array().ok() != Some(*b"Obj\x01") {
            return Err(match bytes.get(..4) {
                Some(b"AGS1") => Error::unsupported("encrypted metadata files are not supported"),
                _ => Error::corrupt("not an Avro container file"),
            });
        }
        let mut metadata = HashMap::new();
        cursor.items(|c| {
            let key = c.str()?.to_owned();
            let value = c.bytes()?;
            if value.len() > MAX_HEADER {
                return Err(Error::corrupt(format!("avro: header '{key}' is too large")));
            }
            metadata.insert(key, value);
            Ok(())
        })?;
        let sync = cursor.array()?;
        let schema = metadata
            .get("avro.schema")
            .ok_or_else(|| Error::corrupt("avro: the header has no schema"))?;
        Ok(Container {
            root: AvroType::parse(schema)?,
            metadata,
            sync,
            blocks: cursor.rest(),
        })
    }

    /// The type of the rows.
    pub(crate) fn root(&self) -> &AvroType {
        &self.root
    }

    /// The marker after each block.
    pub(crate) fn sync(&self) -> [u8; 16] {
        self.sync
    }

    /// What comes after the header.
    pub(crate) fn blocks(&self) -> &'a [u8] {
        self.blocks
    }

    /// A header value that is text.
    pub(crate) fn text(&self, key: &str) -> Option<&'a str> {
        self.metadata
            .get(key)
            .and_then(|value| std::str::from_utf8(value).ok())
    }

    /// Calls `f` with the row count and the decompressed bytes of every block.
    pub(crate) fn for_each_block(
        &self,
        mut f: impl FnMut(usize, Cow<'a, [u8]>) -> Result<()>,
    ) -> Result<()> {
        let codec = self.text("avro.codec").unwrap_or("null");
        let mut cursor = Cursor::new(self.blocks);
        while !cursor.is_at_end() {
            let rows = usize::try_from(cursor.long()?)
                .map_err(|_| Error::corrupt("avro: negative row count"))?;
            let block = decompress(codec, cursor.bytes()?)?;
            if rows > block.len() {
                return Err(Error::corrupt("avro: a block has more rows than bytes"));
            }
            if cursor.array::<16>()? != self.sync {
                return Err(Error::corrupt("avro: the sync marker does not match"));
            }
            f(rows, block)?;
        }
        Ok(())
    }
}

/// The bytes of a block.
pub(crate) fn decompress<'a>(codec: &str, raw: &'a [u8]) -> Result<Cow<'a, [u8]>> {
    match codec {
        "null" => Ok(Cow::Borrowed(raw)),
        "deflate" => read_all(flate2::read::DeflateDecoder::new(raw)),
        "zstandard" => {
            let decoder = zstd::stream::read::Decoder::new(raw);
            read_all(decoder.map_err(|e| Error::corrupt(format!("avro: zstandard: {e}")))?)
        }
        "snappy" => {
            let Some((body, checksum)) = raw.split_last_chunk::<4>() else {
                return Err(Error::corrupt("avro: a snappy block is too short"));
            };
            let length = snap::raw::decompress_len(body)
                .map_err(|e| Error::corrupt(format!("avro: snappy: {e}")))?;
            // A copy of up to 64 bytes takes 3, so nothing sound expands further.
            if length > MAX_BLOCK || length / 32 > body.len() {
                return Err(Error::corrupt("avro: a snappy block claims too many bytes"));
            }
            let data = snap::raw::Decoder::new().decompress_vec(body);
            let data = data.map_err(|e| Error::corrupt(format!("avro: snappy: {e}")))?;
            if crc32fast::hash(&data).to_be_bytes() != *checksum {
                return Err(Error::corrupt(
                    "avro: the checksum of a snappy block does not match",
                ));
            }
            Ok(Cow::Owned(data))
        }
        other => Err(Error::unsupported(format!(
            "the Avro codec '{other}' is not supported"
        ))),
    }
}

fn read_all(reader: impl Read) -> Result<Cow<'static, [u8]>> {
    let mut data = Vec::new();
    let limit = MAX_BLOCK as u64 + 1;
    reader
        .take(limit)
        .read_to_end(&mut data)
        .map_err(|e| Error::corrupt(format!("avro: {e}")))?;
    if data.len() > MAX_BLOCK {
        return Err(Error::resource_exhausted(
            "an Avro block is larger than 256 MiB",
        ));
    }
    Ok(Cow::Owned(data))
}
