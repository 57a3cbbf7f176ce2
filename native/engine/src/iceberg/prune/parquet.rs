//! Which physical rows of a Parquet file may match, from the statistics of its row groups and pages. A file keeps
//! the types it was written with: its bounds are brought to the column's type, or say nothing. Absent, damaged or
//! untrustworthy statistics keep their rows.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::ops::Range;

use parquet::basic::{
    ColumnOrder, ConvertedType, LogicalType, SortOrder, TimeUnit, Type as PhysicalType,
};
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use parquet::file::page_index::column_index::ColumnIndexMetaData;
use parquet::file::statistics::Statistics as ChunkStatistics;
use parquet::schema::types::ColumnDescriptor;
use roaring::RoaringBitmap;

use super::{Statistics, outcomes, row_field};
use crate::iceberg::predicate::{Predicate, reserved};
use crate::iceberg::schema::{Schema, Type};
use crate::iceberg::value::{self, Value};

/// A row group of more pieces than this is kept or dropped as a whole.
const PIECES_MAX: usize = 16_384;

/// The rows of the file for which the predicate may be true, by their physical position; None where that is all of
/// them. Columns are found by the field ids in the file.
pub fn matching_rows(
    predicate: &Predicate,
    metadata: &ParquetMetaData,
    schema: &Schema,
) -> Option<RoaringBitmap> {
    let leaves: BTreeMap<i32, Leaf> = predicate
        .columns()
        .into_iter()
        .filter_map(|id| Some((id, Leaf::find(id, metadata, schema)?)))
        .collect();
    let (mut kept, mut start, mut is_pruned) = (RoaringBitmap::new(), 0u32, false);
    for (number, group) in metadata.row_groups().iter().enumerate() {
        let end = start.checked_add(u32::try_from(group.num_rows()).ok()?)?;
        let group = Group {
            number,
            group,
            metadata,
            rows: start..end,
            leaves: &leaves,
        };
        start = end;
        for (rows, may_match) in group.pieces(predicate) {
            if may_match {
                kept.insert_range(rows);
            } else {
                is_pruned = true;
            }
        }
    }
    is_pruned.then_some(kept)
}

/// A row group and the columns of the predicate in it.
struct Group<'a> {
    number: usize,
    group: &'a RowGroupMetaData,
    metadata: &'a ParquetMetaData,
    /// Its physical rows.
    rows: Range<u32>,
    leaves: &'a BTreeMap<i32, Leaf>,
}

/// The first row of each page, from that of the row group on, and what is known of the page.
type Pages = Vec<(u32, Statistics)>;

impl Group<'_> {
    /// The rows in pieces that lie within one page of each column, and whether the predicate may be true in them.
    fn pieces(&self, predicate: &Predicate) -> Vec<(Range<u32>, bool)> {
        if self.rows.is_empty() {
            return Vec::new();
        }
        let chunks: BTreeMap<i32, Statistics> = self
            .leaves
            .iter()
            .filter_map(|(id, leaf)| Some((*id, self.chunk(leaf)?)))
            .collect();
        let may_match = |rows: &Range<u32>, facts: &dyn Fn(i32) -> Option<Statistics>| {
            let facts = |id| match id {
                reserved::POS => Some(positions(rows)),
                _ => facts(id),
            };
            outcomes(predicate, &facts, 0).truthy
        };
        if !may_match(&self.rows, &|id| chunks.get(&id).cloned()) {
            return vec![(self.rows.clone(), false)];
        }
        let pages: BTreeMap<i32, Pages> = self
            .leaves
            .iter()
            .filter_map(|(id, leaf)| Some((*id, self.pages(leaf)?)))
            .collect();
        let mut starts: Vec<u32> = pages.values().flatten().map(|(row, _)| *row).collect();
        starts.push(self.rows.start);
        starts.sort_unstable();
        starts.dedup();
        if starts.len() > PIECES_MAX {
            return vec![(self.rows.clone(), true)];
        }
        let ends = starts.iter().skip(1).copied().chain([self.rows.end]);
        let piece = |(start, end): (u32, u32)| {
            let facts = |id: i32| match pages.get(&id) {
                Some(pages) => page_of(pages, start).or_else(|| chunks.get(&id)).cloned(),
                None => chunks.get(&id).cloned(),
            };
            (start..end, may_match(&(start..end), &facts))
        };
        starts.iter().copied().zip(ends).map(piece).collect()
    }

    /// What the row group says about a column.
    fn chunk(&self, leaf: &Leaf) -> Option<Statistics> {
        let statistics = self.group.columns().get(leaf.place)?.statistics()?;
        let (min, max) = leaf.chunk_bounds(statistics);
        let rows = u64::try_from(self.group.num_rows()).ok()?;
        Some(leaf.facts(min, max, statistics.null_count_opt(), rows))
    }

    /// What the page index says about a column; None where it is absent or does not fit the row group.
    fn pages(&self, leaf: &Leaf) -> Option<Pages> {
        let index = self
            .metadata
            .column_index()?
            .get(self.number)?
            .get(leaf.place)?;
        let offsets = self
            .metadata
            .offset_index()?
            .get(self.number)?
            .get(leaf.place)?;
        let locations = offsets.page_locations();
        if matches!(index, ColumnIndexMetaData::NONE)
            || usize::try_from(index.num_pages()) != Ok(locations.len())
        {
            return None;
        }
        let count = self.rows.end - self.rows.start;
        let mut firsts: Vec<u32> = locations
            .iter()
            .map(|page| u32::try_from(page.first_row_index).ok())
            .collect::<Option<_>>()?;
        firsts.push(count);
        if firsts.first() != Some(&0) || !firsts.is_sorted_by(|a, b| a < b) {
            return None;
        }
        let lengths = firsts.iter().zip(firsts.iter().skip(1)).map(|(a, b)| b - a);
        let page = |(number, (first, length)): (usize, (&u32, u32))| {
            let rows = u64::from(length);
            let nulls = match index.is_null_page(number) {
                true => Some(rows),
                false => index.null_count(number).and_then(|n| u64::try_from(n).ok()),
            };
            let (min, max) = leaf.page_bounds(index, number);
            (self.rows.start + first, leaf.facts(min, max, nulls, rows))
        };
        Some(firsts.iter().zip(lengths).enumerate().map(page).collect())
    }
}

/// The page that holds a row.
fn page_of(pages: &Pages, row: u32) -> Option<&Statistics> {
    let at = pages.partition_point(|(first, _)| *first <= row);
    pages.get(at.checked_sub(1)?).map(|(_, facts)| facts)
}

fn positions(rows: &Range<u32>) -> Statistics {
    let bound = |row: u32| Value::Long(i64::from(row));
    Statistics::exact(
        Type::Long,
        [bound(rows.start), bound(rows.end.saturating_sub(1))],
    )
}

/// A bound as the file holds it.
enum Bound<'a> {
    Boolean(bool),
    Integer(i64),
    Float(f32),
    Double(f64),
    Bytes(&'a [u8]),
}

/// How the file's values become those of the column.
#[derive(Clone, Copy, PartialEq)]
enum Reading {
    /// As they are, or widened.
    Plain,
    /// Microseconds as milliseconds.
    Millis,
    /// Microseconds as nanoseconds, rounded.
    Nanos,
}

/// A column of the predicate in the file.
struct Leaf {
    /// Among the leaves of the file.
    place: usize,
    /// The column's type in the table.
    ty: Type,
    reading: Reading,
}

impl Leaf {
    /// None for a column that the file lacks or holds twice, in lists or maps, or in a form of which nothing is
    /// concluded.
    fn find(id: i32, metadata: &ParquetMetaData, schema: &Schema) -> Option<Leaf> {
        let field = row_field(&schema.fields, id)?;
        let file = metadata.file_metadata();
        let has_id = |column: &ColumnDescriptor| {
            let info = column.self_type().get_basic_info();
            info.has_id() && info.id() == id
        };
        let columns = file.schema_descr().columns();
        let mut found = columns.iter().enumerate().filter(|(_, c)| has_id(c));
        let (place, column) = found.next()?;
        if found.next().is_some() || column.max_rep_level() > 0 {
            return None;
        }
        // Without an order that the writer declares only numbers, which are signed in any, can be trusted.
        let order = file.column_orders().and_then(|orders| orders.get(place));
        let is_bytes = matches!(
            column.physical_type(),
            PhysicalType::BYTE_ARRAY | PhysicalType::FIXED_LEN_BYTE_ARRAY
        );
        match order {
            None | Some(ColumnOrder::UNDEFINED) if !is_bytes => {}
            Some(order @ ColumnOrder::TYPE_DEFINED_ORDER(_))
                if order.sort_order() != SortOrder::UNDEFINED => {}
            _ => return None,
        }
        Some(Leaf {
            place,
            reading: reading(&field.ty, column)?,
            ty: field.ty.clone(),
        })
    }

    fn chunk_bounds<'s>(
        &self,
        statistics: &'s ChunkStatistics,
    ) -> (Option<Bound<'s>>, Option<Bound<'s>>) {
        let integer = |v: Option<i64>| v.map(Bound::Integer);
        match statistics {
            ChunkStatistics::Boolean(s) => (
                s.min_opt().copied().map(Bound::Boolean),
                s.max_opt().copied().map(Bound::Boolean),
            ),
            ChunkStatistics::Int32(s) => (
                integer(s.min_opt().map(|v| i64::from(*v))),
                integer(s.max_opt().map(|v| i64::from(*v))),
            ),
            ChunkStatistics::Int64(s) => {
                (integer(s.min_opt().copied()), integer(s.max_opt().copied()))
            }
            ChunkStatistics::Float(s) => (
                s.min_opt().copied().map(Bound::Float),
                s.max_opt().copied().map(Bound::Float),
            ),
            ChunkStatistics::Double(s) => (
                s.min_opt().copied().map(Bound::Double),
                s.max_opt().copied().map(Bound::Double),
            ),
            // Old writers compared bytes as signed ones.
            ChunkStatistics::ByteArray(_) | ChunkStatistics::FixedLenByteArray(_)
                if !statistics.is_min_max_deprecated() =>
            {
                (
                    statistics.min_bytes_opt().map(Bound::Bytes),
                    statistics.max_bytes_opt().map(Bound::Bytes),
                )
            }
            _ => (None, None),
        }
    }

    fn page_bounds<'i>(
        &self,
        index: &'i ColumnIndexMetaData,
        page: usize,
    ) -> (Option<Bound<'i>>, Option<Bound<'i>>) {
        match index {
            ColumnIndexMetaData::BOOLEAN(i) => (
                i.min_value(page).copied().map(Bound::Boolean),
                i.max_value(page).copied().map(Bound::Boolean),
            ),
            ColumnIndexMetaData::INT32(i) => (
                i.min_value(page).map(|v| Bound::Integer(i64::from(*v))),
                i.max_value(page).map(|v| Bound::Integer(i64::from(*v))),
            ),
            ColumnIndexMetaData::INT64(i) => (
                i.min_value(page).copied().map(Bound::Integer),
                i.max_value(page).copied().map(Bound::Integer),
            ),
            ColumnIndexMetaData::FLOAT(i) => (
                i.min_value(page).copied().map(Bound::Float),
                i.max_value(page).copied().map(Bound::Float),
            ),
            ColumnIndexMetaData::DOUBLE(i) => (
                i.min_value(page).copied().map(Bound::Double),
                i.max_value(page).copied().map(Bound::Double),
            ),
            ColumnIndexMetaData::BYTE_ARRAY(i) | ColumnIndexMetaData::FIXED_LEN_BYTE_ARRAY(i) => (
                i.min_value(page).map(Bound::Bytes),
                i.max_value(page).map(Bound::Bytes),
            ),
            ColumnIndexMetaData::NONE | ColumnIndexMetaData::INT96(_) => (None, None),
        }
    }

    /// What is known of `rows` rows. Statistics count no NaN, and a bound that is one means that they were made
    /// without regard for it.
    fn facts(
        &self,
        min: Option<Bound<'_>>,
        max: Option<Bound<'_>>,
        nulls: Option<u64>,
        rows: u64,
    ) -> Statistics {
        let is_float = matches!(self.ty, Type::Float | Type::Double);
        let all_null = nulls == Some(rows);
        let lower = min.and_then(|bound| self.value(&bound, i64::div_euclid));
        let upper = max.and_then(|bound| self.value(&bound, div_ceil));
        let is_damaged =
            lower.as_ref().is_some_and(Value::is_nan) || upper.as_ref().is_some_and(Value::is_nan);
        Statistics {
            ty: self.ty.clone(),
            may_be_null: nulls != Some(0),
            may_be_value: !all_null,
            may_be_nan: is_float && !all_null,
            may_be_number: !all_null,
            lower: lower.filter(|_| !is_damaged),
            upper: upper.filter(|_| !is_damaged),
            buckets: BTreeMap::new(),
        }
    }

    /// A bound as a value of the column's type; `round` divides where the file is finer.
    fn value(&self, bound: &Bound<'_>, round: fn(i64, i64) -> i64) -> Option<Value> {
        Some(match (bound, &self.ty) {
            (Bound::Boolean(v), Type::Boolean) => Value::Boolean(*v),
            (Bound::Integer(v), Type::Int) => Value::Int(i32::try_from(*v).ok()?),
            (Bound::Integer(v), Type::Date) => Value::Date(i32::try_from(*v).ok()?),
            (Bound::Integer(v), Type::Long) => Value::Long(*v),
            (Bound::Integer(v), Type::Time) => Value::Time(self.micros(*v, round)?),
            (Bound::Integer(v), Type::Timestamp) => Value::Timestamp(self.micros(*v, round)?),
            (Bound::Integer(v), Type::TimestampTz) => Value::TimestampTz(self.micros(*v, round)?),
            (Bound::Float(v), Type::Float) => Value::Float(*v),
            (Bound::Float(v), Type::Double) => Value::Double(f64::from(*v)),
            (Bound::Double(v), Type::Double) => Value::Double(*v),
            (Bound::Integer(v), Type::Decimal { precision, scale }) => Value::Decimal {
                unscaled: i128::from(*v),
                precision: *precision,
                scale: *scale,
            },
            (
                Bound::Bytes(bytes),
                Type::Decimal { .. } | Type::String | Type::Uuid | Type::Fixed(_) | Type::Binary,
            ) => value::decode(&self.ty, bytes)?,
            _ => return None,
        })
    }

    fn micros(&self, v: i64, round: fn(i64, i64) -> i64) -> Option<i64> {
        match self.reading {
            Reading::Plain => Some(v),
            Reading::Millis => v.checked_mul(1_000),
            Reading::Nanos => Some(round(v, 1_000)),
        }
    }
}

fn div_ceil(v: i64, by: i64) -> i64 {
    v.div_euclid(by) + i64::from(v.rem_euclid(by) != 0)
}

/// How a file's column is read as one of type `ty`; None where its bounds have another meaning.
fn reading(ty: &Type, column: &ColumnDescriptor) -> Option<Reading> {
    use PhysicalType::{BOOLEAN, BYTE_ARRAY, DOUBLE, FIXED_LEN_BYTE_ARRAY, FLOAT, INT32, INT64};
    let physical = column.physical_type();
    let logical = column.logical_type_ref();
    let converted = column.converted_type();
    let is_plain = logical.is_none() && converted == ConvertedType::NONE;
    let fits = match (ty, physical) {
        (Type::Boolean, BOOLEAN) => true,
        (Type::Int | Type::Long, INT32 | INT64) => match logical {
            Some(LogicalType::Integer { is_signed, .. }) => *is_signed,
            Some(_) => false,
            None => matches!(
                converted,
                ConvertedType::NONE
                    | ConvertedType::INT_8
                    | ConvertedType::INT_16
                    | ConvertedType::INT_32
                    | ConvertedType::INT_64
            ),
        },
        (Type::Date, INT32) => {
            matches!(logical, Some(LogicalType::Date)) || converted == ConvertedType::DATE
        }
        (Type::Time, INT32 | INT64) | (Type::Timestamp | Type::TimestampTz, INT64) => {
            return time_unit(logical, converted);
        }
        (Type::Float, FLOAT) | (Type::Double, FLOAT | DOUBLE) => is_plain,
        (Type::Decimal { scale, .. }, INT32 | INT64 | BYTE_ARRAY | FIXED_LEN_BYTE_ARRAY) => {
            let is_decimal = matches!(logical, Some(LogicalType::Decimal { .. }))
                || converted == ConvertedType::DECIMAL;
            is_decimal && column.type_scale() == i32::from(*scale)
        }
        (Type::String, BYTE_ARRAY) => {
            matches!(logical, Some(LogicalType::String))
                || converted == ConvertedType::UTF8
                || is_plain
        }
        (Type::Uuid, FIXED_LEN_BYTE_ARRAY) => {
            matches!(logical, Some(LogicalType::Uuid)) || is_plain
        }
        (Type::Fixed(_), FIXED_LEN_BYTE_ARRAY) => is_plain,
        (Type::Binary, BYTE_ARRAY | FIXED_LEN_BYTE_ARRAY) => is_plain,
        _ => false,
    };
    fits.then_some(Reading::Plain)
}

fn time_unit(logical: Option<&LogicalType>, converted: ConvertedType) -> Option<Reading> {
    let unit = match logical {
        Some(LogicalType::Time { unit, .. } | LogicalType::Timestamp { unit, .. }) => unit,
        Some(_) => return None,
        None => match converted {
            ConvertedType::TIME_MILLIS | ConvertedType::TIMESTAMP_MILLIS => &TimeUnit::MILLIS,
            ConvertedType::TIME_MICROS | ConvertedType::TIMESTAMP_MICROS => &TimeUnit::MICROS,
            _ => return None,
        },
    };
    match unit {
        TimeUnit::MILLIS => Some(Reading::Millis),
        TimeUnit::MICROS => Some(Reading::Plain),
        TimeUnit::NANOS => Some(Reading::Nanos),
    }
}
