//! The columns of a table as rows, for those who ask what a table holds.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, Int32Array, RecordBatch, StringArray};

use super::{MetadataTable, Table};
use crate::error::Result;
use crate::iceberg::schema::{Field, Schema};

impl Table {
    /// One row a column of the schema: `column`, `type`, `nullable`, `field_id`, `doc`.
    pub fn columns(&self) -> Result<RecordBatch> {
        self.schema()?.columns()
    }

    /// The column of a name, in any case where the session is told so. Errors: InvalidInput for a name that several
    /// columns have.
    pub fn column(&self, name: &str) -> Result<Option<&Field>> {
        let schema = self.schema()?;
        match self.environment().case_sensitive() {
            true => Ok(schema.column(name)),
            false => schema.column_in_any_case(name),
        }
    }

    /// The name by which SQL plans a column in any case, where it is another than the column's.
    pub(crate) fn planned_name(&self, name: &str) -> Result<Option<String>> {
        if self.environment().case_sensitive() {
            return Ok(None);
        }
        let unique = self.schema()?.column_in_any_case(name).is_ok();
        Ok(Some(name.to_lowercase()).filter(|lower| unique && lower != name))
    }
}

impl MetadataTable {
    /// As [`Table::columns`].
    pub fn columns(&self) -> Result<RecordBatch> {
        self.schema().columns()
    }
}

impl Schema {
    fn columns(&self) -> Result<RecordBatch> {
        let fields = &self.fields;
        let text = |of: &dyn Fn(usize) -> Option<String>| -> ArrayRef {
            Arc::new(StringArray::from_iter((0..fields.len()).map(of)))
        };
        let nullable = fields
            .iter()
            .map(|field| Some(!field.required))
            .collect::<BooleanArray>();
        let ids = fields
            .iter()
            .map(|field| Some(field.id))
            .collect::<Int32Array>();
        let columns: [(&str, ArrayRef); 5] = [
            (
                "column",
                text(&|row| fields.get(row).map(|field| field.name.clone())),
            ),
            (
                "type",
                text(&|row| fields.get(row).map(|field| field.ty.to_string())),
            ),
            ("nullable", Arc::new(nullable)),
            ("field_id", Arc::new(ids)),
            (
                "doc",
                text(&|row| fields.get(row).and_then(|field| field.doc.clone())),
            ),
        ];
        Ok(RecordBatch::try_from_iter_with_nullable(
            columns
                .into_iter()
                .map(|(name, column)| (name, column, true)),
        )?)
    }
}
