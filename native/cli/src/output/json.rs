//! One JSON object a line, keys in column order.

use arrow::array::RecordBatch;
use arrow::datatypes::Schema;
use benostreamdb::Result;

use super::{Writer, cell};

pub(super) struct JsonWriter;

impl Writer for JsonWriter {
    fn begin(&mut self, _: &Schema) -> String {
        String::new()
    }

    fn rows(&mut self, batch: &RecordBatch) -> Result<String> {
        let schema = batch.schema();
        let mut text = String::new();
        for row in 0..batch.num_rows() {
            text.push('{');
            for (index, (field, column)) in schema.fields().iter().zip(batch.columns()).enumerate()
            {
                if index > 0 {
                    text.push(',');
                }
                cell::string(field.name(), &mut text);
                text.push(':');
                cell::json(column, field, row, &mut text)?;
            }
            text.push_str("}\n");
        }
        Ok(text)
    }

    fn end(&mut self) -> String {
        String::new()
    }
}
