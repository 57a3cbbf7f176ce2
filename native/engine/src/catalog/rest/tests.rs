//! The REST catalog against Iceberg's own server: the contract, who is let in, answers that get lost, and what the
//! server may not make this client do.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Value as Json, json};

use super::RestCatalog;
use super::changes::changes;
use crate::catalog::suite::{Traits, check_catalog, create, named, next};
use crate::catalog::{Catalog, TableHead};
use crate::error::{ErrorKind, Result};
use crate::storage::Storage;
use crate::storage::testing::CatalogServer;

const SECRET: &str = "r3st-s3cr3t";
const WAREHOUSE: &str = "s3://nowhere/wh";

/// A server; none where its libraries are not installed.
fn server(warehouse: &str, secret: Option<&str>) -> Option<CatalogServer> {
    match CatalogServer::start(warehouse, secret) {
        Ok(server) => Some(server),
        Err(error) => {
            println!("skipped: {error}");
            None
        }
    }
}

fn options(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    let owned = |(key, value): &(&str, &str)| (key.to_string(), value.to_string());
    pairs.iter().map(owned).collect()
}

fn open(server: &CatalogServer, more: &[(&str, &str)]) -> RestCatalog {
    let mut options = options(more);
    options.insert("uri".to_string(), server.address().to_string());
    let storage = Storage::new(&BTreeMap::new(), &[]).unwrap();
    RestCatalog::new(storage, &options, None).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn catalog_by_rest_keeps_the_contract() {
    let Some(server) = server(WAREHOUSE, None) else {
        return;
    };
    let traits = Traits {
        first_version: 0,
        location_by_name: false,
        nesting_guarded: false,
    };
    check_catalog(Arc::new(open(&server, &[])), traits).await;
}

#[tokio::test]
async fn tables_are_renamed_and_listed_page_by_page() {
    let Some(server) = server(WAREHOUSE, None) else {
        return;
    };
    let catalog = open(&server, &[("rest-page-size", "2")]);
    let default = ["default".to_string()];
    for number in 0..5 {
        let name = format!("t{number}");
        create(&catalog, &named(&["default", &name]), number)
            .await
            .unwrap();
    }
    let listed = catalog.list_tables(&default).await.unwrap();
    assert_eq!(listed, ["t0", "t1", "t2", "t3", "t4"]);
    for number in 0..3 {
        let name = vec![format!("n{number}")];
        catalog.create_namespace(&name).await.unwrap();
    }
    let namespaces = catalog.list_namespaces(&[]).await.unwrap();
    assert_eq!(namespaces.concat(), ["default", "n0", "n1", "n2"]);
    let (old, new) = (named(&["default", "t1"]), named(&["n1", "moved"]));
    catalog.rename_table(&old, &new).await.unwrap();
    assert_eq!(
        catalog.load(&old).await.unwrap_err().kind(),
        ErrorKind::NotFound
    );
    assert_eq!(catalog.load(&new).await.unwrap().version, 0);
    let taken = catalog.rename_table(&new, &named(&["default", "t2"])).await;
    assert_eq!(taken.unwrap_err().kind(), ErrorKind::AlreadyExists);
}

#[tokio::test]
async fn only_who_knows_the_secret_is_let_in_and_no_error_tells_it() {
    let Some(server) = server(WAREHOUSE, Some(SECRET)) else {
        return;
    };
    let token = format!("t-{SECRET}");
    let credential = format!("me:{SECRET}");
    for right in [
        ("credential", credential.as_str()),
        ("token", &token),
        ("credential", SECRET),
    ] {
        let catalog = open(&server, &[right]);
        let namespaces = catalog.list_namespaces(&[]).await.unwrap();
        assert_eq!(namespaces.concat(), ["default"]);
    }
    for wrong in [
        vec![],
        vec![("credential", "me:wr0ng-s3cr3t")],
        vec![("token", "wr0ng-s3cr3t")],
        vec![("header.x-token", "wr0ng-s3cr3t")],
    ] {
        let catalog = open(&server, &wrong);
        let error = catalog.load(&named(&["default", "t"])).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{error}");
        assert!(!format!("{error:?}").contains("wr0ng-s3cr3t"), "{error:?}");
    }
}

#[test]
fn properties_that_cannot_be_are_refused_without_their_values() {
    let value = "s3cr3t-value";
    let url = format!("http://me:{value}@h");
    for given in [
        vec![("token", value)],
        vec![("uri", value)],
        vec![("uri", url.as_str())],
        vec![("uri", "ftp://h/s3cr3t-value")],
        vec![("uri", "http://h"), ("token", value), ("credential", value)],
        vec![("uri", "http://h"), ("header.authorization", value)],
        vec![("uri", "http://h"), ("header.x", "s3cr3t-value\n")],
        vec![
            ("uri", "http://h"),
            ("credential", value),
            ("oauth2-server-uri", value),
        ],
        vec![("uri", "http://h"), ("rest-page-size", value)],
    ] {
        let storage = Storage::new(&BTreeMap::new(), &[]).unwrap();
        let made = RestCatalog::new(storage, &options(&given), None).map(drop);
        let error = made.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
        assert!(!format!("{error} {error:?}").contains(value), "{error:?}");
    }
}

#[tokio::test]
async fn local_path_from_the_server_needs_the_users_prefix_map() {
    let Some(server) = server("file:/srv/wh", None) else {
        return;
    };
    let plain = open(&server, &[]);
    let table = named(&["default", "t"]);
    let error = plain.new_table_location(&table).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{error}");
    assert!(error.message().contains("/srv/wh"), "{error}");
    let map = [("file:/srv/wh".to_string(), "/srv/wh".to_string())];
    let storage = Storage::new(&BTreeMap::new(), &map).unwrap();
    let options = options(&[("uri", server.address())]);
    let allowed = RestCatalog::new(storage, &options, None).unwrap();
    let head = create(&allowed, &table, 1).await.unwrap();
    assert!(head.location.as_str().starts_with("/srv/wh/"), "{head:?}");
    let error = plain.load(&table).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{error}");
}

async fn swapped(catalog: &RestCatalog, base: &TableHead, number: u64) -> Result<TableHead> {
    catalog.swap(base, next(number, base)).await
}

#[tokio::test]
async fn commit_whose_answer_got_lost_is_settled_by_reading() {
    let Some(server) = server(WAREHOUSE, None) else {
        return;
    };
    let plain = open(&server, &[]);
    let table = named(&["default", "t"]);
    let base = create(&plain, &table, 1).await.unwrap();
    let deaf = open(&server, &[("header.x-lose", "answers")]);
    let head = swapped(&deaf, &base, 2).await.unwrap();
    assert_eq!(plain.load(&table).await.unwrap().metadata, head.metadata);
    let mute = open(&server, &[("header.x-lose", "requests")]);
    let error = swapped(&mute, &head, 3).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::CommitUnknown, "{error}");
    assert_eq!(plain.load(&table).await.unwrap().metadata, head.metadata);
    let stale = swapped(&deaf, &base, 4).await.unwrap_err();
    assert_eq!(stale.kind(), ErrorKind::CommitUnknown, "{stale}");
}

#[tokio::test]
async fn server_that_is_gone_is_unavailable() {
    let Some(server) = server(WAREHOUSE, None) else {
        return;
    };
    let catalog = open(&server, &[]);
    let table = named(&["default", "t"]);
    let base = create(&catalog, &table, 1).await.unwrap();
    drop(server);
    let error = catalog.load(&table).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    assert!(
        error.is_retryable() && error.message().contains("default.t"),
        "{error}"
    );
    let error = swapped(&catalog, &base, 2).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::CommitUnknown, "{error}");
}

fn document(change: impl FnOnce(&mut Json)) -> Bytes {
    let mut document = json!({
        "format-version": 2, "table-uuid": "u", "location": "s3://b/t", "last-sequence-number": 1,
        "last-updated-ms": 5, "last-column-id": 1, "current-schema-id": 0,
        "schemas": [{"schema-id": 0, "type": "struct", "fields": []}],
        "default-spec-id": 0, "partition-specs": [{"spec-id": 0, "fields": []}],
        "properties": {"a": "1", "b": "2"}, "snapshots": [{"snapshot-id": 7}],
        "refs": {"main": {"snapshot-id": 7, "type": "branch"}}, "custom": 1,
    });
    change(&mut document);
    Bytes::from(document.to_string())
}

#[test]
fn changes_between_two_documents_become_updates_with_requirements() {
    let base = document(|_| {});
    let new = document(|d| {
        d["properties"] = json!({"a": "1", "c": "3"});
        d["schemas"]
            .as_array_mut()
            .unwrap()
            .push(json!({"schema-id": 1, "fields": [1]}));
        d["current-schema-id"] = 1.into();
        d["last-column-id"] = 2.into();
        d["snapshots"] = json!([{"snapshot-id": 8}]);
        d["refs"] = json!({"main": {"snapshot-id": 8, "type": "branch"}});
        d["last-updated-ms"] = 9.into();
    });
    let sent = changes(&base, &new).unwrap();
    assert_eq!(sent.snapshots, [8]);
    let updates = json!([
        {"action": "add-schema", "schema": {"schema-id": 1, "fields": [1]}, "last-column-id": 2},
        {"action": "set-current-schema", "schema-id": -1},
        {"action": "set-properties", "updates": {"c": "3"}},
        {"action": "remove-properties", "removals": ["b"]},
        {"action": "add-snapshot", "snapshot": {"snapshot-id": 8}},
        {"action": "remove-snapshots", "snapshot-ids": [7]},
        {"action": "set-snapshot-ref", "ref-name": "main", "type": "branch", "snapshot-id": 8},
    ]);
    assert_eq!(Json::from(sent.updates), updates);
    let requirements = json!([
        {"type": "assert-table-uuid", "uuid": "u"},
        {"type": "assert-last-assigned-field-id", "last-assigned-field-id": 1},
        {"type": "assert-current-schema-id", "current-schema-id": 0},
        {"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": 7},
    ]);
    assert_eq!(Json::from(sent.requirements), requirements);
    let nothing = changes(&base, &base).unwrap();
    assert!(nothing.updates.is_empty() && nothing.requirements.len() == 1);
}

#[test]
fn change_that_has_no_update_is_refused() {
    let base = document(|_| {});
    for (key, value) in [
        ("custom", json!(2)),
        ("new-key", json!(1)),
        ("table-uuid", json!("v")),
        ("schemas", json!([])),
        ("partition-specs", json!([{"spec-id": 0, "fields": [1]}])),
        ("snapshots", json!([{"snapshot-id": 7, "summary": {}}])),
    ] {
        let error = changes(&base, &document(|d| d[key] = value)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{key}");
        assert!(error.message().contains(key), "{error}");
    }
}
