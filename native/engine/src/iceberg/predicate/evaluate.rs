//! The one evaluator: a predicate over the rows of a batch, three-valued. Columns are found by the field
//! id in their metadata. Each leaf is one pass over the column; the operator is chosen outside the loop.

use arrow::array::{Array, ArrayRef, BooleanArray, RecordBatch};
use arrow::buffer::{BooleanBuffer, NullBuffer};
use arrow::compute::{and_kleene, is_null, not, or_kleene};

use super::column::Column;
use super::{Predicate, reserved};
use crate::error::{Error, Result};
use crate::iceberg::schema::field_id;

/// How deep a predicate may nest.
const MAX_DEPTH: usize = 512;

/// The truth of `predicate` for every row. Errors: Internal for a column that the batch lacks; InvalidInput for a
/// literal that is no value of its column's type, and for a tree deeper than 512.
pub fn evaluate(predicate: &Predicate, batch: &RecordBatch) -> Result<BooleanArray> {
    walk(predicate, batch, 0)
}

fn walk(predicate: &Predicate, batch: &RecordBatch, depth: usize) -> Result<BooleanArray> {
    if depth > MAX_DEPTH {
        return Err(Error::invalid_input(format!(
            "the predicate nests deeper than {MAX_DEPTH}"
        )));
    }
    let column = |id: i32| find(batch, id).map(|array| Column::new(id, array));
    match predicate {
        Predicate::Constant(truth) => Ok(constant(*truth, batch.num_rows())),
        Predicate::And(parts) => combine(parts, batch, depth, true),
        Predicate::Or(parts) => combine(parts, batch, depth, false),
        Predicate::Not(inner) => Ok(not(&walk(inner, batch, depth + 1)?)?),
        Predicate::Compare {
            column: id,
            op,
            value,
        } => column(*id)?.compare(*op, value),
        Predicate::NullSafeEq {
            column: id,
            value: None,
        }
        | Predicate::IsNull { column: id } => Ok(is_null(find(batch, *id)?)?),
        Predicate::NullSafeEq {
            column: id,
            value: Some(value),
        } => Ok(nulls_as_false(
            column(*id)?.compare(super::CompareOp::Eq, value)?,
        )),
        Predicate::In {
            column: id,
            values,
            has_null,
        } => {
            let hits = column(*id)?.is_in(values)?;
            Ok(if *has_null {
                false_as_null(&hits)
            } else {
                hits
            })
        }
        Predicate::IsNan { column: id } => column(*id)?.is_nan(),
        Predicate::Match {
            column: id,
            op,
            pattern,
        } => column(*id)?.matches(*op, pattern),
    }
}

/// AND (`and`) or OR of `parts`; stops early once every row is decided.
fn combine(
    parts: &[Predicate],
    batch: &RecordBatch,
    depth: usize,
    and: bool,
) -> Result<BooleanArray> {
    let mut parts = parts.iter();
    let Some(first) = parts.next() else {
        return Ok(constant(Some(and), batch.num_rows()));
    };
    let mut result = walk(first, batch, depth + 1)?;
    for part in parts {
        let decided = if and {
            result.false_count()
        } else {
            result.true_count()
        };
        if decided == result.len() {
            break;
        }
        let next = walk(part, batch, depth + 1)?;
        result = if and {
            and_kleene(&result, &next)?
        } else {
            or_kleene(&result, &next)?
        };
    }
    Ok(result)
}

fn constant(truth: Option<bool>, rows: usize) -> BooleanArray {
    match truth {
        Some(true) => BooleanArray::new(BooleanBuffer::new_set(rows), None),
        Some(false) => BooleanArray::new(BooleanBuffer::new_unset(rows), None),
        None => BooleanArray::new_null(rows),
    }
}

fn nulls_as_false(array: BooleanArray) -> BooleanArray {
    match array.nulls() {
        None => array,
        Some(nulls) => BooleanArray::new(array.values() & nulls.inner(), None),
    }
}

fn false_as_null(array: &BooleanArray) -> BooleanArray {
    let hits = match array.nulls() {
        None => array.values().clone(),
        Some(nulls) => array.values() & nulls.inner(),
    };
    BooleanArray::new(hits.clone(), Some(NullBuffer::new(hits)))
}

/// The column with this field id; metadata columns are also found by name.
fn find(batch: &RecordBatch, id: i32) -> Result<&ArrayRef> {
    let name = reserved::name(id);
    let schema = batch.schema_ref();
    let by_id = schema.fields().iter().position(|f| field_id(f) == Some(id));
    let index = by_id.or_else(|| {
        schema
            .fields()
            .iter()
            .position(|f| field_id(f).is_none() && Some(f.name().as_str()) == name)
    });
    let array = index.and_then(|i| batch.columns().get(i));
    array.ok_or_else(|| Error::internal(format!("the batch has no column with field id {id}")))
}
