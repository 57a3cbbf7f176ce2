//! The `bitmap` kind: which rows hold which value, as one sorted dictionary with a row set per entry. Exact for
//! every operator up to 65,536 distinct values a segment; beyond that neighbouring values share an entry, and
//! values longer than 256 bytes are kept by their prefix: such entries answer "maybe". Never wrong, only coarser.

mod format;
mod key;
mod reader;
mod writer;

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::datatypes::FieldRef;

use self::key::KeyType;
use super::{Blob, IndexBuilder, IndexDefinition, IndexKind, OpenIndex};
use crate::error::{Error, Result};
use crate::iceberg::schema::type_name;

/// The kind `bitmap`.
pub struct Bitmap;

impl IndexKind for Bitmap {
    fn name(&self) -> &'static str {
        "bitmap"
    }

    fn resolve(
        &self,
        fields: &[FieldRef],
        parameters: &BTreeMap<String, String>,
    ) -> Result<BTreeMap<String, String>> {
        key_type(fields)?;
        match parameters.keys().next() {
            Some(key) => Err(Error::invalid_input(format!(
                "unknown option {key}; index kind bitmap has no options"
            ))),
            None => Ok(BTreeMap::new()),
        }
    }

    fn builder(
        &self,
        _definition: &IndexDefinition,
        fields: &[FieldRef],
    ) -> Result<Box<dyn IndexBuilder>> {
        Ok(Box::new(writer::BitmapBuilder::new(
            key_type(fields)?,
            format::ENTRY_COUNT_TARGET,
        )))
    }

    fn open(&self, definition: &IndexDefinition, blobs: &[Blob], rows: u32) -> Result<OpenIndex> {
        let [column] = definition.columns.as_slice() else {
            return Err(Error::corrupt(format!(
                "bitmap index {} is not defined on one column",
                definition.name
            )));
        };
        Ok(OpenIndex::Scalar(Arc::new(reader::BitmapReader::open(
            *column, blobs, rows,
        )?)))
    }
}

fn key_type(fields: &[FieldRef]) -> Result<KeyType> {
    let [field] = fields else {
        return Err(Error::invalid_input(format!(
            "index kind bitmap takes exactly one column, not {}",
            fields.len()
        )));
    };
    KeyType::of(field.data_type()).ok_or_else(|| {
        Error::invalid_input(format!(
            "index kind bitmap takes a column of a primitive type; {} is {}",
            field.name(),
            type_name(field.data_type())
        ))
    })
}

#[cfg(test)]
mod oracle;
#[cfg(test)]
mod tests;
