//! The live entries that a plan needs. Manifests are read in parallel and decoded once a session; those of which
//! the manifest list says that no row can match are not read, and files of which their entry says so are left
//! out. Entries inherit before any of them is left out: row ids count every live file of a manifest.

use std::sync::Arc;

use futures::{StreamExt as _, TryStreamExt as _};

use super::super::Table;
use super::super::environment::ManifestKey;
use super::super::request::ScanReport;
use crate::error::Result;
use crate::iceberg::features;
use crate::iceberg::manifest::{DataContent, Entry, ManifestContent, ManifestFile};
use crate::iceberg::predicate::Predicate;
use crate::iceberg::prune;
use crate::iceberg::schema::Schema;

/// How many manifests are fetched at a time.
const MANIFESTS_AT_ONCE: usize = 8;

impl Table {
    /// The live entries, data and deletes, of the files that may hold a row for which the predicate is true, in
    /// manifest order, and a report of the others. Errors: Unsupported for what cannot be read yet.
    pub(crate) async fn live_entries(
        &self,
        predicate: Option<&Predicate>,
    ) -> Result<(Vec<Entry>, ScanReport)> {
        let manifests = self.manifests().await?;
        let filter = predicate.map(|predicate| Filter {
            table: self,
            predicate,
        });
        let mut report = ScanReport {
            manifests_total: manifests.len() as u64,
            ..ScanReport::default()
        };
        let mut wanted = Vec::with_capacity(manifests.len());
        for manifest in manifests {
            let is_needed = manifest.may_have_live_files()
                && filter
                    .as_ref()
                    .map_or(Ok(true), |f| f.wants_manifest(&manifest))?;
            if is_needed {
                wanted.push(manifest);
            } else {
                skip(&manifest, &mut report);
            }
        }
        let mut decoded = futures::stream::iter(wanted)
            .map(|manifest| async move { self.live_entries_of(&manifest).await })
            .buffered(MANIFESTS_AT_ONCE);
        let mut live = Vec::new();
        while let Some(entries) = decoded.try_next().await? {
            for entry in entries.iter() {
                let is_needed = filter
                    .as_ref()
                    .map_or(Ok(true), |f| f.wants(entry, &mut report))?;
                count(entry, &mut report);
                if is_needed {
                    live.push(entry.clone());
                }
            }
        }
        features::check_readable(self.document(), &live)?;
        Ok((live, report))
    }

    /// The live entries of one manifest, from the session's cache where it has them.
    async fn live_entries_of(&self, manifest: &ManifestFile) -> Result<Arc<[Entry]>> {
        // The location is checked before the cache is asked: what one table may open, another may not.
        let key = ManifestKey::new(self.files().resolve(&manifest.path)?, manifest);
        let cache = self.environment().manifests();
        if let Some(entries) = cache.get(&key) {
            return Ok(entries);
        }
        let entries = self.manifest_entries(manifest).await?;
        let bytes = entries.iter().map(Entry::memory_bytes).sum();
        let live: Arc<[Entry]> = entries.into_iter().filter(Entry::is_live).collect();
        cache.put(key, Arc::clone(&live), bytes);
        Ok(live)
    }
}

/// Counts what a manifest that is not read holds, as far as the manifest list tells.
fn skip(manifest: &ManifestFile, report: &mut ScanReport) {
    report.manifests_skipped += 1;
    if manifest.content == ManifestContent::Deletes {
        return;
    }
    let sum = |a: Option<i64>, b: Option<i64>| {
        let known = a.unwrap_or(0).saturating_add(b.unwrap_or(0));
        u64::try_from(known).unwrap_or(0)
    };
    let files = sum(manifest.added_files, manifest.existing_files);
    report.files_total = report.files_total.saturating_add(files);
    report.files_pruned_by_partition = report.files_pruned_by_partition.saturating_add(files);
    let rows = sum(manifest.added_rows, manifest.existing_rows);
    report.rows_total = report.rows_total.saturating_add(rows);
}

fn count(entry: &Entry, report: &mut ScanReport) {
    if entry.data_file.content == DataContent::Data {
        report.files_total += 1;
        report.rows_total = report
            .rows_total
            .saturating_add(entry.data_file.record_count);
    }
}

/// A predicate on the rows of a table.
struct Filter<'a> {
    table: &'a Table,
    predicate: &'a Predicate,
}

impl Filter<'_> {
    fn schema(&self) -> Result<&Schema> {
        self.table.schema()
    }

    /// Position deletes and deletion vectors are of the partition of their data file, and so are equality deletes
    /// unless their spec has no partition, of which nothing is concluded: a delete that the predicate rules out
    /// has only data files that it rules out too.
    fn wants_manifest(&self, manifest: &ManifestFile) -> Result<bool> {
        let schema = self.schema()?;
        let spec = self.table.document().spec(manifest.spec_id);
        Ok(spec
            .is_none_or(|spec| prune::may_match_manifest(self.predicate, manifest, spec, schema)))
    }

    fn wants(&self, entry: &Entry, report: &mut ScanReport) -> Result<bool> {
        let file = &entry.data_file;
        if file.content != DataContent::Data {
            return Ok(true);
        }
        let schema = self.schema()?;
        let in_partition = match self.table.document().spec(file.spec_id) {
            Some(spec) => prune::may_match_partition(self.predicate, file, spec, schema),
            None => true,
        };
        if !in_partition {
            report.files_pruned_by_partition += 1;
            return Ok(false);
        }
        let may_match = prune::may_match(self.predicate, file, schema);
        report.files_pruned_by_statistics += u64::from(!may_match);
        Ok(may_match)
    }
}
