//! The C functions, thin twins of `natives.rs`. Each gives 0 or the code of an error kind; the error
//! itself stays with the calling thread until its next call. Addresses may be null where an error is
//! wanted, never dangling. The header `include/benostreamdb.h` is generated from this file.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};
use std::slice;
use std::time::Duration;

use arrow::ffi::{FFI_ArrowArray, FFI_ArrowSchema};
use arrow::ffi_stream::FFI_ArrowArrayStream;
use benostreamdb::{Error, Result};

use crate::reader::Next;
use crate::{export, guard, import, ops, selftest, stream, wire};

/// The version of the functions and messages this header describes.
pub const BSDB_ABI_VERSION: u32 = 1;

/// `bsdb_reader_next`: the split has no more rows.
pub const BSDB_END: i32 = 0;
/// `bsdb_reader_next`: the array holds a batch.
pub const BSDB_BATCH: i32 = 1;
/// `bsdb_reader_next`: the time limit passed; call again.
pub const BSDB_PENDING: i32 = 2;
/// `bsdb_reader_next`: so many bytes must be granted first.
pub const BSDB_NEED_MEMORY: i32 = 3;

/// What the code of an error means. 0 is success.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BsdbErrorKind {
    /// Success.
    Ok = 0,
    /// The request is wrong and must be changed.
    InvalidInput = 1,
    /// The named thing does not exist.
    NotFound = 2,
    /// The named thing exists already.
    AlreadyExists = 3,
    /// Somebody else committed first; plan again on the new state.
    Conflict = 4,
    /// It is unknown whether the commit landed; nothing may be deleted.
    CommitUnknown = 5,
    /// The store or the policy refuses.
    PermissionDenied = 6,
    /// Not supported, and not silently ignored.
    Unsupported = 7,
    /// A store or service did not answer; trying again may help.
    Unavailable = 8,
    /// A limit would be exceeded.
    ResourceExhausted = 9,
    /// The caller cancelled.
    Cancelled = 10,
    /// Stored bytes are damaged.
    Corrupt = 11,
    /// A broken assumption of the engine.
    Internal = 12,
}

/// Bytes of the library, freed by `bsdb_bytes_free`.
#[repr(C)]
#[derive(Debug)]
pub struct BsdbBytes {
    /// The first byte, or null.
    pub data: *mut u8,
    /// How many there are.
    pub len: usize,
}

/// The error of the last call of this thread that failed.
#[repr(C)]
#[derive(Debug)]
pub struct BsdbError {
    /// A code of `BsdbErrorKind`.
    pub kind: i32,
    /// Whether the same call may succeed later without change.
    pub retryable: bool,
    /// UTF-8 text, valid until the next call of this thread.
    pub message: *const c_char,
}

struct LastError {
    kind: i32,
    retryable: bool,
    message: CString,
}

thread_local! {
    static LAST: RefCell<Option<LastError>> = const { RefCell::new(None) };
}

fn call(operation: impl FnOnce() -> Result<()>) -> i32 {
    let Err(error) = guard::run(operation) else {
        LAST.set(None);
        return 0;
    };
    let kind = error.kind().code();
    let message = CString::new(guard::message(&error)).unwrap_or_default();
    LAST.set(Some(LastError {
        kind,
        retryable: error.is_retryable(),
        message,
    }));
    kind
}

/// # Safety
/// `data` is null or points to `len` readable bytes.
unsafe fn bytes<'a>(data: *const u8, len: usize, what: &str) -> Result<&'a [u8]> {
    if len == 0 {
        return Ok(&[]);
    }
    if data.is_null() {
        return Err(Error::invalid_input(format!(
            "the address of the {what} is null"
        )));
    }
    if isize::try_from(len).is_err() {
        return Err(Error::invalid_input(format!(
            "the length of the {what} is {len}"
        )));
    }
    // SAFETY: by contract these bytes are readable.
    Ok(unsafe { slice::from_raw_parts(data, len) })
}

/// # Safety
/// `target` is null or points to writable memory for a `T`.
unsafe fn put<T>(target: *mut T, value: T) -> Result<()> {
    if target.is_null() {
        return Err(Error::invalid_input("the address of the answer is null"));
    }
    // SAFETY: by contract the target is writable.
    unsafe { target.write(value) };
    Ok(())
}

/// # Safety
/// `target` is null or points to writable memory for a `BsdbBytes`.
unsafe fn put_bytes(target: *mut BsdbBytes, value: Vec<u8>) -> Result<()> {
    if target.is_null() {
        return Err(Error::invalid_input("the address of the answer is null"));
    }
    let value = value.into_boxed_slice();
    let len = value.len();
    let data = Box::into_raw(value).cast::<u8>();
    // SAFETY: by contract the target is writable.
    unsafe { target.write(BsdbBytes { data, len }) };
    Ok(())
}

/// Checks an address before an object is made for it, so that a null does not leak the object.
fn check_target<T>(target: *mut T) -> Result<()> {
    if target.is_null() {
        return Err(Error::invalid_input("the address of the answer is null"));
    }
    Ok(())
}

/// The version this library speaks; must equal `BSDB_ABI_VERSION`.
#[unsafe(no_mangle)]
pub extern "C" fn bsdb_abi_version() -> u32 {
    wire::ABI_VERSION
}

/// The build of this library; splits and commit messages of another build are refused.
#[unsafe(no_mangle)]
pub extern "C" fn bsdb_build_id() -> *const c_char {
    const TEXT: &str = concat!(env!("BSDB_BUILD"), "\0");
    CStr::from_bytes_with_nul(TEXT.as_bytes())
        .unwrap_or_default()
        .as_ptr()
}

/// Why the last call of this thread failed; kind 0 if it did not.
///
/// # Safety
/// `target` is null or points to writable memory for a `BsdbError`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bsdb_last_error(target: *mut BsdbError) {
    if target.is_null() {
        return;
    }
    LAST.with_borrow(|last| {
        let error = match last {
            Some(last) => BsdbError {
                kind: last.kind,
                retryable: last.retryable,
                message: last.message.as_ptr(),
            },
            None => BsdbError {
                kind: 0,
                retryable: false,
                message: c"".as_ptr(),
            },
        };
        // SAFETY: by contract the target is writable.
        unsafe { target.write(error) };
    });
}

/// Frees bytes of the library and empties the struct; empty bytes are left alone.
///
/// # Safety
/// `value` is null or points to bytes that this library filled or that are zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bsdb_bytes_free(value: *mut BsdbBytes) {
    if value.is_null() {
        return;
    }
    // SAFETY: by contract the struct is ours; it is emptied so that a second call finds nothing.
    let taken = unsafe {
        value.replace(BsdbBytes {
            data: std::ptr::null_mut(),
            len: 0,
        })
    };
    if !taken.data.is_null() {
        // SAFETY: made by `put_bytes` from a boxed slice of this length.
        drop(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(taken.data, taken.len)) });
    }
}

/// Opens a session; the request is an `OpenSession`.
///
/// # Safety
/// Addresses are null or valid for their lengths and types.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bsdb_session_open(
    request: *const u8,
    request_len: usize,
    session: *mut u64,
) -> i32 {
    call(|| {
        check_target(session)?;
        // SAFETY: by contract of this function.
        unsafe {
            put(
                session,
                ops::open_session(bytes(request, request_len, "request")?)?,
            )
        }
    })
}

/// Closes a session, a table, a reader or a writer. Closing twice is an error, not a crash.
#[unsafe(no_mangle)]
pub extern "C" fn bsdb_close(handle: u64) -> i32 {
    call(|| ops::close(handle))
}

/// Ends what runs on a session, reader or writer with kind `Cancelled`; may come from any thread.
#[unsafe(no_mangle)]
pub extern "C" fn bsdb_cancel(handle: u64) -> i32 {
    call(|| ops::cancel(handle))
}

/// Namespaces and tables: a `CatalogRequest` is answered by a `CatalogResponse`.
///
/// # Safety
/// Addresses are null or valid for their lengths and types.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bsdb_catalog(
    session: u64,
    request: *const u8,
    request_len: usize,
    answer: *mut BsdbBytes,
) -> i32 {
    // SAFETY: by contract of this function.
    call(|| unsafe {
        put_bytes(
            answer,
            ops::catalog(session, bytes(request, request_len, "request")?)?,
        )
    })
}

/// Opens a table at one snapshot; the request is an `OpenTable`.
///
/// # Safety
/// Addresses are null or valid for their lengths and types.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bsdb_table_open(
    session: u64,
    request: *const u8,
    request_len: usize,
    table: *mut u64,
) -> i32 {
    call(|| {
        check_target(table)?;
        // SAFETY: by contract of this function.
        unsafe {
            put(
                table,
                ops::open_table(session, bytes(request, request_len, "request")?)?,
            )
        }
    })
}

/// Answers with a `TableDescription`.
///
/// # Safety
/// `answer` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bsdb_table_describe(table: u64, answer: *mut BsdbBytes) -> i32 {
    // SAFETY: by contract of this function.
    call(|| unsafe { put_bytes(answer, ops::describe(table)?) })
}

/// Plans a scan or search: a `ScanRequest` is answered by a `ScanPlan`.
///
/// # Safety
/// Addresses are null or valid for their lengths and types.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bsdb_plan_scan(
    table: u64,
    request: *const u8,
    request_len: usize,
    answer: *mut BsdbBytes,
) -> i32 {
    // SAFETY: by contract of this function.
    call(|| unsafe {
        put_bytes(
            answer,
            ops::plan_scan(table, bytes(request, request_len, "request")?)?,
        )
    })
}

/// Opens a split, in any process. With `account` batches wait for `bsdb_reader_grant`.
///
/// # Safety
/// Addresses are null or valid for their lengths and types.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bsdb_split_open(
    session: u64,
    split: *const u8,
    split_len: usize,
    account: bool,
    reader: *mut u64,
) -> i32 {
    call(|| {
        check_target(reader)?;
        let granted = account.then_some(0);
        // SAFETY: by contract of this function.
        unsafe {
            put(
                reader,
                ops::open_split(session, bytes(split, split_len, "split")?, granted)?,
            )
        }
    })
}

/// Fills an empty `ArrowSchema` with the columns of every batch.
///
/// # Safety
/// `schema` is null or points to memory of a struct that holds nothing to release.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bsdb_reader_schema(reader: u64, schema: *mut FFI_ArrowSchema) -> i32 {
    // SAFETY: by contract of this function.
    call(|| unsafe { export::write_schema(ops::reader(reader)?.schema(), schema) })
}

/// Waits at most `timeout_ms` and sets `state` to BSDB_END, BSDB_BATCH (then `array` was empty and is
/// filled), BSDB_PENDING or BSDB_NEED_MEMORY (then `needed` says how many bytes to grant).
///
/// # Safety
/// Addresses are null or valid for their types; `array` holds nothing to release.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bsdb_reader_next(
    reader: u64,
    array: *mut FFI_ArrowArray,
    timeout_ms: u64,
    state: *mut i32,
    needed: *mut u64,
) -> i32 {
    call(|| {
        check_target(array)?;
        check_target(state)?;
        let next = ops::reader(reader)?.next(Duration::from_millis(timeout_ms))?;
        // SAFETY: by contract of this function.
        unsafe {
            match next {
                Next::End => put(state, BSDB_END),
                Next::Pending => put(state, BSDB_PENDING),
                Next::NeedMemory(bytes) => {
                    put(needed, bytes).and_then(|()| put(state, BSDB_NEED_MEMORY))
                }
                Next::Batch(batch) => {
                    export::write_array(batch, array).and_then(|()| put(state, BSDB_BATCH))
                }
            }
        }
    })
}

/// Allows a reader that accounts memory so many bytes more.
#[unsafe(no_mangle)]
pub extern "C" fn bsdb_reader_grant(reader: u64, bytes: u64) -> i32 {
    call(|| ops::reader(reader)?.grant(bytes))
}

/// Releases a batch, as its own `release` does; one that is released already is left alone.
///
/// # Safety
/// `array` is null or points to an `ArrowArray`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bsdb_array_release(array: *mut FFI_ArrowArray) {
    if !array.is_null() {
        // SAFETY: by contract a struct; it is left released.
        drop(unsafe { FFI_ArrowArray::from_raw(array) });
    }
}

/// Opens a split as an `ArrowArrayStream`; its errors are errno and text only.
///
/// # Safety
/// Addresses are null or valid; `target` holds nothing to release.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bsdb_stream_open(
    session: u64,
    split: *const u8,
    split_len: usize,
    target: *mut FFI_ArrowArrayStream,
) -> i32 {
    call(|| {
        check_target(target)?;
        // SAFETY: by contract of this function.
        unsafe {
            stream::write(
                ops::new_reader(session, bytes(split, split_len, "split")?, None)?,
                target,
            )
        }
    })
}

/// What tasks need to write: a `WriteSpecRequest` is answered by bytes for `bsdb_write_begin`.
///
/// # Safety
/// Addresses are null or valid for their lengths and types.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bsdb_write_spec(
    table: u64,
    request: *const u8,
    request_len: usize,
    answer: *mut BsdbBytes,
) -> i32 {
    // SAFETY: by contract of this function.
    call(|| unsafe {
        put_bytes(
            answer,
            ops::write_spec(table, bytes(request, request_len, "request")?)?,
        )
    })
}

/// Begins to write, in any process.
///
/// # Safety
/// Addresses are null or valid for their lengths and types.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bsdb_write_begin(
    session: u64,
    spec: *const u8,
    spec_len: usize,
    writer: *mut u64,
) -> i32 {
    call(|| {
        check_target(writer)?;
        // SAFETY: by contract of this function.
        unsafe {
            put(
                writer,
                ops::begin_write(session, bytes(spec, spec_len, "write specification")?)?,
            )
        }
    })
}

/// Writes a batch. The structs are consumed, the values copied before the call returns.
///
/// # Safety
/// Addresses are null or point to structs of the Arrow C data interface.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bsdb_write_append(
    writer: u64,
    array: *mut FFI_ArrowArray,
    schema: *mut FFI_ArrowSchema,
) -> i32 {
    call(|| {
        // SAFETY: by contract of this function.
        let batch = unsafe { import::batch(array, schema)? };
        ops::append(writer, &batch)
    })
}

/// Deletes rows of the data file `file` (UTF-8) by position.
///
/// # Safety
/// Addresses are null or valid for their lengths and types.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bsdb_write_delete(
    writer: u64,
    file: *const u8,
    file_len: usize,
    positions: *const u64,
    position_count: usize,
) -> i32 {
    call(|| {
        // SAFETY: by contract of this function.
        let file = unsafe { bytes(file, file_len, "file name")? };
        // SAFETY: by contract of this function.
        let positions = unsafe { longs(positions, position_count)? };
        ops::delete_positions(writer, file, positions)
    })
}

/// # Safety
/// `data` is null or points to `count` readable numbers.
unsafe fn longs<'a>(data: *const u64, count: usize) -> Result<&'a [u64]> {
    if count == 0 {
        return Ok(&[]);
    }
    if data.is_null() || !data.is_aligned() || isize::try_from(count.saturating_mul(8)).is_err() {
        return Err(Error::invalid_input(
            "the address of the positions is null or not aligned",
        ));
    }
    // SAFETY: by contract these numbers are readable.
    Ok(unsafe { slice::from_raw_parts(data, count) })
}

/// Ends writing and closes the writer; answers with bytes for a `CommitRequest`.
///
/// # Safety
/// `answer` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bsdb_write_finish(writer: u64, answer: *mut BsdbBytes) -> i32 {
    call(|| {
        check_target(answer)?;
        // SAFETY: by contract of this function.
        unsafe { put_bytes(answer, ops::finish_write(writer)?) }
    })
}

/// Deletes what was written and closes the writer.
#[unsafe(no_mangle)]
pub extern "C" fn bsdb_write_abort(writer: u64) -> i32 {
    call(|| ops::abort_write(writer))
}

/// Publishes what was written: a `CommitRequest` is answered by a `CommitResult`.
///
/// # Safety
/// Addresses are null or valid for their lengths and types.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bsdb_commit(
    table: u64,
    request: *const u8,
    request_len: usize,
    answer: *mut BsdbBytes,
) -> i32 {
    call(|| {
        check_target(answer)?;
        // SAFETY: by contract of this function.
        unsafe {
            put_bytes(
                answer,
                ops::commit(table, bytes(request, request_len, "request")?)?,
            )
        }
    })
}

/// Indexes: a `MaintainRequest` is answered by a `MaintainResponse`.
///
/// # Safety
/// Addresses are null or valid for their lengths and types.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bsdb_maintain(
    table: u64,
    request: *const u8,
    request_len: usize,
    answer: *mut BsdbBytes,
) -> i32 {
    call(|| {
        check_target(answer)?;
        // SAFETY: by contract of this function.
        unsafe {
            put_bytes(
                answer,
                ops::maintain(table, bytes(request, request_len, "request")?)?,
            )
        }
    })
}

/// Builds one piece of an index, in any process; the answer goes into a `CommitIndex`.
///
/// # Safety
/// Addresses are null or valid for their lengths and types.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bsdb_index_build_piece(
    session: u64,
    piece: *const u8,
    piece_len: usize,
    answer: *mut BsdbBytes,
) -> i32 {
    call(|| {
        check_target(answer)?;
        // SAFETY: by contract of this function.
        unsafe {
            put_bytes(
                answer,
                ops::build_index_piece(session, bytes(piece, piece_len, "index piece")?)?,
            )
        }
    })
}

/// Answers with `Metrics`.
///
/// # Safety
/// `answer` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bsdb_metrics(answer: *mut BsdbBytes) -> i32 {
    // SAFETY: by contract of this function.
    call(|| unsafe { put_bytes(answer, ops::metrics()?) })
}

/// For language bindings that check themselves: a `SelfTest` gives a batch back, as Arrow or as text
/// (`Rendered`), or fails as asked. `in_*` are consumed where the test takes a batch.
///
/// # Safety
/// Addresses are null or valid for their lengths and types; `out_*` hold nothing to release.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bsdb_self_test(
    request: *const u8,
    request_len: usize,
    in_array: *mut FFI_ArrowArray,
    in_schema: *mut FFI_ArrowSchema,
    out_array: *mut FFI_ArrowArray,
    out_schema: *mut FFI_ArrowSchema,
    answer: *mut BsdbBytes,
) -> i32 {
    call(|| {
        check_target(answer)?;
        // SAFETY: by contract of this function.
        unsafe {
            let request = bytes(request, request_len, "request")?;
            put_bytes(
                answer,
                selftest::run(request, in_array, in_schema, out_array, out_schema)?,
            )
        }
    })
}
