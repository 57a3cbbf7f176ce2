//! The engine's tests through its public surface, in one binary: tables, the overlay law, damage, races, SQL.

mod damage;
mod fixture;
mod law;
mod search;
mod sql;
mod table;
