//! Where the pointer to a table's newest metadata lives: the [`Catalog`] trait, the file-system, the REST and the SQL catalog.
//! A catalog hands out heads (one version of the metadata, as bytes) and swaps them; it never reads what the
//! metadata means beyond telling whole from torn. Only `table::commit` calls [`Catalog::swap`].

mod file_system;
mod name;
mod rest;
mod sql;

use async_trait::async_trait;
use bytes::Bytes;

pub use file_system::FileSystemCatalog;
pub(crate) use name::DEFAULT_NAMESPACE;
pub use name::TableRef;
pub use rest::RestCatalog;
pub(crate) use rest::is_rest_option;
pub use sql::SqlCatalog;
pub(crate) use sql::is_sql_option;

use crate::error::Result;
use crate::storage::Location;

/// One version of a table's metadata.
#[derive(Clone, Debug)]
pub struct TableHead {
    /// The folder of the table.
    pub location: Location,
    /// The metadata file.
    pub metadata_location: Location,
    /// The version; grows by one with every commit.
    pub version: u64,
    /// The metadata as JSON, decompressed and whole.
    pub metadata: Bytes,
    /// Why nothing can be committed on this head; none where it can.
    pub read_only: Option<&'static str>,
    /// The name by which a server holds the table; none where the folder itself does.
    pub name: Option<TableRef>,
}

/// Where tables are found, and the one place where a commit becomes visible.
///
/// Namespaces are lists of names. Methods that need a warehouse answer InvalidInput where there is none.
#[async_trait]
pub trait Catalog: Send + Sync {
    /// The folder where the table is, or would be; Unsupported where only a server knows.
    fn table_location(&self, table: &TableRef) -> Result<Location>;

    /// The folder for a new table.
    async fn new_table_location(&self, table: &TableRef) -> Result<Location> {
        self.table_location(table)
    }

    /// The newest version; NotFound names the table, Corrupt the damaged file.
    async fn load(&self, table: &TableRef) -> Result<TableHead>;

    /// Makes `metadata` the version after `base` if that is still the newest.
    ///
    /// Success only if a later reading of the head finds it in the chain. Conflict: it did not land and never
    /// will. CommitUnknown: it may have landed, nothing may be deleted. Every other kind: it did not land.
    async fn swap(&self, base: &TableHead, metadata: Bytes) -> Result<TableHead>;

    /// Publishes the first version of a new table; AlreadyExists where there is a table.
    async fn create_table(&self, table: &TableRef, metadata: Bytes) -> Result<TableHead>;

    /// Takes the table out of the catalog, its metadata with it; data files and foreign files stay.
    async fn drop_table_entry(&self, head: &TableHead) -> Result<()>;

    /// Renames a table.
    async fn rename_table(&self, from: &TableRef, to: &TableRef) -> Result<()>;

    /// The names of the tables directly in the namespace, in order.
    async fn list_tables(&self, namespace: &[String]) -> Result<Vec<String>>;

    /// The namespaces directly in `parent`, in order, with all parts of their names.
    async fn list_namespaces(&self, parent: &[String]) -> Result<Vec<Vec<String>>>;

    /// Whether the namespace exists; `default` always does.
    async fn namespace_exists(&self, namespace: &[String]) -> Result<bool>;

    /// Makes a namespace; AlreadyExists where there is one.
    async fn create_namespace(&self, namespace: &[String]) -> Result<()>;

    /// Removes an empty namespace; InvalidInput where it is not empty, NotFound where there is none.
    async fn drop_namespace(&self, namespace: &[String]) -> Result<()>;
}

/// The number that names of metadata files begin with; they grow with every commit.
fn version(name: &str) -> u64 {
    let digits: String = name
        .trim_start_matches('v')
        .chars()
        .take_while(char::is_ascii_digit)
        .collect();
    digits.parse().unwrap_or_default()
}

#[cfg(test)]
pub(crate) mod suite;
