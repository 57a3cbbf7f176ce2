//! Walks over predicate trees.

use std::collections::BTreeSet;

use super::Predicate;

impl Predicate {
    /// The field ids of all columns named, reserved ones included.
    pub fn columns(&self) -> BTreeSet<i32> {
        let (mut columns, mut open) = (BTreeSet::new(), vec![self]);
        while let Some(predicate) = open.pop() {
            match predicate {
                Predicate::Constant(_) => {}
                Predicate::And(parts) | Predicate::Or(parts) => open.extend(parts),
                Predicate::Not(inner) => open.push(inner),
                Predicate::Compare { column, .. }
                | Predicate::NullSafeEq { column, .. }
                | Predicate::In { column, .. }
                | Predicate::IsNull { column }
                | Predicate::IsNan { column }
                | Predicate::Match { column, .. } => {
                    columns.insert(*column);
                }
            }
        }
        columns
    }

    /// The predicates of which all must hold, nested ANDs flattened, in order. None for `true`.
    pub fn conjuncts(self) -> Vec<Predicate> {
        let (mut conjuncts, mut open) = (Vec::new(), vec![self]);
        while let Some(predicate) = open.pop() {
            match predicate {
                Predicate::And(parts) => open.extend(parts.into_iter().rev()),
                Predicate::Constant(Some(true)) => {}
                other => conjuncts.push(other),
            }
        }
        conjuncts
    }

    /// The one predicate that holds where all of `parts` hold.
    pub fn all(parts: impl IntoIterator<Item = Predicate>) -> Predicate {
        let mut conjuncts = Predicate::And(parts.into_iter().collect()).conjuncts();
        match conjuncts.pop() {
            None => Predicate::Constant(Some(true)),
            Some(only) if conjuncts.is_empty() => only,
            Some(last) => {
                conjuncts.push(last);
                Predicate::And(conjuncts)
            }
        }
    }
}
