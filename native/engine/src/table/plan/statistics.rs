//! What the manifests say about the columns of planned files, for whoever orders joins by it. Never decides a row.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use crate::iceberg::manifest::DataFile;
use crate::iceberg::schema::{Field, Schema};
use crate::iceberg::value::{Value, decode};

/// A column over all files of a plan; None is unknown. Deletes do not count, and bounds may have been cut.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ColumnStatistics {
    /// At most the least value.
    pub lower: Option<Value>,
    /// At least the greatest value.
    pub upper: Option<Value>,
    /// Rows in which it is NULL.
    pub nulls: Option<u64>,
}

/// The top-level columns with these ids, by id.
pub(super) fn column_statistics(
    schema: &Schema,
    ids: &[i32],
    files: &[&DataFile],
) -> BTreeMap<i32, ColumnStatistics> {
    let known = |id: &i32| schema.fields.iter().find(|field| field.id == *id);
    ids.iter()
        .filter_map(known)
        .filter(|field| field.ty.is_primitive())
        .map(|field| (field.id, of_column(field, files)))
        .collect()
}

fn of_column(field: &Field, files: &[&DataFile]) -> ColumnStatistics {
    let bound = |bytes: Option<Vec<u8>>| decode(&field.ty, &bytes?);
    let nulls = |file: &&DataFile| u64::try_from(file.null_value_counts.get(field.id)?).ok();
    let lower = files.iter().map(|f| bound(f.lower_bounds.get(field.id)));
    let upper = files.iter().map(|f| bound(f.upper_bounds.get(field.id)));
    ColumnStatistics {
        lower: outermost(lower, Ordering::Less),
        upper: outermost(upper, Ordering::Greater),
        nulls: files.iter().map(nulls).sum(),
    }
}

/// The least or greatest of all values; None where one is unknown.
fn outermost(mut values: impl Iterator<Item = Option<Value>>, wanted: Ordering) -> Option<Value> {
    let first = values.next()??;
    values.try_fold(first, |best, value| {
        let value = value?;
        match value.bound_cmp(&best)? {
            order if order == wanted => Some(value),
            _ => Some(best),
        }
    })
}
