//! Namespaces of a warehouse: directories that are no tables. `default` exists without being made. Names that
//! start with `_` or `.` are hidden folders and are never listed.

use super::version::MetadataName;
use super::{DEFAULT_NAMESPACE, FileSystemCatalog, check_new, check_part};
use crate::error::{Error, ErrorKind, Result};
use crate::storage::{Confined, Location};

impl FileSystemCatalog {
    pub(super) fn namespace_location(&self, namespace: &[String]) -> Result<Location> {
        let mut location = self.warehouse()?.clone();
        for part in namespace {
            check_part("namespace", part)?;
            location = location.join(part)?;
        }
        Ok(location)
    }

    pub(super) async fn require_namespace(&self, namespace: &[String]) -> Result<()> {
        if self.has_namespace(namespace).await? {
            return Ok(());
        }
        Err(Error::not_found(format!(
            "the namespace {} does not exist",
            namespace.join(".")
        )))
    }

    pub(super) async fn has_namespace(&self, namespace: &[String]) -> Result<bool> {
        let location = self.namespace_location(namespace)?;
        if always_exists(namespace) {
            return Ok(true);
        }
        let store = self.warehouse_store()?;
        Ok(store.directory_exists(&location).await? && !is_table(&store, &location).await?)
    }

    pub(super) async fn tables_in(&self, namespace: &[String]) -> Result<Vec<String>> {
        self.require_namespace(namespace).await?;
        let store = self.warehouse_store()?;
        let mut tables = Vec::new();
        for directory in visible(&store, &self.namespace_location(namespace)?).await? {
            if is_table(&store, &directory).await? {
                tables.push(directory.name().to_string());
            }
        }
        Ok(tables)
    }

    pub(super) async fn namespaces_in(&self, parent: &[String]) -> Result<Vec<Vec<String>>> {
        self.require_namespace(parent).await?;
        let store = self.warehouse_store()?;
        let mut names = Vec::new();
        for directory in visible(&store, &self.namespace_location(parent)?).await? {
            let table = match is_table(&store, &directory).await {
                // A directory that may not be read, such as `lost+found`, must not hide all the others.
                Err(error) if error.kind() == ErrorKind::PermissionDenied => false,
                other => other?,
            };
            if !table {
                names.push(directory.name().to_string());
            }
        }
        if parent.is_empty() && !names.iter().any(|name| name == DEFAULT_NAMESPACE) {
            names.push(DEFAULT_NAMESPACE.to_string());
        }
        names.sort();
        Ok(names
            .into_iter()
            .map(|name| parent.iter().cloned().chain([name]).collect())
            .collect())
    }

    pub(super) async fn make_namespace(&self, namespace: &[String]) -> Result<()> {
        if namespace.is_empty() {
            return Err(Error::invalid_input("the namespace name is empty"));
        }
        for part in namespace {
            check_new("namespace", part)?;
        }
        let location = self.namespace_location(namespace)?;
        let store = self.warehouse_store()?;
        for depth in 1..namespace.len() {
            let parent = self.namespace_location(namespace.get(..depth).unwrap_or_default())?;
            if is_table(&store, &parent).await? {
                return Err(Error::invalid_input(format!(
                    "{parent} is a table and cannot hold namespaces"
                )));
            }
        }
        if store.directory_exists(&location).await? {
            return Err(Error::already_exists(format!(
                "the namespace {} exists already",
                namespace.join(".")
            )));
        }
        store.create_directory(&location).await
    }

    pub(super) async fn remove_namespace(&self, namespace: &[String]) -> Result<()> {
        let location = self.namespace_location(namespace)?;
        let name = namespace.join(".");
        if always_exists(namespace) {
            return Err(Error::invalid_input(format!(
                "the namespace {name:?} always exists and cannot be dropped"
            )));
        }
        self.require_namespace(namespace).await?;
        self.warehouse_store()?
            .remove_directory(&location)
            .await
            .map_err(|error| match error.kind() {
                ErrorKind::InvalidInput => {
                    Error::invalid_input(format!("the namespace {name} is not empty"))
                        .caused_by(error)
                }
                _ => error,
            })
    }

    fn warehouse(&self) -> Result<&Location> {
        self.warehouse.as_ref().ok_or_else(|| {
            Error::invalid_input(
                "no warehouse is set: name the table by its location, or set one (--warehouse, or the property `warehouse` of the catalog)",
            )
        })
    }

    fn warehouse_store(&self) -> Result<Confined> {
        Ok(self.storage.open(std::slice::from_ref(self.warehouse()?)))
    }
}

/// The warehouse itself, and `default`.
fn always_exists(namespace: &[String]) -> bool {
    match namespace {
        [] => true,
        [only] => only == DEFAULT_NAMESPACE,
        _ => false,
    }
}

async fn visible(store: &Confined, location: &Location) -> Result<Vec<Location>> {
    let mut directories = store.children(location).await?.directories;
    directories.retain(|directory| !directory.name().starts_with(['_', '.']));
    Ok(directories)
}

async fn is_table(store: &Confined, location: &Location) -> Result<bool> {
    let metadata = store.children(&location.join("metadata")?).await?;
    Ok(metadata
        .files
        .iter()
        .any(|(file, _)| MetadataName::parse(file.name()).is_some()))
}
