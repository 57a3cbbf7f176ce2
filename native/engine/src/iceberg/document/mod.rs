//! Table metadata as a document: the raw JSON of every top-level key, and typed views that read it.
//! A change touches only the keys it names; every other key, known or not, stays byte for byte. Forms
//! of format version 1 (one schema, one spec, no refs) are read through the same views.

mod create;
mod raw;
#[cfg(test)]
mod tests;
mod update;

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::json::Object;
use super::schema::Schema;
use super::snapshot::{Snapshot, SnapshotRef};
use super::spec::PartitionSpec;
use crate::error::{Error, Result};

pub use create::NewTable;
pub use update::{Commit, Update};

/// The newest format version this engine reads.
pub const MAX_FORMAT_VERSION: u8 = 3;

/// The branch that readers see.
pub const MAIN_BRANCH: &str = "main";

/// The table property that holds the name mapping of files without field ids.
pub const NAME_MAPPING: &str = "schema.name-mapping.default";

/// The keys that the views read; all others are only kept.
const KEYS: &[&str] = &[
    "format-version",
    "table-uuid",
    "location",
    "last-sequence-number",
    "last-updated-ms",
    "last-column-id",
    "next-row-id",
    "schema",
    "schemas",
    "current-schema-id",
    "partition-spec",
    "partition-specs",
    "default-spec-id",
    "properties",
    "snapshots",
    "current-snapshot-id",
    "refs",
    "snapshot-log",
    "metadata-log",
];

/// What versions 2 and 3 require beside what every version does.
const REQUIRED_FROM_V2: &[&str] = &[
    "table-uuid",
    "last-sequence-number",
    "schemas",
    "current-schema-id",
    "partition-specs",
    "default-spec-id",
    "last-partition-id",
    "sort-orders",
    "default-sort-order-id",
];

/// When a snapshot became current.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnapshotLogEntry {
    /// Which snapshot.
    pub snapshot_id: i64,
    /// When.
    pub timestamp_ms: i64,
}

/// An earlier metadata file of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetadataLogEntry {
    /// Its location.
    pub metadata_file: String,
    /// When it was written.
    pub timestamp_ms: i64,
}

/// One version of a table's metadata. Cheap views, no interior change: an update gives a new document.
#[derive(Clone, Debug)]
pub struct Document {
    keys: raw::Keys,
    format_version: u8,
    table_uuid: Option<String>,
    location: String,
    last_sequence_number: i64,
    last_updated_ms: i64,
    last_column_id: i32,
    next_row_id: Option<i64>,
    schemas: Vec<Schema>,
    current_schema: usize,
    specs: Vec<PartitionSpec>,
    default_spec: usize,
    properties: BTreeMap<String, String>,
    snapshots: Vec<Snapshot>,
    current_snapshot_id: Option<i64>,
    refs: BTreeMap<String, SnapshotRef>,
    snapshot_log: Vec<SnapshotLogEntry>,
    metadata_log: Vec<MetadataLogEntry>,
}

impl Document {
    /// Reads the JSON of a metadata file, decompressed. Errors: Corrupt names the key; Unsupported for a
    /// newer format version.
    pub fn parse(bytes: &[u8]) -> Result<Document> {
        Document::from_keys(raw::Keys::parse(bytes)?)
    }

    /// The JSON to write.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.keys.to_bytes()
    }

    fn from_keys(keys: raw::Keys) -> Result<Document> {
        let view = keys.view(KEYS)?;
        let object = Object::new(&view, "table metadata")?;
        let format_version = object.i64("format-version")?;
        let format_version = match u8::try_from(format_version) {
            Ok(0) | Err(_) => {
                return Err(Error::corrupt(format!(
                    "table metadata: format-version is {format_version}"
                )));
            }
            Ok(v) if v > MAX_FORMAT_VERSION => {
                return Err(Error::unsupported(format!(
                    "format version {v} is not supported (up to {MAX_FORMAT_VERSION})"
                )));
            }
            Ok(v) => v,
        };
        keys.require(format_version)?;
        let (schemas, current_schema) = schemas(&object)?;
        let (specs, default_spec) = specs(&object, format_version)?;
        let snapshots = list(&object, "snapshots", Snapshot::from_json)?;
        let current_snapshot_id = object
            .opt_i64("current-snapshot-id")?
            .filter(|id| *id != -1);
        if let Some(id) = current_snapshot_id
            && !snapshots.iter().any(|s| s.snapshot_id == id)
        {
            return Err(Error::corrupt(format!(
                "table metadata: current-snapshot-id {id} is not among the snapshots"
            )));
        }
        let bare = |snapshot: &&Snapshot| snapshot.manifest_list.is_none();
        if format_version > 1
            && let Some(snapshot) = snapshots.iter().find(bare)
        {
            return Err(Error::corrupt(format!(
                "table metadata: snapshot {} has no manifest-list",
                snapshot.snapshot_id
            )));
        }
        Ok(Document {
            format_version,
            table_uuid: object.opt_str("table-uuid")?.map(str::to_owned),
            location: object.str("location")?.trim_end_matches('/').to_owned(),
            last_sequence_number: object.opt_i64("last-sequence-number")?.unwrap_or(0),
            last_updated_ms: object.i64("last-updated-ms")?,
            last_column_id: object.i32("last-column-id")?,
            next_row_id: object.opt_i64("next-row-id")?,
            schemas,
            current_schema,
            specs,
            default_spec,
            properties: object.strings("properties")?,
            refs: refs(&object, current_snapshot_id)?,
            snapshots,
            current_snapshot_id,
            snapshot_log: list(&object, "snapshot-log", snapshot_log_entry)?,
            metadata_log: list(&object, "metadata-log", metadata_log_entry)?,
            keys,
        })
    }

    /// The format version: 1, 2 or 3.
    pub fn format_version(&self) -> u8 {
        self.format_version
    }

    /// The table's identity; old V1 tables have none.
    pub fn table_uuid(&self) -> Option<&str> {
        self.table_uuid.as_deref()
    }

    /// The base location, without a slash at the end.
    pub fn location(&self) -> &str {
        &self.location
    }

    /// The highest sequence number given out.
    pub fn last_sequence_number(&self) -> i64 {
        self.last_sequence_number
    }

    /// When this metadata was written.
    pub fn last_updated_ms(&self) -> i64 {
        self.last_updated_ms
    }

    /// The highest field id given out.
    pub fn last_column_id(&self) -> i32 {
        self.last_column_id
    }

    /// V3: the next row id to give out.
    pub fn next_row_id(&self) -> Option<i64> {
        self.next_row_id
    }

    /// All schemas.
    pub fn schemas(&self) -> &[Schema] {
        &self.schemas
    }

    /// The schema with this id.
    pub fn schema(&self, schema_id: i32) -> Option<&Schema> {
        self.schemas.iter().find(|s| s.schema_id == schema_id)
    }

    /// The schema of new reads and writes. Errors: Internal only if the document was built wrongly.
    pub fn current_schema(&self) -> Result<&Schema> {
        self.schemas
            .get(self.current_schema)
            .ok_or_else(|| Error::internal("table metadata without a current schema"))
    }

    /// The schema that a reader of this snapshot sees: its own where it names one, else the current.
    pub fn schema_of(&self, snapshot: &Snapshot) -> Result<&Schema> {
        match snapshot.schema_id.and_then(|id| self.schema(id)) {
            Some(schema) => Ok(schema),
            None => self.current_schema(),
        }
    }

    /// All partition specs.
    pub fn specs(&self) -> &[PartitionSpec] {
        &self.specs
    }

    /// The spec with this id.
    pub fn spec(&self, spec_id: i32) -> Option<&PartitionSpec> {
        self.specs.iter().find(|s| s.spec_id == spec_id)
    }

    /// The spec of new files. Errors: Internal only if the document was built wrongly.
    pub fn default_spec(&self) -> Result<&PartitionSpec> {
        self.specs
            .get(self.default_spec)
            .ok_or_else(|| Error::internal("table metadata without a partition spec"))
    }

    /// The table properties.
    pub fn properties(&self) -> &BTreeMap<String, String> {
        &self.properties
    }

    /// All snapshots, in the order of the file.
    pub fn snapshots(&self) -> &[Snapshot] {
        &self.snapshots
    }

    /// The snapshot with this id.
    pub fn snapshot(&self, snapshot_id: i64) -> Option<&Snapshot> {
        self.snapshots.iter().find(|s| s.snapshot_id == snapshot_id)
    }

    /// The snapshot that readers see; None for a table without one.
    pub fn current_snapshot(&self) -> Option<&Snapshot> {
        self.snapshot(self.current_snapshot_id?)
    }

    /// Branches and tags, `main` included.
    pub fn refs(&self) -> &BTreeMap<String, SnapshotRef> {
        &self.refs
    }

    /// When which snapshot became current.
    pub fn snapshot_log(&self) -> &[SnapshotLogEntry] {
        &self.snapshot_log
    }

    /// Earlier metadata files, oldest first.
    pub fn metadata_log(&self) -> &[MetadataLogEntry] {
        &self.metadata_log
    }

    /// The raw JSON of a top-level key.
    pub fn raw(&self, key: &str) -> Option<&str> {
        self.keys.get(key)
    }

    /// A snapshot id that no snapshot has, from a source of random bits.
    pub fn unused_snapshot_id(&self, mut random: impl FnMut() -> u64) -> i64 {
        loop {
            let id = (random() >> 1).cast_signed();
            if id > 0 && self.snapshot(id).is_none() {
                return id;
            }
        }
    }
}

impl raw::Keys {
    /// Errors: Corrupt for a key that the format version requires and that is not there.
    fn require(&self, format_version: u8) -> Result<()> {
        let from_v2 = REQUIRED_FROM_V2.iter().filter(|_| format_version > 1);
        let from_v3 = ["next-row-id"].iter().filter(|_| format_version > 2);
        for key in from_v2.chain(from_v3) {
            if self.get(key).is_none_or(|text| text == "null") {
                return Err(Error::corrupt(format!(
                    "table metadata: key '{key}' is missing, which format version {format_version} requires"
                )));
            }
        }
        Ok(())
    }
}

fn list<T>(object: &Object<'_>, key: &str, read: impl Fn(&Json) -> Result<T>) -> Result<Vec<T>> {
    object
        .opt_array(key)?
        .unwrap_or_default()
        .iter()
        .map(read)
        .collect()
}

fn schemas(object: &Object<'_>) -> Result<(Vec<Schema>, usize)> {
    let mut schemas = list(object, "schemas", Schema::from_json)?;
    if schemas.is_empty() {
        schemas.push(Schema::from_json(object.required("schema")?)?);
        return Ok((schemas, 0));
    }
    if object.get("current-schema-id").is_none()
        && let Some(only) = object.get("schema")
    {
        let schema = Schema::from_json(only)?;
        let at = schemas
            .iter()
            .position(|s| *s == schema)
            .unwrap_or(schemas.len());
        if at == schemas.len() {
            schemas.push(schema);
        }
        return Ok((schemas, at));
    }
    let current = object.i32("current-schema-id")?;
    let at = schemas.iter().position(|s| s.schema_id == current);
    let at = at.ok_or_else(|| {
        Error::corrupt(format!(
            "table metadata: current-schema-id {current} is not among the schemas"
        ))
    })?;
    Ok((schemas, at))
}

fn specs(object: &Object<'_>, format_version: u8) -> Result<(Vec<PartitionSpec>, usize)> {
    let mut specs = list(object, "partition-specs", PartitionSpec::from_json)?;
    if specs.is_empty() {
        specs.push(PartitionSpec::from_fields(
            0,
            object.array("partition-spec")?,
        )?);
        return Ok((specs, 0));
    }
    let newest = specs.iter().map(|s| s.spec_id).max();
    let default = match object
        .opt_i32("default-spec-id")?
        .or(newest.filter(|_| format_version == 1))
    {
        Some(id) => id,
        None => return Err(object.wrong("default-spec-id", "a 32-bit integer")),
    };
    let at = specs.iter().position(|s| s.spec_id == default);
    let at = at.ok_or_else(|| {
        Error::corrupt(format!(
            "table metadata: default-spec-id {default} is not among the partition-specs"
        ))
    })?;
    Ok((specs, at))
}

fn refs(object: &Object<'_>, current: Option<i64>) -> Result<BTreeMap<String, SnapshotRef>> {
    let mut refs = BTreeMap::new();
    if let Some(value) = object.get("refs") {
        let map = value
            .as_object()
            .ok_or_else(|| object.wrong("refs", "an object"))?;
        for (name, json) in map {
            let entry = Object::new(json, "ref").map_err(|e| e.with("ref", name))?;
            let is_branch = entry.str("type")? == "branch";
            refs.insert(
                name.clone(),
                SnapshotRef {
                    snapshot_id: entry.i64("snapshot-id")?,
                    is_branch,
                },
            );
        }
    }
    if let Some(main) = refs.get(MAIN_BRANCH)
        && current != Some(main.snapshot_id)
    {
        let current = current.map_or_else(|| "not set".to_owned(), |id| id.to_string());
        return Err(Error::corrupt(format!(
            "table metadata: current-snapshot-id is {current}, the branch main is at {}",
            main.snapshot_id
        )));
    }
    if let Some(snapshot_id) = current {
        refs.insert(
            MAIN_BRANCH.to_owned(),
            SnapshotRef {
                snapshot_id,
                is_branch: true,
            },
        );
    }
    Ok(refs)
}

fn snapshot_log_entry(json: &Json) -> Result<SnapshotLogEntry> {
    let object = Object::new(json, "snapshot-log entry")?;
    Ok(SnapshotLogEntry {
        snapshot_id: object.i64("snapshot-id")?,
        timestamp_ms: object.i64("timestamp-ms")?,
    })
}

fn metadata_log_entry(json: &Json) -> Result<MetadataLogEntry> {
    let object = Object::new(json, "metadata-log entry")?;
    Ok(MetadataLogEntry {
        metadata_file: object.str("metadata-file")?.to_owned(),
        timestamp_ms: object.i64("timestamp-ms")?,
    })
}
