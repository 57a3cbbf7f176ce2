//! Whether a file may hold a row for which a predicate is true, from its statistics or its partition alone.
//! Every leaf gives the truth values that its rows may have; what is unknown may be anything. Bounds leave out
//! NaN, so NaN may be there unless it is counted as zero; -0.0 and 0.0 are one value.

mod parquet;
mod partition;
#[cfg(test)]
mod tests;

use std::cmp::Ordering;
use std::collections::BTreeMap;

pub use parquet::matching_rows;
pub use partition::{may_match_manifest, may_match_partition};

use super::manifest::DataFile;
use super::predicate::{CompareOp, MatchOp, Predicate, reserved};
use super::schema::{Field, Schema, Type};
use super::transform;
use super::value::{self, Value};

/// Predicates deeper than this prune nothing.
const MAX_DEPTH: usize = 512;

/// False only if the predicate is true for no row of the file.
pub fn may_match(predicate: &Predicate, file: &DataFile, schema: &Schema) -> bool {
    let facts = |column| Statistics::of(column, file, schema);
    file.record_count > 0 && outcomes(predicate, &facts, 0).truthy
}

/// Which truth values may occur.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Outcomes {
    truthy: bool,
    falsy: bool,
    null: bool,
}

impl Outcomes {
    const ANY: Outcomes = Outcomes {
        truthy: true,
        falsy: true,
        null: true,
    };
    const NONE: Outcomes = Outcomes {
        truthy: false,
        falsy: false,
        null: false,
    };

    fn of(truth: bool) -> Outcomes {
        Outcomes {
            truthy: truth,
            falsy: !truth,
            null: false,
        }
    }

    fn union(self, other: Outcomes) -> Outcomes {
        Outcomes {
            truthy: self.truthy || other.truthy,
            falsy: self.falsy || other.falsy,
            null: self.null || other.null,
        }
    }
}

/// The truth values of a predicate over rows of which `facts` says what it knows by column.
fn outcomes(
    predicate: &Predicate,
    facts: &dyn Fn(i32) -> Option<Statistics>,
    depth: usize,
) -> Outcomes {
    if depth > MAX_DEPTH {
        return Outcomes::ANY;
    }
    let of = |part: &Predicate| outcomes(part, facts, depth + 1);
    match predicate {
        Predicate::Constant(Some(truth)) => Outcomes::of(*truth),
        Predicate::Constant(None) => Outcomes {
            null: true,
            ..Outcomes::NONE
        },
        Predicate::And(parts) => parts
            .iter()
            .map(of)
            .fold(Outcomes::of(true), |a, b| Outcomes {
                truthy: a.truthy && b.truthy,
                falsy: a.falsy || b.falsy,
                null: a.null || b.null,
            }),
        Predicate::Or(parts) => parts
            .iter()
            .map(of)
            .fold(Outcomes::of(false), |a, b| Outcomes {
                truthy: a.truthy || b.truthy,
                falsy: a.falsy && b.falsy,
                null: a.null || b.null,
            }),
        Predicate::Not(inner) => {
            let inner = of(inner);
            Outcomes {
                truthy: inner.falsy,
                falsy: inner.truthy,
                null: inner.null,
            }
        }
        Predicate::Compare { column, .. }
        | Predicate::NullSafeEq { column, .. }
        | Predicate::In { column, .. }
        | Predicate::IsNull { column }
        | Predicate::IsNan { column }
        | Predicate::Match { column, .. } => {
            facts(*column).map_or(Outcomes::ANY, |c| c.leaf(predicate))
        }
    }
}

/// What is known of one column in all rows that are judged together.
#[derive(Clone, Debug)]
struct Statistics {
    ty: Type,
    may_be_null: bool,
    may_be_value: bool,
    /// NaN may occur.
    may_be_nan: bool,
    /// A value other than NaN may occur.
    may_be_number: bool,
    lower: Option<Value>,
    upper: Option<Value>,
    /// By number of buckets: the least and greatest bucket that values fall into.
    buckets: BTreeMap<u32, (i32, i32)>,
}

impl Statistics {
    /// None for a column of which nothing may be concluded.
    fn of(id: i32, file: &DataFile, schema: &Schema) -> Option<Statistics> {
        match id {
            reserved::FILE => {
                return Some(Statistics::exact(
                    Type::String,
                    [
                        Value::String(file.path.clone()),
                        Value::String(file.path.clone()),
                    ],
                ));
            }
            reserved::POS => {
                let last = i64::try_from(file.record_count).ok()?.checked_sub(1)?;
                return Some(Statistics::exact(
                    Type::Long,
                    [Value::Long(0), Value::Long(last)],
                ));
            }
            reserved::SPEC_ID => {
                return Some(Statistics::exact(
                    Type::Int,
                    [Value::Int(file.spec_id), Value::Int(file.spec_id)],
                ));
            }
            _ => {}
        }
        // Counts of fields inside lists and maps do not count rows.
        let field = row_field(&schema.fields, id)?;
        let rows = i64::try_from(file.record_count).ok();
        let values = file
            .value_counts
            .get(id)
            .filter(|count| Some(*count) == rows);
        let nulls = file.null_value_counts.get(id);
        let nans = file.nan_value_counts.get(id);
        let is_float = matches!(field.ty, Type::Float | Type::Double);
        // A file that lacks the column holds its default in every row, whatever its writer counted.
        let all_null = field.initial_default.is_none() && values.is_some() && values == nulls;
        let all_nan = is_float
            && nans.is_some()
            && values.zip(nulls).map(|(v, n)| v.saturating_sub(n)) == nans;
        let bound = |bytes: Option<Vec<u8>>| {
            bytes
                .and_then(|b| value::decode(&field.ty, &b))
                .filter(|v| !v.is_nan())
        };
        Some(Statistics {
            ty: field.ty.clone(),
            may_be_null: nulls != Some(0),
            may_be_value: !all_null,
            may_be_nan: is_float && !all_null && nans != Some(0),
            may_be_number: !all_null && !all_nan,
            lower: bound(file.lower_bounds.get(id)),
            upper: bound(file.upper_bounds.get(id)),
            buckets: BTreeMap::new(),
        })
    }

    fn exact(ty: Type, [lower, upper]: [Value; 2]) -> Statistics {
        Statistics {
            ty,
            may_be_null: false,
            may_be_value: true,
            may_be_nan: false,
            may_be_number: true,
            lower: Some(lower),
            upper: Some(upper),
            buckets: BTreeMap::new(),
        }
    }

    /// The outcomes of a leaf on this column.
    fn leaf(&self, predicate: &Predicate) -> Outcomes {
        match predicate {
            Predicate::Compare { op, value, .. } => self.compare(*op, value).union(self.nulls()),
            Predicate::IsNull { .. } | Predicate::NullSafeEq { value: None, .. } => Outcomes {
                truthy: self.may_be_null,
                falsy: self.may_be_value,
                null: false,
            },
            Predicate::NullSafeEq {
                value: Some(value), ..
            } => {
                let hit = self.compare(CompareOp::Eq, value);
                Outcomes {
                    falsy: hit.falsy || self.may_be_null,
                    ..hit
                }
            }
            Predicate::In {
                values, has_null, ..
            } => self.is_in(values, *has_null).union(self.nulls()),
            Predicate::IsNan { .. } => Outcomes {
                truthy: self.may_be_nan,
                falsy: self.may_be_number,
                null: self.may_be_null,
            },
            Predicate::Match { op, pattern, .. } => self.matches(*op, pattern).union(self.nulls()),
            Predicate::Constant(_) | Predicate::And(_) | Predicate::Or(_) | Predicate::Not(_) => {
                Outcomes::ANY
            }
        }
    }

    fn nulls(&self) -> Outcomes {
        Outcomes {
            null: self.may_be_null,
            ..Outcomes::NONE
        }
    }

    /// The outcomes of `value op literal` over the values that are not NULL.
    fn compare(&self, op: CompareOp, literal: &Value) -> Outcomes {
        let Some(literal) = literal.coerce(&self.ty) else {
            return Outcomes::ANY;
        };
        let mut result = Outcomes::NONE;
        if self.may_be_nan {
            result = result.union(Outcomes::of(holds(
                op,
                if literal.is_nan() {
                    Ordering::Equal
                } else {
                    Ordering::Greater
                },
            )));
        }
        if self.may_be_number {
            result = result.union(match literal.is_nan() {
                true => Outcomes::of(holds(op, Ordering::Less)),
                false => self.compare_numbers(op, &literal),
            });
        }
        result
    }

    fn compare_numbers(&self, op: CompareOp, literal: &Value) -> Outcomes {
        let plain = self.compare_in_order(op, literal, order);
        match self.ty {
            // Older Java writers ordered uuids as two signed longs: a file is out only by both orders.
            Type::Uuid => plain.union(self.compare_in_order(op, literal, signed_uuid_order)),
            _ => plain,
        }
    }

    fn compare_in_order(
        &self,
        op: CompareOp,
        literal: &Value,
        order: fn(&Value, &Value) -> Option<Ordering>,
    ) -> Outcomes {
        let of = |bound: &Option<Value>| bound.as_ref().and_then(|b| order(b, literal));
        let (lower, upper) = (of(&self.lower), of(&self.upper));
        let may_be_less = lower.is_none_or(Ordering::is_lt);
        let may_be_greater = upper.is_none_or(Ordering::is_gt);
        let may_be_equal = lower.is_none_or(Ordering::is_le)
            && upper.is_none_or(Ordering::is_ge)
            && self.may_be_in_bucket_of(literal);
        let possible = [
            (may_be_less, Ordering::Less),
            (may_be_equal, Ordering::Equal),
            (may_be_greater, Ordering::Greater),
        ];
        possible
            .into_iter()
            .filter(|(possible, _)| *possible)
            .fold(Outcomes::NONE, |result, (_, ordering)| {
                result.union(Outcomes::of(holds(op, ordering)))
            })
    }

    fn may_be_in_bucket_of(&self, literal: &Value) -> bool {
        self.buckets.iter().all(|(count, (first, last))| {
            transform::bucket(literal, *count).is_none_or(|b| (*first..=*last).contains(&b))
        })
    }

    fn is_in(&self, values: &[Value], has_null: bool) -> Outcomes {
        let hits = values.iter().map(|v| self.compare(CompareOp::Eq, v));
        let (truthy, miss) = hits.fold((false, self.may_be_value), |(t, miss), hit| {
            (t || hit.truthy, miss && hit.falsy)
        });
        Outcomes {
            truthy,
            falsy: miss && !has_null,
            null: miss && has_null,
        }
    }

    fn matches(&self, op: MatchOp, pattern: &str) -> Outcomes {
        let prefix = |bound: &Option<Value>| match bound {
            Some(Value::String(s)) if op == MatchOp::StartsWith => {
                let cut = s.as_bytes().get(..pattern.len()).unwrap_or(s.as_bytes());
                Some(cut.cmp(pattern.as_bytes()))
            }
            _ => None,
        };
        let below = prefix(&self.lower).is_none_or(Ordering::is_le);
        let above = prefix(&self.upper).is_none_or(Ordering::is_ge);
        Outcomes {
            truthy: self.may_be_value && below && above,
            falsy: self.may_be_value,
            null: false,
        }
    }
}

fn holds(op: CompareOp, ordering: Ordering) -> bool {
    match op {
        CompareOp::Eq => ordering.is_eq(),
        CompareOp::NotEq => ordering.is_ne(),
        CompareOp::Lt => ordering.is_lt(),
        CompareOp::LtEq => ordering.is_le(),
        CompareOp::Gt => ordering.is_gt(),
        CompareOp::GtEq => ordering.is_ge(),
    }
}

/// The order that rows are compared in, NaN aside.
fn order(a: &Value, b: &Value) -> Option<Ordering> {
    match (a, b) {
        (Value::Float(a), Value::Float(b)) => a.partial_cmp(b),
        (Value::Double(a), Value::Double(b)) => a.partial_cmp(b),
        _ => a.bound_cmp(b),
    }
}

fn signed_uuid_order(a: &Value, b: &Value) -> Option<Ordering> {
    let halves = |v: &Value| match v {
        Value::Uuid(bytes) => {
            let (high, low) = bytes.split_first_chunk::<8>()?;
            Some((
                i64::from_be_bytes(*high),
                i64::from_be_bytes(low.try_into().ok()?),
            ))
        }
        _ => None,
    };
    Some(halves(a)?.cmp(&halves(b)?))
}

/// The field with this id, unless it is inside a list or map.
fn row_field(fields: &[Field], id: i32) -> Option<&Field> {
    fields.iter().find_map(|field| match &field.ty {
        _ if field.id == id => Some(field).filter(|f| f.ty.is_primitive()),
        Type::Struct(members) => row_field(members, id),
        _ => None,
    })
}
