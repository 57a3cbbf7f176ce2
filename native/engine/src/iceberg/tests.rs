//! Metadata of tables that other engines wrote is read, or refused by key.
//! The inputs are in `fixtures/iceberg` under `BSDB_SHARED`; without them these tests say so and pass.

mod damage;
mod rules;
mod samples;

use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use bytes::Bytes;

use super::avro::Container;
use super::document::Document;
use super::manifest::{ManifestContent, ManifestFile, read_manifest, read_manifest_list};
use crate::error::ErrorKind;

/// A seeded generator, so that failures repeat.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(super) fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }
}

/// How many times the usual number of random cases run: `make test-long` asks for more of them.
pub(super) fn scale() -> usize {
    std::env::var("BSDB_TEST_SCALE").map_or(1, |scale| scale.parse().unwrap())
}

/// Says on the real standard error, which the test runner does not hold back, that a test did nothing.
fn skipped(test: &str, root: &Path) {
    let missing = match std::env::var("BSDB_SHARED") {
        Ok(_) => format!("no fixtures in {}", root.display()),
        Err(_) => "BSDB_SHARED is not set".to_owned(),
    };
    let _ = writeln!(std::io::stderr(), "skipped: {test}: {missing}");
}

pub(super) fn fixtures(test: &str) -> Vec<PathBuf> {
    let shared = std::env::var("BSDB_SHARED").map(PathBuf::from);
    let root = shared
        .unwrap_or_else(|_| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"))
        .join("fixtures/iceberg");
    let mut files = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else {
            continue;
        };
        for entry in entries {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path)
            } else {
                files.push(path)
            }
        }
    }
    if files.is_empty() {
        skipped(test, &root);
    }
    files.sort();
    files
}

fn read(path: &Path) -> Bytes {
    let bytes = std::fs::read(path).unwrap();
    if bytes.starts_with(&[0x1f, 0x8b]) {
        let mut plain = Vec::new();
        flate2::read::GzDecoder::new(bytes.as_slice())
            .read_to_end(&mut plain)
            .unwrap();
        return plain.into();
    }
    if bytes.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
        return zstd::decode_all(bytes.as_slice()).unwrap().into();
    }
    bytes.into()
}

fn of_kind(paths: &[PathBuf], suffix: &str) -> Vec<PathBuf> {
    paths
        .iter()
        .filter(|p| p.to_str().unwrap().ends_with(suffix))
        .cloned()
        .collect()
}

#[test]
fn metadata_of_other_engines_is_read_or_refused_by_key() {
    let files: Vec<_> = of_kind(
        &fixtures("metadata_of_other_engines_is_read_or_refused_by_key"),
        ".json",
    )
    .into_iter()
    .filter(|p| p.to_str().unwrap().to_lowercase().contains("metadata"))
    .collect();
    let (mut read_count, mut refused) = (0, Vec::new());
    for path in &files {
        match Document::parse(&read(path)) {
            Ok(document) => {
                read_count += 1;
                document.current_schema().unwrap();
                document.default_spec().unwrap();
                let again = Document::parse(&document.to_bytes()).unwrap();
                assert_eq!(again.snapshots(), document.snapshots());
            }
            Err(e) => {
                assert!(
                    matches!(e.kind(), ErrorKind::Corrupt | ErrorKind::Unsupported),
                    "{e}"
                );
                refused.push(format!(
                    "{}: {e}",
                    path.file_name().unwrap().to_str().unwrap()
                ));
            }
        }
    }
    println!("{read_count} read, {} refused", refused.len());
    refused.iter().for_each(|r| println!("  {r}"));
    assert!(
        files.is_empty() || read_count >= 150,
        "only {read_count} of {} metadata files are read",
        files.len()
    );
}

#[test]
fn avro_files_of_other_engines_are_read_by_field_id() {
    let (mut lists, mut manifests, mut entries) = (0, 0, 0);
    for path in of_kind(
        &fixtures("avro_files_of_other_engines_are_read_by_field_id"),
        ".avro",
    ) {
        let bytes = read(&path);
        let container = match Container::open(&bytes) {
            Ok(container) => container,
            Err(e) => {
                assert!(
                    matches!(e.kind(), ErrorKind::Corrupt | ErrorKind::Unsupported),
                    "{e}"
                );
                println!("refused {}: {e}", path.display());
                continue;
            }
        };
        let fields = container
            .root()
            .fields("row")
            .unwrap()
            .iter()
            .map(|f| f.id)
            .collect::<Vec<_>>();
        if fields.contains(&Some(500)) {
            match read_manifest_list(&bytes) {
                Ok(_) => lists += 1,
                Err(e) => println!("refused list {}: {e}", path.display()),
            }
        } else if fields.contains(&Some(2)) {
            // Only the list of the snapshot says what a manifest holds.
            let data = ManifestFile::from_path("m", 1);
            let deletes = ManifestFile {
                content: ManifestContent::Deletes,
                ..data.clone()
            };
            match read_manifest(&bytes, &data).or_else(|_| read_manifest(&bytes, &deletes)) {
                Ok(read) => {
                    manifests += 1;
                    entries += read.len();
                }
                Err(e) => println!("refused manifest {}: {e}", path.display()),
            }
        }
    }
    println!("{lists} lists, {manifests} manifests, {entries} entries");
    assert!(
        lists == 0 || (lists >= 90 && manifests >= 100),
        "{lists} lists, {manifests} manifests"
    );
}
