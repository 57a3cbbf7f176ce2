//! Kernels: equal bits on every instruction set, exact values, order.

use super::*;

struct Random(u64);

impl Random {
    fn float(&mut self) -> f32 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f32 / (1 << 23) as f32 - 1.0
    }
}

fn rows(count: usize, dimension: usize, scale: f32) -> AlignedFloats {
    let mut random = Random(7);
    let mut rows = AlignedFloats::new();
    for _ in 0..count {
        rows.push_row(
            &(0..dimension)
                .map(|_| random.float() * scale)
                .collect::<Vec<_>>(),
        );
    }
    rows
}

#[test]
fn list_kernels_on_every_instruction_set_give_equal_bits() {
    for dimension in [1, 3, 15, 16, 17, 31, 50, 100, 128, 384] {
        for scale in [1e-18, 1.0, 1e15] {
            let rows = rows(23, dimension, scale);
            let stride = padded_length(dimension);
            let plain = Matrix::new(rows.as_slice(), stride, Isa::portable()).unwrap();
            let ids: Vec<u32> = (0..23).rev().collect();
            for isa in Isa::all() {
                let fast = Matrix::new(rows.as_slice(), stride, isa).unwrap();
                for count in 0..=ids.len() {
                    let (mut a, mut b) = ([-1f32; 23], [-1f32; 23]);
                    plain.squared_l2(plain.row(4), &ids[..count], &mut a);
                    fast.squared_l2(plain.row(4), &ids[..count], &mut b);
                    assert_eq!(
                        a.map(f32::to_bits),
                        b.map(f32::to_bits),
                        "{} {dimension} {count}",
                        isa.name()
                    );
                    plain.dot(plain.row(5), &ids[..count], &mut a);
                    fast.dot(plain.row(5), &ids[..count], &mut b);
                    assert_eq!(
                        a.map(f32::to_bits),
                        b.map(f32::to_bits),
                        "{} {dimension} {count}",
                        isa.name()
                    );
                    assert!(a[count..].iter().all(|x| *x == -1.0));
                }
            }
        }
    }
}

#[test]
fn list_kernels_with_foreign_ids_and_short_outputs_stay_inside() {
    let rows = rows(5, 20, 1.0);
    for isa in Isa::all() {
        let matrix = Matrix::new(rows.as_slice(), 32, isa).unwrap();
        let mut out = [0f32; 2];
        matrix.squared_l2(matrix.row(0), &[u32::MAX, 7, 4], &mut out);
        assert_eq!(out[0], out[1]);
        matrix.prefetch(u32::MAX);
        assert!(matrix.row(5).is_empty());
    }
    assert!(Matrix::new(&[0.0; 40], 20, Isa::best()).is_none());
    assert!(Matrix::new(&[0.0; 40], 16, Isa::best()).is_none());
    assert!(Matrix::new(&[], 0, Isa::best()).is_none());
}

#[test]
fn distance_of_known_vectors_is_exact() {
    let (a, b) = ([1.0, 2.0, 3.0], [4.0, 6.0, 3.0]);
    assert_eq!(Metric::L2.distance(&a, &b), Some(5.0));
    assert_eq!(Metric::L1.distance(&a, &b), Some(7.0));
    assert_eq!(Metric::InnerProduct.distance(&a, &b), Some(-25.0));
    assert_eq!(Metric::Cosine.distance(&a, &a), Some(0.0));
    assert_eq!(
        Metric::Cosine.distance(&[1.0, 0.0], &[-2.0, 0.0]),
        Some(2.0)
    );
    assert!(
        Metric::Cosine
            .distance(&[0.0, 0.0], &[1.0, 0.0])
            .unwrap()
            .is_nan()
    );
    assert!(Metric::L2.distance(&[f32::NAN], &[1.0]).unwrap().is_nan());
    assert_eq!(
        Metric::L2.distance(&[f32::MAX], &[f32::MIN]),
        Some(2.0 * f64::from(f32::MAX))
    );
    assert_eq!(Metric::L2.distance(&a, &b[..2]), None);
    for metric in Metric::ALL {
        assert_eq!(Metric::from_name(metric.name()), Some(metric));
    }
}

#[test]
fn top_k_with_nan_and_ties_orders_as_results() {
    let mut top = TopK::new(4);
    for (row, distance) in [f64::NAN, 1.0, -0.0, 0.0, f64::INFINITY, -1.0, 0.0]
        .into_iter()
        .enumerate()
    {
        top.push(distance, row as u64);
    }
    assert_eq!(top.bound(), Some(0.0));
    assert_eq!(
        top.into_sorted()
            .iter()
            .map(|hit| hit.0)
            .collect::<Vec<_>>(),
        [5, 2, 3, 6]
    );
    let mut none = TopK::new(0);
    none.push(1.0, 1);
    assert!(none.is_empty());
    let mut few = TopK::new(9);
    few.push(f64::NAN, 2);
    few.push(f64::NEG_INFINITY, 3);
    assert_eq!(few.into_sorted().first().map(|hit| hit.0), Some(3));
}

#[test]
fn aligned_copy_of_bytes_keeps_them_and_refuses_odd_views() {
    let bytes: Vec<u8> = (0..103).collect();
    let copy = AlignedBytes::copy_of(&bytes);
    assert_eq!(copy.as_slice(), bytes);
    assert_eq!(copy.as_slice().as_ptr() as usize % 64, 0);
    assert_eq!(
        as_ids(&copy.as_slice()[4..12]),
        Some(&[0x0706_0504, 0x0b0a_0908][..])
    );
    assert_eq!(as_floats(&copy.as_slice()[1..9]), None);
    assert_eq!(as_ids(&copy.as_slice()[0..6]), None);
}

#[test]
fn gather_unvisited_takes_each_id_once_and_ignores_foreign_ones() {
    let mut marks = vec![0u8; 4];
    let mut out = [9u32; 8];
    let count = gather_unvisited(&[1, 3, 1, 77, 0], &mut marks, 5, &mut out);
    assert_eq!(&out[..count], &[1, 3, 0]);
    assert_eq!(gather_unvisited(&[0, 1], &mut marks, 5, &mut out), 0);
}
