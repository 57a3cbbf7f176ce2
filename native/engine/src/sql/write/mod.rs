//! Statements that change tables: definitions, and rows. Row changes are planned as queries over the target with
//! each row's file and position, and published as one snapshot; the planner's own hooks for DELETE and UPDATE are
//! never used, since some of their plans mean all rows.

mod assign;
mod change;
mod column_type;
mod create;
mod delete;
mod insert;
mod schema;
mod update;

pub(crate) use create::{create_table, drop_table};
pub(crate) use delete::{delete, plan_delete, truncate};
pub(crate) use insert::{insert, plan_insert};
pub(crate) use schema::{create_schema, drop_schema};
pub(crate) use update::{plan_update, update};
