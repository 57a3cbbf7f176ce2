//! Queries built by us: a SELECT over a table with each row's file and position, from parsed pieces.

use datafusion::sql::sqlparser::ast::{
    Expr, Ident, ObjectName, Query, Select, SelectItem, SetExpr, Statement, TableAlias,
    TableFactor, TableWithJoins,
};
use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::parser::Parser;

use super::table::TARGET_NAME;
use crate::error::{Error, Result};

/// `SELECT items FROM target AS alias, others WHERE selection`.
pub(crate) fn select_from_target(
    items: Vec<SelectItem>,
    alias: &Ident,
    others: &[TableWithJoins],
    selection: Option<Expr>,
) -> Result<Query> {
    let mut query = template("SELECT 1 FROM target AS alias")?;
    let select = body(&mut query)?;
    select.projection = items;
    select.selection = selection;
    let from = select
        .from
        .first_mut()
        .ok_or_else(|| Error::internal("a query without FROM"))?;
    if let TableFactor::Table {
        name,
        alias: Some(TableAlias { name: own, .. }),
        ..
    } = &mut from.relation
    {
        *name = ObjectName::from(vec![Ident::with_quote('"', TARGET_NAME)]);
        *own = alias.clone();
    }
    select.from.extend(others.iter().cloned());
    Ok(query)
}

fn body(query: &mut Query) -> Result<&mut Select> {
    match query.body.as_mut() {
        SetExpr::Select(select) => Ok(select),
        other => Err(Error::internal(format!("not a SELECT: {other}"))),
    }
}

fn template(text: &str) -> Result<Query> {
    let parsed = Parser::parse_sql(&PostgreSqlDialect {}, text)
        .map_err(|error| Error::internal(error.to_string()))?;
    match parsed.into_iter().next() {
        Some(Statement::Query(query)) => Ok(*query),
        _ => Err(Error::internal(format!("not a query: {text}"))),
    }
}

/// The name by which the statement's expressions call the target: its alias, else the last part of its name.
pub(crate) fn target_alias(table: &ObjectName, alias: Option<&Ident>) -> Result<Ident> {
    if let Some(alias) = alias {
        return Ok(alias.clone());
    }
    let last = table.0.last().and_then(|part| part.as_ident());
    last.cloned()
        .ok_or_else(|| Error::invalid_input(format!("table name {table}")))
}

/// A column of the target.
pub(crate) fn target_column(alias: &Ident, name: &str) -> SelectItem {
    let column = Expr::CompoundIdentifier(vec![alias.clone(), Ident::with_quote('"', name)]);
    SelectItem::ExprWithAlias {
        expr: column,
        alias: Ident::with_quote('"', name),
    }
}
