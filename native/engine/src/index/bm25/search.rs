//! Answers from one segment: its share of the table's statistics, and the best rows of a query. Rows are scored
//! so that every row adds up its terms in the order of the terms, as the path without index does: where any term
//! matches in windows of rows, term after term; where all must match row by row.

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
        match Search::open(self, &model, k, allowed)? {
            Some(search) if model.all => search.run_all(),
            Some(search) => search.run_any(),
            None => Ok(Vec::new()),
        }
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
    allowed: Option<&'a RoaringBitmap>,
    /// In the order of the terms, with their weights.
    cursors: Vec<(Cursor<'a>, f64)>,
    best: Best,
}

impl<'a> Search<'a> {
    /// None where no row can match.
    fn open(
        segment: &'a Segment,
        model: &'a Model,
        k: usize,
        allowed: Option<&'a RoaringBitmap>,
    ) -> Result<Option<Search<'a>>> {
        let mut cursors = Vec::new();
        for term in &model.terms {
            match segment.term(&term.text)? {
                Some(entry) => cursors.push((segment.cursor(&entry)?, term.weight)),
                None if model.all => return Ok(None),
                None => {}
            }
        }
        let possible = k > 0 && !cursors.is_empty();
        Ok(possible.then(|| Search {
            segment,
            model,
            allowed,
            cursors,
            best: Best::new(k),
        }))
    }

    /// Rows that hold every term: the cursors leapfrog, the rarest term first.
    fn run_all(mut self) -> Result<Vec<Hit>> {
        let mut order: Vec<usize> = (0..self.cursors.len()).collect();
        order.sort_by_key(|index| {
            self.cursors
                .get(*index)
                .map(|(cursor, _)| cursor.row_count())
        });
        let mut from = Some(0);
        while let Some(row) = from {
            let Some(row) = self.next_common(&order, row)? else {
                break;
            };
            if self.allowed.is_none_or(|allowed| allowed.contains(row)) {
                let norm = self.model.norm(self.code(row));
                let scores = self.cursors.iter();
                let score = scores.fold(0.0, |sum, (cursor, weight)| {
                    sum + contribution(*weight, cursor.frequency(), norm)
                });
                self.best.add(Hit { row, value: score });
            }
            from = row.checked_add(1);
        }
        Ok(self.best.into_hits())
    }

    /// The first row from `row` on that every cursor has.
    fn next_common(&mut self, order: &[usize], mut row: u32) -> Result<Option<u32>> {
        let mut agreeing = 0;
        for index in order.iter().cycle() {
            if agreeing == order.len() {
                return Ok(Some(row));
            }
            let Some((cursor, _)) = self.cursors.get_mut(*index) else {
                return Ok(None);
            };
            match cursor.advance(row)? {
                Some(found) if found == row => agreeing += 1,
                Some(found) => (row, agreeing) = (found, 1),
                None => return Ok(None),
            }
        }
        Ok(None)
    }

    /// Rows that hold any term, a window at a time.
    fn run_any(mut self) -> Result<Vec<Hit>> {
        let mut scores = vec![0.0; WINDOW];
        let mut from = Some(0);
        while let Some(row) = from {
            let Some(mut row) = self.next_any(row)? else {
                break;
            };
            if let Some(allowed) = self.allowed {
                let Some(next) = allowed.range(row..).next() else {
                    break;
                };
                row = next;
            }
            let last = row | (WINDOW_ROWS - 1);
            let start = last - (WINDOW_ROWS - 1);
            self.score(&mut scores, start, last)?;
            self.collect(&scores, start);
            from = last.checked_add(1);
        }
        Ok(self.best.into_hits())
    }

    /// The first row from `row` on that any cursor has.
    fn next_any(&mut self, row: u32) -> Result<Option<u32>> {
        let mut first: Option<u32> = None;
        for (cursor, _) in &mut self.cursors {
            if let Some(found) = cursor.advance(row)? {
                first = Some(first.map_or(found, |first| first.min(found)));
            }
        }
        Ok(first)
    }

    /// Scores the rows of a window, term after term.
    fn score(&mut self, scores: &mut [f64], start: u32, last: u32) -> Result<()> {
        scores.fill(0.0);
        let codes = self
            .segment
            .codes()
            .get(start as usize..)
            .unwrap_or_default();
        let model = self.model;
        for (cursor, weight) in &mut self.cursors {
            cursor.advance(start)?;
            cursor.drain(last, |row, frequency| {
                let slot = (row - start) as usize;
                if let (Some(score), Some(code)) = (scores.get_mut(slot), codes.get(slot)) {
                    *score += contribution(*weight, frequency, model.norm(*code));
                }
            })?;
        }
        Ok(())
    }

    fn collect(&mut self, scores: &[f64], start: u32) {
        const STEP: usize = 16;
        for (scores, first) in scores.chunks(STEP).zip((start..).step_by(STEP)) {
            let floor = self.best.floor;
            if !scores
                .iter()
                .fold(false, |any, score| any | (*score > floor))
            {
                continue;
            }
            for (score, row) in scores
                .iter()
                .zip(first..)
                .filter(|(score, _)| **score > floor)
            {
                if self.allowed.is_none_or(|allowed| allowed.contains(row)) {
                    self.best.add(Hit { row, value: *score });
                }
            }
        }
    }

    fn code(&self, row: u32) -> u8 {
        self.segment
            .codes()
            .get(row as usize)
            .copied()
            .unwrap_or(u8::MAX)
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
