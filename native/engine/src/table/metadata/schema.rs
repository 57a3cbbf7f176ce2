//! The columns of the metadata tables, with Iceberg's names, types and field ids. `readable_metrics` is left out: the bounds
//! stand encoded in `lower_bounds` and `upper_bounds`.

use super::MetadataKind::{self, *};
use crate::iceberg::document::Document;
use crate::iceberg::schema::{Field, Schema, Type};
use crate::iceberg::spec::{PartitionField, Transform};

/// The columns of a metadata table; those of files and partitions depend on the table's partition specs.
pub(super) fn of(kind: MetadataKind, document: &Document) -> Schema {
    let fields = match kind {
        Snapshots => snapshots(),
        History => history(),
        Refs => refs(),
        MetadataLogEntries => metadata_log_entries(),
        Files | DataFiles | DeleteFiles | AllFiles | AllDataFiles | AllDeleteFiles => {
            files(document)
        }
        Entries | AllEntries => entries(document),
        Manifests => manifests(),
        AllManifests => {
            let mut fields = manifests();
            fields.push(required(18, "reference_snapshot_id", Type::Long));
            fields.push(optional(19, "key_metadata", Type::Binary));
            fields
        }
        Partitions => partitions(document),
    };
    Schema {
        schema_id: 0,
        fields,
        identifier_field_ids: Vec::new(),
    }
}

fn required(id: i32, name: &str, ty: Type) -> Field {
    Field::new(id, name, true, ty)
}

fn optional(id: i32, name: &str, ty: Type) -> Field {
    Field::new(id, name, false, ty)
}

fn map(key: i32, value: i32, key_type: Type, value_type: Type) -> Type {
    Type::Map {
        key: Box::new(required(key, "key", key_type)),
        value: Box::new(required(value, "value", value_type)),
    }
}

fn list(id: i32, element: Type) -> Type {
    Type::List(Box::new(required(id, "element", element)))
}

fn snapshots() -> Vec<Field> {
    vec![
        required(1, "committed_at", Type::TimestampTz),
        required(2, "snapshot_id", Type::Long),
        optional(3, "parent_id", Type::Long),
        optional(4, "operation", Type::String),
        optional(5, "manifest_list", Type::String),
        optional(6, "summary", map(7, 8, Type::String, Type::String)),
    ]
}

fn history() -> Vec<Field> {
    vec![
        required(1, "made_current_at", Type::TimestampTz),
        required(2, "snapshot_id", Type::Long),
        optional(3, "parent_id", Type::Long),
        required(4, "is_current_ancestor", Type::Boolean),
    ]
}

fn refs() -> Vec<Field> {
    vec![
        required(1, "name", Type::String),
        required(2, "type", Type::String),
        required(3, "snapshot_id", Type::Long),
        optional(4, "max_reference_age_in_ms", Type::Long),
        optional(5, "min_snapshots_to_keep", Type::Int),
        optional(6, "max_snapshot_age_in_ms", Type::Long),
    ]
}

fn metadata_log_entries() -> Vec<Field> {
    vec![
        required(1, "timestamp", Type::TimestampTz),
        required(2, "file", Type::String),
        optional(3, "latest_snapshot_id", Type::Long),
        optional(4, "latest_schema_id", Type::Int),
        optional(5, "latest_sequence_number", Type::Long),
    ]
}

fn manifests() -> Vec<Field> {
    let summary = Type::Struct(vec![
        required(10, "contains_null", Type::Boolean),
        optional(11, "contains_nan", Type::Boolean),
        optional(12, "lower_bound", Type::String),
        optional(13, "upper_bound", Type::String),
    ]);
    vec![
        required(14, "content", Type::Int),
        required(1, "path", Type::String),
        required(2, "length", Type::Long),
        optional(3, "partition_spec_id", Type::Int),
        optional(4, "added_snapshot_id", Type::Long),
        optional(5, "added_data_files_count", Type::Int),
        optional(6, "existing_data_files_count", Type::Int),
        optional(7, "deleted_data_files_count", Type::Int),
        optional(15, "added_delete_files_count", Type::Int),
        optional(16, "existing_delete_files_count", Type::Int),
        optional(17, "deleted_delete_files_count", Type::Int),
        optional(8, "partition_summaries", list(9, summary)),
    ]
}

fn partitions(document: &Document) -> Vec<Field> {
    let mut fields = Vec::new();
    let partition = partition_fields(document);
    if !partition.is_empty() {
        fields.push(required(1, "partition", Type::Struct(partition)));
        fields.push(required(4, "spec_id", Type::Int));
    }
    fields.extend([
        required(2, "record_count", Type::Long),
        required(3, "file_count", Type::Int),
        required(11, "total_data_file_size_in_bytes", Type::Long),
        required(5, "position_delete_record_count", Type::Long),
        required(6, "position_delete_file_count", Type::Int),
        required(7, "equality_delete_record_count", Type::Long),
        required(8, "equality_delete_file_count", Type::Int),
        optional(9, "last_updated_at", Type::TimestampTz),
        optional(10, "last_updated_snapshot_id", Type::Long),
    ]);
    fields
}

fn entries(document: &Document) -> Vec<Field> {
    vec![
        required(0, "status", Type::Int),
        optional(1, "snapshot_id", Type::Long),
        optional(3, "sequence_number", Type::Long),
        optional(4, "file_sequence_number", Type::Long),
        required(2, "data_file", Type::Struct(files(document))),
    ]
}

fn files(document: &Document) -> Vec<Field> {
    let counts = |key, value| map(key, value, Type::Int, Type::Long);
    let bounds = |key, value| map(key, value, Type::Int, Type::Binary);
    let mut fields = vec![
        optional(134, "content", Type::Int),
        required(100, "file_path", Type::String),
        required(101, "file_format", Type::String),
        optional(141, "spec_id", Type::Int),
    ];
    let partition = partition_fields(document);
    if !partition.is_empty() {
        fields.push(required(102, "partition", Type::Struct(partition)));
    }
    fields.extend([
        required(103, "record_count", Type::Long),
        required(104, "file_size_in_bytes", Type::Long),
        optional(108, "column_sizes", counts(117, 118)),
        optional(109, "value_counts", counts(119, 120)),
        optional(110, "null_value_counts", counts(121, 122)),
        optional(137, "nan_value_counts", counts(138, 139)),
        optional(125, "lower_bounds", bounds(126, 127)),
        optional(128, "upper_bounds", bounds(129, 130)),
        optional(131, "key_metadata", Type::Binary),
        optional(132, "split_offsets", list(133, Type::Long)),
        optional(135, "equality_ids", list(136, Type::Int)),
        optional(140, "sort_order_id", Type::Int),
        optional(142, "first_row_id", Type::Long),
        optional(143, "referenced_data_file", Type::String),
        optional(144, "content_offset", Type::Long),
        optional(145, "content_size_in_bytes", Type::Long),
    ]);
    fields
}

/// The partition fields of all specs, by field id: the newest spec names a field, the newest that is not void types it.
pub(super) fn partition_fields(document: &Document) -> Vec<Field> {
    let mut specs: Vec<_> = document.specs().iter().collect();
    specs.sort_by_key(|spec| std::cmp::Reverse(spec.spec_id));
    let mut found: Vec<(Field, bool)> = Vec::new();
    for field in specs.iter().flat_map(|spec| &spec.fields) {
        let is_void = field.transform == Transform::Void;
        let ty = partition_type(field, document);
        match found
            .iter_mut()
            .find(|(known, _)| known.id == field.field_id)
        {
            Some((known, void)) if *void && !is_void => {
                known.ty = ty;
                *void = false;
            }
            Some(_) => {}
            None => {
                let taken = found.iter().any(|(known, _)| known.name == field.name);
                let name = if taken {
                    format!("{}_{}", field.name, field.field_id)
                } else {
                    field.name.clone()
                };
                found.push((optional(field.field_id, &name, ty), is_void));
            }
        }
    }
    let mut fields: Vec<Field> = found.into_iter().map(|(field, _)| field).collect();
    fields.sort_by_key(|field| field.id);
    fields
}

/// The type of a partition value; text for an unknown transform and for a column that no schema has any more.
pub(super) fn partition_type(field: &PartitionField, document: &Document) -> Type {
    let current = document.current_schema().ok();
    let source = field.source_id().and_then(|id| {
        let mut schemas = current.into_iter().chain(document.schemas().iter().rev());
        schemas.find_map(|schema| schema.field(id))
    });
    source
        .and_then(|source| field.transform.result_type(&source.ty))
        .filter(Type::is_primitive)
        .unwrap_or(Type::String)
}
