//! Candidates of a search and their order: by value, then by data sequence number, path and position, so
//! that equal values come in the same order with and without an index.

use std::cmp::Ordering;

/// A row that may be among the best.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Candidate {
    /// Which of the split's files.
    pub(super) file: usize,
    /// Physical position.
    pub(super) position: u32,
    /// Distance or score; None: NULL.
    pub(super) value: Option<f64>,
}

/// Which values come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    /// Distances: small first, NaN last, NULL after it.
    Ascending,
    /// Distances with NULL first.
    AscendingNullsFirst,
    /// Scores: great first.
    Descending,
}

/// Rank of a file among the split's files for ties: data sequence number, then path.
pub(super) fn file_ranks(files: &[crate::table::FileTask]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..files.len()).collect();
    order.sort_by_key(|i| {
        files
            .get(*i)
            .map(|f| (f.data_sequence_number, f.path.clone()))
    });
    let mut ranks = vec![0; files.len()];
    for (rank, file) in order.into_iter().enumerate() {
        if let Some(slot) = ranks.get_mut(file) {
            *slot = rank;
        }
    }
    ranks
}

impl Direction {
    fn compare_values(self, a: Option<f64>, b: Option<f64>) -> Ordering {
        let nulls_first = self == Direction::AscendingNullsFirst;
        match (a, b) {
            (None, None) => Ordering::Equal,
            (None, Some(_)) if nulls_first => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(_), None) if nulls_first => Ordering::Greater,
            (Some(_), None) => Ordering::Less,
            (Some(a), Some(b)) => {
                let order = compare_floats(a, b);
                if self == Direction::Descending {
                    order.reverse()
                } else {
                    order
                }
            }
        }
    }

    /// The order of two candidates.
    pub(super) fn compare(self, a: &Candidate, b: &Candidate, ranks: &[usize]) -> Ordering {
        self.compare_values(a.value, b.value)
            .then_with(|| ranks.get(a.file).cmp(&ranks.get(b.file)))
            .then_with(|| a.position.cmp(&b.position))
    }
}

/// PostgreSQL's order: -0.0 = 0.0, NaN = NaN and greatest.
fn compare_floats(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b)
        .unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

/// Keeps the best `k` candidates of any number, in memory for a few times k.
pub(super) struct Best<'a> {
    k: usize,
    direction: Direction,
    ranks: &'a [usize],
    kept: Vec<Candidate>,
}

impl<'a> Best<'a> {
    pub(super) fn new(k: usize, direction: Direction, ranks: &'a [usize]) -> Self {
        Best {
            k,
            direction,
            ranks,
            kept: Vec::new(),
        }
    }

    pub(super) fn push(&mut self, candidate: Candidate) {
        self.kept.push(candidate);
        if self.kept.len() >= self.k.saturating_mul(4).max(1024) {
            self.cut();
        }
    }

    fn cut(&mut self) {
        let (direction, ranks) = (self.direction, self.ranks);
        self.kept
            .sort_unstable_by(|a, b| direction.compare(a, b, ranks));
        self.kept.truncate(self.k);
    }

    /// Best first.
    pub(super) fn finish(mut self) -> Vec<Candidate> {
        self.cut();
        self.kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(position: u32, value: Option<f64>) -> Candidate {
        Candidate {
            file: 0,
            position,
            value,
        }
    }

    fn order(direction: Direction, values: &[Option<f64>]) -> Vec<u32> {
        let mut best = Best::new(10, direction, &[0]);
        for (position, value) in values.iter().enumerate() {
            best.push(candidate(u32::try_from(position).unwrap(), *value));
        }
        best.finish().into_iter().map(|c| c.position).collect()
    }

    #[test]
    fn best_with_nan_and_null_orders_them_last() {
        let values = [None, Some(f64::NAN), Some(1.0), Some(-0.0), Some(0.0)];
        assert_eq!(order(Direction::Ascending, &values), [3, 4, 2, 1, 0]);
        assert_eq!(
            order(Direction::AscendingNullsFirst, &values),
            [0, 3, 4, 2, 1]
        );
    }

    #[test]
    fn best_of_many_equals_a_full_sort() {
        let ranks = [0];
        let mut best = Best::new(3, Direction::Descending, &ranks);
        for position in 0..10_000u32 {
            best.push(candidate(
                position,
                Some(f64::from(position * 7919 % 10_007)),
            ));
        }
        let mut all: Vec<Candidate> = (0..10_000u32)
            .map(|p| candidate(p, Some(f64::from(p * 7919 % 10_007))))
            .collect();
        all.sort_by(|a, b| Direction::Descending.compare(a, b, &ranks));
        assert_eq!(best.finish(), all[..3].to_vec());
    }
}
