//! Namespaces of a SQL catalog: what has properties or tables, parts joined by dots as other clients join them.
//! `default` exists without being made; it is written down when the first table needs it.

use std::collections::BTreeSet;

use super::{DEFAULT_NAMESPACE, DOT, SqlCatalog, check_new, check_no_metadata_table, check_part};
use crate::error::{Error, ErrorKind, Result};

impl SqlCatalog {
    /// The namespace as the database writes it.
    pub(super) fn joined(&self, namespace: &[String]) -> Result<String> {
        for part in namespace {
            check_part("namespace", part)?;
            if part.contains(DOT) {
                return Err(Error::invalid_input(format!(
                    "the namespace name {part:?} contains a dot, which separates namespaces in a SQL catalog"
                )));
            }
        }
        Ok(namespace.join(DOT))
    }

    /// Checks the name of a table that is looked up; gives its namespace as the database writes it.
    pub(super) fn lookup(&self, namespace: &[String], name: &str) -> Result<String> {
        check_part("table", name)?;
        self.joined(namespace)
    }

    /// Checks the name of a new table; gives its namespace as the database writes it.
    pub(super) fn check_new_table(&self, namespace: &[String], name: &str) -> Result<String> {
        for part in namespace {
            check_new("namespace", part)?;
        }
        check_new("table", name)?;
        check_no_metadata_table(name)?;
        self.joined(namespace)
    }

    pub(super) async fn has_namespace(&self, namespace: &[String]) -> Result<bool> {
        let joined = self.joined(namespace)?;
        if always_exists(namespace) {
            return Ok(true);
        }
        let below = format!("{joined}{DOT}");
        let known = self.rows().await?.namespaces().await?;
        Ok(known.contains(&joined) || known.iter().any(|name| name.starts_with(&below)))
    }

    pub(super) async fn require_namespace(&self, namespace: &[String]) -> Result<()> {
        if self.has_namespace(namespace).await? {
            return Ok(());
        }
        let name = namespace.join(DOT);
        Err(Error::not_found(format!(
            "the namespace {name} does not exist"
        )))
    }

    /// As [`Self::require_namespace`]; writes `default` down where other clients would miss it.
    pub(super) async fn require_or_make_namespace(&self, namespace: &[String]) -> Result<()> {
        if !always_exists(namespace) {
            return self.require_namespace(namespace).await;
        }
        if namespace.is_empty() {
            return Err(Error::invalid_input("the namespace name is empty"));
        }
        let rows = self.rows().await?;
        if rows.namespaces().await?.contains(DEFAULT_NAMESPACE) {
            return Ok(());
        }
        match rows.add_namespace(DEFAULT_NAMESPACE).await {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
            _ => Ok(()),
        }
    }

    pub(super) async fn namespaces_in(&self, parent: &[String]) -> Result<Vec<Vec<String>>> {
        self.require_namespace(parent).await?;
        let depth = parent.len();
        let mut names = BTreeSet::new();
        for name in self.rows().await?.namespaces().await? {
            let parts: Vec<String> = name.split(DOT).map(str::to_string).collect();
            if let (true, Some(child)) = (parts.starts_with(parent), parts.get(..=depth)) {
                names.insert(child.to_vec());
            }
        }
        if parent.is_empty() {
            names.insert(vec![DEFAULT_NAMESPACE.to_string()]);
        }
        Ok(names.into_iter().collect())
    }

    pub(super) async fn make_namespace(&self, namespace: &[String]) -> Result<()> {
        if namespace.is_empty() {
            return Err(Error::invalid_input("the namespace name is empty"));
        }
        for part in namespace {
            check_new("namespace", part)?;
        }
        let joined = self.joined(namespace)?;
        let exists = || Error::already_exists(format!("the namespace {joined} exists already"));
        if self.has_namespace(namespace).await? {
            return Err(exists());
        }
        match self.rows().await?.add_namespace(&joined).await {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                Err(exists().caused_by(error))
            }
            other => other,
        }
    }

    pub(super) async fn remove_namespace(&self, namespace: &[String]) -> Result<()> {
        let joined = self.joined(namespace)?;
        if always_exists(namespace) {
            return Err(Error::invalid_input(format!(
                "the namespace {joined:?} always exists and cannot be dropped"
            )));
        }
        self.require_namespace(namespace).await?;
        let not_empty = || Error::invalid_input(format!("the namespace {joined} is not empty"));
        if !self.namespaces_in(namespace).await?.is_empty() {
            return Err(not_empty());
        }
        match self.rows().await?.remove_namespace(&joined).await? {
            true => Ok(()),
            // What exists and has no properties to remove exists by its tables.
            false => Err(not_empty()),
        }
    }
}

/// The top, and `default`.
fn always_exists(namespace: &[String]) -> bool {
    match namespace {
        [] => true,
        [only] => only == DEFAULT_NAMESPACE,
        _ => false,
    }
}
