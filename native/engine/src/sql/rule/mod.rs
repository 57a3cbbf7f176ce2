//! Rules over logical plans: PostgreSQL's semantics where the planner's differ (floats, integer overflow), and
//! nearest-neighbour plans for `ORDER BY distance LIMIT k`.

mod nearest;
mod postgres;
mod values;

pub(crate) use nearest::NearestRule;
pub(crate) use postgres::PostgresSemantics;
pub(crate) use values::compare_as_postgres;
