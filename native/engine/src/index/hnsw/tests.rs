//! The vector graph against exact answers: recall, counts, filters, deletes, degenerate data, damaged bytes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use arrow::array::{
    Array, ArrayRef, FixedSizeListBuilder, Float32Builder, ListBuilder, RecordBatch,
};
use arrow::datatypes::{DataType, Field, FieldRef, Schema};
use benostream_gpu_ann::{Isa, Metric, TopK};
use bytes::Bytes;
use roaring::RoaringBitmap;

use super::builder::HnswBuilder;
use super::parameter::Parameters;
use super::search::HnswIndex;
use super::{BLOB_KIND, DEFAULT_EF_SEARCH, HnswKind};
use crate::error::ErrorKind;
use crate::index::{
    Blob, IndexBuilder, IndexDefinition, IndexKind, OpenIndex, VectorHits, VectorIndex,
};

mod kind;

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    fn normal(&mut self) -> f32 {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        (radius * (std::f64::consts::TAU * self.unit()).cos()) as f32
    }
}

/// 200 Gaussians, rows in random order; the last `queries` rows are queries.
struct Data {
    rows: Vec<Vec<f32>>,
    labels: Vec<usize>,
    queries: Vec<Vec<f32>>,
}

fn clustered(count: usize, dimension: usize, queries: usize, spread: f32) -> Data {
    let mut random = Random(3);
    let centers: Vec<Vec<f32>> = (0..200)
        .map(|_| (0..dimension).map(|_| random.normal()).collect())
        .collect();
    let mut data = Data {
        rows: Vec::new(),
        labels: Vec::new(),
        queries: Vec::new(),
    };
    for row in 0..count + queries {
        let label = random.below(centers.len());
        let vector = centers[label]
            .iter()
            .map(|center| center + spread * random.normal())
            .collect();
        if row < count {
            data.rows.push(vector);
            data.labels.push(label);
        } else {
            data.queries.push(vector);
        }
    }
    data
}

/// Multiplies each row by what `scale` makes of its length.
fn stretch(rows: &mut [Vec<f32>], scale: impl Fn(f32, &mut Random) -> f32) {
    let mut random = Random(9);
    for row in rows {
        let length = row.iter().map(|x| x * x).sum::<f32>().sqrt();
        let scale = scale(length, &mut random);
        row.iter_mut().for_each(|x| *x *= scale);
    }
}

fn parameters(metric: Metric) -> Parameters {
    Parameters {
        metric,
        m: 16,
        ef_construction: 200,
        dimension: None,
    }
}

fn column<'a>(rows: impl IntoIterator<Item = Option<&'a [f32]>>) -> ArrayRef {
    let mut builder = ListBuilder::new(Float32Builder::new());
    for row in rows {
        if let Some(row) = row {
            builder.values().append_slice(row);
        }
        builder.append(row.is_some());
    }
    Arc::new(builder.finish())
}

fn batch(column: ArrayRef) -> RecordBatch {
    let schema = Schema::new(vec![Field::new(
        "embedding",
        column.data_type().clone(),
        true,
    )]);
    RecordBatch::try_new(Arc::new(schema), vec![column]).unwrap()
}

fn bytes_of(columns: &[ArrayRef], parameters: Parameters, threads: usize, isa: Isa) -> Bytes {
    let mut builder = Box::new(HnswBuilder::new(parameters, threads, isa));
    for column in columns {
        builder.add(&batch(column.clone())).unwrap();
    }
    let blobs = builder.finish().unwrap();
    assert_eq!(blobs.len(), 1);
    blobs[0].data.clone()
}

fn index_of(rows: &[Vec<f32>], metric: Metric) -> HnswIndex {
    let columns: Vec<ArrayRef> = rows
        .chunks(4096)
        .map(|part| column(part.iter().map(|row| Some(row.as_slice()))))
        .collect();
    let bytes = bytes_of(&columns, parameters(metric), 2, Isa::best());
    HnswIndex::open(&bytes, rows.len() as u32, Isa::best()).unwrap()
}

fn exact(
    rows: &[Vec<f32>],
    metric: Metric,
    query: &[f32],
    k: usize,
    allowed: Option<&RoaringBitmap>,
) -> Vec<(u32, f64)> {
    let mut top = TopK::new(k);
    for (row, vector) in rows.iter().enumerate() {
        if allowed.is_none_or(|allowed| allowed.contains(row as u32)) {
            top.push(metric.distance(query, vector).unwrap(), row as u64);
        }
    }
    top.into_sorted()
        .into_iter()
        .map(|(row, distance)| (row as u32, distance))
        .collect()
}

/// Recall of `k` over all queries and mean distance count; checks counts, distances, order and the filter on the way.
fn recall(
    index: &HnswIndex,
    data: &Data,
    metric: Metric,
    k: usize,
    ef: usize,
    allowed: Option<&RoaringBitmap>,
) -> (f64, f64) {
    let (mut found, mut wanted, mut distances) = (0, 0, 0);
    for query in &data.queries {
        let truth = exact(&data.rows, metric, query, k, allowed);
        let hits = index.search(query, k, ef, allowed).unwrap();
        assert_eq!(hits.hits.len(), truth.len());
        check_hits(&hits, &data.rows, metric, query, allowed);
        let rows: BTreeSet<u32> = hits.hits.iter().map(|hit| hit.row).collect();
        assert_eq!(rows.len(), hits.hits.len());
        found += truth.iter().filter(|(row, _)| rows.contains(row)).count();
        wanted += truth.len();
        distances += hits.distance_count;
    }
    (
        found as f64 / wanted as f64,
        distances as f64 / data.queries.len() as f64,
    )
}

fn check_hits(
    hits: &VectorHits,
    rows: &[Vec<f32>],
    metric: Metric,
    query: &[f32],
    allowed: Option<&RoaringBitmap>,
) {
    for hit in &hits.hits {
        assert_eq!(
            metric
                .distance(query, &rows[hit.row as usize])
                .map(f64::to_bits),
            Some(hit.value.to_bits())
        );
        assert!(allowed.is_none_or(|allowed| allowed.contains(hit.row)));
    }
    let order = |value: f64, row: u32| (benostream_gpu_ann::order_key(value), row);
    assert!(
        hits.hits
            .is_sorted_by(|a, b| order(a.value, a.row) < order(b.value, b.row))
    );
}

fn shared() -> &'static (Data, HnswIndex) {
    static SHARED: OnceLock<(Data, HnswIndex)> = OnceLock::new();
    SHARED.get_or_init(|| {
        let data = clustered(50_000, 32, 50, 0.6);
        let index = index_of(&data.rows, Metric::L2);
        (data, index)
    })
}

#[test]
fn search_over_fifty_thousand_rows_finds_the_nearest_with_few_distances() {
    let (data, index) = shared();
    let (recall, distances) = recall(index, data, Metric::L2, 10, DEFAULT_EF_SEARCH, None);
    assert!(recall >= 0.95, "recall {recall}");
    assert!(distances < 5_000.0, "distances {distances}");
    assert_eq!(index.dimension(), 32);
    assert_eq!(index.valid_rows().len(), 50_000);
}

#[test]
fn search_for_many_rows_returns_them_all() {
    let (data, index) = shared();
    for k in [1, 100, 1_000, 10_000] {
        let part = Data {
            rows: data.rows.clone(),
            labels: Vec::new(),
            queries: data.queries[..3].to_vec(),
        };
        let (recall, _) = recall(index, &part, Metric::L2, k, DEFAULT_EF_SEARCH, None);
        assert!(recall >= 0.95, "k {k} recall {recall}");
    }
}

#[test]
fn search_under_random_filters_keeps_recall() {
    let (data, index) = shared();
    for share in [90, 50, 20, 10, 1] {
        let mut random = Random(share);
        let allowed: RoaringBitmap = (0..50_000)
            .filter(|_| random.below(100) < share as usize)
            .collect();
        let (recall, distances) = recall(
            index,
            data,
            Metric::L2,
            10,
            DEFAULT_EF_SEARCH,
            Some(&allowed),
        );
        assert!(
            recall >= 0.95,
            "share {share} recall {recall} distances {distances}"
        );
    }
}

#[test]
fn search_under_filters_of_whole_clusters_keeps_recall() {
    let (data, index) = shared();
    for clusters in [180, 100, 50, 20, 2] {
        let allowed: RoaringBitmap = (0..50_000u32)
            .filter(|row| data.labels[*row as usize] < clusters)
            .collect();
        let (recall, distances) = recall(
            index,
            data,
            Metric::L2,
            10,
            DEFAULT_EF_SEARCH,
            Some(&allowed),
        );
        assert!(
            recall >= 0.95,
            "clusters {clusters} recall {recall} distances {distances}"
        );
    }
}

#[test]
fn search_by_cosine_keeps_recall() {
    let mut data = clustered(20_000, 32, 50, 0.6);
    stretch(&mut data.rows, |_, random| (0.6 * random.normal()).exp());
    let index = index_of(&data.rows, Metric::Cosine);
    let (all, distances) = recall(&index, &data, Metric::Cosine, 10, DEFAULT_EF_SEARCH, None);
    assert!(
        all >= 0.95 && distances < 2_000.0,
        "recall {all} distances {distances}"
    );
    let allowed: RoaringBitmap = (0..20_000).filter(|row| row % 5 < 3).collect();
    let (some, _) = recall(
        &index,
        &data,
        Metric::Cosine,
        10,
        DEFAULT_EF_SEARCH,
        Some(&allowed),
    );
    assert!(some >= 0.95, "filtered recall {some}");
}

#[test]
fn search_by_inner_product_of_vectors_of_one_length_keeps_recall() {
    let mut data = clustered(20_000, 32, 50, 0.6);
    stretch(&mut data.rows, |length, random| {
        7.0 / length * (1.0 + 0.01 * random.unit() as f32)
    });
    data.rows[123] = vec![0.0; 32];
    let index = index_of(&data.rows, Metric::InnerProduct);
    let (all, distances) = recall(
        &index,
        &data,
        Metric::InnerProduct,
        10,
        DEFAULT_EF_SEARCH,
        None,
    );
    assert!(
        all >= 0.95 && distances < 2_000.0,
        "recall {all} distances {distances}"
    );
    let allowed: RoaringBitmap = (0..20_000).filter(|row| row % 5 < 3).collect();
    let (some, _) = recall(
        &index,
        &data,
        Metric::InnerProduct,
        10,
        DEFAULT_EF_SEARCH,
        Some(&allowed),
    );
    assert!(some >= 0.95, "filtered recall {some}");
}

#[test]
fn search_by_inner_product_of_vectors_of_many_lengths_is_exact() {
    let mut data = clustered(20_000, 32, 20, 30.0);
    stretch(&mut data.rows, |_, random| (0.6 * random.normal()).exp());
    let index = index_of(&data.rows, Metric::InnerProduct);
    let allowed: RoaringBitmap = (0..20_000).filter(|row| row % 5 < 3).collect();
    for allowed in [None, Some(&allowed)] {
        let (recall, _) = recall(
            &index,
            &data,
            Metric::InnerProduct,
            10,
            DEFAULT_EF_SEARCH,
            allowed,
        );
        assert_eq!(recall, 1.0);
    }
}

#[test]
fn search_in_separated_clusters_reaches_all_of_them() {
    let data = clustered(12_000, 16, 50, 0.01);
    let index = index_of(&data.rows, Metric::L2);
    let (recall, distances) = recall(&index, &data, Metric::L2, 10, DEFAULT_EF_SEARCH, None);
    assert!(recall >= 0.95, "recall {recall} distances {distances}");
}

#[test]
fn search_of_rows_sorted_by_cluster_keeps_recall() {
    let data = clustered(12_000, 16, 50, 0.3);
    let mut order: Vec<usize> = (0..12_000).collect();
    order.sort_by_key(|row| data.labels[*row]);
    let sorted = Data {
        rows: order.iter().map(|row| data.rows[*row].clone()).collect(),
        labels: Vec::new(),
        queries: data.queries,
    };
    let (recall, _) = recall(
        &index_of(&sorted.rows, Metric::L2),
        &sorted,
        Metric::L2,
        10,
        DEFAULT_EF_SEARCH,
        None,
    );
    assert!(recall >= 0.95, "recall {recall}");
}

#[test]
fn search_among_equal_vectors_returns_rows_in_order() {
    let index = index_of(&vec![vec![1.0, 2.0, 3.0]; 5_000], Metric::L2);
    let hits = index.search(&[1.0, 2.0, 4.0], 100, 64, None).unwrap();
    assert_eq!(
        hits.hits.iter().map(|hit| hit.row).collect::<Vec<_>>(),
        (0..100).collect::<Vec<_>>()
    );
    assert!(hits.hits.iter().all(|hit| hit.value == 1.0));
    let allowed: RoaringBitmap = (0..5_000).filter(|row| row % 2 == 1).collect();
    let hits = index
        .search(&[1.0, 2.0, 4.0], 3, 64, Some(&allowed))
        .unwrap();
    assert_eq!(
        hits.hits.iter().map(|hit| hit.row).collect::<Vec<_>>(),
        [1, 3, 5]
    );
}

#[test]
fn search_with_many_duplicates_finds_the_rest_too() {
    let mut data = clustered(20_000, 16, 50, 0.5);
    let mut random = Random(5);
    for row in 0..data.rows.len() {
        if random.below(2) == 0 {
            data.rows[row] = data.rows[random.below(7)].clone();
        }
    }
    for metric in [Metric::L2, Metric::Cosine] {
        let index = index_of(&data.rows, metric);
        let (all, _) = recall(&index, &data, metric, 10, DEFAULT_EF_SEARCH, None);
        assert!(all >= 0.95, "recall {all}");
        let allowed: RoaringBitmap = (0..20_000).filter(|row| row % 5 != 0).collect();
        let (some, _) = recall(&index, &data, metric, 10, DEFAULT_EF_SEARCH, Some(&allowed));
        assert!(some >= 0.95, "filtered recall {some}");
    }
}

#[test]
fn search_of_small_segments_is_exact() {
    for count in [0, 1, 2, 15, 31, 33, 64, 300] {
        for metric in [Metric::L2, Metric::Cosine, Metric::InnerProduct] {
            let data = clustered(count, 5, 10, 0.5);
            let index = index_of(&data.rows, metric);
            for (k, query) in [1, 10, 50].into_iter().zip(&data.queries) {
                let hits = index.search(query, k, DEFAULT_EF_SEARCH, None).unwrap();
                check_hits(&hits, &data.rows, metric, query, None);
                let truth: Vec<u32> = exact(&data.rows, metric, query, k, None)
                    .iter()
                    .map(|hit| hit.0)
                    .collect();
                assert_eq!(
                    hits.hits.iter().map(|hit| hit.row).collect::<Vec<_>>(),
                    truth
                );
            }
        }
    }
}

#[test]
fn search_with_odd_vectors_puts_each_at_its_true_place() {
    let mut data = clustered(3_000, 8, 10, 0.5);
    let odd: Vec<Vec<f32>> = vec![
        vec![0.0; 8],
        vec![f32::NAN; 8],
        vec![f32::INFINITY; 8],
        vec![f32::MAX; 8],
        vec![1e-30; 8],
        vec![-0.0; 8],
        vec![f32::MIN_POSITIVE; 8],
    ];
    for (at, vector) in odd.iter().enumerate() {
        data.rows[at * 400] = vector.clone();
    }
    data.queries.extend(
        odd.into_iter()
            .filter(|vector| vector.iter().all(|x| x.is_finite())),
    );
    for metric in [Metric::L2, Metric::Cosine, Metric::InnerProduct] {
        let index = index_of(&data.rows, metric);
        assert_eq!(index.valid_rows().len(), 3_000);
        for query in &data.queries {
            for k in [1, 10, 3_000] {
                let hits = index.search(query, k, DEFAULT_EF_SEARCH, None).unwrap();
                assert_eq!(hits.hits.len(), k);
                check_hits(&hits, &data.rows, metric, query, None);
                if k == 3_000 {
                    let truth: Vec<u32> = exact(&data.rows, metric, query, k, None)
                        .iter()
                        .map(|hit| hit.0)
                        .collect();
                    assert_eq!(
                        hits.hits.iter().map(|hit| hit.row).collect::<Vec<_>>(),
                        truth
                    );
                }
            }
        }
    }
}

#[test]
fn rows_without_a_usable_vector_are_not_valid() {
    let mut list = ListBuilder::new(Float32Builder::new());
    list.append(false);
    list.append(true);
    list.values().append_slice(&[1.0, 2.0]);
    list.append(true);
    list.values().append_slice(&[1.0, 2.0, 3.0]);
    list.append(true);
    list.values().append_value(4.0);
    list.values().append_null();
    list.append(true);
    list.values().append_slice(&[f32::NAN, 2.0]);
    list.append(true);
    list.values().append_slice(&[3.0, 2.0]);
    list.append(true);
    let column: ArrayRef = Arc::new(list.finish());
    for (dimension, valid) in [
        (None, vec![2u32, 5, 6]),
        (Some(3), vec![3]),
        (Some(9), vec![]),
    ] {
        let bytes = bytes_of(
            &[column.slice(0, 4), column.slice(4, 3)],
            Parameters {
                dimension,
                ..parameters(Metric::L2)
            },
            1,
            Isa::best(),
        );
        let index = HnswIndex::open(&bytes, 7, Isa::best()).unwrap();
        assert_eq!(index.valid_rows().iter().collect::<Vec<_>>(), valid);
        assert_eq!(index.dimension(), dimension.unwrap_or(2));
        let query = vec![1.0; index.dimension()];
        assert_eq!(
            index.search(&query, 10, 10, None).unwrap().hits.len(),
            valid.len()
        );
    }
}

#[test]
fn fixed_size_lists_and_lists_give_equal_bytes() {
    let rows = [
        Some([1.0f32, 2.0]),
        None,
        Some([3.0, 4.0]),
        Some([5.0, f32::NAN]),
    ];
    let mut fixed = FixedSizeListBuilder::new(Float32Builder::new(), 2);
    for row in &rows {
        fixed.values().append_slice(&row.unwrap_or([0.0, 0.0]));
        fixed.append(row.is_some());
    }
    let fixed: ArrayRef = Arc::new(fixed.finish());
    let list = column(
        rows.iter()
            .map(|row| row.as_ref().map(|row| row.as_slice())),
    );
    let of = |column: ArrayRef| bytes_of(&[column], parameters(Metric::L2), 1, Isa::best());
    assert_eq!(of(fixed), of(list));
}

#[test]
fn build_with_other_threads_and_instruction_sets_gives_equal_bytes() {
    let mut data = clustered(3_000, 20, 5, 0.5);
    stretch(&mut data.rows, |length, _| length.recip());
    for metric in [Metric::L2, Metric::Cosine, Metric::InnerProduct] {
        let columns = [column(data.rows.iter().map(|row| Some(row.as_slice())))];
        let parameters = Parameters {
            ef_construction: 40,
            ..parameters(metric)
        };
        let bytes = bytes_of(&columns, parameters, 1, Isa::best());
        for threads in [2, 3, 7] {
            assert_eq!(
                bytes,
                bytes_of(&columns, parameters, threads, Isa::best()),
                "{threads} threads"
            );
        }
        for isa in Isa::all() {
            assert_eq!(
                bytes,
                bytes_of(&columns, parameters, 2, isa),
                "{}",
                isa.name()
            );
            let (here, there) = (
                HnswIndex::open(&bytes, 3_000, isa).unwrap(),
                HnswIndex::open(&bytes, 3_000, Isa::best()).unwrap(),
            );
            for query in &data.queries {
                let (a, b) = (
                    here.search(query, 10, 30, None).unwrap(),
                    there.search(query, 10, 30, None).unwrap(),
                );
                assert_eq!((a.hits, a.distance_count), (b.hits, b.distance_count));
            }
        }
    }
}

/// Damaged or foreign bytes: an error of kind Corrupt or hits within the segment, never a panic.
#[test]
fn open_of_damaged_bytes_is_corrupt_or_stays_inside() {
    let mut data = clustered(400, 6, 2, 0.5);
    for row in 0..100 {
        data.rows[row * 3] = data.rows[row % 10].clone();
    }
    data.rows[7] = vec![f32::NAN; 6];
    for metric in [Metric::L2, Metric::Cosine] {
        let good = bytes_of(
            &[column(data.rows.iter().map(|row| Some(row.as_slice())))],
            Parameters {
                ef_construction: 16,
                ..parameters(metric)
            },
            1,
            Isa::best(),
        );
        let mut random = Random(1);
        let mut opened = 0;
        for round in 0..3_000 {
            let mut bytes = good.to_vec();
            match round % 3 {
                0 => bytes.truncate(random.below(bytes.len())),
                1 => bytes[random.below(64)] ^= 1 << random.below(8),
                _ => {
                    for _ in 0..=random.below(8) {
                        let at = random.below(bytes.len());
                        bytes[at] = random.next() as u8;
                    }
                }
            }
            opened += usize::from(probe_damaged(&Bytes::from(bytes), &data.queries));
        }
        assert!(opened > 0);
    }
    for bytes in [
        Bytes::new(),
        Bytes::from(vec![0; 64]),
        Bytes::from(vec![255; 4096]),
    ] {
        assert!(HnswIndex::open(&bytes, 5, Isa::best()).is_err());
    }
}

fn probe_damaged(bytes: &Bytes, queries: &[Vec<f32>]) -> bool {
    let allowed: RoaringBitmap = (0..400).filter(|row| row % 3 != 0).collect();
    let index = match HnswIndex::open(bytes, 400, Isa::best()) {
        Ok(index) => index,
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Corrupt);
            return false;
        }
    };
    for query in queries {
        for (ef, allowed) in [(10, None), (100, None), (10, Some(&allowed))] {
            if let Ok(hits) = index.search(query, 5, ef, allowed) {
                assert!(hits.hits.len() <= 5 && hits.hits.iter().all(|hit| hit.row < 400));
            }
        }
    }
    true
}

#[test]
fn open_at_any_alignment_answers_alike() {
    let data = clustered(2_000, 6, 5, 0.5);
    let good = bytes_of(
        &[column(data.rows.iter().map(|row| Some(row.as_slice())))],
        parameters(Metric::L2),
        1,
        Isa::best(),
    );
    let expected = HnswIndex::open(&good, 2_000, Isa::best())
        .unwrap()
        .search(&data.queries[0], 10, 20, None)
        .unwrap();
    for shift in [0, 1, 3, 4, 8, 16, 48] {
        let moved = Bytes::from([vec![0; shift], good.to_vec()].concat()).slice(shift..);
        let index = HnswIndex::open(&moved, 2_000, Isa::best()).unwrap();
        assert_eq!(
            index.search(&data.queries[0], 10, 20, None).unwrap().hits,
            expected.hits
        );
    }
}

#[test]
fn search_with_a_wrong_query_is_invalid_input() {
    let index = index_of(&[vec![1.0, 2.0], vec![3.0, 4.0]], Metric::L2);
    for query in [
        vec![1.0],
        vec![],
        vec![1.0; 3],
        vec![f32::NAN, 0.0],
        vec![0.0, f32::INFINITY],
    ] {
        assert_eq!(
            index.search(&query, 1, 10, None).unwrap_err().kind(),
            ErrorKind::InvalidInput
        );
    }
    assert!(
        index
            .search(&[1.0, 2.0], 0, 10, None)
            .unwrap()
            .hits
            .is_empty()
    );
    assert!(
        index
            .search(&[1.0, 2.0], 5, 10, Some(&RoaringBitmap::new()))
            .unwrap()
            .hits
            .is_empty()
    );
    assert_eq!(
        index
            .search(&[1.0, 2.0], usize::MAX, usize::MAX, None)
            .unwrap()
            .hits
            .len(),
        2
    );
}

/// Two rows share a vector, one is NULL, one is zero, one is NaN; no value depends on a math library.
fn golden_column() -> ArrayRef {
    let vector = |row: u16| {
        [
            f32::from(row * 7 % 11) - 5.0,
            f32::from(row * 5 % 13) - 6.0,
            f32::from(row % 4) + 0.5,
        ]
    };
    let rows: Vec<Option<[f32; 3]>> = (0..24u16)
        .map(|row| match row {
            4 => None,
            5 => Some([0.0; 3]),
            6 => Some([f32::NAN, 1.0, 1.0]),
            20 => Some(vector(2)),
            row => Some(vector(row)),
        })
        .collect();
    column(
        rows.iter()
            .map(|row| row.as_ref().map(|row| row.as_slice())),
    )
}

#[test]
fn hnsw_golden_bytes_are_kept() {
    let parameters = Parameters {
        metric: Metric::Cosine,
        m: 2,
        ef_construction: 16,
        dimension: Some(3),
    };
    let written = bytes_of(&[golden_column()], parameters, 1, Isa::best());
    let golden = include_str!("../../../tests/golden/hnsw-v1.hex");
    let hex: String = written.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(hex, golden.trim_end());
    let index = HnswIndex::open(&written, 24, Isa::best()).unwrap();
    assert_eq!(index.valid_rows().len(), 23);
    assert_eq!(index.odd_rows().iter().collect::<Vec<_>>(), [5, 6]);
    let hits = index.search(&[-2.0, 4.0, 2.5], 24, 10, None).unwrap().hits;
    assert_eq!(
        hits[..2].iter().map(|hit| hit.row).collect::<Vec<_>>(),
        [2, 20]
    );
    assert!(hits[21..].iter().all(|hit| hit.value.is_nan()) && hits.len() == 23);
}
