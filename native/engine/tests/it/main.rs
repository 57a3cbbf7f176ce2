//! The engine's tests through its public surface, in one binary: tables, the overlay law, damage, races, SQL.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod damage;
mod fixture;
mod law;
mod search;
mod sql;
mod sql_regression;
mod sql_search;
mod support;
mod table;
mod tidy;
