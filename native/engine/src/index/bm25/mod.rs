//! The index kind `bm25`: full text over one string column, in postings of our own. Statistics are those of the
//! live rows of the whole table, gathered before anyone scores; rows without index are scored by `TextScorer`, with
//! the same terms, the same formula and the same order of additions, so that an index never changes an answer.
//! Knows no table and opens no store.

mod analyzer;
mod bits;
mod builder;
mod format;
mod hull;
mod porter;
mod reader;
mod score;
mod search;
mod vocabulary;
mod words;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::datatypes::{DataType, FieldRef};

use crate::error::{Error, Result};
use crate::iceberg::schema::type_name;

use super::{Blob, IndexBuilder, IndexDefinition, IndexKind, OpenIndex, TextQuery};

pub use analyzer::Analyzer;
pub use format::BLOB_KIND;
pub use score::{StatisticsCollector, TextScorer};

/// The kind.
pub struct Bm25;

/// The parameters of a text index, or of a search without one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bm25Parameters {
    /// Turns rows and queries into terms.
    pub analyzer: Analyzer,
    /// Term saturation, 0 to 1000.
    pub k1: f64,
    /// Length normalisation, 0 to 1.
    pub b: f64,
}

impl Default for Bm25Parameters {
    fn default() -> Bm25Parameters {
        Bm25Parameters {
            analyzer: Analyzer::Standard,
            k1: 1.2,
            b: 0.75,
        }
    }
}

impl Bm25Parameters {
    /// Reads parameters as users write them; what is absent has its default. Errors: InvalidInput that lists what is known.
    pub fn parse(parameters: &BTreeMap<String, String>) -> Result<Bm25Parameters> {
        let mut parsed = Bm25Parameters::default();
        for (key, value) in parameters {
            match key.as_str() {
                "analyzer" => parsed.analyzer = Analyzer::by_name(value)?,
                "k1" => parsed.k1 = number(key, value)?,
                "b" => parsed.b = number(key, value)?,
                _ => {
                    return Err(Error::invalid_input(format!(
                        "unknown bm25 parameter `{key}`, known are: analyzer, b, k1"
                    )));
                }
            }
        }
        score::check_parameters(parsed.k1, parsed.b)?;
        Ok(parsed)
    }

    /// Analyses a query; `all` asks for rows that hold every term.
    pub fn query(&self, text: &str, all: bool) -> TextQuery {
        TextQuery {
            terms: self.analyzer.terms(text),
            all,
            k1: self.k1,
            b: self.b,
        }
    }

    fn to_map(self) -> BTreeMap<String, String> {
        let pairs = [
            ("analyzer", self.analyzer.name().to_owned()),
            ("k1", self.k1.to_string()),
            ("b", self.b.to_string()),
        ];
        pairs
            .into_iter()
            .map(|(key, value)| (key.to_owned(), value))
            .collect()
    }
}

fn number(key: &str, value: &str) -> Result<f64> {
    value.trim().parse().map_err(|_| {
        Error::invalid_input(format!(
            "bm25 parameter {key} must be a number, is `{value}`"
        ))
    })
}

impl IndexKind for Bm25 {
    fn name(&self) -> &'static str {
        "bm25"
    }

    fn resolve(
        &self,
        fields: &[FieldRef],
        parameters: &BTreeMap<String, String>,
    ) -> Result<BTreeMap<String, String>> {
        match fields {
            [field] if *field.data_type() == DataType::Utf8 => {
                Ok(Bm25Parameters::parse(parameters)?.to_map())
            }
            [field] => {
                let message = format!(
                    "bm25 indexes string columns, `{}` is {}",
                    field.name(),
                    type_name(field.data_type())
                );
                Err(Error::invalid_input(message))
            }
            _ => Err(Error::invalid_input(format!(
                "bm25 indexes exactly one column, {} are given",
                fields.len()
            ))),
        }
    }

    fn builder(
        &self,
        definition: &IndexDefinition,
        fields: &[FieldRef],
    ) -> Result<Box<dyn IndexBuilder>> {
        let parameters = self.resolve(fields, &definition.parameters)?;
        Ok(Box::new(builder::Bm25Builder::new(
            Bm25Parameters::parse(&parameters)?.analyzer,
        )))
    }

    fn open(&self, _definition: &IndexDefinition, blobs: &[Blob], rows: u32) -> Result<OpenIndex> {
        match blobs {
            [blob] if blob.kind == BLOB_KIND => Ok(OpenIndex::Text(Arc::new(
                reader::Segment::open(blob.data.clone(), rows)?,
            ))),
            [blob] => Err(Error::unsupported(format!(
                "bm25 segment of type `{}`, known is {BLOB_KIND}",
                blob.kind
            ))),
            _ => Err(format::damaged("list of blobs")),
        }
    }
}
