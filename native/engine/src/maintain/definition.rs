//! Defining, dropping and listing indexes. A definition is published before its first segment; files
//! without a segment are scanned, so an index is usable at once.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::datatypes::FieldRef;

use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::schema::Field;
use crate::index::overlay::OverlayChange;
use crate::index::{self, IndexDefinition};
use crate::table::{Table, live_files, output_field};
use crate::telemetry;

/// What a user asks to index.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IndexRequest {
    /// None: `<columns>_<kind>`.
    pub name: Option<String>,
    /// The kind's name.
    pub kind: String,
    /// Column names.
    pub columns: Vec<String>,
    /// Parameters as typed.
    pub parameters: BTreeMap<String, String>,
    /// True: an index of this name is no error and stays as it is.
    pub if_not_exists: bool,
}

/// An index and how much of the snapshot it covers.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexStatus {
    /// The definition.
    pub definition: IndexDefinition,
    /// Column names.
    pub columns: Vec<String>,
    /// Segments that the snapshot uses.
    pub segment_count: u64,
    /// Bytes of all live segments.
    pub size_bytes: u64,
    /// Files of the snapshot with a segment.
    pub covered_files: u64,
    /// Files of the snapshot.
    pub total_files: u64,
    /// Physical rows of the covered files.
    pub covered_rows: u64,
}

impl Table {
    /// Fills a request in and checks it. Errors: InvalidInput for an unknown kind, column or parameter, naming what is known.
    pub fn resolve_index(&self, request: &IndexRequest) -> Result<IndexDefinition> {
        self.check_writable()?;
        let kind = index::kind(&request.kind)?;
        if request.columns.is_empty() {
            return Err(Error::invalid_input("an index needs at least one column"));
        }
        let schema = self.schema()?;
        let (mut columns, mut names) = (Vec::new(), Vec::new());
        for name in &request.columns {
            let known = || {
                schema
                    .fields
                    .iter()
                    .map(|f| f.name.as_str())
                    .collect::<Vec<_>>()
                    .join(", ")
            };
            let field = self.column(name)?.ok_or_else(|| {
                let same = |field: &&Field| field.name.to_lowercase() == name.to_lowercase();
                let hint = schema
                    .fields
                    .iter()
                    .find(same)
                    .map_or_else(String::new, |field| {
                        format!(" (did you mean \"{}\"?)", field.name)
                    });
                Error::invalid_input(format!(
                    "table {} has no column {name}{hint}; it has {}",
                    self.name(),
                    known()
                ))
            })?;
            columns.push(field.id);
            names.push(field.name.as_str());
        }
        let fields = self.index_fields(&columns)?;
        let mut parameters = request.parameters.clone();
        if let ("hnsw", [column]) = (kind.name(), names.as_slice())
            && let Some(dimension) = self.dimension(column)?
        {
            parameters
                .entry("dimension".to_string())
                .or_insert_with(|| dimension.to_string());
        }
        let parameters = kind.resolve(&fields, &parameters)?;
        let name = request
            .name
            .clone()
            .unwrap_or_else(|| format!("{}_{}", names.join("_"), kind.name()));
        if name.is_empty() || name.chars().any(char::is_control) {
            return Err(Error::invalid_input(format!("{name:?} is no index name")));
        }
        Ok(IndexDefinition {
            name,
            kind: kind.name().to_string(),
            columns,
            parameters,
        })
    }

    pub(crate) fn index_fields(&self, columns: &[i32]) -> Result<Vec<FieldRef>> {
        columns
            .iter()
            .map(|id| output_field(self.arrow_schema(), *id).map(|f| Arc::clone(&f)))
            .collect()
    }

    /// Publishes a definition without segments. Errors: AlreadyExists.
    pub async fn define_index(&self, definition: &IndexDefinition) -> Result<()> {
        self.overlay()
            .publish(&[OverlayChange::AddIndex(definition.clone())])
            .await
            .map(|_| ())
    }

    /// Defines an index and builds it for every file of the snapshot; one that cannot be built is removed again.
    /// Errors: AlreadyExists unless the request allows it.
    pub async fn create_index(&self, request: &IndexRequest) -> Result<IndexDefinition> {
        let definition = self.resolve_index(request)?;
        if request.if_not_exists
            && let Some(entry) = self.overlay().manifest().await?.index(&definition.name)
        {
            return Ok(entry.definition.clone());
        }
        self.define_index(&definition).await?;
        match self.refresh_index(Some(&definition.name)).await {
            Ok(_) => Ok(definition),
            Err(error) => {
                if let Err(left) = self.drop_index(&definition.name).await {
                    telemetry::warn(&format!(
                        "index {} of table {} was not built and not removed: {left}",
                        definition.name,
                        self.name()
                    ));
                }
                Err(error)
            }
        }
    }

    /// Removes an index. Errors: NotFound naming it.
    pub async fn drop_index(&self, name: &str) -> Result<()> {
        let dropped = self
            .overlay()
            .publish(&[OverlayChange::DropIndex(name.to_string())])
            .await;
        match dropped {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                Err(self.missing_index(name).await?.caused_by(error))
            }
            dropped => dropped.map(|_| ()),
        }
    }

    /// The error that names a missing index and those that there are.
    pub(crate) async fn missing_index(&self, name: &str) -> Result<Error> {
        let manifest = self.overlay().manifest().await?;
        let known = manifest
            .indexes
            .iter()
            .map(|entry| entry.definition.name.as_str())
            .collect::<Vec<_>>();
        let known = match known.is_empty() {
            true => "none".to_string(),
            false => known.join(", "),
        };
        Ok(Error::not_found(format!(
            "table {} has no index {name}; it has {known}",
            self.name()
        )))
    }

    /// The indexes and their coverage of the pinned snapshot.
    pub async fn indexes(&self) -> Result<Vec<IndexStatus>> {
        let manifest = self.overlay().manifest().await?;
        let (identities, rows): (Vec<_>, Vec<_>) = live_files(self)
            .await?
            .into_iter()
            .map(|(f, _)| (f.identity, f.task.record_count))
            .unzip();
        let schema = self.schema()?;
        let status = |entry: &crate::index::overlay::IndexEntry| {
            let coverage = manifest.coverage(&entry.definition.name, &identities);
            let column = |id: &i32| {
                schema
                    .field(*id)
                    .map_or_else(|| format!("dropped column {id}"), |f| f.name.clone())
            };
            IndexStatus {
                columns: entry.definition.columns.iter().map(column).collect(),
                definition: entry.definition.clone(),
                segment_count: coverage.segments.len() as u64,
                size_bytes: entry.segments.iter().map(|s| s.length).sum(),
                covered_files: (identities.len() - coverage.uncovered.len()) as u64,
                total_files: identities.len() as u64,
                covered_rows: rows.iter().sum::<u64>()
                    - coverage
                        .uncovered
                        .iter()
                        .filter_map(|i| rows.get(*i))
                        .sum::<u64>(),
            }
        };
        Ok(manifest.indexes.iter().map(status).collect())
    }
}
