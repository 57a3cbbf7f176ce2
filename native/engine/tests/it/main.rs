//! Integration tests of the engine through its public surface; one binary, one module a subject.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod sql;
mod sql_regression;
mod sql_search;
mod support;
