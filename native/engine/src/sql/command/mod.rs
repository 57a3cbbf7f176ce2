//! Index statements, listings and procedures: SQL's names over the table's own operations.

mod index;
mod procedure;
mod show;

pub(crate) use index::{create_index, drop_index, show_indexes};
pub(crate) use procedure::call;
pub(crate) use show::{describe, show_schemas, show_tables};
