//! How errors of stores become ours: the kind says what the caller should do, the message names the path.
//! Object stores wrap operating-system errors, so the chain of causes is searched for one.

use std::io;

use object_store::Error as StoreError;

use super::location::Location;
use super::s3::s3_error;
use crate::error::{Error, ErrorKind};

/// The error of `action` (a verb such as `read`) on `location`.
pub(super) fn store_error(error: StoreError, action: &'static str, location: &Location) -> Error {
    if location.bucket().is_some() {
        return s3_error(&error, action, location);
    }
    let kind = kind_of(&error);
    let message = match kind {
        ErrorKind::NotFound => format!("{location} does not exist"),
        ErrorKind::AlreadyExists => format!("{location} exists already"),
        _ => format!("cannot {action} {location}: {}", root_cause(&error)),
    };
    Error::new(kind, message).caused_by(error)
}

/// The error of a file-system call of our own on `location`.
pub(super) fn io_error(error: io::Error, action: &'static str, location: &Location) -> Error {
    let kind = io_kind(&error);
    Error::new(kind, format!("cannot {action} {location}: {error}")).caused_by(error)
}

pub(super) fn kind_of(error: &StoreError) -> ErrorKind {
    match error {
        StoreError::NotFound { .. } => ErrorKind::NotFound,
        StoreError::AlreadyExists { .. } => ErrorKind::AlreadyExists,
        StoreError::Precondition { .. } | StoreError::NotModified { .. } => ErrorKind::Conflict,
        StoreError::PermissionDenied { .. } | StoreError::Unauthenticated { .. } => {
            ErrorKind::PermissionDenied
        }
        StoreError::NotSupported { .. } | StoreError::NotImplemented { .. } => {
            ErrorKind::Unsupported
        }
        StoreError::InvalidPath { .. } | StoreError::UnknownConfigurationKey { .. } => {
            ErrorKind::InvalidInput
        }
        other => io_cause(other).map_or(ErrorKind::Unavailable, io_kind),
    }
}

fn io_kind(error: &io::Error) -> ErrorKind {
    match error.kind() {
        // A path that runs through a file names nothing.
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => ErrorKind::NotFound,
        io::ErrorKind::AlreadyExists => ErrorKind::AlreadyExists,
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            ErrorKind::PermissionDenied
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
            ErrorKind::ResourceExhausted
        }
        io::ErrorKind::InvalidFilename
        | io::ErrorKind::IsADirectory
        | io::ErrorKind::DirectoryNotEmpty => ErrorKind::InvalidInput,
        io::ErrorKind::Unsupported => ErrorKind::Unsupported,
        _ => ErrorKind::Unavailable,
    }
}

fn io_cause(error: &StoreError) -> Option<&io::Error> {
    let mut cause = std::error::Error::source(error);
    while let Some(current) = cause {
        if let Some(found) = current.downcast_ref::<io::Error>() {
            return Some(found);
        }
        cause = current.source();
    }
    None
}

pub(super) fn root_cause(error: &StoreError) -> String {
    let mut current: &dyn std::error::Error = error;
    while let Some(cause) = current.source() {
        current = cause;
    }
    current.to_string()
}
