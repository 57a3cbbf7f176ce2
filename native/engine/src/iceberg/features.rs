//! What this engine refuses to read, by name, instead of giving a wrong or short result.

#[cfg(test)]
mod tests;

use super::document::{Document, MAX_FORMAT_VERSION};
use super::manifest::{DataContent, Entry, FileFormat};
use crate::error::{Error, Result};

/// Refuses live files whose content this engine cannot apply. Errors: Unsupported names the file and the feature.
pub fn check_readable(document: &Document, entries: &[Entry]) -> Result<()> {
    let version = document.format_version();
    if version > MAX_FORMAT_VERSION {
        return Err(Error::unsupported(format!(
            "format version {version} is not supported (up to {MAX_FORMAT_VERSION})"
        )));
    }
    if document
        .raw("encryption-keys")
        .is_some_and(|keys| !matches!(keys.trim(), "[]" | "{}" | "null"))
    {
        return Err(Error::unsupported("encrypted tables are not supported"));
    }
    entries
        .iter()
        .filter(|entry| entry.is_live())
        .try_for_each(check_file)
}

fn check_file(entry: &Entry) -> Result<()> {
    let file = &entry.data_file;
    let refuse = |what: &str| {
        Err(Error::unsupported(format!(
            "{what} are not supported (file {})",
            file.path
        )))
    };
    match (file.content, &file.format) {
        (DataContent::PositionDeletes, FileFormat::Puffin)
        | (_, FileFormat::Parquet | FileFormat::Orc | FileFormat::Avro) => {}
        (_, other) => return refuse(&format!("files in format {}", other.name())),
    }
    if entry.sequence_number.is_none() {
        return Err(Error::corrupt(format!(
            "file {} has no sequence number",
            file.path
        )));
    }
    Ok(())
}
