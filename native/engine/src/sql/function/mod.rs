//! Scalar functions of our SQL: distances over embeddings, vector and uuid literals, canonical floats and
//! checked integer arithmetic. Pure functions over Arrow arrays; knows no table.

mod checked;
mod distance;
mod float;
mod sum;
#[cfg(test)]
mod tests;
mod text;
mod uuid;
mod vector;

use std::sync::{Arc, LazyLock};

use datafusion::common::ScalarValue;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{AggregateUDF, Expr, ScalarUDF};

pub(crate) use checked::{checked, is_checked};
pub(crate) use distance::DistanceKind;
pub(crate) use float::{canonical, canonical_array, is_canonical};
pub(crate) use text::{parse_bytes, text_as};
pub(crate) use uuid::TO_UUID;
pub(crate) use vector::{TO_VECTOR, parse_vector, scalar_vector, vector_literal};

/// Every function that users may call or that casts are rewritten to.
pub(crate) fn all() -> &'static [Arc<ScalarUDF>] {
    static ALL: LazyLock<Vec<Arc<ScalarUDF>>> = LazyLock::new(|| {
        let mut functions = distance::functions();
        functions.extend(vector::functions());
        functions.push(Arc::new(uuid::function()));
        functions
    });
    &ALL
}

/// Aggregates that replace the engine's own.
pub(crate) fn aggregates() -> &'static [Arc<AggregateUDF>] {
    static AGGREGATES: LazyLock<Vec<Arc<AggregateUDF>>> =
        LazyLock::new(|| vec![Arc::new(sum::function())]);
    &AGGREGATES
}

/// The distance function, its column and its constant query, if `expression` is one.
pub(crate) fn distance_call(expression: &Expr) -> Option<(DistanceKind, &Expr, &ScalarValue)> {
    let Expr::ScalarFunction(call) = expression else {
        return None;
    };
    let kind = distance::kind_of(&call.func)?;
    match call.args.as_slice() {
        [Expr::Literal(query, _), column] | [column, Expr::Literal(query, _)] => {
            Some((kind, column, query))
        }
        _ => None,
    }
}

/// Whether a call measures a distance.
pub(crate) fn is_distance(call: &ScalarFunction) -> bool {
    distance::kind_of(&call.func).is_some()
}

/// A call of the distance function of `kind`.
pub(crate) fn distance(kind: DistanceKind, left: Expr, right: Expr) -> Expr {
    distance::function(kind).call(vec![left, right])
}
