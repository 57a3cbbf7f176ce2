//! Writes data files and position deletes of one task. Nothing is visible until a commit names the
//! message; an aborted writer removes what it wrote. Batches are checked against the table's schema
//! before a byte is written.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, Int64Array, RecordBatch, RecordBatchOptions, StringArray,
};
use arrow::datatypes::{
    DataType, Field, Float32Type, Float64Type, Schema as ArrowSchema, SchemaRef,
};
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::arrow::{AsyncArrowWriter, PARQUET_FIELD_ID_META_KEY};
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use parquet::schema::types::ColumnPath;
use roaring::RoaringBitmap;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::deletes::{DELETE_PATH, DELETE_POS};
use super::read::relabel;
use super::{Table, build_id, check_build, decode, encode};
use crate::error::{Error, Result};
use crate::iceberg::manifest::{DataContent, DataFile, FileFormat};
use crate::iceberg::metrics;
use crate::iceberg::schema::{Field as IcebergField, Schema, Type, field_id};
use crate::storage::{Confined, Location, Upload};

const MAGIC: &[u8; 4] = b"BSDC";
const TARGET_FILE_BYTES: u64 = 512 << 20;
const ROW_GROUP_ROWS: usize = 256 << 10;
const ROW_GROUP_BYTES: usize = 128 << 20;

/// What a task wrote: paths and statistics, no secrets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CommitMessage {
    build: String,
    /// UUID of the table it was written for.
    pub table_uuid: String,
    /// Data files added.
    pub data_files: Vec<DataFile>,
    /// Position delete files added.
    pub delete_files: Vec<DataFile>,
    /// Data files whose rows the deletes name.
    pub referenced_files: Vec<String>,
    /// Per vector column of declared dimension, the dimension written.
    pub dimensions: BTreeMap<String, usize>,
}

impl CommitMessage {
    /// The opaque bytes that may leave the process.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        encode(MAGIC, self)
    }

    /// Reads what `to_bytes` of the same build wrote. Errors: InvalidInput.
    pub fn from_bytes(bytes: &[u8]) -> Result<CommitMessage> {
        let message: CommitMessage = decode(MAGIC, "commit message", bytes)?;
        check_build("commit message", &message.build)?;
        Ok(message)
    }
}

/// A writer for one task.
pub struct TableWriter {
    table: Table,
    schema: SchemaRef,
    /// Declared dimensions by column name.
    dimensions: BTreeMap<String, usize>,
    data_location: Location,
    prefix: String,
    target_bytes: u64,
    open: Option<OpenFile>,
    data_files: Vec<DataFile>,
    deletes: BTreeMap<String, RoaringBitmap>,
    written: Vec<Location>,
}

struct OpenFile {
    location: Location,
    writer: AsyncArrowWriter<Upload>,
    nan_counts: BTreeMap<i32, u64>,
}

/// Properties that move new files to places which this build does not write to.
const ELSEWHERE: [&str; 4] = [
    "write.data.path",
    "write.metadata.path",
    "write.folder-storage.path",
    "write.object-storage.path",
];

impl Table {
    /// Starts a writer. Errors: Unsupported for partitioned tables and formats that cannot be written yet.
    pub fn writer(&self) -> Result<TableWriter> {
        self.check_writable()?;
        let mut dimensions = BTreeMap::new();
        for field in &self.schema()?.fields {
            if let Some(dimension) = self.dimension(&field.name)? {
                dimensions.insert(field.name.clone(), dimension);
            }
        }
        let target = self
            .properties()
            .get("write.target-file-size-bytes")
            .and_then(|v| v.parse().ok());
        Ok(TableWriter {
            table: self.clone(),
            schema: Arc::clone(self.arrow_schema()),
            dimensions,
            data_location: self.location().join("data")?,
            prefix: Uuid::new_v4().to_string(),
            target_bytes: target.unwrap_or(TARGET_FILE_BYTES).max(1),
            open: None,
            data_files: Vec::new(),
            deletes: BTreeMap::new(),
            written: Vec::new(),
        })
    }

    /// Whether this build may write the table.
    pub(crate) fn check_writable(&self) -> Result<()> {
        self.check_newest()?;
        let document = self.document();
        if let Some(reason) = self.head().read_only {
            return Err(Error::unsupported(format!(
                "table {} cannot be written: {reason}",
                self.name()
            )));
        }
        if document.format_version() != 2 {
            return Err(Error::unsupported(format!(
                "writing to format version {} of table {}",
                document.format_version(),
                self.name()
            )));
        }
        if !document.default_spec()?.is_unpartitioned() {
            return Err(Error::unsupported(format!(
                "writing to the partitioned table {}",
                self.name()
            )));
        }
        let elsewhere = |key: &&&str| document.properties().contains_key(**key);
        if let Some(key) = ELSEWHERE.iter().find(elsewhere) {
            return Err(Error::unsupported(format!(
                "writing to table {}, whose property {key} puts files elsewhere",
                self.name()
            )));
        }
        match self.schema()?.fields.iter().find(|f| f.ty.is_read_only()) {
            Some(field) => Err(Error::unsupported(format!(
                "writing to column '{}' of type {}",
                field.name, field.ty
            ))),
            None => Ok(()),
        }
    }
}

impl TableWriter {
    /// Adds rows. Columns are matched by field id where the batch has ids, else by name; a missing optional column
    /// is NULL. Errors: InvalidInput naming the column for unknown, missing, mistyped or wrongly sized values.
    pub async fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let batch = conform(batch, &self.schema)?;
        self.check_dimensions(&batch)?;
        if batch.num_rows() == 0 {
            return Ok(());
        }
        let mut open = match self.open.take() {
            Some(open) => open,
            None => self.start_file()?,
        };
        count_nans(&batch, &mut open.nan_counts);
        open.writer
            .write(&batch)
            .await
            .map_err(|e| Error::from(e).with("file", &open.location))?;
        if open.writer.in_progress_size() > ROW_GROUP_BYTES {
            open.writer
                .flush()
                .await
                .map_err(|e| Error::from(e).with("file", &open.location))?;
        }
        let bytes = open
            .writer
            .bytes_written()
            .saturating_add(open.writer.in_progress_size());
        self.open = Some(open);
        if u64::try_from(bytes).unwrap_or(u64::MAX) >= self.target_bytes {
            self.close_file().await?;
        }
        Ok(())
    }

    /// Marks physical rows of a data file as deleted. Errors: InvalidInput for a position beyond 2^32.
    pub fn delete_rows(
        &mut self,
        file: &str,
        positions: impl IntoIterator<Item = u64>,
    ) -> Result<()> {
        let set = self.deletes.entry(file.to_string()).or_default();
        for position in positions {
            let row = u32::try_from(position).map_err(|_| {
                Error::invalid_input(format!("position {position} of {file} is out of range"))
            })?;
            set.insert(row);
        }
        Ok(())
    }

    /// Ends the task. The message must reach a commit, else the files are garbage.
    pub async fn finish(mut self) -> Result<CommitMessage> {
        match self.finish_files().await {
            Ok(message) => Ok(message),
            Err(error) => {
                self.abort().await;
                Err(error)
            }
        }
    }

    async fn finish_files(&mut self) -> Result<CommitMessage> {
        self.close_file().await?;
        let deletes = std::mem::take(&mut self.deletes);
        let referenced_files = deletes.keys().cloned().collect();
        let delete_files = if deletes.values().all(RoaringBitmap::is_empty) {
            Vec::new()
        } else {
            vec![self.write_deletes(&deletes).await?]
        };
        Ok(CommitMessage {
            build: build_id(),
            table_uuid: self.table.uuid().to_string(),
            data_files: std::mem::take(&mut self.data_files),
            delete_files,
            referenced_files,
            dimensions: self.dimensions.clone(),
        })
    }

    /// Removes what was written, as far as the store lets us.
    pub async fn abort(mut self) {
        self.open = None;
        for location in std::mem::take(&mut self.written) {
            // What stays is an orphan that no snapshot names; removing it is a courtesy.
            let _ = self.table.files().delete(&location).await;
        }
    }

    fn next_location(&mut self, suffix: &str) -> Result<Location> {
        let location = self.data_location.join(&format!(
            "{}-{:05}{suffix}.parquet",
            self.prefix,
            self.written.len()
        ))?;
        self.written.push(location.clone());
        Ok(location)
    }

    fn start_file(&mut self) -> Result<OpenFile> {
        let location = self.next_location("")?;
        let properties = writer_properties(self.table.schema()?);
        let writer = parquet_writer(self.table.files(), &location, &self.schema, properties)?;
        Ok(OpenFile {
            location,
            writer,
            nan_counts: BTreeMap::new(),
        })
    }

    async fn close_file(&mut self) -> Result<()> {
        let Some(open) = self.open.take() else {
            return Ok(());
        };
        let file = close(
            open,
            DataContent::Data,
            self.table.schema()?,
            self.table.files(),
        )
        .await?;
        self.data_files.push(file);
        Ok(())
    }

    async fn write_deletes(
        &mut self,
        deletes: &BTreeMap<String, RoaringBitmap>,
    ) -> Result<DataFile> {
        let (iceberg, schema) = delete_schema()?;
        let location = self.next_location("-deletes")?;
        let properties = base_properties().set_column_encoding(
            ColumnPath::from("pos"),
            parquet::basic::Encoding::DELTA_BINARY_PACKED,
        );
        let properties = properties
            .set_column_dictionary_enabled(ColumnPath::from("pos"), false)
            .build();
        let mut writer = parquet_writer(self.table.files(), &location, &schema, properties)?;
        for (path, rows) in deletes {
            let positions: Vec<i64> = rows.iter().map(i64::from).collect();
            for chunk in positions.chunks(ROW_GROUP_ROWS) {
                let paths =
                    StringArray::from_iter_values(std::iter::repeat_n(path.as_str(), chunk.len()));
                let batch = RecordBatch::try_new(
                    Arc::clone(&schema),
                    vec![Arc::new(paths), Arc::new(Int64Array::from(chunk.to_vec()))],
                )?;
                writer
                    .write(&batch)
                    .await
                    .map_err(|e| Error::from(e).with("file", &location))?;
            }
        }
        let open = OpenFile {
            location,
            writer,
            nan_counts: BTreeMap::new(),
        };
        let mut file = close(
            open,
            DataContent::PositionDeletes,
            &iceberg,
            self.table.files(),
        )
        .await?;
        // Readers compare whole paths, so these bounds are never cut.
        if let (Some(first), Some(last)) = (deletes.keys().next(), deletes.keys().next_back()) {
            file.lower_bounds
                .insert(DELETE_PATH, first.clone().into_bytes());
            file.upper_bounds
                .insert(DELETE_PATH, last.clone().into_bytes());
            if deletes.len() == 1 {
                file.referenced_data_file = Some(first.clone());
            }
        }
        Ok(file)
    }

    fn check_dimensions(&self, batch: &RecordBatch) -> Result<()> {
        for (name, dimension) in &self.dimensions {
            let Some(list) = batch
                .column_by_name(name)
                .and_then(|c| c.as_list_opt::<i32>())
            else {
                continue;
            };
            for row in 0..list.len() {
                let length = usize::try_from(list.value_length(row)).unwrap_or_default();
                if list.is_valid(row) && length != *dimension {
                    return Err(Error::invalid_input(format!(
                        "column {name} takes vectors of dimension {dimension}, row {row} has {length}"
                    )));
                }
            }
        }
        Ok(())
    }
}

async fn close(
    open: OpenFile,
    content: DataContent,
    schema: &Schema,
    files: &Confined,
) -> Result<DataFile> {
    let OpenFile {
        location,
        writer,
        nan_counts,
    } = open;
    let metadata = writer
        .close()
        .await
        .map_err(|e| Error::from(e).with("file", &location))?;
    let size = files.reader().head(&location).await?;
    let rows = u64::try_from(metadata.file_metadata().num_rows()).unwrap_or_default();
    let mut file = DataFile::new(
        content,
        location.to_string(),
        FileFormat::Parquet,
        rows,
        size,
    );
    metrics::collect(&mut file, &metadata, schema, &nan_counts)?;
    Ok(file)
}

fn parquet_writer(
    files: &Confined,
    location: &Location,
    schema: &SchemaRef,
    properties: WriterProperties,
) -> Result<AsyncArrowWriter<Upload>> {
    let descriptor = metrics::parquet_schema(schema)?;
    let options = ArrowWriterOptions::new()
        .with_properties(properties)
        .with_skip_arrow_metadata(true)
        .with_parquet_schema(descriptor);
    Ok(AsyncArrowWriter::try_new_with_options(
        files.writer(location)?,
        Arc::clone(schema),
        options,
    )?)
}

fn base_properties() -> parquet::file::properties::WriterPropertiesBuilder {
    WriterProperties::builder()
        .set_writer_version(WriterVersion::PARQUET_1_0)
        .set_created_by(format!("benostreamdb version {}", build_id()))
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_statistics_enabled(EnabledStatistics::Page)
        .set_max_row_group_row_count(Some(ROW_GROUP_ROWS))
}

/// Vectors neither repeat nor sort: no dictionary, no statistics.
fn writer_properties(schema: &Schema) -> WriterProperties {
    let mut builder = base_properties();
    for field in &schema.fields {
        if is_vector(field) {
            let path = ColumnPath::new(vec![
                field.name.clone(),
                "list".to_string(),
                "element".to_string(),
            ]);
            builder = builder
                .set_column_dictionary_enabled(path.clone(), false)
                .set_column_statistics_enabled(path, EnabledStatistics::None);
        }
    }
    builder.build()
}

fn is_vector(field: &IcebergField) -> bool {
    matches!(&field.ty, Type::List(element) if element.ty == Type::Float)
}

fn delete_schema() -> Result<(Schema, SchemaRef)> {
    let schema = Schema::new(
        0,
        vec![
            IcebergField::new(DELETE_PATH, "file_path", true, Type::String),
            IcebergField::new(DELETE_POS, "pos", true, Type::Long),
        ],
    )?;
    let arrow = Arc::new(schema.to_arrow()?);
    Ok((schema, arrow))
}

fn count_nans(batch: &RecordBatch, counts: &mut BTreeMap<i32, u64>) {
    for (field, column) in batch.schema_ref().fields().iter().zip(batch.columns()) {
        let nans = match field.data_type() {
            DataType::Float32 => column
                .as_primitive::<Float32Type>()
                .iter()
                .flatten()
                .filter(|v| v.is_nan())
                .count(),
            DataType::Float64 => column
                .as_primitive::<Float64Type>()
                .iter()
                .flatten()
                .filter(|v| v.is_nan())
                .count(),
            _ => continue,
        };
        if let Some(id) = field_id(field) {
            *counts.entry(id).or_default() += u64::try_from(nans).unwrap_or_default();
        }
    }
}

/// The batch in the table's column order and types. Errors: InvalidInput naming the column.
pub(crate) fn conform(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch> {
    let source = batch.schema_ref();
    for (index, field) in source.fields().iter().enumerate() {
        if source
            .fields()
            .iter()
            .take(index)
            .any(|f| f.name() == field.name())
        {
            return Err(Error::invalid_input(format!(
                "column {} appears twice in the rows to write",
                field.name()
            )));
        }
        if find_target(schema, field).is_none() {
            return Err(Error::invalid_input(format!(
                "the table has no column {}; it has {}",
                field.name(),
                names(schema)
            )));
        }
    }
    let mut columns = Vec::with_capacity(schema.fields().len());
    for target in schema.fields() {
        let found = source
            .fields()
            .iter()
            .zip(batch.columns())
            .find(|(f, _)| matches(f, target));
        let column = match found {
            Some((field, column)) => convert(column, field, target)?,
            None => arrow::array::new_null_array(target.data_type(), batch.num_rows()),
        };
        if column.null_count() > 0 && !target.is_nullable() {
            return Err(Error::invalid_input(format!(
                "required column {} is NULL or missing",
                target.name()
            )));
        }
        columns.push(column);
    }
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)
        .map_err(|e| Error::invalid_input(format!("rows do not fit the table: {e}")))
}

fn names(schema: &ArrowSchema) -> String {
    schema
        .fields()
        .iter()
        .map(|f| f.name().as_str())
        .collect::<Vec<_>>()
        .join(", ")
}

fn find_target<'a>(schema: &'a ArrowSchema, field: &Field) -> Option<&'a Arc<Field>> {
    schema.fields().iter().find(|target| matches(field, target))
}

fn matches(field: &Field, target: &Field) -> bool {
    match field.metadata().get(PARQUET_FIELD_ID_META_KEY) {
        Some(_) => field_id(field) == field_id(target),
        None => field.name() == target.name(),
    }
}

/// Lossless conversions only: other layouts of the same type, and widening.
fn convert(column: &ArrayRef, field: &Field, target: &Field) -> Result<ArrayRef> {
    if lossless(field.data_type(), target.data_type()) {
        let cast = match field.data_type() == target.data_type() {
            true => Arc::clone(column),
            false => arrow::compute::cast(column, target.data_type())?,
        };
        return relabel(&cast, target.data_type());
    }
    Err(Error::invalid_input(format!(
        "column {} takes {}, not {}",
        target.name(),
        target.data_type(),
        field.data_type()
    )))
}

fn lossless(from: &DataType, to: &DataType) -> bool {
    use DataType as D;
    match (from, to) {
        (a, b) if a == b => true,
        (D::Null, _) => true,
        (D::Dictionary(_, values), _) => lossless(values, to),
        (D::Int8 | D::Int16 | D::UInt8 | D::UInt16 | D::Int32 | D::UInt32, D::Int64) => true,
        (D::Int8 | D::Int16 | D::UInt8 | D::UInt16, D::Int32) | (D::Float32, D::Float64) => true,
        (D::Utf8 | D::LargeUtf8 | D::Utf8View, D::Utf8)
        | (D::Binary | D::LargeBinary | D::BinaryView, D::Binary) => true,
        (D::Binary | D::LargeBinary | D::BinaryView, D::FixedSizeBinary(_)) => true,
        (D::Decimal128(p, s), D::Decimal128(q, t)) => s == t && p <= q,
        (D::Timestamp(a, x), D::Timestamp(b, y)) => x.is_some() == y.is_some() && coarser(a, b),
        (D::Time32(_), D::Time64(_)) => true,
        (D::List(a) | D::LargeList(a) | D::FixedSizeList(a, _) | D::ListView(a), D::List(b)) => {
            lossless(a.data_type(), b.data_type())
        }
        (D::Map(a, _), D::Map(b, _)) => lossless(a.data_type(), b.data_type()),
        (D::Struct(a), D::Struct(b)) => {
            a.len() == b.len()
                && a.iter()
                    .zip(b)
                    .all(|(x, y)| x.name() == y.name() && lossless(x.data_type(), y.data_type()))
        }
        _ => false,
    }
}

fn coarser(from: &arrow::datatypes::TimeUnit, to: &arrow::datatypes::TimeUnit) -> bool {
    use arrow::datatypes::TimeUnit as T;
    let rank = |unit: &T| match unit {
        T::Second => 0,
        T::Millisecond => 1,
        T::Microsecond => 2,
        T::Nanosecond => 3,
    };
    rank(from) <= rank(to)
}
