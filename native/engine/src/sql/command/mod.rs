//! Index statements and procedures: SQL's names over the table's own operations.

mod index;
mod procedure;

pub(crate) use index::{create_index, drop_index, show_indexes};
pub(crate) use procedure::call;
