//! The predicate tree that every surface compiles to, and the one evaluator that decides rows.
//! Three-valued logic; floats follow PostgreSQL and Spark: -0.0 = 0.0, NaN = NaN and greatest.
//! Knows columns by field id only; opens nothing.

mod column;
mod evaluate;
#[cfg(test)]
pub(super) mod tests;
mod tree;

use serde::{Deserialize, Serialize};

use super::value::Value;

pub use evaluate::evaluate;

/// The metadata columns that predicates and projections may name (Iceberg spec, reserved field ids).
pub mod reserved {
    /// `_file`: the path of the data file.
    pub const FILE: i32 = 2_147_483_646;
    /// `_pos`: the physical row position in the data file.
    pub const POS: i32 = 2_147_483_645;
    /// `_deleted`: whether a delete takes the row away. Rows that are, come only where it is asked for.
    pub const DELETED: i32 = 2_147_483_644;
    /// `_spec_id`: the partition spec of the data file.
    pub const SPEC_ID: i32 = 2_147_483_643;
    /// `_partition`: the partition of the data file, with the fields of all specs.
    pub const PARTITION: i32 = 2_147_483_642;
    /// `_row_id`: the row's id for ever; NULL where the file has none (V3).
    pub const ROW_ID: i32 = 2_147_483_540;
    /// `_last_updated_sequence_number`: the sequence number of the row's last change; NULL where `_row_id` is.
    pub const LAST_UPDATED: i32 = 2_147_483_539;

    /// The columns by name.
    pub const NAMES: [(&str, i32); 7] = [
        ("_file", FILE),
        ("_pos", POS),
        ("_deleted", DELETED),
        ("_spec_id", SPEC_ID),
        ("_partition", PARTITION),
        ("_row_id", ROW_ID),
        ("_last_updated_sequence_number", LAST_UPDATED),
    ];

    /// The name of a metadata column.
    pub fn name(id: i32) -> Option<&'static str> {
        let known = NAMES.iter().find(|(_, known)| *known == id);
        known.map(|(name, _)| *name)
    }
}

/// A comparison operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum CompareOp {
    /// `=`
    Eq,
    /// `<>`
    NotEq,
    /// `<`
    Lt,
    /// `<=`
    LtEq,
    /// `>`
    Gt,
    /// `>=`
    GtEq,
}

/// How a string is matched. Bytes are compared, no collation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum MatchOp {
    /// The value starts with the pattern.
    StartsWith,
    /// The value ends with the pattern.
    EndsWith,
    /// The value contains the pattern.
    Contains,
}

/// A predicate over one table's rows. Columns are field ids; a literal has the column's own type
/// (whoever builds the tree converts it, or does not push the predicate).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Predicate {
    /// Always this truth value; `None` is NULL.
    Constant(Option<bool>),
    /// NULL if any is NULL and none is false.
    And(Vec<Predicate>),
    /// NULL if any is NULL and none is true.
    Or(Vec<Predicate>),
    /// NULL stays NULL.
    Not(Box<Predicate>),
    /// `column op value`; NULL for a NULL column.
    Compare {
        /// field id
        column: i32,
        /// operator
        op: CompareOp,
        /// literal of the column's type
        value: Value,
    },
    /// `column IS NOT DISTINCT FROM value`; never NULL.
    NullSafeEq {
        /// field id
        column: i32,
        /// literal of the column's type, or NULL
        value: Option<Value>,
    },
    /// `column IN (values.. [, NULL])`; with `has_null`, a miss is NULL.
    In {
        /// field id
        column: i32,
        /// literals of the column's type
        values: Vec<Value>,
        /// whether the list held NULL
        has_null: bool,
    },
    /// `column IS NULL`; never NULL.
    IsNull {
        /// field id
        column: i32,
    },
    /// `isnan(column)`; NULL for NULL.
    IsNan {
        /// field id
        column: i32,
    },
    /// A string match; NULL for NULL.
    Match {
        /// field id
        column: i32,
        /// operator
        op: MatchOp,
        /// the text looked for, without wildcards
        pattern: String,
    },
}
