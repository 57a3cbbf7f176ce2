//! Vector search in one split: the graph proposes candidates for the files it covers, the others are
//! scanned; every distance that leaves is computed from the stored vectors in f64.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::datatypes::Float32Type;
use roaring::RoaringBitmap;

use super::candidate::{Best, Candidate, Direction};
use super::rows::{Covered, SplitSearch};
use crate::error::{Error, Result};
use crate::index::{OpenIndex, VectorIndex};
use crate::table::{Metric, NullDistance, SearchMode, VectorSearch};

/// Candidates beyond k, so that rounding in the graph's f32 distances cannot push a true neighbour out.
const SLACK: usize = 16;
/// Width of the graph walk by default, and at least this many times k.
const BALANCED_EF: usize = 100;
const FAST_EF: usize = 32;

/// The split's best rows as one batch.
pub(super) async fn search(
    search: &Arc<SplitSearch>,
    request: &VectorSearch,
) -> Result<RecordBatch> {
    let (covered, mut scanned) = search.open_segments().await;
    let mut candidates = Vec::new();
    for segment in &covered {
        let OpenIndex::Vector(index) = &segment.open else {
            return Err(Error::internal(
                "a vector search was planned on another kind of index",
            ));
        };
        if index.dimension() != request.query.len() {
            // The segment knows nothing about vectors of the query's dimension.
            scanned.extend(segment.files.iter().map(|(file, _)| *file));
            continue;
        }
        candidates.extend(from_index(search, request, segment, index).await?);
    }
    candidates.extend(scan(search, request, &scanned).await?);
    search
        .fetch(&search.best(candidates, request.k, direction(request.nulls)))
        .await
}

fn direction(nulls: NullDistance) -> Direction {
    match nulls {
        NullDistance::First => Direction::AscendingNullsFirst,
        NullDistance::Drop | NullDistance::Last => Direction::Ascending,
    }
}

/// The distance of a row's vector; None for NULL, another length, or a NULL element.
pub(super) fn distance(
    metric: Metric,
    query: &[f32],
    vectors: &ArrayRef,
    row: usize,
) -> Result<Option<f64>> {
    let list = vectors
        .as_list_opt::<i32>()
        .ok_or_else(|| Error::invalid_input("the searched column holds no lists of float"))?;
    if list.is_null(row) {
        return Ok(None);
    }
    let values = list.value(row);
    let floats = values
        .as_primitive_opt::<Float32Type>()
        .ok_or_else(|| Error::invalid_input("the searched column holds no lists of float"))?;
    if floats.null_count() > 0 {
        return Ok(None);
    }
    Ok(metric.kernel().distance(query, floats.values()))
}

/// Reads the files and keeps the best.
async fn scan(
    search: &SplitSearch,
    request: &VectorSearch,
    files: &[usize],
) -> Result<Vec<Candidate>> {
    let ranks = search.ranks();
    let mut best = Best::new(request.k, direction(request.nulls), &ranks);
    for file in files {
        search
            .scan_column(*file, request.column, None, |vectors, row, position| {
                let value = distance(request.metric, &request.query, vectors, row)?;
                if value.is_some() || request.nulls != NullDistance::Drop {
                    best.push(Candidate {
                        file: *file,
                        position,
                        value,
                    });
                }
                Ok(())
            })
            .await?;
    }
    Ok(best.finish())
}

async fn from_index(
    search: &SplitSearch,
    request: &VectorSearch,
    segment: &Covered,
    index: &Arc<dyn VectorIndex>,
) -> Result<Vec<Candidate>> {
    let allowed = search.allowed(segment).await?;
    let wanted = request.k.saturating_add(SLACK);
    let ef = request
        .ef
        .unwrap_or(if request.mode == SearchMode::Fast {
            FAST_EF
        } else {
            BALANCED_EF
        })
        .max(wanted);
    let found = {
        let (index, query) = (Arc::clone(index), request.query.clone());
        let some = (!index.valid_rows().is_subset(&allowed)).then(|| allowed.clone());
        tokio::task::spawn_blocking(move || index.search(&query, wanted, ef, some.as_ref()))
            .await
            .map_err(|e| Error::internal(format!("the vector search failed: {e}")))??
    };
    search
        .context
        .environment
        .count_distances(found.distance_count);
    let proposed = RoaringBitmap::from_iter(found.hits.iter().map(|h| h.row));
    let mut candidates = measure(search, request, segment, &proposed).await?;
    if request.nulls != NullDistance::Drop {
        let without = &allowed - index.valid_rows();
        for row in without.iter().take(request.k) {
            let (file, position) = place(search, segment, row)?;
            candidates.push(Candidate {
                file,
                position,
                value: None,
            });
        }
    }
    Ok(candidates)
}

/// The exact distances of segment rows, from the stored vectors.
async fn measure(
    search: &SplitSearch,
    request: &VectorSearch,
    segment: &Covered,
    rows: &RoaringBitmap,
) -> Result<Vec<Candidate>> {
    let mut candidates = Vec::new();
    for (file, first) in &segment.files {
        let end = u64::from(*first) + search.task(*file)?.record_count;
        let wanted: RoaringBitmap = rows
            .iter()
            .filter(|r| r >= first && u64::from(*r) < end)
            .map(|r| r - first)
            .collect();
        if wanted.is_empty() {
            continue;
        }
        search
            .scan_column(
                *file,
                request.column,
                Some(wanted),
                |vectors, row, position| {
                    let value = distance(request.metric, &request.query, vectors, row)?;
                    if value.is_some() || request.nulls != NullDistance::Drop {
                        candidates.push(Candidate {
                            file: *file,
                            position,
                            value,
                        });
                    }
                    Ok(())
                },
            )
            .await?;
    }
    Ok(candidates)
}

fn place(search: &SplitSearch, segment: &Covered, row: u32) -> Result<(usize, u32)> {
    segment.locate(&search.split.files, row).ok_or_else(|| {
        Error::internal(format!("segment row {row} belongs to no file of the split"))
    })
}
