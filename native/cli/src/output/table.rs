//! Aligned columns for reading. Widths follow the first rows; long values and line ends are shortened, which the
//! other formats never do, and which one column alone, such as a plan, does not need.

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, Schema};
use benostreamdb::Result;

use super::{Writer, cell};

/// The widest cell.
const CELL_CHARS_MAX: usize = 60;

#[derive(Default)]
pub(super) struct TableWriter {
    names: Vec<String>,
    numeric: Vec<bool>,
    chars_max: usize,
    widths: Option<Vec<usize>>,
    row_count: u64,
}

impl Writer for TableWriter {
    fn begin(&mut self, schema: &Schema) -> String {
        self.chars_max = match schema.fields().len() {
            1 => usize::MAX,
            _ => CELL_CHARS_MAX,
        };
        self.names = schema
            .fields()
            .iter()
            .map(|field| shorten(field.name(), self.chars_max))
            .collect();
        self.numeric = schema
            .fields()
            .iter()
            .map(|field| is_numeric(field.data_type()))
            .collect();
        String::new()
    }

    fn rows(&mut self, batch: &RecordBatch) -> Result<String> {
        let schema = batch.schema();
        let mut rows = Vec::with_capacity(batch.num_rows());
        for row in 0..batch.num_rows() {
            let cells = schema
                .fields()
                .iter()
                .zip(batch.columns())
                .map(|(field, column)| {
                    let value = cell::plain(column, field, row)?;
                    Ok(value.map_or_else(
                        || "NULL".to_string(),
                        |value| shorten(&value, self.chars_max),
                    ))
                });
            rows.push(cells.collect::<Result<Vec<String>>>()?);
        }
        self.row_count += u64::try_from(rows.len()).unwrap_or(u64::MAX);
        let mut text = self.header(&rows);
        for row in &rows {
            text.push_str(&self.line(row));
        }
        Ok(text)
    }

    fn end(&mut self) -> String {
        let plural = if self.row_count == 1 { "" } else { "s" };
        format!("{}({} row{plural})\n", self.header(&[]), self.row_count)
    }
}

impl TableWriter {
    /// Names and rule, once; the widths fit the rows at hand.
    fn header(&mut self, rows: &[Vec<String>]) -> String {
        if self.widths.is_some() {
            return String::new();
        }
        let widest = |index: usize, name: &String| {
            let cells = rows.iter().filter_map(|row| row.get(index));
            cells
                .map(|cell| cell.chars().count())
                .chain([name.chars().count()])
                .max()
                .unwrap_or(0)
        };
        let widths: Vec<usize> = self
            .names
            .iter()
            .enumerate()
            .map(|(index, name)| widest(index, name))
            .collect();
        let rule: Vec<String> = widths.iter().map(|width| "-".repeat(width + 2)).collect();
        self.widths = Some(widths);
        self.line(&self.names) + &rule.join("+") + "\n"
    }

    fn line(&self, cells: &[String]) -> String {
        let widths = self.widths.as_deref().unwrap_or_default();
        let padded =
            cells.iter().zip(widths).zip(&self.numeric).map(
                |((cell, width), numeric)| match numeric {
                    true => format!(" {cell:>width$} "),
                    false => format!(" {cell:<width$} "),
                },
            );
        let line = padded.collect::<Vec<String>>().join("|");
        format!("{}\n", line.trim_end())
    }
}

fn is_numeric(data_type: &DataType) -> bool {
    data_type.is_numeric()
}

/// One line of at most `chars_max` characters.
fn shorten(value: &str, chars_max: usize) -> String {
    let mut text = String::new();
    for (count, character) in value.chars().enumerate() {
        if count == chars_max {
            text.pop();
            text.push('…');
            break;
        }
        match character {
            '\n' => text.push('↵'),
            control if control.is_control() => text.push(' '),
            other => text.push(other),
        }
    }
    text
}
