//! The contract every catalog keeps, as one test body: run it with a catalog over an empty warehouse. What differs
//! by design is declared in [`Traits`].

use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value as Json;

use super::{Catalog, TableHead, TableRef};
use crate::error::{ErrorKind, Result};

/// What a catalog may do in its own way.
#[derive(Clone, Copy)]
pub(crate) struct Traits {
    /// The number of a new table's version.
    pub(crate) first_version: u64,
    /// Where a table lies is told by its name.
    pub(crate) location_by_name: bool,
    /// A namespace that holds namespaces cannot be dropped, and none lies below a table.
    pub(crate) nesting_guarded: bool,
}

/// The traits of a warehouse of folders.
pub(crate) const FOLDERS: Traits = Traits {
    first_version: 1,
    location_by_name: true,
    nesting_guarded: true,
};

/// The least that the file-system catalog looks at: a number to tell it from others, and a log that names the file
/// of `base`.
pub(crate) fn metadata(number: u64, base: Option<&TableHead>) -> Bytes {
    let mut document = serde_json::json!({"format-version": 2, "number": number});
    document["metadata-log"] = log(number, base);
    Bytes::from(serde_json::to_vec(&document).unwrap())
}

/// The log of `base` and its own file.
fn log(number: u64, base: Option<&TableHead>) -> Json {
    let mut log: Vec<Json> = Vec::new();
    if let Some(base) = base {
        let before: Json = serde_json::from_slice(&base.metadata).unwrap();
        log.extend(
            before["metadata-log"]
                .as_array()
                .cloned()
                .unwrap_or_default(),
        );
        log.push(serde_json::json!({"timestamp-ms": number, "metadata-file": base.metadata_location.as_str()}));
    }
    log.into()
}

/// The whole metadata of a new table.
async fn first(catalog: &dyn Catalog, table: &TableRef, number: u64) -> Bytes {
    let location = catalog.new_table_location(table).await;
    let location = location.map_or("memory:///nowhere".to_string(), |l| l.to_string());
    let document = serde_json::json!({
        "format-version": 2, "table-uuid": uuid::Uuid::new_v4().to_string(), "location": location,
        "last-sequence-number": 0, "last-updated-ms": crate::clock::now_ms(), "last-column-id": 1,
        "current-schema-id": 0,
        "schemas": [{"type": "struct", "schema-id": 0,
            "fields": [{"id": 1, "name": "id", "required": false, "type": "long"}]}],
        "default-spec-id": 0, "partition-specs": [{"spec-id": 0, "fields": []}], "last-partition-id": 999,
        "default-sort-order-id": 0, "sort-orders": [{"order-id": 0, "fields": []}],
        "properties": {"number": number.to_string()}, "current-snapshot-id": -1, "refs": {},
        "snapshots": [], "snapshot-log": [], "metadata-log": [],
    });
    Bytes::from(serde_json::to_vec(&document).unwrap())
}

/// The metadata of `base` with another number and a snapshot more.
pub(crate) fn next(number: u64, base: &TableHead) -> Bytes {
    let mut document: Json = serde_json::from_slice(&base.metadata).unwrap();
    let now = crate::clock::now_ms().max(document["last-updated-ms"].as_i64().unwrap());
    let id = uuid::Uuid::new_v4().as_u64_pair().0 >> 1;
    let sequence = document["last-sequence-number"].as_i64().unwrap() + 1;
    let mut snapshot = serde_json::json!({
        "snapshot-id": id, "sequence-number": sequence, "timestamp-ms": now, "schema-id": 0,
        "manifest-list": format!("{}/metadata/snap-{id}.avro", base.location),
        "summary": {"operation": "append"},
    });
    let main = &document["refs"]["main"]["snapshot-id"];
    if !main.is_null() {
        snapshot["parent-snapshot-id"] = main.clone();
    }
    document["snapshots"].as_array_mut().unwrap().push(snapshot);
    document["refs"]["main"] = serde_json::json!({"snapshot-id": id, "type": "branch"});
    document["current-snapshot-id"] = id.into();
    document["last-sequence-number"] = sequence.into();
    document["last-updated-ms"] = now.into();
    document["properties"]["number"] = number.to_string().into();
    document["metadata-log"] = log(number, Some(base));
    Bytes::from(serde_json::to_vec(&document).unwrap())
}

fn number(metadata: &[u8]) -> String {
    let document: Json = serde_json::from_slice(metadata).unwrap();
    document["properties"]["number"]
        .as_str()
        .unwrap()
        .to_string()
}

pub(crate) async fn create(
    catalog: &dyn Catalog,
    table: &TableRef,
    number: u64,
) -> Result<TableHead> {
    catalog
        .create_table(table, first(catalog, table, number).await)
        .await
}

pub(crate) fn named(parts: &[&str]) -> TableRef {
    let (name, namespace) = parts.split_last().unwrap();
    TableRef::Name {
        namespace: strings(namespace),
        name: name.to_string(),
    }
}

fn strings(parts: &[&str]) -> Vec<String> {
    parts.iter().map(|part| part.to_string()).collect()
}

/// The whole contract.
pub(crate) async fn check_catalog(catalog: Arc<dyn Catalog>, traits: Traits) {
    check_tables(&*catalog, traits).await;
    check_namespaces(&*catalog, traits).await;
    check_names(&*catalog).await;
    check_odd_names(&*catalog).await;
    check_races(&catalog).await;
    check_chains(&catalog, traits).await;
}

async fn check_tables(catalog: &dyn Catalog, traits: Traits) {
    let one = traits.first_version;
    let table = named(&["default", "orders"]);
    let missing = catalog.load(&table).await.unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::NotFound);
    assert!(missing.message().contains("default.orders"), "{missing}");
    let first = create(catalog, &table, 1).await.unwrap();
    assert_eq!((first.version, first.read_only), (one, None));
    assert_eq!(number(&first.metadata), "1");
    if traits.location_by_name {
        assert_eq!(first.location, catalog.table_location(&table).unwrap());
    }
    assert!(first.metadata_location.is_within(&first.location));
    assert_eq!(
        create(catalog, &table, 2).await.unwrap_err().kind(),
        ErrorKind::AlreadyExists
    );
    let loaded = catalog.load(&table).await.unwrap();
    assert_eq!((loaded.version, &loaded.metadata), (one, &first.metadata));
    let second = catalog.swap(&first, next(2, &first)).await.unwrap();
    assert_eq!(second.version, one + 1);
    assert_eq!(number(&second.metadata), "2");
    let stale = catalog.swap(&first, next(3, &first)).await.unwrap_err();
    assert_eq!(stale.kind(), ErrorKind::Conflict);
    let loaded = catalog.load(&table).await.unwrap();
    assert_eq!(
        (loaded.version, loaded.metadata, loaded.metadata_location),
        (
            one + 1,
            second.metadata.clone(),
            second.metadata_location.clone()
        )
    );
    let other = create(catalog, &named(&["default", "other"]), 9)
        .await
        .unwrap();
    assert_eq!(
        catalog.list_tables(&strings(&["default"])).await.unwrap(),
        ["orders", "other"]
    );
    catalog.drop_table_entry(&second).await.unwrap();
    assert_eq!(
        catalog.load(&table).await.unwrap_err().kind(),
        ErrorKind::NotFound
    );
    let dropped = catalog.swap(&second, next(4, &second)).await.unwrap_err();
    assert_eq!(dropped.kind(), ErrorKind::NotFound);
    assert_eq!(
        catalog.list_tables(&strings(&["default"])).await.unwrap(),
        ["other"]
    );
    let again = create(catalog, &table, 5).await.unwrap();
    assert_eq!(catalog.load(&table).await.unwrap().metadata, again.metadata);
    catalog.drop_table_entry(&again).await.unwrap();
    catalog.drop_table_entry(&other).await.unwrap();
}

async fn check_namespaces(catalog: &dyn Catalog, traits: Traits) {
    let (sales, deep) = (strings(&["sales"]), strings(&["sales", "eu west"]));
    assert!(
        catalog
            .namespace_exists(&strings(&["default"]))
            .await
            .unwrap()
    );
    assert!(!catalog.namespace_exists(&sales).await.unwrap());
    assert_eq!(
        catalog.list_namespaces(&[]).await.unwrap(),
        [strings(&["default"])]
    );
    let table = named(&["sales", "t"]);
    for error in [
        create(catalog, &table, 1).await.unwrap_err(),
        catalog.list_tables(&sales).await.unwrap_err(),
        catalog.list_namespaces(&sales).await.unwrap_err(),
        catalog.drop_namespace(&sales).await.unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::NotFound);
        assert!(error.message().contains("sales"), "{error}");
    }
    catalog.create_namespace(&sales).await.unwrap();
    assert_eq!(
        catalog.create_namespace(&sales).await.unwrap_err().kind(),
        ErrorKind::AlreadyExists
    );
    catalog.create_namespace(&deep).await.unwrap();
    assert!(catalog.namespace_exists(&deep).await.unwrap());
    assert!(catalog.list_tables(&sales).await.unwrap().is_empty());
    assert_eq!(
        catalog.list_namespaces(&[]).await.unwrap(),
        [strings(&["default"]), sales.clone()]
    );
    assert_eq!(
        catalog.list_namespaces(&sales).await.unwrap(),
        std::slice::from_ref(&deep)
    );
    if traits.nesting_guarded {
        assert_eq!(
            catalog.drop_namespace(&sales).await.unwrap_err().kind(),
            ErrorKind::InvalidInput
        );
    }
    catalog.drop_namespace(&deep).await.unwrap();
    check_namespace_of_tables(catalog, &sales, traits).await;
}

async fn check_namespace_of_tables(catalog: &dyn Catalog, sales: &[String], traits: Traits) {
    let table = named(&["sales", "t"]);
    let head = create(catalog, &table, 1).await.unwrap();
    assert_eq!(catalog.list_tables(sales).await.unwrap(), ["t"]);
    assert!(catalog.list_namespaces(sales).await.unwrap().is_empty());
    assert!(
        !catalog
            .namespace_exists(&strings(&["sales", "t"]))
            .await
            .unwrap()
    );
    assert_eq!(
        catalog.drop_namespace(sales).await.unwrap_err().kind(),
        ErrorKind::InvalidInput
    );
    if traits.nesting_guarded {
        let below = strings(&["sales", "t", "x"]);
        assert!(catalog.create_namespace(&below).await.is_err());
    }
    catalog.drop_table_entry(&head).await.unwrap();
    assert_eq!(
        catalog
            .drop_namespace(&strings(&["default"]))
            .await
            .unwrap_err()
            .kind(),
        ErrorKind::InvalidInput
    );
}

async fn check_names(catalog: &dyn Catalog) {
    for wrong in ["", ".", "..", "a/b", "a\\b", "a\0b", "_hidden"] {
        let cases = [
            create(catalog, &named(&["default", wrong]), 1)
                .await
                .map(drop),
            create(catalog, &named(&[wrong, "t"]), 1).await.map(drop),
            catalog.create_namespace(&strings(&[wrong])).await,
            catalog
                .create_namespace(&strings(&["default", wrong]))
                .await,
        ];
        for result in cases {
            assert_eq!(
                result.unwrap_err().kind(),
                ErrorKind::InvalidInput,
                "{wrong:?}"
            );
        }
    }
    for wrong in ["", "..", "a/b", "a\\b", "a\0b"] {
        assert_eq!(
            catalog
                .load(&named(&["default", wrong]))
                .await
                .unwrap_err()
                .kind(),
            ErrorKind::InvalidInput
        );
        assert_eq!(
            catalog
                .load(&named(&[wrong, "t"]))
                .await
                .unwrap_err()
                .kind(),
            ErrorKind::InvalidInput
        );
    }
}

async fn check_odd_names(catalog: &dyn Catalog) {
    let odd = [
        "a b",
        "a.b",
        "say \"hi\"",
        "it's",
        "Mixed",
        "ünï 日本",
        "100%",
        "%20",
        "x#1",
        "v1.metadata",
        "metadata",
        "data",
    ];
    for name in odd {
        let table = named(&["default", name]);
        let head = create(catalog, &table, 1).await.unwrap();
        let head = catalog.swap(&head, next(2, &head)).await.unwrap();
        assert_eq!(
            catalog.load(&table).await.unwrap().metadata,
            head.metadata,
            "{name}"
        );
        assert_eq!(
            catalog.list_tables(&strings(&["default"])).await.unwrap(),
            [name]
        );
        catalog.drop_table_entry(&head).await.unwrap();
    }
}

/// Eight writers on the same base: one wins, seven learn that they lost.
async fn check_races(catalog: &Arc<dyn Catalog>) {
    let table = named(&["default", "race"]);
    let creates = (0..8).map(|task| {
        let (catalog, table) = (Arc::clone(catalog), table.clone());
        tokio::spawn(async move { create(&*catalog, &table, task).await })
    });
    let mut head = one_winner(
        futures::future::join_all(creates).await,
        ErrorKind::AlreadyExists,
    );
    for round in 0..20 {
        let swaps = (0..8).map(|task| {
            let (catalog, base) = (Arc::clone(catalog), head.clone());
            tokio::spawn(async move { catalog.swap(&base, next(100 * round + task, &base)).await })
        });
        let winner = one_winner(futures::future::join_all(swaps).await, ErrorKind::Conflict);
        assert_eq!(winner.version, head.version + 1);
        let loaded = catalog.load(&table).await.unwrap();
        assert_eq!(
            (loaded.version, &loaded.metadata),
            (winner.version, &winner.metadata)
        );
        head = winner;
    }
    catalog.drop_table_entry(&head).await.unwrap();
}

type Attempt = std::result::Result<Result<TableHead>, tokio::task::JoinError>;

fn one_winner(attempts: Vec<Attempt>, losers: ErrorKind) -> TableHead {
    let (won, lost): (Vec<_>, Vec<_>) = attempts
        .into_iter()
        .map(std::result::Result::unwrap)
        .partition(Result::is_ok);
    for error in lost.into_iter().map(Result::unwrap_err) {
        assert_eq!(error.kind(), losers, "{error}");
    }
    assert_eq!(won.len(), 1);
    won.into_iter().next().unwrap().unwrap()
}

/// Eight writers that retry on conflict: every acknowledged commit stays in the chain.
async fn check_chains(catalog: &Arc<dyn Catalog>, traits: Traits) {
    let table = named(&["default", "chain"]);
    create(&**catalog, &table, 0).await.unwrap();
    let writers = (0..8_u64).map(|task| {
        let (catalog, table) = (Arc::clone(catalog), table.clone());
        tokio::spawn(async move {
            let mut files = Vec::new();
            while files.len() < 5 {
                let base = catalog.load(&table).await.unwrap();
                match catalog.swap(&base, next(1000 + task, &base)).await {
                    Ok(head) => files.push(head.metadata_location.to_string()),
                    Err(error) => assert_eq!(error.kind(), ErrorKind::Conflict, "{error}"),
                }
            }
            files
        })
    });
    let acknowledged: Vec<String> = futures::future::join_all(writers)
        .await
        .into_iter()
        .flat_map(Result::unwrap)
        .collect();
    let head = catalog.load(&table).await.unwrap();
    assert_eq!(head.version, traits.first_version + 40);
    let document: Json = serde_json::from_slice(&head.metadata).unwrap();
    let mut chain: Vec<&str> = vec![head.metadata_location.as_str()];
    chain.extend(
        document["metadata-log"]
            .as_array()
            .unwrap()
            .iter()
            .map(|entry| entry["metadata-file"].as_str().unwrap()),
    );
    assert_eq!(chain.len(), 41);
    assert!(
        acknowledged
            .iter()
            .all(|file| chain.contains(&file.as_str()))
    );
    catalog.drop_table_entry(&head).await.unwrap();
}
