//! One statement's planner: the engine's configuration, our functions, operators and rules, and the statement's
//! tables. Runs plans with a memory limit of their own.

use std::num::NonZeroUsize;
use std::sync::{Arc, LazyLock};

use arrow::array::{AsArray, RecordBatch, StringArray};
use datafusion::execution::memory_pool::{FairSpillPool, MemoryPool, TrackConsumersPool};
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::execution::{SessionState, SessionStateBuilder, TaskContext};
use datafusion::logical_expr::{LogicalPlan, LogicalPlanBuilder};
use datafusion::optimizer::{Analyzer, Optimizer};
use datafusion::physical_plan::execute_stream;
use datafusion::prelude::SessionConfig;
use datafusion::sql::parser::Statement as PlannerStatement;
use datafusion::sql::sqlparser::ast;
use futures::StreamExt;

use super::case::ColumnCase;
use super::explain_error;
use super::metadata::metadata_columns;
use super::operator::Operators;
use super::relation::SearchRelations;
use super::table::{CATALOG_NAME, StatementTables};
use super::version::TableVersions;
use crate::catalog::DEFAULT_NAMESPACE;
use crate::error::{Error, Result};
use crate::sql::function;
use crate::sql::result::QueryResult;
use crate::sql::rule::{Cooperation, NearestRule, NumericPromotion, PostgresSemantics};

/// The memory that one query may hold; sorts and aggregations spill to disk before they reach it.
const QUERY_MEMORY_BYTES: usize = 4 << 30;

/// How many holders of memory an error names.
const NAMED_CONSUMERS: NonZeroUsize = NonZeroUsize::MIN.saturating_add(2);

/// Plans and runs the queries of one statement.
pub(crate) struct Planner {
    state: SessionState,
    tables: StatementTables,
}

/// What every statement starts from: building it anew would cost half a millisecond a statement.
pub(super) fn template() -> &'static SessionState {
    static TEMPLATE: LazyLock<SessionState> = LazyLock::new(|| {
        let mut config = SessionConfig::new().with_create_default_catalog_and_schema(false);
        let options = config.options_mut();
        options.catalog.default_catalog = CATALOG_NAME.to_string();
        options.catalog.default_schema = DEFAULT_NAMESPACE.to_string();
        options.execution.time_zone = Some("UTC".to_string());
        options.sql_parser.parse_float_as_decimal = true;
        options.sql_parser.map_string_types_to_utf8view = false;
        // Splits are spread over partitions by the scan, and a round robin would lose "best first".
        options.optimizer.enable_round_robin_repartition = false;
        let mut analyzer_rules = Analyzer::new().rules;
        analyzer_rules.insert(0, Arc::new(NumericPromotion));
        analyzer_rules.push(Arc::new(PostgresSemantics));
        let mut optimizer_rules = Optimizer::new().rules;
        optimizer_rules.push(Arc::new(NearestRule));
        let mut builder = SessionStateBuilder::new()
            .with_config(config)
            .with_default_features()
            .with_analyzer_rules(analyzer_rules)
            .with_optimizer_rules(optimizer_rules)
            .with_physical_optimizer_rule(Arc::new(Cooperation));
        builder
            .expr_planners()
            .get_or_insert_default()
            .insert(0, Arc::new(Operators));
        builder
            .scalar_functions()
            .get_or_insert_default()
            .extend(function::all().iter().cloned());
        builder
            .aggregate_functions()
            .get_or_insert_default()
            .extend(function::aggregates().iter().cloned());
        builder.build()
    });
    &TEMPLATE
}

impl Planner {
    /// A planner over the tables of a statement.
    pub(crate) fn new(tables: StatementTables) -> Planner {
        let mut state = template().clone();
        state.mark_start_execution();
        Planner { state, tables }
    }

    /// Plans a query; the plan's columns have their final types. Errors: InvalidInput, NotFound, Unsupported, each
    /// naming the thing.
    pub(crate) async fn plan_query(&self, mut query: ast::Query) -> Result<LogicalPlan> {
        let case = ColumnCase::of_query(&self.tables, &query).await?;
        if let Some(case) = &case {
            case.fold(&mut query)?;
        }
        let relations = SearchRelations::load(&self.tables, &query).await?;
        let metadata = metadata_columns(&self.tables, &mut query).await?;
        let tables = self.tables.clone();
        let tables = tables
            .with_functions(relations.functions())
            .with_metadata(metadata);
        let versions = TableVersions::load(&tables, &query).await?;
        let mut state = self.state.clone();
        state.register_catalog_list(Arc::new(tables));
        state
            .register_relation_planner(Arc::new(relations))
            .map_err(explain_error)?;
        state
            .register_relation_planner(Arc::new(versions))
            .map_err(explain_error)?;
        let query = ast::Statement::Query(Box::new(query));
        let statement = PlannerStatement::Statement(Box::new(query));
        let plan = state
            .statement_to_plan(statement)
            .await
            .map_err(explain_error)?;
        let options = Arc::clone(state.config_options());
        let analyzed = state
            .analyzer()
            .execute_and_check(plan, &options, |_, _| {});
        let plan = analyzed.map_err(explain_error)?;
        match &case {
            Some(case) => case.restore(plan),
            None => Ok(plan),
        }
    }

    /// Starts a plan; its rows come as they are asked for.
    pub(crate) async fn run(&self, plan: LogicalPlan) -> Result<QueryResult> {
        let physical = self
            .state
            .create_physical_plan(&plan)
            .await
            .map_err(explain_error)?;
        let schema = physical.schema();
        let stream = execute_stream(physical, self.task_context()).map_err(explain_error)?;
        let batches = stream.map(|batch| batch.map_err(explain_error)).boxed();
        Ok(QueryResult::rows(schema, batches))
    }

    /// The plan as EXPLAIN shows it, a line a row; with `analyze` it runs, with `verbose` every stage is shown.
    pub(crate) async fn explain(
        &self,
        plan: LogicalPlan,
        verbose: bool,
        analyze: bool,
    ) -> Result<QueryResult> {
        let plan = LogicalPlanBuilder::from(plan)
            .explain(verbose, analyze)
            .map_err(explain_error)?;
        let explained = self.run(plan.build().map_err(explain_error)?).await?;
        plan_lines(&explained.collect().await?, verbose)
    }

    fn task_context(&self) -> Arc<TaskContext> {
        let pool: Arc<dyn MemoryPool> = Arc::new(TrackConsumersPool::new(
            FairSpillPool::new(QUERY_MEMORY_BYTES),
            NAMED_CONSUMERS,
        ));
        let mut runtime: RuntimeEnv = self.state.runtime_env().as_ref().clone();
        runtime.memory_pool = pool;
        Arc::new(TaskContext::new(
            None,
            self.state.session_id().to_string(),
            self.state.config().clone(),
            self.state.scalar_functions().clone(),
            self.state.higher_order_functions().clone(),
            self.state.aggregate_functions().clone(),
            self.state.window_functions().clone(),
            Arc::new(runtime),
        ))
    }
}

/// The rows (stage, text) of an explained plan as lines. Users see the plan that runs; stages are for developers.
fn plan_lines(stages: &[RecordBatch], verbose: bool) -> Result<QueryResult> {
    let mut lines = Vec::new();
    for batch in stages {
        let [names, texts] = batch.columns() else {
            return Err(Error::internal("EXPLAIN without stage and text"));
        };
        for (name, text) in names
            .as_string::<i32>()
            .iter()
            .zip(texts.as_string::<i32>())
        {
            let (name, text) = (name.unwrap_or_default(), text.unwrap_or_default());
            if verbose {
                lines.push(format!("{name}:"));
            } else if name == "logical_plan" {
                continue;
            }
            lines.extend(text.lines().map(|line| line.replace('\u{1}', "_")));
        }
    }
    QueryResult::columns([("plan", Arc::new(StringArray::from(lines)))])
}
