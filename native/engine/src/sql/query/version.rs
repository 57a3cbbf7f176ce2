//! Tables at older states in one query. They are loaded before planning, which cannot wait for anything, and stand
//! under the table's own name.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::catalog::TableProvider;
use datafusion::common::Result as PlanResult;
use datafusion::datasource::provider_as_source;
use datafusion::logical_expr::LogicalPlanBuilder;
use datafusion::logical_expr::planner::{
    PlannedRelation, RelationPlanner, RelationPlannerContext, RelationPlanning,
};
use datafusion::sql::sqlparser::ast::{self, TableFactor, Visit, Visitor};

use super::StatementTables;
use crate::error::{Error, Result};
use crate::sql::parse::{name_parts, table_state};
use crate::table::AsOf;

type Key = (Vec<String>, AsOf);

/// The older states that a query names.
pub(super) struct TableVersions {
    providers: BTreeMap<Key, Arc<dyn TableProvider>>,
}

impl fmt::Debug for TableVersions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TableVersions")
    }
}

impl TableVersions {
    /// Loads them. Errors: NotFound names the table, snapshot, branch or tag.
    pub(super) async fn load(
        tables: &StatementTables,
        query: &ast::Query,
    ) -> Result<TableVersions> {
        let mut named = NamedVersions::default();
        if let ControlFlow::Break(error) = query.visit(&mut named) {
            return Err(error);
        }
        let mut providers = BTreeMap::new();
        for (parts, state) in named.0 {
            let provider = tables.provider(&parts, Some(&state)).await?;
            providers.insert((parts, state), provider);
        }
        Ok(TableVersions { providers })
    }
}

/// The key of a relation with a version.
fn key(relation: &TableFactor) -> Result<Option<Key>> {
    match relation {
        TableFactor::Table {
            name,
            version: Some(version),
            ..
        } => Ok(Some((name_parts(name)?, table_state(version)?))),
        _ => Ok(None),
    }
}

#[derive(Default)]
struct NamedVersions(Vec<Key>);

impl Visitor for NamedVersions {
    type Break = Error;

    fn pre_visit_table_factor(&mut self, relation: &TableFactor) -> ControlFlow<Error> {
        match key(relation) {
            Ok(key) => {
                self.0.extend(key);
                ControlFlow::Continue(())
            }
            Err(error) => ControlFlow::Break(error),
        }
    }
}

impl RelationPlanner for TableVersions {
    fn plan_relation(
        &self,
        relation: TableFactor,
        context: &mut dyn RelationPlannerContext,
    ) -> PlanResult<RelationPlanning> {
        let (Some(key), TableFactor::Table { name, alias, .. }) = (key(&relation)?, &relation)
        else {
            return Ok(RelationPlanning::Original(Box::new(relation)));
        };
        let provider = self.providers.get(&key).ok_or_else(|| {
            Error::unsupported(format!("table {name} at {} inside a filter", key.1))
        })?;
        let table = context.object_name_to_table_reference(name.clone())?;
        let source = provider_as_source(Arc::clone(provider));
        let plan = LogicalPlanBuilder::scan(table, source, None)?.build()?;
        Ok(RelationPlanning::Planned(Box::new(PlannedRelation::new(
            plan,
            alias.clone(),
        ))))
    }
}
