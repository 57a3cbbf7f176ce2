//! Our SQL: PostgreSQL's dialect over Iceberg tables and their indexes. Text becomes statements (`parse`), queries
//! become plans over our scans (`query`, `rule`, `scan`, `function`), row changes become one snapshot each
//! (`write`), and index commands go to the overlay (`command`). Rows are decided by the one evaluator wherever a
//! filter has a predicate (law L2); a statement sees one snapshot of each table (law L9).

mod command;
mod function;
mod parse;
mod query;
mod result;
mod rule;
mod scan;
mod stack;
mod write;

pub use result::QueryResult;

use std::sync::Arc;

use crate::error::Result;
use crate::table::Environment;
use parse::{Explain, Statement};
use query::{Planner, StatementTables, explain_error};
use stack::await_deep;

/// One parsed statement.
#[derive(Clone, Debug)]
pub struct SqlStatement {
    statement: Arc<Statement>,
    depth: usize,
}

/// Parses statements separated by `;`. Errors: InvalidInput for text that is no SQL, Unsupported for what this
/// database does not do; then none of the statements is returned.
pub fn parse_statements(text: &str) -> Result<Vec<SqlStatement>> {
    let (statements, depth) = parse::parse(text)?;
    let of = |statement| SqlStatement {
        statement: Arc::new(statement),
        depth,
    };
    Ok(statements.into_iter().map(of).collect())
}

/// Runs the statements of a text one after the other; the first error stops. Rows of queries are read lazily.
pub async fn execute(environment: &Environment, text: &str) -> Result<Vec<QueryResult>> {
    let mut results = Vec::new();
    for statement in parse_statements(text)? {
        results.push(statement.run(environment).await?);
    }
    Ok(results)
}

impl SqlStatement {
    /// Runs the statement. A change is published when this returns; rows of a query come as the result is read.
    pub async fn run(&self, environment: &Environment) -> Result<QueryResult> {
        let (statement, environment) = (Arc::clone(&self.statement), environment.clone());
        await_deep(
            self.depth,
            async move { run(&statement, &environment).await },
        )
        .await
    }
}

async fn run(statement: &Statement, environment: &Environment) -> Result<QueryResult> {
    let tables = StatementTables::new(environment);
    match statement {
        Statement::Query(query) => {
            let planner = Planner::new(tables);
            let plan = planner.plan_query(query.as_ref().clone()).await?;
            planner.run(plan).await
        }
        Statement::Explain(explain) => run_explain(explain, tables).await,
        Statement::CreateTable(create) => write::create_table(create, environment).await,
        Statement::DropTable { table, if_exists } => {
            write::drop_table(table, *if_exists, environment).await
        }
        Statement::CreateSchema {
            name,
            if_not_exists,
        } => write::create_schema(name, *if_not_exists, environment).await,
        Statement::DropSchema { name, if_exists } => {
            write::drop_schema(name, *if_exists, environment).await
        }
        Statement::Insert(insert) => write::insert(insert, tables).await,
        Statement::Delete(delete) => write::delete(delete, tables).await,
        Statement::Update(update) => write::update(update, tables).await,
        Statement::Truncate { table } => write::truncate(table, tables).await,
        Statement::CreateIndex(create) => command::create_index(create, &tables).await,
        Statement::DropIndex(drop) => command::drop_index(drop, &tables).await,
        Statement::ShowIndexes { table } => command::show_indexes(table, &tables).await,
        Statement::ShowTables { schema } => {
            command::show_tables(schema.as_ref(), environment).await
        }
        Statement::ShowSchemas => command::show_schemas(environment).await,
        Statement::Describe { table } => command::describe(table, &tables).await,
        Statement::Call(call) => command::call(call, &tables).await,
    }
}

async fn run_explain(explain: &Explain, tables: StatementTables) -> Result<QueryResult> {
    let (planner, plan) = match explain.statement.as_ref() {
        Statement::Query(query) => {
            let planner = Planner::new(tables);
            let plan = planner.plan_query(query.as_ref().clone()).await?;
            (planner, plan)
        }
        Statement::Insert(insert) => write::plan_insert(insert, tables).await?.into_plan(),
        Statement::Delete(delete) => write::plan_delete(delete, tables).await?.into_plan(),
        Statement::Update(update) => write::plan_update(update, tables).await?.into_plan(),
        other => {
            return Err(crate::error::Error::internal(format!(
                "EXPLAIN of {other:?}"
            )));
        }
    };
    planner
        .explain(plan, explain.verbose, explain.analyze)
        .await
}
