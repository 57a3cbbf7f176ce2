//! What a scan tells the planner about its rows, so that joins build on their smaller side. Estimates: no answer
//! depends on them.

use std::sync::Arc;

use arrow::datatypes::{DataType, Schema as ArrowSchema, SchemaRef};
use datafusion::common::stats::Precision;
use datafusion::common::{ColumnStatistics, Result, ScalarValue, Statistics};
use datafusion::physical_expr::intervals::utils::check_support;
use datafusion::physical_expr::{AnalysisContext, PhysicalExpr, analyze};

use crate::iceberg::value::{Value, to_array};
use crate::table::ScanPlan;

/// The share of rows that a filter is expected to keep where nothing is known, as DataFusion's own.
const UNKNOWN_SELECTIVITY: f64 = 0.2;
/// What a value of variable length is expected to take.
const BYTES_OF_TEXT: usize = 24;

/// The rows of a plan before filters, in columns of `schema` with these field ids.
pub(super) fn of_plan(plan: &ScanPlan, schema: &ArrowSchema, ids: &[i32]) -> Statistics {
    let rows: u64 = plan.splits.iter().map(|split| split.record_count()).sum();
    let mut statistics = Statistics::new_unknown(schema);
    statistics.num_rows = inexact(usize::try_from(rows).ok());
    let columns = statistics.column_statistics.iter_mut();
    for ((column, id), field) in columns.zip(ids).zip(schema.fields()) {
        let Some(known) = plan.columns.get(id) else {
            continue;
        };
        let scalar = |value: &Option<Value>| scalar(value.as_ref()?, field.data_type());
        *column = ColumnStatistics {
            null_count: inexact(known.nulls.and_then(|n| usize::try_from(n).ok())),
            min_value: inexact(scalar(&known.lower)),
            max_value: inexact(scalar(&known.upper)),
            ..ColumnStatistics::new_unknown()
        };
    }
    statistics
}

/// The statistics of the rows for which all filters hold, in these columns of the schema.
pub(super) fn filtered(
    mut statistics: Statistics,
    schema: &SchemaRef,
    filters: &[Arc<dyn PhysicalExpr>],
    columns: &[usize],
) -> Result<Statistics> {
    for filter in filters {
        let share = selectivity(&statistics, schema, filter).unwrap_or(UNKNOWN_SELECTIVITY);
        statistics.num_rows = statistics.num_rows.with_estimated_selectivity(share);
    }
    statistics = statistics.project(Some(&columns.to_vec()));
    let width: usize = columns
        .iter()
        .filter_map(|column| schema.fields().get(*column))
        .map(|field| field.data_type().primitive_width().unwrap_or(BYTES_OF_TEXT))
        .sum();
    let rows = statistics.num_rows.get_value();
    statistics.total_byte_size = inexact(rows.map(|rows| rows.saturating_mul(width)));
    Ok(statistics)
}

/// The share of rows, from the bounds of the columns.
fn selectivity(
    statistics: &Statistics,
    schema: &SchemaRef,
    filter: &Arc<dyn PhysicalExpr>,
) -> Option<f64> {
    if !check_support(filter, schema) {
        return None;
    }
    let context = AnalysisContext::try_from_statistics(schema, &statistics.column_statistics);
    analyze(filter, context.ok()?, schema).ok()?.selectivity
}

fn inexact<T: Clone + std::fmt::Debug + Eq + PartialOrd>(value: Option<T>) -> Precision<T> {
    value.map_or(Precision::Absent, Precision::Inexact)
}

fn scalar(value: &Value, ty: &DataType) -> Option<ScalarValue> {
    let one = to_array(Some(value), ty, 1).ok()?;
    ScalarValue::try_from_array(&one, 0).ok()
}
