//! Which index may answer a search, and for EXPLAIN why one on a column of the request is not used.

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
    match (definition.kind.as_str(), &request.search) {
        ("hnsw" | "bm25", Some(search)) => misfit(definition, search)
            .unwrap_or_else(|| "it covers no file of the snapshot (refresh_index)".to_string()),
        ("hnsw", None) => "it answers vector searches only".to_string(),
        ("bm25", None) => "it answers text searches only".to_string(),
        _ => "it covers no file that the filter leaves (refresh_index)".to_string(),
    }
}

/// Why an index cannot answer a search of its column; None where it can.
pub(super) fn misfit(definition: &IndexDefinition, search: &SearchRequest) -> Option<String> {
    let parameter = |key: &str| definition.parameters.get(key).map(String::as_str);
    match (definition.kind.as_str(), search) {
        ("hnsw", SearchRequest::Vector(vector)) => {
            let metric = parameter("metric").unwrap_or_default();
            let dimension = parameter("dimension").and_then(|text| text.parse::<usize>().ok());
            if vector.mode == SearchMode::Exact {
                Some("the search is exact".to_string())
            } else if metric != vector.metric.name() {
                let wanted = vector.metric;
                Some(format!(
                    "its metric is {metric}, the search asks for {wanted}"
                ))
            } else {
                let other = dimension.filter(|length| *length != vector.query.len());
                other.map(|length| format!("its dimension is {length}"))
            }
        }
        ("bm25", SearchRequest::Text(text)) => {
            let analyzer = parameter("analyzer").unwrap_or_default();
            let wanted = text
                .analyzer
                .as_deref()
                .filter(|wanted| *wanted != analyzer);
            wanted.map(|wanted| format!("its analyzer is {analyzer}, the search asks for {wanted}"))
        }
        _ => Some("it answers another kind of search".to_string()),
    }
}
