//! Tables of a SQL catalog through sessions: several processes' worth of writers, SQL, and options.

use std::collections::BTreeMap;

use benostreamdb::storage::testing::TempFolder;
use benostreamdb::{ErrorKind, Session, SessionOptions};

use crate::fixture::{docs, docs_table, name, rows};

fn open(folder: &TempFolder, options: &[(&str, &str)]) -> benostreamdb::Result<Session> {
    let uri = format!("jdbc:sqlite:{}/catalog.db", folder.path().display());
    let mut all = BTreeMap::from([
        ("type".to_string(), "sql".to_string()),
        ("uri".to_string(), uri),
    ]);
    all.extend(options.iter().map(|(k, v)| (k.to_string(), v.to_string())));
    Session::open(&SessionOptions {
        warehouse: Some(format!("{}/wh", folder.path().display())),
        options: all,
        ..SessionOptions::default()
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn l3_concurrent_appends_of_six_sessions_through_a_sql_catalog_all_land_once() {
    let folder = TempFolder::new().unwrap();
    docs_table(&open(&folder, &[]).unwrap(), "t", 0, 0).await;
    let tasks: Vec<_> = (0..6)
        .map(|n| {
            let session = open(&folder, &[("type", "jdbc")]).unwrap();
            tokio::spawn(async move {
                let table = session.table(&name("t")).await?;
                table.append(&[docs(n * 10, 10, 3)]).await
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap().unwrap();
    }
    let table = open(&folder, &[]).unwrap().table(&name("t")).await.unwrap();
    assert_eq!(rows(&table).await.len(), 60);
}

#[tokio::test]
async fn dropped_table_leaves_neither_files_nor_a_name() {
    let folder = TempFolder::new().unwrap();
    let session = open(&folder, &[]).unwrap();
    let table = docs_table(&session, "t", 2, 5).await;
    let place = table.location().to_string();
    assert!(session.drop_table(&name("t")).await.unwrap().is_empty());
    assert!(!std::path::Path::new(&place).exists(), "{place}");
    let error = session.table(&name("t")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

#[test]
fn options_of_other_catalogs_are_refused() {
    let folder = TempFolder::new().unwrap();
    for (key, kind) in [
        ("credential", ErrorKind::InvalidInput),
        ("header.x", ErrorKind::InvalidInput),
        ("jdbc.nothing", ErrorKind::InvalidInput),
    ] {
        let error = open(&folder, &[(key, "v4lue")]).map(drop).unwrap_err();
        assert_eq!(error.kind(), kind, "{key}");
        assert!(error.message().contains(key) && !error.message().contains("v4lue"));
    }
    let error = open(&folder, &[("uri", "mysql://me:v4lue@h/d")]).map(drop);
    let error = error.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(!format!("{error:?}").contains("v4lue"), "{error:?}");
}
