//! INSERT: VALUES or a query into a table's columns.

use arrow::datatypes::{DataType, Field};
use datafusion::common::{Column, ScalarValue};
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder};
use datafusion::sql::sqlparser::ast::{self, Ident, Query, SelectItem, SetExpr, Value};

use super::assign::assign;
use super::change::{Change, ChangeKind};
use super::column_type::sql_type;
use crate::error::{Error, Result};
use crate::sql::explain_error;
use crate::sql::function::{TO_UUID, TO_VECTOR};
use crate::sql::parse::Insert;
use crate::sql::query::{Planner, StatementTables, bytes, call, cast};
use crate::sql::result::QueryResult;
use crate::sql::scan::is_uuid;
use crate::table::Table;

/// Runs an INSERT.
pub(crate) async fn insert(insert: &Insert, tables: StatementTables) -> Result<QueryResult> {
    plan_insert(insert, tables).await?.run().await
}

/// Plans the rows of an INSERT as columns of the table.
pub(crate) async fn plan_insert(insert: &Insert, tables: StatementTables) -> Result<Change> {
    let table = tables.named(&insert.table).await?;
    let targets = target_columns(insert, &table)?;
    let mut source = insert.source.as_ref().clone();
    name_items(&mut source);
    let literal = prepare_values(&mut source, &targets, &table)?;
    let planner = Planner::new(tables);
    let rows = planner.plan_query(source).await?;
    let plan = as_table_columns(rows, &targets, &table, literal)?;
    Ok(Change {
        kind: ChangeKind::Insert,
        table,
        planner,
        plan,
    })
}

/// The position of a column in the table. Errors: InvalidInput naming it and the table's columns.
pub(super) fn column_index(table: &Table, name: &Ident) -> Result<usize> {
    let folded = match name.quote_style {
        Some(_) => name.value.clone(),
        None => name.value.to_lowercase(),
    };
    let schema = table.schema()?;
    let exact = schema
        .column(&folded)
        .filter(|_| name.quote_style.is_some());
    let found = match exact {
        Some(column) => Some(column),
        None => table.column(&folded)?,
    };
    let index = found.and_then(|column| schema.fields.iter().position(|f| f.id == column.id));
    index.ok_or_else(|| {
        let known: Vec<&str> = table
            .arrow_schema()
            .fields()
            .iter()
            .map(|field| field.name().as_str())
            .collect();
        let table = table.name();
        Error::invalid_input(format!(
            "table {table} has no column {name} (columns: {})",
            known.join(", ")
        ))
    })
}

/// The table's columns that the rows of the source go to, in the order of the source.
fn target_columns(insert: &Insert, table: &Table) -> Result<Vec<usize>> {
    if insert.columns.is_empty() {
        return Ok((0..table.arrow_schema().fields().len()).collect());
    }
    let mut targets = Vec::with_capacity(insert.columns.len());
    for name in &insert.columns {
        let index = column_index(table, name)?;
        if targets.contains(&index) {
            return Err(Error::invalid_input(format!(
                "INSERT names column {name} twice"
            )));
        }
        targets.push(index);
    }
    Ok(targets)
}

/// Gives the unnamed columns of a SELECT names of their own: what is inserted twice need not be named.
fn name_items(source: &mut Query) {
    let SetExpr::Select(select) = source.body.as_mut() else {
        return;
    };
    for (index, item) in select.projection.iter_mut().enumerate() {
        if let SelectItem::UnnamedExpr(expr) = item {
            let alias = Ident::with_quote('"', format!("\u{1}{index}"));
            *item = SelectItem::ExprWithAlias {
                expr: expr.clone(),
                alias,
            };
        }
    }
}

/// Reads the constants of VALUES as the types of their columns; true if the source is VALUES.
fn prepare_values(source: &mut Query, targets: &[usize], table: &Table) -> Result<bool> {
    let SetExpr::Values(values) = source.body.as_mut() else {
        return Ok(false);
    };
    for row in &mut values.rows {
        check_width(row.content.len(), targets.len())?;
        for (cell, target) in row.content.iter_mut().zip(targets) {
            if matches!(cell, ast::Expr::Identifier(word) if word.quote_style.is_none() && word.value.eq_ignore_ascii_case("default"))
            {
                return Err(Error::unsupported("DEFAULT in VALUES is not supported"));
            }
            if let Some(field) = table.arrow_schema().fields().get(*target) {
                *cell = literal_for(field, cell.clone())?;
            }
        }
    }
    Ok(true)
}

fn check_width(given: usize, wanted: usize) -> Result<()> {
    if given == wanted {
        return Ok(());
    }
    Err(Error::invalid_input(format!(
        "INSERT has {given} values for {wanted} columns"
    )))
}

fn is_text_literal(value: &ast::Expr) -> bool {
    matches!(value, ast::Expr::Value(value) if matches!(
        value.value,
        Value::SingleQuotedString(_) | Value::DollarQuotedString(_) | Value::EscapedStringLiteral(_)
    ))
}

fn is_number(value: &ast::Expr) -> bool {
    match value {
        ast::Expr::UnaryOp { expr, .. } => is_number(expr),
        ast::Expr::Value(value) => matches!(value.value, Value::Number(..)),
        _ => false,
    }
}

/// Whether the text of a value may be read as any type: it is a constant.
pub(super) fn reads_any_type(value: &ast::Expr) -> bool {
    is_text_literal(value)
}

/// A value for a column; a text constant is read as the column's type, whatever stands beside it.
pub(super) fn literal_for(field: &Field, value: ast::Expr) -> Result<ast::Expr> {
    let vector = match field.data_type() {
        DataType::List(element) => element.data_type() == &DataType::Float32,
        _ => false,
    };
    let float = field.data_type().is_floating();
    if !(is_text_literal(&value) || float && is_number(&value)) {
        return Ok(value);
    }
    if matches!(
        field.data_type(),
        DataType::Binary | DataType::FixedSizeBinary(_)
    ) && !is_uuid(field)
        && let ast::Expr::Value(literal) = &value
        && let Some(text) = literal.value.clone().into_string()
    {
        return bytes(text);
    }
    Ok(match sql_type(field.data_type()) {
        _ if vector => call(TO_VECTOR, vec![value]),
        _ if is_uuid(field) => call(TO_UUID, vec![value]),
        Some(data_type) => cast(Box::new(value), data_type),
        None => value,
    })
}

/// Every column of the table: assigned from the rows, or NULL.
fn as_table_columns(
    rows: LogicalPlan,
    targets: &[usize],
    table: &Table,
    literal: bool,
) -> Result<LogicalPlan> {
    let sources: Vec<_> = rows
        .schema()
        .iter()
        .map(|(q, f)| (q.cloned(), f.clone()))
        .collect();
    check_width(sources.len(), targets.len())?;
    let mut columns = Vec::with_capacity(table.arrow_schema().fields().len());
    for (index, field) in table.arrow_schema().fields().iter().enumerate() {
        let source = targets
            .iter()
            .position(|target| *target == index)
            .and_then(|at| sources.get(at));
        let value = match source {
            Some((qualifier, source)) => {
                let column = Expr::Column(Column::new(qualifier.clone(), source.name()));
                assign(column, source.data_type(), field, literal)?
            }
            None => Expr::Literal(
                ScalarValue::try_from(field.data_type()).map_err(explain_error)?,
                None,
            ),
        };
        columns.push(value.alias(field.name()));
    }
    LogicalPlanBuilder::from(rows)
        .project(columns)
        .and_then(LogicalPlanBuilder::build)
        .map_err(explain_error)
}
