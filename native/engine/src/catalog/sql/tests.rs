//! The SQL catalog over SQLite: the contract, what other clients leave in the tables, and which paths are followed.

use std::collections::BTreeMap;
use std::sync::Arc;

use rusqlite::Connection;

use super::SqlCatalog;
use crate::catalog::Catalog;
use crate::catalog::suite::{Traits, check_catalog, create, named, next};
use crate::error::ErrorKind;
use crate::storage::Storage;
use crate::storage::testing::TempFolder;

fn file(folder: &TempFolder) -> String {
    format!("{}/catalog.db", folder.path().display())
}

fn open(folder: &TempFolder, more: &[(&str, &str)]) -> SqlCatalog {
    let mut options = BTreeMap::from([("uri".to_string(), format!("sqlite:{}", file(folder)))]);
    options.extend(more.iter().map(|(k, v)| (k.to_string(), v.to_string())));
    let storage = Storage::new(&BTreeMap::new(), &[]).unwrap();
    let warehouse = folder.location().join("wh").unwrap();
    SqlCatalog::new(storage, &options, Some(warehouse)).unwrap()
}

fn run(folder: &TempFolder, statements: &str) {
    let connection = Connection::open(file(folder)).unwrap();
    connection.execute_batch(statements).unwrap();
}

fn one(folder: &TempFolder, query: &str) -> Option<String> {
    let connection = Connection::open(file(folder)).unwrap();
    connection.query_row(query, [], |row| row.get(0)).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn catalog_in_sqlite_keeps_the_contract() {
    let folder = TempFolder::new().unwrap();
    let traits = Traits {
        first_version: 0,
        location_by_name: false,
        nesting_guarded: false,
    };
    check_catalog(Arc::new(open(&folder, &[])), traits).await;
}

#[tokio::test]
async fn rows_are_those_of_icebergs_jdbc_catalog() {
    let folder = TempFolder::new().unwrap();
    let catalog = open(&folder, &[("catalog-name", "prod")]);
    let table = named(&["default", "t"]);
    let first = create(&catalog, &table, 1).await.unwrap();
    let second = catalog.swap(&first, next(2, &first)).await.unwrap();
    let row = "SELECT catalog_name || '|' || table_namespace || '|' || table_name || '|' || metadata_location \
        || '|' || previous_metadata_location || '|' || iceberg_type FROM iceberg_tables";
    assert_eq!(
        one(&folder, row).unwrap(),
        format!(
            "prod|default|t|{}|{}|TABLE",
            second.metadata_location, first.metadata_location
        )
    );
    let row = "SELECT catalog_name || namespace || property_key || property_value FROM iceberg_namespace_properties";
    assert_eq!(one(&folder, row).unwrap(), "proddefaultexiststrue");
    let name = second.metadata_location.name();
    assert!(name.starts_with("00001-") && name.ends_with(".metadata.json"));
}

#[tokio::test]
async fn renamed_table_keeps_its_folder_and_its_old_name_starts_anew() {
    let folder = TempFolder::new().unwrap();
    let catalog = open(&folder, &[]);
    let (old, new) = (named(&["default", "t"]), named(&["n", "moved"]));
    let head = create(&catalog, &old, 1).await.unwrap();
    let nowhere = catalog.rename_table(&old, &new).await.unwrap_err();
    assert_eq!(nowhere.kind(), ErrorKind::NotFound);
    catalog.create_namespace(&["n".to_string()]).await.unwrap();
    catalog.rename_table(&old, &new).await.unwrap();
    let missing = catalog.rename_table(&old, &new).await.unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::NotFound);
    let again = create(&catalog, &old, 2).await.unwrap();
    assert_ne!(again.location, head.location);
    assert_eq!(catalog.load(&new).await.unwrap().metadata, head.metadata);
    let taken = catalog.rename_table(&old, &new).await.unwrap_err();
    assert_eq!(taken.kind(), ErrorKind::AlreadyExists);
    let stale = catalog.drop_table_entry(&head).await.unwrap_err();
    assert_eq!(stale.kind(), ErrorKind::Conflict);
}

#[tokio::test]
async fn several_catalogs_share_a_database_and_one_of_them_is_named() {
    let folder = TempFolder::new().unwrap();
    let (a, b) = (
        open(&folder, &[("catalog-name", "a")]),
        open(&folder, &[("catalog-name", "b")]),
    );
    let table = named(&["default", "t"]);
    create(&a, &table, 1).await.unwrap();
    assert!(open(&folder, &[]).load(&table).await.is_ok());
    assert_eq!(
        b.load(&table).await.unwrap_err().kind(),
        ErrorKind::NotFound
    );
    create(&b, &table, 2).await.unwrap();
    let error = open(&folder, &[]).load(&table).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(error.message().contains("catalog-name"), "{error}");
}

#[tokio::test]
async fn tables_of_the_older_schema_are_used_and_views_are_no_tables() {
    let folder = TempFolder::new().unwrap();
    run(
        &folder,
        "CREATE TABLE iceberg_tables (catalog_name VARCHAR(255) NOT NULL, table_namespace VARCHAR(255) NOT NULL, \
         table_name VARCHAR(255) NOT NULL, metadata_location VARCHAR(1000), previous_metadata_location VARCHAR(1000), \
         PRIMARY KEY (catalog_name, table_namespace, table_name))",
    );
    let table = named(&["default", "t"]);
    let head = create(&open(&folder, &[]), &table, 1).await.unwrap();
    open(&folder, &[])
        .swap(&head, next(2, &head))
        .await
        .unwrap();
    run(
        &folder,
        "ALTER TABLE iceberg_tables ADD COLUMN iceberg_type VARCHAR(5); \
         INSERT INTO iceberg_tables VALUES ('default', 'default', 'v', 'file:/nowhere/v', NULL, 'VIEW')",
    );
    let catalog = open(&folder, &[]);
    assert_eq!(catalog.load(&table).await.unwrap().version, 1);
    let default = ["default".to_string()];
    assert_eq!(catalog.list_tables(&default).await.unwrap(), ["t"]);
    let view = named(&["default", "v"]);
    let error = catalog.load(&view).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    let taken = create(&catalog, &view, 1).await.unwrap_err();
    assert_eq!(taken.kind(), ErrorKind::AlreadyExists);
}

#[tokio::test]
async fn l7_local_path_in_a_database_is_followed_below_the_warehouse_alone() {
    let folder = TempFolder::new().unwrap();
    let catalog = open(&folder, &[]);
    let table = named(&["default", "t"]);
    create(&catalog, &table, 1).await.unwrap();
    run(
        &folder,
        "UPDATE iceberg_tables SET metadata_location = 'file:///etc/passwd.metadata.json'",
    );
    let error = catalog.load(&table).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{error}");
    assert!(error.message().contains("/etc/passwd"), "{error}");
}

#[tokio::test]
async fn l8_pointer_to_nothing_and_a_file_that_is_no_database_are_corrupt() {
    let folder = TempFolder::new().unwrap();
    let catalog = open(&folder, &[]);
    let table = named(&["default", "t"]);
    let head = create(&catalog, &table, 1).await.unwrap();
    std::fs::remove_file(head.metadata_location.as_str()).unwrap();
    let error = catalog.load(&table).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    run(
        &folder,
        "UPDATE iceberg_tables SET metadata_location = NULL",
    );
    let error = catalog.load(&table).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    drop(catalog);
    std::fs::write(
        file(&folder),
        "no database, however long the text may be that stands in it",
    )
    .unwrap();
    let error = open(&folder, &[]).load(&table).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
}

#[tokio::test]
async fn namespace_that_holds_namespaces_is_not_empty() {
    let folder = TempFolder::new().unwrap();
    let catalog = open(&folder, &[]);
    let parts = |name: &str| name.split('/').map(str::to_string).collect::<Vec<_>>();
    catalog.create_namespace(&parts("a/b")).await.unwrap();
    assert!(catalog.namespace_exists(&parts("a")).await.unwrap());
    assert!(!catalog.namespace_exists(&parts("a_")).await.unwrap());
    let error = catalog.drop_namespace(&parts("a")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    let dotted = catalog.create_namespace(&["x.y".to_string()]).await;
    assert_eq!(dotted.unwrap_err().kind(), ErrorKind::InvalidInput);
    catalog.drop_namespace(&parts("a/b")).await.unwrap();
    assert!(!catalog.namespace_exists(&parts("a")).await.unwrap());
}
