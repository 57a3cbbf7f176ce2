//! L8: damaged files are errors of kind Corrupt that name the file; never an empty or short result.

use benostreamdb::{ErrorKind, ScanRequest, Session};
use bytes::Bytes;

use crate::fixture::{docs, docs_table, memory, name, read, reopened, rows, scale};

#[tokio::test]
async fn l8_torn_newest_metadata_is_corrupt_and_not_an_empty_table() {
    let (session, _) = memory();
    let table = docs_table(&session, "t", 2, 10).await;
    let files = table
        .environment()
        .storage()
        .open(&[table.location().clone()]);
    let newest = table.metadata_location().clone();
    let good = files.get(&newest).await.unwrap();
    for length in [0, 1, good.len() / 3, good.len() - 2] {
        files.put(&newest, good.slice(..length)).await.unwrap();
        let session = reopened(&session);
        let error = session.table(&name("t")).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{length}: {error}");
        assert!(error.to_string().contains("metadata.json"), "{error}");
    }
    files.put(&newest, good).await.unwrap();
    assert_eq!(
        rows(&session.table(&name("t")).await.unwrap()).await.len(),
        20
    );
}

/// Each file of a table cut, emptied, or removed: an error of the right kind with the path, or all rows.
#[tokio::test]
async fn l8_every_damaged_file_is_an_error_that_names_it() {
    let (session, _) = memory();
    let table = docs_table(&session, "t", 2, 40).await;
    let expected = rows(&table).await;
    let files = table
        .environment()
        .storage()
        .open(&[table.location().clone()]);
    for (location, _) in files.list(table.location()).await.unwrap() {
        if !(location.name().ends_with(".avro") || location.name().ends_with(".parquet")) {
            continue;
        }
        let good = files.get(&location).await.unwrap();
        for sixteenth in 0..16 {
            files
                .put(&location, good.slice(..good.len() * sixteenth / 16))
                .await
                .unwrap();
            check(&session, &expected, location.name(), ErrorKind::Corrupt).await;
        }
        files.delete(&location).await.unwrap();
        check(&session, &expected, location.name(), ErrorKind::NotFound).await;
        files.put(&location, good).await.unwrap();
    }
    check(&session, &expected, "", ErrorKind::Internal).await;
}

async fn check(session: &Session, expected: &[String], damaged: &str, kind: ErrorKind) {
    let session = reopened(session);
    let table = session.table(&name("t")).await.unwrap();
    match read(&table, &ScanRequest::default()).await {
        Ok(batch) => assert_eq!(
            crate::fixture::sorted(&batch),
            expected,
            "short or wrong rows with {damaged} damaged"
        ),
        Err(error) => {
            assert_eq!(error.kind(), kind, "{error}");
            assert!(
                error.to_string().contains(damaged),
                "{error} does not name {damaged}"
            );
        }
    }
}

#[tokio::test]
async fn l8_flipped_bits_in_data_never_panic() {
    let (session, _) = memory();
    let table = docs_table(&session, "t", 1, 60).await;
    let files = table
        .environment()
        .storage()
        .open(&[table.location().clone()]);
    let mut random = crate::fixture::Random(5);
    for (location, _) in files.list(table.location()).await.unwrap() {
        if !(location.name().ends_with(".avro") || location.name().ends_with(".parquet")) {
            continue;
        }
        let good = files.get(&location).await.unwrap();
        for _ in 0..20 * scale() {
            let mut copy = good.to_vec();
            for _ in 0..4 {
                let at = random.below(copy.len() as u64) as usize;
                copy[at] ^= 1 << random.below(8);
            }
            files.put(&location, Bytes::from(copy)).await.unwrap();
            let session = reopened(&session);
            let table = session.table(&name("t")).await.unwrap();
            // Rows or an error: either is fine here, a panic is not.
            let _ = read(&table, &ScanRequest::default()).await;
        }
        files.put(&location, good).await.unwrap();
    }
    table.append(&[docs(60, 5, 1)]).await.unwrap();
}
