//! Manifest lists: reading in every format version, writing in the table's.

use bytes::Bytes;
use serde_json::{Value as Json, json};

use super::fields::list as id;
use super::write::{avro_field, optional};
use super::{FieldSummary, ManifestContent, ManifestFile, UNASSIGNED};
use crate::error::{Error, Result};
use crate::iceberg::avro::{
    AvroField, AvroType, Container, ContainerWriter, Cursor, put_bytes, put_length, put_long,
    put_optional,
};

/// Which snapshot a manifest list belongs to.
#[derive(Clone, Copy, Debug)]
pub struct ListSpec {
    /// The format version of the table.
    pub format_version: u8,
    /// The snapshot.
    pub snapshot_id: i64,
    /// Its parent.
    pub parent_snapshot_id: Option<i64>,
    /// Its sequence number, which new manifests take; 0 in V1 tables.
    pub sequence_number: i64,
    /// V3: the table's next row id.
    pub next_row_id: Option<i64>,
}

/// A manifest list ready to be stored.
#[derive(Clone, Debug)]
pub struct WrittenList {
    /// The bytes of the file.
    pub bytes: Bytes,
    /// V3: how many row ids its manifests took.
    pub added_rows: i64,
}

/// Reads a manifest list. Errors: Corrupt names the field.
pub fn read_manifest_list(bytes: &Bytes) -> Result<Vec<ManifestFile>> {
    let container = Container::open(bytes)?;
    let fields = container.root().fields("manifest list")?;
    for (needed, name) in [(id::PATH, "manifest_path"), (id::LENGTH, "manifest_length")] {
        if !fields.iter().any(|f| f.id == Some(needed)) {
            return Err(Error::corrupt(format!(
                "manifest list: field {name} (id {needed}) is missing"
            )));
        }
    }
    let mut manifests = Vec::new();
    container.for_each_block(|rows, block| {
        let mut cursor = Cursor::new(&block);
        for _ in 0..rows {
            manifests.push(row(&mut cursor, fields)?);
        }
        match cursor.is_at_end() {
            true => Ok(()),
            false => Err(Error::corrupt(
                "manifest list: bytes are left after the last row of a block",
            )),
        }
    })?;
    Ok(manifests)
}

fn row(cursor: &mut Cursor<'_>, fields: &[AvroField]) -> Result<ManifestFile> {
    let mut manifest = ManifestFile {
        length: -1,
        spec_id: 0,
        added_snapshot_id: None,
        ..ManifestFile::from_path("", 0)
    };
    for field in fields {
        field_of(cursor, field, &mut manifest)?;
    }
    if manifest.path.is_empty() || manifest.length < 0 {
        return Err(Error::corrupt(
            "manifest list: a manifest has no path or no length",
        ));
    }
    Ok(manifest)
}

fn field_of(cursor: &mut Cursor<'_>, field: &AvroField, manifest: &mut ManifestFile) -> Result<()> {
    let ty = &field.ty;
    let Some(id) = field.id else {
        return cursor.skip(ty);
    };
    match id {
        id::PATH => manifest.path = cursor.optional_str(ty)?.unwrap_or_default().to_owned(),
        id::LENGTH => manifest.length = cursor.optional_long(ty)?.unwrap_or(-1),
        id::SPEC_ID => {
            let spec_id = i32::try_from(cursor.optional_long(ty)?.unwrap_or(0));
            manifest.spec_id = spec_id
                .map_err(|_| Error::corrupt("manifest list: partition_spec_id exceeds 32 bits"))?;
        }
        id::CONTENT => {
            manifest.content = match cursor.optional_long(ty)? {
                None | Some(0) => ManifestContent::Data,
                Some(1) => ManifestContent::Deletes,
                Some(other) => {
                    return Err(Error::corrupt(format!("manifest list: content is {other}")));
                }
            }
        }
        id::SEQUENCE_NUMBER => manifest.sequence_number = cursor.optional_long(ty)?.unwrap_or(0),
        id::MIN_SEQUENCE_NUMBER => {
            manifest.min_sequence_number = cursor.optional_long(ty)?.unwrap_or(0)
        }
        id::ADDED_SNAPSHOT_ID => manifest.added_snapshot_id = cursor.optional_long(ty)?,
        id::ADDED_FILES => manifest.added_files = cursor.optional_long(ty)?,
        id::EXISTING_FILES => manifest.existing_files = cursor.optional_long(ty)?,
        id::DELETED_FILES => manifest.deleted_files = cursor.optional_long(ty)?,
        id::ADDED_ROWS => manifest.added_rows = cursor.optional_long(ty)?,
        id::EXISTING_ROWS => manifest.existing_rows = cursor.optional_long(ty)?,
        id::DELETED_ROWS => manifest.deleted_rows = cursor.optional_long(ty)?,
        id::PARTITIONS => manifest.partitions = summaries(cursor, ty)?,
        id::KEY_METADATA => manifest.key_metadata = cursor.optional_bytes(ty)?.map(<[u8]>::to_vec),
        id::FIRST_ROW_ID => manifest.first_row_id = cursor.optional_long(ty)?,
        _ => cursor.skip(ty)?,
    }
    Ok(())
}

fn summaries(cursor: &mut Cursor<'_>, ty: &AvroType) -> Result<Option<Vec<FieldSummary>>> {
    let Some(present) = cursor.present(ty)? else {
        return Ok(None);
    };
    let AvroType::Array(item) = present else {
        cursor.skip(present)?;
        return Ok(None);
    };
    let fields = item.fields("manifest list: a partition summary")?;
    let mut summaries = Vec::new();
    cursor.items(|c| {
        let mut summary = FieldSummary {
            contains_null: true,
            contains_nan: None,
            lower_bound: None,
            upper_bound: None,
        };
        for field in fields {
            match field.id {
                Some(id::CONTAINS_NULL) => {
                    summary.contains_null = c.optional_bool(&field.ty)?.unwrap_or(true)
                }
                Some(id::CONTAINS_NAN) => summary.contains_nan = c.optional_bool(&field.ty)?,
                Some(id::LOWER_BOUND) => {
                    summary.lower_bound = c.optional_bytes(&field.ty)?.map(<[u8]>::to_vec)
                }
                Some(id::UPPER_BOUND) => {
                    summary.upper_bound = c.optional_bytes(&field.ty)?.map(<[u8]>::to_vec)
                }
                _ => c.skip(&field.ty)?,
            }
        }
        summaries.push(summary);
        Ok(())
    })?;
    Ok(Some(summaries))
}

/// Writes a manifest list. Manifests with `UNASSIGNED` sequence numbers take the snapshot's; V3 data
/// manifests without row ids take the next ones. Errors: Internal for a manifest that cannot be in this list.
pub fn write_manifest_list(spec: &ListSpec, manifests: &[ManifestFile]) -> Result<WrittenList> {
    // Lists of V1 may lack the counts that later versions require: unknown stays unknown.
    let counts_known = spec.format_version > 1
        && manifests
            .iter()
            .all(|m| counts(m).iter().all(Option::is_some));
    let parent = spec
        .parent_snapshot_id
        .map_or_else(|| "null".to_owned(), |id| id.to_string());
    let mut header = vec![
        ("snapshot-id", spec.snapshot_id.to_string()),
        ("parent-snapshot-id", parent),
    ];
    if spec.format_version > 1 {
        header.push(("sequence-number", spec.sequence_number.to_string()));
    }
    if let Some(first) = spec.next_row_id.filter(|_| spec.format_version > 2) {
        header.push(("first-row-id", first.to_string()));
    }
    header.push(("format-version", spec.format_version.to_string()));
    let mut writer = ContainerWriter::new(&list_schema(spec.format_version, counts_known), &header);
    let first_row_id = spec.next_row_id.unwrap_or(0);
    let mut next_row_id = first_row_id;
    for manifest in manifests {
        let manifest = assigned(spec, manifest, &mut next_row_id)?;
        writer.row(|out| put_manifest(out, spec.format_version, counts_known, &manifest))?;
    }
    Ok(WrittenList {
        bytes: writer.finish()?.into(),
        added_rows: next_row_id - first_row_id,
    })
}

fn counts(m: &ManifestFile) -> [Option<i64>; 6] {
    [
        m.added_files,
        m.existing_files,
        m.deleted_files,
        m.added_rows,
        m.existing_rows,
        m.deleted_rows,
    ]
}

fn assigned(
    spec: &ListSpec,
    manifest: &ManifestFile,
    next_row_id: &mut i64,
) -> Result<ManifestFile> {
    let mut manifest = manifest.clone();
    let wrong = |what: &str| {
        Err(Error::internal(format!(
            "manifest {}: {what}",
            manifest.path
        )))
    };
    if manifest.sequence_number == UNASSIGNED
        && manifest.added_snapshot_id != Some(spec.snapshot_id)
    {
        return wrong("no sequence number, but it is of another snapshot");
    }
    if manifest.spec_id < 0 || manifest.length <= 0 || manifest.added_snapshot_id.is_none() {
        return wrong("spec, length or snapshot is unknown");
    }
    if spec.format_version == 1 && manifest.content != ManifestContent::Data {
        return wrong("format version 1 has no delete files");
    }
    for number in [
        &mut manifest.sequence_number,
        &mut manifest.min_sequence_number,
    ] {
        if *number == UNASSIGNED {
            *number = spec.sequence_number;
        }
    }
    if spec.format_version > 2
        && manifest.content == ManifestContent::Data
        && manifest.first_row_id.is_none()
    {
        manifest.first_row_id = Some(*next_row_id);
        let (Some(added), Some(existing)) = (manifest.added_rows, manifest.existing_rows) else {
            return Err(Error::unsupported(format!(
                "manifest {} has no row counts, so its rows cannot get ids",
                manifest.path
            )));
        };
        let next = next_row_id
            .checked_add(added)
            .and_then(|n| n.checked_add(existing));
        *next_row_id =
            next.ok_or_else(|| Error::resource_exhausted("the table has no row ids left"))?;
    }
    Ok(manifest)
}

fn list_schema(format_version: u8, counts_known: bool) -> Json {
    let summary = json!({"type": "record", "name": "r508", "fields": [
        avro_field(id::CONTAINS_NULL, "contains_null", json!("boolean")),
        optional(id::CONTAINS_NAN, "contains_nan", json!("boolean")),
        optional(id::LOWER_BOUND, "lower_bound", json!("bytes")),
        optional(id::UPPER_BOUND, "upper_bound", json!("bytes")),
    ]});
    let mut fields = vec![
        avro_field(id::PATH, "manifest_path", json!("string")),
        avro_field(id::LENGTH, "manifest_length", json!("long")),
        avro_field(id::SPEC_ID, "partition_spec_id", json!("int")),
    ];
    if format_version > 1 {
        fields.push(avro_field(id::CONTENT, "content", json!("int")));
        fields.push(avro_field(
            id::SEQUENCE_NUMBER,
            "sequence_number",
            json!("long"),
        ));
        fields.push(avro_field(
            id::MIN_SEQUENCE_NUMBER,
            "min_sequence_number",
            json!("long"),
        ));
    }
    fields.push(avro_field(
        id::ADDED_SNAPSHOT_ID,
        "added_snapshot_id",
        json!("long"),
    ));
    let counts = [
        (id::ADDED_FILES, "added_files_count", "int"),
        (id::EXISTING_FILES, "existing_files_count", "int"),
        (id::DELETED_FILES, "deleted_files_count", "int"),
        (id::ADDED_ROWS, "added_rows_count", "long"),
        (id::EXISTING_ROWS, "existing_rows_count", "long"),
        (id::DELETED_ROWS, "deleted_rows_count", "long"),
    ];
    let field = if counts_known { avro_field } else { optional };
    fields.extend(
        counts
            .into_iter()
            .map(|(id, name, ty)| field(id, name, json!(ty))),
    );
    fields.push(optional(
        id::PARTITIONS,
        "partitions",
        json!({"type": "array", "items": summary, "element-id": id::PARTITION}),
    ));
    fields.push(optional(id::KEY_METADATA, "key_metadata", json!("bytes")));
    if format_version > 2 {
        fields.push(optional(id::FIRST_ROW_ID, "first_row_id", json!("long")));
    }
    json!({"type": "record", "name": "manifest_file", "fields": fields})
}

fn put_manifest(
    out: &mut Vec<u8>,
    format_version: u8,
    counts_known: bool,
    manifest: &ManifestFile,
) {
    put_bytes(out, manifest.path.as_bytes());
    put_long(out, manifest.length);
    put_long(out, i64::from(manifest.spec_id));
    if format_version > 1 {
        put_long(out, i64::from(manifest.content == ManifestContent::Deletes));
        put_long(out, manifest.sequence_number);
        put_long(out, manifest.min_sequence_number);
    }
    put_long(out, manifest.added_snapshot_id.unwrap_or(UNASSIGNED));
    for count in counts(manifest) {
        match count {
            Some(count) if counts_known => put_long(out, count),
            count => put_optional(out, count, put_long),
        }
    }
    put_optional(out, manifest.partitions.as_ref(), |out, summaries| {
        if !summaries.is_empty() {
            put_length(out, summaries.len());
            summaries
                .iter()
                .for_each(|summary| put_summary(out, summary));
        }
        put_long(out, 0);
    });
    put_optional(out, manifest.key_metadata.as_deref(), put_bytes);
    if format_version > 2 {
        put_optional(out, manifest.first_row_id, put_long);
    }
}

fn put_summary(out: &mut Vec<u8>, summary: &FieldSummary) {
    out.push(u8::from(summary.contains_null));
    put_optional(out, summary.contains_nan, |out, nan| {
        out.push(u8::from(nan))
    });
    put_optional(out, summary.lower_bound.as_deref(), put_bytes);
    put_optional(out, summary.upper_bound.as_deref(), put_bytes);
}
