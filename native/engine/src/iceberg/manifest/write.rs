//! Writing manifests.

use bytes::Bytes;

use super::{Entry, ManifestContent, ManifestFile};
use crate::error::{Error, Result};
use crate::iceberg::schema::Schema;
use crate::iceberg::spec::PartitionSpec;

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
/// sequence number is `UNASSIGNED` until the list is written.
pub fn write_manifest(_spec: &ManifestSpec<'_>, _path: &str, _entries: &[Entry]) -> Result<(Bytes, ManifestFile)> {
    Err(Error::internal("writing manifests is not built yet"))
}
