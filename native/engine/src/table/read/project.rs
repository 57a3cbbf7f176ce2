//! Fits what a data file holds to what the table's schema says, by field id at every depth: renamed,
//! reordered, dropped, added and widened columns. Pure functions on Arrow arrays; the ids are those of the
//! fields given, whatever the arrays carry.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ListArray, MapArray, StructArray, make_array, new_null_array};
use arrow::datatypes::{DataType, Field, FieldRef, Fields};

use super::absent::Absent;
use super::promote::promote;
use super::variant;
use crate::error::{Error, Result};
use crate::iceberg::schema::{field_id, is_variant};

/// The array as the target field wants it. Errors: Unsupported where a file's type cannot become the table's type,
/// Corrupt for a value that is none of it.
pub(super) fn adapt(
    array: &ArrayRef,
    from: &Field,
    to: &Field,
    path: &str,
    absent: &Absent,
) -> Result<ArrayRef> {
    if is_variant(to) && *from.data_type() != DataType::Null {
        return variant::texts(array, path);
    }
    if from.data_type() == to.data_type() && same_ids(from, to) {
        return Ok(Arc::clone(array));
    }
    match (from.data_type(), to.data_type()) {
        // Nothing that a file holds is a value of type unknown, and only NULL is read from one.
        (_, DataType::Null) | (DataType::Null, _) => {
            Ok(new_null_array(to.data_type(), array.len()))
        }
        (DataType::Struct(members), DataType::Struct(fields)) => adapt_struct(
            downcast::<StructArray>(array, to)?,
            members,
            fields,
            path,
            absent,
        ),
        (DataType::List(item), DataType::List(target)) => {
            let list = downcast::<ListArray>(array, to)?;
            let values = adapt(list.values(), item, target, path, absent)?;
            let values = relabel(&values, target.data_type())?;
            let list = ListArray::try_new(
                Arc::clone(target),
                list.offsets().clone(),
                values,
                list.nulls().cloned(),
            );
            Ok(Arc::new(list.map_err(|error| unfit(path, &error))?))
        }
        (DataType::Map(entries, _), DataType::Map(target, sorted)) => {
            let map = downcast::<MapArray>(array, to)?;
            adapt_map(map, entries, target, *sorted, path, absent)
        }
        _ => promote(array, to.data_type(), path),
    }
}

/// Values that the table's schema forbids.
fn unfit(path: &str, error: &arrow::error::ArrowError) -> Error {
    Error::corrupt(format!("column {path}: {error}"))
}

fn downcast<'a, T: Array + 'static>(array: &'a ArrayRef, field: &Field) -> Result<&'a T> {
    array.as_any().downcast_ref::<T>().ok_or_else(|| {
        Error::internal(format!(
            "array of {} is not what its type says",
            field.name()
        ))
    })
}

fn adapt_struct(
    array: &StructArray,
    members: &Fields,
    fields: &Fields,
    path: &str,
    absent: &Absent,
) -> Result<ArrayRef> {
    let mut columns = Vec::with_capacity(fields.len());
    for field in fields {
        let id = field_id(field);
        let found = members
            .iter()
            .zip(array.columns())
            .find(|(member, _)| id.is_some() && field_id(member) == id)
            .filter(|_| !id.is_some_and(|id| absent.overrides(id)));
        columns.push(match found {
            Some((member, column)) => {
                let path = format!("{path}.{}", field.name());
                adapt(column, member, field, &path, absent)?
            }
            None => absent.array(field, array.len(), array.nulls())?,
        });
    }
    relabelled(&mut columns, fields)?;
    let adapted = StructArray::try_new_with_length(
        fields.clone(),
        columns,
        array.nulls().cloned(),
        array.len(),
    );
    Ok(Arc::new(adapted.map_err(|error| unfit(path, &error))?))
}

fn adapt_map(
    array: &MapArray,
    from: &FieldRef,
    to: &FieldRef,
    sorted: bool,
    path: &str,
    absent: &Absent,
) -> Result<ArrayRef> {
    let (DataType::Struct(source), DataType::Struct(target)) = (from.data_type(), to.data_type())
    else {
        return Err(Error::internal(format!("map {path} without entries")));
    };
    let mut columns = Vec::with_capacity(2);
    for ((f, t), column) in source.iter().zip(target).zip(array.entries().columns()) {
        let path = format!("{path}.{}", t.name());
        columns.push(adapt(column, f, t, &path, absent)?);
    }
    relabelled(&mut columns, target)?;
    let entries =
        StructArray::try_new_with_length(target.clone(), columns, None, array.entries().len());
    let map = MapArray::try_new(
        Arc::clone(to),
        array.offsets().clone(),
        entries.map_err(|error| unfit(path, &error))?,
        array.nulls().cloned(),
        sorted,
    );
    Ok(Arc::new(map.map_err(|error| unfit(path, &error))?))
}

/// Gives each column the type of its field where they differ in names and metadata only.
fn relabelled(columns: &mut [ArrayRef], fields: &Fields) -> Result<()> {
    for (column, field) in columns.iter_mut().zip(fields) {
        *column = relabel(column, field.data_type())?;
    }
    Ok(())
}

/// Whether nested fields agree in ids too, so that the array may be taken as it is.
fn same_ids(from: &Field, to: &Field) -> bool {
    match (from.data_type(), to.data_type()) {
        (DataType::Struct(a), DataType::Struct(b)) => {
            a.len() == b.len()
                && a.iter()
                    .zip(b)
                    .all(|(x, y)| field_id(x) == field_id(y) && same_ids(x, y))
        }
        (DataType::List(a), DataType::List(b)) | (DataType::Map(a, _), DataType::Map(b, _)) => {
            same_ids(a, b)
        }
        _ => true,
    }
}

/// Relabels an array whose layout is right but whose nested field names or metadata differ from the target's.
pub(in crate::table) fn relabel(array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    if array.data_type() == to {
        return Ok(Arc::clone(array));
    }
    let data = array.to_data().into_builder().data_type(to.clone());
    let children = array.to_data().child_data().to_vec();
    let relabelled = match to {
        DataType::List(f)
        | DataType::Map(f, _)
        | DataType::LargeList(f)
        | DataType::FixedSizeList(f, _) => vec![relabel_child(&children, 0, f.data_type())?],
        DataType::Struct(fields) => fields
            .iter()
            .enumerate()
            .map(|(i, f)| relabel_child(&children, i, f.data_type()))
            .collect::<Result<_>>()?,
        _ => children,
    };
    Ok(make_array(data.child_data(relabelled).build()?))
}

fn relabel_child(
    children: &[arrow::array::ArrayData],
    index: usize,
    to: &DataType,
) -> Result<arrow::array::ArrayData> {
    let child = children
        .get(index)
        .ok_or_else(|| Error::internal("nested array without its child"))?;
    Ok(relabel(&make_array(child.clone()), to)?.to_data())
}
