//! One SQLite database: statements with text parameters in, rows of text out. SQLite blocks, so every call runs
//! off the threads that wait for others. What another process locks is waited for, up to a limit.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags, params_from_iter};

use crate::error::{Error, Result};

/// How long a lock of somebody else is waited for.
const BUSY: Duration = Duration::from_secs(30);

/// A row; NULL is none.
pub(super) type Row = Vec<Option<String>>;

/// An open database.
pub(super) struct Sqlite {
    file: Arc<PathBuf>,
    connection: Arc<Mutex<Connection>>,
}

impl Sqlite {
    /// Opens the database, made where there is no file. Errors: NotFound where its folder is missing.
    pub(super) async fn open(file: PathBuf) -> Result<Sqlite> {
        let file = Arc::new(file);
        let path = Arc::clone(&file);
        let opened = blocking(move || {
            if let Some(folder) = path.parent().filter(|f| !f.as_os_str().is_empty())
                && !folder.is_dir()
            {
                return Err(Error::not_found(format!(
                    "the folder of the database {} does not exist; in sqlite:///PATH an absolute path starts with a fourth slash",
                    path.display()
                )));
            }
            let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
                | OpenFlags::SQLITE_OPEN_CREATE
                | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            let open = || {
                let connection = Connection::open_with_flags(&*path, flags)?;
                connection.busy_timeout(BUSY)?;
                Ok(connection)
            };
            open().map_err(|error| failure(&path, error))
        })
        .await?;
        Ok(Sqlite {
            file,
            connection: Arc::new(Mutex::new(opened)),
        })
    }

    /// Runs one statement that changes rows; gives how many. AlreadyExists where a key is taken.
    pub(super) async fn execute(&self, text: &str, values: &[&str]) -> Result<usize> {
        self.run(text, values, |connection, text, values| {
            connection
                .prepare_cached(text)?
                .execute(params_from_iter(values))
        })
        .await
    }

    /// The rows of a query, `limit` at most: ResourceExhausted where there are more.
    pub(super) async fn query(
        &self,
        text: &str,
        values: &[&str],
        limit: usize,
    ) -> Result<Vec<Row>> {
        let rows: Vec<Row> = self
            .run(text, values, move |connection, text, values| {
                let mut statement = connection.prepare_cached(text)?;
                let width = statement.column_count();
                let rows = statement.query_map(params_from_iter(values), |row| {
                    (0..width).map(|column| row.get(column)).collect()
                })?;
                rows.take(limit.saturating_add(1)).collect()
            })
            .await?;
        if rows.len() > limit {
            let file = self.file.display();
            return Err(Error::resource_exhausted(format!(
                "a list in the database {file} has more than {limit} entries"
            )));
        }
        Ok(rows)
    }

    async fn run<T: Send + 'static>(
        &self,
        text: &str,
        values: &[&str],
        work: impl FnOnce(&Connection, &str, Vec<String>) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T> {
        let (file, connection) = (Arc::clone(&self.file), Arc::clone(&self.connection));
        let text = text.to_string();
        let values: Vec<String> = values.iter().map(|value| value.to_string()).collect();
        blocking(move || {
            // Every statement is a transaction of its own, so one that was broken off leaves nothing behind.
            let connection = connection.lock().unwrap_or_else(PoisonError::into_inner);
            work(&connection, &text, values).map_err(|error| failure(&file, error))
        })
        .await
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(|error| {
        Error::internal("a statement of a SQL catalog broke off").caused_by(error)
    })?
}

fn failure(file: &Path, error: rusqlite::Error) -> Error {
    let text = format!("the database {}: {error}", file.display());
    let made = match error.sqlite_error_code() {
        Some(ErrorCode::ConstraintViolation) => Error::already_exists(text),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            Error::unavailable(text).retryable(true)
        }
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt | ErrorCode::TypeMismatch) => {
            Error::corrupt(text)
        }
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::CannotOpen) => {
            Error::permission_denied(text)
        }
        Some(ErrorCode::DiskFull | ErrorCode::OutOfMemory | ErrorCode::TooBig) => {
            Error::resource_exhausted(text)
        }
        // A column that is no text, or a table without the columns that Iceberg gives it.
        None | Some(ErrorCode::Unknown) => Error::corrupt(text),
        Some(_) => Error::unavailable(text),
    };
    made.caused_by(error)
}
