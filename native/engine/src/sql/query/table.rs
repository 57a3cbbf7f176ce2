//! The tables of one statement. Each is loaded once and so pinned to one snapshot (law L9), by whatever name or
//! location the statement spells it.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use arrow::array::RecordBatch;
use async_trait::async_trait;
use datafusion::catalog::{CatalogProvider, CatalogProviderList, SchemaProvider, TableProvider};
use datafusion::error::DataFusionError;
use datafusion::sql::sqlparser::ast::ObjectName;
use tokio::sync::Mutex;

use super::error::{nearest, quoted};
use crate::catalog::{DEFAULT_NAMESPACE, TableRef};
use crate::error::{Error, ErrorKind, Result};
use crate::sql::parse::name_parts;
use crate::sql::scan::{TableScanProvider, metadata_provider};
use crate::table::{AsOf, Environment, MetadataKind, Table};

/// The name under which a row-level statement scans its target with file and position of each row.
pub(crate) const TARGET_NAME: &str = "\u{1}target";

/// The planner's name of the catalog that two-part names live in; no identifier spells it.
pub(super) const CATALOG_NAME: &str = "\u{1}warehouse";

/// The table that parts of a name mean: a location if the only part holds a slash.
pub(crate) fn table_ref(environment: &Environment, parts: &[String]) -> Result<TableRef> {
    match parts {
        [] => Err(Error::invalid_input("empty table name")),
        [single] if single.contains('/') => {
            Ok(TableRef::Location(environment.storage().resolve(single)?))
        }
        [name] => Ok(TableRef::in_default(name)),
        [namespace @ .., name] => Ok(TableRef::Name {
            namespace: namespace.to_vec(),
            name: name.clone(),
        }),
    }
}

/// Loads tables for one statement.
#[derive(Clone)]
pub(crate) struct StatementTables {
    environment: Environment,
    loaded: Arc<Mutex<Vec<(TableRef, Table)>>>,
    target: Option<Table>,
    /// Names of table functions, which the planner looks up as if they were tables.
    functions: Arc<BTreeSet<String>>,
    /// Metadata columns that the query names.
    metadata: Arc<BTreeSet<i32>>,
}

impl fmt::Debug for StatementTables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StatementTables")
    }
}

impl StatementTables {
    /// Nothing is loaded yet.
    pub(crate) fn new(environment: &Environment) -> StatementTables {
        StatementTables {
            environment: environment.clone(),
            loaded: Arc::default(),
            target: None,
            functions: Arc::default(),
            metadata: Arc::default(),
        }
    }

    /// Declares the target of a row-level statement.
    pub(crate) fn with_target(mut self, target: Table) -> StatementTables {
        self.target = Some(target);
        self
    }

    /// The target of a row-level statement.
    pub(super) fn target(&self) -> Option<&Table> {
        self.target.as_ref()
    }

    /// Whether names of columns are told apart by their case.
    pub(super) fn case_sensitive(&self) -> bool {
        self.environment.case_sensitive()
    }

    /// Declares the table functions that a query calls.
    pub(super) fn with_functions(mut self, functions: BTreeSet<String>) -> StatementTables {
        self.functions = Arc::new(functions);
        self
    }

    /// Declares the metadata columns that a query names.
    pub(super) fn with_metadata(mut self, columns: BTreeSet<i32>) -> StatementTables {
        self.metadata = Arc::new(columns);
        self
    }

    /// The table of a name in a statement.
    pub(crate) async fn named(&self, name: &ObjectName) -> Result<Table> {
        self.get(&name_parts(name)?).await
    }

    /// The columns of a table or of a metadata table, one a row.
    pub(crate) async fn columns(&self, name: &ObjectName) -> Result<RecordBatch> {
        let parts = name_parts(name)?;
        if let Some((table, kind)) = metadata_name(&parts)
            && let Ok(kind) = kind.parse()
        {
            return self.get(&table).await?.metadata_table(kind)?.columns();
        }
        self.get(&parts).await?.columns()
    }

    /// The table that the parts of a name mean. Errors: NotFound names it.
    pub(crate) async fn get(&self, parts: &[String]) -> Result<Table> {
        let wanted = table_ref(&self.environment, parts)?;
        let mut loaded = self.loaded.lock().await;
        if let Some((_, table)) = loaded.iter().find(|(known, _)| *known == wanted) {
            return Ok(table.clone());
        }
        let fresh = Table::load(&self.environment, &wanted).await;
        let fresh = match fresh {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Err(self.missing(&wanted, parts).await.caused_by(error));
            }
            fresh => fresh?,
        };
        let table = match loaded
            .iter()
            .find(|(_, table)| table.location() == fresh.location())
        {
            Some((_, pinned)) => pinned.clone(),
            None => fresh,
        };
        loaded.push((wanted, table.clone()));
        Ok(table)
    }

    /// A metadata table. A table of other engines whose own name holds a `$` is read where no metadata table has the name.
    async fn metadata_table(
        &self,
        parts: Vec<String>,
        kind: &str,
        state: Option<&AsOf>,
    ) -> Result<Arc<dyn TableProvider>> {
        let kind: MetadataKind = match kind.parse() {
            Ok(kind) => kind,
            Err(unknown) => {
                let mut whole = parts.clone();
                if let Some(last) = whole.last_mut() {
                    last.push('$');
                    last.push_str(kind);
                }
                return match self.get(&whole).await {
                    Ok(table) => Ok(Arc::new(TableScanProvider::new(&at(table, state)?).await?)),
                    Err(error) if error.kind() == ErrorKind::NotFound => Err(unknown),
                    Err(error) => Err(error),
                };
            }
        };
        let table = at(self.get(&parts).await?, state)?;
        metadata_provider(table.metadata_table(kind)?)
    }

    /// The error for a table that does not exist: as the statement spells it, where it was looked for, and the name
    /// that may be meant.
    async fn missing(&self, wanted: &TableRef, parts: &[String]) -> Error {
        let mut text = format!("table {} does not exist", parts.join("."));
        let catalog = self.environment.catalog();
        if let TableRef::Name { namespace, name } = wanted {
            if let Ok(location) = catalog.table_location(wanted) {
                text.push_str(&format!(", looked for at {location}"));
            }
            let known = catalog.list_tables(namespace).await.unwrap_or_default();
            if let Some(near) = nearest(name, known.iter().map(String::as_str)) {
                text.push_str(&format!("; did you mean {}?", quoted(near)));
            }
        }
        Error::not_found(text)
    }

    /// What a name means in FROM: a table, or one of its metadata tables, at its newest or an older state.
    pub(super) async fn provider(
        &self,
        parts: &[String],
        state: Option<&AsOf>,
    ) -> Result<Arc<dyn TableProvider>> {
        if let ([name], Some(target)) = (parts, &self.target)
            && name == TARGET_NAME
        {
            let provider = TableScanProvider::with_row_ids(target)?;
            return Ok(Arc::new(provider.with_live_metadata(&self.metadata)?));
        }
        if let Some((parts, kind)) = metadata_name(parts) {
            return self.metadata_table(parts, kind, state).await;
        }
        let table = at(self.get(parts).await?, state)?;
        let provider = TableScanProvider::new(&table).await?;
        Ok(Arc::new(provider.with_metadata(&self.metadata)?))
    }
}

/// The table at an older state, where one is asked for.
fn at(table: Table, state: Option<&AsOf>) -> Result<Table> {
    match state {
        Some(state) => table.as_of(state),
        None => Ok(table),
    }
}

/// The name of a table and what stands behind its last `$`.
fn metadata_name(parts: &[String]) -> Option<(Vec<String>, &str)> {
    let (last, namespace) = parts.split_last()?;
    let (table, kind) = last.rsplit_once('$')?;
    let mut parts = namespace.to_vec();
    parts.push(table.to_string());
    (!table.is_empty()).then_some((parts, kind))
}

impl CatalogProviderList for StatementTables {
    fn register_catalog(
        &self,
        _: String,
        _: Arc<dyn CatalogProvider>,
    ) -> Option<Arc<dyn CatalogProvider>> {
        None
    }

    fn catalog_names(&self) -> Vec<String> {
        Vec::new()
    }

    fn catalog(&self, name: &str) -> Option<Arc<dyn CatalogProvider>> {
        let prefix = if name == CATALOG_NAME {
            Vec::new()
        } else {
            vec![name.to_string()]
        };
        Some(Arc::new(Namespace {
            tables: self.clone(),
            prefix,
        }))
    }
}

/// A namespace, or the root of all.
#[derive(Debug)]
struct Namespace {
    tables: StatementTables,
    prefix: Vec<String>,
}

impl CatalogProvider for Namespace {
    fn schema_names(&self) -> Vec<String> {
        Vec::new()
    }

    fn schema(&self, name: &str) -> Option<Arc<dyn SchemaProvider>> {
        let mut prefix = self.prefix.clone();
        prefix.push(name.to_string());
        Some(Arc::new(Namespace {
            tables: self.tables.clone(),
            prefix,
        }))
    }
}

#[async_trait]
impl SchemaProvider for Namespace {
    fn table_names(&self) -> Vec<String> {
        Vec::new()
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>, DataFusionError> {
        let mut parts = match self.prefix.as_slice() {
            [only] if only == DEFAULT_NAMESPACE => Vec::new(),
            prefix => prefix.to_vec(),
        };
        parts.push(name.to_string());
        if let [name] = parts.as_slice()
            && self.tables.functions.contains(name)
        {
            return Ok(None);
        }
        Ok(Some(self.tables.provider(&parts, None).await?))
    }

    fn table_exist(&self, _: &str) -> bool {
        true
    }
}
