//! The text kind against plain scoring, on damaged blobs, and its golden bytes.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::Write as _;
use std::sync::Arc;

use arrow::array::{RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, FieldRef, Schema};
use bytes::Bytes;
use roaring::RoaringBitmap;

use super::analyzer::Analyzer;
use super::bits::{self, BLOCK};
use super::builder::Bm25Builder;
use super::hull;
use super::reader::Segment;
use super::score::{code_length, length_code};
use super::{BLOB_KIND, Bm25, Bm25Parameters, StatisticsCollector, TextScorer};
use crate::error::{ErrorKind, Result};
use crate::index::testing::Random;
use crate::index::{
    Blob, Hit, IndexDefinition, IndexKind, OpenIndex, TextIndex, TextQuery, TextStatistics,
};

mod lucene;

/// Small numbers often, large ones seldom.
fn skewed(random: &mut Random, bound: usize) -> usize {
    let all = random.below(bound) + 1;
    random.below(all)
}

fn field() -> FieldRef {
    Arc::new(Field::new("text", DataType::Utf8, true))
}

fn definition(analyzer: Analyzer) -> IndexDefinition {
    let parameters = BTreeMap::from([("analyzer".to_owned(), analyzer.name().to_owned())]);
    let parameters = Bm25.resolve(&[field()], &parameters).unwrap();
    IndexDefinition {
        name: "text_bm25".to_owned(),
        kind: "bm25".to_owned(),
        columns: vec![1],
        parameters,
    }
}

fn build(analyzer: Analyzer, rows: &[Option<String>], batch: usize) -> Vec<Blob> {
    let mut builder = Bm25.builder(&definition(analyzer), &[field()]).unwrap();
    for rows in rows.chunks(batch) {
        let array = StringArray::from_iter(rows.iter().map(Option::as_deref));
        builder
            .add(
                &RecordBatch::try_new(Arc::new(Schema::new(vec![field()])), vec![Arc::new(array)])
                    .unwrap(),
            )
            .unwrap();
    }
    builder.finish().unwrap()
}

fn open(analyzer: Analyzer, blobs: &[Blob], rows: usize) -> Result<Arc<dyn TextIndex>> {
    match Bm25.open(&definition(analyzer), blobs, rows as u32)? {
        OpenIndex::Text(index) => Ok(index),
        _ => panic!("not a text index"),
    }
}

fn segment(analyzer: Analyzer, rows: &[Option<String>]) -> Arc<dyn TextIndex> {
    open(analyzer, &build(analyzer, rows, 1000), rows.len()).unwrap()
}

fn corpus(random: &mut Random, rows: usize) -> Vec<Option<String>> {
    const ODD: [&str; 8] = [
        "Ünïcode",
        "straße",
        "ÇA",
        "日本語",
        "\u{1f600}",
        "don't",
        "...",
        "İstanbul",
    ];
    let vocabulary = 5 + random.below(400);
    (0..rows)
        .map(|_| match random.below(12) {
            0 => None,
            1 => Some(String::new()),
            2 => Some(" ,;- ".to_owned()),
            _ => {
                let bound = if random.below(50) == 0 { 900 } else { 40 };
                let length = skewed(random, bound);
                let words = (0..length).map(|_| match random.below(30) {
                    0 => ODD[random.below(ODD.len())].to_owned(),
                    1 => "again again Again".to_owned(),
                    _ => format!("w{}", skewed(random, vocabulary)),
                });
                Some(words.collect::<Vec<_>>().join(" "))
            }
        })
        .collect()
}

/// What the product must answer, from the texts alone and by the formula as the papers have it.
struct Oracle {
    rows: Vec<Vec<String>>,
    live: Vec<bool>,
}

impl Oracle {
    fn new(analyzer: Analyzer, rows: &[Option<String>], dead: &RoaringBitmap) -> Oracle {
        let terms = rows
            .iter()
            .map(|text| analyzer.terms(text.as_deref().unwrap_or_default()))
            .collect();
        Oracle {
            rows: terms,
            live: (0..rows.len() as u32)
                .map(|row| !dead.contains(row))
                .collect(),
        }
    }

    fn live(&self) -> impl Iterator<Item = &Vec<String>> {
        self.rows
            .iter()
            .zip(&self.live)
            .filter(|(_, live)| **live)
            .map(|(row, _)| row)
    }

    fn statistics(&self, terms: &[String]) -> TextStatistics {
        TextStatistics {
            document_count: self.live().filter(|row| !row.is_empty()).count() as u64,
            token_count: self.live().map(|row| row.len() as u64).sum(),
            document_frequency: terms
                .iter()
                .map(|term| {
                    (
                        term.clone(),
                        self.live().filter(|row| row.contains(term)).count() as u64,
                    )
                })
                .collect(),
        }
    }

    fn search(&self, query: &TextQuery, k: usize, allowed: Option<&RoaringBitmap>) -> Vec<Hit> {
        let statistics = self.statistics(&query.terms);
        let distinct: BTreeSet<&String> = query.terms.iter().collect();
        let average =
            statistics.token_count.max(1) as f64 / statistics.document_count.max(1) as f64;
        let mut hits = Vec::new();
        for (row, tokens) in self.rows.iter().enumerate() {
            let row = row as u32;
            if allowed.is_some_and(|allowed| !allowed.contains(row)) {
                continue;
            }
            let length = code_length(length_code(tokens.len() as u32)) as f64;
            let norm = query.k1 * ((1.0 - query.b) + query.b * (length / average));
            let (mut score, mut found) = (0.0, 0);
            for term in &distinct {
                let frequency = tokens.iter().filter(|token| token == term).count() as f64;
                if frequency > 0.0 {
                    let (n, df) = (
                        statistics.document_count as f64,
                        statistics.document_frequency[*term] as f64,
                    );
                    let idf = (1.0 + (n - df + 0.5) / (df + 0.5)).ln();
                    let weight =
                        query.terms.iter().filter(|other| other == term).count() as f64 * idf;
                    score += weight * (frequency / (frequency + norm));
                    found += 1;
                }
            }
            if found > 0 && (!query.all || found == distinct.len()) {
                hits.push(Hit { row, value: score });
            }
        }
        hits.sort_by(|a, b| b.value.total_cmp(&a.value).then(a.row.cmp(&b.row)));
        hits.truncate(k);
        hits
    }
}

fn random_query(
    random: &mut Random,
    rows: &[Option<String>],
    analyzer: Analyzer,
    all: bool,
) -> TextQuery {
    let mut text = String::new();
    for _ in 0..1 + skewed(random, 12) {
        match random.below(8) {
            0 => text.push_str(" absentword "),
            1 => text.push_str(" again w0 "),
            _ => {
                let row = rows
                    .get(random.below(rows.len().max(1)))
                    .cloned()
                    .flatten()
                    .unwrap_or_default();
                let words: Vec<&str> = row.split(' ').collect();
                text.push_str(&format!(" {} ", words[random.below(words.len())]));
            }
        }
    }
    Bm25Parameters {
        analyzer,
        k1: [1.2, 0.9, 0.0, 3.5][random.below(4)],
        b: [0.75, 0.4, 0.0, 1.0][random.below(4)],
    }
    .query(&text, all)
}

fn random_rows(random: &mut Random, rows: usize, share: usize) -> RoaringBitmap {
    (0..rows as u32)
        .filter(|_| random.below(share) == 0)
        .collect()
}

fn assert_same(actual: &[Hit], expected: &[Hit], what: &str) {
    let bits = |hits: &[Hit]| {
        hits.iter()
            .map(|hit| (hit.row, hit.value.to_bits()))
            .collect::<Vec<_>>()
    };
    assert_eq!(bits(actual), bits(expected), "{what}");
}

#[test]
fn search_of_random_corpora_equals_exhaustive_scoring_bit_for_bit() {
    let mut random = Random(7);
    for (round, rows) in [0, 1, 2, 127, 128, 129, 257, 700, 4096, 4097, 9000]
        .into_iter()
        .enumerate()
    {
        let analyzer = if round % 2 == 0 {
            Analyzer::Standard
        } else {
            Analyzer::English
        };
        let texts = corpus(&mut random, rows);
        let index = segment(analyzer, &texts);
        for case in 0..16 {
            let query = random_query(&mut random, &texts, analyzer, case % 2 == 1);
            let dead = if case % 3 == 0 {
                RoaringBitmap::new()
            } else {
                random_rows(&mut random, rows, [2, 7, 200][case % 3])
            };
            let allowed = (case % 3 != 0).then(|| {
                let mut allowed = random_rows(&mut random, rows, [1, 3, 500][case / 3 % 3]);
                allowed -= &dead;
                allowed
            });
            let oracle = Oracle::new(analyzer, &texts, &dead);
            let statistics = index.statistics(&query.terms, &dead).unwrap();
            assert_eq!(statistics, oracle.statistics(&query.terms));
            for k in [0, 1, 10, rows + 5] {
                let hits = index
                    .search(&query, &statistics, k, allowed.as_ref())
                    .unwrap();
                assert_same(
                    &hits,
                    &oracle.search(&query, k, allowed.as_ref()),
                    &format!("{rows} rows, {query:?}, k {k}"),
                );
            }
        }
    }
}

#[test]
fn scorer_without_index_equals_index_bit_for_bit() {
    let mut random = Random(11);
    let texts = corpus(&mut random, 900);
    for analyzer in [Analyzer::Standard, Analyzer::English] {
        let index = segment(analyzer, &texts);
        for case in 0..20 {
            let query = random_query(&mut random, &texts, analyzer, case % 3 == 0);
            let statistics = index
                .statistics(&query.terms, &RoaringBitmap::new())
                .unwrap();
            let mut collector = StatisticsCollector::new(analyzer, &query.terms);
            texts
                .iter()
                .for_each(|text| collector.add(text.as_deref().unwrap_or_default()));
            assert_eq!(collector.finish(), statistics);
            let mut scorer = TextScorer::new(analyzer, &query, &statistics).unwrap();
            let mut hits: Vec<Hit> = Vec::new();
            for (row, text) in (0u32..).zip(&texts) {
                hits.extend(
                    scorer
                        .score(text.as_deref().unwrap_or_default())
                        .map(|value| Hit { row, value }),
                );
            }
            hits.sort_by(|a, b| b.value.total_cmp(&a.value).then(a.row.cmp(&b.row)));
            assert_same(
                &index.search(&query, &statistics, usize::MAX, None).unwrap(),
                &hits,
                &format!("{query:?}"),
            );
        }
    }
}

#[test]
fn statistics_of_several_segments_add_up_to_those_of_one() {
    let mut random = Random(13);
    let texts = corpus(&mut random, 1500);
    let dead = random_rows(&mut random, texts.len(), 5);
    let terms: Vec<String> = ["w0", "w1", "again", "absent", "w0"]
        .map(str::to_owned)
        .to_vec();
    let whole = segment(Analyzer::Standard, &texts)
        .statistics(&terms, &dead)
        .unwrap();
    let mut sum = TextStatistics::default();
    for (part, start) in texts.chunks(400).zip((0u32..).step_by(400)) {
        let dead_here: RoaringBitmap = dead
            .range(start..start + part.len() as u32)
            .map(|row| row - start)
            .collect();
        sum.merge(
            &segment(Analyzer::Standard, part)
                .statistics(&terms, &dead_here)
                .unwrap(),
        );
    }
    assert_eq!(sum, whole);
}

#[test]
fn long_rows_keep_exact_lengths() {
    let lengths = [65_534usize, 65_535, 65_536, 70_001, 3];
    let texts: Vec<Option<String>> = lengths
        .iter()
        .map(|length| Some("x ".repeat(*length)))
        .collect();
    let index = segment(Analyzer::Standard, &texts);
    for (row, length) in lengths.iter().enumerate() {
        let others: RoaringBitmap = (0..lengths.len() as u32)
            .filter(|other| *other != row as u32)
            .collect();
        assert_eq!(
            index.statistics(&[], &others).unwrap().token_count,
            *length as u64
        );
    }
}

#[test]
fn build_in_other_batches_gives_the_same_bytes() {
    let texts = corpus(&mut Random(17), 3000);
    let bytes = |batch| build(Analyzer::English, &texts, batch)[0].data.clone();
    assert_eq!(bytes(3000), bytes(1));
    assert_eq!(bytes(77), bytes(1024));
}

/// Reads everything a segment can give.
fn exercise(data: Vec<u8>, rows: usize, query: &TextQuery) -> Result<()> {
    let index = open(
        Analyzer::Standard,
        &[Blob {
            kind: BLOB_KIND.to_owned(),
            data: Bytes::from(data),
        }],
        rows,
    )?;
    let dead: RoaringBitmap = (0..rows as u32).step_by(3).collect();
    index.statistics(&query.terms, &dead)?;
    let few = RoaringBitmap::from([1]);
    let mut statistics = index.statistics(&query.terms, &few)?;
    statistics.document_count = u64::from(u32::MAX);
    index.search(query, &statistics, 10, None)?;
    index.search(
        &TextQuery {
            all: true,
            ..query.clone()
        },
        &statistics,
        10,
        Some(&dead),
    )?;
    Ok(())
}

#[test]
fn damaged_bytes_are_an_error_or_an_answer_and_never_a_panic() {
    let mut random = Random(19);
    let mut texts = corpus(&mut random, 700);
    texts.push(Some("long ".repeat(70_000)));
    let data = build(Analyzer::Standard, &texts, 1000)[0].data.to_vec();
    let terms: Vec<String> = (0..40)
        .map(|word| format!("w{word}"))
        .chain(["again".to_owned(), "long".to_owned()])
        .collect();
    let query = TextQuery {
        terms,
        all: false,
        k1: 1.2,
        b: 0.75,
    };
    exercise(data.clone(), texts.len(), &query).unwrap();
    for round in 0..3000 {
        let mut damaged = data.clone();
        match round % 4 {
            0 => damaged.truncate(random.below(data.len())),
            1 => {
                let at = data.len() - 1 - random.below(120);
                damaged[at] ^= 1 << random.below(8);
            }
            2 => {
                let at = random.below(data.len());
                let end = (at + random.below(64)).min(data.len());
                damaged[at..end]
                    .iter_mut()
                    .for_each(|byte| *byte = random.next() as u8);
            }
            _ => (0..8).for_each(|_| damaged[random.below(data.len())] = random.next() as u8),
        }
        let result = exercise(damaged, texts.len(), &query);
        assert!(
            result.is_ok()
                || matches!(
                    result.as_ref().unwrap_err().kind(),
                    ErrorKind::Corrupt | ErrorKind::Unsupported | ErrorKind::Internal
                )
        );
    }
    for _ in 0..500 {
        let noise = (0..random.below(400))
            .map(|_| random.next() as u8)
            .collect();
        assert_eq!(
            exercise(noise, 3, &query).unwrap_err().kind(),
            ErrorKind::Corrupt
        );
    }
    assert_eq!(
        exercise(data, texts.len() + 1, &query).unwrap_err().kind(),
        ErrorKind::Corrupt
    );
}

#[test]
fn parameters_unknown_or_out_of_range_are_refused() {
    let fail = |key: &str, value: &str| {
        Bm25.resolve(
            &[field()],
            &BTreeMap::from([(key.to_owned(), value.to_owned())]),
        )
        .unwrap_err()
    };
    assert_eq!(
        fail("language", "english").message(),
        "unknown bm25 parameter `language`, known are: analyzer, b, k1"
    );
    assert_eq!(
        fail("analyzer", "klingon").message(),
        "unknown analyzer `klingon`, known are: english, standard"
    );
    for (key, value) in [
        ("k1", "-1"),
        ("k1", "NaN"),
        ("k1", "inf"),
        ("b", "1.01"),
        ("b", "x"),
    ] {
        assert_eq!(
            fail(key, value).kind(),
            ErrorKind::InvalidInput,
            "{key} {value}"
        );
    }
    let number = Arc::new(Field::new("n", DataType::Int32, true));
    assert_eq!(
        Bm25.resolve(&[number], &BTreeMap::new())
            .unwrap_err()
            .kind(),
        ErrorKind::InvalidInput
    );
    assert_eq!(
        Bm25.resolve(&[field(), field()], &BTreeMap::new())
            .unwrap_err()
            .kind(),
        ErrorKind::InvalidInput
    );
    let defaults = Bm25.resolve(&[field()], &BTreeMap::new()).unwrap();
    let expected = [("analyzer", "standard"), ("b", "0.75"), ("k1", "1.2")]
        .map(|(key, value)| (key.to_owned(), value.to_owned()));
    assert_eq!(defaults, BTreeMap::from(expected));
}

#[test]
fn length_codes_are_exact_below_24_and_round_down_to_four_bits() {
    assert_eq!(
        [0, 1, 23, 24, 31, 32, 39, 40, 41, 42, 54, 56].map(length_code),
        [0, 1, 23, 24, 31, 32, 39, 40, 40, 41, 47, 48]
    );
    assert_eq!(length_code(i32::MAX as u32), 255);
    assert_eq!(code_length(255), 2_013_265_944);
    for code in 0..=255u8 {
        let length = code_length(code) as u32;
        assert_eq!(length_code(length), code);
        assert_eq!(length.checked_sub(1).map(length_code), code.checked_sub(1));
    }
}

#[test]
fn blocks_of_every_width_come_back() {
    let mut random = Random(23);
    for width in 0..=32u8 {
        let mask = u32::MAX.checked_shr(32 - u32::from(width)).unwrap_or(0);
        let mut values = [0u32; BLOCK];
        values
            .iter_mut()
            .for_each(|value| *value = random.next() as u32 & mask);
        values[5] = mask;
        assert_eq!(bits::width_of(&values), width);
        let mut bytes = Vec::new();
        bits::pack(&values, width, &mut bytes);
        assert_eq!(Some(bytes.len()), bits::packed_len(width));
        let mut back = [1u32; BLOCK];
        bits::unpack(&bytes, width, &mut back).unwrap();
        assert_eq!(back, values);
        assert!(bits::unpack(&bytes, width + 1, &mut back).is_none());
    }
}

#[test]
fn varints_come_back_and_overlong_ones_are_refused() {
    for value in [
        0,
        1,
        127,
        128,
        300,
        u64::from(u32::MAX),
        u64::MAX - 1,
        u64::MAX,
    ] {
        let mut bytes = Vec::new();
        bits::put_varint(value, &mut bytes);
        let mut rest = bytes.as_slice();
        assert_eq!(bits::take_varint(&mut rest), Some(value));
        assert!(rest.is_empty());
        assert_eq!(bits::take_varint(&mut &bytes[..bytes.len() - 1]), None);
    }
    assert_eq!(bits::take_varint(&mut [0xff; 11].as_slice()), None);
    assert_eq!(
        bits::take_varint(
            &mut [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2].as_slice()
        ),
        None
    );
}

#[test]
fn hull_bounds_every_row_for_any_k1_b_and_average() {
    let mut random = Random(29);
    for _ in 0..400 {
        let spread = 1 + random.below(200);
        let rows: Vec<(u32, u8)> = (0..1 + random.below(128))
            .map(|_| {
                (
                    1 + skewed(&mut random, 400) as u32,
                    1 + skewed(&mut random, spread) as u8,
                )
            })
            .collect();
        let pairs = hull::bound(rows.iter().copied());
        for g in [0.0, 0.5, 3.0, 20.0, 150.0, 1e4, 1e9] {
            let value = |frequency: f64, code: u8| frequency / (code_length(code) as f64 + g);
            let bound =
                pairs
                    .iter()
                    .filter(|pair| pair.frequency > 0)
                    .map(|pair| match pair.frequency {
                        hull::FREQUENCY_MAX => f64::INFINITY,
                        frequency => value(f64::from(frequency), pair.code),
                    });
            let bound = bound.fold(0.0, f64::max);
            assert!(
                rows.iter()
                    .all(|(frequency, code)| value(f64::from(*frequency), *code)
                        <= bound * (1.0 + 1e-12))
            );
        }
    }
}

#[test]
fn builder_numbers_terms_beyond_its_first_table() {
    let mut builder = Bm25Builder::new(Analyzer::Standard);
    for row in 0..3000 {
        builder.add_row(&format!("t{row} common")).unwrap();
    }
    let index = Segment::open(Bytes::from(builder.into_bytes().unwrap()), 3000).unwrap();
    let terms: Vec<String> = ["t0", "t2999", "common", "t3000", "", "zz"]
        .map(str::to_owned)
        .to_vec();
    let statistics = index.statistics(&terms, &RoaringBitmap::new()).unwrap();
    assert_eq!(
        terms
            .iter()
            .map(|term| statistics.document_frequency[term])
            .collect::<Vec<_>>(),
        [1, 1, 3000, 0, 0, 0]
    );
}

fn golden_rows() -> Vec<Option<String>> {
    let mut rows: Vec<Option<String>> = (0..300)
        .map(|row| Some(format!("all {} n{row}", "seldom ".repeat(row % 7))))
        .collect();
    rows.extend([
        None,
        Some(String::new()),
        Some("Ünïcode straße 日本 don't".to_owned()),
        Some("all ".repeat(65_540)),
    ]);
    rows
}

#[test]
fn segment_golden_bytes_are_kept() {
    let golden = include_str!("../../../tests/golden/bm25-v1.hex");
    let rows = golden_rows();
    let bytes = &build(Analyzer::English, &rows, 100)[0].data;
    let text: String = bytes
        .chunks(32)
        .map(|line| {
            line.iter()
                .map(|byte| format!("{byte:02x}"))
                .collect::<String>()
                + "\n"
        })
        .collect();
    assert_eq!(text, golden);
    let digits: Vec<u8> = golden.bytes().filter(u8::is_ascii_hexdigit).collect();
    let data: Vec<u8> = digits
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect();
    let index = open(
        Analyzer::English,
        &[Blob {
            kind: BLOB_KIND.to_owned(),
            data: data.into(),
        }],
        rows.len(),
    )
    .unwrap();
    let oracle = Oracle::new(Analyzer::English, &rows, &RoaringBitmap::new());
    for text in ["all seldom", "seldom n17", "straße 日", "all all n3 absent"] {
        let query = Bm25Parameters {
            analyzer: Analyzer::English,
            k1: 1.2,
            b: 0.75,
        }
        .query(text, false);
        let statistics = index
            .statistics(&query.terms, &RoaringBitmap::new())
            .unwrap();
        assert_eq!(statistics, oracle.statistics(&query.terms));
        assert_same(
            &index.search(&query, &statistics, 400, None).unwrap(),
            &oracle.search(&query, 400, None),
            text,
        );
    }
}

#[test]
fn vocabulary_that_starts_anew_keeps_its_answers() {
    let texts: Vec<String> = (0..300_000)
        .map(|row| format!("The Word{row} words"))
        .collect();
    let mut scorer_collector =
        StatisticsCollector::new(Analyzer::English, &["word7".to_owned(), "word".to_owned()]);
    texts
        .iter()
        .chain(&texts)
        .for_each(|text| scorer_collector.add(text));
    let statistics = scorer_collector.finish();
    assert_eq!(
        (statistics.document_count, statistics.token_count),
        (600_000, 1_200_000)
    );
    assert_eq!(
        statistics.document_frequency,
        BTreeMap::from([("word7".to_owned(), 2), ("word".to_owned(), 600_000)])
    );
}

#[test]
fn query_of_inconsistent_statistics_is_refused() {
    let index = segment(Analyzer::Standard, &[Some("a b".to_owned())]);
    let query = Bm25Parameters::default().query("a", false);
    assert_eq!(
        index
            .search(&query, &TextStatistics::default(), 1, None)
            .unwrap_err()
            .kind(),
        ErrorKind::Internal
    );
    let query = TextQuery {
        k1: f64::NAN,
        ..query
    };
    assert_eq!(
        index
            .search(&query, &TextStatistics::default(), 1, None)
            .unwrap_err()
            .kind(),
        ErrorKind::InvalidInput
    );
}
