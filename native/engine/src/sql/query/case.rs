//! Column names in any case, where the session is told so: queries are planned over lower-case names, and results
//! have the tables' own names again. A name that columns of one table share but for case is ambiguous, unless it is
//! quoted and spelled as one of them. Fields inside structs keep their case.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use datafusion::common::Column;
use datafusion::logical_expr::{Expr as PlanExpr, LogicalPlan, LogicalPlanBuilder};
use datafusion::sql::sqlparser::ast::{
    Expr, Ident, JoinConstraint, JoinOperator, ObjectName, Query, Select, SelectItem, TableAlias,
    TableFactor, TableWithJoins, Visit, VisitMut, Visitor, VisitorMut,
};

use super::relation::searched_tables;
use super::{StatementTables, explain_error};
use crate::error::{Error, Result};
use crate::sql::parse::name_parts;
use crate::table::Table;

/// The columns of a statement's tables by their names in lower case.
#[derive(Default)]
pub(super) struct ColumnCase {
    /// How the first table that has the column spells it.
    spelled: BTreeMap<String, String>,
    /// Names that several columns of one table have.
    ambiguous: BTreeMap<String, Vec<String>>,
    /// What stands before the name of a column.
    qualifiers: BTreeSet<String>,
}

impl ColumnCase {
    /// The columns that a query may name; None where the session tells cases apart.
    pub(super) async fn of_query(
        tables: &StatementTables,
        query: &Query,
    ) -> Result<Option<ColumnCase>> {
        if tables.case_sensitive() {
            return Ok(None);
        }
        let mut case = ColumnCase::default();
        if let Some(target) = tables.target() {
            case.add(target)?;
        }
        let mut named = Relations::default();
        let _ = Visit::visit(query, &mut named);
        named.tables.extend(searched_tables(query)?);
        for parts in named.tables {
            // A name that is no table is the planner's to report.
            if let Ok(table) = tables.get(&parts).await {
                case.add(&table)?;
            }
        }
        case.qualifiers = named.qualifiers;
        Ok(Some(case))
    }

    /// The columns of one table; None where the session tells cases apart.
    pub(super) fn of_table(table: &Table) -> Result<Option<ColumnCase>> {
        if table.environment().case_sensitive() {
            return Ok(None);
        }
        let mut case = ColumnCase::default();
        case.add(table)?;
        Ok(Some(case))
    }

    fn add(&mut self, table: &Table) -> Result<()> {
        let mut own: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for field in &table.schema()?.fields {
            let lower = field.name.to_lowercase();
            own.entry(lower).or_default().push(field.name.clone());
        }
        for (lower, mut names) in own {
            if names.len() > 1 {
                self.ambiguous.insert(lower, names);
            } else if let Some(name) = names.pop() {
                self.spelled.entry(lower).or_insert(name);
            }
        }
        Ok(())
    }

    /// Brings names of columns to the case in which they are planned. Errors: InvalidInput for an ambiguous name.
    pub(super) fn fold(&self, part: &mut impl VisitMut) -> Result<()> {
        match part.visit(&mut Folder(self)) {
            ControlFlow::Break(error) => Err(error),
            ControlFlow::Continue(()) => Ok(()),
        }
    }

    /// Gives the columns of a result the names that the tables have.
    pub(super) fn restore(&self, plan: LogicalPlan) -> Result<LogicalPlan> {
        let mut columns = Vec::new();
        let mut changed = false;
        for (qualifier, field) in plan.schema().iter() {
            let column = PlanExpr::Column(Column::new(qualifier.cloned(), field.name()));
            let spelled = self.spelled.get(field.name());
            columns.push(match spelled.filter(|name| *name != field.name()) {
                Some(name) => {
                    changed = true;
                    column.alias_qualified(qualifier.cloned(), name)
                }
                None => column,
            });
        }
        if !changed {
            return Ok(plan);
        }
        LogicalPlanBuilder::from(plan)
            .project(columns)
            .and_then(LogicalPlanBuilder::build)
            .map_err(explain_error)
    }

    fn fold_name(&self, name: &mut Ident) -> Result<()> {
        let lower = name.value.to_lowercase();
        if let Some(names) = self.ambiguous.get(&lower) {
            let exact = name.quote_style.is_some() && names.contains(&name.value);
            return match exact {
                true => Ok(()),
                false => Err(Error::invalid_input(format!(
                    "column {name} is ambiguous, it may be one of {}; quote the one that is meant",
                    names.join(", ")
                ))),
            };
        }
        self.fold_alias(name);
        Ok(())
    }

    /// A name that the query gives: what it means is clear, so it is folded only to be found by folded names.
    fn fold_alias(&self, name: &mut Ident) {
        let lower = name.value.to_lowercase();
        if self.spelled.contains_key(&lower) && !self.ambiguous.contains_key(&lower) {
            *name = Ident::with_quote('"', lower);
        }
    }
}

/// The tables of a query and what its expressions call them.
#[derive(Default)]
struct Relations {
    tables: BTreeSet<Vec<String>>,
    qualifiers: BTreeSet<String>,
}

impl Visitor for Relations {
    type Break = ();

    fn pre_visit_table_factor(&mut self, relation: &TableFactor) -> ControlFlow<()> {
        let alias = match relation {
            TableFactor::Table {
                name, alias, args, ..
            } => {
                if let (None, Ok(parts)) = (args, name_parts(name)) {
                    self.qualifiers.extend(parts.last().cloned());
                    self.tables.insert(parts);
                }
                alias
            }
            TableFactor::Derived { alias, .. } => alias,
            _ => &None,
        };
        let name = alias.iter().map(|a| ObjectName::from(vec![a.name.clone()]));
        let names = name.filter_map(|name| name_parts(&name).ok());
        self.qualifiers.extend(names.flatten());
        ControlFlow::Continue(())
    }
}

struct Folder<'a>(&'a ColumnCase);

impl Folder<'_> {
    fn compound(&self, parts: &mut [Ident]) -> Result<()> {
        let qualified = parts.first().is_some_and(|first| {
            let name = ObjectName::from(vec![first.clone()]);
            let parts = name_parts(&name).unwrap_or_default();
            parts.iter().any(|part| self.0.qualifiers.contains(part))
        });
        match parts {
            [_, column, ..] if qualified => self.0.fold_name(column),
            [column, ..] => self.0.fold_name(column),
            [] => Ok(()),
        }
    }

    fn alias(&self, alias: &mut TableAlias) {
        for column in &mut alias.columns {
            self.0.fold_alias(&mut column.name);
        }
    }

    fn select(&self, select: &mut Select) -> Result<()> {
        for item in &mut select.projection {
            if let SelectItem::ExprWithAlias { alias, .. } = item {
                self.0.fold_alias(alias);
            }
        }
        for join in select.from.iter_mut().flat_map(joins) {
            let Some(JoinConstraint::Using(names)) = constraint(join) else {
                continue;
            };
            for name in names {
                let Some(mut column) = name.0.last().and_then(|p| p.as_ident()).cloned() else {
                    continue;
                };
                self.0.fold_name(&mut column)?;
                *name = ObjectName::from(vec![column]);
            }
        }
        Ok(())
    }
}

fn joins(group: &mut TableWithJoins) -> impl Iterator<Item = &mut JoinOperator> {
    group.joins.iter_mut().map(|join| &mut join.join_operator)
}

fn constraint(join: &mut JoinOperator) -> Option<&mut JoinConstraint> {
    match join {
        JoinOperator::Join(constraint)
        | JoinOperator::Inner(constraint)
        | JoinOperator::Left(constraint)
        | JoinOperator::LeftOuter(constraint)
        | JoinOperator::Right(constraint)
        | JoinOperator::RightOuter(constraint)
        | JoinOperator::FullOuter(constraint) => Some(constraint),
        _ => None,
    }
}

fn flow(result: Result<()>) -> ControlFlow<Error> {
    match result {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => ControlFlow::Break(error),
    }
}

impl VisitorMut for Folder<'_> {
    type Break = Error;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Error> {
        let named = query.with.iter_mut().flat_map(|with| &mut with.cte_tables);
        named.for_each(|table| self.alias(&mut table.alias));
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Error> {
        flow(self.select(select))
    }

    fn pre_visit_table_factor(&mut self, relation: &mut TableFactor) -> ControlFlow<Error> {
        if let TableFactor::Table { alias, .. } | TableFactor::Derived { alias, .. } = relation {
            alias.iter_mut().for_each(|alias| self.alias(alias));
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expression: &mut Expr) -> ControlFlow<Error> {
        match expression {
            Expr::Identifier(name) => flow(self.0.fold_name(name)),
            Expr::CompoundIdentifier(parts) => flow(self.compound(parts)),
            _ => ControlFlow::Continue(()),
        }
    }
}
