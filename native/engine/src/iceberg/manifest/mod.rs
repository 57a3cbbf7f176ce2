//! Manifest lists and manifests: which files a snapshot has. Fields are matched by Iceberg field id, never
//! by name or place. Statistics stay encoded until asked for; a damaged one is absent, never an error.
//! Content, spec and sequence numbers come from the list; the header of a manifest is only a fallback.

mod fields;
mod list;
mod partition;
mod read;
mod stats;
#[cfg(test)]
mod tests;
mod write;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::schema::{Schema, Type};
use super::spec::{PartitionField, PartitionSpec, Transform};
use super::value::Value;
use crate::error::{Error, Result};

pub use list::{ListSpec, WrittenList, read_manifest_list, write_manifest_list};
pub use read::{for_each_entry, read_manifest};
pub use stats::{BoundMap, CountMap};
pub use write::{ManifestSpec, write_manifest};

/// The sequence number of a manifest that no manifest list holds yet.
pub const UNASSIGNED: i64 = -1;

/// What a manifest lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum ManifestContent {
    Data,
    Deletes,
}

/// The range of one partition field over the files of a manifest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FieldSummary {
    /// Whether a value may be NULL.
    pub contains_null: bool,
    /// Whether a value may be NaN; None means unknown.
    pub contains_nan: Option<bool>,
    /// Single-value form of the least value.
    pub lower_bound: Option<Vec<u8>>,
    /// Single-value form of the greatest value.
    pub upper_bound: Option<Vec<u8>>,
}

/// A row of a manifest list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ManifestFile {
    /// The location of the manifest.
    pub path: String,
    /// Its length in bytes.
    pub length: i64,
    /// The spec its files were written with; negative where only the manifest itself tells.
    pub spec_id: i32,
    /// What it lists.
    pub content: ManifestContent,
    /// When it was added; 0 in V1.
    pub sequence_number: i64,
    /// The least data sequence number of its live files.
    pub min_sequence_number: i64,
    /// The snapshot that added it; None only in V1 tables without manifest list.
    pub added_snapshot_id: Option<i64>,
    /// Files with status added; None means unknown.
    pub added_files: Option<i64>,
    /// Files with status existing.
    pub existing_files: Option<i64>,
    /// Files with status deleted.
    pub deleted_files: Option<i64>,
    /// Rows in added files.
    pub added_rows: Option<i64>,
    /// Rows in existing files.
    pub existing_rows: Option<i64>,
    /// Rows in deleted files.
    pub deleted_rows: Option<i64>,
    /// One summary a partition field; None means unknown.
    pub partitions: Option<Vec<FieldSummary>>,
    /// Encryption key metadata.
    pub key_metadata: Option<Vec<u8>>,
    /// V3: the first row id of the rows that have none assigned.
    pub first_row_id: Option<i64>,
}

impl ManifestFile {
    /// A manifest known by its path alone, as in V1 snapshots that list manifests directly.
    pub fn from_path(path: impl Into<String>, snapshot_id: i64) -> Self {
        ManifestFile {
            path: path.into(),
            length: 0,
            spec_id: -1,
            content: ManifestContent::Data,
            sequence_number: 0,
            min_sequence_number: 0,
            added_snapshot_id: Some(snapshot_id),
            added_files: None,
            existing_files: None,
            deleted_files: None,
            added_rows: None,
            existing_rows: None,
            deleted_rows: None,
            partitions: None,
            key_metadata: None,
            first_row_id: None,
        }
    }

    /// About how much memory the row takes.
    pub(crate) fn memory_bytes(&self) -> usize {
        let bounds = |s: &FieldSummary| {
            let bytes = |b: &Option<Vec<u8>>| b.as_ref().map_or(0, Vec::len);
            size_of::<FieldSummary>() + bytes(&s.lower_bound) + bytes(&s.upper_bound)
        };
        let partitions = self.partitions.as_deref().unwrap_or_default();
        size_of::<ManifestFile>() + self.path.len() + partitions.iter().map(bounds).sum::<usize>()
    }

    /// Whether the manifest may list live files.
    pub fn may_have_live_files(&self) -> bool {
        self.added_files != Some(0) || self.existing_files != Some(0)
    }
}

/// What happened to a file in the snapshot that wrote its entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum EntryStatus {
    Existing,
    Added,
    Deleted,
}

/// What a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum DataContent {
    Data,
    PositionDeletes,
    EqualityDeletes,
}

/// The format of a file.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum FileFormat {
    Parquet,
    Avro,
    Orc,
    Puffin,
    /// One this engine does not know.
    Other(String),
}

impl FileFormat {
    /// Reads the name of a format, in any case.
    pub fn parse(name: &str) -> FileFormat {
        match name.to_ascii_lowercase().as_str() {
            "parquet" => FileFormat::Parquet,
            "avro" => FileFormat::Avro,
            "orc" => FileFormat::Orc,
            "puffin" => FileFormat::Puffin,
            _ => FileFormat::Other(name.to_owned()),
        }
    }

    /// The name as Iceberg writes it.
    pub fn name(&self) -> &str {
        match self {
            FileFormat::Parquet => "PARQUET",
            FileFormat::Avro => "AVRO",
            FileFormat::Orc => "ORC",
            FileFormat::Puffin => "PUFFIN",
            FileFormat::Other(name) => name,
        }
    }
}

/// A partition value as a manifest stores it; its type comes from the spec.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum PartitionValue {
    Boolean(bool),
    /// Avro int and long.
    Integer(i64),
    /// Bits of a float.
    Float(u32),
    /// Bits of a double.
    Double(u64),
    String(String),
    /// Avro bytes and fixed.
    Bytes(Vec<u8>),
}

impl PartitionValue {
    /// The value as one of type `ty`; None where it is none.
    pub fn to_value(&self, ty: &Type) -> Option<Value> {
        Some(match (self, ty) {
            (PartitionValue::Boolean(b), Type::Boolean) => Value::Boolean(*b),
            (PartitionValue::Integer(v), Type::Int) => Value::Int(i32::try_from(*v).ok()?),
            (PartitionValue::Integer(v), Type::Date) => Value::Date(i32::try_from(*v).ok()?),
            (PartitionValue::Integer(v), Type::Long) => Value::Long(*v),
            (PartitionValue::Integer(v), Type::Time) => Value::Time(*v),
            (PartitionValue::Integer(v), Type::Timestamp) => Value::Timestamp(*v),
            (PartitionValue::Integer(v), Type::TimestampTz) => Value::TimestampTz(*v),
            (PartitionValue::Integer(v), Type::TimestampNs) => Value::TimestampNs(*v),
            (PartitionValue::Integer(v), Type::TimestampTzNs) => Value::TimestampTzNs(*v),
            (PartitionValue::Float(bits), Type::Float) => Value::Float(f32::from_bits(*bits)),
            (PartitionValue::Float(bits), Type::Double) => {
                Value::Double(f32::from_bits(*bits).into())
            }
            (PartitionValue::Double(bits), Type::Double) => Value::Double(f64::from_bits(*bits)),
            (PartitionValue::String(s), Type::String) => Value::String(s.clone()),
            (PartitionValue::String(s), Type::Uuid) => {
                Value::Uuid(*uuid::Uuid::parse_str(s).ok()?.as_bytes())
            }
            (
                PartitionValue::Bytes(b),
                Type::Decimal { .. } | Type::Uuid | Type::Fixed(_) | Type::Binary | Type::String,
            ) => super::value::decode(ty, b)?,
            _ => return None,
        })
    }

    /// How a manifest stores `value`.
    pub fn from_value(value: &Value) -> PartitionValue {
        match value {
            Value::Boolean(b) => PartitionValue::Boolean(*b),
            Value::Int(v) | Value::Date(v) => PartitionValue::Integer(i64::from(*v)),
            Value::Long(v)
            | Value::Time(v)
            | Value::Timestamp(v)
            | Value::TimestampTz(v)
            | Value::TimestampNs(v)
            | Value::TimestampTzNs(v) => PartitionValue::Integer(*v),
            Value::Float(v) => PartitionValue::Float(v.to_bits()),
            Value::Double(v) => PartitionValue::Double(v.to_bits()),
            Value::String(s) => PartitionValue::String(s.clone()),
            Value::Decimal {
                unscaled,
                precision,
                ..
            } => PartitionValue::Bytes(super::value::fixed_be(*unscaled, *precision)),
            Value::Uuid(_) | Value::Fixed(_) | Value::Binary(_) => {
                PartitionValue::Bytes(super::value::encode(value))
            }
        }
    }
}

/// A data or delete file and what its writer knew of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DataFile {
    /// What it holds.
    pub content: DataContent,
    /// Its location as recorded.
    pub path: String,
    /// Its format.
    pub format: FileFormat,
    /// The spec of `partition`.
    pub spec_id: i32,
    /// Partition field id and value; None is NULL.
    pub partition: Vec<(i32, Option<PartitionValue>)>,
    /// Rows, deleted ones included.
    pub record_count: u64,
    /// Size in bytes.
    pub file_size_in_bytes: u64,
    /// Bytes in the file, by field id.
    pub column_sizes: CountMap,
    /// Values, NULL and NaN included, by field id.
    pub value_counts: CountMap,
    /// NULLs by field id.
    pub null_value_counts: CountMap,
    /// NaNs by field id.
    pub nan_value_counts: CountMap,
    /// Lower bounds by field id.
    pub lower_bounds: BoundMap,
    /// Upper bounds by field id.
    pub upper_bounds: BoundMap,
    /// Encryption key metadata.
    pub key_metadata: Option<Vec<u8>>,
    /// Where the file may be split, ascending.
    pub split_offsets: Option<Vec<i64>>,
    /// For equality deletes: the columns compared.
    pub equality_ids: Option<Vec<i32>>,
    /// The order the file is sorted in.
    pub sort_order_id: Option<i32>,
    /// V3: the row id of its first row.
    pub first_row_id: Option<i64>,
    /// For deletes of one data file: its location.
    pub referenced_data_file: Option<String>,
    /// For deletion vectors: where the blob starts.
    pub content_offset: Option<i64>,
    /// For deletion vectors: the length of the blob.
    pub content_size_in_bytes: Option<i64>,
}

impl DataFile {
    /// An unpartitioned file without statistics.
    pub fn new(
        content: DataContent,
        path: impl Into<String>,
        format: FileFormat,
        record_count: u64,
        file_size_in_bytes: u64,
    ) -> Self {
        DataFile {
            content,
            path: path.into(),
            format,
            spec_id: 0,
            partition: Vec::new(),
            record_count,
            file_size_in_bytes,
            column_sizes: CountMap::default(),
            value_counts: CountMap::default(),
            null_value_counts: CountMap::default(),
            nan_value_counts: CountMap::default(),
            lower_bounds: BoundMap::default(),
            upper_bounds: BoundMap::default(),
            key_metadata: None,
            split_offsets: None,
            equality_ids: None,
            sort_order_id: None,
            first_row_id: None,
            referenced_data_file: None,
            content_offset: None,
            content_size_in_bytes: None,
        }
    }

    /// Whether the file is a deletion vector of format version 3.
    pub fn is_deletion_vector(&self) -> bool {
        self.content == DataContent::PositionDeletes && self.format == FileFormat::Puffin
    }

    /// How many pieces the file may be cut into: the row groups of a Parquet file. Offsets that do not ascend or lie
    /// outside the file say nothing.
    pub fn piece_count(&self) -> usize {
        let offsets = self.split_offsets.as_deref().unwrap_or_default();
        let end = i64::try_from(self.file_size_in_bytes).unwrap_or(i64::MAX);
        let sound = self.format == FileFormat::Parquet
            && offsets.is_sorted_by(|a, b| a < b)
            && offsets.first().is_some_and(|first| *first >= 0)
            && offsets.last().is_some_and(|last| *last < end);
        if sound { offsets.len() } else { 1 }
    }

    /// What columns hold that the file itself may lack, by field id: the values of its identity partition fields;
    /// None is NULL. Errors: Corrupt for a partition value that is none of its column's type.
    pub fn absent_values(
        &self,
        spec: &PartitionSpec,
        schema: &Schema,
    ) -> Result<BTreeMap<i32, Option<Value>>> {
        let mut values = BTreeMap::new();
        for (field_id, stored) in &self.partition {
            let partition = spec
                .fields
                .iter()
                .find(|f| f.field_id == *field_id && f.transform == Transform::Identity);
            let Some(source) = partition
                .and_then(PartitionField::source_id)
                .and_then(|id| schema.field(id))
            else {
                continue;
            };
            let value = match stored {
                None => None,
                Some(_) if source.ty.has_opaque() => continue,
                Some(stored) => Some(stored.to_value(&source.ty).ok_or_else(|| {
                    Error::corrupt(format!(
                        "the partition value of column '{}' is no {}",
                        source.name, source.ty
                    ))
                    .with("file", &self.path)
                })?),
            };
            values.insert(source.id, value);
        }
        Ok(values)
    }
}

/// A row of a manifest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// What happened.
    pub status: EntryStatus,
    /// The snapshot it happened in.
    pub snapshot_id: Option<i64>,
    /// Data sequence number: None only before a commit assigns it.
    pub sequence_number: Option<i64>,
    /// When the file itself was added.
    pub file_sequence_number: Option<i64>,
    /// The file.
    pub data_file: DataFile,
}

impl Entry {
    /// Whether the file is part of the snapshot.
    pub fn is_live(&self) -> bool {
        self.status != EntryStatus::Deleted
    }

    /// About how much memory the entry takes, its share of the manifest's bytes included.
    pub(crate) fn memory_bytes(&self) -> usize {
        let file = &self.data_file;
        let counts = [
            &file.column_sizes,
            &file.value_counts,
            &file.null_value_counts,
            &file.nan_value_counts,
        ];
        let counts: usize = counts.iter().map(|m| m.encoded_bytes()).sum();
        let bounds = file.lower_bounds.encoded_bytes() + file.upper_bounds.encoded_bytes();
        let partition = file.partition.iter().map(|(_, value)| match value {
            Some(PartitionValue::String(s)) => size_of::<(i32, Option<PartitionValue>)>() + s.len(),
            Some(PartitionValue::Bytes(b)) => size_of::<(i32, Option<PartitionValue>)>() + b.len(),
            _ => size_of::<(i32, Option<PartitionValue>)>(),
        });
        let offsets = file.split_offsets.as_ref().map_or(0, Vec::len) * size_of::<i64>();
        // The path is there twice: its own copy, and in the block that the statistics share.
        size_of::<Entry>()
            + 2 * file.path.len()
            + counts
            + bounds
            + offsets
            + partition.sum::<usize>()
    }

    /// The entry of a file that the commit adds; its sequence numbers are inherited.
    pub fn added(snapshot_id: i64, data_file: DataFile) -> Entry {
        Entry {
            status: EntryStatus::Added,
            snapshot_id: Some(snapshot_id),
            sequence_number: None,
            file_sequence_number: None,
            data_file,
        }
    }

    /// This live entry as one that the commit carries over.
    pub fn into_existing(mut self) -> Entry {
        self.status = EntryStatus::Existing;
        self
    }

    /// This live entry as one that the commit removes.
    pub fn into_deleted(mut self, snapshot_id: i64) -> Entry {
        self.status = EntryStatus::Deleted;
        self.snapshot_id = Some(snapshot_id);
        self
    }
}
