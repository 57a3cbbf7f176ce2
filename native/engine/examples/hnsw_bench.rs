//! One side of `bench/hnsw.py`: builds the index kind `hnsw` over a file of floats and answers
//! commands on standard input, so that both sides are measured in one run, turn by turn.
//! `hnsw_bench BASE QUERIES TRUTH DIMENSION PARAMETERS THREADS`, then lines `search EF K`.
//! Each answer is one JSON line. TRUTH holds u32 row ids, 100 a query.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a benchmark stops at the first surprise"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::io::BufRead;
use std::num::NonZero;
use std::sync::Arc;
use std::time::Instant;

use arrow::array::{ArrayRef, FixedSizeListArray, Float32Array, RecordBatch};
use arrow::datatypes::{DataType, Field, Schema};
use benostreamdb::index::hnsw::HnswKind;
use benostreamdb::index::{IndexDefinition, IndexKind, OpenIndex, VectorIndex};

const TRUTH_LENGTH: usize = 100;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [base, queries, truth, dimension, parameters, threads] = arguments.as_slice() else {
        return Err("expected BASE QUERIES TRUTH DIMENSION PARAMETERS THREADS".into());
    };
    let dimension: usize = dimension.parse()?;
    let base = read_floats(base)?;
    let queries = read_floats(queries)?;
    let truth: Vec<u32> = std::fs::read(truth)?
        .as_chunks::<4>()
        .0
        .iter()
        .map(|word| u32::from_le_bytes(*word))
        .collect();
    let kind = HnswKind::with_threads(threads.parse::<NonZero<usize>>()?);
    let started = Clock::start();
    let (index, bytes) = build(&kind, base, dimension, parameters)?;
    println!(
        "{{\"build_seconds\": {:.3}, \"bytes\": {bytes}}}",
        started.seconds()
    );
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let words: Vec<&str> = line.split_whitespace().collect();
        let ["search", ef, k] = words.as_slice() else {
            return Err(format!("unknown command {line}").into());
        };
        let (ef, k): (usize, usize) = (ef.parse()?, k.parse()?);
        let (mut found, mut distances) = (Vec::new(), 0);
        let started = Clock::start();
        for query in queries.chunks(dimension) {
            let hits = index.search(query, k, ef, None)?;
            distances += hits.distance_count;
            found.push(hits.hits);
        }
        let seconds = started.seconds();
        let right: usize = found
            .iter()
            .zip(truth.chunks(TRUTH_LENGTH))
            .map(|(hits, truth)| {
                let truth: BTreeSet<u32> = truth.iter().copied().take(k).collect();
                hits.iter().filter(|hit| truth.contains(&hit.row)).count()
            })
            .sum();
        let recall = right as f64 / (found.len() * k) as f64;
        let distances = distances as f64 / found.len() as f64;
        println!(
            "{{\"seconds\": {seconds:.6}, \"recall\": {recall:.5}, \"distances\": {distances:.1}}}"
        );
    }
    Ok(())
}

fn build(
    kind: &HnswKind,
    base: Vec<f32>,
    dimension: usize,
    parameters: &str,
) -> Result<(Arc<dyn VectorIndex>, usize), Box<dyn Error>> {
    let rows = base.len() / dimension;
    let element = Arc::new(Field::new("element", DataType::Float32, false));
    let column: ArrayRef = Arc::new(FixedSizeListArray::try_new(
        element,
        i32::try_from(dimension)?,
        Arc::new(Float32Array::from(base)),
        None,
    )?);
    let schema = Schema::new(vec![Field::new(
        "embedding",
        column.data_type().clone(),
        false,
    )]);
    let batch = RecordBatch::try_new(Arc::new(schema), vec![column])?;
    let fields = batch.schema().fields().to_vec();
    let given: BTreeMap<String, String> = parameters
        .split(',')
        .filter_map(|pair| pair.split_once('='))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let definition = IndexDefinition {
        name: "bench".to_owned(),
        kind: kind.name().to_owned(),
        columns: vec![1],
        parameters: kind.resolve(&fields, &given)?,
    };
    let mut builder = kind.builder(&definition, &fields)?;
    builder.add(&batch)?;
    let blobs = builder.finish()?;
    let bytes = blobs.iter().map(|blob| blob.data.len()).sum();
    match kind.open(&definition, &blobs, u32::try_from(rows)?)? {
        OpenIndex::Vector(index) => Ok((index, bytes)),
        _ => Err("not a vector index".into()),
    }
}

fn read_floats(path: &str) -> Result<Vec<f32>, Box<dyn Error>> {
    Ok(std::fs::read(path)?
        .as_chunks::<4>()
        .0
        .iter()
        .map(|word| f32::from_le_bytes(*word))
        .collect())
}

/// Processor time of this thread where the system tells it, else elapsed time.
struct Clock {
    wall: Instant,
    processor: Option<f64>,
}

impl Clock {
    fn start() -> Self {
        Clock {
            wall: Instant::now(),
            processor: processor_seconds(),
        }
    }

    fn seconds(&self) -> f64 {
        match (self.processor, processor_seconds()) {
            (Some(start), Some(end)) => end - start,
            _ => self.wall.elapsed().as_secs_f64(),
        }
    }
}

fn processor_seconds() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(text.split_whitespace().next()?.parse::<f64>().ok()? / 1e9)
}
