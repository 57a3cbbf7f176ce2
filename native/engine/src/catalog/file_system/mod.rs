//! The file-system catalog: `<warehouse>/<namespace>/<table>/metadata/v<N>.metadata.json`, as Iceberg's
//! HadoopCatalog lays tables out. Namespaces are directories. Tables named by location work without a
//! warehouse. Knows nothing of what metadata means.

mod folder;
mod namespace;
mod publish;
mod version;

use async_trait::async_trait;
use bytes::Bytes;

use super::name::{DEFAULT_NAMESPACE, check_new, check_no_metadata_table, check_part};
use super::{Catalog, TableHead, TableRef};
use crate::error::{Error, ErrorKind, Result};
use crate::storage::{Location, Storage};
use folder::{Folder, MetadataFile, PINNED};
use version::MetadataName;

/// Tables in a warehouse folder, and tables at locations.
#[derive(Clone, Debug)]
pub struct FileSystemCatalog {
    storage: Storage,
    warehouse: Option<Location>,
}

impl FileSystemCatalog {
    /// A catalog over `storage`; without a warehouse only locations name tables.
    pub fn new(storage: Storage, warehouse: Option<Location>) -> FileSystemCatalog {
        FileSystemCatalog { storage, warehouse }
    }

    fn folder(&self, table: Location) -> Result<Folder> {
        Folder::new(self.storage.open(std::slice::from_ref(&table)), table)
    }

    async fn load_pinned(&self, file: &Location) -> Result<TableHead> {
        let folder = self.folder(table_of(file)?)?;
        let metadata = folder.read(file).await?;
        let version = match MetadataName::parse(file.name()) {
            Some(MetadataName::Version(number, _) | MetadataName::Numbered(number)) => number,
            Some(MetadataName::Unnumbered) | None => 0,
        };
        let pinned = MetadataFile {
            location: file.clone(),
            version,
            read_only: Some(PINNED),
        };
        Ok(folder.head(pinned, metadata))
    }

    /// The folder of a table to be created, its name and namespace checked.
    async fn new_table_folder(&self, table: &TableRef) -> Result<Folder> {
        match table {
            TableRef::Name { namespace, name } => {
                for part in namespace {
                    check_new("namespace", part)?;
                }
                check_new("table", name)?;
                check_no_metadata_table(name)?;
                self.require_namespace(namespace).await?;
            }
            TableRef::Location(location) if is_metadata_file(location) => {
                return Err(Error::invalid_input(format!(
                    "{location} names a metadata file, not a table's folder"
                )));
            }
            TableRef::Location(location) => check_no_metadata_table(location.name())?,
        }
        self.folder(self.table_location(table)?)
    }
}

#[async_trait]
impl Catalog for FileSystemCatalog {
    fn table_location(&self, table: &TableRef) -> Result<Location> {
        match table {
            TableRef::Location(location) if is_metadata_file(location) => table_of(location),
            TableRef::Location(location) => Ok(location.clone()),
            TableRef::Name { namespace, name } => {
                check_part("table", name)?;
                self.namespace_location(namespace)?.join(name)
            }
        }
    }

    async fn load(&self, table: &TableRef) -> Result<TableHead> {
        if let TableRef::Location(location) = table
            && is_metadata_file(location)
        {
            return self.load_pinned(location).await;
        }
        let location = self.table_location(table)?;
        let head = self.folder(location.clone())?.load().await?;
        head.ok_or_else(|| match table {
            TableRef::Name { .. } => Error::not_found(format!("the table {table} does not exist"))
                .with("location", &location),
            TableRef::Location(_) => Error::not_found(format!("there is no table at {location}")),
        })
    }

    async fn swap(&self, base: &TableHead, metadata: Bytes) -> Result<TableHead> {
        require_writable(base)?;
        self.folder(base.location.clone())?
            .publish_after(base, metadata)
            .await
    }

    async fn create_table(&self, table: &TableRef, metadata: Bytes) -> Result<TableHead> {
        let folder = self.new_table_folder(table).await?;
        let exists = || Error::already_exists(format!("the table {table} exists already"));
        if folder.newest().await?.is_some() {
            return Err(exists());
        }
        match folder.publish_first(metadata).await {
            Err(error) if error.kind() == ErrorKind::Conflict => Err(exists().caused_by(error)),
            other => other,
        }
    }

    async fn drop_table_entry(&self, head: &TableHead) -> Result<()> {
        require_writable(head)?;
        let folder = self.folder(head.location.clone())?;
        let mut versions: Vec<(u64, Location)> = Vec::new();
        for (file, name) in folder.files().await? {
            if let MetadataName::Version(version, _) = name {
                versions.push((version, file));
            }
        }
        // The newest goes last: until then readers see the table as it was, never an older version.
        versions.sort();
        folder.store.delete(&folder.hint_location()?).await?;
        for (_, file) in &versions {
            folder.store.delete(file).await?;
        }
        Ok(())
    }

    async fn rename_table(&self, from: &TableRef, _to: &TableRef) -> Result<()> {
        Err(Error::unsupported(format!(
            "the table {from} cannot be renamed: in a file-system warehouse its files are recorded by absolute path"
        )))
    }

    async fn list_tables(&self, namespace: &[String]) -> Result<Vec<String>> {
        self.tables_in(namespace).await
    }

    async fn list_namespaces(&self, parent: &[String]) -> Result<Vec<Vec<String>>> {
        self.namespaces_in(parent).await
    }

    async fn namespace_exists(&self, namespace: &[String]) -> Result<bool> {
        self.has_namespace(namespace).await
    }

    async fn create_namespace(&self, namespace: &[String]) -> Result<()> {
        self.make_namespace(namespace).await
    }

    async fn drop_namespace(&self, namespace: &[String]) -> Result<()> {
        self.remove_namespace(namespace).await
    }
}

/// Whether the location names a metadata file rather than a table's folder.
fn is_metadata_file(location: &Location) -> bool {
    MetadataName::parse(location.name()).is_some()
}

/// The folder of the table that a metadata file belongs to.
fn table_of(file: &Location) -> Result<Location> {
    let folder = file
        .parent()
        .ok_or_else(|| Error::invalid_input(format!("{file} lies in no folder")))?;
    match folder.parent() {
        Some(table) if folder.name() == "metadata" => Ok(table),
        _ => Ok(folder),
    }
}

fn require_writable(head: &TableHead) -> Result<()> {
    match head.read_only {
        Some(reason) => Err(Error::unsupported(format!(
            "cannot change {}: {reason}",
            head.metadata_location
        ))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
