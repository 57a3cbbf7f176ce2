//! Reads position delete files. Positions that are out of range or NULL delete nothing, duplicates delete once, in
//! any order; a file that names other data files is harmless.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, RecordBatch};
use arrow::datatypes::{DataType, Field, Int64Type};
use futures::TryStreamExt as _;
use roaring::RoaringBitmap;

use super::open;
use crate::error::{Error, Result};
use crate::iceberg::schema::field_id;
use crate::table::file::Decode;
use crate::table::read::{ReadContext, promote};
use crate::table::split::DeleteRef;

/// Reserved field ids of position delete files (Iceberg spec).
pub(crate) const DELETE_PATH: i32 = 2_147_483_546;
pub(crate) const DELETE_POS: i32 = 2_147_483_545;

/// The dead rows by data file, under the one spelling of its path.
pub(super) type Positions = BTreeMap<String, RoaringBitmap>;

/// What a file deletes, from the session's cache where it was read before.
pub(super) async fn load(context: &ReadContext, delete: &DeleteRef) -> Result<Arc<Positions>> {
    let key = (delete.path.clone(), delete.size);
    let caches = context.environment.deletes();
    let read = async {
        let positions = Arc::new(read(context, delete).await?);
        let bytes = positions
            .iter()
            .map(|(path, rows)| path.len() + rows.serialized_size() + 64)
            .sum();
        Ok((positions, bytes))
    };
    caches.positions.get_or_load(key, read).await
}

async fn read(context: &ReadContext, delete: &DeleteRef) -> Result<Positions> {
    let file = open(context, delete).await?;
    let fields = file.schema().fields();
    let find = |id: i32, name: &str| {
        fields
            .iter()
            .position(|f| field_id(f) == Some(id))
            .or_else(|| {
                fields
                    .iter()
                    .position(|f| field_id(f).is_none() && f.name() == name)
            })
            .and_then(|place| Some((place, Arc::clone(fields.get(place)?))))
            .ok_or_else(|| Error::corrupt(format!("it has no column {name}")))
    };
    let (path, path_field) = find(DELETE_PATH, "file_path")?;
    let (row, row_field) = find(DELETE_POS, "pos")?;
    let decode = Decode {
        roots: BTreeSet::from([path, row]),
        views: BTreeSet::new(),
        rows: None,
        row_groups: None,
        positions: false,
        filter: None,
    };
    let mut batches = file.stream(decode)?;
    let mut positions = Positions::new();
    while let Some(batch) = batches.try_next().await? {
        let paths = column(&batch, usize::from(path > row), &path_field, DataType::Utf8)?;
        let rows = column(&batch, usize::from(row > path), &row_field, DataType::Int64)?;
        collect(&paths, &rows, &mut positions);
        tokio::task::yield_now().await;
    }
    Ok(positions)
}

/// A column of the two, as the type that the specification gives it.
fn column(batch: &RecordBatch, place: usize, from: &Field, ty: DataType) -> Result<ArrayRef> {
    let array = batch
        .columns()
        .get(place)
        .ok_or_else(|| Error::internal("a column of the delete file was not decoded"))?;
    promote(array, &ty, from.name()).map_err(|e| Error::corrupt(e.message()))
}

fn collect(paths: &ArrayRef, rows: &ArrayRef, positions: &mut Positions) {
    let (paths, rows) = (paths.as_string::<i32>(), rows.as_primitive::<Int64Type>());
    let mut current: Option<(&str, RoaringBitmap)> = None;
    for (path, row) in paths.iter().zip(rows) {
        let (Some(path), Some(row)) = (path, row) else {
            continue;
        };
        if current.as_ref().is_none_or(|(p, _)| *p != path) {
            if let Some((p, set)) = current.take() {
                *positions.entry(spelling(p)).or_default() |= set;
            }
            current = Some((path, RoaringBitmap::new()));
        }
        if let (Some((_, set)), Ok(row)) = (current.as_mut(), u32::try_from(row)) {
            set.insert(row);
        }
    }
    if let Some((p, set)) = current {
        *positions.entry(spelling(p)).or_default() |= set;
    }
}

/// One spelling for a path that writers record with and without scheme and host: a delete must reach its data
/// file whichever of the two each of them holds. Buckets stay, they are part of the name.
pub(crate) fn spelling(path: &str) -> String {
    let Some((scheme, rest)) = path.split_once(':') else {
        return path.to_owned();
    };
    match scheme {
        "file" => format!("/{}", rest.trim_start_matches('/')),
        "hdfs" | "viewfs" => match rest.strip_prefix("//") {
            Some(rest) => format!("/{}", rest.split_once('/').map_or("", |(_, path)| path)),
            None => rest.to_owned(),
        },
        "s3a" | "s3n" => format!("s3:{rest}"),
        _ => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{Int64Array, StringArray};

    use super::*;

    #[test]
    fn r_de6_path_has_one_spelling_with_and_without_scheme() {
        for path in [
            "/t/a",
            "file:/t/a",
            "file:///t/a",
            "hdfs://host:20500/t/a",
            "hdfs:///t/a",
        ] {
            assert_eq!(spelling(path), "/t/a", "{path}");
        }
        assert_eq!(spelling("s3a://b/t/a"), "s3://b/t/a");
        assert_eq!(spelling("data/a"), "data/a");
        assert_eq!(spelling("/t/x=12:30/a"), "/t/x=12:30/a");
    }

    #[test]
    fn r_de2_duplicate_unsorted_null_and_impossible_positions_delete_only_rows_that_exist() {
        let paths: ArrayRef = Arc::new(StringArray::from(vec![
            Some("s3a://b/x"),
            Some("y"),
            None,
            Some("s3://b/x"),
            Some("s3://b/x"),
            Some("s3://b/x"),
            Some("s3://b/x"),
            Some("s3://b/x"),
        ]));
        let rows: ArrayRef = Arc::new(Int64Array::from(vec![
            Some(9),
            Some(0),
            Some(1),
            Some(3),
            Some(9),
            None,
            Some(-1),
            Some(1 << 32),
        ]));
        let mut positions = Positions::new();
        collect(&paths, &rows, &mut positions);
        let of = |path: &str| positions[path].iter().collect::<Vec<u32>>();
        assert_eq!(of("s3://b/x"), [3, 9]);
        assert_eq!(of("y"), [0]);
        assert_eq!(positions.len(), 2);
    }
}
