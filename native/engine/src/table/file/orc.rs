//! Data and delete files in ORC. The decoder is our own: it reads one stripe after another, only the streams of
//! the columns asked for, and takes no length on trust, so that damage is an error and never an abort, a value
//! that turned into NULL, or a row too few. Columns that carry `iceberg.id` get it as their field id.

mod column;
mod footer;
mod message;
mod run;
mod schema;
mod stream;
#[cfg(test)]
mod tests;
mod time;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, Int64Array, RecordBatch};
use arrow::compute::filter_record_batch;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use futures::stream::BoxStream;
use roaring::RoaringBitmap;

use self::column::{Column, Streams};
use self::footer::{Footer, Postscript, Role, StripeFooter, StripePlace, TypeNode};
use self::schema::arrow_fields;
use self::stream::Compression;
use self::time::Zone;
use super::{Decode, POSITIONS, selected};
use crate::error::{Error, Result};
use crate::storage::{Location, ReadStore};
use crate::table::BATCH_ROWS;

/// How much of the end is read first: most footers are in it.
const TAIL: u64 = 16 << 10;
/// The greatest compressed footer.
const FOOTER_MAX: u64 = 64 << 20;

/// One open ORC file.
pub(crate) struct OrcFile {
    store: ReadStore,
    location: Location,
    compression: Compression,
    footer: Footer,
    schema: SchemaRef,
}

impl OrcFile {
    /// Reads the footer of a file of `size` bytes. Errors: Corrupt for damage, Unsupported for encryption and LZO.
    pub(super) async fn open(store: &ReadStore, location: &Location, size: u64) -> Result<OrcFile> {
        let start = size.saturating_sub(TAIL);
        let tail = store.get_range(location, start..size).await?;
        let postscript = Postscript::read(&tail)?;
        let end = size.saturating_sub(postscript.length);
        let begin = end
            .checked_sub(postscript.footer)
            .ok_or_else(|| Error::corrupt("ORC: the footer is longer than the file"))?;
        if postscript.footer > FOOTER_MAX {
            return Err(Error::resource_exhausted(format!(
                "ORC: a footer of {} bytes",
                postscript.footer
            )));
        }
        let bytes = if begin >= start {
            let within = |at: u64| usize::try_from(at - start).unwrap_or(usize::MAX);
            tail.slice(within(begin)..within(end))
        } else {
            store.get_range(location, begin..end).await?
        };
        let footer = Footer::read(bytes, postscript.compression, size)?;
        let schema = Arc::new(Schema::new(arrow_fields(&footer.root)?));
        Ok(OrcFile {
            store: store.clone(),
            location: location.clone(),
            compression: postscript.compression,
            footer,
            schema,
        })
    }

    pub(super) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    pub(super) fn rows(&self) -> u64 {
        self.footer.rows
    }

    /// The chosen rows and columns, then the positions.
    pub(super) fn stream(self, decode: Decode) -> BoxStream<'static, Result<RecordBatch>> {
        let chosen = decode.roots.iter().copied().collect::<Vec<_>>();
        let mut fields: Vec<Field> = chosen
            .iter()
            .filter_map(|root| self.schema.fields().get(*root))
            .map(|field| field.as_ref().clone())
            .collect();
        fields.push(Field::new(POSITIONS, DataType::Int64, false));
        let nodes = chosen
            .iter()
            .filter_map(|root| self.footer.root.children.get(*root).cloned())
            .collect();
        let rows = Rows {
            schema: Arc::new(Schema::new(fields)),
            nodes,
            selection: decode.rows,
            stripe: 0,
            at: 0,
            open: None,
            file: self,
        };
        Box::pin(futures::stream::try_unfold(rows, |mut rows| async move {
            Ok(rows.next().await?.map(|batch| (batch, rows)))
        }))
    }
}

/// Where a stream of batches stands.
struct Rows {
    file: OrcFile,
    schema: SchemaRef,
    nodes: Vec<TypeNode>,
    selection: Option<RoaringBitmap>,
    /// The next stripe, and the position of its first row.
    stripe: usize,
    at: u64,
    open: Option<OpenStripe>,
}

/// A stripe whose streams are in memory.
struct OpenStripe {
    columns: Vec<Column>,
    rows: Range<u64>,
    /// Rows that nobody asked for and that the decoders still have to pass over.
    skipped: usize,
}

impl Rows {
    async fn next(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if let Some(batch) = self.batch()? {
                return Ok(Some(batch));
            }
            let Some(place) = self.file.footer.stripes.get(self.stripe).cloned() else {
                return Ok(None);
            };
            let rows = self.at..self.at + place.rows;
            self.stripe += 1;
            self.at = rows.end;
            if selected(self.selection.as_ref(), &rows) > 0 {
                self.open = Some(self.open_stripe(&place, rows).await?);
            }
        }
    }

    async fn open_stripe(&self, place: &StripePlace, rows: Range<u64>) -> Result<OpenStripe> {
        let (store, location) = (&self.file.store, &self.file.location);
        if self.nodes.is_empty() {
            return Ok(OpenStripe {
                columns: Vec::new(),
                rows,
                skipped: 0,
            });
        }
        let start = place.offset + place.streams;
        let compressed = store
            .get_range(location, start..start + place.footer)
            .await?;
        let footer = StripeFooter::read(compressed, self.file.compression, place)?;
        let mut wanted = Vec::new();
        self.nodes
            .iter()
            .for_each(|node| wanted_streams(node, &footer, &mut wanted));
        let ranges: Vec<Range<u64>> = wanted.iter().map(|(_, range)| range.clone()).collect();
        let bytes = store.get_ranges(location, &ranges).await?;
        let streams = Streams {
            zone: Zone::named(footer.zone.as_deref())?,
            footer: &footer,
            compression: self.file.compression,
            bytes: wanted
                .into_iter()
                .map(|(key, _)| key)
                .zip(bytes)
                .collect::<BTreeMap<_, _>>(),
        };
        let columns = self
            .nodes
            .iter()
            .zip(self.schema.fields())
            .map(|(node, field)| Column::new(node, field, &streams))
            .collect::<Result<_>>()?;
        Ok(OpenStripe {
            columns,
            rows,
            skipped: 0,
        })
    }

    /// The next batch of the open stripe that holds a chosen row.
    fn batch(&mut self) -> Result<Option<RecordBatch>> {
        let Some(stripe) = &mut self.open else {
            return Ok(None);
        };
        while stripe.rows.start < stripe.rows.end {
            let start = stripe.rows.start;
            let end = stripe.rows.end.min(start + BATCH_ROWS as u64);
            let count = usize::try_from(end - start)
                .map_err(|_| Error::internal("ORC: a batch is too large"))?;
            stripe.rows.start = end;
            if selected(self.selection.as_ref(), &(start..end)) == 0 {
                stripe.skipped += count;
                continue;
            }
            let skipped = std::mem::take(&mut stripe.skipped);
            let mut arrays = Vec::with_capacity(stripe.columns.len() + 1);
            for column in &mut stripe.columns {
                column.skip(skipped)?;
                arrays.push(column.read(count, None)?);
            }
            let positions = (start..end).map(u64::cast_signed);
            let positions: ArrayRef = Arc::new(Int64Array::from_iter_values(positions));
            arrays.push(positions);
            let batch = RecordBatch::try_new(Arc::clone(&self.schema), arrays)?;
            return choose(batch, self.selection.as_ref(), start..end).map(Some);
        }
        self.open = None;
        Ok(None)
    }
}

/// The streams of a column and of all below it.
fn wanted_streams(
    node: &TypeNode,
    footer: &StripeFooter,
    wanted: &mut Vec<((u32, Role), Range<u64>)>,
) {
    let first = (node.column, Role::Present);
    let last = (node.column, Role::Secondary);
    let streams = footer.streams.range(first..=last);
    wanted.extend(streams.map(|(key, range)| (*key, range.clone())));
    for child in &node.children {
        wanted_streams(child, footer, wanted);
    }
}

/// The chosen rows of a batch that holds `rows`.
fn choose(
    batch: RecordBatch,
    selection: Option<&RoaringBitmap>,
    rows: Range<u64>,
) -> Result<RecordBatch> {
    let Some(selection) = selection else {
        return Ok(batch);
    };
    if selected(Some(selection), &rows) == rows.end - rows.start {
        return Ok(batch);
    }
    let keep: BooleanArray = rows
        .map(|row| u32::try_from(row).is_ok_and(|row| selection.contains(row)))
        .map(Some)
        .collect();
    Ok(filter_record_batch(&batch, &keep)?)
}
