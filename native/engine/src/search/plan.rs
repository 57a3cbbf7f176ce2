//! Plans scans and searches: checks the request, picks the index, fits files to its segments, and for
//! text computes the statistics of the snapshot's live rows once, for all splits.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::array::{Array, AsArray};
use arrow::datatypes::{FieldRef, SchemaRef};
use futures::TryStreamExt as _;
use roaring::RoaringBitmap;

use super::fit::{explained, misfit};
use super::result_schema;
use crate::error::{Error, Result};
use crate::iceberg::predicate::{Predicate, reserved};
use crate::iceberg::schema::{Field, Schema, Type};
use crate::iceberg::spec::partition_fields;
use crate::index::bm25::{Analyzer, StatisticsCollector};
use crate::index::segment::RowLayout;
use crate::index::{IndexDefinition, OpenIndex, TextStatistics, bounds};
use crate::table::{
    CHANGE_ORDINAL, CHANGE_TYPE, COMMIT_SNAPSHOT_ID, FileRead, FileTask, LiveFile, MAX_K,
    OverlayView, PlannedFiles, RangeRows, ReadContext, SEQUENCE, ScanPlan, ScanReport, ScanRequest,
    SearchPlan, SearchRequest, SegmentPlace, Split, SplitScope, Table, TextPlan, TextSearch,
    VectorSearch, group, live_files, open_segment, output_field, plan_files, row_schema,
};

/// What a request asks for, checked.
struct Asked {
    projection: Vec<i32>,
    predicate: Option<Predicate>,
    /// The members of `_partition`, if it is asked for.
    partition: Option<Schema>,
    /// The columns of the answer.
    schema: SchemaRef,
}

impl Table {
    /// Plans a scan or a search at the pinned snapshot. Errors: InvalidInput for unknown columns, a wrong dimension, a
    /// query that is not finite or k below 1; ResourceExhausted for k above [`MAX_K`]; Unsupported for what cannot be read.
    pub async fn plan_scan(&self, request: &ScanRequest) -> Result<ScanPlan> {
        let Asked {
            projection,
            predicate,
            partition,
            schema,
        } = self.asked(request)?;
        let planned = plan_files(self, request, predicate.as_ref()).await?;
        let (overlay, columns) = (planned.overlay.clone(), planned.columns.clone());
        let Some(snapshot_id) = self.snapshot_id() else {
            return Ok(ScanPlan {
                snapshot_id: None,
                splits: Vec::new(),
                schema,
                report: planned.report,
                columns: planned.columns,
            });
        };
        let mut scope = SplitScope {
            table_location: self.location().to_string(),
            roots: vec![self.overlay().root().to_string()],
            snapshot_id,
            schema: self.schema()?.to_json(),
            name_mapping: self.name_mapping().map(str::to_owned),
            partition: partition.map(|fields| fields.to_json()),
            projection,
            predicate: predicate.clone(),
            search: None,
            metadata: None,
        };
        let (splits, report) = match &request.search {
            None => (
                group(
                    &Arc::new(scope),
                    planned.files.into_iter().map(|f| f.task).collect(),
                    request,
                ),
                planned.report,
            ),
            Some(search) => {
                let definition = choose_index(&planned.overlay, search);
                let mut report = planned.report;
                let text = match search {
                    SearchRequest::Text(text) => Some(
                        self.plan_text(text, definition.as_ref(), &planned.overlay, &mut report)
                            .await?,
                    ),
                    SearchRequest::Vector(_) => None,
                };
                scope.search = Some(SearchPlan {
                    request: search.clone(),
                    text,
                });
                let planned = PlannedFiles { report, ..planned };
                self.search_splits(Arc::new(scope), planned, definition.as_ref(), request)?
            }
        };
        let report = explained(report, &overlay, request, predicate.as_ref());
        Ok(ScanPlan {
            snapshot_id: Some(snapshot_id),
            splits,
            schema,
            report,
            columns,
        })
    }

    /// The request, checked.
    fn asked(&self, request: &ScanRequest) -> Result<Asked> {
        let projection = match &request.projection {
            Some(ids) => ids.clone(),
            None => self.schema()?.fields.iter().map(|f| f.id).collect(),
        };
        let predicate = predicate_of(&request.conjuncts)?;
        let partition = self.partition_asked(&projection, predicate.as_ref())?;
        let rows = row_schema(self.schema()?, partition.as_ref())?;
        let schema = result_schema(&rows, &projection, request.search.as_ref())?;
        for column in predicate.iter().flat_map(Predicate::columns) {
            output_field(&rows, column)?;
        }
        if let Some(search) = &request.search {
            self.check_search(search)?;
            if asks_for(reserved::DELETED, &projection, predicate.as_ref()) {
                return Err(Error::unsupported("the column _deleted in a search"));
            }
        }
        check_changes(request, &projection, predicate.as_ref())?;
        Ok(Asked {
            projection,
            predicate,
            partition,
            schema,
        })
    }

    /// The Arrow field of a metadata column. Errors: Unsupported for a partition of unknown type.
    pub(crate) fn metadata_field(&self, id: i32) -> Result<FieldRef> {
        let partition = self.partition_asked(&[id], None)?;
        output_field(row_schema(self.schema()?, partition.as_ref())?.as_ref(), id)
    }

    /// The members of the column `_partition`, if it is asked for.
    fn partition_asked(
        &self,
        projection: &[i32],
        predicate: Option<&Predicate>,
    ) -> Result<Option<Schema>> {
        if !asks_for(reserved::PARTITION, projection, predicate) {
            return Ok(None);
        }
        Schema::new(0, self.partition_columns()?).map(Some)
    }

    /// The members of the column `_partition`. Errors: Unsupported for a partition of unknown type.
    pub fn partition_columns(&self) -> Result<Vec<Field>> {
        partition_fields(self.document().specs(), self.schema()?)
    }

    fn check_search(&self, search: &SearchRequest) -> Result<()> {
        let k = search.k();
        if k == 0 {
            return Err(Error::invalid_input("k must be at least 1"));
        }
        if k > MAX_K {
            return Err(Error::resource_exhausted(format!(
                "k is {k}, the limit is {MAX_K}"
            )));
        }
        let field = self.schema()?.field(search.column()).ok_or_else(|| {
            Error::invalid_input(format!(
                "the table has no column with field id {}",
                search.column()
            ))
        })?;
        let vector = matches!(&field.ty, Type::List(element) if element.ty == Type::Float);
        match search {
            SearchRequest::Text(_) if field.ty != Type::String => {
                Err(Error::invalid_input(format!(
                    "column {} of type {} cannot be searched for text, only string columns can",
                    field.name, field.ty
                )))
            }
            SearchRequest::Vector(_) if !vector => Err(Error::invalid_input(format!(
                "column {} of type {} cannot be searched for vectors, only list<float> columns can",
                field.name, field.ty
            ))),
            SearchRequest::Vector(vector) => self.check_query(&field.name, vector),
            SearchRequest::Text(_) => Ok(()),
        }
    }

    fn check_query(&self, column: &str, search: &VectorSearch) -> Result<()> {
        if search.query.is_empty() || !search.query.iter().all(|v| v.is_finite()) {
            return Err(Error::invalid_input(format!(
                "the query vector for column {column} must be finite and not empty"
            )));
        }
        match self.dimension(column)? {
            Some(dimension) if dimension != search.query.len() => {
                Err(Error::invalid_input(format!(
                    "the query vector has dimension {}, column {column} has {dimension}",
                    search.query.len()
                )))
            }
            _ => Ok(()),
        }
    }

    /// One split per segment in use, and the other files grouped by size.
    fn search_splits(
        &self,
        scope: Arc<SplitScope>,
        planned: PlannedFiles,
        definition: Option<&IndexDefinition>,
        request: &ScanRequest,
    ) -> Result<(Vec<Split>, ScanReport)> {
        let PlannedFiles {
            files,
            overlay,
            mut report,
            ..
        } = planned;
        let mut splits = Vec::new();
        let mut uncovered: BTreeSet<usize> = (0..files.len()).collect();
        if let (Some(definition), Some(manifest)) = (definition, &overlay.manifest) {
            let identities: Vec<_> = files.iter().map(|f| f.identity.clone()).collect();
            for used in manifest.coverage(&definition.name, &identities).segments {
                let layout = RowLayout::new(used.segment.files.iter().map(|f| f.rows))?;
                let mut tasks = Vec::new();
                for (place, live) in used.live_files.iter().enumerate() {
                    let Some((live, file)) = live.and_then(|l| Some((l, files.get(l)?))) else {
                        continue;
                    };
                    uncovered.remove(&live);
                    tasks.push(FileTask {
                        place: Some(SegmentPlace {
                            segment_index: 0,
                            first_row: layout.file_rows(place).start,
                        }),
                        ..file.task.clone()
                    });
                }
                *report.segments.entry(definition.name.clone()).or_default() += 1;
                report.rows_proposed += tasks.iter().map(|t| t.record_count).sum::<u64>();
                splits.push(Split {
                    scope: Arc::clone(&scope),
                    files: tasks,
                    segments: vec![self.overlay().segment_ref(definition, &used.segment)?],
                });
            }
            report.files_scanned_without_index += uncovered.len() as u64;
        }
        let rest = uncovered
            .into_iter()
            .filter_map(|i| files.get(i))
            .map(|f| f.task.clone())
            .collect();
        splits.extend(group(
            &scope,
            rest,
            &ScanRequest {
                target_split_bytes: request.target_split_bytes,
                min_splits: request.min_splits,
                ..ScanRequest::default()
            },
        ));
        Ok((splits, report))
    }

    /// Analyzer, parameters and statistics: over the live rows of the snapshot, whatever the filter.
    async fn plan_text(
        &self,
        request: &TextSearch,
        definition: Option<&IndexDefinition>,
        overlay: &OverlayView,
        report: &mut ScanReport,
    ) -> Result<TextPlan> {
        let mut plan = empty_text_plan(request, definition);
        let analyzer = Analyzer::by_name(&plan.analyzer)?;
        let mut terms = analyzer.terms(&request.query);
        terms.sort_unstable();
        terms.dedup();
        plan.statistics.document_frequency = terms.iter().map(|t| (t.clone(), 0)).collect();
        let files: Vec<LiveFile> = live_files(self)
            .await?
            .into_iter()
            .map(|(f, _)| f)
            .collect();
        let context = self.read_context(files.iter().map(|f| &f.task))?;
        let mut uncovered: BTreeSet<usize> = (0..files.len()).collect();
        if let (Some(definition), Some(manifest)) = (definition, &overlay.manifest) {
            let identities: Vec<_> = files.iter().map(|f| f.identity.clone()).collect();
            for used in manifest.coverage(&definition.name, &identities).segments {
                let live: Vec<Option<&LiveFile>> = used
                    .live_files
                    .iter()
                    .map(|l| l.and_then(|l| files.get(l)))
                    .collect();
                let reference = self.overlay().segment_ref(definition, &used.segment)?;
                let open = open_segment(
                    self.environment(),
                    self.files().reader(),
                    self.files(),
                    &reference,
                )
                .await;
                match open {
                    Ok(OpenIndex::Text(index)) => {
                        let layout = RowLayout::new(used.segment.files.iter().map(|f| f.rows))?;
                        let dead = dead_rows(&context, &layout, &live).await?;
                        plan.statistics.merge(&index.statistics(&terms, &dead)?);
                        used.live_files.iter().flatten().for_each(|l| {
                            uncovered.remove(l);
                        });
                    }
                    Ok(_) => report.warnings.push(format!(
                        "a segment of index {} is of another kind",
                        definition.name
                    )),
                    Err(error) => report.warnings.push(format!(
                        "a segment of index {} is not used: {error}",
                        definition.name
                    )),
                }
            }
        }
        for file in uncovered.into_iter().filter_map(|i| files.get(i)) {
            let scanned = scan_statistics(&context, &analyzer, &terms, request.column, file);
            plan.statistics.merge(&scanned.await?);
        }
        Ok(plan)
    }
}

/// Segment rows that the snapshot does not hold.
async fn dead_rows(
    context: &ReadContext,
    layout: &RowLayout,
    files: &[Option<&LiveFile>],
) -> Result<RoaringBitmap> {
    let mut live = RoaringBitmap::new();
    for (place, file) in files.iter().enumerate() {
        let Some(file) = file else { continue };
        live |= layout.embed(place, context.live(&file.task).await?.as_ref());
    }
    Ok(bounds::all_rows(layout.rows()) - live)
}

async fn scan_statistics(
    context: &ReadContext,
    analyzer: &Analyzer,
    terms: &[String],
    column: i32,
    file: &LiveFile,
) -> Result<TextStatistics> {
    let mut collector = StatisticsCollector::new(*analyzer, terms);
    let read = FileRead {
        task: Arc::new(file.task.clone()),
        columns: vec![column].into(),
        predicate: None,
        rows: None,
        apply_deletes: true,
    };
    let mut batches = context.read(read).await?;
    while let Some(batch) = batches.try_next().await? {
        let texts = super::rows::column_at(&batch, 0)?;
        let texts = texts
            .as_string_opt::<i32>()
            .ok_or_else(|| Error::invalid_input("the searched column holds no text"))?;
        for row in (0..texts.len()).filter(|row| texts.is_valid(*row)) {
            collector.add(texts.value(row));
        }
    }
    Ok(collector.finish())
}

/// What a changelog adds is a column of changelogs, and searches have one snapshot.
fn check_changes(
    request: &ScanRequest,
    projection: &[i32],
    predicate: Option<&Predicate>,
) -> Result<()> {
    let is_change = |id: &i32| matches!(*id, CHANGE_TYPE | CHANGE_ORDINAL | COMMIT_SNAPSHOT_ID);
    if predicate.is_some_and(|p| p.columns().iter().any(is_change)) {
        return Err(Error::unsupported("a filter on what a changelog adds"));
    }
    let rows = request.range.as_ref().map(|range| range.rows);
    if rows.is_some() && request.search.is_some() {
        return Err(Error::unsupported("a search between two snapshots"));
    }
    if rows == Some(RangeRows::Changed) && asks_for(reserved::DELETED, projection, predicate) {
        return Err(Error::unsupported("the column _deleted in a changelog"));
    }
    if rows != Some(RangeRows::Changed) && projection.iter().any(is_change) {
        return Err(Error::invalid_input(
            "_change_type, _change_ordinal and _commit_snapshot_id are columns of a changelog",
        ));
    }
    Ok(())
}

/// Whether a column is put out or filtered by.
fn asks_for(id: i32, projection: &[i32], predicate: Option<&Predicate>) -> bool {
    projection.contains(&id) || predicate.is_some_and(|p| p.columns().contains(&id))
}

fn predicate_of(conjuncts: &[Predicate]) -> Result<Option<Predicate>> {
    let predicate = match conjuncts {
        [] => return Ok(None),
        [one] => one.clone(),
        many => Predicate::And(many.to_vec()),
    };
    if predicate.columns().contains(&SEQUENCE) {
        return Err(Error::unsupported("a filter on _seq"));
    }
    Ok(Some(predicate))
}

/// The index that may answer the search; None: scan.
fn choose_index(overlay: &OverlayView, search: &SearchRequest) -> Option<IndexDefinition> {
    let manifest = overlay.manifest.as_ref()?;
    let fits = |definition: &&IndexDefinition| {
        definition.columns == [search.column()] && misfit(definition, search).is_none()
    };
    let mut definitions = manifest.indexes.iter().map(|entry| &entry.definition);
    definitions.find(fits).cloned()
}

/// How to analyse and score, by request, then index, then default; without statistics.
fn empty_text_plan(request: &TextSearch, definition: Option<&IndexDefinition>) -> TextPlan {
    let parameter = |key: &str| definition.and_then(|d| d.parameters.get(key).cloned());
    let named = request.analyzer.clone().or_else(|| parameter("analyzer"));
    let number = |key: &str, default: f64| {
        parameter(key)
            .and_then(|t| t.parse().ok())
            .unwrap_or(default)
    };
    TextPlan {
        analyzer: named.unwrap_or_else(|| "standard".to_string()),
        k1: number("k1", 1.2),
        b: number("b", 0.75),
        statistics: TextStatistics::default(),
    }
}
