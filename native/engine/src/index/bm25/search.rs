//! Answers from one segment: its share of the table's statistics, and the best rows of a query. Rows are scored
//! in windows, term after term, so that every row adds up its terms in the order of the terms, as the path without
//! index does.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use roaring::RoaringBitmap;

use crate::error::Result;
use crate::index::{Hit, TextIndex, TextQuery, TextStatistics};

use super::reader::{Cursor, Segment, TermEntry};
use super::score::{Model, contribution};

/// Rows scored at a time; a power of two.
const WINDOW_ROWS: u32 = 4096;
const WINDOW: usize = WINDOW_ROWS as usize;
/// Dead rows are looked up one by one in a list that is so many times longer.
const SPARSE_FACTOR: u64 = 16;

impl TextIndex for Segment {
    fn statistics(&self, terms: &[String], dead: &RoaringBitmap) -> Result<TextStatistics> {
        let mut statistics = TextStatistics {
            document_count: self.document_count(),
            token_count: self.token_count(),
            ..TextStatistics::default()
        };
        let mut dead_set = vec![0u64; dead_words(self, dead)];
        for row in dead.iter().take_while(|row| *row < self.row_count()) {
            let length = self.length(row)?;
            statistics.document_count = statistics
                .document_count
                .saturating_sub(u64::from(length > 0));
            statistics.token_count = statistics.token_count.saturating_sub(u64::from(length));
            if let Some(word) = dead_set.get_mut((row / 64) as usize) {
                *word |= 1 << (row % 64);
            }
        }
        for term in terms {
            if !statistics.document_frequency.contains_key(term) {
                let live = match self.term(term)? {
                    Some(entry) => u64::from(entry.row_count)
                        .saturating_sub(dead_rows(self, &entry, dead, &dead_set)?),
                    None => 0,
                };
                statistics.document_frequency.insert(term.clone(), live);
            }
        }
        Ok(statistics)
    }

    fn search(
        &self,
        query: &TextQuery,
        statistics: &TextStatistics,
        k: usize,
        allowed: Option<&RoaringBitmap>,
    ) -> Result<Vec<Hit>> {
        let model = Model::new(query, statistics)?;
        let mut best = Best::new(k);
        if k > 0
            && let Some(mut search) = Search::open(self, &model)?
        {
            search.run(allowed, &mut best)?;
        }
        Ok(best.into_hits())
    }
}

/// Words of a bit set of dead rows; none where no row is dead.
fn dead_words(segment: &Segment, dead: &RoaringBitmap) -> usize {
    if dead.is_empty() {
        0
    } else {
        (segment.row_count() / 64) as usize + 1
    }
}

/// Rows of a term that are dead.
fn dead_rows(
    segment: &Segment,
    entry: &TermEntry,
    dead: &RoaringBitmap,
    dead_set: &[u64],
) -> Result<u64> {
    if dead.is_empty() {
        return Ok(0);
    }
    let mut cursor = segment.cursor(entry)?;
    let mut count = 0;
    if dead.len().saturating_mul(SPARSE_FACTOR) < u64::from(entry.row_count) {
        for row in dead {
            match cursor.advance(row)? {
                Some(found) => count += u64::from(found == row),
                None => break,
            }
        }
        return Ok(count);
    }
    cursor.drain(u32::MAX, |row, _| {
        let word = dead_set
            .get((row / 64) as usize)
            .copied()
            .unwrap_or_default();
        count += word >> (row % 64) & 1;
    })?;
    Ok(count)
}

/// A search of one segment under way.
struct Search<'a> {
    segment: &'a Segment,
    model: &'a Model,
    cursors: Vec<(Cursor<'a>, f64)>,
    scores: Vec<f64>,
    /// Terms found, row by row; used where all must match.
    matched: Vec<usize>,
}

impl<'a> Search<'a> {
    /// None where no row can match.
    fn open(segment: &'a Segment, model: &'a Model) -> Result<Option<Search<'a>>> {
        let mut cursors = Vec::new();
        for term in &model.terms {
            match segment.term(&term.text)? {
                Some(entry) => cursors.push((segment.cursor(&entry)?, term.weight)),
                None if model.all => return Ok(None),
                None => {}
            }
        }
        let matched = if model.all {
            vec![0; WINDOW]
        } else {
            Vec::new()
        };
        Ok(Some(Search {
            segment,
            model,
            cursors,
            scores: vec![0.0; WINDOW],
            matched,
        }))
    }

    fn run(&mut self, allowed: Option<&RoaringBitmap>, best: &mut Best) -> Result<()> {
        let mut from = 0;
        while let Some(mut row) = self.next_row(from)? {
            if let Some(allowed) = allowed {
                match allowed.range(row..).next() {
                    Some(next) => row = next,
                    None => return Ok(()),
                }
            }
            let last = row | (WINDOW_ROWS - 1);
            let start = last - (WINDOW_ROWS - 1);
            self.score(start, last)?;
            self.collect(start, allowed, best);
            match last.checked_add(1) {
                Some(next) => from = next,
                None => return Ok(()),
            }
        }
        Ok(())
    }

    /// The first row from `from` on that may match.
    fn next_row(&mut self, from: u32) -> Result<Option<u32>> {
        let mut first: Option<u32> = None;
        for (cursor, _) in &mut self.cursors {
            match (cursor.advance(from)?, first) {
                (None, _) if self.model.all => return Ok(None),
                (None, _) => {}
                (Some(row), None) => first = Some(row),
                (Some(row), Some(other)) => {
                    first = Some(if self.model.all {
                        row.max(other)
                    } else {
                        row.min(other)
                    })
                }
            }
        }
        Ok(first)
    }

    /// Scores the rows of a window, term after term.
    fn score(&mut self, start: u32, last: u32) -> Result<()> {
        self.scores.fill(0.0);
        self.matched.fill(0);
        let codes = self
            .segment
            .codes()
            .get(start as usize..)
            .unwrap_or_default();
        for (cursor, weight) in &mut self.cursors {
            cursor.advance(start)?;
            let (scores, matched, model) = (&mut self.scores, &mut self.matched, self.model);
            cursor.drain(last, |row, frequency| {
                let slot = (row - start) as usize;
                let norm = model.norm(codes.get(slot).copied().unwrap_or(u8::MAX));
                if let Some(score) = scores.get_mut(slot) {
                    *score += contribution(*weight, frequency, norm);
                }
                if let Some(matched) = matched.get_mut(slot) {
                    *matched += 1;
                }
            })?;
        }
        Ok(())
    }

    fn collect(&self, start: u32, allowed: Option<&RoaringBitmap>, best: &mut Best) {
        const STEP: usize = 16;
        for (scores, base) in self.scores.chunks(STEP).zip((0..).step_by(STEP)) {
            let floor = best.floor;
            if !scores
                .iter()
                .fold(false, |any, score| any | (*score > floor))
            {
                continue;
            }
            for (score, slot) in scores
                .iter()
                .zip(base..)
                .filter(|(score, _)| **score > floor)
            {
                let Ok(row) = u32::try_from(slot).map(|slot| start + slot) else {
                    continue;
                };
                let complete =
                    !self.model.all || self.matched.get(slot) == Some(&self.cursors.len());
                if complete && allowed.is_none_or(|allowed| allowed.contains(row)) {
                    best.add(Hit { row, value: *score });
                }
            }
        }
    }
}

/// A hit, better ones greater.
struct Ranked(Hit);

impl Ord for Ranked {
    fn cmp(&self, other: &Ranked) -> Ordering {
        self.0
            .value
            .total_cmp(&other.0.value)
            .then(other.0.row.cmp(&self.0.row))
    }
}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Ranked) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Ranked {
    fn eq(&self, other: &Ranked) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Ranked {}

/// The best `k` of rows that come in ascending order.
struct Best {
    k: usize,
    /// A row must score above this: later rows lose ties.
    floor: f64,
    worst_first: BinaryHeap<Reverse<Ranked>>,
}

impl Best {
    fn new(k: usize) -> Best {
        Best {
            k,
            floor: 0.0,
            worst_first: BinaryHeap::new(),
        }
    }

    fn add(&mut self, hit: Hit) {
        if hit.value <= self.floor {
            return;
        }
        self.worst_first.push(Reverse(Ranked(hit)));
        if self.worst_first.len() > self.k {
            self.worst_first.pop();
        }
        if self.worst_first.len() == self.k
            && let Some(Reverse(Ranked(worst))) = self.worst_first.peek()
        {
            self.floor = worst.value;
        }
    }

    fn into_hits(self) -> Vec<Hit> {
        self.worst_first
            .into_sorted_vec()
            .into_iter()
            .map(|Reverse(Ranked(hit))| hit)
            .collect()
    }
}
