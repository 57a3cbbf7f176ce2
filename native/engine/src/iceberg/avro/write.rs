//! Writing object container files: deflate level 1, one block for about 64 KiB of rows.

use std::io::Write;

use serde_json::Value as Json;

use crate::error::Result;

const BLOCK_BYTES: usize = 64 << 10;

/// Appends a zigzag varint.
pub(in crate::iceberg) fn put_long(out: &mut Vec<u8>, value: i64) {
    let mut zigzag = ((value << 1) ^ (value >> 63)).cast_unsigned();
    loop {
        let [low, ..] = zigzag.to_le_bytes();
        zigzag >>= 7;
        if zigzag == 0 {
            out.push(low & 0x7f);
            return;
        }
        out.push(low | 0x80);
    }
}

/// Appends a length and bytes.
pub(in crate::iceberg) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_length(out, bytes.len());
    out.extend_from_slice(bytes);
}

/// Appends a length or a count.
pub(in crate::iceberg) fn put_length(out: &mut Vec<u8>, length: usize) {
    // No slice is longer than isize::MAX.
    put_long(out, i64::try_from(length).unwrap_or(i64::MAX));
}

/// Appends a value of a union of null and something.
pub(in crate::iceberg) fn put_optional<T>(
    out: &mut Vec<u8>,
    value: Option<T>,
    put: impl FnOnce(&mut Vec<u8>, T),
) {
    match value {
        None => put_long(out, 0),
        Some(value) => {
            put_long(out, 1);
            put(out, value);
        }
    }
}

/// A container that is being written.
pub(in crate::iceberg) struct ContainerWriter {
    out: Vec<u8>,
    block: Vec<u8>,
    rows: usize,
    sync: [u8; 16],
}

impl ContainerWriter {
    /// Writes the header. The sync marker is a hash of it, so that equal content gives equal bytes.
    pub(in crate::iceberg) fn new(schema: &Json, metadata: &[(&str, String)]) -> Self {
        let schema = schema.to_string();
        let own = [("avro.schema", schema.as_str()), ("avro.codec", "deflate")];
        let all = own
            .into_iter()
            .chain(metadata.iter().map(|(k, v)| (*k, v.as_str())));
        let mut out = b"Obj\x01".to_vec();
        put_length(&mut out, metadata.len() + own.len());
        for (key, value) in all {
            put_bytes(&mut out, key.as_bytes());
            put_bytes(&mut out, value.as_bytes());
        }
        put_long(&mut out, 0);
        let sync = xxhash_rust::xxh3::xxh3_128(&out).to_be_bytes();
        out.extend_from_slice(&sync);
        ContainerWriter {
            out,
            block: Vec::new(),
            rows: 0,
            sync,
        }
    }

    /// Adds a row that `put` encodes.
    pub(in crate::iceberg) fn row(&mut self, put: impl FnOnce(&mut Vec<u8>)) -> Result<()> {
        put(&mut self.block);
        self.rows += 1;
        if self.block.len() >= BLOCK_BYTES {
            self.end_block()
        } else {
            Ok(())
        }
    }

    /// The bytes of the container.
    pub(in crate::iceberg) fn finish(mut self) -> Result<Vec<u8>> {
        self.end_block()?;
        Ok(self.out)
    }

    fn end_block(&mut self) -> Result<()> {
        if self.rows == 0 {
            return Ok(());
        }
        let mut encoder =
            flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::new(1));
        encoder.write_all(&self.block)?;
        let compressed = encoder.finish()?;
        put_length(&mut self.out, self.rows);
        put_bytes(&mut self.out, &compressed);
        self.out.extend_from_slice(&self.sync);
        self.block.clear();
        self.rows = 0;
        Ok(())
    }
}
