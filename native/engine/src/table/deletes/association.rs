//! Which delete files apply to which data files (Iceberg spec, "Scan planning"): by sequence number, partition, path
//! and, where they prove that no row can match, column bounds. Deletes are grouped once, so that planning
//! costs as much as its answer is long. Pure functions over manifest entries.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;

use super::bounds::{KeyBounds, overlap};
use super::equality::key_columns;
use super::position::{DELETE_PATH, spelling};
use crate::error::{Error, Result};
use crate::iceberg::document::Document;
use crate::iceberg::manifest::{DataContent, DataFile, Entry, PartitionValue};
use crate::iceberg::schema::{Field, Schema, Type};
use crate::iceberg::spec::PartitionSpec;
use crate::iceberg::value::{Value, encode};
use crate::table::split::{DeleteKind, DeleteRef};

/// A spec and the partition tuple in it, in a form that equal tuples share.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Partition {
    spec_id: i32,
    values: Vec<Option<Vec<u8>>>,
}

/// What equality deletes reach: one partition, or every file (None).
type Reach = Option<Partition>;

/// A delete file with what is compared at each look-up.
struct Delete {
    reference: Arc<DeleteRef>,
    sequence_number: i64,
    partition: Partition,
    /// The least and greatest path it names, for position files of several data files.
    paths: Option<(String, String)>,
    bounds: Vec<KeyBounds>,
}

/// Equality deletes of the same columns and reach, by ascending sequence number.
struct EqualityGroup {
    columns: Vec<Field>,
    deletes: Vec<Delete>,
}

/// The delete files of a snapshot, ready to be asked for those of a data file.
pub(crate) struct DeleteIndex<'a> {
    document: &'a Document,
    schemas: Vec<&'a Schema>,
    vectors: HashMap<String, Vec<Delete>>,
    by_path: HashMap<String, Vec<Delete>>,
    by_partition: HashMap<Partition, Vec<Delete>>,
    equality: HashMap<Reach, Vec<EqualityGroup>>,
    /// The table's columns, and those that are gone from it but compared by equality deletes.
    schema: Schema,
}

impl<'a> DeleteIndex<'a> {
    /// Groups the deletes. Errors: Corrupt names a delete file whose manifest entry lacks what its kind needs.
    pub(crate) fn new(
        document: &'a Document,
        schema: &Schema,
        deletes: &[Entry],
    ) -> Result<DeleteIndex<'a>> {
        let mut index = DeleteIndex {
            document,
            schemas: schemas(document),
            vectors: HashMap::new(),
            by_path: HashMap::new(),
            by_partition: HashMap::new(),
            equality: HashMap::new(),
            schema: schema.clone(),
        };
        let mut groups = HashMap::new();
        for entry in deletes {
            let file = &entry.data_file;
            let added = match file.content {
                DataContent::EqualityDeletes => index.add_equality(entry, &mut groups),
                _ if file.is_deletion_vector() => index.add_vector(entry),
                _ => index.add_positions(entry),
            };
            added.map_err(|e| e.with("delete file", &file.path))?;
        }
        for group in index.by_partition.values_mut() {
            group.sort_by_key(|delete| delete.sequence_number);
        }
        for group in index.equality.values_mut().flatten() {
            group.deletes.sort_by_key(|delete| delete.sequence_number);
        }
        Ok(index)
    }

    /// The columns that rows of the table are read with: its own and those that only equality deletes still know.
    pub(crate) fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The deletes of a data file. Errors: Corrupt where two deletion vectors or a delete of another partition name it.
    pub(crate) fn of(&self, entry: &Entry) -> Result<Vec<Arc<DeleteRef>>> {
        let mut found = Vec::new();
        if self.is_empty() {
            return Ok(found);
        }
        let partition = self.partition(&entry.data_file)?;
        let sequence_number = sequence(entry)?;
        match self.vector(entry, &partition, sequence_number)? {
            Some(vector) => found.push(vector),
            None => self.positions(entry, &partition, sequence_number, &mut found)?,
        }
        self.equality_deletes(&entry.data_file, partition, sequence_number, &mut found);
        Ok(found)
    }

    fn is_empty(&self) -> bool {
        self.vectors.is_empty()
            && self.by_path.is_empty()
            && self.by_partition.is_empty()
            && self.equality.is_empty()
    }

    fn add_vector(&mut self, entry: &Entry) -> Result<()> {
        let file = &entry.data_file;
        let number = |value: Option<i64>, what: &str| {
            value
                .and_then(|value| u64::try_from(value).ok())
                .ok_or_else(|| Error::corrupt(format!("a deletion vector without {what}")))
        };
        let kind = DeleteKind::Vector {
            offset: number(file.content_offset, "content_offset")?,
            length: number(file.content_size_in_bytes, "content_size_in_bytes")?,
            cardinality: file.record_count,
        };
        let path = file
            .referenced_data_file
            .as_deref()
            .ok_or_else(|| Error::corrupt("a deletion vector without referenced_data_file"))?;
        let delete = self.delete(entry, kind)?;
        self.vectors.entry(spelling(path)).or_default().push(delete);
        Ok(())
    }

    fn add_positions(&mut self, entry: &Entry) -> Result<()> {
        let file = &entry.data_file;
        let kind = DeleteKind::Positions {
            for_one_file: file.referenced_data_file.is_some() && file.record_count > 0,
        };
        let mut delete = self.delete(entry, kind)?;
        let bound = |bound: Option<Vec<u8>>| bound.and_then(|bytes| String::from_utf8(bytes).ok());
        let lower = bound(file.lower_bounds.get(DELETE_PATH));
        let upper = bound(file.upper_bounds.get(DELETE_PATH));
        // Bounds that were cut differ: the upper one is then counted up.
        let only = lower.clone().filter(|lower| upper.as_ref() == Some(lower));
        match file.referenced_data_file.clone().or(only) {
            Some(path) => self
                .by_path
                .entry(spelling(&path))
                .or_default()
                .push(delete),
            None => {
                delete.paths = lower.zip(upper);
                let partition = delete.partition.clone();
                self.by_partition.entry(partition).or_default().push(delete);
            }
        }
        Ok(())
    }

    fn add_equality(
        &mut self,
        entry: &Entry,
        groups: &mut HashMap<(Reach, Vec<i32>), (usize, u32)>,
    ) -> Result<()> {
        let file = &entry.data_file;
        let mut ids = file.equality_ids.clone().unwrap_or_default();
        ids.sort_unstable();
        ids.dedup();
        let partition = self.partition(file)?;
        let reach = (!self.spec(file)?.is_unpartitioned()).then_some(partition);
        let number = u32::try_from(groups.len())
            .map_err(|_| Error::resource_exhausted("more than 2^32 groups of equality deletes"))?;
        let of_reach = self.equality.entry(reach.clone()).or_default();
        let (place, group) = match groups.get(&(reach.clone(), ids.clone())) {
            Some(known) => *known,
            None => {
                let columns = key_columns(self.document, &ids)?;
                self.schema.fields.extend(gone(&self.schema, &columns));
                of_reach.push(EqualityGroup {
                    columns,
                    deletes: Vec::new(),
                });
                let place = (of_reach.len() - 1, number);
                groups.insert((reach.clone(), ids.clone()), place);
                place
            }
        };
        let Some(columns) = of_reach.get(place).map(|group| group.columns.clone()) else {
            return Err(Error::internal("a group of equality deletes is gone"));
        };
        let kind = DeleteKind::Equality {
            group,
            columns: struct_of(&columns).to_json(),
        };
        let mut delete = self.delete(entry, kind)?;
        delete.bounds = columns.iter().map(|c| KeyBounds::of(file, c)).collect();
        if let Some(group) = self.equality.get_mut(&reach).and_then(|g| g.get_mut(place)) {
            group.deletes.push(delete);
        }
        Ok(())
    }

    fn delete(&self, entry: &Entry, kind: DeleteKind) -> Result<Delete> {
        let file = &entry.data_file;
        let sequence_number = sequence(entry)?;
        Ok(Delete {
            reference: Arc::new(DeleteRef {
                path: file.path.clone(),
                size: file.file_size_in_bytes,
                format: file.format.clone(),
                sequence_number,
                kind,
            }),
            sequence_number,
            partition: self.partition(file)?,
            paths: None,
            bounds: Vec::new(),
        })
    }

    fn vector(
        &self,
        data: &Entry,
        partition: &Partition,
        sequence_number: i64,
    ) -> Result<Option<Arc<DeleteRef>>> {
        let path = &data.data_file.path;
        let named = self.vectors.get(&spelling(path)).map(Vec::as_slice);
        let mut applicable = named
            .unwrap_or_default()
            .iter()
            .filter(|delete| delete.sequence_number >= sequence_number);
        let Some(first) = applicable.next() else {
            return Ok(None);
        };
        if let Some(second) = applicable.next() {
            return Err(Error::corrupt(format!(
                "data file {path} has two deletion vectors, in {} and in {}",
                first.reference.path, second.reference.path
            )));
        }
        check_partition(first, partition, path)?;
        Ok(Some(Arc::clone(&first.reference)))
    }

    fn positions(
        &self,
        data: &Entry,
        partition: &Partition,
        sequence_number: i64,
        found: &mut Vec<Arc<DeleteRef>>,
    ) -> Result<()> {
        let path = &data.data_file.path;
        let named = self.by_path.get(&spelling(path)).map(Vec::as_slice);
        for delete in named.unwrap_or_default() {
            if delete.sequence_number >= sequence_number {
                check_partition(delete, partition, path)?;
                found.push(Arc::clone(&delete.reference));
            }
        }
        let beside = self.by_partition.get(partition).map(Vec::as_slice);
        let beside = beside.unwrap_or_default();
        let first = beside.partition_point(|delete| delete.sequence_number < sequence_number);
        let later = beside.get(first..).unwrap_or_default();
        found.extend(
            later
                .iter()
                .filter(|delete| may_name(delete, path))
                .map(|delete| Arc::clone(&delete.reference)),
        );
        Ok(())
    }

    fn equality_deletes(
        &self,
        data: &DataFile,
        partition: Partition,
        sequence_number: i64,
        found: &mut Vec<Arc<DeleteRef>>,
    ) {
        for reach in [Some(partition), None] {
            for group in self.equality.get(&reach).into_iter().flatten() {
                let older = |delete: &Delete| delete.sequence_number <= sequence_number;
                let first = group.deletes.partition_point(older);
                let later = group.deletes.get(first..).unwrap_or_default();
                if later.is_empty() {
                    continue;
                }
                let columns = group.columns.iter();
                let bounds: Vec<KeyBounds> = columns.map(|c| KeyBounds::of(data, c)).collect();
                found.extend(
                    later
                        .iter()
                        .filter(|delete| overlap(&delete.bounds, &bounds))
                        .map(|delete| Arc::clone(&delete.reference)),
                );
            }
        }
    }

    fn spec(&self, file: &DataFile) -> Result<&'a PartitionSpec> {
        self.document.spec(file.spec_id).ok_or_else(|| {
            Error::corrupt(format!(
                "file {} has the unknown partition spec {}",
                file.path, file.spec_id
            ))
        })
    }

    /// The tuple by value: writers store one value as numbers, bytes or text of several widths.
    fn partition(&self, file: &DataFile) -> Result<Partition> {
        let values = self.spec(file)?.fields.iter().map(|field| {
            let stored = file.partition.iter().find(|(id, _)| *id == field.field_id);
            let stored = stored.and_then(|(_, value)| value.as_ref())?;
            let source = field.source_id();
            let source = source.and_then(|id| self.schemas.iter().find_map(|s| s.field(id)));
            let ty = source.and_then(|source| field.transform.result_type(&source.ty));
            Some(canonical(stored, ty.as_ref()))
        });
        Ok(Partition {
            spec_id: file.spec_id,
            values: values.collect(),
        })
    }
}

/// All schemas: the current one, then from the newest on.
pub(super) fn schemas(document: &Document) -> Vec<&Schema> {
    let mut all: Vec<&Schema> = document.schemas().iter().collect();
    all.sort_by_key(|schema| std::cmp::Reverse(schema.schema_id));
    let current = document.current_schema().ok();
    current.into_iter().chain(all).collect()
}

/// The columns that the schema lacks.
fn gone(schema: &Schema, columns: &[Field]) -> Vec<Field> {
    let lacks = |column: &&Field| !schema.fields.iter().any(|field| field.id == column.id);
    columns.iter().filter(lacks).cloned().collect()
}

fn struct_of(columns: &[Field]) -> Schema {
    Schema {
        schema_id: 0,
        fields: columns.to_vec(),
        identifier_field_ids: Vec::new(),
    }
}

/// Equal values give equal bytes; all NaNs are one value.
fn canonical(stored: &PartitionValue, ty: Option<&Type>) -> Vec<u8> {
    match ty.and_then(|ty| stored.to_value(ty)) {
        Some(Value::Float(v)) if v.is_nan() => encode(&Value::Float(f32::NAN)),
        Some(Value::Double(v)) if v.is_nan() => encode(&Value::Double(f64::NAN)),
        Some(value) => encode(&value),
        // A transform this engine does not know: as its writer stored it.
        None => format!("{stored:?}").into_bytes(),
    }
}

/// Inheritance leaves no live entry without sequence number.
fn sequence(entry: &Entry) -> Result<i64> {
    entry.sequence_number.ok_or_else(|| {
        Error::corrupt(format!(
            "file {} has no sequence number",
            entry.data_file.path
        ))
    })
}

/// A delete that names a data file in another partition would be lost by readers that look by partition.
fn check_partition(delete: &Delete, partition: &Partition, path: &str) -> Result<()> {
    if delete.partition == *partition {
        return Ok(());
    }
    Err(Error::corrupt(format!(
        "delete file {} names data file {path} of another partition",
        delete.reference.path
    )))
}

/// Whether a position file of several data files may name this one. Only paths spelled alike are in order.
fn may_name(delete: &Delete, path: &str) -> bool {
    let root = |path: &str| {
        let end = path.find("://").map_or(0, |at| {
            let host = at + 3;
            let host_end = path.get(host..).and_then(|rest| rest.find('/'));
            host_end.map_or(path.len(), |end| host + end)
        });
        path.get(..end).map(str::to_owned)
    };
    match &delete.paths {
        Some((lower, upper)) if root(lower) == root(path) && root(upper) == root(path) => {
            lower.as_str() <= path && path <= upper.as_str()
        }
        _ => true,
    }
}
