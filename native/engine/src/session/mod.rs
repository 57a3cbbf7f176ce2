//! The public facade: a session opens a warehouse, names tables and runs SQL. It owns the environment
//! (stores, catalog, caches); everything below takes the environment, not the session.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use arrow::datatypes::Schema as ArrowSchema;

use crate::catalog::{RestCatalog, SqlCatalog, TableRef, is_rest_option, is_sql_option};
use crate::error::{Error, Result};
use crate::sql::{self, QueryResult};
use crate::storage::Storage;
use crate::table::{Environment, Table};

/// How to open a session.
#[derive(Clone, Default)]
pub struct SessionOptions {
    /// Root of the warehouse, or what a REST catalog calls it; None: only locations name tables.
    pub warehouse: Option<String>,
    /// Options of stores and of the catalog (`type`, `uri`, ..) by their Iceberg names, and `case-sensitive`.
    pub options: BTreeMap<String, String>,
    /// Recorded prefixes and where they really are.
    pub map_prefix: Vec<(String, String)>,
}

/// The option by which names of columns are found in any case.
const CASE_SENSITIVE: &str = "case-sensitive";

fn case_sensitive(options: &BTreeMap<String, String>) -> Result<bool> {
    match options.get(CASE_SENSITIVE).map(String::as_str) {
        None | Some("true") => Ok(true),
        Some("false") => Ok(false),
        Some(other) => Err(Error::invalid_input(format!(
            "the option {CASE_SENSITIVE} is true or false, not '{other}'"
        ))),
    }
}

/// Refuses options that nothing here reads; those of object stores are checked where they are used.
fn check_names(options: &BTreeMap<String, String>) -> Result<()> {
    let kind = options.get("type").map(String::as_str);
    let rest = kind == Some("rest");
    let sql = matches!(kind, Some("sql" | "jdbc"));
    for key in options.keys() {
        match key.split('.').next() {
            Some("type") if key == "type" => {}
            Some(CASE_SENSITIVE) if key == CASE_SENSITIVE => {}
            _ if rest && is_rest_option(key) => {}
            _ if sql && is_sql_option(key) => {}
            Some("s3" | "client") => {}
            Some("adls" | "gcs" | "upstream" | "overlay") => {
                return Err(Error::unsupported(format!(
                    "the option {key} is not supported yet: tables lie on local disk or in S3"
                )));
            }
            _ if is_rest_option(key) || is_sql_option(key) => {
                return Err(Error::invalid_input(format!(
                    "the option {key} belongs to catalogs of another type: give type=rest or type=sql too"
                )));
            }
            _ => return Err(Error::invalid_input(format!("there is no option {key}"))),
        }
    }
    Ok(())
}

impl fmt::Debug for SessionOptions {
    /// Values of options may be secret and are left out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionOptions")
            .field("warehouse", &self.warehouse)
            .field("options", &self.options.keys())
            .field("map_prefix", &self.map_prefix)
            .finish()
    }
}

/// A session; cheap to clone.
#[derive(Clone)]
pub struct Session {
    environment: Environment,
}

impl Session {
    /// Opens a session. Errors: InvalidInput for a bad warehouse location or an unknown option, Unsupported for an
    /// unknown scheme.
    pub fn open(options: &SessionOptions) -> Result<Session> {
        check_names(&options.options)?;
        let case_sensitive = case_sensitive(&options.options)?;
        let storage = Storage::new(&options.options, &options.map_prefix)?;
        let warehouse = options.warehouse.as_deref();
        let environment = match options.options.get("type").map(String::as_str) {
            None | Some("hadoop") => Environment::new(storage, warehouse)?,
            Some("rest") => {
                let catalog = RestCatalog::new(storage.clone(), &options.options, warehouse)?;
                Environment::with_catalog(storage, Arc::new(catalog))
            }
            Some("sql" | "jdbc") => {
                let warehouse = warehouse.map(|text| storage.resolve(text)).transpose()?;
                let catalog = SqlCatalog::new(storage.clone(), &options.options, warehouse)?;
                Environment::with_catalog(storage, Arc::new(catalog))
            }
            Some(other) => {
                return Err(Error::unsupported(format!(
                    "catalogs of type {other:?} are not supported; there are hadoop, rest, sql and jdbc"
                )));
            }
        };
        Ok(Session {
            environment: environment.with_case_sensitivity(case_sensitive),
        })
    }

    /// Opens a session over given stores.
    pub fn over(storage: Storage, warehouse: Option<&str>) -> Result<Session> {
        Ok(Session {
            environment: Environment::new(storage, warehouse)?,
        })
    }

    /// Stores, catalog and caches.
    pub fn environment(&self) -> &Environment {
        &self.environment
    }

    /// Reads a table's name as users write it.
    pub fn table_ref(&self, text: &str) -> Result<TableRef> {
        self.environment.table_ref(text)
    }

    /// The newest state of a table.
    pub async fn table(&self, reference: &TableRef) -> Result<Table> {
        Table::load(&self.environment, reference).await
    }

    /// Creates an empty table.
    pub async fn create_table(
        &self,
        reference: &TableRef,
        columns: &ArrowSchema,
        properties: &BTreeMap<String, String>,
    ) -> Result<Table> {
        Table::create(&self.environment, reference, columns, properties).await
    }

    /// Drops a table; returns the referenced files that lie elsewhere and stay.
    pub async fn drop_table(&self, reference: &TableRef) -> Result<Vec<String>> {
        self.table(reference).await?.drop().await
    }

    /// Renames a table within the warehouse.
    pub async fn rename_table(&self, from: &TableRef, to: &TableRef) -> Result<()> {
        self.environment.catalog().rename_table(from, to).await
    }

    /// Tables of a namespace, in order.
    pub async fn list_tables(&self, namespace: &[String]) -> Result<Vec<String>> {
        self.environment.catalog().list_tables(namespace).await
    }

    /// Namespaces directly below `parent`, in order.
    pub async fn list_namespaces(&self, parent: &[String]) -> Result<Vec<Vec<String>>> {
        self.environment.catalog().list_namespaces(parent).await
    }

    /// Whether a namespace exists.
    pub async fn namespace_exists(&self, namespace: &[String]) -> Result<bool> {
        self.environment.catalog().namespace_exists(namespace).await
    }

    /// Makes a namespace. Errors: AlreadyExists.
    pub async fn create_namespace(&self, namespace: &[String]) -> Result<()> {
        self.environment.catalog().create_namespace(namespace).await
    }

    /// Removes an empty namespace. Errors: InvalidInput where it is not empty.
    pub async fn drop_namespace(&self, namespace: &[String]) -> Result<()> {
        self.environment.catalog().drop_namespace(namespace).await
    }

    /// Runs SQL statements separated by `;`, one after the other; the first error stops. Rows are read lazily.
    pub async fn sql(&self, text: &str) -> Result<Vec<QueryResult>> {
        sql::execute(&self.environment, text).await
    }
}
