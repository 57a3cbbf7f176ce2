//! The properties of a SQL catalog, by Iceberg's names, and the ways in which SQLAlchemy, JDBC and SQLite itself
//! write the address of a database. An address may hold a password and is repeated in no error.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::error::{Error, Result};

const URI: &str = "uri";
const NAME: &str = "catalog-name";

/// How a catalog is reached.
pub(super) struct SqlOptions {
    /// The file of the database.
    pub(super) file: PathBuf,
    /// Which of the catalogs that share the database; none: the only one in it.
    pub(super) catalog: Option<String>,
}

impl SqlOptions {
    pub(super) fn new(options: &BTreeMap<String, String>) -> Result<SqlOptions> {
        let option = |name: &str| options.get(name).filter(|value| !value.is_empty());
        let uri = option(URI).ok_or_else(|| {
            Error::invalid_input(
                "a SQL catalog needs its database: give the option uri, such as sqlite:/path/catalog.db",
            )
        })?;
        Ok(SqlOptions {
            file: sqlite_file(uri)?,
            catalog: option(NAME).cloned(),
        })
    }
}

/// Whether an option belongs to SQL catalogs.
pub(crate) fn is_sql_option(key: &str) -> bool {
    key == URI || key == NAME
}

/// The file in `sqlite:PATH`, `jdbc:sqlite:PATH`, or SQLAlchemy's `sqlite:///PATH` (`sqlite:////PATH` where it is
/// absolute).
fn sqlite_file(uri: &str) -> Result<PathBuf> {
    let plain = uri.strip_prefix("jdbc:").unwrap_or(uri);
    let Some(rest) = plain.strip_prefix("sqlite:") else {
        return Err(Error::unsupported(
            "the option uri names no database that a SQL catalog can be in: there is sqlite:PATH",
        ));
    };
    let path = match rest.strip_prefix("//") {
        Some(after) => after.strip_prefix('/').ok_or_else(|| {
            Error::invalid_input(
                "the option uri names a host: sqlite:///PATH is relative, sqlite:////PATH absolute",
            )
        })?,
        None => rest,
    };
    if path.is_empty() || path.starts_with(':') || path.starts_with("file:") || path.contains('?') {
        return Err(Error::unsupported(
            "the option uri names no plain file: databases in memory and SQLite's own parameters are not supported",
        ));
    }
    Ok(PathBuf::from(path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn addresses_of_sqlalchemy_jdbc_and_sqlite_name_the_same_file() {
        for (uri, path) in [
            ("sqlite:/a/b.db", "/a/b.db"),
            ("sqlite:b.db", "b.db"),
            ("sqlite:///b.db", "b.db"),
            ("sqlite:////a/b.db", "/a/b.db"),
            ("jdbc:sqlite:/a/b.db", "/a/b.db"),
            ("jdbc:sqlite:b.db", "b.db"),
        ] {
            assert_eq!(sqlite_file(uri).unwrap(), PathBuf::from(path), "{uri}");
        }
        for (uri, kind) in [
            ("sqlite:", ErrorKind::Unsupported),
            ("sqlite://", ErrorKind::InvalidInput),
            ("sqlite://host/b.db", ErrorKind::InvalidInput),
            ("sqlite::memory:", ErrorKind::Unsupported),
            ("jdbc:sqlite:file:b.db?cache=shared", ErrorKind::Unsupported),
            ("mysql://me:s3cr3t@h/db", ErrorKind::Unsupported),
        ] {
            let error = sqlite_file(uri).unwrap_err();
            assert_eq!(error.kind(), kind, "{uri}");
            assert!(!error.to_string().contains("s3cr3t"), "{error}");
        }
    }
}
