//! Reading manifests.

use bytes::Bytes;

use super::{Entry, ManifestFile};
use crate::error::{Error, Result};

/// All entries of a manifest, deleted ones too, with everything inherited from `manifest`.
pub fn read_manifest(bytes: &Bytes, manifest: &ManifestFile) -> Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for_each_entry(bytes, manifest, |entry| {
        entries.push(entry);
        Ok(())
    })?;
    Ok(entries)
}

/// Calls `f` for each entry of a manifest in order.
pub fn for_each_entry(_bytes: &Bytes, _manifest: &ManifestFile, _f: impl FnMut(Entry) -> Result<()>) -> Result<()> {
    Err(Error::internal("reading manifests is not built yet"))
}
