//! The table functions `vector_search` and `bm25_search`: their arguments, checks and plans. The tables they name
//! are loaded before planning, which cannot wait for anything.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::common::{DFSchema, Result as PlanResult};
use datafusion::datasource::provider_as_source;
use datafusion::logical_expr::planner::{
    PlannedRelation, RelationPlanner, RelationPlannerContext, RelationPlanning,
};
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, col};
use datafusion::sql::sqlparser::ast::{
    self, ObjectName, TableFactor, UnaryOperator, Value, Visit, Visitor,
};

use super::StatementTables;
use super::case::ColumnCase;
use super::metadata::metadata_columns_of;
use super::row_set::rows_of_filter;
use crate::error::{Error, Result};
use crate::iceberg::predicate::Predicate;
use crate::iceberg::schema::type_name;
use crate::sql::function::{DistanceKind, TO_VECTOR, distance, parse_vector, vector_literal};
use crate::sql::parse::{Arguments, BoundArguments, name_parts, parse_expression};
use crate::sql::scan::{TableScanProvider, conjuncts_of, row_id};
use crate::table::{
    MAX_K, Metric, NullDistance, SearchMode, SearchRequest, Table, TextSearch, VectorSearch,
};

const VECTOR_PARAMETERS: [&str; 12] = [
    "table",
    "column",
    "query",
    "k",
    "filter",
    "metric",
    "ef_search",
    "nprobe",
    "recall",
    "min_coverage",
    "max_scan_bytes",
    "max_gets",
];
const TEXT_PARAMETERS: [&str; 7] = [
    "table", "column", "query", "k", "filter", "operator", "analyzer",
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Function {
    Vector,
    Text,
}

impl Function {
    fn of(name: &ObjectName) -> Option<Function> {
        let name = name.0.last()?.as_ident()?.value.to_lowercase();
        match name.as_str() {
            "vector_search" => Some(Function::Vector),
            "bm25_search" => Some(Function::Text),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Function::Vector => "vector_search",
            Function::Text => "bm25_search",
        }
    }

    fn bind(self, arguments: &[ast::FunctionArg]) -> Result<BoundArguments> {
        let arguments = Arguments::new(arguments)?;
        match self {
            Function::Vector => arguments.bind(self.name(), &VECTOR_PARAMETERS),
            Function::Text => arguments.bind(self.name(), &TEXT_PARAMETERS),
        }
    }
}

/// The searches of one query, their tables loaded.
pub(super) struct SearchRelations {
    tables: BTreeMap<Vec<String>, (Table, TableScanProvider)>,
    /// The columns that filters may name, by table and text: the table's own and metadata columns.
    selectable: BTreeMap<(Vec<String>, String), TableScanProvider>,
    functions: BTreeSet<String>,
    /// Rows of filters that have no predicate, by table and text.
    row_sets: BTreeMap<(Vec<String>, String), Predicate>,
}

impl fmt::Debug for SearchRelations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SearchRelations")
    }
}

impl SearchRelations {
    /// The names of all table functions that the query calls, ours or the planner's.
    pub(super) fn functions(&self) -> BTreeSet<String> {
        self.functions.clone()
    }

    /// Loads the tables that the searches in `query` name.
    pub(super) async fn load(
        tables: &StatementTables,
        query: &ast::Query,
    ) -> Result<SearchRelations> {
        let mut named = NamedTables::default();
        if let ControlFlow::Break(error) = query.visit(&mut named) {
            return Err(error);
        }
        let mut loaded = BTreeMap::new();
        let mut selectable = BTreeMap::new();
        let mut row_sets = BTreeMap::new();
        for NamedTable {
            parts,
            function,
            filter,
        } in named.tables
        {
            let table = tables.get(&parts).await?;
            let provider = TableScanProvider::new(&table).await?;
            if let Some(filter) = filter {
                let parsed = parse_expression(&filter).map_err(|e| e.with("filter", &filter))?;
                let columns = provider
                    .clone()
                    .with_live_metadata(&metadata_columns_of(&parsed))?;
                if function == Function::Text
                    && let Some(rows) = rows_of_filter(tables, &table, &columns, &filter).await?
                {
                    row_sets.insert((parts.clone(), filter.clone()), rows);
                }
                selectable.insert((parts.clone(), filter), columns);
            }
            loaded.insert(parts, (table, provider));
        }
        Ok(SearchRelations {
            tables: loaded,
            selectable,
            functions: named.functions,
            row_sets,
        })
    }
}

/// A search as the query names it.
struct NamedTable {
    parts: Vec<String>,
    function: Function,
    filter: Option<String>,
}

/// The tables that the searches of a query name.
pub(super) fn searched_tables(query: &ast::Query) -> Result<BTreeSet<Vec<String>>> {
    let mut named = NamedTables::default();
    match query.visit(&mut named) {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => Ok(named.tables.into_iter().map(|t| t.parts).collect()),
    }
}

#[derive(Default)]
struct NamedTables {
    tables: Vec<NamedTable>,
    functions: BTreeSet<String>,
}

impl Visitor for NamedTables {
    type Break = Error;

    fn pre_visit_table_factor(&mut self, relation: &TableFactor) -> ControlFlow<Error> {
        let TableFactor::Table {
            name,
            args: Some(arguments),
            ..
        } = relation
        else {
            return ControlFlow::Continue(());
        };
        match name_parts(name).as_deref() {
            Ok([single]) => self.functions.insert(single.clone()),
            _ => false,
        };
        if let Some(function) = Function::of(name) {
            match function.bind(&arguments.args).and_then(|bound| {
                Ok(NamedTable {
                    parts: table_argument(&bound)?,
                    function,
                    filter: bound.text("filter")?,
                })
            }) {
                Ok(named) => self.tables.push(named),
                Err(error) => return ControlFlow::Break(error),
            }
        }
        ControlFlow::Continue(())
    }
}

/// The table a search names: a location, or a name whose parts are separated by dots.
pub(crate) fn table_argument(arguments: &BoundArguments) -> Result<Vec<String>> {
    if let ast::Expr::CompoundIdentifier(parts) = arguments.required("table")? {
        return name_parts(&ObjectName::from(parts.clone()));
    }
    let text = arguments.required_text("table")?;
    if text.contains('/') {
        return Ok(vec![text]);
    }
    Ok(text.split('.').map(str::to_string).collect())
}

impl RelationPlanner for SearchRelations {
    fn plan_relation(
        &self,
        relation: TableFactor,
        context: &mut dyn RelationPlannerContext,
    ) -> PlanResult<RelationPlanning> {
        let TableFactor::Table {
            name,
            alias,
            args: Some(arguments),
            ..
        } = &relation
        else {
            return Ok(RelationPlanning::Original(Box::new(relation)));
        };
        let Some(function) = Function::of(name) else {
            if name.to_string().eq_ignore_ascii_case("hybrid_search") {
                return Err(Error::unsupported("hybrid_search is not supported").into());
            }
            return Ok(RelationPlanning::Original(Box::new(relation)));
        };
        let bound = function.bind(&arguments.args)?;
        let parts = table_argument(&bound)?;
        let (table, provider) = self
            .tables
            .get(&parts)
            .ok_or_else(|| Error::internal(format!("table {} was not loaded", parts.join("."))))?;
        let filter = bound.text("filter")?.unwrap_or_default();
        let key = (parts, filter);
        let search = Search {
            function,
            arguments: &bound,
            table,
            provider,
            selectable: self.selectable.get(&key).unwrap_or(provider),
            rows_of_filter: self.row_sets.get(&key).cloned(),
        };
        let plan = search.plan(context)?;
        Ok(RelationPlanning::Planned(Box::new(PlannedRelation::new(
            plan,
            alias.clone(),
        ))))
    }
}

/// One call of a search.
struct Search<'a> {
    function: Function,
    arguments: &'a BoundArguments,
    table: &'a Table,
    provider: &'a TableScanProvider,
    /// What the filter may name.
    selectable: &'a TableScanProvider,
    rows_of_filter: Option<Predicate>,
}

impl Search<'_> {
    fn plan(&self, context: &mut dyn RelationPlannerContext) -> Result<LogicalPlan> {
        let k = self.k()?;
        match self.function {
            Function::Vector => self.plan_vector(k, context),
            Function::Text => self.plan_text(k, context),
        }
    }

    fn k(&self) -> Result<usize> {
        self.arguments.required("k")?;
        let k = self.arguments.integer("k")?.unwrap_or(0);
        match usize::try_from(k) {
            Ok(k) if (1..=MAX_K).contains(&k) => Ok(k),
            Ok(k) if k > MAX_K => Err(Error::resource_exhausted(format!(
                "k = {k} is above {MAX_K}"
            ))),
            _ => Err(Error::invalid_input(format!("k = {k} is below 1"))),
        }
    }

    /// The searched column: its field id and type.
    fn column(&self) -> Result<(i32, String, DataType)> {
        let name = self.arguments.required_text("column")?;
        let (id, field) = self.provider.column(&name)?;
        Ok((id, field.name().clone(), field.data_type().clone()))
    }

    fn plan_vector(
        &self,
        k: usize,
        context: &mut dyn RelationPlannerContext,
    ) -> Result<LogicalPlan> {
        for option in ["nprobe", "min_coverage", "max_scan_bytes", "max_gets"] {
            if self.arguments.get(option).is_some() {
                return Err(Error::unsupported(format!(
                    "vector_search: {option} is not supported"
                )));
            }
        }
        let (column, name, data_type) = self.column()?;
        let vector = matches!(&data_type, DataType::List(element) if element.data_type() == &DataType::Float32);
        if !vector {
            return Err(Error::invalid_input(format!(
                "column {name} is no vector: its type is {}",
                type_name(&data_type)
            )));
        }
        let query = constant_vector(self.arguments.required("query")?)?;
        let metric = self.metric(column)?;
        let mode: SearchMode = self
            .arguments
            .text("recall")?
            .map(|text| text.parse())
            .transpose()?
            .unwrap_or_default();
        let ef = self.arguments.integer("ef_search")?;
        let ef = match ef.map(usize::try_from) {
            None => None,
            Some(Ok(ef)) if (1..=MAX_K).contains(&ef) => Some(ef),
            Some(_) => return Err(Error::invalid_input(format!("ef_search is 1 to {MAX_K}"))),
        };
        let conjuncts = match self.filter(context)? {
            None => Vec::new(),
            Some(Filter::Pushed(conjuncts)) => conjuncts,
            Some(Filter::Planned(predicate)) => {
                return self.plan_exhaustive(&name, query, k, metric, *predicate);
            }
        };
        let search = VectorSearch {
            column,
            query,
            k,
            metric,
            ef,
            mode,
            nulls: NullDistance::Drop,
        };
        self.scan(SearchRequest::Vector(search), conjuncts, k)
    }

    fn metric(&self, column: i32) -> Result<Metric> {
        match self.arguments.text("metric")?.as_deref() {
            None => Ok(self.provider.vector_metric(column).unwrap_or(Metric::L2)),
            Some(name) => name.parse(),
        }
    }

    /// A filter that no index and no scan can take: every row that passes it is measured.
    fn plan_exhaustive(
        &self,
        column: &str,
        query: Vec<f32>,
        k: usize,
        metric: Metric,
        predicate: Expr,
    ) -> Result<LogicalPlan> {
        let kind = DistanceKind::of_metric(metric);
        let provider =
            TableScanProvider::with_row_ids(self.table)?.with_columns_of(self.selectable);
        let ties = row_id::ORDER
            .iter()
            .map(|name| col(*name).sort(true, false));
        let columns: Vec<Expr> = self
            .provider
            .columns()
            .fields()
            .iter()
            .map(|f| Expr::from((None, f)))
            .collect();
        let measure = distance(
            kind,
            Expr::from(datafusion::common::Column::from_name(column)),
            vector_literal(query),
        );
        let build = || {
            let mut measured = columns.clone();
            measured.extend(row_id::ORDER.iter().map(|name| col(*name)));
            measured.push(measure.alias(row_id::DISTANCE));
            let mut result = columns.clone();
            result.push(col(row_id::DISTANCE));
            let mut order = vec![col(row_id::DISTANCE).sort(true, false)];
            order.extend(ties);
            LogicalPlanBuilder::scan(
                self.function.name(),
                provider_as_source(Arc::new(provider)),
                None,
            )?
            .filter(predicate)?
            .project(measured)?
            .filter(col(row_id::DISTANCE).is_not_null())?
            .sort(order)?
            .limit(0, Some(k))?
            .project(result)?
            .build()
        };
        build().map_err(super::explain_error)
    }

    fn plan_text(&self, k: usize, context: &mut dyn RelationPlannerContext) -> Result<LogicalPlan> {
        let (column, name, data_type) = self.column()?;
        if data_type != DataType::Utf8 {
            return Err(Error::invalid_input(format!(
                "column {name} is no text: its type is {}",
                type_name(&data_type)
            )));
        }
        let all = match self
            .arguments
            .text("operator")?
            .map(|text| text.to_lowercase())
            .as_deref()
        {
            None | Some("or") => false,
            Some("and") => true,
            Some(other) => {
                return Err(Error::invalid_input(format!(
                    "operator '{other}' (known: or, and)"
                )));
            }
        };
        let query = self.arguments.required_text("query")?;
        let analyzer = self.arguments.text("analyzer")?;
        let conjuncts = match self.filter(context)? {
            None => Vec::new(),
            Some(Filter::Pushed(conjuncts)) => conjuncts,
            Some(Filter::Planned(predicate)) => {
                let rows = self.rows_of_filter.clone();
                vec![
                    rows.ok_or_else(|| Error::internal(format!("filter {predicate} was not run")))?,
                ]
            }
        };
        self.scan(
            SearchRequest::Text(TextSearch {
                column,
                query,
                k,
                all,
                analyzer,
            }),
            conjuncts,
            k,
        )
    }

    fn scan(
        &self,
        search: SearchRequest,
        conjuncts: Vec<Predicate>,
        k: usize,
    ) -> Result<LogicalPlan> {
        let provider = self.provider.searching(search, conjuncts)?;
        let build = || {
            LogicalPlanBuilder::scan(
                self.function.name(),
                provider_as_source(Arc::new(provider)),
                None,
            )?
            .limit(0, Some(k))?
            .build()
        };
        build().map_err(super::explain_error)
    }

    fn filter(&self, context: &mut dyn RelationPlannerContext) -> Result<Option<Filter>> {
        let Some(text) = self.arguments.text("filter")? else {
            return Ok(None);
        };
        let mut parsed = parse_expression(&text).map_err(|error| error.with("filter", &text))?;
        let columns = self.selectable.columns();
        let schema = DFSchema::try_from_qualified_schema(self.function.name(), columns)
            .map_err(super::explain_error)?;
        if let Some(case) = ColumnCase::of_table(self.table)? {
            case.fold(&mut parsed)?;
        }
        let predicate = context
            .sql_to_expr(parsed, &schema)
            .map_err(super::explain_error)?;
        match conjuncts_of(&predicate, &schema, self.selectable)? {
            Some(conjuncts) => Ok(Some(Filter::Pushed(conjuncts))),
            None => Ok(Some(Filter::Planned(Box::new(predicate)))),
        }
    }
}

/// The filter of a search.
enum Filter {
    /// The scan decides all of it.
    Pushed(Vec<Predicate>),
    /// The planner has to.
    Planned(Box<Expr>),
}

/// The query vector of a search: text, a list of numbers, or either cast to vector.
fn constant_vector(value: &ast::Expr) -> Result<Vec<f32>> {
    let wrong = || Error::invalid_input(format!("query {value} is no vector such as '[0.1, 0.2]'"));
    match value {
        ast::Expr::Value(inner) => match &inner.value {
            Value::SingleQuotedString(text) => parse_vector(text),
            _ => Err(wrong()),
        },
        ast::Expr::Array(array) => {
            let elements = array
                .elem
                .iter()
                .map(number)
                .collect::<Option<Vec<f32>>>()
                .ok_or_else(wrong)?;
            match elements.iter().all(|x| x.is_finite()) {
                true if !elements.is_empty() => Ok(elements),
                true => Err(wrong()),
                false => Err(Error::invalid_input("query vector holds NaN or infinity")),
            }
        }
        ast::Expr::Cast { expr, .. } | ast::Expr::Nested(expr) => constant_vector(expr),
        ast::Expr::Function(call) if call.name.to_string().trim_matches('"') == TO_VECTOR => {
            match &call.args {
                ast::FunctionArguments::List(list) => match list.args.first() {
                    Some(ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(inner))) => {
                        constant_vector(inner)
                    }
                    _ => Err(wrong()),
                },
                _ => Err(wrong()),
            }
        }
        _ => Err(wrong()),
    }
}

fn number(value: &ast::Expr) -> Option<f32> {
    match value {
        ast::Expr::Cast { expr, .. } => match expr.as_ref() {
            ast::Expr::Value(inner) => inner.value.clone().into_string()?.parse().ok(),
            other => number(other),
        },
        ast::Expr::UnaryOp {
            op: UnaryOperator::Plus,
            expr,
        } => number(expr),
        other => Arguments::scalar_text(other)?.parse().ok(),
    }
}
