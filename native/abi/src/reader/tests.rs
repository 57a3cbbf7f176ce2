//! Readers that fail, panic, stall, are cancelled, or are read by two threads.

use std::sync::mpsc;
use std::thread;
use std::time::Instant;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array};
use arrow::datatypes::{DataType, Field, Int64Type, Schema};
use benostreamdb::ErrorKind;
use futures::stream;

use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![Field::new("id", DataType::Int64, false)]))
}

fn batch(rows: i64) -> RecordBatch {
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(0..rows));
    RecordBatch::try_new(schema(), vec![ids]).unwrap()
}

fn reader(items: Vec<Result<RecordBatch>>, granted: Option<u64>) -> Reader {
    let stream = stream::iter(items).boxed();
    Reader::new(&schema(), stream, granted, CancellationToken::new()).unwrap()
}

fn stuck() -> Arc<Reader> {
    let stream = stream::pending().boxed();
    Arc::new(Reader::new(&schema(), stream, None, CancellationToken::new()).unwrap())
}

fn kind(outcome: Result<Next>) -> Option<ErrorKind> {
    outcome.err().map(|error| error.kind())
}

#[test]
fn reader_gives_every_batch_then_the_end_again_and_again() {
    let reader = reader(vec![Ok(batch(3)), Ok(batch(0)), Ok(batch(2))], None);
    let mut rows = Vec::new();
    while let Next::Batch(batch) = reader.next(SECOND).unwrap() {
        rows.push(batch.len());
    }
    assert_eq!(rows, [3, 0, 2]);
    assert!(matches!(reader.next(SECOND).unwrap(), Next::End));
}

#[test]
fn reader_after_an_error_stays_failed_instead_of_ending_early() {
    let reader = reader(
        vec![
            Ok(batch(1)),
            Err(Error::corrupt("page 3 is torn")),
            Ok(batch(1)),
        ],
        None,
    );
    assert!(matches!(reader.next(SECOND).unwrap(), Next::Batch(_)));
    assert_eq!(kind(reader.next(SECOND)), Some(ErrorKind::Corrupt));
    assert_eq!(kind(reader.next(SECOND)), Some(ErrorKind::InvalidInput));
}

#[test]
fn reader_whose_stream_panics_gives_an_error_and_stays_failed() {
    let items = stream::iter(0..1)
        .map(|_| -> Result<RecordBatch> { panic!("decoder bug") })
        .boxed();
    let reader = Reader::new(&schema(), items, None, CancellationToken::new()).unwrap();
    let error = crate::guard::run(|| reader.next(SECOND).map(|_| ())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Internal);
    assert!(error.message().contains("decoder bug"), "{error}");
    assert_eq!(kind(reader.next(SECOND)), Some(ErrorKind::InvalidInput));
}

#[test]
fn reader_without_a_batch_in_time_is_pending() {
    let reader = stuck();
    let start = Instant::now();
    assert!(matches!(
        reader.next(Duration::from_millis(20)).unwrap(),
        Next::Pending
    ));
    assert!(start.elapsed() < SECOND);
}

#[test]
fn cancelled_reader_stops_waiting() {
    let reader = stuck();
    let waiting = Arc::clone(&reader);
    let (started, wait) = mpsc::channel();
    let thread = thread::spawn(move || {
        started.send(()).unwrap();
        kind(waiting.next(Duration::from_secs(60)))
    });
    wait.recv().unwrap();
    thread::sleep(Duration::from_millis(20));
    let start = Instant::now();
    reader.cancel();
    assert_eq!(thread.join().unwrap(), Some(ErrorKind::Cancelled));
    assert!(start.elapsed() < SECOND);
    assert_eq!(kind(reader.next(SECOND)), Some(ErrorKind::Cancelled));
}

#[test]
fn second_thread_is_refused_while_one_reads() {
    let reader = stuck();
    let waiting = Arc::clone(&reader);
    let (started, wait) = mpsc::channel();
    let thread = thread::spawn(move || {
        started.send(()).unwrap();
        kind(waiting.next(Duration::from_secs(60)))
    });
    wait.recv().unwrap();
    thread::sleep(Duration::from_millis(200));
    assert_eq!(
        kind(reader.next(Duration::ZERO)),
        Some(ErrorKind::InvalidInput)
    );
    reader.cancel();
    assert_eq!(thread.join().unwrap(), Some(ErrorKind::Cancelled));
}

#[test]
fn accounted_reader_waits_for_its_grant_and_reuses_released_bytes() {
    let reader = reader(
        vec![Ok(batch(100)), Ok(batch(100)), Ok(batch(200))],
        Some(0),
    );
    let Next::NeedMemory(needed) = reader.next(SECOND).unwrap() else {
        panic!("a batch without grant")
    };
    assert_eq!(needed, 800);
    assert!(matches!(
        reader.next(SECOND).unwrap(),
        Next::NeedMemory(800)
    ));
    reader.grant(needed).unwrap();
    let Next::Batch(first) = reader.next(SECOND).unwrap() else {
        panic!("no batch")
    };
    assert!(
        matches!(reader.next(SECOND).unwrap(), Next::NeedMemory(800)),
        "the first batch is still outside"
    );
    drop(first);
    let Next::Batch(second) = reader.next(SECOND).unwrap() else {
        panic!("no batch")
    };
    assert_eq!(second.column(0).as_primitive::<Int64Type>().value(99), 99);
    drop(second);
    assert!(matches!(
        reader.next(SECOND).unwrap(),
        Next::NeedMemory(800)
    ));
}

#[test]
fn reader_without_accounting_refuses_a_grant() {
    assert_eq!(
        reader(vec![], None).grant(1).unwrap_err().kind(),
        ErrorKind::InvalidInput
    );
}
