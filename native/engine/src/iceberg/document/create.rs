//! The metadata of a new table.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};
use uuid::Uuid;

use super::{Document, raw::Keys};
use crate::error::{Error, Result};
use crate::iceberg::schema::Schema;
use crate::iceberg::spec::PartitionSpec;

/// What a new table needs. Its format version is 2.
#[derive(Clone, Debug)]
pub struct NewTable {
    /// The table's identity.
    pub table_uuid: Uuid,
    /// The base location.
    pub location: String,
    /// The columns, ids assigned.
    pub schema: Schema,
    /// The partition spec.
    pub spec: PartitionSpec,
    /// Table properties.
    pub properties: BTreeMap<String, String>,
    /// The present time.
    pub now_ms: i64,
}

impl Document {
    /// The first metadata of a table. Errors: Unsupported for a column type that this engine cannot write.
    pub fn create(table: &NewTable) -> Result<Document> {
        if let Some(field) = table.schema.fields.iter().find(|f| f.ty.is_read_only()) {
            return Err(Error::unsupported(format!(
                "column '{}' of type {} is not supported",
                field.name, field.ty
            )));
        }
        let mut keys = Keys::new();
        let members: [(&str, Json); 17] = [
            ("format-version", 2.into()),
            ("table-uuid", table.table_uuid.to_string().into()),
            ("location", table.location.trim_end_matches('/').into()),
            ("last-sequence-number", 0.into()),
            ("last-updated-ms", table.now_ms.into()),
            ("last-column-id", table.schema.highest_field_id().into()),
            ("current-schema-id", table.schema.schema_id.into()),
            ("schemas", json!([table.schema.to_json()])),
            ("default-spec-id", table.spec.spec_id.into()),
            ("partition-specs", json!([table.spec.to_json()])),
            ("last-partition-id", table.spec.highest_field_id().into()),
            ("default-sort-order-id", 0.into()),
            ("sort-orders", json!([{"order-id": 0, "fields": []}])),
            ("properties", json!(table.properties)),
            ("current-snapshot-id", (-1).into()),
            ("refs", json!({})),
            ("snapshots", json!([])),
        ];
        for (key, value) in &members {
            keys.set(key, value)?;
        }
        for key in ["statistics", "snapshot-log", "metadata-log"] {
            keys.set(key, &json!([]))?;
        }
        Document::from_keys(keys)
    }
}
