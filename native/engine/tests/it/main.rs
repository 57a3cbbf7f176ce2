//! The engine's tests through its public surface, in one binary: tables, the overlay law, damage, races, SQL.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests say what they expect by panicking, on small numbers"
)]

mod bad_metadata;
mod damage;
mod fixture;
mod foreign;
mod history;
mod law;
mod metadata_tables;
mod planning;
mod remote;
mod search;
mod sql;
mod support;
mod table;
mod tidy;
