//! Names of metadata files. File-system tables use `v<N>` in one of three spellings; catalogs of other engines
//! use `<number>-<uuid>`, whose newest only they know for certain.

/// The spellings of a version, in the order in which Iceberg's readers try them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spelling {
    Plain,
    Gzip,
    OldGzip,
}

impl Spelling {
    pub(super) const ALL: [Spelling; 3] = [Spelling::Plain, Spelling::Gzip, Spelling::OldGzip];

    fn ending(self) -> &'static str {
        match self {
            Spelling::Plain => ".metadata.json",
            Spelling::Gzip => ".gz.metadata.json",
            Spelling::OldGzip => ".metadata.json.gz",
        }
    }

    pub(super) fn is_compressed(self) -> bool {
        self != Spelling::Plain
    }

    /// The name of the file that holds `version`.
    pub(super) fn file_name(self, version: u64) -> String {
        format!("v{version}{}", self.ending())
    }
}

/// What the name of a metadata file says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MetadataName {
    /// `v<N>`: a version of a file-system table.
    Version(u64, Spelling),
    /// `<number>-<anything>`: written through another catalog.
    Numbered(u64),
    /// Some other metadata file.
    Unnumbered,
}

impl MetadataName {
    /// Reads a file name; none where it names no metadata.
    pub(super) fn parse(name: &str) -> Option<MetadataName> {
        // The longer ending first: `.gz.metadata.json` ends in `.metadata.json` too.
        let (stem, spelling) = [Spelling::Gzip, Spelling::OldGzip, Spelling::Plain]
            .into_iter()
            .find_map(|spelling| Some((name.strip_suffix(spelling.ending())?, spelling)))?;
        if let Some(version) = stem.strip_prefix('v').and_then(number) {
            return Some(MetadataName::Version(version, spelling));
        }
        let prefix = stem.split_once('-').and_then(|(prefix, _)| digits(prefix));
        Some(prefix.map_or(MetadataName::Unnumbered, MetadataName::Numbered))
    }
}

/// A number without sign and leading zeros, so that each version has one name.
fn number(text: &str) -> Option<u64> {
    digits(text).filter(|_| text == "0" || !text.starts_with('0'))
}

fn digits(text: &str) -> Option<u64> {
    text.bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| text.parse().ok())?
}

/// The version that `version-hint.text` names, blanks trimmed.
pub(super) fn parse_hint(bytes: &[u8]) -> Option<u64> {
    digits(std::str::from_utf8(bytes).ok()?.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_name_tells_version_number_or_nothing() {
        let cases = [
            (
                "v1.metadata.json",
                Some(MetadataName::Version(1, Spelling::Plain)),
            ),
            (
                "v12.gz.metadata.json",
                Some(MetadataName::Version(12, Spelling::Gzip)),
            ),
            (
                "v12.metadata.json.gz",
                Some(MetadataName::Version(12, Spelling::OldGzip)),
            ),
            (
                "v1749025517.metadata.json",
                Some(MetadataName::Version(1_749_025_517, Spelling::Plain)),
            ),
            ("00003-ab-cd.metadata.json", Some(MetadataName::Numbered(3))),
            ("00003-ab.gz.metadata.json", Some(MetadataName::Numbered(3))),
            ("v01.metadata.json", Some(MetadataName::Unnumbered)),
            ("v.metadata.json", Some(MetadataName::Unnumbered)),
            ("v+1.metadata.json", Some(MetadataName::Unnumbered)),
            (
                "v99999999999999999999.metadata.json",
                Some(MetadataName::Unnumbered),
            ),
            ("x-1.metadata.json", Some(MetadataName::Unnumbered)),
            ("snap.metadata.json", Some(MetadataName::Unnumbered)),
            ("v1.json", None),
            ("v1.metadata.json.crc", None),
            ("version-hint.text", None),
        ];
        for (name, expected) in cases {
            assert_eq!(MetadataName::parse(name), expected, "{name}");
        }
        for spelling in Spelling::ALL {
            assert_eq!(
                MetadataName::parse(&spelling.file_name(7)),
                Some(MetadataName::Version(7, spelling))
            );
        }
    }

    #[test]
    fn hint_is_trimmed_and_anything_but_a_number_is_no_hint() {
        for (text, expected) in [
            ("3", Some(3)),
            (" 3\n", Some(3)),
            ("03", Some(3)),
            ("", None),
            ("x", None),
            ("-1", None),
        ] {
            assert_eq!(parse_hint(text.as_bytes()), expected, "{text:?}");
        }
        assert_eq!(parse_hint(&[0xff, 0xfe]), None);
    }
}
