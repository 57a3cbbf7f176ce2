//! Directories, which object stores do not have. On the local disk they are real; elsewhere an empty marker
//! object stands for a directory that holds nothing else.

use std::fs;
use std::io;
use std::path::Path;

use super::failure::io_error;
use super::local::{create_directories, sync_parent};
use super::{Confined, Location, ReadStore};
use crate::error::{Error, Result};

const MARKER: &str = ".directory";

impl ReadStore {
    /// Whether there is a directory at the location.
    pub async fn directory_exists(&self, location: &Location) -> Result<bool> {
        self.target(location)?;
        if let Some(path) = location.local_path() {
            return on_disk(location, "look up", move || match fs::metadata(&path) {
                Ok(found) => Ok(found.is_dir()),
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                    ) =>
                {
                    Ok(false)
                }
                Err(error) => Err(error),
            })
            .await;
        }
        let children = self.children_with_markers(location).await?;
        Ok(!children.files.is_empty() || !children.directories.is_empty())
    }
}

impl Confined {
    /// Makes the directory and its missing parents.
    pub async fn create_directory(&self, location: &Location) -> Result<()> {
        self.writing(location)?;
        match location.local_path() {
            Some(path) => {
                on_disk(location, "make the directory", move || {
                    create_directories(&path)
                })
                .await
            }
            None => self.put(&location.join(MARKER)?, bytes::Bytes::new()).await,
        }
    }

    /// Removes the directory where it is empty; InvalidInput where it is not, NotFound where there is none.
    pub async fn remove_directory(&self, location: &Location) -> Result<()> {
        self.writing(location)?;
        if let Some(path) = location.local_path() {
            return on_disk(location, "remove the directory", move || {
                fs::remove_dir(&path)?;
                sync_parent(&path)
            })
            .await;
        }
        let marker = location.join(MARKER)?;
        let files = self.list_with_markers(location).await?;
        if files.is_empty() {
            return Err(Error::not_found(format!("{location} does not exist")));
        }
        if files.iter().any(|(file, _)| *file != marker) {
            return Err(Error::invalid_input(format!(
                "cannot remove the directory {location}: it is not empty"
            )));
        }
        self.delete(&marker).await
    }

    /// Removes the empty directories at and below the location, and leaves every file.
    pub async fn remove_empty_directories(&self, location: &Location) -> Result<()> {
        self.writing(location)?;
        match location.local_path() {
            Some(path) => {
                on_disk(location, "remove empty directories of", move || {
                    remove_empty(&path)
                })
                .await
            }
            None => {
                let files = self.list_with_markers(location).await?;
                let (markers, files): (Vec<_>, Vec<_>) =
                    files.into_iter().map(|(file, _)| file).partition(is_marker);
                for marker in markers {
                    let directory = marker.parent();
                    if !files.iter().any(|file| {
                        directory
                            .as_ref()
                            .is_some_and(|parent| file.is_within(parent))
                    }) {
                        self.delete(&marker).await?;
                    }
                }
                Ok(())
            }
        }
    }
}

/// Whether a listed file only stands for a directory.
pub(super) fn is_marker(location: &Location) -> bool {
    location.local_path().is_none() && location.name() == MARKER
}

fn remove_empty(directory: &Path) -> io::Result<()> {
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other?,
    };
    for entry in entries {
        let entry = entry?;
        // Links are foreign: they are neither followed nor removed.
        if entry.file_type()?.is_dir() {
            remove_empty(&entry.path())?;
        }
    }
    match fs::remove_dir(directory) {
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::NotFound
            ) =>
        {
            Ok(())
        }
        other => other,
    }
}

async fn on_disk<T: Send + 'static>(
    location: &Location,
    action: &'static str,
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T> {
    super::local::blocking(work)
        .await
        .map_err(|error| io_error(error, action, location))
}
