//! Metadata tables: what a table's metadata and manifests say, as rows under Iceberg's names, types and field ids. They
//! read no data file. Some are of one snapshot, the others of the table as a whole.

mod cell;
mod files;
mod log;
mod manifests;
mod partitions;
mod schema;
mod text;

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::compute::filter_record_batch;
use arrow::datatypes::SchemaRef;
use futures::StreamExt as _;

use super::request::{ScanPlan, ScanReport, ScanRequest};
use super::split::{MetadataScope, Split, SplitScope};
use super::{AsOf, BATCH_ROWS, Batches, Environment, Table, output_schema};
use crate::catalog::TableRef;
use crate::error::{Error, Result};
use crate::iceberg::predicate::{Predicate, evaluate};
use crate::iceberg::schema::Schema;
use cell::Row;

/// A metadata table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum MetadataKind {
    Snapshots,
    History,
    Refs,
    MetadataLogEntries,
    Files,
    DataFiles,
    DeleteFiles,
    Entries,
    Manifests,
    Partitions,
    AllFiles,
    AllDataFiles,
    AllDeleteFiles,
    AllEntries,
    AllManifests,
}

use MetadataKind::*;

const KINDS: [(MetadataKind, &str); 15] = [
    (Snapshots, "snapshots"),
    (History, "history"),
    (Refs, "refs"),
    (MetadataLogEntries, "metadata_log_entries"),
    (Files, "files"),
    (DataFiles, "data_files"),
    (DeleteFiles, "delete_files"),
    (Entries, "entries"),
    (Manifests, "manifests"),
    (Partitions, "partitions"),
    (AllFiles, "all_files"),
    (AllDataFiles, "all_data_files"),
    (AllDeleteFiles, "all_delete_files"),
    (AllEntries, "all_entries"),
    (AllManifests, "all_manifests"),
];

impl MetadataKind {
    /// The names of all of them.
    pub fn names() -> impl Iterator<Item = &'static str> {
        KINDS.iter().map(|(_, name)| *name)
    }

    /// Whether it is of one snapshot, so that an older one can be asked for.
    pub fn is_of_snapshot(self) -> bool {
        matches!(
            self,
            Files | DataFiles | DeleteFiles | Entries | Manifests | Partitions
        )
    }
}

impl fmt::Display for MetadataKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = KINDS.iter().find(|(kind, _)| kind == self);
        f.write_str(name.map_or("", |(_, name)| name))
    }
}

impl FromStr for MetadataKind {
    type Err = Error;

    fn from_str(text: &str) -> Result<MetadataKind> {
        let kind = KINDS.iter().find(|(_, name)| *name == text);
        kind.map(|(kind, _)| *kind).ok_or_else(|| {
            let known: Vec<&str> = MetadataKind::names().collect();
            Error::not_found(format!(
                "there is no metadata table {text} (known: {})",
                known.join(", ")
            ))
        })
    }
}

/// A metadata table of one table.
#[derive(Clone, Debug)]
pub struct MetadataTable {
    table: Table,
    kind: MetadataKind,
    schema: Schema,
    arrow_schema: SchemaRef,
}

impl Table {
    /// A metadata table. Errors: Unsupported for one of the whole table where this one is pinned to an older state.
    pub fn metadata_table(&self, kind: MetadataKind) -> Result<MetadataTable> {
        if let Some(state) = self.pinned_to().filter(|_| !kind.is_of_snapshot()) {
            return Err(Error::unsupported(format!(
                "the metadata table {kind} is of the whole table {} and cannot be read at {state}",
                self.name()
            )));
        }
        let schema = schema::of(kind, self.document());
        let arrow_schema = Arc::new(schema.to_arrow()?);
        Ok(MetadataTable {
            table: self.clone(),
            kind,
            schema,
            arrow_schema,
        })
    }
}

impl MetadataTable {
    /// The table it tells about.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// Its columns.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Its columns in Arrow's normal form, with field ids.
    pub fn arrow_schema(&self) -> &SchemaRef {
        &self.arrow_schema
    }

    /// All rows. Manifests are read as the rows are asked for.
    pub async fn scan(&self) -> Result<Batches> {
        let table = &self.table;
        match self.kind {
            Snapshots => self.rows(log::snapshots(table)),
            History => self.rows(log::history(table)),
            Refs => self.rows(log::refs(table)?),
            MetadataLogEntries => self.rows(log::metadata_log_entries(table)),
            Manifests => self.rows(manifests::of_snapshot(table).await?),
            AllManifests => self.rows(manifests::of_all(table).await?),
            Partitions => self.rows(partitions::rows(table).await?),
            Files | DataFiles | DeleteFiles | Entries | AllFiles | AllDataFiles
            | AllDeleteFiles | AllEntries => files::scan(self, self.kind).await,
        }
    }

    fn rows(&self, rows: Vec<Row>) -> Result<Batches> {
        let batches: Vec<RecordBatch> = rows
            .chunks(BATCH_ROWS)
            .map(|rows| cell::batch(&self.schema, &self.arrow_schema, rows))
            .collect::<Result<_>>()?;
        Ok(futures::stream::iter(batches.into_iter().map(Ok)).boxed())
    }

    /// A scan as one split, for engines. Errors: InvalidInput for an unknown column, Unsupported for a search.
    pub fn plan_scan(&self, request: &ScanRequest) -> Result<ScanPlan> {
        if request.search.is_some() {
            return Err(Error::unsupported(format!(
                "a search in the metadata table {}",
                self.kind
            )));
        }
        let predicate = match request.conjuncts.as_slice() {
            [] => None,
            conjuncts => Some(Predicate::And(conjuncts.to_vec())),
        };
        let projection = match &request.projection {
            Some(ids) => ids.clone(),
            None => self.schema.fields.iter().map(|f| f.id).collect(),
        };
        let filtered = predicate.iter().flat_map(Predicate::columns);
        for column in projection.iter().copied().chain(filtered) {
            if !self.schema.fields.iter().any(|field| field.id == column) {
                return Err(Error::invalid_input(format!(
                    "the metadata table {} has no column with field id {column}",
                    self.kind
                )));
            }
        }
        let schema = output_schema(&self.arrow_schema, &projection)?;
        let scope = SplitScope {
            table_location: self.table.location().to_string(),
            roots: Vec::new(),
            snapshot_id: self.table.snapshot_id().unwrap_or_default(),
            schema: self.schema.to_json(),
            name_mapping: None,
            partition: None,
            projection,
            predicate,
            search: None,
            metadata: Some(MetadataScope {
                kind: self.kind.to_string(),
                metadata_location: self.table.metadata_location().to_string(),
                is_pinned: self.table.pinned_to().is_some(),
            }),
        };
        Ok(ScanPlan {
            snapshot_id: self.table.snapshot_id(),
            splits: vec![Split {
                scope: Arc::new(scope),
                files: Vec::new(),
                segments: Vec::new(),
            }],
            schema,
            report: ScanReport::default(),
            columns: BTreeMap::new(),
        })
    }
}

/// Reads the split of a metadata table, from the metadata file that it was planned on.
pub(crate) async fn open_split(
    environment: &Environment,
    scope: &SplitScope,
    metadata: &MetadataScope,
) -> Result<(SchemaRef, Batches)> {
    let location = environment.storage().resolve(&metadata.metadata_location)?;
    let mut table = Table::load(environment, &TableRef::Location(location)).await?;
    if metadata.is_pinned {
        table = table.as_of(&AsOf::Snapshot(scope.snapshot_id))?;
    }
    let table = table.metadata_table(metadata.kind.parse()?)?;
    let schema = output_schema(table.arrow_schema(), &scope.projection)?;
    let columns = schema
        .fields()
        .iter()
        .map(|field| table.arrow_schema().index_of(field.name()))
        .collect::<Result<Vec<usize>, _>>()?;
    let predicate = scope.predicate.clone();
    let select = move |batch: RecordBatch| -> Result<RecordBatch> {
        let batch = match &predicate {
            Some(predicate) => filter_record_batch(&batch, &evaluate(predicate, &batch)?)?,
            None => batch,
        };
        Ok(batch.project(&columns)?)
    };
    let rows = table.scan().await?;
    Ok((schema, rows.map(move |batch| select(batch?)).boxed()))
}
