//! From the planner's errors to ours: the kind tells the caller what to do, and an unknown column names the
//! column that was probably meant, quoted where it needs quotes.

use arrow::error::ArrowError;
use datafusion::common::{Column, SchemaError};
use datafusion::error::DataFusionError;

use crate::error::Error;

/// Converts an error of planning or running a query.
pub(crate) fn explain_error(error: DataFusionError) -> Error {
    match error {
        DataFusionError::Context(_, inner) | DataFusionError::Diagnostic(_, inner) => {
            explain_error(*inner)
        }
        DataFusionError::Shared(shared) => match std::sync::Arc::try_unwrap(shared) {
            Ok(inner) => explain_error(inner),
            Err(shared) => repeat(&shared),
        },
        DataFusionError::Collection(errors) => match errors.into_iter().next() {
            Some(first) => explain_error(first),
            None => Error::internal("query failed without an error"),
        },
        DataFusionError::SchemaError(inner, _) => explain_schema_error(*inner),
        DataFusionError::ArrowError(inner, _) => explain_arrow_error(*inner),
        other => Error::from(other),
    }
}

/// An error that several partitions share.
fn repeat(error: &DataFusionError) -> Error {
    match error.find_root() {
        DataFusionError::External(inner) => match inner.downcast_ref::<Error>() {
            Some(own) => Error::new(own.kind(), own.message()),
            None => Error::internal(format!("query: {inner}")),
        },
        DataFusionError::ResourcesExhausted(text) => Error::resource_exhausted(text.clone()),
        DataFusionError::ArrowError(inner, _) => Error::invalid_input(inner.to_string()),
        DataFusionError::Execution(text) | DataFusionError::Plan(text) => {
            Error::invalid_input(text.clone())
        }
        other => Error::internal(format!("query: {other}")),
    }
}

fn explain_arrow_error(error: ArrowError) -> Error {
    match error {
        ArrowError::DivideByZero => Error::invalid_input("division by zero"),
        ArrowError::ArithmeticOverflow(text)
        | ArrowError::CastError(text)
        | ArrowError::ParseError(text)
        | ArrowError::ComputeError(text)
        | ArrowError::InvalidArgumentError(text) => Error::invalid_input(text),
        other => Error::from(other),
    }
}

fn explain_schema_error(error: SchemaError) -> Error {
    match error {
        SchemaError::FieldNotFound {
            field,
            valid_fields,
        } => {
            let hint = suggest(&field, &valid_fields)
                .map(|text| format!(", did you mean {text}?"))
                .unwrap_or_default();
            Error::invalid_input(format!("column {} does not exist{hint}", shown(&field)))
        }
        SchemaError::AmbiguousReference { field } => {
            Error::invalid_input(format!("column {} is ambiguous", shown(&field)))
        }
        SchemaError::DuplicateQualifiedField { name, .. }
        | SchemaError::DuplicateUnqualifiedField { name } => {
            Error::invalid_input(format!("column {name} appears twice"))
        }
    }
}

fn shown(column: &Column) -> String {
    match &column.relation {
        Some(relation) => format!("{relation}.{}", quoted(&column.name)),
        None => quoted(&column.name),
    }
}

/// A name as it must be typed.
pub(super) fn quoted(name: &str) -> String {
    let plain = name
        .chars()
        .next()
        .is_some_and(|c| c.is_ascii_lowercase() || c == '_')
        && name
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    if plain {
        name.to_string()
    } else {
        format!("\"{}\"", name.replace('"', "\"\""))
    }
}

/// The column that differs by case only, else the nearest within a third of the name's length.
fn suggest(missing: &Column, known: &[Column]) -> Option<String> {
    let same_relation =
        |column: &&Column| missing.relation.is_none() || column.relation == missing.relation;
    let names = known.iter().filter(same_relation);
    nearest(&missing.name, names.map(|column| column.name.as_str())).map(quoted)
}

/// The name nearest to what was typed, within a third of its length.
pub(super) fn nearest<'a>(typed: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = typed.to_lowercase();
    let limit = (wanted.chars().count() / 3).max(1);
    let far = |name: &&str| distance(&wanted, &name.to_lowercase());
    known.min_by_key(far).filter(|name| far(name) <= limit)
}

/// Levenshtein's distance; names longer than 64 characters are cut.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().take(64).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().take(64).enumerate() {
        let mut previous = i;
        let mut left = i + 1;
        let mut next = Vec::with_capacity(row.len());
        next.push(left);
        for (y, above) in b.iter().zip(row.iter().skip(1)) {
            let replaced = previous + usize::from(x != *y);
            left = replaced.min(above + 1).min(left + 1);
            previous = *above;
            next.push(left);
        }
        row = next;
    }
    row.last().copied().unwrap_or(0)
}
