//! The contract every catalog keeps, as one test body: run it with a catalog over an empty warehouse. The
//! metadata it commits is the least that a catalog looks at.

use std::sync::Arc;

use bytes::Bytes;

use super::{Catalog, TableHead, TableRef};
use crate::error::ErrorKind;

/// Metadata with a number to tell it from others, whose log names the file of `base`.
pub(crate) fn metadata(number: u64, base: Option<&TableHead>) -> Bytes {
    let mut log: Vec<serde_json::Value> = Vec::new();
    if let Some(base) = base {
        let before: serde_json::Value = serde_json::from_slice(&base.metadata).unwrap();
        log.extend(
            before["metadata-log"]
                .as_array()
                .cloned()
                .unwrap_or_default(),
        );
        log.push(serde_json::json!({"timestamp-ms": number, "metadata-file": base.metadata_location.as_str()}));
    }
    let document = serde_json::json!({"format-version": 2, "number": number, "metadata-log": log});
    Bytes::from(serde_json::to_vec(&document).unwrap())
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
pub(crate) async fn check_catalog(catalog: Arc<dyn Catalog>) {
    check_tables(&*catalog).await;
    check_namespaces(&*catalog).await;
    check_names(&*catalog).await;
    check_odd_names(&*catalog).await;
    check_races(&catalog).await;
    check_chains(&catalog).await;
}

async fn check_tables(catalog: &dyn Catalog) {
    let table = named(&["default", "orders"]);
    let missing = catalog.load(&table).await.unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::NotFound);
    assert!(missing.message().contains("default.orders"), "{missing}");
    let first = catalog
        .create_table(&table, metadata(1, None))
        .await
        .unwrap();
    assert_eq!((first.version, first.read_only), (1, None));
    assert_eq!(first.location, catalog.table_location(&table).unwrap());
    assert!(first.metadata_location.is_within(&first.location));
    assert_eq!(
        catalog
            .create_table(&table, metadata(2, None))
            .await
            .unwrap_err()
            .kind(),
        ErrorKind::AlreadyExists
    );
    let loaded = catalog.load(&table).await.unwrap();
    assert_eq!((loaded.version, &loaded.metadata), (1, &first.metadata));
    let second = catalog
        .swap(&first, metadata(2, Some(&first)))
        .await
        .unwrap();
    assert_eq!(second.version, 2);
    let stale = catalog
        .swap(&first, metadata(3, Some(&first)))
        .await
        .unwrap_err();
    assert_eq!(stale.kind(), ErrorKind::Conflict);
    let loaded = catalog.load(&table).await.unwrap();
    assert_eq!(
        (loaded.version, loaded.metadata, loaded.metadata_location),
        (2, second.metadata.clone(), second.metadata_location.clone())
    );
    let other = catalog
        .create_table(&named(&["default", "other"]), metadata(9, None))
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
    let dropped = catalog
        .swap(&second, metadata(4, Some(&second)))
        .await
        .unwrap_err();
    assert_eq!(dropped.kind(), ErrorKind::NotFound);
    assert_eq!(
        catalog.list_tables(&strings(&["default"])).await.unwrap(),
        ["other"]
    );
    let again = catalog
        .create_table(&table, metadata(5, None))
        .await
        .unwrap();
    assert_eq!(catalog.load(&table).await.unwrap().metadata, again.metadata);
    catalog.drop_table_entry(&again).await.unwrap();
    catalog.drop_table_entry(&other).await.unwrap();
}

async fn check_namespaces(catalog: &dyn Catalog) {
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
        catalog
            .create_table(&table, metadata(1, None))
            .await
            .unwrap_err(),
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
    assert_eq!(
        catalog.drop_namespace(&sales).await.unwrap_err().kind(),
        ErrorKind::InvalidInput
    );
    catalog.drop_namespace(&deep).await.unwrap();
    check_namespace_of_tables(catalog, &sales).await;
}

async fn check_namespace_of_tables(catalog: &dyn Catalog, sales: &[String]) {
    let table = named(&["sales", "t"]);
    let head = catalog
        .create_table(&table, metadata(1, None))
        .await
        .unwrap();
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
    assert!(
        catalog
            .create_namespace(&strings(&["sales", "t", "x"]))
            .await
            .is_err()
    );
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
            catalog
                .create_table(&named(&["default", wrong]), metadata(1, None))
                .await
                .map(drop),
            catalog
                .create_table(&named(&[wrong, "t"]), metadata(1, None))
                .await
                .map(drop),
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
        let head = catalog
            .create_table(&table, metadata(1, None))
            .await
            .unwrap();
        let head = catalog.swap(&head, metadata(2, Some(&head))).await.unwrap();
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
        tokio::spawn(async move { catalog.create_table(&table, metadata(task, None)).await })
    });
    let mut head = one_winner(
        futures::future::join_all(creates).await,
        ErrorKind::AlreadyExists,
    );
    for round in 0..20 {
        let swaps = (0..8).map(|task| {
            let (catalog, base) = (Arc::clone(catalog), head.clone());
            tokio::spawn(async move {
                catalog
                    .swap(&base, metadata(100 * round + task, Some(&base)))
                    .await
            })
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

type Attempt = Result<crate::error::Result<TableHead>, tokio::task::JoinError>;

fn one_winner(attempts: Vec<Attempt>, losers: ErrorKind) -> TableHead {
    let (won, lost): (Vec<_>, Vec<_>) = attempts
        .into_iter()
        .map(Result::unwrap)
        .partition(Result::is_ok);
    for error in lost.into_iter().map(Result::unwrap_err) {
        assert_eq!(error.kind(), losers, "{error}");
    }
    assert_eq!(won.len(), 1);
    won.into_iter().next().unwrap().unwrap()
}

/// Eight writers that retry on conflict: every acknowledged commit stays in the chain.
async fn check_chains(catalog: &Arc<dyn Catalog>) {
    let table = named(&["default", "chain"]);
    catalog
        .create_table(&table, metadata(0, None))
        .await
        .unwrap();
    let writers = (0..8_u64).map(|task| {
        let (catalog, table) = (Arc::clone(catalog), table.clone());
        tokio::spawn(async move {
            let mut files = Vec::new();
            while files.len() < 5 {
                let base = catalog.load(&table).await.unwrap();
                match catalog
                    .swap(&base, metadata(1000 + task, Some(&base)))
                    .await
                {
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
    assert_eq!(head.version, 41);
    let document: serde_json::Value = serde_json::from_slice(&head.metadata).unwrap();
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
