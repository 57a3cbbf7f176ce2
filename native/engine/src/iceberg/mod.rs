//! The Iceberg layer: metadata, manifests, schema rules, values, predicates. Bytes in, bytes out:
//! it opens no store and knows no index.

pub mod predicate;
pub mod value;
