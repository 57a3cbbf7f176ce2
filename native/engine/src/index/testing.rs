//! What the tests of the index kinds share: a seeded random source, and three-valued logic written
//! down row by row, as the oracle for bounds.

use crate::iceberg::predicate::Predicate;

/// SplitMix64.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    pub(crate) fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len())]
    }

    pub(crate) fn chance(&mut self, one_in: usize) -> bool {
        self.below(one_in) == 0
    }
}

/// The truth value of a tree from that of its leaves.
pub(crate) fn truth(
    predicate: &Predicate,
    leaf: &dyn Fn(&Predicate) -> Option<bool>,
) -> Option<bool> {
    match predicate {
        Predicate::Constant(value) => *value,
        Predicate::Not(part) => truth(part, leaf).map(|v| !v),
        Predicate::And(parts) => {
            let values: Vec<_> = parts.iter().map(|p| truth(p, leaf)).collect();
            if values.contains(&Some(false)) {
                Some(false)
            } else {
                (!values.contains(&None)).then_some(true)
            }
        }
        Predicate::Or(parts) => {
            let values: Vec<_> = parts.iter().map(|p| truth(p, leaf)).collect();
            if values.contains(&Some(true)) {
                Some(true)
            } else {
                (!values.contains(&None)).then_some(false)
            }
        }
        other => leaf(other),
    }
}

/// How many times the usual number of random cases run: `make test-long` asks for more of them.
pub(crate) fn scale() -> u64 {
    std::env::var("BSDB_TEST_SCALE").map_or(1, |scale| scale.parse().unwrap())
}
