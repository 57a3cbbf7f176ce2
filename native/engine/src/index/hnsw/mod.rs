//! The index kind `hnsw`: nearest neighbours by one flat graph over the stored `f32` vectors, walked from
//! a sampled set of entries. Owns the graph, its blob and its search; knows no table. Building gives the
//! same bytes for any number of threads and any instruction set. Results are candidates: which ones are
//! found is approximate, their distances are exact, and there are never fewer than allowed rows give.

mod build;
mod builder;
mod layout;
mod parameter;
mod pool;
mod prune;
mod search;
mod space;
mod walk;

use std::collections::BTreeMap;
use std::num::NonZero;
use std::sync::Arc;

use arrow::datatypes::FieldRef;
use benostream_gpu_ann::Isa;
pub use benostream_gpu_ann::Metric;

use self::builder::HnswBuilder;
use self::layout::BLOB_KIND;
use self::parameter::{Parameters, check_column};
use self::search::HnswIndex;
use crate::error::{Error, Result};
use crate::index::{Blob, IndexBuilder, IndexDefinition, IndexKind, OpenIndex};

/// Places in the pool of a search that names none: recall@10 above 0.95 on common data.
pub const DEFAULT_EF_SEARCH: usize = 100;
/// Threads of a build at most.
const MAX_THREADS: usize = 16;

/// The kind `hnsw`.
#[derive(Clone, Copy, Debug, Default)]
pub struct HnswKind {
    threads: Option<NonZero<usize>>,
}

impl HnswKind {
    /// A kind that builds on as many threads as the machine offers.
    pub const fn new() -> Self {
        HnswKind { threads: None }
    }

    /// A kind that builds on that many threads; the bytes are the same.
    pub const fn with_threads(threads: NonZero<usize>) -> Self {
        HnswKind {
            threads: Some(threads),
        }
    }
}

impl IndexKind for HnswKind {
    fn name(&self) -> &'static str {
        "hnsw"
    }

    fn resolve(
        &self,
        fields: &[FieldRef],
        parameters: &BTreeMap<String, String>,
    ) -> Result<BTreeMap<String, String>> {
        let fixed = check_column(fields)?;
        let mut parsed = Parameters::parse(parameters)?;
        match (fixed, parsed.dimension) {
            (Some(fixed), Some(given)) if fixed != given => {
                return Err(Error::invalid_input(format!(
                    "index parameter dimension is {given} but the column holds vectors of {fixed}"
                )));
            }
            _ => parsed.dimension = parsed.dimension.or(fixed),
        }
        Ok(parsed.to_map())
    }

    fn builder(
        &self,
        definition: &IndexDefinition,
        fields: &[FieldRef],
    ) -> Result<Box<dyn IndexBuilder>> {
        check_column(fields)?;
        let parameters = Parameters::parse(&definition.parameters)?;
        let threads = self
            .threads
            .or_else(|| std::thread::available_parallelism().ok())
            .map_or(1, NonZero::get)
            .min(MAX_THREADS);
        Ok(Box::new(HnswBuilder::new(parameters, threads, Isa::best())))
    }

    fn open(&self, definition: &IndexDefinition, blobs: &[Blob], rows: u32) -> Result<OpenIndex> {
        let blob = blobs.iter().find(|blob| blob.kind == BLOB_KIND);
        let blob = blob.ok_or_else(|| {
            Error::corrupt(format!(
                "segment of index {} has no blob {BLOB_KIND}",
                definition.name
            ))
        })?;
        let index = HnswIndex::open(&blob.data, rows, Isa::best())
            .map_err(|error| error.with("index", &definition.name))?;
        Ok(OpenIndex::Vector(Arc::new(index)))
    }
}

#[cfg(test)]
mod tests;
