//! Avro object container files, as far as Iceberg uses them: schemas with field ids, a cursor that
//! checks every length before it is used, and a writer. Knows nothing of manifests.

mod container;
mod cursor;
mod schema;
#[cfg(test)]
mod tests;
mod write;

pub(super) use container::Container;
pub(super) use cursor::Cursor;
pub(super) use schema::{AvroField, AvroType};
pub(super) use write::{ContainerWriter, put_bytes, put_length, put_long, put_optional};
