//! Opens Parquet files: footers are read once and cached by path and size (data files are immutable),
//! then the decoder asks only for the byte ranges it needs. The types are Parquet's own, never those of an
//! embedded Arrow schema; INT96 timestamps come as microseconds, which hold every one of them.

use std::collections::BTreeSet;
use std::ops::Range;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{
    DataType, Field, FieldRef, Fields, Schema as ArrowSchema, SchemaRef, TimeUnit,
};
use futures::stream::BoxStream;
use futures::{Stream, StreamExt as _};
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, RowSelection, RowSelector,
};
use parquet::arrow::async_reader::AsyncFileReader as _;
use parquet::arrow::{ParquetRecordBatchStreamBuilder, ProjectionMask, RowNumber};
use parquet::basic::Type as PhysicalType;
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaData};
use parquet::schema::types::SchemaDescriptor;
use roaring::RoaringBitmap;

use super::{Decode, POSITIONS};
use crate::error::{Error, Result};
use crate::storage::{FileReader, Location, ReadStore};
use crate::table::BATCH_ROWS;
use crate::table::environment::Environment;

/// One open Parquet file.
pub(in crate::table) struct ParquetFile {
    reader: FileReader,
    metadata: Arc<ParquetMetaData>,
    schema: SchemaRef,
    /// The types to decode as, where they are not those that Parquet's reader would choose.
    hint: Option<SchemaRef>,
}

impl ParquetFile {
    /// Reads the footer, or takes it from the cache. Errors name the path; a damaged footer is Corrupt.
    pub(in crate::table) async fn open(
        environment: &Environment,
        store: &ReadStore,
        location: &Location,
        size: u64,
    ) -> Result<ParquetFile> {
        let mut reader = FileReader::new(store.clone(), location.clone(), size);
        let metadata = match environment.footers().get(location, size) {
            Some(metadata) => metadata,
            None => {
                let options =
                    ArrowReaderOptions::new().with_page_index_policy(PageIndexPolicy::Optional);
                let metadata = reader
                    .get_metadata(Some(&options))
                    .await
                    .map_err(Error::from)?;
                environment
                    .footers()
                    .put(location, size, Arc::clone(&metadata));
                metadata
            }
        };
        let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
        let plain = ArrowReaderMetadata::try_new(Arc::clone(&metadata), options)?;
        let hint = without_nanoseconds(plain.schema(), metadata.file_metadata().schema_descr());
        Ok(ParquetFile {
            reader,
            schema: hint.clone().unwrap_or_else(|| Arc::clone(plain.schema())),
            metadata,
            hint,
        })
    }

    pub(super) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    pub(super) fn metadata(&self) -> &ParquetMetaData {
        &self.metadata
    }

    pub(super) fn rows(&self) -> u64 {
        u64::try_from(self.metadata.file_metadata().num_rows()).unwrap_or(u64::MAX)
    }

    pub(super) fn span(&self, wanted: Option<(usize, usize)>) -> Result<Range<u64>> {
        let (first, end) = wanted.unwrap_or((0, usize::MAX));
        let (mut start, mut span) = (0u64, 0..0);
        for (index, group) in self.metadata.row_groups().iter().enumerate() {
            let rows = u64::try_from(group.num_rows())
                .map_err(|_| Error::corrupt("row group with a negative row count"))?;
            let next = start.saturating_add(rows);
            if index == first {
                span.start = start;
            }
            if index < end {
                span.end = next;
            }
            start = next;
        }
        if first >= self.metadata.num_row_groups() {
            return Ok(start..start);
        }
        Ok(span)
    }

    /// The mask that decodes these top-level columns. A group without members has no place in the schema.
    pub(in crate::table) fn mask(&self, roots: impl IntoIterator<Item = usize>) -> ProjectionMask {
        let descriptor = self.metadata.file_metadata().schema_descr();
        let mut places = descriptor.root_schema().get_fields().iter().enumerate();
        let of_column: Vec<usize> = self
            .schema
            .fields()
            .iter()
            .filter_map(|field| places.find(|(_, root)| root.name() == field.name()))
            .map(|(place, _)| place)
            .collect();
        let wanted = roots
            .into_iter()
            .filter_map(|root| of_column.get(root).copied());
        ProjectionMask::roots(descriptor, wanted)
    }

    pub(super) fn stream(self, decode: Decode) -> Result<BoxStream<'static, Result<RecordBatch>>> {
        let span = self.span(decode.row_groups)?;
        let mask = self.mask(decode.roots.iter().copied());
        let hint = if decode.views.is_empty() {
            self.hint
        } else {
            Some(with_views(&self.schema, &decode.views))
        };
        let mut options = match hint {
            Some(hint) => ArrowReaderOptions::new().with_schema(hint),
            None => ArrowReaderOptions::new().with_skip_arrow_metadata(true),
        };
        if decode.positions {
            let positions = Field::new(POSITIONS, DataType::Int64, false);
            let positions = Arc::new(positions.with_extension_type(RowNumber));
            options = options.with_virtual_columns(vec![positions])?;
        }
        let (first, end) = decode.row_groups.unwrap_or((0, usize::MAX));
        let groups = (first..end.min(self.metadata.num_row_groups())).collect();
        let metadata = ArrowReaderMetadata::try_new(self.metadata, options)?;
        let mut builder = ParquetRecordBatchStreamBuilder::new_with_metadata(self.reader, metadata)
            .with_batch_size(BATCH_ROWS)
            .with_row_groups(groups)
            .with_projection(mask);
        if let Some(rows) = &decode.rows {
            builder = builder.with_row_selection(selectors(rows, span)?);
        }
        if let Some(filter) = decode.filter {
            builder = builder.with_row_filter(filter);
        }
        Ok(guarded(builder.build()?).boxed())
    }
}

/// Decoders index into what the file says; on damaged bytes some of them panic, which is Corrupt here.
fn guarded<S>(stream: S) -> impl Stream<Item = Result<RecordBatch>> + Send
where
    S: Stream<Item = parquet::errors::Result<RecordBatch>> + Send,
{
    AssertUnwindSafe(stream)
        .catch_unwind()
        .map(|batch| match batch {
            Ok(batch) => Ok(batch?),
            Err(_) => Err(Error::corrupt("the file cannot be decoded")),
        })
}

/// The rows of the span as runs.
fn selectors(rows: &RoaringBitmap, span: Range<u64>) -> Result<RowSelection> {
    let narrow = |row: u64| {
        u32::try_from(row).map_err(|_| Error::unsupported("a data file of 2^32 rows or more"))
    };
    let (start, end) = (narrow(span.start)?, narrow(span.end)?);
    let mut selectors = Vec::new();
    let mut at = start;
    let mut runs = rows.iter();
    while let Some(run) = runs.next_range() {
        let (first, last) = (*run.start(), *run.end());
        if first > at {
            selectors.push(RowSelector::skip((first - at) as usize));
        }
        selectors.push(RowSelector::select((last - first) as usize + 1));
        at = last.saturating_add(1);
    }
    if at < end {
        selectors.push(RowSelector::skip((end - at) as usize));
    }
    Ok(RowSelection::from(selectors))
}

/// The schema with these columns as views.
fn with_views(schema: &SchemaRef, views: &BTreeSet<usize>) -> SchemaRef {
    let fields = schema.fields().iter().enumerate().map(|(root, field)| {
        if views.contains(&root) {
            Arc::new(field.as_ref().clone().with_data_type(DataType::Utf8View))
        } else {
            Arc::clone(field)
        }
    });
    Arc::new(ArrowSchema::new(fields.collect::<Fields>()))
}

/// The schema with INT96 timestamps in microseconds: in nanoseconds, years before 1678 and after 2261 wrap around.
/// None where the file has none.
fn without_nanoseconds(schema: &SchemaRef, descriptor: &SchemaDescriptor) -> Option<SchemaRef> {
    let has_any = (0..descriptor.num_columns())
        .any(|leaf| descriptor.column(leaf).physical_type() == PhysicalType::INT96);
    if !has_any {
        return None;
    }
    let mut leaf = 0;
    let fields: Fields = schema
        .fields()
        .iter()
        .map(|field| in_microseconds(field, descriptor, &mut leaf))
        .collect();
    Some(Arc::new(ArrowSchema::new(fields)))
}

fn in_microseconds(field: &FieldRef, descriptor: &SchemaDescriptor, leaf: &mut usize) -> FieldRef {
    let mut inside = |field: &FieldRef| in_microseconds(field, descriptor, leaf);
    let data_type = match field.data_type() {
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(inside).collect()),
        DataType::List(item) => DataType::List(inside(item)),
        DataType::Map(entries, sorted) => DataType::Map(inside(entries), *sorted),
        other => {
            let place = *leaf;
            *leaf += 1;
            let int96 = place < descriptor.num_columns()
                && descriptor.column(place).physical_type() == PhysicalType::INT96;
            if int96 {
                DataType::Timestamp(TimeUnit::Microsecond, None)
            } else {
                other.clone()
            }
        }
    };
    Arc::new(field.as_ref().clone().with_data_type(data_type))
}
