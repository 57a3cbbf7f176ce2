//! The `metadata` folder of one table: which version is the newest, and its bytes. The hint is a starting point
//! only: from there the versions are followed forward; without it, or where it is wrong, the folder is listed
//! and the greatest number wins. A damaged newest file is Corrupt: an older one never stands in for it.

use std::io::Read;

use bytes::Bytes;
use flate2::read::MultiGzDecoder;
use serde::Deserialize;
use serde::de::IgnoredAny;
use zstd::stream::read::Decoder as ZstdDecoder;

use super::version::{MetadataName, Spelling, parse_hint};
use crate::catalog::TableHead;
use crate::error::{Error, ErrorKind, Result};
use crate::storage::{Confined, Location};

/// The longest metadata accepted, as stored and decoded.
const METADATA_BYTES_MAX: u64 = 512 << 20;
/// The longest hint accepted; a version has at most 20 digits.
const HINT_BYTES_MAX: u64 = 256;
/// How far behind a hint may be before listing is cheaper.
const STEPS_MAX: u32 = 64;
/// How often a head that vanishes while it is read is looked for again.
const LOADS_MAX: u32 = 3;

pub(super) const PINNED: &str =
    "the location names one metadata file, which is pinned and read-only";
pub(super) const FOREIGN: &str = "the table's metadata is named by another catalog, so only that catalog can commit; it is read-only here";

/// One metadata file.
#[derive(Clone, Debug)]
pub(super) struct MetadataFile {
    pub(super) location: Location,
    pub(super) version: u64,
    pub(super) read_only: Option<&'static str>,
}

/// The metadata folder of a table.
pub(super) struct Folder {
    pub(super) table: Location,
    pub(super) metadata: Location,
    pub(super) store: Confined,
}

impl Folder {
    pub(super) fn new(store: Confined, table: Location) -> Result<Folder> {
        let metadata = table.join("metadata")?;
        Ok(Folder {
            table,
            metadata,
            store,
        })
    }

    /// The newest version as bytes; none where there is no table.
    pub(super) async fn load(&self) -> Result<Option<TableHead>> {
        let mut vanished = None;
        for _ in 0..LOADS_MAX {
            let Some(newest) = self.newest().await? else {
                return Ok(None);
            };
            match self.read(&newest.location).await {
                Ok(metadata) => return Ok(Some(self.head(newest, metadata))),
                Err(error) if error.kind() == ErrorKind::NotFound => vanished = Some(error),
                Err(error) => return Err(error),
            }
        }
        vanished.map_or(Ok(None), Err)
    }

    /// The head that `file` and its bytes make.
    pub(super) fn head(&self, file: MetadataFile, metadata: Bytes) -> TableHead {
        TableHead {
            location: self.table.clone(),
            metadata_location: file.location,
            version: file.version,
            metadata,
            read_only: file.read_only,
            name: None,
        }
    }

    /// The newest metadata file; none where there is no table.
    pub(super) async fn newest(&self) -> Result<Option<MetadataFile>> {
        let hinted = self.hint().await?;
        if let Some(hinted) = hinted
            && let Some(found) = self.follow(hinted).await?
        {
            return Ok(Some(found));
        }
        let newest = self.newest_listed().await?;
        match (&newest, hinted) {
            // The hint is written once the version exists: what it names has been lost.
            (Some(newest), Some(hinted)) if newest.version < hinted => {
                Err(Error::corrupt(format!(
                    "{} names version {hinted}, but {} is missing; the newest there is {}",
                    self.hint_location()?,
                    self.file(hinted, Spelling::Plain)?.name(),
                    newest.location
                )))
            }
            _ => Ok(newest),
        }
    }

    /// The file of `version` in the first spelling that exists.
    async fn find(&self, version: u64) -> Result<Option<MetadataFile>> {
        for spelling in Spelling::ALL {
            let location = self.file(version, spelling)?;
            if self.store.exists(&location).await? {
                return Ok(Some(MetadataFile {
                    location,
                    version,
                    read_only: None,
                }));
            }
        }
        Ok(None)
    }

    /// Whether a spelling of `version` other than `location` exists.
    pub(super) async fn has_other_spelling(
        &self,
        version: u64,
        location: &Location,
    ) -> Result<bool> {
        for spelling in Spelling::ALL {
            let other = self.file(version, spelling)?;
            if other != *location && self.store.exists(&other).await? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    pub(super) fn file(&self, version: u64, spelling: Spelling) -> Result<Location> {
        self.metadata.join(&spelling.file_name(version))
    }

    pub(super) fn hint_location(&self) -> Result<Location> {
        self.metadata.join("version-hint.text")
    }

    /// The bytes of a metadata file, decompressed and known to be whole.
    pub(super) async fn read(&self, location: &Location) -> Result<Bytes> {
        let stored = self.store.get_limited(location, METADATA_BYTES_MAX).await?;
        decode(stored, location)
    }

    /// The metadata files of the folder.
    pub(super) async fn files(&self) -> Result<Vec<(Location, MetadataName)>> {
        let children = self.store.children(&self.metadata).await?;
        Ok(children
            .files
            .into_iter()
            .filter_map(|(file, _)| MetadataName::parse(file.name()).map(|name| (file, name)))
            .collect())
    }

    async fn hint(&self) -> Result<Option<u64>> {
        match self
            .store
            .get_limited(&self.hint_location()?, HINT_BYTES_MAX)
            .await
        {
            Ok(bytes) => Ok(parse_hint(&bytes)),
            // A hint that is missing or overlong is no hint.
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::NotFound | ErrorKind::ResourceExhausted
                ) =>
            {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// The newest version at or after `version` that is reached without a gap.
    async fn follow(&self, version: u64) -> Result<Option<MetadataFile>> {
        let Some(mut newest) = self.find(version).await? else {
            return Ok(None);
        };
        for _ in 0..STEPS_MAX {
            let Some(next) = newest.version.checked_add(1) else {
                return Ok(Some(newest));
            };
            match self.find(next).await? {
                Some(found) => newest = found,
                None => return Ok(Some(newest)),
            }
        }
        Ok(None)
    }

    async fn newest_listed(&self) -> Result<Option<MetadataFile>> {
        let files = self.files().await?;
        let newest = files.iter().filter_map(|(_, name)| version_of(*name)).max();
        if let Some(version) = newest {
            return self.find(version).await;
        }
        let Some(number) = files.iter().filter_map(|(_, name)| number_of(*name)).max() else {
            return match files.first() {
                None => Ok(None),
                Some((file, _)) => Err(Error::invalid_input(format!(
                    "{} holds no metadata file with a number: name the one to read, such as '{file}'",
                    self.metadata
                ))),
            };
        };
        let mut candidates = files
            .iter()
            .filter(|(_, name)| number_of(*name) == Some(number));
        match (candidates.next(), candidates.next()) {
            (Some((first, _)), Some((second, _))) => Err(Error::invalid_input(format!(
                "{first} and {second} both claim to be the newest: name the one to read"
            ))),
            (first, _) => Ok(first.map(|(file, _)| MetadataFile {
                location: file.clone(),
                version: number,
                read_only: Some(FOREIGN),
            })),
        }
    }
}

fn version_of(name: MetadataName) -> Option<u64> {
    match name {
        MetadataName::Version(version, _) => Some(version),
        MetadataName::Numbered(_) | MetadataName::Unnumbered => None,
    }
}

fn number_of(name: MetadataName) -> Option<u64> {
    match name {
        MetadataName::Numbered(number) => Some(number),
        MetadataName::Version(..) | MetadataName::Unnumbered => None,
    }
}

/// What every sound metadata file has.
#[derive(Deserialize)]
struct Outline {
    #[serde(rename = "format-version")]
    _format_version: IgnoredAny,
}

/// The JSON in `stored`, which may be gzip or zstandard whatever the name says; Corrupt where it is torn or something else.
fn decode(stored: Bytes, location: &Location) -> Result<Bytes> {
    let json = match stored.as_ref() {
        [0x1f, 0x8b, ..] => decompress(MultiGzDecoder::new(stored.as_ref()), location)?,
        [0x28, 0xb5, 0x2f, 0xfd, ..] => decompress(ZstdDecoder::new(stored.as_ref())?, location)?,
        _ => stored,
    };
    let damaged = |detail: String| {
        Error::corrupt(format!("the metadata file {location} is damaged: {detail}"))
    };
    if json.trim_ascii_start().first() != Some(&b'{') {
        return Err(damaged(format!(
            "{} bytes that are no JSON object",
            json.len()
        )));
    }
    serde_json::from_slice::<Outline>(&json).map_err(|error| damaged(error.to_string()))?;
    Ok(json)
}

fn decompress(unpacked: impl Read, location: &Location) -> Result<Bytes> {
    let mut json = Vec::new();
    unpacked
        .take(METADATA_BYTES_MAX + 1)
        .read_to_end(&mut json)
        .map_err(|error| {
            Error::corrupt(format!("the metadata file {location} is damaged: {error}"))
                .caused_by(error)
        })?;
    if json.len() as u64 > METADATA_BYTES_MAX {
        return Err(Error::resource_exhausted(format!(
            "the metadata file {location} is longer than {METADATA_BYTES_MAX} bytes when decompressed"
        )));
    }
    Ok(Bytes::from(json))
}
