//! What stands for a column that a data file lacks, at any depth: the value of an identity partition field,
//! else the initial default, else NULL.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef};
use arrow::buffer::NullBuffer;
use arrow::datatypes::Field as ArrowField;

use crate::error::{Error, Result};
use crate::iceberg::schema::{Schema, field_id};
use crate::iceberg::value::to_array;
use crate::table::split::FileTask;

/// The columns that one file lacks.
#[derive(Clone)]
pub(super) struct Absent {
    pub(super) schema: Arc<Schema>,
    pub(super) task: Arc<FileTask>,
    /// Whether the file's own ids are only derived: then a partition value stands before what it holds.
    pub(super) derived_ids: bool,
}

impl Absent {
    /// Whether the column is not taken from the file even if it seems to be there.
    pub(super) fn overrides(&self, id: i32) -> bool {
        self.derived_ids
            && self
                .task
                .absent_values
                .iter()
                .any(|(known, _)| *known == id)
    }

    /// `rows` times what stands for the field inside a parent that is there in the rows of `parent`; None: in all.
    /// Errors: Corrupt for a required field of which nothing is known.
    pub(super) fn array(
        &self,
        field: &ArrowField,
        rows: usize,
        parent: Option<&NullBuffer>,
    ) -> Result<ArrayRef> {
        let id = field_id(field);
        let mut values = self.task.absent_values.iter();
        let partition = values.find(|(known, _)| Some(*known) == id);
        let column = id.and_then(|id| self.schema.field(id));
        let array = match (partition, column) {
            (Some((_, value)), _) => to_array(value.as_ref(), field.data_type(), rows)?,
            (None, Some(column)) => column.default_array(field.data_type(), rows)?,
            (None, None) => to_array(None, field.data_type(), rows)?,
        };
        let any = parent.map_or(rows, |parent| parent.len() - parent.null_count()) > 0;
        if any && !field.is_nullable() && array.logical_null_count() == rows {
            return Err(Error::corrupt(format!(
                "required column {} is not in the data file",
                field.name()
            )));
        }
        Ok(array)
    }
}
