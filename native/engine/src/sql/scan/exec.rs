//! The physical scan: splits spread over partitions. Streams are cooperative and own their reads, so a dropped
//! query stops at once.

use std::fmt;
use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::SchemaRef;
use datafusion::common::{Result as PlanResult, Statistics};
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

use crate::error::{Error, Result};
use crate::table::{Environment, ScanPlan, ScanReport, Split, Table};

/// Splits that a partition opens ahead of the one it reads.
const OPEN_AHEAD: usize = 2;

/// What a scan puts out, and what EXPLAIN says about it.
pub(super) struct ScanOutput {
    pub(super) schema: SchemaRef,
    pub(super) filters: Vec<String>,
    pub(super) limit: Option<usize>,
    pub(super) statistics: Arc<Statistics>,
}

/// The scan of one table.
pub(super) struct ScanExec {
    environment: Environment,
    table_name: String,
    partitions: Vec<Vec<Split>>,
    output: ScanOutput,
    report: ScanReport,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl ScanExec {
    pub(super) fn new(
        table: &Table,
        plan: ScanPlan,
        output: ScanOutput,
        partition_count: usize,
    ) -> ScanExec {
        let partitions = spread(plan.splits, partition_count);
        let equivalence = EquivalenceProperties::new(Arc::clone(&output.schema));
        let properties = PlanProperties::new(
            equivalence,
            Partitioning::UnknownPartitioning(partitions.len()),
            EmissionType::Incremental,
            Boundedness::Bounded,
        )
        .with_scheduling_type(SchedulingType::Cooperative);
        ScanExec {
            environment: table.environment().clone(),
            table_name: table.name(),
            partitions,
            output,
            report: plan.report,
            properties: Arc::new(properties),
            metrics: ExecutionPlanMetricsSet::new(),
        }
    }
}

/// Splits over at most `count` partitions, the largest first to the emptiest; at least one partition.
fn spread(mut splits: Vec<Split>, count: usize) -> Vec<Vec<Split>> {
    splits.sort_by_key(|split| std::cmp::Reverse(split.size_bytes()));
    let mut partitions: Vec<(u64, Vec<Split>)> = (0..count.min(splits.len()).max(1))
        .map(|_| (0, Vec::new()))
        .collect();
    for split in splits {
        if let Some((bytes, emptiest)) = partitions.iter_mut().min_by_key(|(bytes, _)| *bytes) {
            *bytes += split.size_bytes().max(1);
            emptiest.push(split);
        }
    }
    partitions.into_iter().map(|(_, splits)| splits).collect()
}

/// The first columns of a batch under another schema, which may differ in metadata only.
pub(super) fn narrow(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch> {
    let columns = batch
        .columns()
        .iter()
        .take(schema.fields().len())
        .cloned()
        .collect();
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    Ok(RecordBatch::try_new_with_options(
        Arc::clone(schema),
        columns,
        &options,
    )?)
}

impl fmt::Debug for ScanExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ScanExec({})", self.table_name)
    }
}

/// The report as EXPLAIN shows it.
pub(super) fn write_report(f: &mut fmt::Formatter<'_>, report: &ScanReport) -> fmt::Result {
    let pruned = report.files_pruned_by_partition
        + report.files_pruned_by_statistics
        + report.files_pruned_by_index;
    write!(
        f,
        ", files_scanned={}, {report}",
        report.files_total.saturating_sub(pruned)
    )?;
    for warning in &report.warnings {
        write!(f, ", warning={warning}")?;
    }
    Ok(())
}

impl DisplayAs for ScanExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ScanExec: table={}", self.table_name)?;
        let columns: Vec<&str> = self
            .output
            .schema
            .fields()
            .iter()
            .map(|field| field.name().as_str())
            .collect();
        write!(
            f,
            ", columns=[{}]",
            columns.join(", ").replace('\u{1}', "_")
        )?;
        if !self.output.filters.is_empty() {
            write!(f, ", filter=[{}]", self.output.filters.join(" AND "))?;
        }
        if let Some(limit) = self.output.limit {
            write!(f, ", limit={limit}")?;
        }
        write_report(f, &self.report)
    }
}

impl ExecutionPlan for ScanExec {
    fn name(&self) -> &str {
        "ScanExec"
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

    fn partition_statistics(&self, partition: Option<usize>) -> PlanResult<Arc<Statistics>> {
        Ok(match partition {
            None => Arc::clone(&self.output.statistics),
            Some(_) => Arc::new(Statistics::new_unknown(&self.output.schema)),
        })
    }

    fn execute(
        &self,
        partition: usize,
        _: Arc<TaskContext>,
    ) -> PlanResult<SendableRecordBatchStream> {
        let splits = self
            .partitions
            .get(partition)
            .cloned()
            .ok_or_else(|| Error::internal(format!("the scan has no partition {partition}")))?;
        let metrics = BaselineMetrics::new(&self.metrics, partition);
        let environment = self.environment.clone();
        let schema = Arc::clone(&self.output.schema);
        let narrow_to = Arc::clone(&schema);
        let rows = futures::stream::iter(splits)
            .map(move |split| {
                let environment = environment.clone();
                async move { split.open(&environment).await.map(|(_, batches)| batches) }
            })
            .buffered(OPEN_AHEAD)
            .try_flatten()
            .map(move |batch| {
                let batch = narrow(&batch?, &narrow_to)?;
                metrics.record_output(batch.num_rows());
                Ok(batch)
            });
        Ok(make_cooperative(Box::pin(RecordBatchStreamAdapter::new(
            schema, rows,
        ))))
    }
}
