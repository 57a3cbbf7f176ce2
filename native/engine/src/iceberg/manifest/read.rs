//! Reading manifests block by block, in every format version, and inheriting what entries leave out.

use std::borrow::Cow;

use bytes::Bytes;

use super::fields::entry as id;
use super::{
    BoundMap, CountMap, DataContent, DataFile, Entry, EntryStatus, FileFormat, ManifestContent,
    ManifestFile, PartitionValue,
};
use crate::error::{Error, Result};
use crate::iceberg::avro::{AvroField, AvroType, Container, Cursor};
use crate::iceberg::spec::FIRST_PARTITION_ID;

/// All entries of a manifest, deleted ones too, with everything inherited from `manifest`.
pub fn read_manifest(bytes: &Bytes, manifest: &ManifestFile) -> Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for_each_entry(bytes, manifest, |entry| {
        entries.push(entry);
        Ok(())
    })?;
    Ok(entries)
}

/// Calls `f` for each entry of a manifest in order. Errors: Corrupt names the field.
pub fn for_each_entry(
    bytes: &Bytes,
    manifest: &ManifestFile,
    mut f: impl FnMut(Entry) -> Result<()>,
) -> Result<()> {
    let container = Container::open(bytes)?;
    let fields = container.root().fields("manifest")?;
    require(
        fields,
        &[(id::STATUS, "status"), (id::DATA_FILE, "data_file")],
    )?;
    let file = fields.iter().find(|field| field.id == Some(id::DATA_FILE));
    let file = file
        .map(|field| field.ty.value_type().fields("manifest: data_file"))
        .transpose()?
        .unwrap_or_default();
    let needed = [
        (id::FILE_PATH, "file_path"),
        (id::RECORD_COUNT, "record_count"),
        (id::FILE_SIZE, "file_size_in_bytes"),
    ];
    require(file, &needed)?;
    let mut inherited = Inherited::new(manifest, &container);
    container.for_each_block(|rows, block| {
        let block = match block {
            Cow::Borrowed(slice) => bytes.slice_ref(slice),
            Cow::Owned(vec) => Bytes::from(vec),
        };
        let reader = EntryReader {
            block: &block,
            spec_id: inherited.spec_id,
            content: manifest.content,
        };
        let mut cursor = Cursor::new(&block);
        for _ in 0..rows {
            f(inherited.complete(reader.entry(&mut cursor, fields)?)?)?;
        }
        match cursor.is_at_end() {
            true => Ok(()),
            false => Err(Error::corrupt(
                "manifest: bytes are left after the last row of a block",
            )),
        }
    })
}

fn require(fields: &[AvroField], needed: &[(i32, &str)]) -> Result<()> {
    match needed
        .iter()
        .find(|(id, _)| !fields.iter().any(|f| f.id == Some(*id)))
    {
        Some((id, name)) => Err(Error::corrupt(format!(
            "manifest: field {name} (id {id}) is missing"
        ))),
        None => Ok(()),
    }
}

/// What entries take from their manifest where they hold nothing themselves.
struct Inherited {
    spec_id: i32,
    snapshot_id: Option<i64>,
    sequence_number: i64,
    next_row_id: Option<i64>,
}

impl Inherited {
    fn new(manifest: &ManifestFile, container: &Container<'_>) -> Self {
        let header = || {
            container
                .text("partition-spec-id")
                .and_then(|id| id.parse().ok())
        };
        Inherited {
            spec_id: if manifest.spec_id < 0 {
                header().unwrap_or(0)
            } else {
                manifest.spec_id
            },
            snapshot_id: manifest.added_snapshot_id,
            sequence_number: manifest.sequence_number,
            next_row_id: manifest
                .first_row_id
                .filter(|_| manifest.content == ManifestContent::Data),
        }
    }

    /// Sequence numbers are inherited by added files, and by all where they are all 0 (V1). Row ids go to every
    /// live file that has none, in order.
    fn complete(&mut self, mut entry: Entry) -> Result<Entry> {
        entry.snapshot_id = entry.snapshot_id.or(self.snapshot_id);
        if self.sequence_number == 0 || entry.status == EntryStatus::Added {
            entry.sequence_number = entry.sequence_number.or(Some(self.sequence_number));
            entry.file_sequence_number = entry.file_sequence_number.or(Some(self.sequence_number));
        }
        if let Some(next) = self.next_row_id
            && entry.is_live()
            && entry.data_file.first_row_id.is_none()
        {
            entry.data_file.first_row_id = Some(next);
            let rows = i64::try_from(entry.data_file.record_count).ok();
            let next = rows.and_then(|rows| next.checked_add(rows));
            self.next_row_id =
                Some(next.ok_or_else(|| Error::corrupt("manifest: row ids exceed 64 bits"))?);
        }
        Ok(entry)
    }
}

struct EntryReader<'b> {
    block: &'b Bytes,
    spec_id: i32,
    content: ManifestContent,
}

impl EntryReader<'_> {
    fn entry(&self, cursor: &mut Cursor<'_>, fields: &[AvroField]) -> Result<Entry> {
        let content = match self.content {
            ManifestContent::Data => DataContent::Data,
            ManifestContent::Deletes => DataContent::PositionDeletes,
        };
        let mut data_file = DataFile {
            spec_id: self.spec_id,
            ..DataFile::new(content, "", FileFormat::Parquet, 0, 0)
        };
        let mut entry = (None, None, None, None);
        for field in fields {
            match field.id {
                Some(id::STATUS) => entry.0 = cursor.optional_long(&field.ty)?,
                Some(id::SNAPSHOT_ID) => entry.1 = cursor.optional_long(&field.ty)?,
                Some(id::SEQUENCE_NUMBER) => entry.2 = cursor.optional_long(&field.ty)?,
                Some(id::FILE_SEQUENCE_NUMBER) => entry.3 = cursor.optional_long(&field.ty)?,
                Some(id::DATA_FILE) => {
                    let present = cursor
                        .present(&field.ty)?
                        .ok_or_else(|| Error::corrupt("manifest: data_file is null"))?;
                    for member in present.fields("manifest: data_file")? {
                        self.file_field(cursor, member, &mut data_file)?;
                    }
                }
                _ => cursor.skip(&field.ty)?,
            }
        }
        let status = match entry.0 {
            Some(0) => EntryStatus::Existing,
            Some(1) => EntryStatus::Added,
            Some(2) => EntryStatus::Deleted,
            other => return Err(Error::corrupt(format!("manifest: status is {other:?}"))),
        };
        if data_file.path.is_empty() {
            return Err(Error::corrupt("manifest: file_path is null"));
        }
        if (data_file.content == DataContent::Data) != (self.content == ManifestContent::Data) {
            return Err(Error::corrupt(format!(
                "manifest: {} is not of the content that the manifest has",
                data_file.path
            )));
        }
        Ok(Entry {
            status,
            snapshot_id: entry.1,
            sequence_number: entry.2,
            file_sequence_number: entry.3,
            data_file,
        })
    }

    fn file_field(
        &self,
        cursor: &mut Cursor<'_>,
        field: &AvroField,
        file: &mut DataFile,
    ) -> Result<()> {
        let ty = &field.ty;
        let Some(id) = field.id else {
            return cursor.skip(ty);
        };
        match id {
            id::CONTENT => {
                file.content = match cursor.optional_long(ty)? {
                    None => file.content,
                    Some(0) => DataContent::Data,
                    Some(1) => DataContent::PositionDeletes,
                    Some(2) => DataContent::EqualityDeletes,
                    Some(other) => {
                        return Err(Error::corrupt(format!("manifest: content is {other}")));
                    }
                }
            }
            id::FILE_PATH => file.path = cursor.optional_str(ty)?.unwrap_or_default().to_owned(),
            id::FILE_FORMAT => {
                file.format = FileFormat::parse(cursor.optional_str(ty)?.unwrap_or_default())
            }
            id::PARTITION => file.partition = partition(cursor, ty)?,
            id::RECORD_COUNT => file.record_count = size(cursor, field)?,
            id::FILE_SIZE => file.file_size_in_bytes = size(cursor, field)?,
            id::COLUMN_SIZES => file.column_sizes = self.counts(cursor, ty)?,
            id::VALUE_COUNTS => file.value_counts = self.counts(cursor, ty)?,
            id::NULL_VALUE_COUNTS => file.null_value_counts = self.counts(cursor, ty)?,
            id::NAN_VALUE_COUNTS => file.nan_value_counts = self.counts(cursor, ty)?,
            id::LOWER_BOUNDS => file.lower_bounds = self.bounds(cursor, ty)?,
            id::UPPER_BOUNDS => file.upper_bounds = self.bounds(cursor, ty)?,
            id::KEY_METADATA => file.key_metadata = cursor.optional_bytes(ty)?.map(<[u8]>::to_vec),
            id::SPLIT_OFFSETS => file.split_offsets = longs(cursor, ty)?,
            id::EQUALITY_IDS => {
                let ids = longs(cursor, ty)?.map(|ids| {
                    ids.into_iter()
                        .map(i32::try_from)
                        .collect::<Result<Vec<_>, _>>()
                });
                file.equality_ids = ids
                    .transpose()
                    .map_err(|_| Error::corrupt("manifest: equality_ids exceed 32 bits"))?;
            }
            id::SORT_ORDER_ID => {
                file.sort_order_id = cursor
                    .optional_long(ty)?
                    .and_then(|id| i32::try_from(id).ok())
            }
            id::FIRST_ROW_ID => file.first_row_id = cursor.optional_long(ty)?,
            id::REFERENCED_DATA_FILE => {
                file.referenced_data_file = cursor.optional_str(ty)?.map(str::to_owned)
            }
            id::CONTENT_OFFSET => file.content_offset = cursor.optional_long(ty)?,
            id::CONTENT_SIZE => file.content_size_in_bytes = cursor.optional_long(ty)?,
            _ => cursor.skip(ty)?,
        }
        Ok(())
    }

    fn counts(&self, cursor: &mut Cursor<'_>, ty: &AvroType) -> Result<CountMap> {
        let Some(present) = cursor.present(ty)? else {
            return Ok(CountMap::default());
        };
        if is_map_of(present, &AvroType::Long) {
            return Ok(CountMap::encoded(Some(self.slice(cursor, |c| {
                c.long()?;
                c.long()?;
                Ok(())
            })?)));
        }
        let mut counts = Vec::new();
        let known = pairs(cursor, present, |c, key, ty| {
            counts.extend(c.optional_long(ty)?.map(|count| (key, count)));
            Ok(())
        })?;
        Ok(if known {
            CountMap::new(counts)
        } else {
            CountMap::default()
        })
    }

    fn bounds(&self, cursor: &mut Cursor<'_>, ty: &AvroType) -> Result<BoundMap> {
        let Some(present) = cursor.present(ty)? else {
            return Ok(BoundMap::default());
        };
        if is_map_of(present, &AvroType::Bytes) {
            return Ok(BoundMap::encoded(Some(self.slice(cursor, |c| {
                c.long()?;
                c.bytes()?;
                Ok(())
            })?)));
        }
        let mut bounds = Vec::new();
        let known = pairs(cursor, present, |c, key, ty| {
            bounds.extend(c.optional_bytes(ty)?.map(|bound| (key, bound.to_vec())));
            Ok(())
        })?;
        Ok(if known {
            BoundMap::new(bounds)
        } else {
            BoundMap::default()
        })
    }

    /// The bytes that an array takes, shared with the block.
    fn slice(
        &self,
        cursor: &mut Cursor<'_>,
        item: impl Fn(&mut Cursor<'_>) -> Result<()>,
    ) -> Result<Bytes> {
        let start = self.block.len() - cursor.rest().len();
        cursor.skip_items(|c| item(c))?;
        Ok(self
            .block
            .slice(start..self.block.len() - cursor.rest().len()))
    }
}

/// Whether `ty` is Iceberg's encoding of a map from int to `value`: an array of (key, value) records.
fn is_map_of(ty: &AvroType, value: &AvroType) -> bool {
    match ty {
        AvroType::Array(item) => match item.as_ref() {
            AvroType::Record(fields) => match fields.as_slice() {
                [key, val] => {
                    key.name == "key"
                        && key.ty == AvroType::Int
                        && val.name == "value"
                        && val.ty == *value
                }
                _ => false,
            },
            _ => false,
        },
        _ => false,
    }
}

/// Reads a map in a rarer encoding; false where it is none and was skipped.
fn pairs<'a>(
    cursor: &mut Cursor<'a>,
    ty: &AvroType,
    mut f: impl FnMut(&mut Cursor<'a>, i32, &AvroType) -> Result<()>,
) -> Result<bool> {
    let AvroType::Array(item) = ty else {
        return cursor.skip(ty).map(|()| false);
    };
    let AvroType::Record(fields) = item.as_ref() else {
        return cursor.skip(ty).map(|()| false);
    };
    let [key, value] = fields.as_slice() else {
        return cursor.skip(ty).map(|()| false);
    };
    if key.name != "key" || value.name != "value" {
        return cursor.skip(ty).map(|()| false);
    }
    cursor.items(|c| match c.optional_long(&key.ty)?.map(i32::try_from) {
        Some(Ok(id)) => f(c, id, &value.ty),
        _ => c.skip(&value.ty),
    })?;
    Ok(true)
}

/// No file has so many rows or bytes, so that sums of them stay sound.
const MAX_SIZE: u64 = 1 << 48;

fn size(cursor: &mut Cursor<'_>, field: &AvroField) -> Result<u64> {
    let value = cursor.optional_long(&field.ty)?;
    let size = value
        .and_then(|v| u64::try_from(v).ok())
        .filter(|v| *v <= MAX_SIZE);
    size.ok_or_else(|| Error::corrupt(format!("manifest: {} is {value:?}", field.name)))
}

fn longs(cursor: &mut Cursor<'_>, ty: &AvroType) -> Result<Option<Vec<i64>>> {
    let Some(present) = cursor.present(ty)? else {
        return Ok(None);
    };
    let AvroType::Array(item) = present else {
        return cursor.skip(present).map(|()| None);
    };
    let mut longs = Vec::new();
    cursor.items(|c| {
        longs.extend(c.optional_long(item)?);
        Ok(())
    })?;
    Ok(Some(longs))
}

fn partition(cursor: &mut Cursor<'_>, ty: &AvroType) -> Result<Vec<(i32, Option<PartitionValue>)>> {
    let Some(present) = cursor.present(ty)? else {
        return Ok(Vec::new());
    };
    let fields = present.fields("manifest: partition")?;
    let value = |(field, fallback): (&AvroField, i32)| {
        Ok((
            field.id.unwrap_or(fallback),
            partition_value(cursor, &field.ty)?,
        ))
    };
    fields.iter().zip(FIRST_PARTITION_ID..).map(value).collect()
}

fn partition_value(cursor: &mut Cursor<'_>, ty: &AvroType) -> Result<Option<PartitionValue>> {
    let Some(present) = cursor.present(ty)? else {
        return Ok(None);
    };
    Ok(Some(match present {
        AvroType::Boolean => PartitionValue::Boolean(cursor.boolean()?),
        AvroType::Int | AvroType::Long => PartitionValue::Integer(cursor.long()?),
        AvroType::Float => PartitionValue::Float(u32::from_le_bytes(cursor.array()?)),
        AvroType::Double => PartitionValue::Double(u64::from_le_bytes(cursor.array()?)),
        AvroType::Bytes => PartitionValue::Bytes(cursor.bytes()?.to_vec()),
        AvroType::Fixed(length) => PartitionValue::Bytes(cursor.take(*length)?.to_vec()),
        AvroType::String => PartitionValue::String(cursor.str()?.to_owned()),
        other => {
            return Err(Error::corrupt(format!(
                "manifest: a partition value of Avro type {other:?}"
            )));
        }
    }))
}
