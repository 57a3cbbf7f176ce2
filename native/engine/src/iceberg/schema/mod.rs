//! Iceberg schemas: fields with ids, types, and their JSON form. A type this engine does not know is
//! opaque: the table stays readable, only the column is refused. Arrow mappings are in `arrow`.
//! Columns are looked up by field id; names matter only to people.

mod arrow;
mod default;
mod json;
#[cfg(test)]
mod tests;

use std::fmt;

use serde_json::Value as Json;

use super::value::Value;
use crate::error::{Error, Result};

pub use arrow::{DOC_KEY, FIELD_ID_KEY, field_id, vector_dimensions};
pub(crate) use arrow::{check_supported, is_uuid, is_variant, type_name};

/// The greatest field id that a table may assign (the ids above are reserved).
pub const MAX_FIELD_ID: i32 = 2_147_483_447;

/// How deep types may nest.
pub(crate) const MAX_DEPTH: usize = 64;

/// The type of a field.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Type {
    Boolean,
    Int,
    Long,
    Float,
    Double,
    Decimal {
        precision: u8,
        scale: u8,
    },
    Date,
    /// Microseconds since midnight.
    Time,
    Timestamp,
    TimestampTz,
    /// Nanoseconds, as the next.
    TimestampNs,
    TimestampTzNs,
    String,
    Uuid,
    /// Bytes of this length.
    Fixed(u32),
    Binary,
    Struct(Vec<Field>),
    /// The element is a field named `element`.
    List(Box<Field>),
    /// Fields named `key` and `value`; the key is required.
    Map {
        key: Box<Field>,
        value: Box<Field>,
    },
    /// No value but NULL, and no column in any file.
    Unknown,
    /// Values that carry their types; read as JSON text.
    Variant,
    /// Shapes as WKB, by the text of the type with its reference system.
    Geometry(String),
    /// Shapes on the globe as WKB, by the text of the type.
    Geography(String),
    /// A type this engine does not know, as its JSON.
    Opaque(Json),
}

impl Type {
    /// Whether this is a moment, of any precision, with or without zone.
    pub fn is_timestamp(&self) -> bool {
        matches!(
            self,
            Type::Timestamp | Type::TimestampTz | Type::TimestampNs | Type::TimestampTzNs
        )
    }

    /// Whether values of this type have a single-value form that this engine knows.
    pub fn is_primitive(&self) -> bool {
        !matches!(
            self,
            Type::Struct(_)
                | Type::List(_)
                | Type::Map { .. }
                | Type::Unknown
                | Type::Variant
                | Type::Geometry(_)
                | Type::Geography(_)
                | Type::Opaque(_)
        )
    }

    /// Whether the type is or holds one that this engine reads at most.
    pub fn is_read_only(&self) -> bool {
        match self {
            Type::TimestampNs
            | Type::TimestampTzNs
            | Type::Unknown
            | Type::Variant
            | Type::Geometry(_)
            | Type::Geography(_)
            | Type::Opaque(_) => true,
            _ => self.children().any(|f| f.ty.is_read_only()),
        }
    }

    /// Whether the type is or holds one that this engine does not know.
    pub fn has_opaque(&self) -> bool {
        match self {
            Type::Opaque(_) => true,
            _ => self.children().any(|f| f.ty.has_opaque()),
        }
    }

    /// The fields directly inside this type.
    pub fn children(&self) -> impl Iterator<Item = &Field> {
        let (fields, pair): (&[Field], [Option<&Field>; 2]) = match self {
            Type::Struct(fields) => (fields, [None, None]),
            Type::List(element) => (&[], [Some(element), None]),
            Type::Map { key, value } => (&[], [Some(key), Some(value)]),
            _ => (&[], [None, None]),
        };
        fields.iter().chain(pair.into_iter().flatten())
    }

    /// Whether a column of this type reads files that were written with `file` (Iceberg's promotions).
    pub fn reads(&self, file: &Type) -> bool {
        match (self, file) {
            (Type::Long, Type::Int) | (Type::Double, Type::Float) => true,
            (
                Type::Decimal {
                    precision: p,
                    scale: s,
                },
                Type::Decimal {
                    precision: fp,
                    scale: fs,
                },
            ) => s == fs && p >= fp,
            _ => self == file,
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Boolean => f.write_str("boolean"),
            Type::Int => f.write_str("int"),
            Type::Long => f.write_str("long"),
            Type::Float => f.write_str("float"),
            Type::Double => f.write_str("double"),
            Type::Decimal { precision, scale } => write!(f, "decimal({precision}, {scale})"),
            Type::Date => f.write_str("date"),
            Type::Time => f.write_str("time"),
            Type::Timestamp => f.write_str("timestamp"),
            Type::TimestampTz => f.write_str("timestamptz"),
            Type::TimestampNs => f.write_str("timestamp_ns"),
            Type::TimestampTzNs => f.write_str("timestamptz_ns"),
            Type::Unknown => f.write_str("unknown"),
            Type::Variant => f.write_str("variant"),
            Type::Geometry(text) | Type::Geography(text) => f.write_str(text),
            Type::String => f.write_str("string"),
            Type::Uuid => f.write_str("uuid"),
            Type::Fixed(length) => write!(f, "fixed[{length}]"),
            Type::Binary => f.write_str("binary"),
            Type::Struct(fields) => {
                f.write_str("struct<")?;
                for (i, field) in fields.iter().enumerate() {
                    let comma = if i == 0 { "" } else { ", " };
                    write!(f, "{comma}{}: {}", field.name, field.ty)?;
                }
                f.write_str(">")
            }
            Type::List(element) => write!(f, "list<{}>", element.ty),
            Type::Map { key, value } => write!(f, "map<{}, {}>", key.ty, value.ty),
            Type::Opaque(Json::String(name)) => f.write_str(name),
            Type::Opaque(other) => write!(f, "{other}"),
        }
    }
}

/// A column, a struct member, a list element, or a map key or value.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Unique in the table for ever.
    pub id: i32,
    /// The name people see.
    pub name: String,
    /// Whether NULL is forbidden.
    pub required: bool,
    /// The type.
    pub ty: Type,
    /// A comment.
    pub doc: Option<String>,
    /// What rows read that were written before the field existed.
    pub initial_default: Option<Json>,
    /// What writers put that give no value.
    pub write_default: Option<Json>,
}

impl Field {
    /// A field without comment and defaults.
    pub fn new(id: i32, name: impl Into<String>, required: bool, ty: Type) -> Self {
        Field {
            id,
            name: name.into(),
            required,
            ty,
            doc: None,
            initial_default: None,
            write_default: None,
        }
    }

    /// The initial default as a value. Errors: Unsupported for nested defaults, Corrupt for a wrong one.
    pub fn initial_value(&self) -> Result<Option<Value>> {
        let Some(json) = &self.initial_default else {
            return Ok(None);
        };
        super::value::from_json(&self.ty, json)
            .map(Some)
            .map_err(|e| e.with("column", &self.name))
    }
}

/// The columns of a table at one time.
#[derive(Clone, Debug, PartialEq)]
pub struct Schema {
    /// The id of this schema in its table.
    pub schema_id: i32,
    /// The columns in order.
    pub fields: Vec<Field>,
    /// Ids of the fields that identify a row.
    pub identifier_field_ids: Vec<i32>,
}

impl Schema {
    /// A schema without identifier fields. Errors: InvalidInput for names that are taken twice.
    pub fn new(schema_id: i32, fields: Vec<Field>) -> Result<Self> {
        let schema = Schema {
            schema_id,
            fields,
            identifier_field_ids: Vec::new(),
        };
        schema.check_names()?;
        Ok(schema)
    }

    /// The field with this id, at any depth.
    pub fn field(&self, id: i32) -> Option<&Field> {
        find(&self.fields, id)
    }

    /// The top-level column with exactly this name.
    pub fn column(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|f| f.name == name)
    }

    /// The top-level column with this name in any case. Errors: InvalidInput for a name that several columns have.
    pub fn column_in_any_case(&self, name: &str) -> Result<Option<&Field>> {
        let wanted = name.to_lowercase();
        let same = |field: &&Field| field.name.to_lowercase() == wanted;
        let found: Vec<&Field> = self.fields.iter().filter(same).collect();
        match found.as_slice() {
            [] => Ok(None),
            [only] => Ok(Some(only)),
            several => {
                let names: Vec<&str> = several.iter().map(|field| field.name.as_str()).collect();
                Err(Error::invalid_input(format!(
                    "column {name} is ambiguous, it may be one of {}",
                    names.join(", ")
                )))
            }
        }
    }

    /// The names from the top-level column down to the field with this id.
    pub fn path(&self, id: i32) -> Option<Vec<&str>> {
        fn walk(field: &Field, id: i32) -> Option<Vec<&str>> {
            if field.id == id {
                return Some(vec![field.name.as_str()]);
            }
            let mut rest = field.ty.children().find_map(|child| walk(child, id))?;
            rest.insert(0, &field.name);
            Some(rest)
        }
        self.fields.iter().find_map(|field| walk(field, id))
    }

    /// The greatest field id in use; 0 for no columns.
    pub fn highest_field_id(&self) -> i32 {
        let mut highest = 0;
        self.visit(&mut |field| highest = highest.max(field.id));
        highest
    }

    /// Calls `f` for every field at every depth, parents first.
    pub fn visit<'a>(&'a self, f: &mut impl FnMut(&'a Field)) {
        fn walk<'a>(field: &'a Field, f: &mut impl FnMut(&'a Field)) {
            f(field);
            field.ty.children().for_each(|child| walk(child, f));
        }
        self.fields.iter().for_each(|field| walk(field, f));
    }
}

fn find(fields: &[Field], id: i32) -> Option<&Field> {
    fn within(field: &Field, id: i32) -> Option<&Field> {
        if field.id == id {
            Some(field)
        } else {
            field.ty.children().find_map(|child| within(child, id))
        }
    }
    fields.iter().find_map(|field| within(field, id))
}
