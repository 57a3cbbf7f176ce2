//! The operations behind the C and JNI functions, and the only file that drives the engine. Each takes
//! handles and bytes and gives handles or bytes; it runs to its end on the caller's thread.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow::array::RecordBatch;
use benostreamdb::{
    AsOf, CommitMessage, CommitOperation, CommitRequest, Error, ErrorKind, IndexPiece,
    IndexRequest, MetadataTable, Metric, Result, SegmentMessage, Session, SessionOptions, Split,
    Table, TableRef, TableWriter,
};
use prost::Message;
use tokio_util::sync::CancellationToken;

use crate::handle::{self, Object};
use crate::reader::Reader;
use crate::runtime::{runtime, wait};
use crate::wire::{
    self, Kind, catalog_request, commit_request, maintain_request, open_table, scan_request,
};
use crate::{decode, describe, export};

/// The option whose value is the warehouse.
const WAREHOUSE: &str = "warehouse";
/// The option whose value is `RECORDED=ACTUAL`, repeated after `;`.
const MAP_PREFIX: &str = "map-prefix";

/// An open session.
pub(crate) struct SessionState {
    session: Session,
    cancel: Mutex<CancellationToken>,
}

/// An open table.
pub(crate) struct TableState {
    table: Table,
    /// What is read instead of the table's rows.
    metadata: Option<MetadataTable>,
    session: Arc<SessionState>,
}

/// An open writer; empty once it has ended.
pub(crate) struct WriterState {
    writer: Mutex<Option<TableWriter>>,
}

impl TableState {
    /// The table, where the handle is not one of a metadata table, which can only be read.
    fn rows(&self) -> Result<&Table> {
        match &self.metadata {
            None => Ok(&self.table),
            Some(_) => Err(Error::unsupported(format!(
                "changing a metadata table of {}",
                self.table.name()
            ))),
        }
    }
}

impl SessionState {
    fn token(&self) -> CancellationToken {
        self.cancel
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Ends what runs now; what comes later runs.
    fn cancel(&self) {
        let mut token = self.cancel.lock().unwrap_or_else(PoisonError::into_inner);
        token.cancel();
        *token = CancellationToken::new();
    }

    /// Runs an operation that leaves nothing behind when it is dropped half way.
    fn run<T>(&self, operation: impl Future<Output = Result<T>>) -> Result<T> {
        let token = self.token();
        wait(async {
            tokio::select! {
                biased;
                () = token.cancelled() => Err(Error::cancelled("the session was cancelled")),
                outcome = operation => outcome,
            }
        })
    }
}

impl WriterState {
    fn lock(&self) -> Result<MutexGuard<'_, Option<TableWriter>>> {
        self.writer
            .try_lock()
            .map_err(|_| Error::invalid_input("the table writer is in use by another thread"))
    }

    fn take(&self) -> Result<TableWriter> {
        self.lock()?
            .take()
            .ok_or_else(|| Error::invalid_input("the table writer has ended"))
    }
}

/// Opens a session.
pub(crate) fn open_session(request: &[u8]) -> Result<u64> {
    let request: wire::OpenSession = wire::parse(request, "session request")?;
    wire::check_version(request.abi_version, "session request")?;
    let mut options: BTreeMap<String, String> = request.options.into_iter().collect();
    let warehouse = options.remove(WAREHOUSE);
    let map_prefix = options
        .remove(MAP_PREFIX)
        .map_or(Ok(Vec::new()), |text| prefixes(&text))?;
    let _context = runtime()?.enter();
    let session = Session::open(&SessionOptions {
        warehouse,
        options,
        map_prefix,
    })?;
    let state = SessionState {
        session,
        cancel: Mutex::default(),
    };
    handle::insert(Object::Session(Arc::new(state)))
}

fn prefixes(text: &str) -> Result<Vec<(String, String)>> {
    let pair = |entry: &str| {
        let pair = entry
            .split_once('=')
            .map(|(recorded, actual)| (recorded.to_owned(), actual.to_owned()));
        pair.ok_or_else(|| {
            Error::invalid_input(format!("{MAP_PREFIX} '{entry}' is not RECORDED=ACTUAL"))
        })
    };
    text.split(';')
        .map(str::trim)
        .filter(|entry| !entry.is_empty())
        .map(pair)
        .collect()
}

/// Closes any handle; a writer that has not ended is aborted.
pub(crate) fn close(handle: u64) -> Result<()> {
    let _context = runtime()?.enter();
    match handle::remove(handle)? {
        Object::Reader(reader) => reader.cancel(),
        Object::Writer(writer) => {
            // An append that still runs ends first.
            let taken = writer
                .writer
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take();
            if let Some(writer) = taken {
                wait(async {
                    writer.abort().await;
                    Ok(())
                })?;
            }
        }
        Object::Session(_) | Object::Table(_) => {}
    }
    Ok(())
}

/// Cancels what runs on a session or reader.
pub(crate) fn cancel(handle: u64) -> Result<()> {
    match handle::get(handle)? {
        Object::Session(session) => session.cancel(),
        Object::Table(table) => table.session.cancel(),
        Object::Reader(reader) => reader.cancel(),
        Object::Writer(_) => {
            return Err(Error::invalid_input(
                "a table writer is aborted, not cancelled",
            ));
        }
    }
    Ok(())
}

/// Answers a `CatalogRequest`.
pub(crate) fn catalog(session: u64, request: &[u8]) -> Result<Vec<u8>> {
    let state = handle::session(session)?;
    let request: wire::CatalogRequest = wire::parse(request, "catalog request")?;
    wire::check_version(request.abi_version, "catalog request")?;
    let request = request
        .request
        .ok_or_else(|| Error::invalid_input("the catalog request is empty"))?;
    let answer = state.run(answer_catalog(&state.session, request))?;
    Ok(answer.encode_to_vec())
}

async fn answer_catalog(
    session: &Session,
    request: catalog_request::Request,
) -> Result<wire::CatalogResponse> {
    use catalog_request::Request;
    let reference = |name: &wire::TableName| decode::table_ref(Some(name), session.environment());
    let mut answer = wire::CatalogResponse::default();
    match request {
        Request::ListNamespaces(list) => {
            let found = session.list_namespaces(&list.parent).await?;
            answer.namespaces = found
                .into_iter()
                .map(|parts| wire::Namespace { parts })
                .collect();
        }
        Request::CreateNamespace(namespace) => session.create_namespace(&namespace.parts).await?,
        Request::DropNamespace(namespace) => session.drop_namespace(&namespace.parts).await?,
        Request::NamespaceExists(namespace) => {
            answer.exists = session.namespace_exists(&namespace.parts).await?
        }
        Request::ListTables(list) => {
            let namespace = list.namespace.unwrap_or_default().parts;
            let name = |name| wire::TableName {
                namespace: namespace.clone(),
                name,
                location: String::new(),
            };
            answer.tables = session
                .list_tables(&namespace)
                .await?
                .into_iter()
                .map(name)
                .collect();
        }
        Request::TableExists(name) => {
            answer.exists = table_exists(session, &reference(&name)?).await?
        }
        Request::CreateTable(create) => {
            let reference = decode::table_ref(create.table.as_ref(), session.environment())?;
            let properties = create.properties.into_iter().collect();
            session
                .create_table(&reference, &decode::columns(&create.columns)?, &properties)
                .await?;
        }
        Request::DropTable(name) => {
            answer.kept_files = session.drop_table(&reference(&name)?).await?
        }
        Request::RenameTable(rename) => {
            let from = decode::table_ref(rename.from.as_ref(), session.environment())?;
            let to = decode::table_ref(rename.to.as_ref(), session.environment())?;
            session.rename_table(&from, &to).await?;
        }
    }
    Ok(answer)
}

async fn table_exists(session: &Session, reference: &TableRef) -> Result<bool> {
    match session.environment().catalog().load(reference).await {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Opens a table at one snapshot.
pub(crate) fn open_table(session: u64, request: &[u8]) -> Result<u64> {
    let state = handle::session(session)?;
    let request: wire::OpenTable = wire::parse(request, "table request")?;
    wire::check_version(request.abi_version, "table request")?;
    let reference = decode::table_ref(request.table.as_ref(), state.session.environment())?;
    let mut table = state.run(state.session.table(&reference))?;
    if let Some(pin) = request.pin {
        table = table.as_of(&state_of(pin))?;
    }
    let metadata = match request.metadata_table.as_str() {
        "" => None,
        kind => Some(table.metadata_table(kind.parse()?)?),
    };
    handle::insert(Object::Table(Arc::new(TableState {
        table,
        metadata,
        session: state,
    })))
}

/// Which state of the table a pin means.
fn state_of(pin: open_table::Pin) -> AsOf {
    match pin {
        open_table::Pin::SnapshotId(id) => AsOf::Snapshot(id),
        open_table::Pin::AsOfTimestampMs(time) => AsOf::TimestampMs(time),
        open_table::Pin::Reference(name) => AsOf::Reference(name),
        open_table::Pin::Branch(name) => AsOf::Branch(name),
        open_table::Pin::Tag(name) => AsOf::Tag(name),
    }
}

/// Answers with a `TableDescription`.
pub(crate) fn describe(table: u64) -> Result<Vec<u8>> {
    let state = handle::table(table)?;
    let description = match &state.metadata {
        Some(metadata) => describe::metadata_table(metadata),
        None => describe::table(&state.table)?,
    };
    Ok(description.encode_to_vec())
}

/// Answers a `ScanRequest`.
pub(crate) fn plan_scan(table: u64, request: &[u8]) -> Result<Vec<u8>> {
    let state = handle::table(table)?;
    let request: wire::ScanRequest = wire::parse(request, "scan request")?;
    wire::check_version(request.abi_version, "scan request")?;
    let conjunct_count = request.conjuncts.len();
    let plan = state.session.run(async {
        if let Some(metadata) = &state.metadata {
            return metadata.plan_scan(&decode::scan(request, None)?);
        }
        let metric = index_metric(&state.table, request.search.as_ref()).await?;
        state.table.plan_scan(&decode::scan(request, metric)?).await
    })?;
    Ok(describe::scan_plan(&plan, conjunct_count)?.encode_to_vec())
}

/// The metric of the index on the searched column, for a search that names none.
async fn index_metric(
    table: &Table,
    search: Option<&scan_request::Search>,
) -> Result<Option<Metric>> {
    let Some(scan_request::Search::Vector(vector)) = search else {
        return Ok(None);
    };
    if vector.metric() != wire::vector_search::Metric::Default {
        return Ok(None);
    }
    let indexes = table.indexes().await?;
    let index = indexes
        .iter()
        .find(|index| index.definition.columns == [vector.column]);
    index
        .and_then(|index| index.definition.parameters.get("metric"))
        .map(|metric| metric.parse())
        .transpose()
}

/// Opens a split; with `granted` its batches are accounted.
pub(crate) fn open_split(session: u64, split: &[u8], granted: Option<u64>) -> Result<u64> {
    handle::insert(Object::Reader(new_reader(session, split, granted)?))
}

/// A reader without a handle of its own.
pub(crate) fn new_reader(session: u64, split: &[u8], granted: Option<u64>) -> Result<Arc<Reader>> {
    let state = handle::session(session)?;
    let split = Split::from_bytes(&wire::unseal(Kind::Split, split)?)?;
    let (schema, stream) = state.run(split.open(state.session.environment()))?;
    Ok(Arc::new(Reader::new(
        &schema,
        stream,
        granted,
        state.token().child_token(),
    )?))
}

/// The reader behind a handle.
pub(crate) fn reader(reader: u64) -> Result<Arc<Reader>> {
    handle::reader(reader)
}

/// Answers a `WriteSpecRequest` with what tasks need.
pub(crate) fn write_spec(table: u64, request: &[u8]) -> Result<Vec<u8>> {
    let state = handle::table(table)?;
    let request: wire::WriteSpecRequest = wire::parse(request, "write request")?;
    wire::check_version(request.abi_version, "write request")?;
    // Whatever cannot be written fails here, before any task starts.
    let table = state.rows()?;
    drop(table.writer()?);
    let spec = wire::WriteSpec {
        table: Some(describe::table_name(table.reference())),
        base_snapshot_id: table.snapshot_id(),
        job_id: request.job_id,
    };
    Ok(wire::seal(Kind::WriteSpec, spec.encode_to_vec()))
}

/// Begins to write.
pub(crate) fn begin_write(session: u64, spec: &[u8]) -> Result<u64> {
    let state = handle::session(session)?;
    let spec: wire::WriteSpec =
        wire::parse(&wire::unseal(Kind::WriteSpec, spec)?, "write specification")?;
    let reference = decode::table_ref(spec.table.as_ref(), state.session.environment())?;
    let table = state.run(state.session.table(&reference))?;
    let writer = WriterState {
        writer: Mutex::new(Some(table.writer()?)),
    };
    handle::insert(Object::Writer(Arc::new(writer)))
}

/// Writes a batch.
pub(crate) fn append(writer: u64, batch: &RecordBatch) -> Result<()> {
    let state = handle::writer(writer)?;
    let mut writer = state.lock()?;
    let writer = writer
        .as_mut()
        .ok_or_else(|| Error::invalid_input("the table writer has ended"))?;
    wait(writer.write(batch))
}

/// Deletes rows of a data file by position.
pub(crate) fn delete_positions(writer: u64, file: &[u8], positions: &[u64]) -> Result<()> {
    let state = handle::writer(writer)?;
    let file =
        std::str::from_utf8(file).map_err(|_| Error::invalid_input("a file name is not UTF-8"))?;
    let mut writer = state.lock()?;
    let writer = writer
        .as_mut()
        .ok_or_else(|| Error::invalid_input("the table writer has ended"))?;
    writer.delete_rows(file, positions.iter().copied())
}

/// Ends writing; the handle is closed whatever happens.
pub(crate) fn finish_write(writer: u64) -> Result<Vec<u8>> {
    let message = wait(take_writer(writer)?.finish())?;
    Ok(wire::seal(Kind::CommitMessage, message.to_bytes()?))
}

/// Deletes what was written; the handle is closed whatever happens.
pub(crate) fn abort_write(writer: u64) -> Result<()> {
    let writer = take_writer(writer)?;
    wait(async {
        writer.abort().await;
        Ok(())
    })
}

fn take_writer(writer: u64) -> Result<TableWriter> {
    let state = handle::writer(writer)?;
    let taken = state.take()?;
    handle::remove(writer)?;
    Ok(taken)
}

/// Answers a `CommitRequest`. Never dropped half way: a commit runs to its end.
pub(crate) fn commit(table: u64, request: &[u8]) -> Result<Vec<u8>> {
    let state = handle::table(table)?;
    let request: wire::CommitRequest = wire::parse(request, "commit request")?;
    wire::check_version(request.abi_version, "commit request")?;
    let message =
        |bytes: &Vec<u8>| CommitMessage::from_bytes(&wire::unseal(Kind::CommitMessage, bytes)?);
    let messages = request
        .messages
        .iter()
        .map(message)
        .collect::<Result<Vec<_>>>()?;
    if request.abort {
        wait(state.rows()?.discard(&messages))?;
        return Ok(wire::CommitResult::default().encode_to_vec());
    }
    let operation = match request.operation() {
        commit_request::Operation::Append => CommitOperation::Append,
        commit_request::Operation::Overwrite => CommitOperation::Overwrite,
        commit_request::Operation::RowDelta => CommitOperation::RowDelta,
        commit_request::Operation::Unspecified => {
            return Err(Error::invalid_input("the commit has no operation"));
        }
    };
    let request = CommitRequest {
        operation,
        messages,
        base_snapshot: request.base_snapshot_id,
    };
    let outcome = wait(state.rows()?.commit(&request))?;
    let number = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
    let result = wire::CommitResult {
        snapshot_id: outcome.snapshot_id,
        rows_added: number(outcome.added_rows),
        rows_deleted: number(outcome.deleted_rows),
    };
    Ok(result.encode_to_vec())
}

/// Answers a `MaintainRequest`.
pub(crate) fn maintain(table: u64, request: &[u8]) -> Result<Vec<u8>> {
    let state = handle::table(table)?;
    let request: wire::MaintainRequest = wire::parse(request, "maintenance request")?;
    wire::check_version(request.abi_version, "maintenance request")?;
    let request = request
        .request
        .ok_or_else(|| Error::invalid_input("the maintenance request is empty"))?;
    Ok(wait(answer_maintain(state.rows()?, request))?.encode_to_vec())
}

async fn answer_maintain(
    table: &Table,
    request: maintain_request::Request,
) -> Result<wire::MaintainResponse> {
    use maintain_request::Request;
    let mut answer = wire::MaintainResponse::default();
    match request {
        Request::PlanIndexBuild(build) => answer.plan = Some(plan_index(table, build).await?),
        Request::PlanIndexRefresh(refresh) => {
            let plan = table
                .plan_index_build(&refresh.name, parallelism(refresh.min_pieces))
                .await?;
            answer.plan = Some(describe::index_plan(&plan)?);
        }
        Request::CommitIndex(commit) => {
            wire::unseal(Kind::IndexPlan, &commit.plan)?;
            let message = |bytes: &Vec<u8>| {
                SegmentMessage::from_bytes(&wire::unseal(Kind::IndexMessage, bytes)?)
            };
            table
                .commit_index(
                    &commit
                        .messages
                        .iter()
                        .map(message)
                        .collect::<Result<Vec<_>>>()?,
                )
                .await?;
        }
        Request::DropIndex(index) => match table.drop_index(&index.name).await {
            Err(error) if index.if_exists && error.kind() == ErrorKind::NotFound => {}
            outcome => outcome?,
        },
        Request::ChangeProperties(change) => {
            let set: Vec<(String, String)> = change.set.into_iter().collect();
            table.set_properties(&set, &change.remove).await?;
        }
        Request::ListIndexes(_) => {
            answer.indexes = table
                .indexes()
                .await?
                .into_iter()
                .map(describe::index)
                .collect();
        }
    }
    Ok(answer)
}

/// Defines a new index and plans its build; an index that may exist and does gives a plan without pieces.
async fn plan_index(table: &Table, build: wire::PlanIndexBuild) -> Result<wire::IndexBuildPlan> {
    if !build.include.is_empty() {
        return Err(Error::unsupported("INCLUDE columns of an index"));
    }
    let request = IndexRequest {
        name: (!build.name.is_empty()).then_some(build.name),
        kind: build.kind,
        columns: build.columns,
        parameters: build.options.into_iter().collect(),
        if_not_exists: build.if_not_exists,
    };
    let definition = table.resolve_index(&request)?;
    if request.if_not_exists
        && table
            .indexes()
            .await?
            .iter()
            .any(|index| index.definition.name == definition.name)
    {
        let plan = wire::seal(Kind::IndexPlan, definition.name.clone().into_bytes());
        return Ok(wire::IndexBuildPlan {
            name: definition.name,
            plan,
            pieces: Vec::new(),
        });
    }
    table.define_index(&definition).await?;
    describe::index_plan(
        &table
            .plan_index_build(&definition.name, parallelism(build.min_pieces))
            .await?,
    )
}

fn parallelism(min_pieces: Option<u32>) -> usize {
    min_pieces
        .and_then(|pieces| usize::try_from(pieces).ok())
        .unwrap_or(1)
}

/// Builds one piece of an index.
pub(crate) fn build_index_piece(session: u64, piece: &[u8]) -> Result<Vec<u8>> {
    let state = handle::session(session)?;
    let piece = IndexPiece::from_bytes(&wire::unseal(Kind::IndexPiece, piece)?)?;
    let message = state.run(piece.build(state.session.environment()))?;
    Ok(wire::seal(Kind::IndexMessage, message.to_bytes()?))
}

/// Answers with `Metrics`.
pub(crate) fn metrics() -> Result<Vec<u8>> {
    let (native_bytes_outstanding, arrays_outstanding) = export::outstanding();
    let open_handles = handle::open_counts()
        .into_iter()
        .map(|(kind, count)| (kind.to_owned(), count));
    let metrics = wire::Metrics {
        abi_version: wire::ABI_VERSION,
        build_id: wire::BUILD_ID.to_owned(),
        open_handles: open_handles.collect(),
        native_bytes_outstanding,
        arrays_outstanding,
        instance_id: export::instance(),
    };
    Ok(metrics.encode_to_vec())
}
