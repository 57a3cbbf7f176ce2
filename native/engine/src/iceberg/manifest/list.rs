//! Manifest lists.

use bytes::Bytes;

use super::ManifestFile;
use crate::error::{Error, Result};

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

/// Reads a manifest list.
pub fn read_manifest_list(_bytes: &Bytes) -> Result<Vec<ManifestFile>> {
    Err(Error::internal("reading manifest lists is not built yet"))
}

/// Writes a manifest list; manifests with `UNASSIGNED` sequence numbers take the snapshot's.
pub fn write_manifest_list(_spec: &ListSpec, _manifests: &[ManifestFile]) -> Result<WrittenList> {
    Err(Error::internal("writing manifest lists is not built yet"))
}
