//! Publishing one version: put-if-absent, then proof. An answer that got lost is settled by reading the file
//! back and comparing bytes; afterwards the head is read again, and success is claimed only when the head is
//! ours or its metadata log names our file. Where neither can be told the answer is CommitUnknown.

use std::io::Write;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde::Deserialize;

use super::folder::{Folder, MetadataFile};
use super::version::{MetadataName, Spelling};
use crate::catalog::TableHead;
use crate::error::{Error, ErrorKind, Result};
use crate::storage::{Location, PutOutcome};

/// How often the state after a put is asked for before the outcome counts as unknown.
const CHECKS_MAX: u32 = 3;

/// What a put has come to.
enum Landing {
    Ours,
    Theirs,
}

#[derive(Deserialize)]
struct Log {
    #[serde(rename = "metadata-log", default)]
    entries: Vec<LogEntry>,
}

#[derive(Deserialize)]
struct LogEntry {
    #[serde(rename = "metadata-file")]
    file: String,
}

impl Folder {
    /// Publishes `metadata` as the version after `base`.
    pub(super) async fn publish_after(
        &self,
        base: &TableHead,
        metadata: Bytes,
    ) -> Result<TableHead> {
        let version = base.version.checked_add(1);
        let version = version
            .ok_or_else(|| Error::unsupported(format!("{} has no next version", self.table)))?;
        let spelling = match MetadataName::parse(base.metadata_location.name()) {
            Some(MetadataName::Version(_, spelling)) => spelling,
            _ => {
                return Err(Error::internal(format!(
                    "{} is no version",
                    base.metadata_location
                )));
            }
        };
        match self.newest().await? {
            None => {
                return Err(Error::not_found(format!(
                    "the table {} was dropped",
                    self.table
                )));
            }
            Some(newest) if newest.location != base.metadata_location => {
                return Err(overtaken(&self.table, version));
            }
            Some(_) => {}
        }
        let head = self.publish(version, spelling, metadata).await?;
        self.require_base(&head, base).await?;
        Ok(head)
    }

    /// Publishes `metadata` as the first version.
    pub(super) async fn publish_first(&self, metadata: Bytes) -> Result<TableHead> {
        self.publish(1, Spelling::Plain, metadata).await
    }

    pub(super) async fn publish(
        &self,
        version: u64,
        spelling: Spelling,
        metadata: Bytes,
    ) -> Result<TableHead> {
        let location = self.file(version, spelling)?;
        let stored = if spelling.is_compressed() {
            compress(&metadata, &location)?
        } else {
            metadata.clone()
        };
        match self.put(&location, stored).await? {
            Landing::Ours => {}
            Landing::Theirs => return Err(overtaken(&self.table, version)),
        }
        self.confirm(version, &location).await?;
        let file = MetadataFile {
            location,
            version,
            read_only: None,
        };
        Ok(self.head(file, metadata))
    }

    async fn put(&self, location: &Location, stored: Bytes) -> Result<Landing> {
        let failure = match self.store.put_if_absent(location, stored.clone()).await {
            Ok(PutOutcome::Created) => return Ok(Landing::Ours),
            Ok(PutOutcome::Exists) => None,
            // The store was found unfit before anything was put.
            Err(error) if error.kind() == ErrorKind::Unsupported => return Err(error),
            Err(error) => Some(error),
        };
        // A store may retry a put by itself and then find its own file: bytes tell.
        let mut found = self.store.get(location).await;
        for _ in 1..CHECKS_MAX {
            match &found {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    found = self.store.get(location).await
                }
                _ => break,
            }
        }
        match (found, failure) {
            (Ok(bytes), _) if bytes == stored => Ok(Landing::Ours),
            (Ok(bytes), _) if stored.starts_with(&bytes) => {
                Err(unknown(location, "only a part of it is there"))
            }
            (Ok(_), _) => Ok(Landing::Theirs),
            // A put that was refused, or that has returned on disk or in memory, cannot take effect later.
            (Err(error), Some(failure))
                if error.kind() == ErrorKind::NotFound
                    && !(location.is_remote() && failure.kind() == ErrorKind::Unavailable) =>
            {
                Err(failure)
            }
            (Err(error), failure) => {
                Err(unknown(location, "it cannot be read back").caused_by(failure.unwrap_or(error)))
            }
        }
    }

    /// Proves that the file just put is part of the chain, and leaves a hint to it.
    pub(super) async fn confirm(&self, version: u64, location: &Location) -> Result<()> {
        let mut newest = self.newest().await;
        for _ in 1..CHECKS_MAX {
            if newest.is_err() {
                newest = self.newest().await;
            }
        }
        let newest = match newest {
            Ok(Some(newest)) => newest,
            Ok(None) => return Err(unknown(location, "the table was dropped meanwhile")),
            Err(error) => {
                return Err(unknown(location, "the head cannot be read again").caused_by(error));
            }
        };
        if newest.version > version {
            return self.confirm_below(&newest, version, location).await;
        }
        if newest.version < version {
            return Err(unknown(location, "it has vanished"));
        }
        if newest.location != *location {
            return Err(overtaken(&self.table, version));
        }
        match self.has_other_spelling(version, location).await {
            Ok(false) => {}
            Ok(true) => {
                return Err(unknown(
                    location,
                    "another spelling of the same version exists",
                ));
            }
            Err(error) => {
                return Err(
                    unknown(location, "other spellings cannot be looked up").caused_by(error)
                );
            }
        }
        // Best effort: readers go on from an older hint, or list.
        let hint = self.hint_location()?;
        let _ = self
            .store
            .put(&hint, Bytes::from(version.to_string()))
            .await;
        Ok(())
    }

    /// Looks for our file in the log of a head that is newer already.
    async fn confirm_below(
        &self,
        newest: &MetadataFile,
        version: u64,
        location: &Location,
    ) -> Result<()> {
        let metadata = match self.read(&newest.location).await {
            Ok(metadata) => metadata,
            Err(error) => {
                return Err(unknown(location, "a newer version cannot be read").caused_by(error));
            }
        };
        let log: Log = serde_json::from_slice(&metadata).map_err(|error| {
            unknown(location, "the log of a newer version is damaged").caused_by(error)
        })?;
        // Folders may be mounted elsewhere for others, so names are compared, not paths.
        let names: Vec<&str> = log
            .entries
            .iter()
            .map(|entry| file_name(&entry.file))
            .collect();
        if names.contains(&location.name()) {
            return Ok(());
        }
        let logged = names
            .iter()
            .filter_map(|name| match MetadataName::parse(name) {
                Some(MetadataName::Version(logged, _)) => Some(logged),
                _ => None,
            });
        // A log that reaches back beyond our version and leaves it out was built on something else.
        if logged.min().is_some_and(|oldest| oldest < version) {
            return Err(overtaken(&self.table, version));
        }
        Err(unknown(
            location,
            "the log of a newer version does not reach back to it",
        ))
    }

    /// A commit on a table that was dropped meanwhile is no success.
    async fn require_base(&self, head: &TableHead, base: &TableHead) -> Result<()> {
        match self.store.exists(&base.metadata_location).await {
            Ok(true) => Ok(()),
            // Others may have gone on from our version and cleaned up behind it.
            Ok(false) => match self.newest().await {
                Ok(Some(newest)) if newest.version > head.version => Ok(()),
                _ => Err(unknown(
                    &head.metadata_location,
                    "the version before it was removed meanwhile",
                )),
            },
            Err(error) => Err(unknown(
                &head.metadata_location,
                "the version before it cannot be looked up",
            )
            .caused_by(error)),
        }
    }
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn compress(metadata: &[u8], location: &Location) -> Result<Bytes> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    let done = encoder.write_all(metadata).and_then(|()| encoder.finish());
    done.map(Bytes::from)
        .map_err(|error| Error::internal(format!("cannot compress {location}: {error}")))
}

fn overtaken(table: &Location, version: u64) -> Error {
    Error::conflict(format!(
        "version {version} of the table {table} was committed by somebody else"
    ))
}

fn unknown(location: &Location, why: &str) -> Error {
    Error::commit_unknown(format!(
        "it is unknown whether {location} was committed: {why}"
    ))
}
