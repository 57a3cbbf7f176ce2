//! CSV: a header and one line a row. NULL is empty, the empty string `""`.

use arrow::array::RecordBatch;
use arrow::datatypes::Schema;
use benostreamdb::Result;

use super::{Writer, cell};

pub(super) struct CsvWriter;

impl Writer for CsvWriter {
    fn begin(&mut self, schema: &Schema) -> String {
        let names: Vec<String> = schema
            .fields()
            .iter()
            .map(|field| quoted(field.name()))
            .collect();
        names.join(",") + "\n"
    }

    fn rows(&mut self, batch: &RecordBatch) -> Result<String> {
        let schema = batch.schema();
        let mut text = String::new();
        for row in 0..batch.num_rows() {
            for (index, (field, column)) in schema.fields().iter().zip(batch.columns()).enumerate()
            {
                if index > 0 {
                    text.push(',');
                }
                if let Some(value) = cell::plain(column, field, row)? {
                    text.push_str(&quoted(&value));
                }
            }
            text.push('\n');
        }
        Ok(text)
    }

    fn end(&mut self) -> String {
        String::new()
    }
}

fn quoted(value: &str) -> String {
    let plain = !value.is_empty()
        && !value.contains([',', '"', '\n', '\r'])
        && !value.starts_with(char::is_whitespace)
        && !value.ends_with(char::is_whitespace);
    if plain {
        value.to_string()
    } else {
        format!("\"{}\"", value.replace('"', "\"\""))
    }
}
