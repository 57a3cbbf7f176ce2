//! What the tests share: sessions over memory or a folder of their own, and results as text.

use std::path::{Path, PathBuf};

use arrow::array::RecordBatch;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use benostreamdb::{Error, ErrorKind, Session, SessionOptions};

/// A session over a memory store of its own.
pub(crate) fn memory() -> Session {
    open("memory:///warehouse")
}

/// A session over a warehouse.
pub(crate) fn open(warehouse: &str) -> Session {
    let options = SessionOptions {
        warehouse: Some(warehouse.to_string()),
        ..SessionOptions::default()
    };
    Session::open(&options).unwrap()
}

/// A folder that is removed at the end of the test.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Folder {
        let path = std::env::temp_dir().join(format!("benostreamdb-{}", uuid::Uuid::new_v4()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn session(&self) -> Session {
        open(self.0.to_str().unwrap())
    }

    /// Every file below whose name ends so.
    pub(crate) fn files(&self, suffix: &str) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut folders = vec![self.0.clone()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.to_str().unwrap().ends_with(suffix) {
                    found.push(path);
                }
            }
        }
        found.sort();
        found
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Runs the statements; the rows of the last one as text, columns separated by `|`.
pub(crate) async fn try_rows(session: &Session, text: &str) -> Result<Vec<String>, Error> {
    let mut rows = Vec::new();
    for statement in benostreamdb::sql::parse_statements(text)? {
        rows = shown(
            &statement
                .run(session.environment())
                .await?
                .collect()
                .await?,
        );
    }
    Ok(rows)
}

/// As [`try_rows`] where nothing may fail.
pub(crate) async fn rows(session: &Session, text: &str) -> Vec<String> {
    match try_rows(session, text).await {
        Ok(rows) => rows,
        Err(error) => panic!("{text}: {error}"),
    }
}

/// The rows in one line, separated by blanks.
pub(crate) async fn line(session: &Session, text: &str) -> String {
    rows(session, text).await.join(" ")
}

/// The kind of the error that the statements end with.
pub(crate) async fn error(session: &Session, text: &str) -> Error {
    match try_rows(session, text).await {
        Ok(rows) => panic!("{text} gave {rows:?}"),
        Err(error) => error,
    }
}

/// Asserts the kind of the error that the statements end with.
pub(crate) async fn fails(session: &Session, text: &str, kind: ErrorKind) {
    let error = error(session, text).await;
    assert_eq!(error.kind(), kind, "{text}: {error}");
}

fn shown(batches: &[RecordBatch]) -> Vec<String> {
    let options = FormatOptions::default().with_null("NULL");
    let mut rows = Vec::new();
    for batch in batches {
        let columns: Vec<_> = batch
            .columns()
            .iter()
            .map(|column| ArrayFormatter::try_new(column, &options).unwrap())
            .collect();
        for row in 0..batch.num_rows() {
            rows.push(
                columns
                    .iter()
                    .map(|column| column.value(row).to_string())
                    .collect::<Vec<_>>()
                    .join("|"),
            );
        }
    }
    rows
}
