//! Maintenance of a table's overlay: index definitions, and building segments for the files that have
//! none, as pieces that any process may build and one commit that publishes them.

mod build;
mod definition;

pub use build::{IndexBuildPlan, IndexPiece, SegmentMessage};
pub use definition::{IndexRequest, IndexStatus};
