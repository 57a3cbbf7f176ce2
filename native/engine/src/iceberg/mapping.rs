//! Name mappings: the field ids of columns in files that hold none, found by name at every depth
//! (Iceberg spec, column projection). A name is one name, dots and all. Pure functions on Arrow schemas.

#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use arrow::datatypes::{DataType, Field as ArrowField, FieldRef, Fields, Schema as ArrowSchema};
use serde_json::Value as Json;

use super::json::Object;
use super::schema::{FIELD_ID_KEY, Field, MAX_DEPTH, Schema, field_id};
use crate::error::{Error, Result};

/// Which names mean which field ids.
#[derive(Clone, Debug, PartialEq)]
pub struct NameMapping {
    fields: Vec<MappedField>,
}

#[derive(Clone, Debug, PartialEq)]
struct MappedField {
    /// None: the column has no id, but fields inside it may be mapped.
    id: Option<i32>,
    names: Vec<String>,
    fields: Vec<MappedField>,
}

impl NameMapping {
    /// Reads the table property. Errors: Corrupt names what is wrong.
    pub fn parse(text: &str) -> Result<NameMapping> {
        let json: Json = serde_json::from_str(text)
            .map_err(|error| Error::corrupt(format!("name mapping: {error}")))?;
        let list = json
            .as_array()
            .ok_or_else(|| Error::corrupt("name mapping: it is no list"))?;
        let fields = mapped_fields(list, 0)?;
        Ok(NameMapping { fields })
    }

    /// The mapping that gives every field of a schema its own name.
    pub fn of(schema: &Schema) -> NameMapping {
        let fields = schema.fields.iter().map(MappedField::of).collect();
        NameMapping { fields }
    }

    /// A file's schema with the ids that its names mean.
    pub fn apply(&self, file: &ArrowSchema) -> ArrowSchema {
        ArrowSchema::new(with_ids(file.fields(), &self.fields))
    }
}

/// A Parquet file's schema with the ids that its columns have by their places: those a new table gives. What is
/// inside a column has the id of its name in `schema`.
pub fn ids_by_place(file: &ArrowSchema, schema: &Schema) -> ArrowSchema {
    let fields = file.fields().iter().zip(1..).map(|(field, id)| {
        let inside = schema.fields.iter().find(|column| column.id == id);
        let inside = inside.map(MappedField::of);
        let inside = inside.as_ref().map_or(&[][..], |mapped| &mapped.fields);
        with_id(field, Some(id), inside)
    });
    ArrowSchema::new(fields.collect::<Fields>())
}

/// An ORC or Avro file's schema with the ids that its columns have by their names in `schema`.
pub fn ids_by_name(file: &ArrowSchema, schema: &Schema) -> ArrowSchema {
    let named: Vec<MappedField> = schema.fields.iter().map(MappedField::of).collect();
    ArrowSchema::new(with_ids(file.fields(), &named))
}

/// Whether a field at any depth has an id.
pub fn has_ids(fields: &Fields) -> bool {
    let inside = |field: &FieldRef| match field.data_type() {
        DataType::Struct(fields) => has_ids(fields),
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::FixedSizeList(item, _)
        | DataType::Map(item, _) => has_ids(&Fields::from(vec![Arc::clone(item)])),
        _ => false,
    };
    fields
        .iter()
        .any(|field| field_id(field).is_some() || inside(field))
}

impl MappedField {
    fn of(field: &Field) -> MappedField {
        MappedField {
            id: Some(field.id),
            names: vec![field.name.clone()],
            fields: field.ty.children().map(MappedField::of).collect(),
        }
    }
}

fn mapped_fields(list: &[Json], depth: usize) -> Result<Vec<MappedField>> {
    if depth > MAX_DEPTH {
        return Err(Error::corrupt(format!(
            "name mapping: it nests deeper than {MAX_DEPTH}"
        )));
    }
    let mut seen = BTreeSet::new();
    let mut fields = Vec::with_capacity(list.len());
    for json in list {
        let object = Object::new(json, "name mapping")?;
        let mut names = Vec::new();
        for name in object.array("names")? {
            let name = name
                .as_str()
                .ok_or_else(|| object.wrong("names", "a list of strings"))?;
            if !seen.insert(name) {
                return Err(Error::corrupt(format!(
                    "name mapping: the name '{name}' is mapped twice"
                )));
            }
            names.push(name.to_owned());
        }
        let inside = match object.get("fields") {
            Some(Json::Array(inside)) => mapped_fields(inside, depth + 1)?,
            Some(_) => return Err(object.wrong("fields", "a list")),
            None => Vec::new(),
        };
        fields.push(MappedField {
            id: object.opt_i32("field-id")?,
            names,
            fields: inside,
        });
    }
    Ok(fields)
}

fn with_ids(fields: &Fields, mapped: &[MappedField]) -> Fields {
    let field = |field: &FieldRef| named(field, field.name(), mapped);
    fields.iter().map(field).collect()
}

/// The field with the id and the inner ids of the entry for `name`.
fn named(field: &FieldRef, name: &str, mapped: &[MappedField]) -> FieldRef {
    let entry = mapped
        .iter()
        .find(|entry| entry.names.iter().any(|known| known == name));
    match entry {
        Some(entry) => with_id(field, entry.id, &entry.fields),
        None => with_id(field, None, &[]),
    }
}

fn with_id(field: &FieldRef, id: Option<i32>, inside: &[MappedField]) -> FieldRef {
    let data_type = match field.data_type() {
        DataType::Struct(fields) => DataType::Struct(with_ids(fields, inside)),
        DataType::List(item) => DataType::List(named(item, "element", inside)),
        DataType::LargeList(item) => DataType::LargeList(named(item, "element", inside)),
        DataType::FixedSizeList(item, length) => {
            DataType::FixedSizeList(named(item, "element", inside), *length)
        }
        DataType::Map(entries, sorted) => DataType::Map(pair(entries, inside), *sorted),
        other => other.clone(),
    };
    let mut metadata: HashMap<String, String> = field.metadata().clone();
    if let Some(id) = id {
        metadata.insert(FIELD_ID_KEY.to_owned(), id.to_string());
    }
    let field = ArrowField::new(field.name(), data_type, field.is_nullable());
    Arc::new(field.with_metadata(metadata))
}

/// The entries of a map: whatever they are called, the first is the key and the second the value.
fn pair(entries: &FieldRef, inside: &[MappedField]) -> FieldRef {
    let DataType::Struct(fields) = entries.data_type() else {
        return Arc::clone(entries);
    };
    let names = ["key", "value"];
    let fields: Fields = fields
        .iter()
        .zip(names)
        .map(|(field, name)| named(field, name, inside))
        .collect();
    Arc::new(
        entries
            .as_ref()
            .clone()
            .with_data_type(DataType::Struct(fields)),
    )
}
