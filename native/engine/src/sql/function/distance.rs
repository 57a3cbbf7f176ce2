//! Distances between embeddings: L2 (not squared), 1 - cosine, negative inner product, L1, and on indicator
//! sets (element > 0) Hamming and Jaccard. A NULL vector, one with a NULL element and a pair of different
//! lengths have distance NULL; a constant query must be finite.

use std::sync::{Arc, LazyLock};

use arrow::array::{Array, ArrayRef, Float64Array};
use arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use super::vector::{VectorRows, coerce, read_text};
use crate::error::Error;
use crate::table::Metric;

/// A distance function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum DistanceKind {
    L2,
    Cosine,
    /// The negative inner product.
    InnerProduct,
    L1,
    Hamming,
    Jaccard,
    /// The inner product itself: pgvector's function `inner_product`, greater is nearer.
    Similarity,
}

impl DistanceKind {
    const ALL: [DistanceKind; 7] = [
        DistanceKind::L2,
        DistanceKind::Cosine,
        DistanceKind::InnerProduct,
        DistanceKind::L1,
        DistanceKind::Hamming,
        DistanceKind::Jaccard,
        DistanceKind::Similarity,
    ];

    /// The distance behind one of pgvector's operators.
    pub(crate) fn of_operator(operator: &str) -> Option<DistanceKind> {
        match operator {
            "<->" => Some(DistanceKind::L2),
            "<=>" => Some(DistanceKind::Cosine),
            "<#>" => Some(DistanceKind::InnerProduct),
            "<+>" => Some(DistanceKind::L1),
            "<~>" => Some(DistanceKind::Hamming),
            "<%>" => Some(DistanceKind::Jaccard),
            _ => None,
        }
    }

    /// The metric of an index that orders as this distance does.
    pub(crate) fn metric(self) -> Option<Metric> {
        match self {
            DistanceKind::L2 => Some(Metric::L2),
            DistanceKind::Cosine => Some(Metric::Cosine),
            DistanceKind::InnerProduct => Some(Metric::InnerProduct),
            DistanceKind::L1 => Some(Metric::L1),
            DistanceKind::Hamming | DistanceKind::Jaccard | DistanceKind::Similarity => None,
        }
    }

    /// The distance that a metric measures.
    pub(crate) fn of_metric(metric: Metric) -> DistanceKind {
        match metric {
            Metric::L2 => DistanceKind::L2,
            Metric::Cosine => DistanceKind::Cosine,
            Metric::InnerProduct => DistanceKind::InnerProduct,
            Metric::L1 => DistanceKind::L1,
        }
    }

    fn name(self) -> &'static str {
        match self {
            DistanceKind::L2 => "vector_l2_distance",
            DistanceKind::Cosine => "vector_cosine_distance",
            DistanceKind::InnerProduct => "vector_inner_product",
            DistanceKind::L1 => "vector_l1_distance",
            DistanceKind::Hamming => "vector_hamming_distance",
            DistanceKind::Jaccard => "vector_jaccard_distance",
            DistanceKind::Similarity => "inner_product",
        }
    }

    fn alias(self) -> Option<&'static str> {
        match self {
            DistanceKind::L2 => Some("l2_distance"),
            DistanceKind::Cosine => Some("cosine_distance"),
            DistanceKind::InnerProduct => Some("vector_negative_inner_product"),
            DistanceKind::L1 => Some("l1_distance"),
            DistanceKind::Hamming => Some("hamming_distance"),
            DistanceKind::Jaccard => Some("jaccard_distance"),
            DistanceKind::Similarity => None,
        }
    }

    /// The distance of two vectors; None where their lengths differ. What an index can answer is measured by the
    /// same function as there.
    fn apply(self, a: &[f32], b: &[f32]) -> Option<f64> {
        if let Some(metric) = self.metric() {
            return metric.kernel().distance(a, b);
        }
        if a.len() != b.len() {
            return None;
        }
        let pairs = || a.iter().zip(b);
        Some(match self {
            DistanceKind::Similarity => pairs().map(|(x, y)| f64::from(*x) * f64::from(*y)).sum(),
            DistanceKind::Hamming => pairs()
                .map(|(x, y)| f64::from(u8::from((*x > 0.0) != (*y > 0.0))))
                .sum(),
            _ => {
                let count = |test: fn(bool, bool) -> bool| -> f64 {
                    pairs()
                        .map(|(x, y)| f64::from(u8::from(test(*x > 0.0, *y > 0.0))))
                        .sum()
                };
                let either = count(|x, y| x || y);
                if either == 0.0 {
                    0.0
                } else {
                    1.0 - count(|x, y| x && y) / either
                }
            }
        })
    }
}

fn registry() -> &'static [(DistanceKind, Arc<ScalarUDF>)] {
    static REGISTRY: LazyLock<Vec<(DistanceKind, Arc<ScalarUDF>)>> = LazyLock::new(|| {
        let build = |kind: DistanceKind| {
            let signature = Signature::user_defined(Volatility::Immutable);
            let aliases = kind.alias().map(str::to_string).into_iter().collect();
            (
                kind,
                Arc::new(ScalarUDF::from(Distance {
                    kind,
                    aliases,
                    signature,
                })),
            )
        };
        DistanceKind::ALL.into_iter().map(build).collect()
    });
    &REGISTRY
}

/// Every distance function.
pub(super) fn functions() -> Vec<Arc<ScalarUDF>> {
    registry()
        .iter()
        .map(|(_, function)| Arc::clone(function))
        .collect()
}

/// The function of a kind.
pub(super) fn function(kind: DistanceKind) -> Arc<ScalarUDF> {
    let built = registry()
        .iter()
        .find(|(other, _)| *other == kind)
        .map(|(_, function)| Arc::clone(function));
    built.unwrap_or_else(|| {
        let signature = Signature::user_defined(Volatility::Immutable);
        Arc::new(ScalarUDF::from(Distance {
            kind,
            aliases: Vec::new(),
            signature,
        }))
    })
}

/// The kind of a function, if it is a distance.
pub(super) fn kind_of(function: &ScalarUDF) -> Option<DistanceKind> {
    registry()
        .iter()
        .find(|(_, known)| known.name() == function.name())
        .map(|(kind, _)| *kind)
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Distance {
    kind: DistanceKind,
    aliases: Vec<String>,
    signature: Signature,
}

impl ScalarUDFImpl for Distance {
    fn name(&self) -> &str {
        self.kind.name()
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, arguments: &[DataType]) -> Result<Vec<DataType>> {
        match arguments {
            [left, right] => Ok(vec![
                coerce(self.name(), left)?,
                coerce(self.name(), right)?,
            ]),
            _ => Err(Error::invalid_input(format!("{} takes two vectors", self.name())).into()),
        }
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Float64)
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [left, right] = arguments.args.as_slice() else {
            return Err(Error::internal("a distance takes two vectors").into());
        };
        let constant = matches!(
            (left, right),
            (ColumnarValue::Scalar(_), ColumnarValue::Scalar(_))
        );
        let count = if constant { 1 } else { arguments.number_rows };
        let left = Side::new(left, count)?;
        let right = Side::new(right, count)?;
        let distances: Float64Array = {
            let (a, b) = (
                VectorRows::new(&left.array)?,
                VectorRows::new(&right.array)?,
            );
            let pair = |row| {
                let (a, b) = (a.row(left.index(row))?, b.row(right.index(row))?);
                self.kind.apply(a, b)
            };
            (0..count).map(pair).collect()
        };
        if constant {
            return Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(
                &distances, 0,
            )?));
        }
        Ok(ColumnarValue::Array(Arc::new(distances)))
    }
}

/// One argument: a constant stays one row long.
struct Side {
    array: ArrayRef,
    constant: bool,
}

impl Side {
    fn new(argument: &ColumnarValue, count: usize) -> Result<Side> {
        let constant = matches!(argument, ColumnarValue::Scalar(_));
        let array = read_text(argument)?.to_array(if constant { 1 } else { count })?;
        if constant {
            let finite = VectorRows::new(&array)?
                .row(0)
                .is_none_or(|v| v.iter().all(|x| x.is_finite()));
            if !finite {
                return Err(Error::invalid_input("query vector holds NaN or infinity").into());
            }
        }
        debug_assert_eq!(array.len(), if constant { 1 } else { count });
        Ok(Side { array, constant })
    }

    fn index(&self, row: usize) -> usize {
        if self.constant { 0 } else { row }
    }
}
