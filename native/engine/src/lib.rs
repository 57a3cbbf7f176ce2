//! BenoStreamDB: an index-overlay engine for Apache Iceberg tables. This crate is the whole database; the
//! outer crates (ABI, command line, servers) are thin surfaces over what is re-exported here.
//! Module dependencies point down only; see `docs/ARCHITECTURE.md`.
#![cfg_attr(
    test,
    allow(
        clippy::cast_possible_truncation,
        clippy::cast_possible_wrap,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        clippy::indexing_slicing,
        reason = "tests work on small numbers"
    )
)]

pub mod catalog;
mod clock;
mod error;
pub mod iceberg;
pub mod index;
pub mod maintain;
mod search;
pub mod session;
pub mod sql;
pub mod storage;
pub mod table;
mod telemetry;
mod threads;

pub use catalog::TableRef;
pub use error::{Error, ErrorKind, Result};
pub use iceberg::predicate::{CompareOp, MatchOp, Predicate};
pub use iceberg::schema::{DOC_KEY, Field as IcebergField, Type as IcebergType};
pub use iceberg::value::Value;
pub use maintain::{IndexBuildPlan, IndexPiece, IndexRequest, IndexStatus, SegmentMessage};
pub use session::{Session, SessionOptions};
pub use sql::{QueryResult, SqlStatement, parse_statements};
pub use storage::testing;
pub use table::{
    AppendedFile, AsOf, Batches, ColumnStatistics, CommitMessage, CommitOperation, CommitOutcome,
    CommitRequest, Environment, FileWindow, MetadataKind, MetadataTable, Metric, NullDistance,
    RangeRows, ScanPlan, ScanReport, ScanRequest, SearchMode, SearchRequest, SnapshotRange, Split,
    Table, TableWriter, TextSearch, VectorSearch,
};
pub use telemetry::set_warning_sink;
pub use threads::start_runtime;
