//! Text search in one split: postings score the files they cover, the others are tokenised and scored by
//! the same formula and the same table-wide statistics, so a score does not depend on the index.

use std::sync::Arc;

use arrow::array::{Array, AsArray, RecordBatch};

use super::candidate::{Best, Candidate, Direction};
use super::rows::{Covered, SplitSearch};
use crate::error::{Error, Result};
use crate::index::bm25::{Analyzer, TextScorer};
use crate::index::{OpenIndex, TextQuery, TextStatistics};
use crate::table::{TextPlan, TextSearch};

/// The analysed query of a request.
pub(super) fn query(request: &TextSearch, analyzer: &Analyzer, k1: f64, b: f64) -> TextQuery {
    TextQuery {
        terms: analyzer.terms(&request.query),
        all: request.all,
        k1,
        b,
    }
}

/// The split's best rows as one batch.
pub(super) async fn search(
    search: &Arc<SplitSearch>,
    request: &TextSearch,
    plan: &TextPlan,
) -> Result<RecordBatch> {
    let analyzer = Analyzer::by_name(&plan.analyzer)?;
    let query = query(request, &analyzer, plan.k1, plan.b);
    if query.terms.is_empty() {
        return search.fetch(&[]).await;
    }
    let (covered, scanned) = search.open_segments().await;
    let mut candidates = indexed(search, &covered, &query, &plan.statistics, request.k).await?;
    let ranks = search.ranks();
    let mut best = Best::new(request.k, Direction::Descending, &ranks);
    let mut scorer = TextScorer::new(analyzer, &query, &plan.statistics)?;
    for file in scanned {
        search
            .scan_column(file, request.column, None, |texts, row, position| {
                let texts = texts
                    .as_string_opt::<i32>()
                    .ok_or_else(|| Error::invalid_input("the searched column holds no text"))?;
                if let Some(value) = texts
                    .is_valid(row)
                    .then(|| texts.value(row))
                    .and_then(|text| scorer.score(text))
                {
                    best.push(Candidate {
                        file,
                        position,
                        value: Some(value),
                    });
                }
                Ok(())
            })
            .await?;
    }
    candidates.extend(best.finish());
    search
        .fetch(&search.best(candidates, request.k, Direction::Descending))
        .await
}

/// The best k rows of each segment by its postings.
async fn indexed(
    search: &Arc<SplitSearch>,
    covered: &[Covered],
    query: &TextQuery,
    statistics: &TextStatistics,
    k: usize,
) -> Result<Vec<Candidate>> {
    let mut candidates = Vec::new();
    for segment in covered {
        let OpenIndex::Text(index) = &segment.open else {
            return Err(Error::internal(
                "a text search was planned on another kind of index",
            ));
        };
        let allowed = search.allowed(segment).await?;
        let (index, query, statistics, k) =
            (Arc::clone(index), query.clone(), statistics.clone(), k);
        let hits = tokio::task::spawn_blocking(move || {
            index.search(&query, &statistics, k, Some(&allowed))
        })
        .await
        .map_err(|e| Error::internal(format!("the text search failed: {e}")))??;
        for hit in hits {
            let place = segment.locate(&search.split.files, hit.row);
            let (file, position) = place.ok_or_else(|| {
                Error::internal(format!(
                    "segment row {} belongs to no file of the split",
                    hit.row
                ))
            })?;
            candidates.push(Candidate {
                file,
                position,
                value: Some(hit.value),
            });
        }
    }
    Ok(candidates)
}
