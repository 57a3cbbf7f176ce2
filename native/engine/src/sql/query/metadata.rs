//! The metadata columns of tables in SQL: named, they are there; `*` leaves them out. A table's own column of the
//! same name hides the metadata column.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    ExcludeSelectItem, Expr, Ident, JoinConstraint, JoinOperator, ObjectName, Query, Select,
    SelectItem, SelectItemQualifiedWildcardKind, TableFactor, TableWithJoins, Visit, VisitMut,
    Visitor, VisitorMut, WildcardAdditionalOptions,
};

use super::StatementTables;
use crate::error::{Error, Result};
use crate::iceberg::predicate::reserved;
use crate::sql::parse::name_parts;

/// The metadata columns that the query names anywhere. Its wildcards are changed to leave them out.
/// Errors: Unsupported for a wildcard over a join that merges columns.
pub(super) async fn metadata_columns(
    tables: &StatementTables,
    query: &mut Query,
) -> Result<BTreeSet<i32>> {
    let mut named = Named::default();
    let _ = Visit::visit(query, &mut named);
    if named.columns.is_empty() {
        return Ok(BTreeSet::new());
    }
    let mut hidden = Hidden::default();
    for parts in named.tables {
        if matches!(parts.as_slice(), [name] if named.queries.contains(name)) {
            continue;
        }
        // A name that is no table is the planner's to report.
        let Ok(table) = tables.get(&parts).await else {
            continue;
        };
        let schema = table.schema()?;
        let own = |id: &&i32| reserved::name(**id).is_some_and(|n| schema.column(n).is_some());
        let added = named.columns.iter().filter(|id| !own(id));
        let names = added.filter_map(|id| reserved::name(*id)).collect();
        hidden.tables.insert(parts, names);
    }
    match VisitMut::visit(query, &mut hidden) {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => Ok(named.columns),
    }
}

/// The metadata columns that an expression names.
pub(super) fn metadata_columns_of(expression: &Expr) -> BTreeSet<i32> {
    let mut named = Named::default();
    let _ = Visit::visit(expression, &mut named);
    named.columns
}

/// What a query names.
#[derive(Default)]
struct Named {
    columns: BTreeSet<i32>,
    tables: BTreeSet<Vec<String>>,
    /// Names of common table expressions.
    queries: BTreeSet<String>,
}

impl Named {
    fn column(&mut self, ident: &Ident) {
        let name = match ident.quote_style {
            Some(_) => ident.value.clone(),
            None => ident.value.to_lowercase(),
        };
        let known = reserved::NAMES.iter().find(|(known, _)| *known == name);
        self.columns.extend(known.map(|(_, id)| *id));
    }
}

impl Visitor for Named {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        for named in query.with.iter().flat_map(|with| &with.cte_tables) {
            let name = ObjectName::from(vec![named.alias.name.clone()]);
            let parts = name_parts(&name).unwrap_or_default();
            self.queries.extend(parts);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, relation: &TableFactor) -> ControlFlow<()> {
        if let TableFactor::Table {
            name, args: None, ..
        } = relation
        {
            self.tables.extend(name_parts(name));
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expression: &Expr) -> ControlFlow<()> {
        match expression {
            Expr::Identifier(ident) => self.column(ident),
            Expr::CompoundIdentifier(parts) => parts.iter().for_each(|part| self.column(part)),
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

/// What wildcards leave out, by table.
#[derive(Default)]
struct Hidden {
    tables: BTreeMap<Vec<String>, Vec<&'static str>>,
}

/// One relation of a FROM, as its columns are qualified, and what it hides.
struct Relation<'a> {
    qualifier: Option<Ident>,
    hides: &'a [&'static str],
}

impl Hidden {
    fn relation(&self, factor: &TableFactor) -> Relation<'_> {
        let (alias, name, is_table) = match factor {
            TableFactor::Table {
                name, alias, args, ..
            } => (alias, Some(name), args.is_none()),
            TableFactor::Derived { alias, .. } => (alias, None, false),
            _ => (&None, None, false),
        };
        let parts = name.and_then(|name| name_parts(name).ok());
        let hides = parts.filter(|_| is_table).and_then(|p| self.tables.get(&p));
        let last = name.and_then(|name| name.0.last()?.as_ident().cloned());
        Relation {
            qualifier: alias.as_ref().map(|alias| alias.name.clone()).or(last),
            hides: hides.map_or(&[], Vec::as_slice),
        }
    }

    /// The items that `*` stands for.
    fn wildcard(
        &self,
        from: &[TableWithJoins],
        options: WildcardAdditionalOptions,
    ) -> Result<Vec<SelectItem>> {
        let mut relations = Vec::new();
        for group in from {
            relations.push(self.relation(&group.relation));
            relations.extend(group.joins.iter().map(|join| self.relation(&join.relation)));
        }
        if relations.iter().all(|relation| relation.hides.is_empty()) {
            return Ok(vec![SelectItem::Wildcard(options)]);
        }
        if let [only] = relations.as_slice() {
            let options = without(only.hides, options);
            return Ok(vec![SelectItem::Wildcard(options)]);
        }
        let merges = |group: &TableWithJoins| {
            group
                .joins
                .iter()
                .any(|join| merges_columns(&join.join_operator))
        };
        let mut items = Vec::with_capacity(relations.len());
        for relation in &relations {
            let Some(qualifier) = relation
                .qualifier
                .clone()
                .filter(|_| !from.iter().any(merges))
            else {
                return Err(Error::unsupported(
                    "* beside metadata columns over USING, NATURAL or a relation without a name; list the columns",
                ));
            };
            let name = ObjectName::from(vec![qualifier]);
            let options = without(relation.hides, options.clone());
            let kind = SelectItemQualifiedWildcardKind::ObjectName(name);
            items.push(SelectItem::QualifiedWildcard(kind, options));
        }
        Ok(items)
    }

    fn qualified(
        &self,
        from: &[TableWithJoins],
        name: ObjectName,
        options: WildcardAdditionalOptions,
    ) -> SelectItem {
        let last = name.0.last().and_then(|part| part.as_ident()).cloned();
        let factors = from.iter().flat_map(|group| {
            let joined = group.joins.iter().map(|join| &join.relation);
            std::iter::once(&group.relation).chain(joined)
        });
        let meant = factors
            .map(|factor| self.relation(factor))
            .find(|relation| relation.qualifier == last);
        let options = match meant {
            Some(relation) => without(relation.hides, options),
            None => options,
        };
        let kind = SelectItemQualifiedWildcardKind::ObjectName(name);
        SelectItem::QualifiedWildcard(kind, options)
    }

    fn items(&self, select: &Select) -> Result<Vec<SelectItem>> {
        let mut items = Vec::with_capacity(select.projection.len());
        for item in &select.projection {
            match item {
                SelectItem::Wildcard(options) => {
                    items.extend(self.wildcard(&select.from, options.clone())?);
                }
                SelectItem::QualifiedWildcard(
                    SelectItemQualifiedWildcardKind::ObjectName(name),
                    options,
                ) => items.push(self.qualified(&select.from, name.clone(), options.clone())),
                other => items.push(other.clone()),
            }
        }
        Ok(items)
    }
}

impl VisitorMut for Hidden {
    type Break = Error;

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Error> {
        match self.items(select) {
            Ok(items) => {
                select.projection = items;
                ControlFlow::Continue(())
            }
            Err(error) => ControlFlow::Break(error),
        }
    }
}

fn merges_columns(join: &JoinOperator) -> bool {
    let constraint = match join {
        JoinOperator::Join(constraint)
        | JoinOperator::Inner(constraint)
        | JoinOperator::Left(constraint)
        | JoinOperator::LeftOuter(constraint)
        | JoinOperator::Right(constraint)
        | JoinOperator::RightOuter(constraint)
        | JoinOperator::FullOuter(constraint) => constraint,
        _ => return false,
    };
    matches!(
        constraint,
        JoinConstraint::Using(_) | JoinConstraint::Natural
    )
}

/// The options of a wildcard that leaves these columns out too.
fn without(
    names: &[&'static str],
    mut options: WildcardAdditionalOptions,
) -> WildcardAdditionalOptions {
    if names.is_empty() {
        return options;
    }
    let mut excluded = match options.opt_exclude.take() {
        None => Vec::new(),
        Some(ExcludeSelectItem::Single(name)) => vec![name],
        Some(ExcludeSelectItem::Multiple(names)) => names,
    };
    for name in names {
        let name = ObjectName::from(vec![Ident::with_quote('"', *name)]);
        if !excluded
            .iter()
            .any(|known| name_parts(known).ok() == name_parts(&name).ok())
        {
            excluded.push(name);
        }
    }
    options.opt_exclude = Some(ExcludeSelectItem::Multiple(excluded));
    options
}
