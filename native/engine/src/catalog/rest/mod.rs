//! The REST catalog: Iceberg's OpenAPI over HTTP. The server holds the pointer and writes metadata files; a commit
//! sends requirements and updates, and an answer that got lost is settled by reading the table again. Tables named
//! by location stay with the file-system catalog. What the server says never leads to the local disk, unless the
//! user's prefix map does.

mod changes;
mod http;
mod model;
mod options;

use std::collections::BTreeMap;

use async_trait::async_trait;
use bytes::Bytes;
use reqwest::Method;
use serde_json::{Value as Json, json};
use tokio::sync::OnceCell;

use super::name::{DEFAULT_NAMESPACE, check_new, check_part};
use super::{Catalog, FileSystemCatalog, TableHead, TableRef, version};
use crate::error::{Error, ErrorKind, Result};
use crate::storage::{Location, Storage};
use http::{Http, Request};
use model::{Config, Identifier, Loaded, Namespaces, Tables};
use options::RestOptions;

pub(crate) use options::is_rest_option;

/// How many names a listing gives at most.
const NAMES_MAX: usize = 1_000_000;
/// Separates the parts of a namespace in a path.
const UNIT_SEPARATOR: &str = "\u{1f}";

/// Tables that a REST server knows by name, and tables at locations.
pub struct RestCatalog {
    http: Http,
    storage: Storage,
    locations: FileSystemCatalog,
    /// What goes before every path, with `/v1`; asked for once.
    root: OnceCell<String>,
}

impl RestCatalog {
    /// A catalog by Iceberg's properties; makes no request. Errors: InvalidInput for a wrong property.
    pub fn new(
        storage: Storage,
        options: &BTreeMap<String, String>,
        warehouse: Option<&str>,
    ) -> Result<RestCatalog> {
        Ok(RestCatalog {
            http: Http::new(RestOptions::new(options, warehouse)?)?,
            locations: FileSystemCatalog::new(storage.clone(), None),
            storage,
            root: OnceCell::new(),
        })
    }

    async fn root(&self) -> Result<&str> {
        let root = self.root.get_or_try_init(|| self.ask_root()).await?;
        Ok(root)
    }

    /// The prefix that the server wants before the paths.
    async fn ask_root(&self) -> Result<String> {
        let options = self.http.options();
        let warehouse = options.warehouse.as_deref();
        let query: Vec<(&str, &str)> = warehouse
            .map(|name| ("warehouse", name))
            .into_iter()
            .collect();
        let config: Config = self
            .http
            .json(Request {
                method: Method::GET,
                path: "v1/config",
                query: &query,
                body: None,
                what: "its configuration",
            })
            .await?;
        let named = |map: &BTreeMap<String, Option<String>>| map.get("prefix").cloned().flatten();
        let prefix = named(&config.overrides)
            .or_else(|| options.prefix.clone())
            .or_else(|| named(&config.defaults));
        Ok(match prefix.as_deref().map(|text| text.trim_matches('/')) {
            Some(prefix) if !prefix.is_empty() => {
                let parts: Vec<String> = prefix.split('/').map(encode).collect();
                format!("v1/{}", parts.join("/"))
            }
            _ => "v1".to_string(),
        })
    }

    async fn namespace_path(&self, namespace: &[String]) -> Result<String> {
        for part in namespace {
            check_part("namespace", part)?;
        }
        let name = encode(&namespace.join(UNIT_SEPARATOR));
        Ok(format!("{}/namespaces/{name}", self.root().await?))
    }

    async fn table_path(&self, namespace: &[String], name: &str) -> Result<String> {
        check_part("table", name)?;
        let namespace = self.namespace_path(namespace).await?;
        Ok(format!("{namespace}/tables/{}", encode(name)))
    }

    async fn request(
        &self,
        method: Method,
        path: &str,
        body: Option<&Json>,
        what: &str,
    ) -> Result<http::Answer> {
        self.http
            .send(Request {
                method,
                path,
                query: &[],
                body: body.map(|body| body.to_string().into_bytes()),
                what,
            })
            .await
    }

    /// The head that an answer about a table makes.
    fn head(&self, table: &TableRef, answer: &Bytes) -> Result<TableHead> {
        let what = || format!("the catalog's answer about the table {table}");
        let loaded: Loaded = serde_json::from_slice(answer)
            .map_err(|error| Error::corrupt(format!("{} is damaged: {error}", what())))?;
        let metadata = Bytes::copy_from_slice(loaded.metadata.get().as_bytes());
        let document: Outline = serde_json::from_slice(&metadata)
            .map_err(|error| Error::corrupt(format!("{} is damaged: {error}", what())))?;
        let recorded = loaded
            .metadata_location
            .as_deref()
            .ok_or_else(|| Error::corrupt(format!("{} names no metadata file", what())))?;
        let metadata_location = self.storage.resolve_remote(recorded, None)?;
        let location = self.storage.resolve_remote(&document.location, None)?;
        self.storage
            .vend(&location, loaded.options(&document.location))?;
        Ok(TableHead {
            location,
            version: version(metadata_location.name()),
            metadata_location,
            metadata,
            read_only: None,
            name: Some(table.clone()),
        })
    }

    async fn load_named(&self, namespace: &[String], name: &str) -> Result<TableHead> {
        let table = TableRef::Name {
            namespace: namespace.to_vec(),
            name: name.to_string(),
        };
        let path = self.table_path(namespace, name).await?;
        let answer = self
            .request(Method::GET, &path, None, &format!("the table {table}"))
            .await;
        match answer {
            Ok(answer) => self.head(&table, &answer.body),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                Err(Error::not_found(format!("the table {table} does not exist")).caused_by(error))
            }
            Err(error) => Err(error),
        }
    }

    /// Whether a commit whose answer got lost has landed.
    async fn settle(
        &self,
        base: &TableHead,
        (namespace, name): (&[String], &str),
        snapshots: &[i64],
        failure: Error,
    ) -> Result<TableHead> {
        let unknown = |why: &str| {
            Error::commit_unknown(format!(
                "it is unknown whether the commit after {} landed: {why}",
                base.metadata_location
            ))
        };
        let head = match self.load_named(namespace, name).await {
            Ok(head) => head,
            Err(error) => return Err(unknown("the table cannot be read again").caused_by(error)),
        };
        let document: Outline = serde_json::from_slice(&head.metadata)
            .map_err(|error| unknown("its metadata is damaged").caused_by(error))?;
        let landed = |id: &i64| document.snapshots.iter().any(|held| held.id == *id);
        if !snapshots.is_empty() && snapshots.iter().all(landed) {
            return Ok(head);
        }
        // A request that is still under way may land later.
        Err(unknown("the answer got lost").caused_by(failure))
    }

    async fn create_default_namespace(&self, namespace: &[String]) -> Result<()> {
        match self.create(namespace).await {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
            _ => Ok(()),
        }
    }

    async fn create(&self, namespace: &[String]) -> Result<()> {
        let path = format!("{}/namespaces", self.root().await?);
        let name = namespace.join(".");
        let body = json!({"namespace": namespace, "properties": {}});
        self.request(
            Method::POST,
            &path,
            Some(&body),
            &format!("the namespace {name}"),
        )
        .await
        .map(drop)
        .map_err(|error| match error.kind() {
            ErrorKind::Conflict | ErrorKind::AlreadyExists => {
                Error::already_exists(format!("the namespace {name} exists already"))
                    .caused_by(error)
            }
            _ => error,
        })
    }

    /// Creates a table or, staged, only asks what it would be.
    async fn create_named(
        &self,
        namespace: &[String],
        name: &str,
        body: &Json,
    ) -> Result<http::Answer> {
        for part in namespace {
            check_new("namespace", part)?;
        }
        check_new("table", name)?;
        let path = format!("{}/tables", self.namespace_path(namespace).await?);
        let what = format!("the table {}.{name}", namespace.join("."));
        let mut answer = self.request(Method::POST, &path, Some(body), &what).await;
        if let Err(error) = &answer
            && error.kind() == ErrorKind::NotFound
            && is_default(namespace)
        {
            self.create_default_namespace(namespace).await?;
            answer = self.request(Method::POST, &path, Some(body), &what).await;
        }
        answer.map_err(|error| match error.kind() {
            ErrorKind::Conflict | ErrorKind::AlreadyExists => {
                Error::already_exists(format!("{what} exists already")).caused_by(error)
            }
            ErrorKind::NotFound => {
                let namespace = namespace.join(".");
                Error::not_found(format!("the namespace {namespace} does not exist"))
                    .caused_by(error)
            }
            _ => error,
        })
    }

    /// All pages of a listing; `read` takes the names of one and gives the token of the next.
    async fn pages(
        &self,
        path: &str,
        query: &[(&str, &str)],
        what: &str,
        mut read: impl FnMut(&[u8]) -> serde_json::Result<(usize, Option<String>)>,
    ) -> Result<()> {
        let mut next = String::new();
        let mut count = 0;
        loop {
            let mut query = query.to_vec();
            query.push(("pageToken", next.as_str()));
            if let Some(size) = &self.http.options().page_size {
                query.push(("pageSize", size));
            }
            let answer = self
                .http
                .send(Request {
                    method: Method::GET,
                    path,
                    query: &query,
                    body: None,
                    what,
                })
                .await?;
            let (read_count, token) = read(&answer.body).map_err(|error| {
                Error::corrupt(format!("the catalog's list of {what} is damaged: {error}"))
            })?;
            count += read_count;
            let Some(token) = token.filter(|token| !token.is_empty()) else {
                return Ok(());
            };
            if count > NAMES_MAX || read_count == 0 || token == next {
                return Err(Error::resource_exhausted(format!(
                    "the catalog's list of {what} does not end within {NAMES_MAX} names"
                )));
            }
            next = token;
        }
    }
}

/// What this client itself reads of metadata.
#[derive(serde::Deserialize)]
struct Outline {
    location: String,
    #[serde(default)]
    snapshots: Vec<OutlineSnapshot>,
}

#[derive(serde::Deserialize)]
struct OutlineSnapshot {
    #[serde(rename = "snapshot-id")]
    id: i64,
}

#[async_trait]
impl Catalog for RestCatalog {
    fn table_location(&self, table: &TableRef) -> Result<Location> {
        match table {
            TableRef::Location(_) => self.locations.table_location(table),
            TableRef::Name { .. } => Err(Error::unsupported(format!(
                "where the table {table} lies, only the catalog knows"
            ))),
        }
    }

    async fn new_table_location(&self, table: &TableRef) -> Result<Location> {
        let TableRef::Name { namespace, name } = table else {
            return self.locations.table_location(table);
        };
        let schema = json!({"type": "struct", "schema-id": 0, "fields": []});
        let body = json!({"name": name, "schema": schema, "stage-create": true});
        let answer = self.create_named(namespace, name, &body).await?;
        let staged: Staged = serde_json::from_slice(&answer.body).map_err(|error| {
            Error::corrupt(format!(
                "the catalog's answer about {table} is damaged: {error}"
            ))
        })?;
        self.storage.resolve_remote(&staged.metadata.location, None)
    }

    async fn load(&self, table: &TableRef) -> Result<TableHead> {
        match table {
            TableRef::Location(_) => self.locations.load(table).await,
            TableRef::Name { namespace, name } => self.load_named(namespace, name).await,
        }
    }

    async fn swap(&self, base: &TableHead, metadata: Bytes) -> Result<TableHead> {
        let Some(table @ TableRef::Name { namespace, name }) = &base.name else {
            return self.locations.swap(base, metadata).await;
        };
        let changes = changes::changes(&base.metadata, &metadata)?;
        let path = self.table_path(namespace, name).await?;
        let body = json!({
            "identifier": Identifier { namespace: namespace.clone(), name: name.clone() },
            "requirements": changes.requirements,
            "updates": changes.updates,
        });
        let what = format!("a commit on the table {table}");
        let answer = self.request(Method::POST, &path, Some(&body), &what).await;
        let failure = match answer.and_then(|answer| self.head(table, &answer.body)) {
            Ok(head) => return Ok(head),
            Err(error) => error,
        };
        match failure.kind() {
            ErrorKind::Unavailable
            | ErrorKind::CommitUnknown
            | ErrorKind::Corrupt
            | ErrorKind::ResourceExhausted => {
                self.settle(base, (namespace, name), &changes.snapshots, failure)
                    .await
            }
            _ => Err(failure),
        }
    }

    async fn create_table(&self, table: &TableRef, metadata: Bytes) -> Result<TableHead> {
        let TableRef::Name { namespace, name } = table else {
            return self.locations.create_table(table, metadata).await;
        };
        let document: Json = serde_json::from_slice(&metadata)
            .map_err(|error| Error::internal(format!("new metadata is no JSON: {error}")))?;
        let current = |list: &str, id: &str, current: &str| {
            let wanted = document.get(current);
            let members = document.get(list).and_then(Json::as_array);
            members
                .and_then(|m| m.iter().find(|m| m.get(id) == wanted))
                .cloned()
        };
        let mut properties = document.get("properties").cloned().unwrap_or(json!({}));
        if let (Some(version), Some(map)) =
            (document.get("format-version"), properties.as_object_mut())
        {
            map.insert("format-version".to_string(), version.to_string().into());
        }
        let body = json!({
            "name": name,
            "location": document.get("location"),
            "schema": current("schemas", "schema-id", "current-schema-id"),
            "partition-spec": current("partition-specs", "spec-id", "default-spec-id"),
            "write-order": current("sort-orders", "order-id", "default-sort-order-id"),
            "stage-create": false,
            "properties": properties,
        });
        let answer = self.create_named(namespace, name, &body).await?;
        self.head(table, &answer.body)
    }

    async fn drop_table_entry(&self, head: &TableHead) -> Result<()> {
        let Some(table @ TableRef::Name { namespace, name }) = &head.name else {
            return self.locations.drop_table_entry(head).await;
        };
        let path = self.table_path(namespace, name).await?;
        let path = format!("{path}?purgeRequested=false");
        self.request(Method::DELETE, &path, None, &format!("the table {table}"))
            .await
            .map(drop)
    }

    async fn rename_table(&self, from: &TableRef, to: &TableRef) -> Result<()> {
        let (
            TableRef::Name { namespace, name },
            TableRef::Name {
                namespace: new_namespace,
                name: new_name,
            },
        ) = (from, to)
        else {
            return Err(Error::invalid_input(format!(
                "{from} cannot be renamed to {to}: the catalog renames names, not locations"
            )));
        };
        check_new("table", new_name)?;
        let path = format!("{}/tables/rename", self.root().await?);
        let body = json!({
            "source": Identifier { namespace: namespace.clone(), name: name.clone() },
            "destination": Identifier { namespace: new_namespace.clone(), name: new_name.clone() },
        });
        self.request(
            Method::POST,
            &path,
            Some(&body),
            &format!("to rename {from} to {to}"),
        )
        .await
        .map(drop)
        .map_err(|error| match error.kind() {
            ErrorKind::Conflict => {
                Error::already_exists(format!("the table {to} exists already")).caused_by(error)
            }
            _ => error,
        })
    }

    async fn list_tables(&self, namespace: &[String]) -> Result<Vec<String>> {
        let path = format!("{}/tables", self.namespace_path(namespace).await?);
        let mut names = Vec::new();
        let what = format!("tables of the namespace {}", namespace.join("."));
        let listed = self
            .pages(&path, &[], &what, |bytes| {
                let page: Tables = serde_json::from_slice(bytes)?;
                names.extend(page.identifiers.iter().map(|table| table.name.clone()));
                Ok((page.identifiers.len(), page.next))
            })
            .await;
        match listed {
            Err(error) if error.kind() == ErrorKind::NotFound && is_default(namespace) => {}
            other => other?,
        }
        names.sort();
        Ok(names)
    }

    async fn list_namespaces(&self, parent: &[String]) -> Result<Vec<Vec<String>>> {
        for part in parent {
            check_part("namespace", part)?;
        }
        let path = format!("{}/namespaces", self.root().await?);
        let joined = parent.join(UNIT_SEPARATOR);
        let query: &[(&str, &str)] = match parent.is_empty() {
            true => &[],
            false => &[("parent", &joined)],
        };
        let mut names = Vec::new();
        let what = format!("namespaces in {:?}", parent.join("."));
        let listed = self
            .pages(&path, query, &what, |bytes| {
                let page: Namespaces = serde_json::from_slice(bytes)?;
                let count = page.namespaces.len();
                names.extend(page.namespaces);
                Ok((count, page.next))
            })
            .await;
        match listed {
            Err(error) if error.kind() == ErrorKind::NotFound && is_default(parent) => {}
            other => other?,
        }
        let default = vec![DEFAULT_NAMESPACE.to_string()];
        if parent.is_empty() && !names.contains(&default) {
            names.push(default);
        }
        names.sort();
        Ok(names)
    }

    async fn namespace_exists(&self, namespace: &[String]) -> Result<bool> {
        if namespace.is_empty() || is_default(namespace) {
            return Ok(true);
        }
        let path = self.namespace_path(namespace).await?;
        let what = format!("the namespace {}", namespace.join("."));
        match self.request(Method::GET, &path, None, &what).await {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    async fn create_namespace(&self, namespace: &[String]) -> Result<()> {
        if namespace.is_empty() {
            return Err(Error::invalid_input("the namespace name is empty"));
        }
        for part in namespace {
            check_new("namespace", part)?;
        }
        self.create(namespace).await
    }

    async fn drop_namespace(&self, namespace: &[String]) -> Result<()> {
        let name = namespace.join(".");
        if namespace.is_empty() || is_default(namespace) {
            return Err(Error::invalid_input(format!(
                "the namespace {name:?} always exists and cannot be dropped"
            )));
        }
        let path = self.namespace_path(namespace).await?;
        self.request(
            Method::DELETE,
            &path,
            None,
            &format!("the namespace {name}"),
        )
        .await
        .map(drop)
        .map_err(|error| match error.kind() {
            ErrorKind::Conflict | ErrorKind::InvalidInput => {
                Error::invalid_input(format!("the namespace {name} is not empty")).caused_by(error)
            }
            _ => error,
        })
    }
}

/// A staged table, which has no metadata file yet.
#[derive(serde::Deserialize)]
struct Staged {
    metadata: Outline,
}

fn is_default(namespace: &[String]) -> bool {
    matches!(namespace, [only] if only == DEFAULT_NAMESPACE)
}

/// Percent-encodes all but unreserved characters.
fn encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

#[cfg(test)]
mod tests;
