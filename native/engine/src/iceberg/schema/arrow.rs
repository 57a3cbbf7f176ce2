//! Between Iceberg and Arrow schemas. Ids of new tables are assigned as Java does: all fields of one
//! level first, then what is inside them. Arrow types without a sound Iceberg counterpart are refused
//! by column name.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use arrow::datatypes::{
    DataType, Field as ArrowField, FieldRef, Fields, Schema as ArrowSchema, TimeUnit,
};

use super::{Field, MAX_DEPTH, MAX_FIELD_ID, Schema, Type};
use crate::error::{Error, Result};

/// The key of field metadata that carries the Iceberg field id.
pub const FIELD_ID_KEY: &str = "PARQUET:field_id";
/// The key of field metadata that carries the comment of a new table's column.
pub const DOC_KEY: &str = "doc";
const EXTENSION_KEY: &str = "ARROW:extension:name";
const UUID_EXTENSION: &str = "arrow.uuid";
/// The key of field metadata that names an Iceberg type which its Arrow type does not tell.
const TYPE_KEY: &str = "benostream.type";
/// The key of field metadata that names an Iceberg type which cannot be read.
const UNSUPPORTED_KEY: &str = "benostream.unsupported";

/// The Iceberg field id that an Arrow field carries.
pub fn field_id(field: &ArrowField) -> Option<i32> {
    field.metadata().get(FIELD_ID_KEY)?.parse().ok()
}

/// Whether an Arrow field of 16 bytes is marked as a uuid.
pub(crate) fn is_uuid(field: &ArrowField) -> bool {
    *field.data_type() == DataType::FixedSizeBinary(16)
        && field
            .metadata()
            .get(EXTENSION_KEY)
            .is_some_and(|e| e == UUID_EXTENSION)
}

/// Whether an Arrow field of text holds variants.
pub(crate) fn is_variant(field: &ArrowField) -> bool {
    let name = field.metadata().get(TYPE_KEY);
    name.is_some_and(|name| name == "variant")
}

/// Refuses a column whose type, or one inside it, cannot be read. Errors: Unsupported names column and type.
pub(crate) fn check_supported(column: &ArrowField) -> Result<()> {
    fn unsupported(field: &ArrowField) -> Option<&str> {
        let own = field.metadata().get(UNSUPPORTED_KEY).map(String::as_str);
        own.or_else(|| match field.data_type() {
            DataType::Struct(fields) => fields.iter().find_map(|field| unsupported(field)),
            DataType::List(inner) | DataType::Map(inner, _) => unsupported(inner),
            _ => None,
        })
    }
    match unsupported(column) {
        None => Ok(()),
        Some(ty) => Err(Error::unsupported(format!(
            "column '{}' of type {ty} is not supported",
            column.name()
        ))),
    }
}

/// The name of a type as users know it: Iceberg's where it has one.
pub(crate) fn type_name(data_type: &DataType) -> String {
    let column = ArrowField::new("column", data_type.clone(), true);
    let schema = Schema::from_arrow(&ArrowSchema::new(vec![column]), 1);
    match schema.as_ref().map(|(schema, _)| schema.fields.as_slice()) {
        Ok([field]) => field.ty.to_string(),
        _ => data_type.to_string(),
    }
}

/// The dimensions of the top-level columns that are fixed-size lists of floats, by column name.
pub fn vector_dimensions(schema: &ArrowSchema) -> BTreeMap<String, u32> {
    let dimension = |field: &FieldRef| match field.data_type() {
        DataType::FixedSizeList(element, length) if *element.data_type() == DataType::Float32 => {
            Some((field.name().clone(), u32::try_from(*length).ok()?))
        }
        _ => None,
    };
    schema.fields().iter().filter_map(dimension).collect()
}

impl Schema {
    /// The schema of a new table: ids from `first_id` on. Gives the last id used too.
    /// Errors: InvalidInput names the column whose type Iceberg lacks, or the name that is taken twice.
    pub fn from_arrow(schema: &ArrowSchema, first_id: i32) -> Result<(Schema, i32)> {
        let mut ids = Ids { next: first_id };
        let fields = ids.fields(schema.fields(), "", 0)?;
        Ok((Schema::new(0, fields)?, ids.next - 1))
    }

    /// The Arrow schema in normal form, with ids at every level. A column of a type this engine does not know
    /// is there, and [`check_supported`] refuses it.
    pub fn to_arrow(&self) -> Result<ArrowSchema> {
        Ok(ArrowSchema::new(
            self.fields
                .iter()
                .map(Field::to_arrow)
                .collect::<Result<Vec<_>>>()?,
        ))
    }
}

impl Field {
    /// The Arrow field in normal form. Errors: Unsupported names a column that is too long.
    pub fn to_arrow(&self) -> Result<ArrowField> {
        let ty = self.ty.to_arrow().map_err(|e| match e.kind() {
            crate::error::ErrorKind::Unsupported => Error::unsupported(format!(
                "column '{}' of type {} is not supported",
                self.name, self.ty
            )),
            _ => e,
        })?;
        let mut metadata = HashMap::from([(FIELD_ID_KEY.to_owned(), self.id.to_string())]);
        let (key, value) = match &self.ty {
            Type::Uuid => (EXTENSION_KEY, UUID_EXTENSION.to_owned()),
            Type::Unknown | Type::Variant | Type::Geometry(_) | Type::Geography(_) => {
                (TYPE_KEY, self.ty.to_string())
            }
            Type::Opaque(_) => (UNSUPPORTED_KEY, self.ty.to_string()),
            _ => return Ok(ArrowField::new(&self.name, ty, !self.required).with_metadata(metadata)),
        };
        metadata.insert(key.to_owned(), value);
        Ok(ArrowField::new(&self.name, ty, !self.required).with_metadata(metadata))
    }
}

impl Type {
    /// The Arrow type in normal form: Null for one this engine does not know. Errors: Unsupported for a fixed that
    /// is too long.
    pub fn to_arrow(&self) -> Result<DataType> {
        Ok(match self {
            Type::Boolean => DataType::Boolean,
            Type::Int => DataType::Int32,
            Type::Long => DataType::Int64,
            Type::Float => DataType::Float32,
            Type::Double => DataType::Float64,
            Type::Decimal { precision, scale } => {
                DataType::Decimal128(*precision, scale.cast_signed())
            }
            Type::Date => DataType::Date32,
            Type::Time => DataType::Time64(TimeUnit::Microsecond),
            Type::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, None),
            Type::TimestampTz => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
            Type::TimestampNs => DataType::Timestamp(TimeUnit::Nanosecond, None),
            Type::TimestampTzNs => DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into())),
            Type::String | Type::Variant => DataType::Utf8,
            Type::Uuid => DataType::FixedSizeBinary(16),
            Type::Fixed(length) => {
                let length = i32::try_from(*length)
                    .map_err(|_| Error::unsupported(format!("type {self} is too long")))?;
                DataType::FixedSizeBinary(length)
            }
            Type::Binary | Type::Geometry(_) | Type::Geography(_) => DataType::Binary,
            Type::Struct(fields) => DataType::Struct(
                fields
                    .iter()
                    .map(Field::to_arrow)
                    .collect::<Result<Vec<_>>>()?
                    .into(),
            ),
            Type::List(element) => DataType::List(Arc::new(element.to_arrow()?)),
            Type::Map { key, value } => {
                let entries = DataType::Struct(vec![key.to_arrow()?, value.to_arrow()?].into());
                DataType::Map(
                    Arc::new(ArrowField::new("key_value", entries, false)),
                    false,
                )
            }
            Type::Unknown | Type::Opaque(_) => DataType::Null,
        })
    }
}

struct Ids {
    next: i32,
}

impl Ids {
    fn take(&mut self) -> Result<i32> {
        if self.next > MAX_FIELD_ID {
            return Err(Error::resource_exhausted("the table has no field ids left"));
        }
        self.next += 1;
        Ok(self.next - 1)
    }

    fn fields(&mut self, fields: &Fields, path: &str, depth: usize) -> Result<Vec<Field>> {
        let ids = fields
            .iter()
            .map(|_| self.take())
            .collect::<Result<Vec<_>>>()?;
        ids.into_iter()
            .zip(fields)
            .map(|(id, field)| {
                let path = if path.is_empty() {
                    field.name().clone()
                } else {
                    format!("{path}.{}", field.name())
                };
                let ty = self.of(field, field.data_type(), &path, depth + 1)?;
                let mut column = Field::new(id, field.name(), !field.is_nullable(), ty);
                column.doc = field.metadata().get(DOC_KEY).cloned();
                Ok(column)
            })
            .collect()
    }

    fn of(&mut self, field: &ArrowField, ty: &DataType, path: &str, depth: usize) -> Result<Type> {
        if depth > MAX_DEPTH {
            return Err(Error::invalid_input(format!(
                "column '{path}' nests deeper than {MAX_DEPTH}"
            )));
        }
        Ok(match ty {
            DataType::Struct(fields) => Type::Struct(self.fields(fields, path, depth)?),
            DataType::List(element)
            | DataType::LargeList(element)
            | DataType::ListView(element)
            | DataType::LargeListView(element)
            | DataType::FixedSizeList(element, _) => {
                let id = self.take()?;
                let inner = self.of(
                    element,
                    element.data_type(),
                    &format!("{path}.element"),
                    depth + 1,
                )?;
                Type::List(Box::new(Field::new(
                    id,
                    "element",
                    !element.is_nullable(),
                    inner,
                )))
            }
            DataType::Map(entries, _) => self.map(entries, path, depth)?,
            DataType::Dictionary(_, value) => self.of(field, value, path, depth + 1)?,
            other => primitive(field, other).map_err(|why| {
                Error::invalid_input(format!(
                    "column '{path}': Iceberg has no type for Arrow {other}{why}"
                ))
            })?,
        })
    }

    fn map(&mut self, entries: &ArrowField, path: &str, depth: usize) -> Result<Type> {
        let DataType::Struct(pair) = entries.data_type() else {
            return Err(Error::invalid_input(format!(
                "column '{path}': map entries are not a struct"
            )));
        };
        let [key, value] = pair.as_ref() else {
            return Err(Error::invalid_input(format!(
                "column '{path}': map entries are not a key and a value"
            )));
        };
        let (key_id, value_id) = (self.take()?, self.take()?);
        let key = self.of(key, key.data_type(), &format!("{path}.key"), depth + 1)?;
        let inner = self.of(
            value,
            value.data_type(),
            &format!("{path}.value"),
            depth + 1,
        )?;
        Ok(Type::Map {
            key: Box::new(Field::new(key_id, "key", true, key)),
            value: Box::new(Field::new(value_id, "value", !value.is_nullable(), inner)),
        })
    }
}

/// The Iceberg type of a primitive Arrow type, or a hint for the message.
fn primitive(field: &ArrowField, ty: &DataType) -> Result<Type, &'static str> {
    Ok(match ty {
        DataType::Boolean => Type::Boolean,
        DataType::Int8 | DataType::Int16 | DataType::Int32 => Type::Int,
        DataType::Int64 => Type::Long,
        DataType::Float16 | DataType::Float32 => Type::Float,
        DataType::Float64 => Type::Double,
        DataType::Decimal32(p, s)
        | DataType::Decimal64(p, s)
        | DataType::Decimal128(p, s)
        | DataType::Decimal256(p, s) => match u8::try_from(*s) {
            Ok(scale) if (1..=38).contains(p) && scale <= *p => Type::Decimal {
                precision: *p,
                scale,
            },
            _ => {
                return Err(
                    "; decimals have precision 1 to 38 and a scale from 0 to the precision",
                );
            }
        },
        DataType::Date32 | DataType::Date64 => Type::Date,
        DataType::Time32(_) | DataType::Time64(TimeUnit::Microsecond) => Type::Time,
        DataType::Timestamp(TimeUnit::Nanosecond, _) | DataType::Time64(_) => {
            return Err("; use microseconds");
        }
        DataType::Timestamp(_, None) => Type::Timestamp,
        DataType::Timestamp(_, Some(_)) => Type::TimestampTz,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Type::String,
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => Type::Binary,
        DataType::FixedSizeBinary(16) if is_uuid(field) => Type::Uuid,
        DataType::FixedSizeBinary(length) => {
            Type::Fixed(u32::try_from(*length).map_err(|_| "; its length is negative")?)
        }
        DataType::UInt8 | DataType::UInt16 | DataType::UInt32 | DataType::UInt64 => {
            return Err("; use a signed integer");
        }
        _ => return Err(""),
    })
}
