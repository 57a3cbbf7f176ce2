//! What manifest entries say about the key columns of a data file and of an equality delete file: enough to see
//! that no row of the one can equal a row of the other. What is unknown may be anything.

use std::cmp::Ordering;

use crate::iceberg::manifest::DataFile;
use crate::iceberg::schema::{Field, Type};
use crate::iceberg::value::{Value, decode};

/// The values of one column in one file.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct KeyBounds {
    may_be_null: bool,
    may_be_value: bool,
    range: Option<(Value, Value)>,
}

impl KeyBounds {
    const UNKNOWN: KeyBounds = KeyBounds {
        may_be_null: true,
        may_be_value: true,
        range: None,
    };

    /// What the file says of the column.
    pub(super) fn of(file: &DataFile, column: &Field) -> KeyBounds {
        // Counts of struct members may leave out the rows whose struct is NULL, floats have NaN beside their bounds,
        // and old writers ordered uuids by sign.
        if !column.ty.is_primitive() || matches!(column.ty, Type::Float | Type::Double | Type::Uuid)
        {
            return KeyBounds::UNKNOWN;
        }
        let values = file.value_counts.get(column.id);
        let whole = values.is_some() && values == i64::try_from(file.record_count).ok();
        let nulls = file.null_value_counts.get(column.id);
        let bound = |bytes: Option<Vec<u8>>| bytes.and_then(|bytes| decode(&column.ty, &bytes));
        let lower = bound(file.lower_bounds.get(column.id));
        KeyBounds {
            may_be_null: !(whole && nulls == Some(0)),
            // A file that lacks the column holds its default in every row, whatever its writer counted.
            may_be_value: column.initial_default.is_some() || !(whole && nulls == values),
            range: lower.zip(bound(file.upper_bounds.get(column.id))),
        }
    }

    fn overlaps(&self, other: &KeyBounds) -> bool {
        (self.may_be_null && other.may_be_null)
            || (self.may_be_value && other.may_be_value && self.ranges_meet(other))
    }

    fn ranges_meet(&self, other: &KeyBounds) -> bool {
        let (Some((lower, upper)), Some((other_lower, other_upper))) = (&self.range, &other.range)
        else {
            return true;
        };
        let apart = |upper: &Value, lower: &Value| upper.bound_cmp(lower) == Some(Ordering::Less);
        !apart(upper, other_lower) && !apart(other_upper, lower)
    }
}

/// Whether a row of the one file may equal a row of the other in all columns.
pub(super) fn overlap(one: &[KeyBounds], other: &[KeyBounds]) -> bool {
    one.iter()
        .zip(other)
        .all(|(one, other)| one.overlaps(other))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::iceberg::manifest::{BoundMap, CountMap, DataContent, FileFormat};

    fn file(rows: u64, nulls: i64, range: Option<(i64, i64)>) -> DataFile {
        let mut file = DataFile::new(DataContent::Data, "f", FileFormat::Parquet, rows, 1);
        file.value_counts = CountMap::new([(1, rows.cast_signed())]);
        file.null_value_counts = CountMap::new([(1, nulls)]);
        if let Some((lower, upper)) = range {
            file.lower_bounds = BoundMap::new([(1, lower.to_le_bytes().to_vec())]);
            file.upper_bounds = BoundMap::new([(1, upper.to_le_bytes().to_vec())]);
        }
        file
    }

    fn meet(one: &DataFile, other: &DataFile) -> bool {
        let column = Field::new(1, "k", false, Type::Long);
        overlap(
            &[KeyBounds::of(one, &column)],
            &[KeyBounds::of(other, &column)],
        )
    }

    #[test]
    fn r_pl3_bounds_skip_a_delete_file_only_where_no_row_can_match() {
        let data = file(10, 0, Some((10, 20)));
        for (lower, upper, meets) in [
            (0, 9, false),
            (0, 10, true),
            (20, 30, true),
            (21, 30, false),
        ] {
            assert_eq!(
                meet(&data, &file(3, 0, Some((lower, upper)))),
                meets,
                "{lower}"
            );
        }
        // NULL matches NULL, whatever the bounds.
        let with_nulls = file(10, 1, Some((10, 20)));
        assert!(meet(&with_nulls, &file(3, 1, Some((90, 99)))));
        assert!(!meet(&data, &file(3, 3, None)));
        assert!(meet(&with_nulls, &file(3, 3, None)));
        assert!(!meet(&file(5, 5, None), &file(3, 0, Some((1, 2)))));
        // What is unknown keeps the file.
        let unknown = DataFile::new(DataContent::Data, "f", FileFormat::Parquet, 3, 1);
        assert!(meet(&data, &unknown) && meet(&unknown, &data));
        let mut defaulted = Field::new(1, "k", false, Type::Long);
        defaulted.initial_default = Some(1.into());
        let absent = KeyBounds::of(&file(5, 5, None), &defaulted);
        assert!(absent.overlaps(&KeyBounds::of(&file(3, 0, Some((1, 2))), &defaulted)));
        let mut uncounted = file(3, 0, Some((90, 99)));
        uncounted.null_value_counts = CountMap::default();
        assert!(meet(&with_nulls, &uncounted));
        assert!(!meet(&data, &uncounted));
    }
}
