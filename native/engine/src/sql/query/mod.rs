//! Planning of queries: the planner's session, the tables of one statement, the relations and operators that
//! the stock planner does not know, and errors that say what was meant.

mod case;
mod error;
mod merged;
mod metadata;
mod normalize;
mod operator;
mod planner;
mod relation;
mod row_set;
mod table;
mod target;
#[cfg(test)]
mod tests;
mod version;

pub(crate) use error::explain_error;
pub(crate) use normalize::{Normalize, bytes, call, cast};
pub(crate) use planner::Planner;
pub(crate) use relation::table_argument;
pub(crate) use table::{StatementTables, table_ref};
pub(crate) use target::{select_from_target, target_alias, target_column};
