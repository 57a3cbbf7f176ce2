//! Data and delete files in Avro: block after block, the columns asked for decoded and the others passed over.
//! The heads of all blocks are read first, so that a file that was cut is known before its first row is given.

mod column;
mod schema;
#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use bytes::Bytes;
use futures::stream::BoxStream;
use roaring::RoaringBitmap;

use self::column::Column;
use self::schema::{Node, columns};
use super::{Decode, POSITIONS, selected};
use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::avro::{AvroType, Container, Cursor, decompress};
use crate::storage::{Location, ReadStore};
use crate::table::BATCH_ROWS;

/// How much is read at once.
const WINDOW: u64 = 8 << 20;
/// The first guess at a header's length, and the most that a header may have.
const HEADER: u64 = 64 << 10;
const HEADER_MAX: u64 = 64 << 20;
/// The greatest block before it is decompressed.
const BLOCK_MAX: u64 = 512 << 20;
/// The most that a block's head may have: two numbers.
const HEAD_MAX: u64 = 20;
/// A batch ends early where its values are larger.
const BATCH_BYTES: usize = 256 << 20;

/// One open Avro file.
pub(crate) struct AvroFile {
    window: Window,
    codec: String,
    root: AvroType,
    nodes: Vec<Node>,
    schema: SchemaRef,
    blocks: Vec<Block>,
    rows: u64,
}

/// The last bytes that were read of a file.
struct Window {
    store: ReadStore,
    location: Location,
    size: u64,
    start: u64,
    bytes: Bytes,
}

struct Block {
    rows: u64,
    bytes: Range<u64>,
}

impl Window {
    async fn get(&mut self, range: Range<u64>) -> Result<Bytes> {
        let inside = range.start >= self.start && range.end <= self.start + self.bytes.len() as u64;
        if !inside {
            let end = range
                .end
                .max(range.start.saturating_add(WINDOW))
                .min(self.size);
            self.start = range.start;
            self.bytes = self
                .store
                .get_range(&self.location, range.start..end)
                .await?;
        }
        let at = |place: u64| usize::try_from(place.saturating_sub(self.start)).ok();
        match (at(range.start), at(range.end)) {
            (Some(start), Some(end)) if start <= end && end <= self.bytes.len() => {
                Ok(self.bytes.slice(start..end))
            }
            _ => Err(Error::corrupt("avro: the file ends inside a block")),
        }
    }
}

impl AvroFile {
    /// Reads the header and the heads of all blocks. Errors: Corrupt for damage, Unsupported for an unknown codec.
    pub(super) async fn open(
        store: &ReadStore,
        location: &Location,
        size: u64,
    ) -> Result<AvroFile> {
        let mut window = Window {
            store: store.clone(),
            location: location.clone(),
            size,
            start: 0,
            bytes: Bytes::new(),
        };
        let header = read_header(&mut window).await?;
        let container = Container::open(&header)?;
        let text = container
            .text("avro.schema")
            .ok_or_else(|| Error::corrupt("avro: the schema is not UTF-8"))?;
        let (fields, nodes) = columns(text)?;
        let codec = container.text("avro.codec").unwrap_or("null").to_owned();
        let first = (header.len() - container.blocks().len()) as u64;
        let blocks = read_heads(&mut window, first, container.sync()).await?;
        let rows = blocks
            .iter()
            .try_fold(0u64, |sum, block| sum.checked_add(block.rows));
        Ok(AvroFile {
            rows: rows.ok_or_else(|| Error::corrupt("avro: too many rows"))?,
            root: container.root().clone(),
            codec,
            nodes,
            schema: Arc::new(Schema::new(fields)),
            blocks,
            window,
        })
    }

    pub(super) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    pub(super) fn rows(&self) -> u64 {
        self.rows
    }

    /// The chosen rows and columns, then the positions.
    pub(super) fn stream(self, decode: Decode) -> Result<BoxStream<'static, Result<RecordBatch>>> {
        let mut fields: Vec<Arc<Field>> = Vec::new();
        let mut columns = Vec::new();
        for (index, (field, node)) in self.schema.fields().iter().zip(&self.nodes).enumerate() {
            columns.push(if decode.roots.contains(&index) {
                fields.push(Arc::clone(field));
                Some(Column::new(field.name(), node)?)
            } else {
                None
            });
        }
        fields.push(Arc::new(Field::new(POSITIONS, DataType::Int64, false)));
        let rows = Rows {
            schema: Arc::new(Schema::new(fields)),
            columns,
            selection: decode.rows,
            next: 0,
            at: 0,
            open: None,
            positions: Vec::new(),
            file: self,
        };
        Ok(Box::pin(futures::stream::try_unfold(
            rows,
            |mut rows| async move { Ok(rows.next().await?.map(|batch| (batch, rows))) },
        )))
    }
}

async fn read_header(window: &mut Window) -> Result<Bytes> {
    let mut length = HEADER.min(window.size);
    loop {
        let bytes = window.get(0..length).await?;
        match Container::open(&bytes) {
            Ok(_) => return Ok(bytes),
            Err(error)
                if error.kind() == ErrorKind::Corrupt
                    && length < window.size
                    && length < HEADER_MAX =>
            {
                length = (length * 8).min(window.size).min(HEADER_MAX);
            }
            Err(error) => return Err(error),
        }
    }
}

/// Goes from block to block. Errors: Corrupt where one does not end with the file's marker.
async fn read_heads(window: &mut Window, first: u64, sync: [u8; 16]) -> Result<Vec<Block>> {
    let mut blocks = Vec::new();
    let mut at = first;
    while at < window.size {
        let head = window
            .get(at..window.size.min(at.saturating_add(HEAD_MAX)))
            .await?;
        let mut cursor = Cursor::new(&head);
        let number = |n: i64| {
            u64::try_from(n).map_err(|_| Error::corrupt("avro: a block has a negative length"))
        };
        let rows = number(cursor.long()?)?;
        let length = number(cursor.long()?)?;
        if length > BLOCK_MAX {
            return Err(Error::resource_exhausted(format!(
                "avro: a block of {length} bytes"
            )));
        }
        let start = at + (head.len() - cursor.rest().len()) as u64;
        let end = start + length;
        if end + 16 > window.size {
            return Err(Error::corrupt("avro: the file ends inside a block"));
        }
        if window.get(end..end + 16).await?.as_ref() != sync {
            return Err(Error::corrupt("avro: the sync marker does not match"));
        }
        blocks.push(Block {
            rows,
            bytes: start..end,
        });
        at = end + 16;
    }
    Ok(blocks)
}

/// Where a stream of batches stands.
struct Rows {
    file: AvroFile,
    schema: SchemaRef,
    /// One for each column of the file; None: it is passed over.
    columns: Vec<Option<Column>>,
    selection: Option<RoaringBitmap>,
    /// The next block, and the position of the next row.
    next: usize,
    at: u64,
    open: Option<OpenBlock>,
    positions: Vec<i64>,
}

/// A decompressed block: its bytes, how many of them are read, and how many rows are left.
struct OpenBlock {
    bytes: Bytes,
    read: usize,
    rows: u64,
}

impl Rows {
    async fn next(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if self.fill()? {
                return self.batch().map(Some);
            }
            let Some(block) = self.file.blocks.get(self.next) else {
                if self.positions.is_empty() {
                    return Ok(None);
                }
                return self.batch().map(Some);
            };
            self.next += 1;
            let end = self.at + block.rows;
            if selected(self.selection.as_ref(), &(self.at..end)) == 0 {
                self.at = end;
                continue;
            }
            let raw = self.file.window.get(block.bytes.clone()).await?;
            let bytes = match decompress(&self.file.codec, &raw)? {
                std::borrow::Cow::Borrowed(_) => raw,
                std::borrow::Cow::Owned(bytes) => bytes.into(),
            };
            self.open = Some(OpenBlock {
                bytes,
                read: 0,
                rows: block.rows,
            });
        }
    }

    /// Reads rows of the open block until a batch is full; false where the block ends before.
    fn fill(&mut self) -> Result<bool> {
        let Some(block) = &mut self.open else {
            return Ok(false);
        };
        let rest = block.bytes.get(block.read..).unwrap_or_default();
        let mut cursor = Cursor::new(rest);
        let members = self.file.root.fields("the Avro schema")?;
        let mut full = false;
        while block.rows > 0 && !full {
            let chosen = self.selection.as_ref().is_none_or(|selection| {
                u32::try_from(self.at).is_ok_and(|row| selection.contains(row))
            });
            for (column, member) in self.columns.iter_mut().zip(members) {
                match column {
                    Some(column) if chosen => column.read(&mut cursor)?,
                    _ => cursor.skip(&member.ty)?,
                }
            }
            if chosen {
                self.positions.push(self.at.cast_signed());
                full = self.positions.len() >= BATCH_ROWS
                    || (self.positions.len().is_multiple_of(64) && is_large(&self.columns));
            }
            self.at += 1;
            block.rows -= 1;
        }
        block.read = block.bytes.len() - cursor.rest().len();
        if block.rows == 0 {
            if !cursor.is_at_end() {
                return Err(Error::corrupt("avro: a block is longer than its rows"));
            }
            self.open = None;
        }
        Ok(full)
    }

    fn batch(&mut self) -> Result<RecordBatch> {
        let mut arrays = self
            .columns
            .iter_mut()
            .flatten()
            .map(Column::finish)
            .collect::<Result<Vec<_>>>()?;
        let positions = std::mem::take(&mut self.positions);
        let positions: ArrayRef = Arc::new(Int64Array::from(positions));
        arrays.push(positions);
        Ok(RecordBatch::try_new(Arc::clone(&self.schema), arrays)?)
    }
}

fn is_large(columns: &[Option<Column>]) -> bool {
    let sizes = columns.iter().flatten().map(Column::size);
    sizes.sum::<usize>() > BATCH_BYTES
}
