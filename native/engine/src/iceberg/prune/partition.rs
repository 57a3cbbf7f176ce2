//! What partition tuples, and a manifest list's summaries of them, say about source columns. A transform is
//! turned around: from a range of partition values to the range of source values that fall into it. What does
//! not fit its spec says nothing.

#[cfg(test)]
mod tests;

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::{Statistics, order, outcomes, row_field};
use crate::iceberg::manifest::{DataFile, FieldSummary, ManifestFile, PartitionValue};
use crate::iceberg::metrics::raise_text;
use crate::iceberg::predicate::Predicate;
use crate::iceberg::schema::{Schema, Type};
use crate::iceberg::spec::{PartitionField, PartitionSpec, Transform};
use crate::iceberg::transform::{DAY_US, HOUR_US, US_NS, first_day};
use crate::iceberg::value::{self, Value};

/// The first hour that another one may wrap to: the greatest that 64 bits of microseconds hold, less 2^32.
const HOURS_MAX: i64 = (1 << 32) - i64::MAX / HOUR_US - 1;

/// False only if the predicate is true for no row that can be in the file's partition.
pub fn may_match_partition(
    predicate: &Predicate,
    file: &DataFile,
    spec: &PartitionSpec,
    schema: &Schema,
) -> bool {
    let range_of = |field: &PartitionField, ty: &Type| {
        let (_, stored) = file
            .partition
            .iter()
            .find(|(id, _)| *id == field.field_id)?;
        PartitionRange::of_value(stored.as_ref(), ty)
    };
    let facts = by_column(spec, schema, range_of);
    outcomes(predicate, &|column| facts.get(&column).cloned(), 0).truthy
}

/// False only if the predicate is true for no row that can be in a partition which the manifest list sums up.
pub fn may_match_manifest(
    predicate: &Predicate,
    manifest: &ManifestFile,
    spec: &PartitionSpec,
    schema: &Schema,
) -> bool {
    let summaries = manifest.partitions.as_deref().unwrap_or_default();
    if summaries.len() != spec.fields.len() {
        return true;
    }
    let range_of = |field: &PartitionField, ty: &Type| {
        let at = spec.fields.iter().position(|f| f == field)?;
        Some(PartitionRange::of_summary(summaries.get(at)?, ty))
    };
    let facts = by_column(spec, schema, range_of);
    outcomes(predicate, &|column| facts.get(&column).cloned(), 0).truthy
}

/// What all fields of the spec together say, by source column.
fn by_column(
    spec: &PartitionSpec,
    schema: &Schema,
    range_of: impl Fn(&PartitionField, &Type) -> Option<PartitionRange>,
) -> BTreeMap<i32, Statistics> {
    let mut facts: BTreeMap<i32, Statistics> = BTreeMap::new();
    for field in &spec.fields {
        // A source column may have been dropped since, and one inside a list or map is none of the row.
        let Some(source) = field
            .source_id()
            .and_then(|id| row_field(&schema.fields, id))
        else {
            continue;
        };
        if field.transform == Transform::Void || !field.transform.takes(&source.ty) {
            continue;
        }
        let known = field
            .transform
            .result_type(&source.ty)
            .and_then(|ty| range_of(field, &ty))
            .map(|range| range.of_source(&field.transform, &source.ty));
        match (known, facts.remove(&source.id)) {
            (Some(known), Some(others)) => facts.insert(source.id, others.and(known)),
            (Some(known), None) | (None, Some(known)) => facts.insert(source.id, known),
            (None, None) => None,
        };
    }
    facts
}

/// The partition values of a field that may occur. Every transform gives NULL for NULL and for nothing else.
struct PartitionRange {
    may_be_null: bool,
    may_be_value: bool,
    may_be_nan: bool,
    may_be_number: bool,
    lower: Option<Value>,
    upper: Option<Value>,
}

impl PartitionRange {
    /// None for a value that is none of the type.
    fn of_value(stored: Option<&PartitionValue>, ty: &Type) -> Option<PartitionRange> {
        let value = match stored {
            None => None,
            Some(stored) => Some(stored.to_value(ty)?),
        };
        let is_nan = value.as_ref().is_some_and(Value::is_nan);
        Some(PartitionRange {
            may_be_null: value.is_none(),
            may_be_value: value.is_some(),
            may_be_nan: is_nan,
            may_be_number: value.is_some() && !is_nan,
            lower: value.clone().filter(|_| !is_nan),
            upper: value.filter(|_| !is_nan),
        })
    }

    /// Both bounds are absent where all values are NULL or NaN. Some writers leave them out for other reasons, but
    /// then say that no value is NULL.
    fn of_summary(summary: &FieldSummary, ty: &Type) -> PartitionRange {
        let bound = |bytes: &Option<Vec<u8>>| {
            let bytes = bytes.as_deref()?;
            value::decode(ty, bytes).filter(|v| !v.is_nan())
        };
        let may_be_nan =
            matches!(ty, Type::Float | Type::Double) && summary.contains_nan != Some(false);
        let is_unbounded = summary.lower_bound.is_none() && summary.upper_bound.is_none();
        let all_null = is_unbounded && summary.contains_null && !may_be_nan;
        PartitionRange {
            may_be_null: summary.contains_null,
            may_be_value: !all_null,
            may_be_nan,
            may_be_number: !all_null,
            lower: bound(&summary.lower_bound),
            upper: bound(&summary.upper_bound),
        }
    }

    /// What the source column holds in these partitions.
    fn of_source(self, transform: &Transform, ty: &Type) -> Statistics {
        let mut facts = Statistics {
            ty: ty.clone(),
            may_be_null: self.may_be_null,
            may_be_value: self.may_be_value,
            may_be_nan: self.may_be_nan,
            may_be_number: self.may_be_number,
            lower: None,
            upper: None,
            buckets: BTreeMap::new(),
        };
        match (transform, self.lower, self.upper) {
            (Transform::Identity, lower, upper) => (facts.lower, facts.upper) = (lower, upper),
            (Transform::Bucket(count), Some(Value::Int(first)), Some(Value::Int(last))) => {
                facts.buckets.insert(*count, (first, last));
            }
            (Transform::Truncate(width), lower, upper) => {
                (facts.lower, facts.upper) = untruncated(*width, lower, upper);
            }
            (Transform::Hour, lower, upper) if !counts_hours(lower.as_ref(), upper.as_ref()) => {}
            (
                Transform::Year | Transform::Month | Transform::Day | Transform::Hour,
                lower,
                upper,
            ) => {
                facts.lower = lower.and_then(|v| first_of(transform, ty, &v));
                facts.upper = upper.and_then(|v| last_of(transform, ty, &v));
            }
            _ => {}
        }
        facts
    }
}

impl Statistics {
    /// What is known where both hold.
    fn and(self, other: Statistics) -> Statistics {
        let tighter = |a: Option<Value>, b: Option<Value>, wanted: Ordering| match (a, b) {
            (Some(a), Some(b)) if order(&b, &a) == Some(wanted) => Some(b),
            (Some(a), _) => Some(a),
            (None, b) => b,
        };
        let mut buckets = self.buckets;
        buckets.extend(other.buckets);
        Statistics {
            ty: self.ty,
            may_be_null: self.may_be_null && other.may_be_null,
            may_be_value: self.may_be_value && other.may_be_value,
            may_be_nan: self.may_be_nan && other.may_be_nan,
            may_be_number: self.may_be_number && other.may_be_number,
            lower: tighter(self.lower, other.lower, Ordering::Greater),
            upper: tighter(self.upper, other.upper, Ordering::Less),
            buckets,
        }
    }
}

/// The source values that truncate to values from `lower` to `upper`.
fn untruncated(
    width: u32,
    lower: Option<Value>,
    upper: Option<Value>,
) -> (Option<Value>, Option<Value>) {
    let (Some(lower), Some(upper)) = (lower, upper) else {
        return (None, None);
    };
    match (&lower, &upper) {
        (Value::Int(from), Value::Int(to)) => {
            let narrow = |v: i64| i32::try_from(v).ok().map(Value::Int);
            let (from, to) = integers(width, i64::from(*from), i64::from(*to));
            // Beyond 32 bits means that the column's own limit bounds it.
            (from.and_then(narrow), to.and_then(narrow))
        }
        (Value::Long(from), Value::Long(to)) => {
            let (from, to) = integers(width, *from, *to);
            (from.map(Value::Long), to.map(Value::Long))
        }
        (
            Value::Decimal { unscaled: from, .. },
            Value::Decimal {
                unscaled: to,
                precision,
                scale,
            },
        ) => {
            let width = i128::from(width);
            if from.rem_euclid(width) != 0 || to.rem_euclid(width) != 0 {
                return (None, None);
            }
            let last = to.checked_add(width - 1);
            let last = last.map(|unscaled| Value::Decimal {
                unscaled,
                precision: *precision,
                scale: *scale,
            });
            (Some(lower), last)
        }
        (Value::String(_), Value::String(prefix)) => {
            let whole = usize::try_from(width).is_ok_and(|w| prefix.chars().count() < w);
            let last = if whole {
                Some(prefix.clone())
            } else {
                raise_text(prefix.clone())
            };
            (Some(lower), last.map(Value::String))
        }
        (Value::Binary(_), Value::Binary(prefix)) => {
            let whole = usize::try_from(width).is_ok_and(|w| prefix.len() < w);
            let last = if whole {
                Some(prefix.clone())
            } else {
                raise_bytes(prefix.clone())
            };
            (Some(lower), last.map(Value::Binary))
        }
        _ => (None, None),
    }
}

/// The least bytes that are above all that start so.
fn raise_bytes(mut bytes: Vec<u8>) -> Option<Vec<u8>> {
    while bytes.last() == Some(&u8::MAX) {
        bytes.pop();
    }
    let last = bytes.last_mut()?;
    *last = last.checked_add(1)?;
    Some(bytes)
}

/// Partition values near the greatest integer may be those of the least ones, wrapped (apache/iceberg#9767), in the
/// column's type or in the narrower one that it had once. Values that are no multiple of the width are theirs too.
fn integers(width: u32, from: i64, to: i64) -> (Option<i64>, Option<i64>) {
    let width = i64::from(width);
    let is_multiple = |v: i64| v.rem_euclid(width) == 0;
    if !is_multiple(from) || !is_multiple(to) {
        return (None, None);
    }
    let wraps = |greatest: i64| from != to && to > greatest - width && from <= greatest;
    let lower = if wraps(i64::MAX) {
        None
    } else if wraps(i64::from(i32::MAX)) {
        Some(from.min(i64::from(i32::MIN)))
    } else {
        Some(from)
    };
    (lower, to.checked_add(width - 1))
}

/// Whether hours are what they say. Beyond the year 190,000 there are more than 32 bits hold, and writers wrap them.
fn counts_hours(lower: Option<&Value>, upper: Option<&Value>) -> bool {
    let is_sound = |v: Option<&Value>| v.and_then(unit_number).is_some_and(|h| h.abs() < HOURS_MAX);
    is_sound(lower) && is_sound(upper)
}

/// The number of a calendar unit since 1970.
fn unit_number(value: &Value) -> Option<i64> {
    match value {
        Value::Int(v) | Value::Date(v) => Some(i64::from(*v)),
        _ => None,
    }
}

/// The least value that falls into a calendar unit. Old writers rounded towards 1970 (Java's
/// `ProjectionUtil.fixInclusiveTimeProjection`), so up to 1970 a unit may hold values of the one before.
fn first_of(transform: &Transform, ty: &Type, unit: &Value) -> Option<Value> {
    let unit = unit_number(unit)?;
    let exact = unit > 0 || (*ty == Type::Date && *transform == Transform::Day);
    start(transform, ty, unit - i64::from(!exact))
}

/// The greatest value that falls into a calendar unit.
fn last_of(transform: &Transform, ty: &Type, unit: &Value) -> Option<Value> {
    Some(match start(transform, ty, unit_number(unit)? + 1)? {
        Value::Date(days) => Value::Date(days.checked_sub(1)?),
        Value::Timestamp(us) => Value::Timestamp(us.checked_sub(1)?),
        Value::TimestampTz(us) => Value::TimestampTz(us.checked_sub(1)?),
        Value::TimestampNs(ns) => Value::TimestampNs(ns.checked_sub(1)?),
        Value::TimestampTzNs(ns) => Value::TimestampTzNs(ns.checked_sub(1)?),
        _ => return None,
    })
}

/// The moment at which a calendar unit begins; None where the type does not reach.
fn start(transform: &Transform, ty: &Type, unit: i64) -> Option<Value> {
    let us = match transform {
        Transform::Hour => unit.checked_mul(HOUR_US)?,
        Transform::Day if *ty == Type::Date => return Some(Value::Date(i32::try_from(unit).ok()?)),
        Transform::Day => unit.checked_mul(DAY_US)?,
        Transform::Month | Transform::Year => {
            let months = if *transform == Transform::Year {
                unit * 12
            } else {
                unit
            };
            let days = first_day(months);
            if *ty == Type::Date {
                return Some(Value::Date(i32::try_from(days).ok()?));
            }
            days.checked_mul(DAY_US)?
        }
        _ => return None,
    };
    match ty {
        Type::Timestamp => Some(Value::Timestamp(us)),
        Type::TimestampTz => Some(Value::TimestampTz(us)),
        Type::TimestampNs => Some(Value::TimestampNs(us.checked_mul(US_NS)?)),
        Type::TimestampTzNs => Some(Value::TimestampTzNs(us.checked_mul(US_NS)?)),
        _ => None,
    }
}
