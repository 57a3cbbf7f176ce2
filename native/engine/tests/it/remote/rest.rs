//! Tables of a REST catalog in S3, through SQL: what works by name works as in a warehouse of folders.

use benostreamdb::storage::testing::{CatalogServer, Gateway, KEY_ID, SECRET};
use benostreamdb::{ErrorKind, Session, SessionOptions};

use crate::support::{fails, line, rows};

#[tokio::test]
async fn tables_of_a_rest_catalog_are_written_indexed_searched_renamed_and_dropped() {
    let servers = Gateway::shared().and_then(|gateway| {
        let bucket = gateway.bucket()?;
        let warehouse = format!("s3://{bucket}/wh");
        Ok((CatalogServer::start(&warehouse, None)?, gateway, bucket))
    });
    let (server, gateway, bucket) = match servers {
        Ok(servers) => servers,
        Err(error) => return println!("skipped: {error}"),
    };
    let mut options = gateway.options();
    options.insert("type".to_string(), "rest".to_string());
    options.insert("uri".to_string(), server.address().to_string());
    let open = || {
        Session::open(&SessionOptions {
            warehouse: Some("wh".to_string()),
            options: options.clone(),
            ..SessionOptions::default()
        })
        .unwrap()
    };
    let (session, other) = (open(), open());
    rows(
        &session,
        "CREATE SCHEMA sales;
         CREATE TABLE sales.t (id int, kind text, body text, v vector(2));
         INSERT INTO sales.t VALUES (1,'a','quick fox','[0,0]'), (2,'b','lazy dog','[1,0]'), (3,'a',NULL,NULL);
         INSERT INTO sales.t VALUES (4,'c','slow fox','[2,0]')",
    )
    .await;
    rows(&session, "CREATE INDEX ON sales.t USING hnsw (v)").await;
    rows(&session, "CREATE INDEX ON sales.t USING bm25 (body)").await;
    rows(&other, "DELETE FROM sales.t WHERE id = 2").await;
    rows(&other, "UPDATE sales.t SET kind = 'z' WHERE id = 4").await;
    for (query, expected) in [
        ("SELECT id, kind FROM sales.t ORDER BY id", "1|a 3|a 4|z"),
        (
            "SELECT id FROM vector_search('sales.t', 'v', '[1.1,0]', 2)",
            "4 1",
        ),
        (
            "SELECT id FROM bm25_search('sales.t', 'body', 'fox', 5) ORDER BY id",
            "1 4",
        ),
    ] {
        assert_eq!(line(&session, query).await, expected, "{query}");
    }
    // The table's folder holds data and indexes; the pointer is with the server.
    let folder = gateway.files(&bucket).join("wh/sales/t");
    assert!(folder.join("data").exists() && folder.join("_overlay").exists());
    let names = session.list_tables(&["sales".to_string()]).await.unwrap();
    assert_eq!(names, ["t"]);
    let at = |name: &str| session.table_ref(name).unwrap();
    let (old, new) = (at("sales.t"), at("sales.moved"));
    session.rename_table(&old, &new).await.unwrap();
    assert_eq!(line(&other, "SELECT count(*) FROM sales.moved").await, "3");
    fails(&session, "SELECT * FROM sales.t", ErrorKind::NotFound).await;
    rows(&session, "DROP TABLE sales.moved").await;
    fails(&other, "SELECT * FROM sales.moved", ErrorKind::NotFound).await;
    assert!(
        !folder.join("data").exists(),
        "a dropped table leaves its data"
    );
    rows(&session, "CREATE TABLE u AS SELECT 5 AS a").await;
    assert_eq!(line(&other, "SELECT a FROM u").await, "5");
}

#[tokio::test]
async fn concurrent_appends_through_a_rest_catalog_all_land_once() {
    let servers = Gateway::shared().and_then(|gateway| {
        let warehouse = format!("s3://{}/wh", gateway.bucket()?);
        Ok((CatalogServer::start(&warehouse, None)?, gateway))
    });
    let (server, gateway) = match servers {
        Ok(servers) => servers,
        Err(error) => return println!("skipped: {error}"),
    };
    let mut options = gateway.options();
    options.insert("type".to_string(), "rest".to_string());
    options.insert("uri".to_string(), server.address().to_string());
    let options = SessionOptions {
        options,
        ..SessionOptions::default()
    };
    let session = Session::open(&options).unwrap();
    rows(&session, "CREATE TABLE t (id int)").await;
    let writers = (0..6).map(|writer| {
        let options = options.clone();
        tokio::spawn(async move {
            let session = Session::open(&options).unwrap();
            for round in 0..3 {
                let id = writer * 10 + round;
                rows(&session, &format!("INSERT INTO t VALUES ({id})")).await;
            }
        })
    });
    for writer in futures::future::join_all(writers).await {
        writer.unwrap();
    }
    assert_eq!(
        line(&session, "SELECT count(*), count(DISTINCT id) FROM t").await,
        "18|18"
    );
}

#[tokio::test]
async fn table_is_reached_with_the_keys_that_the_catalog_gives_for_it() {
    let servers = Gateway::shared().and_then(|gateway| {
        let warehouse = format!("s3://{}/wh", gateway.bucket()?);
        let credentials = serde_json::json!([
            {"prefix": "s3://", "config": {"s3.access-key-id": "nobody", "s3.secret-access-key": "x"}},
            {"prefix": warehouse, "config": {
                "s3.access-key-id": KEY_ID, "s3.secret-access-key": SECRET, "s3.unknown": "1"}},
        ]);
        let server = CatalogServer::vending(&warehouse, &credentials.to_string())?;
        Ok((server, gateway, warehouse))
    });
    let (server, gateway, warehouse) = match servers {
        Ok(servers) => servers,
        Err(error) => return println!("skipped: {error}"),
    };
    let options = [
        ("type", "rest"),
        ("uri", server.address()),
        ("s3.endpoint", &gateway.endpoint()),
        ("s3.access-key-id", "stranger"),
        ("s3.secret-access-key", "wr0ng"),
    ];
    let session = Session::open(&SessionOptions {
        options: options.map(|(k, v)| (k.to_string(), v.to_string())).into(),
        ..SessionOptions::default()
    })
    .unwrap();
    rows(
        &session,
        "CREATE TABLE t (id int, kind text); INSERT INTO t VALUES (1, 'a'), (2, 'b')",
    )
    .await;
    rows(
        &session,
        "CREATE INDEX ON t USING bitmap (kind); DELETE FROM t WHERE kind = 'a'",
    )
    .await;
    assert_eq!(line(&session, "SELECT id FROM t").await, "2");
    // Beside the table the user's own keys hold.
    let beside = format!("SELECT * FROM '{warehouse}/default/other'");
    fails(&session, &beside, ErrorKind::PermissionDenied).await;
}
