//! Scans of our tables inside the planner: filters become predicates of the one evaluator (law L2), splits become
//! partitions, searches merge their splits. Every scan reads the table's pinned snapshot.

mod exec;
mod filter;
mod literal;
mod metadata;
mod provider;
pub(crate) mod row_id;
mod search;
mod statistics;

pub(crate) use filter::conjuncts_of;
pub(crate) use literal::{EXTENSION_NAME_KEY, UUID_EXTENSION, is_uuid};
pub(crate) use metadata::metadata_provider;
pub(crate) use provider::{DIMENSION_KEY, TableScanProvider};
