//! How tables are named: by namespace and name in a warehouse, or by location. The rules for new names are
//! those of every way in: no `/`, `\` or NUL, not `.` or `..`, no leading `_`.

use std::fmt;

use crate::error::{Error, Result};
use crate::storage::Location;

/// The namespace of a name without one; it needs no creating.
pub(crate) const DEFAULT_NAMESPACE: &str = "default";

/// A table as a user names it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TableRef {
    /// A table of the warehouse.
    Name {
        /// The namespace, outermost part first.
        namespace: Vec<String>,
        /// The name in it.
        name: String,
    },
    /// A table's folder, or one metadata file of it: then pinned and read-only.
    Location(Location),
}

impl TableRef {
    /// The table `name` in the namespace `default`.
    pub fn in_default(name: impl Into<String>) -> TableRef {
        TableRef::Name {
            namespace: vec![DEFAULT_NAMESPACE.to_string()],
            name: name.into(),
        }
    }
}

impl fmt::Display for TableRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TableRef::Name { namespace, name } => {
                for part in namespace {
                    write!(f, "{part}.")?;
                }
                f.write_str(name)
            }
            TableRef::Location(location) => write!(f, "'{location}'"),
        }
    }
}

/// Checks a name that is only looked up: it must be one part of a path.
pub(super) fn check_part(what: &str, name: &str) -> Result<()> {
    let problem = if name.is_empty() {
        "is empty"
    } else if name == "." || name == ".." {
        "is a relative path"
    } else if name.contains(['/', '\\']) {
        "contains a slash or backslash"
    } else if name.chars().any(char::is_control) {
        "contains NUL or a control character"
    } else {
        return Ok(());
    };
    Err(Error::invalid_input(format!(
        "the {what} name {name:?} {problem}"
    )))
}

/// Checks the name of something to be created.
pub(super) fn check_new(what: &str, name: &str) -> Result<()> {
    check_part(what, name)?;
    if name.starts_with('_') {
        return Err(Error::invalid_input(format!(
            "the {what} name {name:?} starts with an underscore"
        )));
    }
    Ok(())
}

/// Refuses the name of a new table that would read as one of another table's metadata tables, `t$files`.
pub(super) fn check_no_metadata_table(name: &str) -> Result<()> {
    if name.contains('$') {
        return Err(Error::invalid_input(format!(
            "the table name {name:?} contains $, behind which metadata tables are named"
        )));
    }
    Ok(())
}
