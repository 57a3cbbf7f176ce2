//! Variants as JSON text. Data files hold them as a group of metadata and value, some of whose members may be
//! stored as columns of their own; a group that says two things about one member is refused.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, AsArray, StringBuilder, StructArray};
use arrow::error::ArrowError;
use parquet_variant_compute::{VariantArray, unshred_variant};
use parquet_variant_json::VariantToJson as _;

use crate::error::{Error, Result};

/// The values as JSON text. Errors: Corrupt, naming the column, for what is no variant.
pub(super) fn texts(array: &ArrayRef, path: &str) -> Result<ArrayRef> {
    let damaged =
        |why: &dyn std::fmt::Display| Error::corrupt(format!("column {path}: no variant: {why}"));
    // The decoder indexes into what the bytes say; on damaged ones it may panic.
    match catch_unwind(AssertUnwindSafe(|| decode(array))) {
        Ok(Ok(texts)) => Ok(texts),
        Ok(Err(error)) => Err(damaged(&error)),
        Err(_) => Err(damaged(&"its bytes are damaged")),
    }
}

fn decode(array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    let whole = array.as_struct_opt().is_some_and(|group| {
        let typed = group.column_by_name("typed_value");
        typed.is_none() && group.column_by_name("value").is_none()
    });
    if whole {
        return Err(ArrowError::InvalidArgumentError(
            "the group has no value".to_owned(),
        ));
    }
    if let Some(group) = array.as_struct_opt() {
        check_members(group)?;
    }
    let variants = unshred_variant(&VariantArray::try_new(array.as_ref())?)?;
    let mut texts = StringBuilder::new();
    for row in 0..variants.len() {
        if variants.is_null(row) {
            texts.append_null();
        } else {
            texts.append_value(variants.try_value(row)?.to_json_string()?);
        }
    }
    Ok(Arc::new(texts.finish()))
}

/// Members that are stored as columns are groups that are there in every row: one that is NULL says neither that the
/// member is absent nor that it is null.
fn check_members(group: &StructArray) -> Result<(), ArrowError> {
    let Some(typed) = group.column_by_name("typed_value") else {
        return Ok(());
    };
    if let Some(object) = typed.as_struct_opt() {
        for (field, member) in object.fields().iter().zip(object.columns()) {
            if (0..object.len()).any(|row| object.is_valid(row) && member.is_null(row)) {
                return Err(ArrowError::InvalidArgumentError(format!(
                    "the group of the member '{}' is null",
                    field.name()
                )));
            }
            member.as_struct_opt().map_or(Ok(()), check_members)?;
        }
    } else if let Some(list) = typed.as_list_opt::<i32>() {
        let elements = list.values();
        if elements.null_count() > 0 {
            return Err(ArrowError::InvalidArgumentError(
                "the group of an element is null".to_owned(),
            ));
        }
        elements.as_struct_opt().map_or(Ok(()), check_members)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
