//! The tables in which Iceberg's JdbcCatalog and PyIceberg's SqlCatalog keep pointers and namespaces, and every
//! statement on them. Each statement is whole by itself: the database alone decides who wins.

use std::collections::BTreeSet;

use super::sqlite::Sqlite;
use crate::error::{Error, Result};

/// How many names a listing gives at most.
const NAMES_MAX: usize = 1_000_000;
/// The catalog in a database that holds none.
const CATALOG: &str = "default";
/// Separates the parts of a namespace.
pub(super) const DOT: &str = ".";

const MAKE_TABLES: &str = "CREATE TABLE IF NOT EXISTS iceberg_tables (catalog_name VARCHAR(255) NOT NULL, \
    table_namespace VARCHAR(255) NOT NULL, table_name VARCHAR(255) NOT NULL, metadata_location VARCHAR(1000), \
    previous_metadata_location VARCHAR(1000), iceberg_type VARCHAR(5), \
    PRIMARY KEY (catalog_name, table_namespace, table_name))";
const MAKE_NAMESPACES: &str = "CREATE TABLE IF NOT EXISTS iceberg_namespace_properties (\
    catalog_name VARCHAR(255) NOT NULL, namespace VARCHAR(255) NOT NULL, property_key VARCHAR(255) NOT NULL, \
    property_value VARCHAR(1000), PRIMARY KEY (catalog_name, namespace, property_key))";
const TYPE_COLUMN: &str =
    "SELECT name FROM pragma_table_info('iceberg_tables') WHERE name = 'iceberg_type'";
const CATALOGS: &str = "SELECT catalog_name FROM iceberg_tables UNION \
    SELECT catalog_name FROM iceberg_namespace_properties";
const NAMESPACES: &str = "SELECT table_namespace FROM iceberg_tables WHERE catalog_name = ?1 UNION \
    SELECT namespace FROM iceberg_namespace_properties WHERE catalog_name = ?1";
const ADD_NAMESPACE: &str = "INSERT INTO iceberg_namespace_properties \
    (catalog_name, namespace, property_key, property_value) VALUES (?1, ?2, 'exists', 'true')";
const REMOVE_NAMESPACE: &str = "DELETE FROM iceberg_namespace_properties WHERE catalog_name = ?1 AND namespace = ?2 \
    AND NOT EXISTS (SELECT 1 FROM iceberg_tables WHERE catalog_name = ?1 AND table_namespace = ?2)";
const THE_TABLE: &str = "WHERE catalog_name = ?1 AND table_namespace = ?2 AND table_name = ?3";

/// The rows of one catalog.
pub(super) struct Rows {
    database: Sqlite,
    catalog: String,
    /// The column `iceberg_type` exists: schema version V1, where views may stand between the tables.
    typed: bool,
}

impl Rows {
    /// Makes the tables where they are missing and settles which catalog is meant. Errors: InvalidInput where the
    /// database holds several and none is named.
    pub(super) async fn open(database: Sqlite, catalog: Option<&str>) -> Result<Rows> {
        for statement in [MAKE_TABLES, MAKE_NAMESPACES] {
            database.execute(statement, &[]).await?;
        }
        let typed = !database.query(TYPE_COLUMN, &[], 1).await?.is_empty();
        let catalog = match catalog {
            Some(name) => name.to_string(),
            None => only(texts(database.query(CATALOGS, &[], NAMES_MAX).await?))?,
        };
        Ok(Rows {
            database,
            catalog,
            typed,
        })
    }

    /// Where the newest metadata of a table is recorded to be; none where there is no such table.
    pub(super) async fn pointer(&self, namespace: &str, name: &str) -> Result<Option<String>> {
        let statement = format!(
            "SELECT metadata_location FROM iceberg_tables {THE_TABLE}{}",
            self.tables_only()
        );
        let values = [self.catalog.as_str(), namespace, name];
        let rows = self.database.query(&statement, &values, 1).await?;
        match rows
            .into_iter()
            .next()
            .and_then(|row| row.into_iter().next())
        {
            None => Ok(None),
            Some(Some(pointer)) => Ok(Some(pointer)),
            Some(None) => Err(Error::corrupt(format!(
                "the catalog's database names no metadata for the table {namespace}.{name}"
            ))),
        }
    }

    /// Adds a table; AlreadyExists where the name is taken.
    pub(super) async fn insert(&self, namespace: &str, name: &str, metadata: &str) -> Result<()> {
        let (column, value) = match self.typed {
            true => (", iceberg_type", ", 'TABLE'"),
            false => ("", ""),
        };
        let statement = format!(
            "INSERT INTO iceberg_tables (catalog_name, table_namespace, table_name, metadata_location{column}) \
             VALUES (?1, ?2, ?3, ?4{value})"
        );
        let values = [self.catalog.as_str(), namespace, name, metadata];
        self.database.execute(&statement, &values).await.map(drop)
    }

    /// Moves the pointer from `base` to `metadata`; false where it is not at `base`.
    pub(super) async fn advance(
        &self,
        (namespace, name): (&str, &str),
        base: &str,
        metadata: &str,
    ) -> Result<bool> {
        let statement = format!(
            "UPDATE iceberg_tables SET metadata_location = ?4, previous_metadata_location = ?5 {THE_TABLE} \
             AND metadata_location = ?5{}",
            self.tables_only()
        );
        let values = [self.catalog.as_str(), namespace, name, metadata, base];
        Ok(self.database.execute(&statement, &values).await? == 1)
    }

    /// Takes out a table whose pointer is at `metadata`; false where it is not.
    pub(super) async fn remove(&self, namespace: &str, name: &str, metadata: &str) -> Result<bool> {
        let statement = format!(
            "DELETE FROM iceberg_tables {THE_TABLE} AND metadata_location = ?4{}",
            self.tables_only()
        );
        let values = [self.catalog.as_str(), namespace, name, metadata];
        Ok(self.database.execute(&statement, &values).await? == 1)
    }

    /// Renames a table; false where there is none, AlreadyExists where the new name is taken.
    pub(super) async fn rename(
        &self,
        (namespace, name): (&str, &str),
        (new_namespace, new_name): (&str, &str),
    ) -> Result<bool> {
        let statement = format!(
            "UPDATE iceberg_tables SET table_namespace = ?4, table_name = ?5 {THE_TABLE}{}",
            self.tables_only()
        );
        let catalog = self.catalog.as_str();
        let values = [catalog, namespace, name, new_namespace, new_name];
        Ok(self.database.execute(&statement, &values).await? == 1)
    }

    /// The tables of a namespace, in order.
    pub(super) async fn tables(&self, namespace: &str) -> Result<Vec<String>> {
        let statement = format!(
            "SELECT table_name FROM iceberg_tables WHERE catalog_name = ?1 AND table_namespace = ?2{}",
            self.tables_only()
        );
        let values = [self.catalog.as_str(), namespace];
        let rows = self.database.query(&statement, &values, NAMES_MAX).await?;
        Ok(texts(rows).into_iter().collect())
    }

    /// Every namespace that has properties or tables.
    pub(super) async fn namespaces(&self) -> Result<BTreeSet<String>> {
        let values = [self.catalog.as_str()];
        let rows = self.database.query(NAMESPACES, &values, NAMES_MAX).await?;
        Ok(texts(rows))
    }

    /// Adds a namespace; AlreadyExists where another client has added it just so.
    pub(super) async fn add_namespace(&self, namespace: &str) -> Result<()> {
        let values = [self.catalog.as_str(), namespace];
        self.database
            .execute(ADD_NAMESPACE, &values)
            .await
            .map(drop)
    }

    /// Removes a namespace's properties unless it holds tables; false where nothing was removed.
    pub(super) async fn remove_namespace(&self, namespace: &str) -> Result<bool> {
        let values = [self.catalog.as_str(), namespace];
        Ok(self.database.execute(REMOVE_NAMESPACE, &values).await? > 0)
    }

    fn tables_only(&self) -> &'static str {
        match self.typed {
            true => " AND (iceberg_type = 'TABLE' OR iceberg_type IS NULL)",
            false => "",
        }
    }
}

fn only(names: BTreeSet<String>) -> Result<String> {
    let mut all = names.iter();
    match (all.next(), all.next()) {
        (None, _) => Ok(CATALOG.to_string()),
        (Some(name), None) => Ok(name.clone()),
        (Some(first), Some(second)) => Err(Error::invalid_input(format!(
            "the database holds several catalogs, such as {first:?} and {second:?}: give the option catalog-name"
        ))),
    }
}

fn texts(rows: Vec<Vec<Option<String>>>) -> BTreeSet<String> {
    rows.into_iter().flatten().flatten().collect()
}
