//! Our table provider: one table at its pinned snapshot, or a search over it.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef, Schema as ArrowSchema, SchemaRef};
use async_trait::async_trait;
use datafusion::catalog::{Session as PlannerSession, TableProvider};
use datafusion::common::{DFSchema, Result as PlanResult, Statistics};
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;

use super::exec::{ScanExec, ScanOutput};
use super::filter::{Columns, predicate_of};
use super::literal::is_uuid;
use super::row_id;
use super::search::SearchExec;
use super::statistics;
use crate::error::{Error, Result};
use crate::iceberg::predicate::{Predicate, reserved};
use crate::table::{
    Metric, NullDistance, ScanPlan, ScanRequest, SearchMode, SearchRequest, Table, VectorSearch,
};
use crate::telemetry;

/// The field metadata that carries a vector column's declared dimension to the rules.
pub(crate) const DIMENSION_KEY: &str = "benostream.vector.dimension";

/// What a scan returns.
#[derive(Clone, Debug)]
enum Rows {
    /// All rows.
    Plain,
    /// At least the rows nearest to a query, in no order; the planner sorts them.
    Nearest(VectorSearch),
    /// The best rows of a search in order, with their distance or score.
    Search {
        request: SearchRequest,
        conjuncts: Vec<Predicate>,
    },
}

/// A table inside the planner.
#[derive(Clone)]
pub(crate) struct TableScanProvider {
    table: Table,
    schema: SchemaRef,
    /// Field ids of the columns of `schema`; a search's own column has none.
    ids: Vec<i32>,
    /// Vector indexes: column and metric.
    vector_indexes: Vec<(i32, Metric)>,
    rows: Rows,
}

impl fmt::Debug for TableScanProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TableScanProvider({})", self.table.name())
    }
}

impl TableScanProvider {
    /// The table's columns, all rows; knows the table's vector indexes.
    pub(crate) async fn new(table: &Table) -> Result<TableScanProvider> {
        let mut provider = TableScanProvider::of(table)?;
        provider.vector_indexes = vector_indexes(table).await;
        Ok(provider)
    }

    /// The table's columns and those of [`row_id`].
    pub(crate) fn with_row_ids(table: &Table) -> Result<TableScanProvider> {
        let mut provider = TableScanProvider::of(table)?;
        let mut fields: Vec<FieldRef> = provider.schema.fields().iter().cloned().collect();
        fields.push(Arc::new(Field::new(
            row_id::SEQUENCE_NUMBER,
            DataType::Int64,
            false,
        )));
        fields.push(Arc::new(Field::new(row_id::FILE, DataType::Utf8, false)));
        fields.push(Arc::new(Field::new(
            row_id::POSITION,
            DataType::Int64,
            false,
        )));
        provider.schema = Arc::new(ArrowSchema::new(fields));
        provider.ids.extend(row_id::ORDER_IDS);
        Ok(provider)
    }

    /// With these metadata columns too, but for those whose name a column of the table has.
    pub(crate) fn with_metadata(mut self, columns: &BTreeSet<i32>) -> Result<TableScanProvider> {
        let mut fields: Vec<FieldRef> = self.schema.fields().iter().cloned().collect();
        for id in columns {
            let field = self.table.metadata_field(*id)?;
            if self.schema.field_with_name(field.name()).is_err() {
                fields.push(Arc::new(planner_field(&field, None)));
                self.ids.push(*id);
            }
        }
        self.schema = Arc::new(ArrowSchema::new(fields));
        Ok(self)
    }

    /// With these metadata columns too, to select rows by that a statement changes or a search finds.
    /// Errors: Unsupported for `_deleted`, which would bring back rows that are not there.
    pub(crate) fn with_live_metadata(self, columns: &BTreeSet<i32>) -> Result<TableScanProvider> {
        if columns.contains(&reserved::DELETED) {
            return Err(Error::unsupported(
                "the column _deleted in DELETE, UPDATE or the filter of a search",
            ));
        }
        self.with_metadata(columns)
    }

    /// With the columns that another provider of the same table has beyond ours.
    pub(crate) fn with_columns_of(mut self, other: &TableScanProvider) -> TableScanProvider {
        let mut fields: Vec<FieldRef> = self.schema.fields().iter().cloned().collect();
        for (field, id) in other.schema.fields().iter().zip(&other.ids) {
            if self.schema.field_with_name(field.name()).is_err() {
                fields.push(Arc::clone(field));
                self.ids.push(*id);
            }
        }
        self.schema = Arc::new(ArrowSchema::new(fields));
        self
    }

    fn of(table: &Table) -> Result<TableScanProvider> {
        let mut ids = Vec::new();
        let mut fields: Vec<FieldRef> = Vec::new();
        for (column, field) in table
            .schema()?
            .fields
            .iter()
            .zip(table.arrow_schema().fields())
        {
            ids.push(column.id);
            let planned = planner_field(field, table.dimension(field.name())?);
            fields.push(Arc::new(match table.planned_name(field.name())? {
                Some(name) => planned.with_name(name),
                None => planned,
            }));
        }
        let schema = Arc::new(ArrowSchema::new(fields));
        Ok(TableScanProvider {
            table: table.clone(),
            schema,
            ids,
            vector_indexes: Vec::new(),
            rows: Rows::Plain,
        })
    }

    /// The best rows of a search; `conjuncts` select before the top k.
    pub(crate) fn searching(
        &self,
        request: SearchRequest,
        conjuncts: Vec<Predicate>,
    ) -> Result<TableScanProvider> {
        let name = request.value_name();
        if self.schema.field_with_name(name).is_ok() {
            return Err(Error::invalid_input(format!(
                "table {} has a column {name} itself",
                self.table.name()
            )));
        }
        let mut fields: Vec<FieldRef> = self.schema.fields().iter().cloned().collect();
        fields.push(Arc::new(Field::new(name, DataType::Float64, true)));
        let mut provider = self.clone();
        provider.schema = Arc::new(ArrowSchema::new(fields));
        provider.rows = Rows::Search { request, conjuncts };
        Ok(provider)
    }

    /// The rows nearest to `query`, if an index finds them and this is a plain scan.
    pub(crate) fn nearest(
        &self,
        column: &str,
        query: Vec<f32>,
        metric: Metric,
        k: usize,
        nulls: NullDistance,
    ) -> Option<TableScanProvider> {
        let (id, _) = self.find(column)?;
        let indexed =
            self.vector_indexes.contains(&(id, metric)) && matches!(self.rows, Rows::Plain);
        if !indexed || query.is_empty() || !query.iter().all(|x| x.is_finite()) {
            return None;
        }
        let mut provider = self.clone();
        let mode = SearchMode::Balanced;
        provider.rows = Rows::Nearest(VectorSearch {
            column: id,
            query,
            k,
            metric,
            ef: None,
            mode,
            nulls,
        });
        Some(provider)
    }

    /// The columns.
    pub(crate) fn columns(&self) -> &SchemaRef {
        &self.schema
    }

    /// Field id and field of a column. Errors: InvalidInput listing the columns.
    pub(crate) fn column(&self, name: &str) -> Result<(i32, &Field)> {
        let known = self.table.column(name)?.map(|column| column.id);
        let index = known.and_then(|id| self.ids.iter().position(|other| *other == id));
        let field = index.and_then(|index| self.schema.fields().get(index));
        let found = known.zip(field.map(AsRef::as_ref));
        found.ok_or_else(|| {
            let known: Vec<&str> = self
                .schema
                .fields()
                .iter()
                .map(|field| field.name().as_str())
                .collect();
            let table = self.table.name();
            Error::invalid_input(format!(
                "table {table} has no column {name} (columns: {})",
                known.join(", ")
            ))
        })
    }

    /// The metric of a column's vector index.
    pub(crate) fn vector_metric(&self, column: i32) -> Option<Metric> {
        self.vector_indexes
            .iter()
            .find(|(id, _)| *id == column)
            .map(|(_, metric)| *metric)
    }

    /// What the planner may expect of the rows of a plan.
    fn statistics(
        &self,
        state: &dyn PlannerSession,
        plan: &ScanPlan,
        filters: &[Expr],
        wanted: &[usize],
    ) -> PlanResult<Statistics> {
        let schema = DFSchema::try_from(Arc::clone(&self.schema))?;
        let filters = filters
            .iter()
            .map(|filter| state.create_physical_expr(filter.clone(), &schema))
            .collect::<PlanResult<Vec<_>>>()?;
        let all = statistics::of_plan(plan, &self.schema, &self.ids);
        statistics::filtered(all, &self.schema, &filters, wanted)
    }

    fn conjuncts(&self, filters: &[Expr]) -> Result<Vec<Predicate>> {
        filters
            .iter()
            .map(|filter| {
                let predicate = predicate_of(filter, self);
                predicate.ok_or_else(|| {
                    Error::internal(format!("filter {filter} was pushed but has no predicate"))
                })
            })
            .collect()
    }
}

impl Columns for TableScanProvider {
    fn find(&self, name: &str) -> Option<(i32, &Field)> {
        let index = self.schema.index_of(name).ok()?;
        Some((
            *self.ids.get(index)?,
            self.schema.fields().get(index)?.as_ref(),
        ))
    }
}

/// A column as the planner sees it: no field id, which would follow the column into results and other tables.
fn planner_field(field: &Field, dimension: Option<usize>) -> Field {
    let mut metadata = HashMap::new();
    if is_uuid(field) {
        metadata.extend(
            field
                .metadata()
                .iter()
                .filter(|(key, _)| key.starts_with("ARROW:"))
                .map(|(k, v)| (k.clone(), v.clone())),
        );
    }
    if let Some(dimension) = dimension {
        metadata.insert(DIMENSION_KEY.to_string(), dimension.to_string());
    }
    Field::new(field.name(), field.data_type().clone(), field.is_nullable()).with_metadata(metadata)
}

/// Column and metric of every vector index; an unreadable overlay has none.
async fn vector_indexes(table: &Table) -> Vec<(i32, Metric)> {
    let view = table.overlay().view().await;
    let Some(manifest) = &view.manifest else {
        return Vec::new();
    };
    let of = |definition: &crate::index::IndexDefinition| {
        let metric = definition.parameters.get("metric")?.parse().ok()?;
        Some((*definition.columns.first()?, metric))
    };
    manifest
        .indexes
        .iter()
        .filter_map(|entry| of(&entry.definition))
        .collect()
}

#[async_trait]
impl TableProvider for TableScanProvider {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> PlanResult<Vec<TableProviderFilterPushDown>> {
        let decide = |filter: &&Expr| match self.rows {
            // What stands outside a search selects among its results.
            Rows::Search { .. } => TableProviderFilterPushDown::Unsupported,
            _ if predicate_of(filter, self).is_some() => TableProviderFilterPushDown::Exact,
            _ => TableProviderFilterPushDown::Unsupported,
        };
        Ok(filters.iter().map(decide).collect())
    }

    async fn scan(
        &self,
        state: &dyn PlannerSession,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> PlanResult<Arc<dyn ExecutionPlan>> {
        let wanted: Vec<usize> = match projection {
            Some(indices) => indices.clone(),
            None => (0..self.schema.fields().len()).collect(),
        };
        let schema = Arc::new(self.schema.project(&wanted)?);
        let partitions = state.config().target_partitions();
        let ids: Vec<i32> = wanted
            .iter()
            .filter_map(|index| self.ids.get(*index).copied())
            .collect();
        let mut request = ScanRequest {
            min_splits: partitions,
            ..ScanRequest::default()
        };
        if let Rows::Search {
            request: search,
            conjuncts,
        } = &self.rows
        {
            let mut projection = ids;
            projection.extend(row_id::ORDER_IDS);
            request.projection = Some(projection);
            request.conjuncts = conjuncts.clone();
            request.search = Some(search.clone());
            let plan = plan_scan(&self.table, &request).await?;
            return Ok(Arc::new(SearchExec::new(
                &self.table,
                plan,
                schema,
                search,
                partitions,
            )));
        }
        request.projection = Some(ids);
        request.conjuncts = self.conjuncts(filters)?;
        request.limit = limit.and_then(|limit| u64::try_from(limit).ok());
        if let Rows::Nearest(search) = &self.rows {
            request.search = Some(SearchRequest::Vector(search.clone()));
        }
        request.statistics = request.projection.iter().flatten().copied().collect();
        let filtered = request.conjuncts.iter().flat_map(Predicate::columns);
        request.statistics.extend(filtered);
        let plan = plan_scan(&self.table, &request).await?;
        let output = ScanOutput {
            schema,
            filters: filters.iter().map(ToString::to_string).collect(),
            limit,
            statistics: Arc::new(self.statistics(state, &plan, filters, &wanted)?),
        };
        Ok(Arc::new(ScanExec::new(
            &self.table,
            plan,
            output,
            partitions,
        )))
    }
}

/// Plans a scan. Indexes that cannot be used change no row, so whoever asks is warned instead.
async fn plan_scan(table: &Table, request: &ScanRequest) -> Result<ScanPlan> {
    let plan = table.plan_scan(request).await?;
    for warning in &plan.report.warnings {
        telemetry::warn(&format!("table {}: {warning}", table.name()));
    }
    Ok(plan)
}
