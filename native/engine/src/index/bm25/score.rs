//! The one scoring function, for rows with and without index: BM25 as Lucene 8 and later have it (no `k1 + 1` in the
//! numerator; Robertson and Zaragoza 2009), in f64. A row's length counts as Lucene's one-byte length code tells it,
//! the average length is exact. A row's score is the sum over the query's terms in ascending order of the terms, so
//! that both paths add in the same order and agree in every bit.

#![allow(
    clippy::cast_precision_loss,
    reason = "counts of rows and words stay far below 2^53"
)]

use crate::error::{Error, Result};
use crate::index::{TextQuery, TextStatistics};

use super::analyzer::Analyzer;
use super::vocabulary::Vocabulary;

/// Lengths below this have a code of their own.
const EXACT_LENGTHS: u32 = 24;

/// The code of a length: exact below 24, then rounded down to four significant bits (Lucene's `SmallFloat`).
pub(super) fn length_code(length: u32) -> u8 {
    let Some(above) = length.checked_sub(EXACT_LENGTHS) else {
        return u8::try_from(length).unwrap_or(u8::MAX);
    };
    let bits = u32::BITS - above.leading_zeros();
    let code = match bits.checked_sub(4) {
        None => above,
        Some(shift) => ((above >> shift) & 7) | ((shift + 1) << 3),
    };
    u8::try_from(EXACT_LENGTHS + code).unwrap_or(u8::MAX)
}

/// The least length that has this code.
pub(super) fn code_length(code: u8) -> u64 {
    let Some(above) = u64::from(code).checked_sub(u64::from(EXACT_LENGTHS)) else {
        return u64::from(code);
    };
    let low = above & 7;
    match (above >> 3).checked_sub(1) {
        None => u64::from(EXACT_LENGTHS) + low,
        Some(shift) => u64::from(EXACT_LENGTHS) + ((low | 8) << shift),
    }
}

/// What one term adds to the score of a row that holds it `frequency` times.
#[inline]
pub(super) fn contribution(weight: f64, frequency: u32, norm: f64) -> f64 {
    let frequency = f64::from(frequency);
    weight * (frequency / (frequency + norm))
}

/// A distinct term of a query.
#[derive(Clone, Debug)]
pub(super) struct WeightedTerm {
    pub(super) text: String,
    /// Inverse document frequency times the term's multiplicity in the query.
    pub(super) weight: f64,
}

/// A query with the statistics of a table: all that scoring needs besides frequencies and lengths.
#[derive(Clone, Debug)]
pub(super) struct Model {
    /// Ascending and distinct.
    pub(super) terms: Vec<WeightedTerm>,
    pub(super) all: bool,
    norms: [f64; 256],
}

impl Model {
    /// Errors: InvalidInput for a k1 or b out of range, Internal for statistics that are not those of the query.
    pub(super) fn new(query: &TextQuery, statistics: &TextStatistics) -> Result<Model> {
        check_parameters(query.k1, query.b)?;
        let mut texts = query.terms.clone();
        texts.sort_unstable();
        let mut terms: Vec<WeightedTerm> = Vec::with_capacity(texts.len());
        for same in texts.chunk_by(|a, b| a == b) {
            let Some(text) = same.first() else { continue };
            let weight = same.len() as f64 * inverse_document_frequency(text, statistics)?;
            terms.push(WeightedTerm {
                text: text.clone(),
                weight,
            });
        }
        Ok(Model {
            terms,
            all: query.all,
            norms: norms(query, statistics),
        })
    }

    /// What the length of a row adds below the fraction bar.
    #[inline]
    pub(super) fn norm(&self, code: u8) -> f64 {
        self.norms
            .get(usize::from(code))
            .copied()
            .unwrap_or(f64::MAX)
    }
}

/// Errors: InvalidInput.
pub(super) fn check_parameters(k1: f64, b: f64) -> Result<()> {
    if !(0.0..=1000.0).contains(&k1) {
        return Err(Error::invalid_input(format!(
            "bm25 parameter k1 must be between 0 and 1000, is {k1}"
        )));
    }
    if !(0.0..=1.0).contains(&b) {
        return Err(Error::invalid_input(format!(
            "bm25 parameter b must be between 0 and 1, is {b}"
        )));
    }
    Ok(())
}

fn norms(query: &TextQuery, statistics: &TextStatistics) -> [f64; 256] {
    let average = statistics.token_count.max(1) as f64 / statistics.document_count.max(1) as f64;
    let mut norms = [0.0; 256];
    for (code, norm) in (0..=u8::MAX).zip(&mut norms) {
        *norm = query.k1 * ((1.0 - query.b) + query.b * (code_length(code) as f64 / average));
    }
    norms
}

fn inverse_document_frequency(term: &str, statistics: &TextStatistics) -> Result<f64> {
    let Some(frequency) = statistics.document_frequency.get(term).copied() else {
        return Err(Error::internal(format!(
            "no document frequency for term `{term}`"
        )));
    };
    let Some(without) = statistics.document_count.checked_sub(frequency) else {
        return Err(Error::internal(format!(
            "term `{term}` is in more rows than there are"
        )));
    };
    Ok((1.0 + (without as f64 + 0.5) / (frequency as f64 + 0.5)).ln())
}

/// Scores rows without index exactly as an index would.
#[derive(Clone, Debug)]
pub struct TextScorer {
    vocabulary: Vocabulary,
    model: Model,
    /// By term of the query, and one more for all other terms.
    frequencies: Vec<u32>,
}

impl TextScorer {
    /// A scorer for a query, with the statistics of the whole table.
    pub fn new(
        analyzer: Analyzer,
        query: &TextQuery,
        statistics: &TextStatistics,
    ) -> Result<TextScorer> {
        let model = Model::new(query, statistics)?;
        let frequencies = vec![0; model.terms.len() + 1];
        Ok(TextScorer {
            vocabulary: Vocabulary::new(analyzer),
            model,
            frequencies,
        })
    }

    /// The score of a row; None where it does not match.
    pub fn score(&mut self, text: &str) -> Option<f64> {
        let TextScorer {
            vocabulary,
            model,
            frequencies,
        } = self;
        frequencies.fill(0);
        let mut length = 0u32;
        let number = |term: &str| number_of(term, &model.terms, |other| &other.text);
        vocabulary.numbers(text, number, |number| {
            length = length.saturating_add(1);
            if let Some(frequency) = frequencies.get_mut(number as usize) {
                *frequency += 1;
            }
        });
        let norm = model.norm(length_code(length));
        let mut score = 0.0;
        let mut matched = 0;
        for (term, frequency) in model.terms.iter().zip(frequencies) {
            if *frequency > 0 {
                score += contribution(term.weight, *frequency, norm);
                matched += 1;
            }
        }
        let wanted = if model.all { model.terms.len() } else { 1 };
        (matched > 0 && matched >= wanted).then_some(score)
    }
}

/// The place of `term` among ascending `terms`, their count if it is not there.
fn number_of<T>(term: &str, terms: &[T], text: impl Fn(&T) -> &String) -> u32 {
    let place = terms
        .binary_search_by(|other| text(other).as_str().cmp(term))
        .unwrap_or(terms.len());
    u32::try_from(place).unwrap_or(u32::MAX)
}

/// Gathers the statistics of live rows without index.
#[derive(Clone, Debug)]
pub struct StatisticsCollector {
    vocabulary: Vocabulary,
    terms: Vec<String>,
    /// By term: the rows that hold it, and the last of them.
    counts: Vec<(u64, u64)>,
    row_count: u64,
    document_count: u64,
    token_count: u64,
}

impl StatisticsCollector {
    /// A collector for these terms; duplicates are fine.
    pub fn new(analyzer: Analyzer, terms: &[String]) -> StatisticsCollector {
        let mut terms = terms.to_vec();
        terms.sort_unstable();
        terms.dedup();
        let counts = vec![(0, 0); terms.len()];
        StatisticsCollector {
            vocabulary: Vocabulary::new(analyzer),
            terms,
            counts,
            row_count: 0,
            document_count: 0,
            token_count: 0,
        }
    }

    /// Counts one live row. NULL rows have no text: leave them out, or give the empty text.
    pub fn add(&mut self, text: &str) {
        self.row_count += 1;
        let StatisticsCollector {
            vocabulary,
            terms,
            counts,
            row_count,
            ..
        } = self;
        let mut length = 0u64;
        let number = |term: &str| number_of(term, terms, |other| other);
        vocabulary.numbers(text, number, |number| {
            length += 1;
            if let Some((count, last)) = counts
                .get_mut(number as usize)
                .filter(|(_, last)| last != row_count)
            {
                *count += 1;
                *last = *row_count;
            }
        });
        self.document_count += u64::from(length > 0);
        self.token_count += length;
    }

    /// The statistics of the rows so far.
    pub fn finish(self) -> TextStatistics {
        let counts = self.counts.into_iter().map(|(count, _)| count);
        TextStatistics {
            document_count: self.document_count,
            token_count: self.token_count,
            document_frequency: self.terms.into_iter().zip(counts).collect(),
        }
    }
}

impl TextStatistics {
    /// Adds the statistics of other rows, of another segment or file.
    pub fn merge(&mut self, other: &TextStatistics) {
        self.document_count += other.document_count;
        self.token_count += other.token_count;
        for (term, frequency) in &other.document_frequency {
            match self.document_frequency.get_mut(term) {
                Some(sum) => *sum += frequency,
                None => {
                    self.document_frequency.insert(term.clone(), *frequency);
                }
            }
        }
    }
}
