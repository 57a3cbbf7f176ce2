//! The metadata columns: what a row's file and its place in it say about the row. Ids of rows are inherited:
//! what a file stores goes before what its place gives, and a file without a first id has none.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Int32Array, Int64Array, StringArray, StructArray,
    new_null_array,
};
use arrow::datatypes::{DataType, Field, FieldRef, Fields, Int64Type};
use roaring::RoaringBitmap;

use super::SEQUENCE;
use crate::error::{Error, Result};
use crate::iceberg::predicate::reserved;
use crate::iceberg::schema::{FIELD_ID_KEY, Schema};
use crate::iceberg::value::to_array;
use crate::table::history::{CHANGE_ORDINAL, CHANGE_TYPE, COMMIT_SNAPSHOT_ID};
use crate::table::split::FileTask;

/// Whether a column says what a file says about its rows, not what they hold.
pub(super) fn is_metadata(id: i32) -> bool {
    id == SEQUENCE || reserved::name(id).is_some()
}

/// Whether a metadata column may be stored in data files too.
pub(super) fn is_lineage(id: i32) -> bool {
    matches!(id, reserved::ROW_ID | reserved::LAST_UPDATED)
}

/// Whether a metadata column is made from the rows' positions.
pub(super) fn needs_positions(id: i32) -> bool {
    matches!(id, reserved::POS | reserved::ROW_ID | reserved::DELETED)
}

/// The Arrow field of a metadata column, but for `_partition`, which every table has another of.
pub(super) fn field(id: i32) -> Option<FieldRef> {
    let (data_type, nullable) = match id {
        reserved::FILE => (DataType::Utf8, false),
        reserved::POS | SEQUENCE => (DataType::Int64, false),
        reserved::DELETED => (DataType::Boolean, false),
        reserved::SPEC_ID => (DataType::Int32, false),
        reserved::ROW_ID | reserved::LAST_UPDATED => (DataType::Int64, true),
        CHANGE_TYPE => (DataType::Utf8, false),
        CHANGE_ORDINAL => (DataType::Int32, false),
        COMMIT_SNAPSHOT_ID => (DataType::Int64, false),
        _ => return None,
    };
    let name = match id {
        SEQUENCE => "_seq",
        CHANGE_TYPE => "_change_type",
        CHANGE_ORDINAL => "_change_ordinal",
        COMMIT_SNAPSHOT_ID => "_commit_snapshot_id",
        _ => reserved::name(id)?,
    };
    Some(Arc::new(Field::new(name, data_type, nullable)))
}

/// The column `_partition` with these members.
pub(super) fn partition_field(members: &Schema) -> Result<FieldRef> {
    let members: Fields = members.to_arrow()?.fields().clone();
    let id = (FIELD_ID_KEY.to_owned(), reserved::PARTITION.to_string());
    let field = Field::new("_partition", DataType::Struct(members), true);
    Ok(Arc::new(field.with_metadata([id].into())))
}

/// The rows of one batch, as metadata columns are made from them.
pub(super) struct BatchRows<'a> {
    pub(super) task: &'a FileTask,
    pub(super) rows: usize,
    /// Physical positions, where they were decoded.
    pub(super) positions: Option<&'a Int64Array>,
    /// Which rows deletes take away, where they were not left out.
    pub(super) deleted: Option<&'a BooleanArray>,
}

impl BatchRows<'_> {
    /// A metadata column; `stored` is what the file itself holds of it.
    pub(super) fn column(
        &self,
        id: i32,
        field: &Field,
        partition: Option<&Schema>,
        stored: Option<&ArrayRef>,
    ) -> Result<ArrayRef> {
        let (task, rows) = (self.task, self.rows);
        Ok(match id {
            reserved::FILE => Arc::new(StringArray::from_iter_values(std::iter::repeat_n(
                &task.path, rows,
            ))),
            reserved::POS => Arc::new(self.positions()?.clone()),
            reserved::DELETED => match self.deleted {
                Some(deleted) => Arc::new(deleted.clone()),
                None => Arc::new(BooleanArray::from(vec![false; rows])),
            },
            reserved::SPEC_ID => Arc::new(Int32Array::from_value(task.spec_id, rows)),
            reserved::PARTITION => self.partition(field, partition)?,
            SEQUENCE => Arc::new(Int64Array::from_value(task.data_sequence_number, rows)),
            reserved::ROW_ID => match task.first_row_id {
                None => new_null_array(&DataType::Int64, rows),
                Some(first) => {
                    let positions = self.positions()?;
                    inherit(stored, rows, |row| positions.value(row).checked_add(first))?
                }
            },
            reserved::LAST_UPDATED => match task.first_row_id {
                None => new_null_array(&DataType::Int64, rows),
                Some(_) => inherit(stored, rows, |_| Some(task.data_sequence_number))?,
            },
            other => {
                return Err(Error::internal(format!("{other} is no metadata column")));
            }
        })
    }

    fn positions(&self) -> Result<&Int64Array> {
        self.positions
            .ok_or_else(|| Error::internal("positions were not decoded"))
    }

    /// The file's partition. Fields of other specs are NULL; a table that was never partitioned has no partition.
    fn partition(&self, field: &Field, members: Option<&Schema>) -> Result<ArrayRef> {
        let (DataType::Struct(fields), Some(members)) = (field.data_type(), members) else {
            return Err(Error::internal("_partition without its members"));
        };
        if fields.is_empty() {
            return Ok(new_null_array(field.data_type(), self.rows));
        }
        let mut columns = Vec::with_capacity(fields.len());
        for (member, field) in members.fields.iter().zip(fields) {
            let mut known = self.task.partition.iter();
            let stored = known.find(|(id, _)| *id == member.id);
            let value = match stored.and_then(|(_, value)| value.as_ref()) {
                None => None,
                Some(stored) => Some(stored.to_value(&member.ty).ok_or_else(|| {
                    Error::corrupt(format!(
                        "the partition value of '{}' is no {}",
                        member.name, member.ty
                    ))
                })?),
            };
            columns.push(to_array(value.as_ref(), field.data_type(), self.rows)?);
        }
        let array = StructArray::try_new_with_length(fields.clone(), columns, None, self.rows)?;
        Ok(Arc::new(array))
    }
}

/// The stored values, and where there is none, the one that a row takes from its file.
fn inherit(
    stored: Option<&ArrayRef>,
    rows: usize,
    given: impl Fn(usize) -> Option<i64>,
) -> Result<ArrayRef> {
    let stored = match stored {
        None => None,
        Some(stored) => Some(
            stored
                .as_primitive_opt::<Int64Type>()
                .ok_or_else(|| Error::corrupt("stored row ids are no longs"))?,
        ),
    };
    let value = |row: usize| match stored {
        Some(stored) if stored.is_valid(row) => Some(stored.value(row)),
        _ => given(row),
    };
    Ok(Arc::new(Int64Array::from_iter((0..rows).map(value))))
}

/// Which of the rows are among the dead or are not among the living.
pub(super) fn deleted(
    positions: &Int64Array,
    dead: &RoaringBitmap,
    live: Option<&BooleanArray>,
) -> BooleanArray {
    let of = |row: usize| {
        let dead =
            u32::try_from(positions.value(row)).is_ok_and(|position| dead.contains(position));
        Some(dead || live.is_some_and(|live| !live.value(row)))
    };
    (0..positions.len()).map(of).collect()
}
