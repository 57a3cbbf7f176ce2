//! Three-valued logic over what indexes know: combines the bounds of leaf predicates through AND, OR and NOT.
//!
//! Of each row four things may be certain: the predicate is true (`sure`), false (`false_sure`), NULL (`nulls`),
//! or at least not true (in none of these, and not in `maybe`). A row in `maybe` but not in `sure` is open.
//! The three certain sets and `maybe` \ `sure` are disjoint, and `sure` <= true rows <= `maybe`. NOT exchanges `sure` and
//! `false_sure` and keeps `nulls`; whatever is not certain may then be true. Every rule loses certainty at worst, never gains it.

use roaring::{MultiOps, RoaringBitmap};

use super::Bounds;
use crate::error::Result;
use crate::iceberg::predicate::Predicate;

/// Trees deeper than this are answered with "nothing is known".
const DEPTH_MAX: usize = 256;

/// Answers one leaf; None when nothing is known.
pub type LeafBounds<'a> = dyn Fn(&Predicate) -> Result<Option<Bounds>> + 'a;

/// The bounds of a predicate over rows `0..rows`.
pub fn evaluate(predicate: &Predicate, rows: u32, leaf: &LeafBounds<'_>) -> Result<Bounds> {
    combine(predicate, rows, leaf, 0)
}

fn combine(
    predicate: &Predicate,
    rows: u32,
    leaf: &LeafBounds<'_>,
    depth: usize,
) -> Result<Bounds> {
    if depth > DEPTH_MAX {
        return Ok(Bounds::unknown(rows));
    }
    let children = |parts: &[Predicate]| {
        parts
            .iter()
            .map(|part| combine(part, rows, leaf, depth + 1))
            .collect::<Result<Vec<_>>>()
    };
    match predicate {
        Predicate::Constant(value) => Ok(Bounds::constant(*value, rows)),
        Predicate::And(parts) => Ok(and(&children(parts)?, rows)),
        Predicate::Or(parts) => Ok(or(&children(parts)?, rows)),
        Predicate::Not(part) => Ok(not(combine(part, rows, leaf, depth + 1)?, rows)),
        other => Ok(leaf(other)?.unwrap_or_else(|| Bounds::unknown(rows))),
    }
}

impl Bounds {
    /// Nothing is known: no row is sure, every row may be true.
    pub fn unknown(rows: u32) -> Bounds {
        Bounds {
            maybe: all_rows(rows),
            ..Bounds::default()
        }
    }

    /// The same truth value for every row; None is NULL.
    pub fn constant(value: Option<bool>, rows: u32) -> Bounds {
        let all = all_rows(rows);
        match value {
            Some(true) => Bounds {
                sure: all.clone(),
                maybe: all,
                ..Bounds::default()
            },
            Some(false) => Bounds {
                false_sure: all,
                ..Bounds::default()
            },
            None => Bounds {
                nulls: all,
                ..Bounds::default()
            },
        }
    }

    /// Bounds of a predicate that is NULL exactly on `nulls`, true on `sure` and possibly on `maybe`, else false.
    pub fn with_known_nulls(
        mut sure: RoaringBitmap,
        mut maybe: RoaringBitmap,
        nulls: RoaringBitmap,
        rows: u32,
    ) -> Bounds {
        sure -= &nulls;
        maybe -= &nulls;
        maybe |= &sure;
        let false_sure = all_rows(rows) - &maybe - &nulls;
        Bounds {
            sure,
            maybe,
            nulls,
            false_sure,
        }
    }

    /// Whether no row needs a recheck.
    pub fn is_exact(&self) -> bool {
        self.sure == self.maybe
    }

    /// Rows whose truth must be checked against the data.
    pub fn recheck(&self) -> RoaringBitmap {
        &self.maybe - &self.sure
    }
}

/// The rows `0..rows`.
pub fn all_rows(rows: u32) -> RoaringBitmap {
    let mut all = RoaringBitmap::new();
    all.insert_range(0..rows);
    all
}

/// Exchanges true and false.
pub fn not(bounds: Bounds, rows: u32) -> Bounds {
    let maybe = all_rows(rows) - &bounds.sure - &bounds.nulls;
    Bounds {
        sure: bounds.false_sure,
        maybe,
        nulls: bounds.nulls,
        false_sure: bounds.sure,
    }
}

/// True where all are true; false where one is false; NULL where one is NULL and the others are true or NULL.
pub fn and(parts: &[Bounds], rows: u32) -> Bounds {
    if parts.is_empty() {
        return Bounds::constant(Some(true), rows);
    }
    let null_or_true: Vec<RoaringBitmap> = parts.iter().map(|p| &p.sure | &p.nulls).collect();
    Bounds {
        sure: parts.iter().map(|p| &p.sure).intersection(),
        maybe: parts.iter().map(|p| &p.maybe).intersection(),
        nulls: parts.iter().map(|p| &p.nulls).union() & null_or_true.iter().intersection(),
        false_sure: parts.iter().map(|p| &p.false_sure).union(),
    }
}

/// True where one is true; false where all are false; NULL where one is NULL and the others are false or NULL.
pub fn or(parts: &[Bounds], rows: u32) -> Bounds {
    if parts.is_empty() {
        return Bounds::constant(Some(false), rows);
    }
    let null_or_false: Vec<RoaringBitmap> =
        parts.iter().map(|p| &p.false_sure | &p.nulls).collect();
    Bounds {
        sure: parts.iter().map(|p| &p.sure).union(),
        maybe: parts.iter().map(|p| &p.maybe).union(),
        nulls: parts.iter().map(|p| &p.nulls).union() & null_or_false.iter().intersection(),
        false_sure: parts.iter().map(|p| &p.false_sure).intersection(),
    }
}

#[cfg(test)]
mod tests;
