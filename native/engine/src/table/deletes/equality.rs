//! Equality deletes: a row is dead where a later delete file holds its values in the compared columns; NULL equals
//! NULL. All delete files of the same columns and reach become one hash table from key to newest sequence number,
//! so that a scan asks once a row, however many files there are.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray as _, BooleanArray, BooleanBufferBuilder, StructArray,
};
use arrow::datatypes::{DataType, Field as ArrowField, FieldRef, Schema as ArrowSchema};
use futures::{StreamExt as _, TryStreamExt as _};
use serde_json::Value as Json;

use super::association::schemas;
use super::key_table::{KeyTable, check_bytes};
use super::{FILES_AT_ONCE, open};
use crate::error::{Error, Result};
use crate::iceberg::document::Document;
use crate::iceberg::schema::{Field, Schema, Type, field_id};
use crate::table::file::Decode;
use crate::table::read::{ReadContext, promote};
use crate::table::split::DeleteRef;

/// The top-level columns that hold the fields with these ids, cut down to them; from all schemas the table ever had,
/// since deletes outlive their columns. Errors: Corrupt for no ids, unknown ids and ids of no single value.
pub(super) fn key_columns(document: &Document, ids: &[i32]) -> Result<Vec<Field>> {
    if ids.is_empty() {
        return Err(Error::corrupt(
            "an equality delete file without equality_ids",
        ));
    }
    let schemas = schemas(document);
    let mut columns: BTreeMap<i32, Field> = BTreeMap::new();
    for id in ids {
        let mut fields = schemas.iter().flat_map(|schema| &schema.fields);
        let column = fields.find_map(|field| only(field, *id)).ok_or_else(|| {
            Error::corrupt(format!(
                "equality_ids name {id}, which is no column of the table with one value a row"
            ))
        })?;
        match columns.get_mut(&column.id) {
            Some(known) => merge(known, column),
            None => drop(columns.insert(column.id, column)),
        }
    }
    Ok(columns.into_values().collect())
}

/// The field with nothing but the wanted one inside; all of it may be NULL, whatever the table says now.
fn only(field: &Field, id: i32) -> Option<Field> {
    let (ty, initial_default) = match &field.ty {
        ty if field.id == id && ty.is_primitive() => (ty.clone(), field.initial_default.clone()),
        Type::Struct(members) => {
            let member = members.iter().find_map(|member| only(member, id))?;
            (Type::Struct(vec![member]), None)
        }
        _ => return None,
    };
    Some(Field {
        ty,
        initial_default,
        required: false,
        ..field.clone()
    })
}

fn merge(field: &mut Field, other: Field) {
    if let (Type::Struct(members), Type::Struct(others)) = (&mut field.ty, other.ty) {
        for other in others {
            match members.iter_mut().find(|member| member.id == other.id) {
                Some(member) => merge(member, other),
                None => members.push(other),
            }
        }
    }
}

/// The key columns of a delete file, batch by batch.
pub(super) type KeyBatches = Vec<Vec<ArrayRef>>;

/// The key columns of one delete file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct KeysKey {
    path: String,
    size: u64,
    columns: String,
}

/// The keys of all these delete files in one table; they compare the same columns.
/// Errors: Corrupt for a delete file that lacks one of them.
pub(super) async fn load_table(
    context: &ReadContext,
    deletes: &[Arc<DeleteRef>],
    columns: &Json,
) -> Result<KeyTable> {
    let schema = Schema::from_json(columns)?.to_arrow()?;
    let mut table = KeyTable::new(schema.fields().iter().cloned().collect())?;
    let schema = &schema;
    let mut loaded = futures::stream::iter(deletes.to_vec())
        .map(|delete| async move {
            let batches = load(context, &delete, schema, columns).await;
            batches
                .map(|batches| (delete.sequence_number, batches))
                .map_err(|e| e.with("delete file", &delete.path))
        })
        .buffered(FILES_AT_ONCE);
    while let Some((sequence_number, batches)) = loaded.try_next().await? {
        for batch in batches.iter() {
            table.add(batch, sequence_number)?;
            tokio::task::yield_now().await;
        }
    }
    Ok(table)
}

async fn load(
    context: &ReadContext,
    delete: &DeleteRef,
    schema: &ArrowSchema,
    columns: &Json,
) -> Result<Arc<KeyBatches>> {
    let key = KeysKey {
        path: delete.path.clone(),
        size: delete.size,
        columns: columns.to_string(),
    };
    let caches = context.environment.deletes();
    let read = read_keys(context, delete, schema);
    caches.keys.get_or_load(key, read).await
}

async fn read_keys(
    context: &ReadContext,
    delete: &DeleteRef,
    schema: &ArrowSchema,
) -> Result<(Arc<KeyBatches>, usize)> {
    let file = open(context, delete).await?;
    let mut places = Vec::with_capacity(schema.fields().len());
    for wanted in schema.fields() {
        let mut stored = file.schema().fields().iter().enumerate();
        let (place, stored) = stored
            .find(|(_, stored)| holds(stored, wanted))
            .ok_or_else(|| Error::corrupt(format!("it lacks the column '{}'", wanted.name())))?;
        places.push((place, Arc::clone(stored), Arc::clone(wanted)));
    }
    let roots: BTreeSet<usize> = places.iter().map(|(place, ..)| *place).collect();
    let decode = Decode {
        roots: roots.clone(),
        views: BTreeSet::new(),
        rows: None,
        row_groups: None,
        positions: false,
        filter: None,
    };
    let mut stream = file.stream(decode)?;
    let (mut batches, mut bytes) = (Vec::new(), 0);
    while let Some(batch) = stream.try_next().await? {
        let mut columns = Vec::with_capacity(places.len());
        for (place, from, to) in &places {
            let array = batch.columns().get(roots.range(..place).count());
            let array = array.ok_or_else(|| Error::internal("a key column was not decoded"))?;
            columns.push(fit(array, from, to)?);
        }
        bytes += columns
            .iter()
            .map(|c| c.get_array_memory_size())
            .sum::<usize>();
        check_bytes(bytes)?;
        batches.push(columns);
    }
    Ok((Arc::new(batches), bytes))
}

/// The column as the table has it, cut down to the wanted members.
fn fit(array: &ArrayRef, from: &ArrowField, to: &ArrowField) -> Result<ArrayRef> {
    let (DataType::Struct(members), DataType::Struct(wanted)) = (from.data_type(), to.data_type())
    else {
        return promote(array, to.data_type(), to.name());
    };
    let array = array.as_struct();
    let mut columns = Vec::with_capacity(wanted.len());
    for field in wanted {
        let mut stored = members.iter().zip(array.columns());
        let found = stored.find(|(member, _)| field_id(member) == field_id(field));
        let (member, column) =
            found.ok_or_else(|| Error::internal("a member of a key column is gone"))?;
        columns.push(fit(column, member, field)?);
    }
    let (nulls, rows) = (array.nulls().cloned(), array.len());
    let fitted = StructArray::try_new_with_length(wanted.clone(), columns, nulls, rows)?;
    Ok(Arc::new(fitted))
}

/// Whether the file's column has the field and all that is wanted inside it.
fn holds(stored: &ArrowField, wanted: &ArrowField) -> bool {
    field_id(stored).is_some()
        && field_id(stored) == field_id(wanted)
        && match (stored.data_type(), wanted.data_type()) {
            (DataType::Struct(stored), DataType::Struct(wanted)) => wanted
                .iter()
                .all(|wanted| stored.iter().any(|stored| holds(stored, wanted))),
            _ => true,
        }
}

/// The deletes of one data file, ready to be asked row by row.
pub(crate) struct EqualityDeletes {
    fields: Vec<FieldRef>,
    checks: Vec<Check>,
    data_sequence_number: i64,
}

/// One set of compared columns.
struct Check {
    /// Where the columns stand among the fields.
    places: Vec<usize>,
    keys: Arc<KeyTable>,
}

impl EqualityDeletes {
    /// The deletes of a file whose data has this sequence number.
    pub(super) fn new(tables: Vec<Arc<KeyTable>>, data_sequence_number: i64) -> EqualityDeletes {
        let mut fields: Vec<FieldRef> = Vec::new();
        let mut checks = Vec::new();
        for keys in tables {
            let mut places = Vec::with_capacity(keys.fields.len());
            for field in &keys.fields {
                let known = fields.iter().position(|other| other == field);
                places.push(known.unwrap_or(fields.len()));
                if known.is_none() {
                    fields.push(Arc::clone(field));
                }
            }
            checks.push(Check { places, keys });
        }
        EqualityDeletes {
            fields,
            checks,
            data_sequence_number,
        }
    }

    /// The columns that [`EqualityDeletes::live`] wants, top-level ones of the table as they are now or once were.
    pub(crate) fn fields(&self) -> &[FieldRef] {
        &self.fields
    }

    /// Which rows no delete takes away. The columns are those of [`EqualityDeletes::fields`], in their order.
    pub(crate) fn live(&self, columns: &[ArrayRef]) -> Result<BooleanArray> {
        let rows = columns.first().map_or(0, |column| column.len());
        let mut live = BooleanBufferBuilder::new(rows);
        live.append_n(rows, true);
        for check in &self.checks {
            let of_check = check.places.iter().map(|place| {
                columns
                    .get(*place)
                    .cloned()
                    .ok_or_else(|| Error::internal("a compared column was not read"))
            });
            let of_check = of_check.collect::<Result<Vec<_>>>()?;
            let sequence_number = self.data_sequence_number;
            check
                .keys
                .clear_dead(&of_check, sequence_number, &mut live)?;
        }
        Ok(BooleanArray::new(live.finish(), None))
    }
}
