//! The statistics of a data file that was just written, from its Parquet footer, as Iceberg wants them
//! in the manifest: bounds never hold NaN, long strings are cut to outer bounds, columns inside lists and
//! maps have a size only. Also the Parquet form of a schema.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use parquet::arrow::ArrowSchemaConverter;
use parquet::basic::LogicalType;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};
use parquet::file::statistics::Statistics;
use parquet::schema::types::{SchemaDescriptor, Type as ParquetType};

use super::manifest::{BoundMap, CountMap, DataFile};
use super::schema::{Schema, Type};
use super::value::{self, Value};
use crate::error::{Error, Result};

/// How many columns get more than a size.
const MAX_COLUMNS: usize = 100;
/// How long bounds of strings (in characters) and of binaries (in bytes) may be.
const MAX_LENGTH: usize = 16;

/// Fills in sizes, counts, bounds and split offsets of `file`. `nan_counts` gives NaNs by field id, as counted by
/// the writer. Errors: Internal for a footer that is not of this schema.
pub fn collect(
    file: &mut DataFile,
    metadata: &ParquetMetaData,
    schema: &Schema,
    nan_counts: &BTreeMap<i32, u64>,
) -> Result<()> {
    let mut columns: Vec<ColumnMetrics> = Vec::new();
    for (index, descriptor) in metadata
        .file_metadata()
        .schema_descr()
        .columns()
        .iter()
        .enumerate()
    {
        let info = descriptor.self_type().get_basic_info();
        let field = Some(info)
            .filter(|i| i.has_id())
            .and_then(|i| schema.field(i.id()));
        let field = field.ok_or_else(|| {
            Error::internal(format!(
                "column {} has no field id of the schema",
                descriptor.path()
            ))
        })?;
        let in_row = descriptor.max_rep_level() == 0;
        let mut column =
            ColumnMetrics::new(field.id, field.ty.clone(), in_row && index < MAX_COLUMNS);
        for group in metadata.row_groups() {
            let chunk = group.columns().get(index);
            column.add(chunk.ok_or_else(|| Error::internal("a row group has too few columns"))?);
        }
        columns.push(column);
    }
    let counted = || columns.iter().filter(|c| c.is_counted);
    let nans = |c: &ColumnMetrics| {
        let count = nan_counts
            .get(&c.id)
            .filter(|_| matches!(c.ty, Type::Float | Type::Double))?;
        Some((c.id, i64::try_from(*count).ok()?))
    };
    file.column_sizes = CountMap::new(columns.iter().map(|c| (c.id, c.size)));
    file.value_counts = CountMap::new(counted().map(|c| (c.id, c.values)));
    file.null_value_counts = CountMap::new(counted().filter_map(|c| Some((c.id, c.nulls?))));
    file.nan_value_counts = CountMap::new(counted().filter_map(nans));
    file.lower_bounds = BoundMap::new(
        counted().filter_map(|c| Some((c.id, lower_bound(c.range.as_ref()?.0.clone())))),
    );
    file.upper_bounds = BoundMap::new(
        counted().filter_map(|c| Some((c.id, upper_bound(c.range.as_ref()?.1.clone())?))),
    );
    file.split_offsets = split_offsets(metadata);
    Ok(())
}

fn split_offsets(metadata: &ParquetMetaData) -> Option<Vec<i64>> {
    let starts = metadata
        .row_groups()
        .iter()
        .map(|group| i64::try_from(group.columns().first()?.byte_range().0).ok());
    let starts: Vec<i64> = starts.collect::<Option<_>>()?;
    (!starts.is_empty() && starts.is_sorted_by(|a, b| a < b)).then_some(starts)
}

struct ColumnMetrics {
    id: i32,
    ty: Type,
    /// Whether it gets counts and bounds.
    is_counted: bool,
    size: i64,
    values: i64,
    nulls: Option<i64>,
    range: Option<(Value, Value)>,
    /// A row group kept its range to itself, so the file's is unknown.
    is_unbounded: bool,
}

impl ColumnMetrics {
    fn new(id: i32, ty: Type, is_counted: bool) -> Self {
        ColumnMetrics {
            id,
            ty,
            is_counted,
            size: 0,
            values: 0,
            nulls: Some(0),
            range: None,
            is_unbounded: false,
        }
    }

    fn add(&mut self, chunk: &ColumnChunkMetaData) {
        self.size = self.size.saturating_add(chunk.compressed_size());
        self.values = self.values.saturating_add(chunk.num_values());
        let statistics = chunk.statistics();
        let nulls = statistics
            .and_then(Statistics::null_count_opt)
            .and_then(|n| i64::try_from(n).ok());
        self.nulls = self.nulls.zip(nulls).map(|(a, b)| a.saturating_add(b));
        let range = statistics.and_then(|s| range(&self.ty, s));
        match range {
            Some(range) => self.widen(range),
            // The writer leaves out the range of what is all NULL or NaN.
            None if nulls == Some(chunk.num_values()) => {}
            None if statistics.is_some() && matches!(self.ty, Type::Float | Type::Double) => {}
            None => self.is_unbounded = true,
        }
        if self.is_unbounded {
            self.range = None;
        }
    }

    fn widen(&mut self, (lower, upper): (Value, Value)) {
        self.range = Some(match self.range.take() {
            None => (lower, upper),
            Some((least, greatest)) => (
                if lower.bound_cmp(&least).is_some_and(|o| o.is_lt()) {
                    lower
                } else {
                    least
                },
                if upper.bound_cmp(&greatest).is_some_and(|o| o.is_gt()) {
                    upper
                } else {
                    greatest
                },
            ),
        });
    }
}

/// Least and greatest value of a chunk.
fn range(ty: &Type, statistics: &Statistics) -> Option<(Value, Value)> {
    let (least, greatest) = match statistics {
        Statistics::Boolean(s) => (Value::Boolean(*s.min_opt()?), Value::Boolean(*s.max_opt()?)),
        Statistics::Int32(s) => (
            integer(ty, i64::from(*s.min_opt()?))?,
            integer(ty, i64::from(*s.max_opt()?))?,
        ),
        Statistics::Int64(s) => (integer(ty, *s.min_opt()?)?, integer(ty, *s.max_opt()?)?),
        Statistics::Float(s) => (Value::Float(*s.min_opt()?), Value::Float(*s.max_opt()?)),
        Statistics::Double(s) => (Value::Double(*s.min_opt()?), Value::Double(*s.max_opt()?)),
        Statistics::ByteArray(_) | Statistics::FixedLenByteArray(_) => (
            value::decode(ty, statistics.min_bytes_opt()?)?,
            value::decode(ty, statistics.max_bytes_opt()?)?,
        ),
        Statistics::Int96(_) => return None,
    };
    (!least.is_nan() && !greatest.is_nan()).then_some((least, greatest))
}

fn integer(ty: &Type, v: i64) -> Option<Value> {
    Some(match ty {
        Type::Int => Value::Int(i32::try_from(v).ok()?),
        Type::Date => Value::Date(i32::try_from(v).ok()?),
        Type::Long => Value::Long(v),
        Type::Time => Value::Time(v),
        Type::Timestamp => Value::Timestamp(v),
        Type::TimestampTz => Value::TimestampTz(v),
        Type::TimestampNs => Value::TimestampNs(v),
        Type::TimestampTzNs => Value::TimestampTzNs(v),
        Type::Decimal { precision, scale } => Value::Decimal {
            unscaled: v.into(),
            precision: *precision,
            scale: *scale,
        },
        _ => return None,
    })
}

/// The binary form of a lower bound, cut short.
fn lower_bound(value: Value) -> Vec<u8> {
    value::encode(&match value {
        Value::String(s) => Value::String(s.chars().take(MAX_LENGTH).collect()),
        Value::Binary(mut b) => {
            b.truncate(MAX_LENGTH);
            Value::Binary(b)
        }
        other => other,
    })
}

/// The binary form of an upper bound, cut short and then raised; None where nothing short is above it.
fn upper_bound(value: Value) -> Option<Vec<u8>> {
    Some(value::encode(&match value {
        Value::String(s) if s.chars().nth(MAX_LENGTH).is_some() => {
            Value::String(raise_text(s.chars().take(MAX_LENGTH).collect())?)
        }
        Value::Binary(mut b) if b.len() > MAX_LENGTH => {
            b.truncate(MAX_LENGTH);
            while b.last() == Some(&u8::MAX) {
                b.pop();
            }
            *b.last_mut()? += 1;
            Value::Binary(b)
        }
        other => other,
    }))
}

/// The least text of at most as many characters that is above every text with this start. Surrogates are
/// no characters: U+D7FF is followed by U+E000.
pub(super) fn raise_text(mut text: String) -> Option<String> {
    while let Some(last) = text.pop() {
        let next = match last {
            '\u{d7ff}' => Some('\u{e000}'),
            other => char::from_u32(u32::from(other) + 1),
        };
        if let Some(next) = next {
            text.push(next);
            return Some(text);
        }
    }
    None
}

/// The Parquet schema of a table's data files: field ids at every level, uuids marked as such.
/// Errors: InvalidInput for a type that Parquet lacks.
pub fn parquet_schema(schema: &SchemaRef) -> Result<SchemaDescriptor> {
    let converted = ArrowSchemaConverter::new()
        .schema_root("table")
        .convert(schema);
    let converted = converted
        .map_err(|e| Error::invalid_input(format!("the schema has no Parquet form: {e}")))?;
    let mut uuids = Vec::new();
    schema
        .fields()
        .iter()
        .for_each(|field| find_uuids(field, &mut uuids));
    if uuids.is_empty() {
        return Ok(converted);
    }
    Ok(SchemaDescriptor::new(mark_uuids(
        &converted.root_schema_ptr(),
        &uuids,
    )?))
}

fn find_uuids(field: &arrow::datatypes::Field, uuids: &mut Vec<i32>) {
    use arrow::datatypes::DataType;
    if super::schema::is_uuid(field) {
        uuids.extend(super::schema::field_id(field));
    }
    match field.data_type() {
        DataType::Struct(fields) => fields.iter().for_each(|f| find_uuids(f, uuids)),
        DataType::List(inner) | DataType::Map(inner, _) => find_uuids(inner, uuids),
        _ => {}
    }
}

fn mark_uuids(ty: &Arc<ParquetType>, uuids: &[i32]) -> Result<Arc<ParquetType>> {
    let info = ty.get_basic_info();
    let id = info.has_id().then(|| info.id());
    let marked = match ty.as_ref() {
        ParquetType::GroupType { fields, .. } => {
            let fields = fields
                .iter()
                .map(|f| mark_uuids(f, uuids))
                .collect::<Result<Vec<_>>>()?;
            let mut builder = ParquetType::group_type_builder(ty.name())
                .with_converted_type(info.converted_type())
                .with_logical_type(info.logical_type_ref().cloned())
                .with_fields(fields)
                .with_id(id);
            if info.has_repetition() {
                builder = builder.with_repetition(info.repetition());
            }
            builder.build()
        }
        ParquetType::PrimitiveType {
            physical_type,
            type_length,
            ..
        } if id.is_some_and(|id| uuids.contains(&id)) => {
            ParquetType::primitive_type_builder(ty.name(), *physical_type)
                .with_length(*type_length)
                .with_logical_type(Some(LogicalType::Uuid))
                .with_repetition(info.repetition())
                .with_id(id)
                .build()
        }
        ParquetType::PrimitiveType { .. } => return Ok(Arc::clone(ty)),
    };
    Ok(Arc::new(marked.map_err(|e| {
        Error::internal(format!("parquet schema: {e}"))
    })?))
}
