//! Bounds of random predicate trees hold what is true.

use roaring::RoaringBitmap;

use super::{all_rows, evaluate};
use crate::iceberg::predicate::Predicate;
use crate::index::Bounds;
use crate::index::testing::{Random, scale, truth};

const ROWS: u32 = 200;

fn leaf(id: i32) -> Predicate {
    Predicate::IsNull { column: id }
}

fn random_tree(random: &mut Random, depth: usize) -> Predicate {
    match random.below(if depth == 0 { 4 } else { 8 }) {
        0 => Predicate::Constant(*random.pick(&[Some(true), Some(false), None])),
        1..=3 => leaf(random.below(4) as i32),
        4 => Predicate::Not(Box::new(random_tree(random, depth - 1))),
        5 => Predicate::And(
            (0..random.below(4))
                .map(|_| random_tree(random, depth - 1))
                .collect(),
        ),
        _ => Predicate::Or(
            (0..random.below(4))
                .map(|_| random_tree(random, depth - 1))
                .collect(),
        ),
    }
}

/// Bounds that tell the truth about `values` but only in part.
fn random_knowledge(random: &mut Random, values: &[Option<bool>], ignorance: usize) -> Bounds {
    let mut bounds = Bounds::default();
    for (row, value) in (0u32..).zip(values) {
        let knows = ignorance == 0 || random.below(ignorance + 1) == 0;
        match value {
            Some(true) => {
                bounds.maybe.insert(row);
                if knows {
                    bounds.sure.insert(row);
                }
            }
            _ if !knows => {
                if random.chance(2) {
                    bounds.maybe.insert(row);
                }
            }
            Some(false) => {
                bounds.false_sure.insert(row);
            }
            None => {
                bounds.nulls.insert(row);
            }
        }
    }
    bounds
}

fn rows_where(values: &[Option<bool>], wanted: Option<bool>) -> RoaringBitmap {
    (0u32..)
        .zip(values)
        .filter(|(_, v)| **v == wanted)
        .map(|(row, _)| row)
        .collect()
}

#[test]
fn l2_bounds_of_random_trees_hold_the_truth() {
    for seed in 0..3000 * scale() {
        let mut random = Random(seed);
        let leaves: Vec<Vec<Option<bool>>> = (0..4)
            .map(|_| {
                (0..ROWS)
                    .map(|_| *random.pick(&[Some(true), Some(false), None]))
                    .collect()
            })
            .collect();
        let ignorance = random.below(3);
        let known: Vec<Option<Bounds>> = leaves
            .iter()
            .map(|values| {
                (ignorance == 0 || !random.chance(5))
                    .then(|| random_knowledge(&mut random, values, ignorance))
            })
            .collect();
        let tree = random_tree(&mut random, 4);
        let id = |p: &Predicate| match p {
            Predicate::IsNull { column } => *column as usize,
            other => panic!("{other:?}"),
        };
        let got = evaluate(&tree, ROWS, &|p| Ok(known[id(p)].clone())).unwrap();
        let want: Vec<Option<bool>> = (0..ROWS as usize)
            .map(|row| truth(&tree, &|p| leaves[id(p)][row]))
            .collect();
        let (trues, falses, nulls) = (
            rows_where(&want, Some(true)),
            rows_where(&want, Some(false)),
            rows_where(&want, None),
        );
        assert!(
            got.sure.is_subset(&trues) && trues.is_subset(&got.maybe),
            "seed {seed} {tree:?}"
        );
        assert!(
            got.false_sure.is_subset(&falses) && got.nulls.is_subset(&nulls),
            "seed {seed} {tree:?}"
        );
        if ignorance == 0 {
            assert!(
                got.is_exact() && got.recheck().is_empty(),
                "seed {seed} {tree:?}"
            );
            assert_eq!(
                (got.sure, got.false_sure, got.nulls),
                (trues, falses, nulls),
                "seed {seed} {tree:?}"
            );
        }
    }
}

#[test]
fn not_keeps_nulls_null() {
    let bounds = Bounds {
        sure: [0].into(),
        maybe: [0, 1].into(),
        nulls: [2].into(),
        false_sure: [3].into(),
    };
    let got = evaluate(&Predicate::Not(Box::new(leaf(0))), 5, &|_| {
        Ok(Some(bounds.clone()))
    })
    .unwrap();
    // Row 4 is false or NULL, so NOT may be true for it.
    assert_eq!(
        got,
        Bounds {
            sure: [3].into(),
            maybe: [1, 3, 4].into(),
            nulls: [2].into(),
            false_sure: [0].into()
        }
    );
}

#[test]
fn unknown_leaf_is_maybe_everywhere() {
    let got = evaluate(&leaf(0), 3, &|_| Ok(None)).unwrap();
    assert_eq!(
        got,
        Bounds {
            maybe: all_rows(3),
            ..Bounds::default()
        }
    );
    let narrowed = evaluate(
        &Predicate::And(vec![leaf(0), Predicate::Constant(Some(false))]),
        3,
        &|_| Ok(None),
    )
    .unwrap();
    assert_eq!(
        narrowed,
        Bounds {
            false_sure: all_rows(3),
            ..Bounds::default()
        }
    );
}

#[test]
fn deep_tree_is_unknown_instead_of_overflowing() {
    let tree = (0..5000).fold(leaf(0), |tree, _| Predicate::Not(Box::new(tree)));
    assert_eq!(
        evaluate(&tree, 3, &|_| Ok(None)).unwrap().maybe,
        all_rows(3)
    );
    // The derived drop recurses; the depth here stays within a test thread's stack.
}

#[test]
fn no_rows_give_no_rows() {
    let got = evaluate(
        &Predicate::Not(Box::new(Predicate::Constant(None))),
        0,
        &|_| Ok(None),
    )
    .unwrap();
    assert_eq!(got, Bounds::default());
}

#[test]
fn largest_row_count_is_complete() {
    assert_eq!(all_rows(u32::MAX).len(), u64::from(u32::MAX));
}
