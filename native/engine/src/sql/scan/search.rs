//! The physical search: every split gives its own best rows, this operator merges them into the best of all,
//! best first, ties by data sequence number, path and position.

use std::fmt;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::compute::{SortColumn, SortOptions, concat_batches, lexsort_to_indices, take};
use arrow::datatypes::SchemaRef;
use datafusion::common::Result as PlanResult;
use datafusion::execution::memory_pool::MemoryConsumer;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::EquivalenceProperties;
use datafusion::physical_plan::coop::make_cooperative;
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType, SchedulingType};
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties,
};
use futures::{StreamExt, TryStreamExt};

use super::exec::write_report;
use super::row_id;
use crate::error::{Error, Result};
use crate::sql::function::canonical_array;
use crate::table::{Environment, ScanPlan, SearchRequest, Table};

/// A search over one table; one partition.
pub(super) struct SearchExec {
    environment: Environment,
    table_name: String,
    plan: ScanPlan,
    schema: SchemaRef,
    request: SearchRequest,
    concurrency: usize,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl SearchExec {
    pub(super) fn new(
        table: &Table,
        plan: ScanPlan,
        schema: SchemaRef,
        request: &SearchRequest,
        concurrency: usize,
    ) -> SearchExec {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(Arc::clone(&schema)),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Final,
            Boundedness::Bounded,
        )
        .with_scheduling_type(SchedulingType::Cooperative);
        SearchExec {
            environment: table.environment().clone(),
            table_name: table.name(),
            plan,
            schema,
            request: request.clone(),
            concurrency: concurrency.max(1),
            properties: Arc::new(properties),
            metrics: ExecutionPlanMetricsSet::new(),
        }
    }
}

/// The best `k` of the splits' rows, in order.
fn merge(rows: &RecordBatch, request: &SearchRequest, schema: &SchemaRef) -> Result<RecordBatch> {
    let value = rows
        .num_columns()
        .checked_sub(1)
        .ok_or_else(|| Error::internal("a search without columns"))?;
    let first_tie = value
        .checked_sub(row_id::ORDER.len())
        .ok_or_else(|| Error::internal("a search without the columns that break ties"))?;
    let descending = matches!(request, SearchRequest::Text(_));
    let column = |index: usize| -> Result<&ArrayRef> {
        rows.columns()
            .get(index)
            .ok_or_else(|| Error::internal(format!("a search without column {index}")))
    };
    let mut keys = vec![SortColumn {
        values: canonical_array(column(value)?),
        options: Some(SortOptions {
            descending,
            nulls_first: false,
        }),
    }];
    for tie in first_tie..value {
        keys.push(SortColumn {
            values: Arc::clone(column(tie)?),
            options: None,
        });
    }
    let order = lexsort_to_indices(&keys, Some(request.k()))?;
    let mut plain = 0;
    let mut columns = Vec::with_capacity(schema.fields().len());
    for field in schema.fields() {
        let source = if field.name() == request.value_name() {
            value
        } else {
            plain += 1;
            plain - 1
        };
        columns.push(take(column(source)?, &order, None)?);
    }
    let options = RecordBatchOptions::new().with_row_count(Some(order.len()));
    Ok(RecordBatch::try_new_with_options(
        Arc::clone(schema),
        columns,
        &options,
    )?)
}

impl fmt::Debug for SearchExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SearchExec({})", self.table_name)
    }
}

impl DisplayAs for SearchExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match &self.request {
            SearchRequest::Vector(vector) => format!("vector, metric={}", vector.metric),
            SearchRequest::Text(_) => "text".to_string(),
        };
        write!(
            f,
            "SearchExec: table={}, search={what}, k={}",
            self.table_name,
            self.request.k()
        )?;
        write_report(f, &self.plan.report)
    }
}

impl ExecutionPlan for SearchExec {
    fn name(&self) -> &str {
        "SearchExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn with_new_children(
        self: Arc<Self>,
        _: Vec<Arc<dyn ExecutionPlan>>,
    ) -> PlanResult<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> PlanResult<SendableRecordBatchStream> {
        let metrics = BaselineMetrics::new(&self.metrics, partition);
        let environment = self.environment.clone();
        let (plan, request, concurrency) =
            (self.plan.clone(), self.request.clone(), self.concurrency);
        let schema = Arc::clone(&self.schema);
        let reservation = MemoryConsumer::new("search").register(context.memory_pool());
        let work = async move {
            let mut batches = futures::stream::iter(plan.splits)
                .map(|split| {
                    let environment = environment.clone();
                    async move {
                        split
                            .open(&environment)
                            .await?
                            .1
                            .try_collect::<Vec<_>>()
                            .await
                    }
                })
                .buffer_unordered(concurrency);
            let mut parts: Vec<RecordBatch> = Vec::new();
            while let Some(batch) = batches.try_next().await? {
                for part in batch {
                    reservation.try_grow(part.get_array_memory_size())?;
                    parts.push(part);
                }
            }
            let rows = concat_batches(&plan.schema, &parts)?;
            let best = merge(&rows, &request, &schema)?;
            metrics.record_output(best.num_rows());
            PlanResult::Ok(best)
        };
        let stream =
            RecordBatchStreamAdapter::new(Arc::clone(&self.schema), futures::stream::once(work));
        Ok(make_cooperative(Box::pin(stream)))
    }
}
