//! Normalised absolute locations. A local location is a plain absolute path (`/lake/t`), in memory it is
//! `memory:///t`, in an object store `s3://bucket/t` (s3a and s3n mean the same). The text is taken literally:
//! `%20` is three characters, a backslash is refused.
//!
//! The plain path is what goes into metadata. Java's HadoopCatalog records the same for a warehouse given as
//! a path, and it is the one spelling that iceberg-java, PyIceberg and DuckDB all read whatever the name holds:
//! in a `file:///` URL a blank, `#`, `?` or `%` means something else to each of them.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use object_store::path::Path as StorePath;

use crate::error::{Error, Result};

/// The longest location accepted, in bytes.
const LENGTH_MAX: usize = 4096;
const MEMORY_PREFIX: &str = "memory://";
const S3_PREFIX: &str = "s3://";
/// The longest name that any region ever allowed.
const BUCKET_LENGTH_MAX: usize = 255;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Scheme {
    File,
    Memory,
    S3,
}

/// A normalised absolute location; its text is what metadata records.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Location {
    scheme: Scheme,
    text: Arc<str>,
    /// Where the path begins in the text.
    path_start: usize,
}

/// What to do with `..` in a location.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Parent {
    Resolve,
    Refuse,
}

impl Location {
    /// A location typed by a user; relative paths start at the current directory, `..` is resolved by text.
    pub(super) fn from_user(text: &str) -> Result<Location> {
        check_text(text)?;
        let (store, path) = split(text)?;
        if path.starts_with('/') {
            return normalise(store, path, Parent::Resolve, text);
        }
        let current = std::env::current_dir()
            .map_err(|error| Error::from(error).with("relative location", format!("{text:?}")))?;
        let current = current.to_str().ok_or_else(|| {
            Error::invalid_input(format!("the current directory {current:?} is not unicode"))
        })?;
        normalise(store, &format!("{current}/{path}"), Parent::Resolve, text)
    }

    /// A location that comes from metadata: absolute, without `..`.
    pub(super) fn from_recorded(text: &str) -> Result<Location> {
        check_text(text)?;
        let (store, path) = split(text)?;
        if !path.starts_with('/') {
            return Err(Error::invalid_input(format!(
                "the path {text:?} is not absolute"
            )));
        }
        normalise(store, path, Parent::Refuse, text)
    }

    /// The location `relative` below this one; `..`, an absolute path or an empty one are InvalidInput.
    pub fn join(&self, relative: &str) -> Result<Location> {
        if relative.is_empty() || relative.starts_with('/') {
            return Err(Error::invalid_input(format!(
                "{relative:?} is not a relative path"
            )));
        }
        check_text(relative)?;
        normalise(
            (self.scheme, self.authority()),
            &format!("{}/{relative}", self.path().trim_end_matches('/')),
            Parent::Refuse,
            relative,
        )
    }

    /// The path from `root` to this location, without leading slash; empty when they are equal.
    pub fn relative_to(&self, root: &Location) -> Option<String> {
        if self.scheme != root.scheme || self.authority() != root.authority() {
            return None;
        }
        if root.is_top() {
            return Some(self.path().trim_start_matches('/').to_string());
        }
        let rest = self.text.strip_prefix(&*root.text)?;
        match rest.strip_prefix('/') {
            Some(relative) => Some(relative.to_string()),
            None if rest.is_empty() => Some(String::new()),
            None => None,
        }
    }

    /// Whether this location is `root` or lies below it.
    pub fn is_within(&self, root: &Location) -> bool {
        self.relative_to(root).is_some()
    }

    /// The last part of the path; empty for the top.
    pub fn name(&self) -> &str {
        self.path().rsplit('/').next().unwrap_or_default()
    }

    /// The location that holds this one; none for the top.
    pub fn parent(&self) -> Option<Location> {
        if self.is_top() {
            return None;
        }
        let (parent, _) = self.path().rsplit_once('/')?;
        let parent = if parent.is_empty() { "/" } else { parent };
        Some(located(self.scheme, self.authority(), parent))
    }

    /// The text that metadata records.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub(super) fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// Whether it is reached over a network, where a write whose answer got lost may take effect later.
    pub(crate) fn is_remote(&self) -> bool {
        self.scheme == Scheme::S3
    }

    /// The bucket, if it lies in an object store.
    pub(super) fn bucket(&self) -> Option<&str> {
        (self.scheme == Scheme::S3).then(|| self.authority())
    }

    /// The path on the local disk, if it lies there.
    pub(super) fn local_path(&self) -> Option<PathBuf> {
        (self.scheme == Scheme::File).then(|| PathBuf::from(self.path()))
    }

    /// The path as the store names it: literal, nothing is percent-encoded.
    pub(super) fn store_path(&self) -> Result<StorePath> {
        StorePath::parse(self.path()).map_err(|error| {
            Error::invalid_input(format!("no store can hold {self}")).caused_by(error)
        })
    }

    /// The path of a file in its store; Unsupported for names that the local store cannot hold.
    pub(super) fn file_path(&self) -> Result<StorePath> {
        let staged = self.name().split_once('#').is_some_and(|(_, rest)| {
            !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit())
        });
        if self.scheme == Scheme::File && (staged || self.name().ends_with([':', '|'])) {
            return Err(Error::unsupported(format!(
                "{self}: names of files that end in a colon, a bar, or # and a number are not supported"
            )));
        }
        self.store_path()
    }

    /// The location of what the store of this location listed.
    pub(super) fn listed(&self, path: &StorePath) -> Location {
        located(self.scheme, self.authority(), &format!("/{path}"))
    }

    /// Which of the stores of its scheme it lies in: the bucket, or nothing.
    fn authority(&self) -> &str {
        let before = self.text.get(..self.path_start).unwrap_or_default();
        before.strip_prefix(S3_PREFIX).unwrap_or_default()
    }

    fn path(&self) -> &str {
        self.text.get(self.path_start..).unwrap_or_default()
    }

    fn is_top(&self) -> bool {
        self.path() == "/"
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.as_str())
    }
}

/// Splits `scheme:rest`; a text without a scheme has none, and a colon later in a path is part of a name.
pub(super) fn split_scheme(text: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = text.split_once(':')?;
    let mut letters = scheme.chars();
    let well_formed = letters
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic())
        && letters.all(|letter| letter.is_ascii_alphanumeric() || "+-.".contains(letter));
    (well_formed && rest.starts_with('/')).then_some((scheme, rest))
}

/// Scheme and bucket (only S3 has one), and the path.
fn split(text: &str) -> Result<((Scheme, &str), &str)> {
    let Some((name, rest)) = split_scheme(text) else {
        return Ok(((Scheme::File, ""), text));
    };
    match name.to_ascii_lowercase().as_str() {
        "file" => Ok(((Scheme::File, ""), local_part(text, rest)?)),
        "memory" => {
            let path = rest.trim_start_matches('/');
            let start = rest.len() - path.len();
            Ok(((Scheme::Memory, ""), rest.get(start - 1..).unwrap_or("/")))
        }
        "s3" | "s3a" | "s3n" => bucket_part(rest),
        "http" | "https" => Err(Error::invalid_input(format!(
            "{text:?}: a web address is not a table location"
        ))),
        other => Err(Error::unsupported(format!(
            "the scheme {other:?} of {text:?} is not supported"
        ))),
    }
}

/// Bucket and path of `//bucket/path`. What is refused here may hold a secret and is not repeated.
fn bucket_part(rest: &str) -> Result<((Scheme, &str), &str)> {
    let after = rest.strip_prefix("//").unwrap_or_default();
    let (bucket, path) = match after.find('/') {
        Some(at) => after.split_at(at),
        None => (after, "/"),
    };
    let at_end = |end: Option<char>| end.is_some_and(|letter| letter.is_ascii_alphanumeric());
    let well_formed = bucket.len() <= BUCKET_LENGTH_MAX
        && at_end(bucket.chars().next())
        && at_end(bucket.chars().last())
        && bucket
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || "-._".contains(letter));
    if !well_formed {
        return Err(Error::invalid_input(
            "a location in S3 is s3://bucket/path; a bucket's name has letters, digits, dots, hyphens and underscores, and keys belong into options",
        ));
    }
    Ok(((Scheme::S3, bucket), path))
}

/// The path of `file:/x`, `file:///x` or `file://localhost/x`.
fn local_part<'t>(text: &str, rest: &'t str) -> Result<&'t str> {
    let Some(after) = rest.strip_prefix("//") else {
        return Ok(rest);
    };
    let path = after.strip_prefix("localhost").unwrap_or(after);
    if path.starts_with('/') {
        return Ok(path);
    }
    Err(Error::invalid_input(format!(
        "{text:?} names a host: only file:///path is a local file"
    )))
}

fn check_text(text: &str) -> Result<()> {
    if text.is_empty() {
        return Err(Error::invalid_input("the location is empty"));
    }
    if text.len() > LENGTH_MAX {
        return Err(Error::invalid_input(format!(
            "the location has {} bytes, more than {LENGTH_MAX}",
            text.len()
        )));
    }
    if text
        .chars()
        .any(|letter| letter.is_control() || letter == '\\')
    {
        return Err(Error::invalid_input(format!(
            "the location {text:?} holds a backslash or a control character"
        )));
    }
    Ok(())
}

fn normalise(
    (scheme, bucket): (Scheme, &str),
    path: &str,
    parent: Parent,
    given: &str,
) -> Result<Location> {
    if scheme == Scheme::S3 {
        check_key(path, parent, given)?;
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parent == Parent::Refuse => {
                return Err(Error::invalid_input(format!(
                    "the path {given:?} holds '..'"
                )));
            }
            ".." if parts.pop().is_none() => {
                return Err(Error::invalid_input(format!(
                    "the path {given:?} leads above the top"
                )));
            }
            ".." => {}
            name if parts.is_empty() && is_drive(name) => {
                return Err(Error::invalid_input(format!(
                    "the part {name:?} of {given:?} reads as a drive letter"
                )));
            }
            name => parts.push(name),
        }
    }
    Ok(located(scheme, bucket, &format!("/{}", parts.join("/"))))
}

/// In an object store `a//b` and `a/./b` are keys of their own, which must not be taken for `a/b`.
fn check_key(path: &str, parent: Parent, given: &str) -> Result<()> {
    let key = path.strip_prefix('/').unwrap_or(path);
    let key = key.strip_suffix('/').unwrap_or(key);
    let strange = |part: &str| part.is_empty() || (part == "." && parent == Parent::Refuse);
    if !key.is_empty() && key.split('/').any(strange) {
        return Err(Error::unsupported(format!(
            "{given:?}: object keys with an empty part or '.' are not supported"
        )));
    }
    Ok(())
}

/// The local store goes through a URL, where `/c|` at the top means `/c:`.
fn is_drive(part: &str) -> bool {
    matches!(part.as_bytes(), [letter, b'|'] if letter.is_ascii_alphabetic())
}

fn located(scheme: Scheme, bucket: &str, path: &str) -> Location {
    let text: Arc<str> = match scheme {
        Scheme::File => Arc::from(path),
        Scheme::Memory => Arc::from(format!("{MEMORY_PREFIX}{path}")),
        Scheme::S3 => Arc::from(format!("{S3_PREFIX}{bucket}{path}")),
    };
    Location {
        scheme,
        path_start: text.len() - path.len(),
        text,
    }
}
