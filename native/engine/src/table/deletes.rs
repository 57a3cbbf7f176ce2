//! Position deletes: which physical rows of a data file are dead. Positions out of range or NULL
//! delete nothing; duplicates delete once; a delete file that names other files is harmless.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, RecordBatch};
use arrow::datatypes::{DataType, FieldRef, Int64Type};
use futures::TryStreamExt as _;
use roaring::RoaringBitmap;

use super::file::{Decode, OpenFile};
use super::read::ReadContext;
use super::split::{DeleteRef, FileTask};
use crate::error::{Error, Result};
use crate::iceberg::manifest::FileFormat;
use crate::iceberg::schema::field_id;

/// Reserved field ids of position delete files (Iceberg spec).
pub(crate) const DELETE_PATH: i32 = 2_147_483_546;
pub(crate) const DELETE_POS: i32 = 2_147_483_545;

/// Resolves deletes through the session's cache; each delete file is read once.
#[derive(Default)]
pub(crate) struct DeletedRows;

impl DeletedRows {
    /// The dead rows of the task's file.
    pub(crate) async fn of(
        &self,
        context: &ReadContext,
        task: &FileTask,
    ) -> Result<Arc<RoaringBitmap>> {
        let mut dead = RoaringBitmap::new();
        for delete in &task.deletes {
            let positions = load(context, delete)
                .await
                .map_err(|e| e.with("delete file", &delete.path))?;
            match positions.get(&spelling(&task.path)) {
                Some(rows) => dead |= rows,
                // Another file in its place would bring deleted rows back.
                None if delete.for_one_file => {
                    return Err(Error::corrupt(format!(
                        "delete file {} names no row of {}",
                        delete.path, task.path
                    )));
                }
                None => {}
            }
        }
        Ok(Arc::new(dead))
    }

    /// The equality deletes of the task's file; None: there are none.
    pub(crate) async fn equality(
        &self,
        _context: &ReadContext,
        _task: &FileTask,
    ) -> Result<Option<Arc<EqualityDeletes>>> {
        Ok(None)
    }
}

/// The equality deletes of one data file: which of its rows they leave.
#[derive(Default)]
pub(crate) struct EqualityDeletes {
    fields: Vec<FieldRef>,
}

impl EqualityDeletes {
    /// The top-level columns to decode, with their field ids; a column may be gone from the table's schema.
    pub(crate) fn fields(&self) -> &[FieldRef] {
        &self.fields
    }

    /// Which rows stay, given the columns of [`EqualityDeletes::fields`] in their order; never NULL.
    pub(crate) fn live(&self, columns: &[ArrayRef]) -> Result<BooleanArray> {
        let rows = columns.first().map_or(0, |column| column.len());
        Ok(BooleanArray::from(vec![true; rows]))
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

async fn load(
    context: &ReadContext,
    delete: &DeleteRef,
) -> Result<Arc<BTreeMap<String, RoaringBitmap>>> {
    let cache = context.environment.delete_cache();
    let key = (delete.path.clone(), delete.size);
    if let Some(positions) = cache.get(&key) {
        return Ok(positions);
    }
    let location = context.files.resolve(&delete.path)?;
    let file = OpenFile::open(
        &context.environment,
        context.files.reader(),
        &location,
        delete.size,
        &FileFormat::Parquet,
    )
    .await?;
    let decode = Decode {
        roots: (0..file.schema().fields().len()).collect(),
        rows: None,
        row_groups: None,
        positions: false,
        filter: None,
    };
    let mut stream = file.stream(decode)?;
    let mut positions: BTreeMap<String, RoaringBitmap> = BTreeMap::new();
    while let Some(batch) = stream.try_next().await? {
        collect(&batch, &mut positions)?;
    }
    let bytes = positions
        .iter()
        .map(|(path, rows)| path.len() + rows.serialized_size() + 64)
        .sum();
    let positions = Arc::new(positions);
    cache.put(key, Arc::clone(&positions), bytes);
    Ok(positions)
}

fn collect(batch: &RecordBatch, positions: &mut BTreeMap<String, RoaringBitmap>) -> Result<()> {
    let find = |id: i32, name: &str| {
        let index = batch
            .schema_ref()
            .fields()
            .iter()
            .position(|f| field_id(f) == Some(id))
            .or_else(|| batch.schema_ref().index_of(name).ok());
        index
            .and_then(|i| batch.columns().get(i))
            .ok_or_else(|| Error::corrupt(format!("the delete file has no column {name}")))
    };
    let paths = find(DELETE_PATH, "file_path")?;
    let rows = find(DELETE_POS, "pos")?;
    if paths.data_type() != &DataType::Utf8 || rows.data_type() != &DataType::Int64 {
        return Err(Error::corrupt(format!(
            "the delete file has types {} and {}, expected string and long",
            paths.data_type(),
            rows.data_type()
        )));
    }
    let (paths, rows) = (paths.as_string::<i32>(), rows.as_primitive::<Int64Type>());
    let mut current: Option<(String, RoaringBitmap)> = None;
    for index in 0..batch.num_rows() {
        if paths.is_null(index) || rows.is_null(index) {
            continue;
        }
        let path = paths.value(index);
        if current.as_ref().is_none_or(|(p, _)| p != path) {
            if let Some((p, set)) = current.take() {
                *positions.entry(spelling(&p)).or_default() |= set;
            }
            current = Some((path.to_string(), RoaringBitmap::new()));
        }
        if let (Some((_, set)), Ok(row)) = (current.as_mut(), u32::try_from(rows.value(index))) {
            set.insert(row);
        }
    }
    if let Some((p, set)) = current {
        *positions.entry(spelling(&p)).or_default() |= set;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::spelling;

    #[test]
    fn path_has_one_spelling_with_and_without_scheme() {
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
}
