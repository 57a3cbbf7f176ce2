//! The Iceberg layer: metadata, manifests, schema rules, values, predicates. Bytes in, bytes out:
//! it opens no store and knows no index.

pub(crate) mod avro;
pub mod deletion_vector;
pub mod document;
pub mod features;
mod json;
pub mod manifest;
pub mod mapping;
pub mod metrics;
pub mod predicate;
pub mod prune;
pub(crate) mod puffin;
pub mod schema;
pub mod snapshot;
pub mod spec;
#[cfg(test)]
mod tests;
pub mod transform;
pub mod value;
