//! Fits what a data file holds to what the table's schema says, by field id at every depth: renamed,
//! reordered, dropped, added and widened columns. Pure functions on Arrow arrays.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ListArray, MapArray, StructArray, make_array, new_null_array};
use arrow::datatypes::{DataType, Field, FieldRef, Fields};

use crate::error::{Error, Result};
use crate::iceberg::schema::field_id;

/// The array as the target field wants it. Errors: Unsupported where a file's type cannot become the table's type.
pub(crate) fn adapt(array: &ArrayRef, from: &Field, to: &Field, path: &str) -> Result<ArrayRef> {
    if from.data_type() == to.data_type() && same_ids(from, to) {
        return Ok(Arc::clone(array));
    }
    match (from.data_type(), to.data_type()) {
        (DataType::Struct(_), DataType::Struct(fields)) => {
            adapt_struct(downcast::<StructArray>(array, to)?, fields, path)
        }
        (DataType::List(item), DataType::List(target)) => {
            let list = downcast::<ListArray>(array, to)?;
            let values = adapt(list.values(), item, target, path)?;
            Ok(Arc::new(ListArray::try_new(
                Arc::clone(target),
                list.offsets().clone(),
                values,
                list.nulls().cloned(),
            )?))
        }
        (DataType::Map(entries, _), DataType::Map(target, sorted)) => adapt_map(
            downcast::<MapArray>(array, to)?,
            entries,
            target,
            *sorted,
            path,
        ),
        (source, target) if widens(source, target) => Ok(arrow::compute::cast(array, target)?),
        (source, target) => Err(Error::unsupported(format!(
            "column {path} of type {target} is stored as {source}"
        ))),
    }
}

fn downcast<'a, T: Array + 'static>(array: &'a ArrayRef, field: &Field) -> Result<&'a T> {
    array.as_any().downcast_ref::<T>().ok_or_else(|| {
        Error::internal(format!(
            "array of {} is not what its type says",
            field.name()
        ))
    })
}

fn adapt_struct(array: &StructArray, fields: &Fields, path: &str) -> Result<ArrayRef> {
    let mut columns = Vec::with_capacity(fields.len());
    for field in fields {
        let found = array
            .fields()
            .iter()
            .zip(array.columns())
            .find(|(f, _)| field_id(f).is_some() && field_id(f) == field_id(field));
        columns.push(match found {
            Some((f, column)) => adapt(column, f, field, &format!("{path}.{}", field.name()))?,
            None => new_null_array(field.data_type(), array.len()),
        });
    }
    Ok(Arc::new(StructArray::try_new_with_length(
        fields.clone(),
        columns,
        array.nulls().cloned(),
        array.len(),
    )?))
}

fn adapt_map(
    array: &MapArray,
    from: &FieldRef,
    to: &FieldRef,
    sorted: bool,
    path: &str,
) -> Result<ArrayRef> {
    let (DataType::Struct(source), DataType::Struct(target)) = (from.data_type(), to.data_type())
    else {
        return Err(Error::internal(format!("map {path} without entries")));
    };
    let mut columns = Vec::with_capacity(2);
    for ((f, t), column) in source.iter().zip(target).zip(array.entries().columns()) {
        columns.push(adapt(column, f, t, &format!("{path}.{}", t.name()))?);
    }
    let entries =
        StructArray::try_new_with_length(target.clone(), columns, None, array.entries().len())?;
    Ok(Arc::new(MapArray::try_new(
        Arc::clone(to),
        array.offsets().clone(),
        entries,
        array.nulls().cloned(),
        sorted,
    )?))
}

/// Iceberg's promotions, and the physical spellings of one logical type.
fn widens(from: &DataType, to: &DataType) -> bool {
    use DataType as D;
    match (from, to) {
        (a, b) if a == b => true,
        (D::Int8 | D::Int16 | D::Int32, D::Int64)
        | (D::Int8 | D::Int16, D::Int32)
        | (D::Float32, D::Float64) => true,
        (D::Decimal128(p, s), D::Decimal128(q, t)) => s == t && p <= q,
        (D::Utf8 | D::LargeUtf8 | D::Utf8View | D::Binary, D::Utf8) => true,
        (D::Binary | D::LargeBinary | D::BinaryView | D::Utf8, D::Binary) => true,
        (D::Timestamp(_, a), D::Timestamp(_, b)) => a.is_some() == b.is_some(),
        (D::Time32(_) | D::Time64(_), D::Time64(_)) => true,
        _ => false,
    }
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
pub(crate) fn relabel(array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
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
