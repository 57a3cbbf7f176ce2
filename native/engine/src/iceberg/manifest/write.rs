//! Writing manifests as iceberg-java expects them: record names `manifest_entry`, `r2` and `r102`, id maps with
//! `logicalType: map`, sanitised partition names, the table schema in the header.

use std::collections::BTreeSet;

use bytes::Bytes;
use serde_json::{Value as Json, json};

use super::fields::entry as id;
use super::partition::PartitionColumns;
use super::{DataContent, DataFile, Entry, EntryStatus, ManifestContent, ManifestFile, UNASSIGNED};
use crate::error::{Error, Result};
use crate::iceberg::avro::{ContainerWriter, put_bytes, put_length, put_long, put_optional};
use crate::iceberg::schema::Schema;
use crate::iceberg::spec::PartitionSpec;

/// What V1 requires as block size; readers ignore it.
const BLOCK_SIZE: i64 = 64 << 20;

/// What all entries of a new manifest share.
#[derive(Clone, Copy, Debug)]
pub struct ManifestSpec<'a> {
    /// The format version of the table.
    pub format_version: u8,
    /// The current schema.
    pub schema: &'a Schema,
    /// The spec of every file in the manifest.
    pub spec: &'a PartitionSpec,
    /// What the manifest lists.
    pub content: ManifestContent,
    /// The snapshot that writes it.
    pub snapshot_id: i64,
}

/// Writes a manifest that will be stored at `path`. Gives its bytes and its row for the manifest list, whose
/// sequence number is `UNASSIGNED` until the list is written. Errors: Unsupported for an unknown transform,
/// Internal for an entry that cannot be in this manifest.
pub fn write_manifest(
    spec: &ManifestSpec<'_>,
    path: &str,
    entries: &[Entry],
) -> Result<(Bytes, ManifestFile)> {
    let mut columns = PartitionColumns::new(spec.spec, spec.schema)?;
    let content = if spec.content == ManifestContent::Deletes {
        "deletes"
    } else {
        "data"
    };
    let mut header = vec![
        ("schema", spec.schema.to_json().to_string()),
        ("schema-id", spec.schema.schema_id.to_string()),
        ("partition-spec", spec.spec.fields_json().to_string()),
        ("partition-spec-id", spec.spec.spec_id.to_string()),
        ("format-version", spec.format_version.to_string()),
    ];
    if spec.format_version > 1 {
        header.push(("content", content.to_owned()));
    }
    let mut writer = ContainerWriter::new(
        &entry_schema(spec.format_version, columns.avro_fields()),
        &header,
    );
    let mut totals = Totals::default();
    for entry in entries {
        check(spec, entry)?;
        totals.add(entry)?;
        let partition = columns.encode(&entry.data_file)?;
        writer.row(|out| put_entry(out, spec.format_version, entry, &partition))?;
    }
    let bytes = Bytes::from(writer.finish()?);
    let length =
        i64::try_from(bytes.len()).map_err(|_| Error::internal("a manifest is too long"))?;
    let manifest = ManifestFile {
        length,
        spec_id: spec.spec.spec_id,
        content: spec.content,
        sequence_number: UNASSIGNED,
        min_sequence_number: totals.min_sequence_number.unwrap_or(UNASSIGNED),
        added_files: Some(totals.added.0),
        existing_files: Some(totals.existing.0),
        deleted_files: Some(totals.deleted.0),
        added_rows: Some(totals.added.1),
        existing_rows: Some(totals.existing.1),
        deleted_rows: Some(totals.deleted.1),
        partitions: Some(columns.into_summaries()),
        ..ManifestFile::from_path(path, spec.snapshot_id)
    };
    Ok((bytes, manifest))
}

fn check(spec: &ManifestSpec<'_>, entry: &Entry) -> Result<()> {
    let file = &entry.data_file;
    let wrong = |what: &str| Err(Error::internal(format!("file {}: {what}", file.path)));
    if (file.content == DataContent::Data) != (spec.content == ManifestContent::Data) {
        return wrong("data and delete files never share a manifest");
    }
    if file.spec_id != spec.spec.spec_id {
        return wrong("its partition spec is not the manifest's");
    }
    if entry.status != EntryStatus::Added
        && spec.format_version > 1
        && entry.sequence_number.is_none()
    {
        return wrong("only added files inherit their sequence number");
    }
    if entry.snapshot_id.is_none() {
        return wrong("its snapshot is unknown");
    }
    Ok(())
}

#[derive(Default)]
struct Totals {
    added: (i64, i64),
    existing: (i64, i64),
    deleted: (i64, i64),
    min_sequence_number: Option<i64>,
}

impl Totals {
    fn add(&mut self, entry: &Entry) -> Result<()> {
        let rows = i64::try_from(entry.data_file.record_count)
            .map_err(|_| Error::internal("a file has too many rows"))?;
        let (files, total) = match entry.status {
            EntryStatus::Added => &mut self.added,
            EntryStatus::Existing => &mut self.existing,
            EntryStatus::Deleted => &mut self.deleted,
        };
        *files += 1;
        *total = total.saturating_add(rows);
        if let Some(number) = entry.sequence_number.filter(|_| entry.is_live()) {
            self.min_sequence_number = Some(
                self.min_sequence_number
                    .map_or(number, |min| min.min(number)),
            );
        }
        Ok(())
    }
}

/// A required Avro field with its Iceberg id.
pub(super) fn avro_field(id: i32, name: &str, ty: Json) -> Json {
    json!({"name": name, "type": ty, "field-id": id})
}

/// An optional Avro field with its Iceberg id.
pub(super) fn optional(id: i32, name: &str, ty: Json) -> Json {
    json!({"name": name, "type": ["null", ty], "default": null, "field-id": id})
}

fn id_map(key: i32, value: i32, ty: &str) -> Json {
    let pair = [
        avro_field(key, "key", json!("int")),
        avro_field(value, "value", json!(ty)),
    ];
    json!({"type": "array", "items": {"type": "record", "name": format!("k{key}_v{value}"), "fields": pair}, "logicalType": "map"})
}

fn list_of(element: i32, ty: &str) -> Json {
    json!({"type": "array", "items": ty, "element-id": element})
}

fn entry_schema(format_version: u8, partition: &[Json]) -> Json {
    let file =
        json!({"type": "record", "name": "r2", "fields": file_fields(format_version, partition)});
    let status = avro_field(id::STATUS, "status", json!("int"));
    let file = avro_field(id::DATA_FILE, "data_file", file);
    let fields = if format_version == 1 {
        vec![
            status,
            avro_field(id::SNAPSHOT_ID, "snapshot_id", json!("long")),
            file,
        ]
    } else {
        vec![
            status,
            optional(id::SNAPSHOT_ID, "snapshot_id", json!("long")),
            optional(id::SEQUENCE_NUMBER, "sequence_number", json!("long")),
            optional(
                id::FILE_SEQUENCE_NUMBER,
                "file_sequence_number",
                json!("long"),
            ),
            file,
        ]
    };
    json!({"type": "record", "name": "manifest_entry", "fields": fields})
}

fn file_fields(format_version: u8, partition: &[Json]) -> Vec<Json> {
    let mut fields = Vec::new();
    if format_version > 1 {
        fields.push(avro_field(id::CONTENT, "content", json!("int")));
    }
    fields.push(avro_field(id::FILE_PATH, "file_path", json!("string")));
    fields.push(avro_field(id::FILE_FORMAT, "file_format", json!("string")));
    let partition = json!({"type": "record", "name": "r102", "fields": partition});
    fields.push(avro_field(id::PARTITION, "partition", partition));
    fields.push(avro_field(id::RECORD_COUNT, "record_count", json!("long")));
    fields.push(avro_field(
        id::FILE_SIZE,
        "file_size_in_bytes",
        json!("long"),
    ));
    if format_version == 1 {
        fields.push(avro_field(
            id::BLOCK_SIZE,
            "block_size_in_bytes",
            json!("long"),
        ));
    }
    fields.extend(statistics_fields());
    if format_version > 1 {
        fields.push(optional(
            id::EQUALITY_IDS,
            "equality_ids",
            list_of(136, "int"),
        ));
    }
    fields.push(optional(id::SORT_ORDER_ID, "sort_order_id", json!("int")));
    if format_version > 2 {
        fields.push(optional(id::FIRST_ROW_ID, "first_row_id", json!("long")));
    }
    if format_version > 1 {
        fields.push(optional(
            id::REFERENCED_DATA_FILE,
            "referenced_data_file",
            json!("string"),
        ));
    }
    if format_version > 2 {
        fields.push(optional(
            id::CONTENT_OFFSET,
            "content_offset",
            json!("long"),
        ));
        fields.push(optional(
            id::CONTENT_SIZE,
            "content_size_in_bytes",
            json!("long"),
        ));
    }
    fields
}

fn statistics_fields() -> [Json; 8] {
    [
        optional(id::COLUMN_SIZES, "column_sizes", id_map(117, 118, "long")),
        optional(id::VALUE_COUNTS, "value_counts", id_map(119, 120, "long")),
        optional(
            id::NULL_VALUE_COUNTS,
            "null_value_counts",
            id_map(121, 122, "long"),
        ),
        optional(
            id::NAN_VALUE_COUNTS,
            "nan_value_counts",
            id_map(138, 139, "long"),
        ),
        optional(id::LOWER_BOUNDS, "lower_bounds", id_map(126, 127, "bytes")),
        optional(id::UPPER_BOUNDS, "upper_bounds", id_map(129, 130, "bytes")),
        optional(id::KEY_METADATA, "key_metadata", json!("bytes")),
        optional(id::SPLIT_OFFSETS, "split_offsets", list_of(133, "long")),
    ]
}

fn put_entry(out: &mut Vec<u8>, format_version: u8, entry: &Entry, partition: &[u8]) {
    let status = match entry.status {
        EntryStatus::Existing => 0,
        EntryStatus::Added => 1,
        EntryStatus::Deleted => 2,
    };
    put_long(out, status);
    if format_version == 1 {
        put_long(out, entry.snapshot_id.unwrap_or(UNASSIGNED));
    } else {
        put_optional(out, entry.snapshot_id, put_long);
        put_optional(out, entry.sequence_number, put_long);
        put_optional(out, entry.file_sequence_number, put_long);
    }
    put_file(out, format_version, &entry.data_file, partition);
}

fn put_file(out: &mut Vec<u8>, format_version: u8, file: &DataFile, partition: &[u8]) {
    if format_version > 1 {
        put_long(
            out,
            match file.content {
                DataContent::Data => 0,
                DataContent::PositionDeletes => 1,
                DataContent::EqualityDeletes => 2,
            },
        );
    }
    put_bytes(out, file.path.as_bytes());
    put_bytes(out, file.format.name().as_bytes());
    out.extend_from_slice(partition);
    // Both were checked to fit when the totals were made, or came from a long.
    put_long(out, i64::try_from(file.record_count).unwrap_or(i64::MAX));
    put_long(
        out,
        i64::try_from(file.file_size_in_bytes).unwrap_or(i64::MAX),
    );
    if format_version == 1 {
        put_long(out, BLOCK_SIZE);
    }
    let maps = [
        &file.column_sizes,
        &file.value_counts,
        &file.null_value_counts,
        &file.nan_value_counts,
    ];
    let encoded = maps
        .into_iter()
        .map(|m| m.as_encoded())
        .chain([&file.lower_bounds, &file.upper_bounds].map(|m| m.as_encoded()));
    encoded.for_each(|map| put_optional(out, map, |out, bytes| out.extend_from_slice(bytes)));
    put_optional(out, file.key_metadata.as_deref(), put_bytes);
    put_optional(out, file.split_offsets.as_deref(), put_longs);
    if format_version > 1 {
        let ids = file
            .equality_ids
            .as_ref()
            .map(|ids| ids.iter().map(|id| i64::from(*id)).collect::<Vec<_>>());
        put_optional(out, ids.as_deref(), put_longs);
    }
    put_optional(out, file.sort_order_id.map(i64::from), put_long);
    if format_version > 2 {
        put_optional(out, file.first_row_id, put_long);
    }
    if format_version > 1 {
        put_optional(
            out,
            file.referenced_data_file.as_deref().map(str::as_bytes),
            put_bytes,
        );
    }
    if format_version > 2 {
        put_optional(out, file.content_offset, put_long);
        put_optional(out, file.content_size_in_bytes, put_long);
    }
}

fn put_longs(out: &mut Vec<u8>, longs: &[i64]) {
    if !longs.is_empty() {
        put_length(out, longs.len());
        longs.iter().for_each(|long| put_long(out, *long));
    }
    put_long(out, 0);
}

/// A legal Avro name for `name`, by Java's rule for characters (`-` becomes `_x2D`), never one that is taken.
pub(super) fn sanitised(name: &str, taken: &mut BTreeSet<String>) -> String {
    let mut legal = String::new();
    for (i, unit) in name.encode_utf16().enumerate() {
        match u8::try_from(unit).map(char::from) {
            Ok(c) if c.is_ascii_alphabetic() || c == '_' || (c.is_ascii_digit() && i > 0) => {
                legal.push(c)
            }
            Ok(c) if c.is_ascii_digit() => {
                legal.push('_');
                legal.push(c);
            }
            _ => legal.push_str(&format!("_x{unit:X}")),
        }
    }
    if legal.is_empty() {
        legal.push('_');
    }
    while !taken.insert(legal.clone()) {
        legal.push('_');
    }
    legal
}
