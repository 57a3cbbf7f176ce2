//! The SQL catalog: pointers in a database that Iceberg's JdbcCatalog and PyIceberg's SqlCatalog share, metadata
//! files beside the tables. One conditional UPDATE decides who commits. Tables named by location stay with the
//! file-system catalog. A local path from the database is followed below the warehouse and through the prefix map.

mod namespace;
mod options;
mod rows;
mod sqlite;

use std::collections::BTreeMap;

use async_trait::async_trait;
use bytes::Bytes;
use tokio::sync::OnceCell;
use uuid::Uuid;

use super::name::{DEFAULT_NAMESPACE, check_new, check_no_metadata_table, check_part};
use super::{Catalog, FileSystemCatalog, TableHead, TableRef, version};
use crate::error::{Error, ErrorKind, Result};
use crate::storage::{Confined, Location, Storage};
use options::SqlOptions;
use rows::{DOT, Rows};
use sqlite::Sqlite;

pub(crate) use options::is_sql_option;

/// How often a pointer that moves while its file is read is followed.
const READS_MAX: u32 = 5;

/// Tables whose pointers a SQL database holds, and tables at locations.
pub struct SqlCatalog {
    storage: Storage,
    warehouse: Option<Location>,
    locations: FileSystemCatalog,
    options: SqlOptions,
    /// Opened once.
    rows: OnceCell<Rows>,
}

/// What this client itself reads of metadata.
#[derive(serde::Deserialize)]
struct Outline {
    location: String,
    #[serde(rename = "metadata-log", default)]
    log: Vec<LogEntry>,
}

#[derive(serde::Deserialize)]
struct LogEntry {
    #[serde(rename = "metadata-file")]
    file: String,
}

impl SqlCatalog {
    /// A catalog by Iceberg's properties; opens nothing yet. Errors: InvalidInput for a wrong property, Unsupported
    /// for another database.
    pub fn new(
        storage: Storage,
        options: &BTreeMap<String, String>,
        warehouse: Option<Location>,
    ) -> Result<SqlCatalog> {
        Ok(SqlCatalog {
            options: SqlOptions::new(options)?,
            locations: FileSystemCatalog::new(storage.clone(), None),
            storage,
            warehouse,
            rows: OnceCell::new(),
        })
    }

    async fn rows(&self) -> Result<&Rows> {
        let open = || async {
            let database = Sqlite::open(self.options.file.clone()).await?;
            Rows::open(database, self.options.catalog.as_deref()).await
        };
        self.rows.get_or_try_init(open).await
    }

    fn resolve(&self, recorded: &str) -> Result<Location> {
        self.storage
            .resolve_remote(recorded, self.warehouse.as_ref())
    }

    fn store(&self, location: &Location) -> Confined {
        self.storage.open(std::slice::from_ref(location))
    }

    /// The head at the metadata file that the database names.
    async fn head(&self, table: &TableRef, recorded: &str) -> Result<TableHead> {
        let file = self.resolve(recorded)?;
        let pinned = self.locations.load(&TableRef::Location(file)).await?;
        let outline = outline(&pinned.metadata, &pinned.metadata_location)?;
        Ok(TableHead {
            location: self.resolve(&outline.location)?,
            version: version(pinned.metadata_location.name()),
            read_only: None,
            name: Some(table.clone()),
            ..pinned
        })
    }

    async fn load_named(
        &self,
        table: &TableRef,
        namespace: &[String],
        name: &str,
    ) -> Result<TableHead> {
        let joined = self.lookup(namespace, name)?;
        let missing = || Error::not_found(format!("the table {table} does not exist"));
        let rows = self.rows().await?;
        let mut recorded = rows.pointer(&joined, name).await?.ok_or_else(missing)?;
        for _ in 0..READS_MAX {
            match self.head(table, &recorded).await {
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    // Others may have committed, or dropped the table, since the pointer was read.
                    let now = rows.pointer(&joined, name).await?.ok_or_else(missing)?;
                    if now == recorded {
                        return Err(Error::corrupt(format!(
                            "the catalog names {recorded} as the newest metadata of {table}, and there is no such metadata file"
                        ))
                        .caused_by(error));
                    }
                    recorded = now;
                }
                other => return other,
            }
        }
        Err(Error::unavailable(format!(
            "the metadata of the table {table} was replaced again and again while it was read"
        )))
    }

    /// Writes metadata beside the table, under a name that nobody else makes. Gives the text to be recorded.
    async fn write(&self, version: u64, metadata: &Bytes) -> Result<(String, TableHead)> {
        let place: Outline = serde_json::from_slice(metadata).map_err(|error| {
            Error::internal("metadata to be written has no location").caused_by(error)
        })?;
        let folder = place.location.trim_end_matches('/');
        let id = Uuid::new_v4();
        let recorded = format!("{folder}/metadata/{version:05}-{id}.metadata.json");
        let head = TableHead {
            location: self.resolve(&place.location)?,
            metadata_location: self.resolve(&recorded)?,
            version,
            metadata: metadata.clone(),
            read_only: None,
            name: None,
        };
        self.store(&head.location)
            .put(&head.metadata_location, metadata.clone())
            .await?;
        Ok((recorded, head))
    }

    /// Deletes a metadata file that no pointer will ever name; one that cannot be removed is an orphan.
    async fn discard(&self, head: &TableHead) {
        let store = self.store(&head.location);
        let _ = store.delete(&head.metadata_location).await;
    }

    /// What an UPDATE came to whose answer is an error.
    async fn settle(
        &self,
        (namespace, name): (&str, &str),
        base: &str,
        (recorded, head): (String, TableHead),
        failure: Error,
    ) -> Result<TableHead> {
        let unknown = |why: &str| {
            Error::commit_unknown(format!(
                "it is unknown whether {} was committed: {why}",
                head.metadata_location
            ))
        };
        let pointer = match self.rows().await?.pointer(namespace, name).await {
            Ok(pointer) => pointer,
            Err(error) => {
                return Err(unknown("the pointer cannot be read again").caused_by(error));
            }
        };
        match pointer {
            Some(pointer) if pointer == recorded => Ok(head),
            // SQLite has no statements under way: one that failed and left no trace will leave none.
            Some(pointer) if pointer == base => {
                self.discard(&head).await;
                Err(failure)
            }
            _ => Err(unknown("others have committed since").caused_by(failure)),
        }
    }
}

fn outline(metadata: &[u8], file: &Location) -> Result<Outline> {
    serde_json::from_slice(metadata)
        .map_err(|error| Error::corrupt(format!("the metadata file {file} is damaged: {error}")))
}

#[async_trait]
impl Catalog for SqlCatalog {
    fn table_location(&self, table: &TableRef) -> Result<Location> {
        match table {
            TableRef::Location(_) => self.locations.table_location(table),
            TableRef::Name { .. } => Err(Error::unsupported(format!(
                "where the table {table} lies, only the catalog knows"
            ))),
        }
    }

    async fn new_table_location(&self, table: &TableRef) -> Result<Location> {
        let TableRef::Name { namespace, name } = table else {
            return self.locations.table_location(table);
        };
        self.check_new_table(namespace, name)?;
        let mut folder = self.warehouse.clone().ok_or_else(|| {
            Error::invalid_input(format!(
                "where the table {table} shall lie is not known: set a warehouse (--warehouse, or the property `warehouse` of the catalog)"
            ))
        })?;
        for part in namespace {
            folder = folder.join(part)?;
        }
        let location = folder.join(name)?;
        // A table that was renamed keeps its folder, and two tables must not share one.
        let children = self.store(&location).reader().children(&location).await?;
        if children.files.is_empty() && children.directories.is_empty() {
            return Ok(location);
        }
        folder.join(&format!("{name}-{}", Uuid::new_v4()))
    }

    async fn load(&self, table: &TableRef) -> Result<TableHead> {
        match table {
            TableRef::Location(_) => self.locations.load(table).await,
            TableRef::Name { namespace, name } => self.load_named(table, namespace, name).await,
        }
    }

    async fn swap(&self, base: &TableHead, metadata: Bytes) -> Result<TableHead> {
        let Some(table @ TableRef::Name { namespace, name }) = &base.name else {
            return self.locations.swap(base, metadata).await;
        };
        let joined = self.lookup(namespace, name)?;
        let rows = self.rows().await?;
        let dropped = || Error::not_found(format!("the table {table} was dropped"));
        let overtaken = || {
            Error::conflict(format!(
                "the version after {} of the table {table} was committed by somebody else",
                base.metadata_location
            ))
        };
        let before = rows.pointer(&joined, name).await?.ok_or_else(dropped)?;
        if self.resolve(&before)? != base.metadata_location {
            return Err(overtaken());
        }
        let version = base
            .version
            .checked_add(1)
            .ok_or_else(|| Error::unsupported(format!("the table {table} has no next version")))?;
        let (recorded, mut head) = self.write(version, &metadata).await?;
        head.name = base.name.clone();
        match rows.advance((&joined, name), &before, &recorded).await {
            Ok(true) => Ok(head),
            Ok(false) => {
                self.discard(&head).await;
                match rows.pointer(&joined, name).await {
                    Ok(None) => Err(dropped()),
                    _ => Err(overtaken()),
                }
            }
            Err(error) => {
                let written = (recorded, head);
                self.settle((&joined, name), &before, written, error).await
            }
        }
    }

    async fn create_table(&self, table: &TableRef, metadata: Bytes) -> Result<TableHead> {
        let TableRef::Name { namespace, name } = table else {
            return self.locations.create_table(table, metadata).await;
        };
        let joined = self.check_new_table(namespace, name)?;
        let exists = || Error::already_exists(format!("the table {table} exists already"));
        self.require_or_make_namespace(namespace).await?;
        let rows = self.rows().await?;
        if rows.pointer(&joined, name).await?.is_some() {
            return Err(exists());
        }
        let (recorded, mut head) = self.write(0, &metadata).await?;
        head.name = Some(table.clone());
        match rows.insert(&joined, name, &recorded).await {
            Ok(()) => Ok(head),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                self.discard(&head).await;
                Err(exists().caused_by(error))
            }
            Err(error) => match rows.pointer(&joined, name).await {
                Ok(Some(pointer)) if pointer == recorded => Ok(head),
                _ => Err(error),
            },
        }
    }

    async fn drop_table_entry(&self, head: &TableHead) -> Result<()> {
        let Some(table @ TableRef::Name { namespace, name }) = &head.name else {
            return self.locations.drop_table_entry(head).await;
        };
        let joined = self.lookup(namespace, name)?;
        let rows = self.rows().await?;
        let missing = || Error::not_found(format!("the table {table} does not exist"));
        let recorded = rows.pointer(&joined, name).await?.ok_or_else(missing)?;
        let newest = self.resolve(&recorded)?;
        if newest != head.metadata_location || !rows.remove(&joined, name, &recorded).await? {
            return Err(Error::conflict(format!(
                "the table {table} was changed by somebody else while it was dropped"
            )));
        }
        let log = outline(&head.metadata, &newest)?.log;
        let logged = log
            .iter()
            .filter_map(|entry| self.resolve(&entry.file).ok());
        let store = self.store(&head.location);
        for file in logged.chain([newest]) {
            if file.is_within(&head.location) {
                // The table is gone; a file that cannot be removed is an orphan, not a failed drop.
                let _ = store.delete(&file).await;
            }
        }
        Ok(())
    }

    async fn rename_table(&self, from: &TableRef, to: &TableRef) -> Result<()> {
        let (
            TableRef::Name { namespace, name },
            TableRef::Name {
                namespace: new_namespace,
                name: new_name,
            },
        ) = (from, to)
        else {
            return Err(Error::invalid_input(format!(
                "{from} cannot be renamed to {to}: the catalog renames names, not locations"
            )));
        };
        let old = self.lookup(namespace, name)?;
        let new = self.check_new_table(new_namespace, new_name)?;
        self.require_or_make_namespace(new_namespace).await?;
        let renamed = self
            .rows()
            .await?
            .rename((&old, name), (&new, new_name))
            .await;
        match renamed {
            Ok(true) => Ok(()),
            Ok(false) => Err(Error::not_found(format!("the table {from} does not exist"))),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(Error::already_exists(
                format!("the table {to} exists already"),
            )
            .caused_by(error)),
            Err(error) => Err(error),
        }
    }

    async fn list_tables(&self, namespace: &[String]) -> Result<Vec<String>> {
        self.require_namespace(namespace).await?;
        let joined = self.joined(namespace)?;
        self.rows().await?.tables(&joined).await
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

#[cfg(test)]
mod tests;
