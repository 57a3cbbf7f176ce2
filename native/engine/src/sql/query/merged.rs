//! Columns that RIGHT and FULL JOIN merge by USING or NATURAL: the planner takes the left table's value for them, which
//! is NULL where the right table alone has the row. Queries that name such a column are refused; by its table it is right.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, Ident, JoinConstraint, JoinOperator, OrderByKind, Query, Select, SelectItem, SetExpr,
    Visit, Visitor,
};

use crate::error::{Error, Result};

/// Checks the SELECTs of one query; those of its subqueries are checked with them. Errors: Unsupported.
pub(super) fn check_merged_columns(query: &Query) -> Result<()> {
    let body = query.body.as_ref();
    check_body(body)?;
    let (SetExpr::Select(select), Some(order)) = (body, &query.order_by) else {
        return Ok(());
    };
    let Some(merged) = Merged::of(select) else {
        return Ok(());
    };
    let OrderByKind::Expressions(sorted) = &order.kind else {
        return Ok(());
    };
    let given: BTreeSet<String> = select.projection.iter().filter_map(output_name).collect();
    for key in sorted {
        match &key.expr {
            Expr::Identifier(name) if given.contains(&folded(name)) => {}
            other => merged.check(other)?,
        }
    }
    Ok(())
}

fn check_body(body: &SetExpr) -> Result<()> {
    match body {
        SetExpr::Select(select) => check_select(select),
        SetExpr::SetOperation { left, right, .. } => {
            check_body(left)?;
            check_body(right)
        }
        _ => Ok(()),
    }
}

fn check_select(select: &Select) -> Result<()> {
    let Some(merged) = Merged::of(select) else {
        return Ok(());
    };
    if select
        .projection
        .iter()
        .any(|item| matches!(item, SelectItem::Wildcard(_)))
    {
        return Err(refused("*"));
    }
    // Queries in FROM have names of their own.
    merged.check(&select.distinct)?;
    merged.check(&select.projection)?;
    merged.check(&select.selection)?;
    merged.check(&select.group_by)?;
    merged.check(&select.having)?;
    merged.check(&select.named_window)?;
    merged.check(&select.qualify)?;
    for join in select.from.iter().flat_map(|group| &group.joins) {
        if let Some(JoinConstraint::On(condition)) = constraint(&join.join_operator) {
            merged.check(condition)?;
        }
    }
    Ok(())
}

fn constraint(join: &JoinOperator) -> Option<&JoinConstraint> {
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

/// The columns that a SELECT's RIGHT and FULL joins merge.
enum Merged {
    /// Those that USING names, in lower case.
    Named(BTreeSet<String>),
    /// Whichever the tables share.
    Natural,
}

impl Merged {
    fn of(select: &Select) -> Option<Merged> {
        let mut names = BTreeSet::new();
        for join in select.from.iter().flat_map(|group| &group.joins) {
            let (JoinOperator::Right(constraint)
            | JoinOperator::RightOuter(constraint)
            | JoinOperator::FullOuter(constraint)) = &join.join_operator
            else {
                continue;
            };
            match constraint {
                JoinConstraint::Natural => return Some(Merged::Natural),
                JoinConstraint::Using(columns) => {
                    let last = columns.iter().filter_map(|c| c.0.last()?.as_ident());
                    names.extend(last.map(folded));
                }
                _ => {}
            }
        }
        (!names.is_empty()).then_some(Merged::Named(names))
    }

    fn check(&self, part: &impl Visit) -> Result<()> {
        match part.visit(&mut Finder(self)) {
            ControlFlow::Break(error) => Err(error),
            ControlFlow::Continue(()) => Ok(()),
        }
    }
}

struct Finder<'a>(&'a Merged);

impl Visitor for Finder<'_> {
    type Break = Error;

    fn pre_visit_expr(&mut self, expression: &Expr) -> ControlFlow<Error> {
        match (expression, self.0) {
            (Expr::Identifier(name), Merged::Named(merged)) if merged.contains(&folded(name)) => {
                ControlFlow::Break(refused(&name.value))
            }
            (Expr::Identifier(name), Merged::Natural) => ControlFlow::Break(refused(&name.value)),
            _ => ControlFlow::Continue(()),
        }
    }
}

fn refused(what: &str) -> Error {
    Error::unsupported(format!(
        "{what} over a RIGHT or FULL JOIN that merges columns is not supported; name columns by their tables, as in \
         t.id or COALESCE(t.id, u.id)"
    ))
}

/// The name under which an item is put out, in lower case.
fn output_name(item: &SelectItem) -> Option<String> {
    match item {
        SelectItem::ExprWithAlias { alias, .. } => Some(folded(alias)),
        SelectItem::UnnamedExpr(Expr::CompoundIdentifier(parts)) => parts.last().map(folded),
        _ => None,
    }
}

fn folded(name: &Ident) -> String {
    name.value.to_lowercase()
}
