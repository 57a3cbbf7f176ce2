//! Why an index on a column of a request is not used, for EXPLAIN.

use crate::iceberg::predicate::Predicate;
use crate::index::IndexDefinition;
use crate::table::{OverlayView, ScanReport, ScanRequest, SearchMode, SearchRequest};

/// The report with the reasons, for each index on a searched or filtered column of which no segment is used.
pub(super) fn explained(
    mut report: ScanReport,
    overlay: &OverlayView,
    request: &ScanRequest,
    predicate: Option<&Predicate>,
) -> ScanReport {
    report.is_search = request.search.is_some();
    let filtered = predicate.map(Predicate::columns).unwrap_or_default();
    let searched = request.search.as_ref().map(SearchRequest::column);
    let manifests = overlay.manifest.iter();
    for entry in manifests.flat_map(|manifest| &manifest.indexes) {
        let definition = &entry.definition;
        let segments = report.segments.get(&definition.name);
        let on = |column: &i32| definition.columns.contains(column);
        let concerned = filtered.iter().any(on) || searched.as_ref().is_some_and(on);
        if concerned && segments.is_none_or(|count| *count == 0) {
            let reason = reason(definition, request);
            report
                .unused_indexes
                .insert(definition.name.clone(), reason);
        }
    }
    report
}

fn reason(definition: &IndexDefinition, request: &ScanRequest) -> String {
    let parameter = |key: &str| definition.parameters.get(key).cloned().unwrap_or_default();
    match (definition.kind.as_str(), &request.search) {
        ("hnsw", Some(SearchRequest::Vector(vector))) => {
            let metric = parameter("metric");
            if vector.mode == SearchMode::Exact {
                "the search is exact".to_string()
            } else if metric != vector.metric.name() {
                format!(
                    "its metric is {metric}, the search asks for {}",
                    vector.metric
                )
            } else if vector.query.len().to_string() != parameter("dimension")
                && !parameter("dimension").is_empty()
            {
                format!("its dimension is {}", parameter("dimension"))
            } else {
                "it covers no file of the snapshot (refresh_index)".to_string()
            }
        }
        ("bm25", Some(SearchRequest::Text(text))) => match &text.analyzer {
            Some(analyzer) if *analyzer != parameter("analyzer") => format!(
                "its analyzer is {}, the search asks for {analyzer}",
                parameter("analyzer")
            ),
            _ => "it covers no file of the snapshot (refresh_index)".to_string(),
        },
        ("hnsw", None) => "it answers vector searches only".to_string(),
        ("bm25", None) => "it answers text searches only".to_string(),
        ("hnsw" | "bm25", Some(_)) => "it answers another kind of search".to_string(),
        _ => "it covers no file that the filter leaves (refresh_index)".to_string(),
    }
}
