//! BenoStreamDB: an index-overlay engine for Apache Iceberg tables. This crate is the whole database; the
//! outer crates (ABI, command line, servers) are thin surfaces over what is re-exported here.
//! Module dependencies point down only; see `docs/ARCHITECTURE.md`.

pub mod catalog;
mod error;
pub mod iceberg;
pub mod index;
pub mod storage;

pub use error::{Error, ErrorKind, Result};
