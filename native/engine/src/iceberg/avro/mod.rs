//! Avro object container files, as far as Iceberg uses them: schemas with field ids, a cursor that
//! checks every length before it is used, and a writer. Knows nothing of manifests and of data files.

mod container;
mod cursor;
mod schema;
#[cfg(test)]
mod tests;
mod write;

pub(crate) use container::{Container, decompress};
pub(crate) use cursor::Cursor;
pub(crate) use schema::{AvroField, AvroType};
pub(super) use write::{ContainerWriter, put_bytes, put_length, put_long, put_optional};
