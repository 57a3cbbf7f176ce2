//! Collects vectors row by row, sorts out what cannot stand in the graph, and writes the segment.
//! Rows with equal vectors share one node: otherwise a crowd of duplicates would fill each other's lists
//! and hide the rest.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use arrow::array::{Array, ArrayRef, AsArray, Float32Array, RecordBatch};
use arrow::datatypes::{DataType, Float32Type};
use benostream_gpu_ann::{AlignedFloats, Isa, Matrix, padded_length};
use xxhash_rust::xxh3::xxh3_64;

use super::build::{BuiltGraph, Shape, build};
use super::layout::{BLOB_KIND, Parts, encode};
use super::parameter::{MAX_DIMENSION, Parameters};
use super::pool::MAX_NODES;
use super::space::{Space, factors, is_navigable, is_regular};
use crate::error::{Error, Result};
use crate::index::{Blob, IndexBuilder};

/// Builds one segment.
pub(super) struct HnswBuilder {
    parameters: Parameters,
    threads: usize,
    isa: Isa,
    dimension: Option<usize>,
    next_row: u32,
    rows: Vec<u32>,
    nodes: Vec<u32>,
    vectors: AlignedFloats,
    node_by_hash: HashMap<u64, u32>,
    odd_rows: Vec<u32>,
    odd_vectors: AlignedFloats,
    lengths: Vec<usize>,
    stop: Arc<AtomicBool>,
}

/// How many different lengths of vectors are told apart.
const MAX_LENGTHS: usize = 2;

impl HnswBuilder {
    pub(super) fn new(parameters: Parameters, threads: usize, isa: Isa) -> Self {
        HnswBuilder {
            parameters,
            threads,
            isa,
            dimension: parameters.dimension,
            next_row: 0,
            rows: Vec::new(),
            nodes: Vec::new(),
            vectors: AlignedFloats::new(),
            node_by_hash: HashMap::new(),
            odd_rows: Vec::new(),
            odd_vectors: AlignedFloats::new(),
            lengths: Vec::new(),
            stop: Arc::default(),
        }
    }

    fn add_vector(&mut self, row: u32, vector: &[f32]) -> Result<()> {
        if self.lengths.len() < MAX_LENGTHS && !self.lengths.contains(&vector.len()) {
            self.lengths.push(vector.len());
        }
        if self.dimension.is_none() && (1..=MAX_DIMENSION).contains(&vector.len()) {
            self.dimension = Some(vector.len());
        }
        if self.dimension != Some(vector.len()) {
            return Ok(());
        }
        if !is_regular(vector, self.parameters.metric) {
            self.odd_rows.push(row);
            self.odd_vectors.push_row(vector);
            return Ok(());
        }
        let node = match self.known_node(vector) {
            Ok(node) => node,
            Err(hash) => {
                let node = u32::try_from(self.node_count())
                    .ok()
                    .filter(|node| (*node as usize) < MAX_NODES - 1);
                let node = node
                    .ok_or_else(|| Error::resource_exhausted("too many vectors for one segment"))?;
                self.node_by_hash.insert(hash, node);
                self.vectors.push_row(vector);
                node
            }
        };
        self.rows.push(row);
        self.nodes.push(node);
        Ok(())
    }

    fn node_count(&self) -> usize {
        self.vectors.as_slice().len() / padded_length(self.dimension.unwrap_or(1)).max(1)
    }

    /// The node with this vector, or the hash under which it will be known.
    fn known_node(&self, vector: &[f32]) -> Result<u32, u64> {
        let hash = hash_of(vector);
        let stride = padded_length(vector.len());
        let Some(node) = self.node_by_hash.get(&hash) else {
            return Err(hash);
        };
        let start = *node as usize * stride;
        let held = self
            .vectors
            .as_slice()
            .get(start..start + vector.len())
            .unwrap_or(&[]);
        let equal = held
            .iter()
            .zip(vector)
            .all(|(a, b)| a.to_bits() == b.to_bits());
        if equal && held.len() == vector.len() {
            Ok(*node)
        } else {
            Err(hash)
        }
    }
}

fn hash_of(vector: &[f32]) -> u64 {
    let bytes: Vec<u8> = vector.iter().flat_map(|x| x.to_le_bytes()).collect();
    xxh3_64(&bytes)
}

impl IndexBuilder for HnswBuilder {
    fn add(&mut self, batch: &RecordBatch) -> Result<()> {
        let [column] = batch.columns() else {
            return Err(Error::internal(format!(
                "vector index got {} columns",
                batch.num_columns()
            )));
        };
        for place in 0..column.len() {
            let row = self.next_row;
            self.next_row = row.checked_add(1).ok_or_else(|| {
                Error::resource_exhausted("more than 4294967295 rows in one segment")
            })?;
            if let Some(vector) = vector_at(column, place)? {
                self.add_vector(row, vector.values())?;
            }
        }
        Ok(())
    }

    fn stop_on(&mut self, stop: Arc<AtomicBool>) {
        self.stop = stop;
    }

    fn vector_lengths(&self) -> Vec<usize> {
        self.lengths.clone()
    }

    fn finish(self: Box<Self>) -> Result<Vec<Blob>> {
        let dimension = self.dimension.unwrap_or(0);
        let width = self.parameters.m * 2;
        let (graph, factors) =
            match Matrix::new(self.vectors.as_slice(), padded_length(dimension), self.isa) {
                Some(matrix) if matrix.rows() > 0 => {
                    let factors = factors(&matrix, self.parameters.metric);
                    let space = Space {
                        matrix,
                        factors: &factors,
                        metric: self.parameters.metric,
                    };
                    let shape = Shape {
                        width,
                        ef_construction: self.parameters.ef_construction,
                    };
                    let graph = if is_navigable(&matrix, self.parameters.metric) {
                        build(&space, shape, self.threads, &self.stop)
                            .ok_or_else(|| Error::cancelled("the build was stopped"))?
                    } else {
                        BuiltGraph::default()
                    };
                    (graph, factors)
                }
                _ => (BuiltGraph::default(), Vec::new()),
            };
        let data = encode(&Parts {
            metric: self.parameters.metric,
            dimension,
            width,
            rows: &self.rows,
            nodes: &self.nodes,
            entries: &graph.entries,
            factors: &factors,
            neighbours: &graph.neighbours,
            vectors: self.vectors.as_slice(),
            odd_rows: &self.odd_rows,
            odd_vectors: self.odd_vectors.as_slice(),
        })?;
        Ok(vec![Blob {
            kind: BLOB_KIND.to_owned(),
            data,
        }])
    }
}

/// The vector of a row; None where the row or an element is NULL.
fn vector_at(column: &ArrayRef, place: usize) -> Result<Option<Float32Array>> {
    if column.is_null(place) {
        return Ok(None);
    }
    let values = match column.data_type() {
        DataType::List(_) => column.as_list_opt::<i32>().map(|list| list.value(place)),
        DataType::FixedSizeList(_, _) => column
            .as_fixed_size_list_opt()
            .map(|list| list.value(place)),
        _ => None,
    };
    let floats = values
        .as_ref()
        .and_then(|values| values.as_primitive_opt::<Float32Type>());
    let floats = floats.ok_or_else(|| {
        Error::internal(format!(
            "vector index got a column of type {}",
            column.data_type()
        ))
    })?;
    Ok((floats.null_count() == 0).then(|| floats.clone()))
}
