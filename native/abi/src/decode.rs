//! Requests as the engine wants them: names, columns, filters, scans. Whatever a message may hold is
//! checked here; what the table says about it is the engine's business.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Fields, Schema, TimeUnit};
use benostreamdb::{
    CompareOp, DOC_KEY, Environment, Error, FileWindow, MatchOp, Metric, NullDistance, Predicate,
    RangeRows, Result, ScanRequest, SearchMode, SearchRequest, SnapshotRange, TableRef, TextSearch,
    Value, VectorSearch,
};

use crate::wire::{
    self, column_type, compare, filter, r#match as matches, scan_request, value, vector_search,
};

/// Types nest no deeper than the engine reads.
const MAX_DEPTH: usize = 64;
const UUID_BYTES: i32 = 16;

fn missing(what: &str) -> Error {
    Error::invalid_input(format!("the request has no {what}"))
}

/// A table by name or location.
pub(crate) fn table_ref(
    name: Option<&wire::TableName>,
    environment: &Environment,
) -> Result<TableRef> {
    let name = name.ok_or_else(|| missing("table"))?;
    if !name.location.is_empty() {
        return Ok(TableRef::Location(
            environment.storage().resolve(&name.location)?,
        ));
    }
    if name.name.is_empty() {
        return Err(Error::invalid_input("a table name is empty"));
    }
    if name.namespace.is_empty() {
        return Ok(TableRef::in_default(name.name.clone()));
    }
    Ok(TableRef::Name {
        namespace: name.namespace.clone(),
        name: name.name.clone(),
    })
}

/// The columns of a new table.
pub(crate) fn columns(columns: &[wire::Column]) -> Result<Schema> {
    Ok(Schema::new(fields(columns, 0)?))
}

fn fields(columns: &[wire::Column], depth: usize) -> Result<Fields> {
    columns.iter().map(|column| field(column, depth)).collect()
}

fn field(column: &wire::Column, depth: usize) -> Result<Field> {
    let name = &column.name;
    if depth > MAX_DEPTH {
        return Err(Error::invalid_input(format!(
            "column {name} nests deeper than {MAX_DEPTH}"
        )));
    }
    let of = column
        .r#type
        .as_ref()
        .ok_or_else(|| Error::invalid_input(format!("column {name} has no type")))?;
    let mut metadata = HashMap::new();
    if of.kind() == column_type::Kind::Uuid {
        metadata.insert("ARROW:extension:name".to_owned(), "arrow.uuid".to_owned());
    }
    if let Some(doc) = &column.doc {
        metadata.insert(DOC_KEY.to_owned(), doc.clone());
    }
    Ok(Field::new(name, data_type(of, name, depth)?, !column.required).with_metadata(metadata))
}

fn data_type(of: &wire::ColumnType, column: &str, depth: usize) -> Result<DataType> {
    use column_type::Kind;
    let invalid = |what: &str| Error::invalid_input(format!("column {column} has {what}"));
    Ok(match of.kind() {
        Kind::Boolean => DataType::Boolean,
        Kind::Int => DataType::Int32,
        Kind::Long => DataType::Int64,
        Kind::Float => DataType::Float32,
        Kind::Double => DataType::Float64,
        Kind::Decimal => decimal(of).ok_or_else(|| invalid("a decimal that is too wide"))?,
        Kind::Date => DataType::Date32,
        Kind::Time => DataType::Time64(TimeUnit::Microsecond),
        Kind::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, None),
        Kind::Timestamptz => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
        Kind::String => DataType::Utf8,
        Kind::Uuid => DataType::FixedSizeBinary(UUID_BYTES),
        Kind::Fixed if of.precision < 1 => return Err(invalid("a fixed type without length")),
        Kind::Fixed => DataType::FixedSizeBinary(of.precision),
        Kind::Binary => DataType::Binary,
        Kind::Struct => DataType::Struct(fields(&of.children, depth + 1)?),
        Kind::List | Kind::Map => nested(of, column, depth)?,
        Kind::Unknown | Kind::Unspecified => {
            return Err(Error::unsupported(format!(
                "column {column} has the unknown type '{}'",
                of.text
            )));
        }
    })
}

fn decimal(of: &wire::ColumnType) -> Option<DataType> {
    let precision = u8::try_from(of.precision)
        .ok()
        .filter(|precision| (1..=38).contains(precision))?;
    let scale = i8::try_from(of.scale)
        .ok()
        .filter(|scale| (0..=of.precision).contains(&i32::from(*scale)))?;
    Some(DataType::Decimal128(precision, scale))
}

fn nested(of: &wire::ColumnType, column: &str, depth: usize) -> Result<DataType> {
    match (of.kind(), of.children.as_slice()) {
        (column_type::Kind::List, [element]) => {
            Ok(DataType::List(Arc::new(field(element, depth + 1)?)))
        }
        (column_type::Kind::Map, [key, value]) => {
            let key = field(key, depth + 1)?.with_name("key").with_nullable(false);
            let entries = vec![key, field(value, depth + 1)?.with_name("value")];
            Ok(DataType::Map(
                Arc::new(Field::new(
                    "key_value",
                    DataType::Struct(entries.into()),
                    false,
                )),
                false,
            ))
        }
        (_, children) => {
            let count = children.len();
            Err(Error::invalid_input(format!(
                "column {column} has a nested type with {count} parts"
            )))
        }
    }
}

/// A filter over field ids.
pub(crate) fn predicate(message: wire::Filter) -> Result<Predicate> {
    use filter::Filter;
    Ok(match message.filter.ok_or_else(|| missing("filter"))? {
        Filter::Constant(constant) => Predicate::Constant(constant.value),
        Filter::And(list) => Predicate::And(predicates(list)?),
        Filter::Or(list) => Predicate::Or(predicates(list)?),
        Filter::Not(inner) => Predicate::Not(Box::new(predicate(*inner)?)),
        Filter::Compare(leaf) => Predicate::Compare {
            column: leaf.column,
            op: compare_op(leaf.op())?,
            value: literal(leaf.value)?,
        },
        Filter::NullSafeEq(leaf) => {
            let value = leaf.value.map(|value| literal(Some(value))).transpose()?;
            Predicate::NullSafeEq {
                column: leaf.column,
                value,
            }
        }
        Filter::In(leaf) => {
            let values = leaf
                .values
                .into_iter()
                .map(|value| literal(Some(value)))
                .collect::<Result<_>>()?;
            Predicate::In {
                column: leaf.column,
                values,
                has_null: leaf.has_null,
            }
        }
        Filter::IsNull(column) => Predicate::IsNull { column },
        Filter::IsNan(column) => Predicate::IsNan { column },
        Filter::Match(leaf) => Predicate::Match {
            column: leaf.column,
            op: match_op(leaf.op())?,
            pattern: leaf.pattern,
        },
    })
}

fn predicates(list: wire::Filters) -> Result<Vec<Predicate>> {
    list.filters.into_iter().map(predicate).collect()
}

fn compare_op(op: compare::Op) -> Result<CompareOp> {
    match op {
        compare::Op::Eq => Ok(CompareOp::Eq),
        compare::Op::NotEq => Ok(CompareOp::NotEq),
        compare::Op::Lt => Ok(CompareOp::Lt),
        compare::Op::LtEq => Ok(CompareOp::LtEq),
        compare::Op::Gt => Ok(CompareOp::Gt),
        compare::Op::GtEq => Ok(CompareOp::GtEq),
        compare::Op::Unspecified => Err(missing("comparison operator")),
    }
}

fn match_op(op: matches::Op) -> Result<MatchOp> {
    match op {
        matches::Op::StartsWith => Ok(MatchOp::StartsWith),
        matches::Op::EndsWith => Ok(MatchOp::EndsWith),
        matches::Op::Contains => Ok(MatchOp::Contains),
        matches::Op::Unspecified => Err(missing("match operator")),
    }
}

fn literal(message: Option<wire::Value>) -> Result<Value> {
    use value::Value as Wire;
    Ok(
        match message
            .and_then(|message| message.value)
            .ok_or_else(|| missing("literal"))?
        {
            Wire::Boolean(value) => Value::Boolean(value),
            Wire::Int(value) => Value::Int(value),
            Wire::Long(value) => Value::Long(value),
            Wire::FloatBits(bits) => Value::Float(f32::from_bits(bits)),
            Wire::DoubleBits(bits) => Value::Double(f64::from_bits(bits)),
            Wire::Decimal(decimal) => decimal_value(&decimal)?,
            Wire::DateDays(days) => Value::Date(days),
            Wire::TimeMicros(micros) => Value::Time(micros),
            Wire::TimestampMicros(micros) => Value::Timestamp(micros),
            Wire::TimestamptzMicros(micros) => Value::TimestampTz(micros),
            Wire::String(value) => Value::String(value),
            Wire::Uuid(bytes) => {
                let bytes = bytes
                    .try_into()
                    .map_err(|_| Error::invalid_input("a uuid literal is not of 16 bytes"))?;
                Value::Uuid(bytes)
            }
            Wire::Fixed(bytes) => Value::Fixed(bytes),
            Wire::Binary(bytes) => Value::Binary(bytes),
        },
    )
}

fn decimal_value(decimal: &wire::Decimal) -> Result<Value> {
    let invalid = || Error::invalid_input("a decimal literal is not of 1 to 38 digits");
    let digit_limit = |value: u32| {
        u8::try_from(value)
            .ok()
            .filter(|value| *value <= 38)
            .ok_or_else(invalid)
    };
    let first = decimal.unscaled.first().ok_or_else(invalid)?;
    let mut bytes = [if first.cast_signed() < 0 { u8::MAX } else { 0 }; 16];
    let start = bytes
        .len()
        .checked_sub(decimal.unscaled.len())
        .ok_or_else(invalid)?;
    bytes
        .get_mut(start..)
        .ok_or_else(invalid)?
        .copy_from_slice(&decimal.unscaled);
    Ok(Value::Decimal {
        unscaled: i128::from_be_bytes(bytes),
        precision: digit_limit(decimal.precision)?,
        scale: digit_limit(decimal.scale)?,
    })
}

/// A scan. Metric by default is L2 unless `index_metric` knows better.
pub(crate) fn scan(
    message: wire::ScanRequest,
    index_metric: Option<Metric>,
) -> Result<ScanRequest> {
    let defaults = ScanRequest::default();
    Ok(ScanRequest {
        projection: message.projection.map(|projection| projection.columns),
        conjuncts: message
            .conjuncts
            .into_iter()
            .map(predicate)
            .collect::<Result<_>>()?,
        limit: message.limit,
        range: message.range.map(range).transpose()?,
        search: message
            .search
            .map(|search| self::search(search, index_metric))
            .transpose()?,
        use_indexes: !message.skip_indexes,
        target_split_bytes: message
            .target_split_bytes
            .unwrap_or(defaults.target_split_bytes),
        min_splits: message.min_splits.map_or(Ok(defaults.min_splits), size)?,
        statistics: Vec::new(),
    })
}

fn range(message: wire::SnapshotRange) -> Result<SnapshotRange> {
    Ok(SnapshotRange {
        start_exclusive: message.start_exclusive,
        end_inclusive: message.end_inclusive,
        rows: match message.changes {
            true => RangeRows::Changed,
            false => RangeRows::Appended,
        },
        window: FileWindow {
            skip_first: size(message.skip_first)?,
            take_last: message.take_last.map(size).transpose()?,
        },
    })
}

fn search(message: scan_request::Search, index_metric: Option<Metric>) -> Result<SearchRequest> {
    Ok(match message {
        scan_request::Search::Vector(vector) => SearchRequest::Vector(VectorSearch {
            column: vector.column,
            k: k(vector.k)?,
            metric: metric(vector.metric())
                .or(index_metric)
                .unwrap_or(Metric::L2),
            ef: vector.ef_search.map(size).transpose()?,
            mode: match vector.mode() {
                vector_search::Mode::Balanced => SearchMode::Balanced,
                vector_search::Mode::Exact => SearchMode::Exact,
                vector_search::Mode::Fast => SearchMode::Fast,
            },
            nulls: match vector.nulls() {
                vector_search::Nulls::Drop => NullDistance::Drop,
                vector_search::Nulls::First => NullDistance::First,
                vector_search::Nulls::Last => NullDistance::Last,
            },
            query: vector.query,
        }),
        scan_request::Search::Text(text) => SearchRequest::Text(TextSearch {
            column: text.column,
            k: k(text.k)?,
            query: text.query,
            all: text.all_terms,
            analyzer: text.analyzer,
        }),
    })
}

fn metric(metric: vector_search::Metric) -> Option<Metric> {
    match metric {
        vector_search::Metric::Default => None,
        vector_search::Metric::L2 => Some(Metric::L2),
        vector_search::Metric::Cosine => Some(Metric::Cosine),
        vector_search::Metric::InnerProduct => Some(Metric::InnerProduct),
        vector_search::Metric::L1 => Some(Metric::L1),
    }
}

fn k(k: i64) -> Result<usize> {
    usize::try_from(k).map_err(|_| Error::invalid_input(format!("k is {k}; it must be at least 1")))
}

fn size(value: u32) -> Result<usize> {
    usize::try_from(value).map_err(|_| Error::invalid_input(format!("{value} is too large")))
}
