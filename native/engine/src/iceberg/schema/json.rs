//! The JSON form of schemas and types (Iceberg spec, appendix C). Blanks inside `decimal(9, 2)` and
//! `fixed[ 16 ]` are legal.

use std::collections::BTreeSet;

use serde_json::{Map, Value as Json, json};

use super::{Field, MAX_DEPTH, Schema, Type};
use crate::error::{Error, Result};
use crate::iceberg::json::Object;

impl Schema {
    /// Reads a schema. Errors: Corrupt names the key.
    pub fn from_json(json: &Json) -> Result<Schema> {
        let object = Object::new(json, "schema")?;
        if object.str("type")? != "struct" {
            return Err(object.wrong("type", "'struct'"));
        }
        let schema = Schema {
            schema_id: object.opt_i32("schema-id")?.unwrap_or(0),
            fields: fields(object.array("fields")?, 0)?,
            identifier_field_ids: object.ids("identifier-field-ids")?,
        };
        let mut seen = BTreeSet::new();
        let mut twice = None;
        schema.visit(&mut |field| {
            if !seen.insert(field.id) {
                twice = Some(field.id);
            }
        });
        match twice {
            Some(id) => Err(Error::corrupt(format!(
                "schema: field id {id} is used twice"
            ))),
            None => Ok(schema),
        }
    }

    /// The JSON of this schema.
    pub fn to_json(&self) -> Json {
        let mut map = struct_json(&self.fields);
        map.insert("schema-id".into(), self.schema_id.into());
        if !self.identifier_field_ids.is_empty() {
            map.insert(
                "identifier-field-ids".into(),
                self.identifier_field_ids.clone().into(),
            );
        }
        Json::Object(map)
    }

    /// Refuses names that are taken twice, also through dots (`a.b` beside `a` with a member `b`).
    pub(in crate::iceberg) fn check_names(&self) -> Result<()> {
        fn walk(
            prefix: &str,
            fields: &mut dyn Iterator<Item = &Field>,
            names: &mut BTreeSet<String>,
        ) -> Result<()> {
            for field in fields {
                let name = if prefix.is_empty() {
                    field.name.clone()
                } else {
                    format!("{prefix}.{}", field.name)
                };
                walk(&name, &mut field.ty.children(), names)?;
                if name.is_empty() {
                    return Err(Error::invalid_input("a column without a name"));
                }
                if !names.insert(name.clone()) {
                    return Err(Error::invalid_input(format!(
                        "column '{name}' is named twice"
                    )));
                }
            }
            Ok(())
        }
        walk("", &mut self.fields.iter(), &mut BTreeSet::new())
    }
}

fn fields(list: &[Json], depth: usize) -> Result<Vec<Field>> {
    list.iter()
        .map(|json| {
            let object = Object::new(json, "schema field")?;
            let name = object.str("name")?;
            let mut field = Field::new(
                object.i32("id")?,
                name,
                object.opt_bool("required")?.unwrap_or(false),
                parse(object.required("type")?, depth + 1).map_err(|e| e.with("column", name))?,
            );
            field.doc = object.opt_str("doc")?.map(str::to_owned);
            field.initial_default = object.get("initial-default").cloned();
            field.write_default = object.get("write-default").cloned();
            Ok(field)
        })
        .collect()
}

fn parse(json: &Json, depth: usize) -> Result<Type> {
    if depth > MAX_DEPTH {
        return Err(Error::corrupt(format!(
            "schema: types nest deeper than {MAX_DEPTH}"
        )));
    }
    if let Json::String(text) = json {
        return Ok(primitive(text).unwrap_or_else(|| Type::Opaque(json.clone())));
    }
    let object = Object::new(json, "schema type")?;
    Ok(match object.str("type")? {
        "struct" => Type::Struct(fields(object.array("fields")?, depth)?),
        "list" => Type::List(Box::new(Field::new(
            object.i32("element-id")?,
            "element",
            object.opt_bool("element-required")?.unwrap_or(false),
            parse(object.required("element")?, depth + 1)?,
        ))),
        "map" => Type::Map {
            key: Box::new(Field::new(
                object.i32("key-id")?,
                "key",
                true,
                parse(object.required("key")?, depth + 1)?,
            )),
            value: Box::new(Field::new(
                object.i32("value-id")?,
                "value",
                object.opt_bool("value-required")?.unwrap_or(false),
                parse(object.required("value")?, depth + 1)?,
            )),
        },
        _ => Type::Opaque(json.clone()),
    })
}

fn primitive(text: &str) -> Option<Type> {
    let text = text.trim();
    Some(match text {
        "boolean" => Type::Boolean,
        "int" => Type::Int,
        "long" => Type::Long,
        "float" => Type::Float,
        "double" => Type::Double,
        "date" => Type::Date,
        "time" => Type::Time,
        "timestamp" => Type::Timestamp,
        "timestamptz" => Type::TimestampTz,
        "timestamp_ns" => Type::TimestampNs,
        "timestamptz_ns" => Type::TimestampTzNs,
        "unknown" => Type::Unknown,
        "variant" => Type::Variant,
        "string" => Type::String,
        "uuid" => Type::Uuid,
        "binary" => Type::Binary,
        _ => return parameterised(text),
    })
}

fn parameterised(text: &str) -> Option<Type> {
    if is_shape(text, "geometry") {
        return Some(Type::Geometry(text.to_owned()));
    }
    if is_shape(text, "geography") {
        return Some(Type::Geography(text.to_owned()));
    }
    if let Some(length) = text.strip_prefix("fixed") {
        let length = length
            .trim()
            .strip_prefix('[')?
            .strip_suffix(']')?
            .trim()
            .parse()
            .ok()?;
        return Some(Type::Fixed(length));
    }
    let (precision, scale) = text
        .strip_prefix("decimal")?
        .trim()
        .strip_prefix('(')?
        .strip_suffix(')')?
        .split_once(',')?;
    let (precision, scale): (u8, u8) = (precision.trim().parse().ok()?, scale.trim().parse().ok()?);
    ((1..=38).contains(&precision) && scale <= precision)
        .then_some(Type::Decimal { precision, scale })
}

/// Whether the text names a type of shapes: alone, or with a reference system and more in brackets.
fn is_shape(text: &str, name: &str) -> bool {
    text.strip_prefix(name).map(str::trim).is_some_and(|rest| {
        rest.is_empty() || (rest.starts_with('(') && rest.ends_with(')') && rest.len() > 2)
    })
}

fn struct_json(fields: &[Field]) -> Map<String, Json> {
    let mut map = Map::new();
    map.insert("type".into(), "struct".into());
    map.insert(
        "fields".into(),
        fields.iter().map(field_json).collect::<Vec<_>>().into(),
    );
    map
}

fn field_json(field: &Field) -> Json {
    let mut map = Map::new();
    map.insert("id".into(), field.id.into());
    map.insert("name".into(), field.name.as_str().into());
    map.insert("required".into(), field.required.into());
    map.insert("type".into(), type_json(&field.ty));
    let optional = [
        ("doc", field.doc.as_deref().map(Json::from)),
        ("initial-default", field.initial_default.clone()),
        ("write-default", field.write_default.clone()),
    ];
    map.extend(
        optional
            .into_iter()
            .filter_map(|(key, value)| Some((key.to_owned(), value?))),
    );
    Json::Object(map)
}

/// The JSON of a type.
pub(super) fn type_json(ty: &Type) -> Json {
    match ty {
        Type::Struct(fields) => Json::Object(struct_json(fields)),
        Type::List(element) => json!({
            "type": "list", "element-id": element.id, "element-required": element.required, "element": type_json(&element.ty),
        }),
        Type::Map { key, value } => json!({
            "type": "map", "key-id": key.id, "key": type_json(&key.ty),
            "value-id": value.id, "value-required": value.required, "value": type_json(&value.ty),
        }),
        Type::Opaque(json) => json.clone(),
        primitive => primitive.to_string().into(),
    }
}

impl Type {
    /// The JSON of this type.
    pub fn to_json(&self) -> Json {
        type_json(self)
    }

    /// Reads a type. Errors: Corrupt names the key.
    pub fn from_json(json: &Json) -> Result<Type> {
        parse(json, 0)
    }
}
