//! What `WITH (..)` of a vector graph may say, and its defaults.

use std::collections::BTreeMap;

use arrow::datatypes::{DataType, Field};
use benostream_gpu_ann::Metric;

use crate::error::{Error, Result};
use crate::iceberg::schema::type_name;

const KNOWN: &str = "metric, m, ef_construction, dimension (complexity and quality stand for m and ef_construction)";
/// The longest vector that can be indexed.
pub(super) const MAX_DIMENSION: usize = 65_535;

/// Parameters of a definition, checked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Parameters {
    pub(super) metric: Metric,
    /// Half the neighbours of a node.
    pub(super) m: usize,
    pub(super) ef_construction: usize,
    /// None: that of the first row with a vector.
    pub(super) dimension: Option<usize>,
}

impl Parameters {
    /// Reads what users wrote. Errors: InvalidInput that lists what is known.
    pub(super) fn parse(parameters: &BTreeMap<String, String>) -> Result<Parameters> {
        let mut parsed = Parameters {
            metric: Metric::L2,
            m: 16,
            ef_construction: 200,
            dimension: None,
        };
        let mut seen = Vec::new();
        for (name, value) in parameters {
            let name = match name.as_str() {
                "complexity" => "m",
                "quality" => "ef_construction",
                name => name,
            };
            if seen.contains(&name) {
                return Err(Error::invalid_input(format!(
                    "index parameter {name} is given twice, once under its other name"
                )));
            }
            seen.push(name);
            match name {
                "metric" => parsed.metric = parse_metric(value)?,
                "m" => parsed.m = parse_number(name, value, 2, 128)?,
                "ef_construction" => parsed.ef_construction = parse_number(name, value, 8, 4096)?,
                "dimension" => {
                    parsed.dimension = Some(parse_number(name, value, 1, MAX_DIMENSION)?)
                }
                _ => {
                    return Err(Error::invalid_input(format!(
                        "unknown parameter {name} of index kind hnsw, known: {KNOWN}"
                    )));
                }
            }
        }
        Ok(parsed)
    }

    /// All parameters as text, defaults included.
    pub(super) fn to_map(self) -> BTreeMap<String, String> {
        let mut map = BTreeMap::from([
            ("metric".to_owned(), self.metric.name().to_owned()),
            ("m".to_owned(), self.m.to_string()),
            (
                "ef_construction".to_owned(),
                self.ef_construction.to_string(),
            ),
        ]);
        if let Some(dimension) = self.dimension {
            map.insert("dimension".to_owned(), dimension.to_string());
        }
        map
    }
}

fn parse_metric(value: &str) -> Result<Metric> {
    match Metric::from_name(value) {
        Some(metric @ (Metric::L2 | Metric::Cosine | Metric::InnerProduct)) => Ok(metric),
        _ => Err(Error::invalid_input(format!(
            "unknown metric {value:?} of index kind hnsw, known: l2, cosine, inner_product"
        ))),
    }
}

fn parse_number(name: &str, value: &str, least: usize, most: usize) -> Result<usize> {
    value
        .parse()
        .ok()
        .filter(|number| (least..=most).contains(number))
        .ok_or_else(|| {
            Error::invalid_input(format!(
                "index parameter {name} must be a number from {least} to {most}, not {value:?}"
            ))
        })
}

/// Checks that there is one column and that it holds vectors; gives its fixed dimension if it has one.
pub(super) fn check_column(fields: &[arrow::datatypes::FieldRef]) -> Result<Option<usize>> {
    let [field] = fields else {
        return Err(Error::invalid_input(format!(
            "index kind hnsw takes one column, not {}",
            fields.len()
        )));
    };
    let is_float = |element: &Field| element.data_type() == &DataType::Float32;
    match field.data_type() {
        DataType::List(element) if is_float(element) => Ok(None),
        DataType::FixedSizeList(element, length) if is_float(element) => {
            Ok(usize::try_from(*length).ok())
        }
        other => Err(Error::invalid_input(format!(
            "index kind hnsw takes a column of type list<float>; {} has type {}",
            field.name(),
            type_name(other)
        ))),
    }
}
