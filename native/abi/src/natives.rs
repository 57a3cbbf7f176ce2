//! The JNI functions, thin twins of `capi.rs`. One symbol is exported; it registers the rest on the
//! class that Java hands over, so no class name stands here. Errors and panics become the one
//! exception class; an exception that is pending already wins. Nothing here calls back into Java.

use std::any::Any;
use std::ffi::c_void;
use std::sync::OnceLock;
use std::time::Duration;

use arrow::ffi::{FFI_ArrowArray, FFI_ArrowSchema};
use benostreamdb::Error;
use jni::errors::ErrorPolicy;
use jni::ids::JMethodID;
use jni::objects::{JByteArray, JClass, JLongArray, JString, JThrowable};
use jni::refs::Global;
use jni::sys::{jint, jlong};
use jni::{Env, EnvUnowned, JValue, NativeMethod, jni_sig, jni_str};

use crate::reader::Next;
use crate::{capi, export, guard, import, ops, selftest, wire};

/// What can go wrong in a native: the engine, or JNI itself.
pub(crate) enum Failure {
    Engine(Error),
    Jni(jni::errors::Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Engine(error)
    }
}

impl From<jni::errors::Error> for Failure {
    fn from(error: jni::errors::Error) -> Self {
        Failure::Jni(error)
    }
}

type Outcome<T> = Result<T, Failure>;

struct ExceptionClass {
    class: Global<JClass<'static>>,
    constructor: JMethodID,
}

static EXCEPTION: OnceLock<ExceptionClass> = OnceLock::new();

/// Throws the engine's exception.
pub(crate) struct Throw;

impl<T: Default> ErrorPolicy<T, Failure> for Throw {
    type Captures<'a: 'b, 'b> = ();

    fn on_error<'a: 'b, 'b>(
        env: &mut Env<'a>,
        (): &mut (),
        failure: Failure,
    ) -> jni::errors::Result<T> {
        match failure {
            Failure::Engine(error) => throw(env, &error)?,
            Failure::Jni(error) => throw(env, &Error::internal(format!("jni: {error}")))?,
        }
        Ok(T::default())
    }

    fn on_panic<'a: 'b, 'b>(
        env: &mut Env<'a>,
        (): &mut (),
        payload: Box<dyn Any + Send>,
    ) -> jni::errors::Result<T> {
        throw(env, &Error::internal(guard::panic_message(payload)))?;
        Ok(T::default())
    }
}

fn throw(env: &mut Env<'_>, error: &Error) -> jni::errors::Result<()> {
    if env.exception_check() {
        return Ok(());
    }
    let Some(exception) = EXCEPTION.get() else {
        return thrown(env.throw(guard::message(error)));
    };
    let message = JString::from_str(env, guard::message(error))?;
    let arguments = [
        JValue::Int(error.kind().code()).as_jni(),
        JValue::Bool(error.is_retryable()).as_jni(),
        JValue::Object(&message).as_jni(),
    ];
    // SAFETY: the constructor belongs to this class and takes these arguments.
    let object =
        unsafe { env.new_object_unchecked(&exception.class, exception.constructor, &arguments)? };
    let object = env.cast_local::<JThrowable>(object)?;
    thrown(env.throw(object))
}

/// Throwing answers `JavaException` when it worked.
fn thrown(outcome: jni::errors::Result<()>) -> jni::errors::Result<()> {
    match outcome {
        Err(jni::errors::Error::JavaException) => Ok(()),
        other => other,
    }
}

/// The one exported JNI symbol: registers the natives and answers with version and build.
#[unsafe(no_mangle)]
pub(crate) extern "system" fn Java_com_benostreamdb_NativeLibrary_init<'l>(
    mut env: EnvUnowned<'l>,
    _: JClass<'l>,
    natives: JClass<'l>,
    exception: JClass<'l>,
) -> JString<'l> {
    env.with_env(|env| -> Outcome<JString<'l>> {
        let constructor = env.get_method_id(
            &exception,
            jni_str!("<init>"),
            jni_sig!("(IZLjava/lang/String;)V"),
        )?;
        let class = env.new_global_ref(exception)?;
        // A second call finds the class already there.
        let _ = EXCEPTION.set(ExceptionClass { class, constructor });
        register(env, natives)?;
        Ok(JString::from_str(
            env,
            format!("{} {}", wire::ABI_VERSION, wire::BUILD_ID),
        )?)
    })
    .resolve::<Throw>()
}

fn register(env: &mut Env<'_>, class: JClass<'_>) -> Outcome<()> {
    macro_rules! native {
        ($name:literal, $signature:literal, $function:expr) => {
            // SAFETY: the static function has this signature.
            unsafe {
                NativeMethod::from_raw_parts(
                    jni_str!($name),
                    jni_str!($signature),
                    $function as *mut c_void,
                )
            }
        };
    }
    let table = [
        native!("openSession", "([B)J", open_session),
        native!("catalog", "(J[B)[B", catalog),
        native!("openTable", "(J[B)J", open_table),
        native!("describe", "(J)[B", describe),
        native!("planScan", "(J[B)[B", plan_scan),
        native!("openSplit", "(J[BJ)J", open_split),
        native!("readerSchema", "(JJ)V", reader_schema),
        native!("nextBatch", "(JJJ)J", next_batch),
        native!("grant", "(JJ)V", grant),
        native!("cancel", "(J)V", cancel),
        native!("close", "(J)V", close),
        native!("releaseArray", "(J)V", release_array),
        native!("releaseSchema", "(J)V", release_schema),
        native!("writeSpec", "(J[B)[B", write_spec),
        native!("beginWrite", "(J[B)J", begin_write),
        native!("append", "(JJJ)V", append),
        native!("deletePositions", "(J[B[JI)V", delete_positions),
        native!("finishWrite", "(J)[B", finish_write),
        native!("abortWrite", "(J)V", abort_write),
        native!("commit", "(J[B)[B", commit),
        native!("maintain", "(J[B)[B", maintain),
        native!("buildIndexPiece", "(J[B)[B", build_index_piece),
        native!("metrics", "()[B", metrics),
        native!("noRelease", "()J", no_release),
        native!("selfTest", "([BJJJJ)[B", self_test),
    ];
    // SAFETY: as above; all are static methods of this class.
    unsafe { env.register_native_methods(class, &table)? };
    Ok(())
}

/// Runs an operation that needs nothing of Java.
fn plain<T: Default>(
    mut env: EnvUnowned<'_>,
    operation: impl FnOnce() -> benostreamdb::Result<T>,
) -> T {
    env.with_env(|_| -> Outcome<T> { Ok(guard::run(operation)?) })
        .resolve::<Throw>()
}

/// Runs an operation that takes bytes.
fn taking<'l, T: Default>(
    mut env: EnvUnowned<'l>,
    request: &JByteArray<'l>,
    operation: impl FnOnce(&[u8]) -> benostreamdb::Result<T>,
) -> T {
    env.with_env(|env| -> Outcome<T> {
        let request = input(env, request)?;
        Ok(guard::run(|| operation(&request))?)
    })
    .resolve::<Throw>()
}

/// Runs an operation that gives bytes.
fn giving<'l>(
    mut env: EnvUnowned<'l>,
    operation: impl FnOnce() -> benostreamdb::Result<Vec<u8>>,
) -> JByteArray<'l> {
    env.with_env(|env| -> Outcome<JByteArray<'l>> {
        let answer = guard::run(operation)?;
        Ok(env.byte_array_from_slice(&answer)?)
    })
    .resolve::<Throw>()
}

/// Runs an operation that takes and gives bytes.
fn answering<'l>(
    mut env: EnvUnowned<'l>,
    request: &JByteArray<'l>,
    operation: impl FnOnce(&[u8]) -> benostreamdb::Result<Vec<u8>>,
) -> JByteArray<'l> {
    env.with_env(|env| -> Outcome<JByteArray<'l>> {
        let request = input(env, request)?;
        let answer = guard::run(|| operation(&request))?;
        Ok(env.byte_array_from_slice(&answer)?)
    })
    .resolve::<Throw>()
}

fn input(env: &mut Env<'_>, bytes: &JByteArray<'_>) -> Outcome<Vec<u8>> {
    if bytes.is_null() {
        return Err(Error::invalid_input("the bytes are null").into());
    }
    Ok(env.convert_byte_array(bytes)?)
}

/// Java has only signed numbers.
fn unsigned(value: jlong, what: &str) -> benostreamdb::Result<u64> {
    u64::try_from(value).map_err(|_| Error::invalid_input(format!("{what} is negative: {value}")))
}

fn handle(value: jlong) -> u64 {
    value.cast_unsigned()
}

fn address<T>(value: jlong) -> *mut T {
    std::ptr::with_exposed_provenance_mut(usize::try_from(value.cast_unsigned()).unwrap_or(0))
}

fn opened(value: u64) -> jlong {
    value.cast_signed()
}

extern "system" fn open_session<'l>(
    env: EnvUnowned<'l>,
    _: JClass<'l>,
    request: JByteArray<'l>,
) -> jlong {
    taking(env, &request, |request| {
        ops::open_session(request).map(opened)
    })
}

extern "system" fn catalog<'l>(
    env: EnvUnowned<'l>,
    _: JClass<'l>,
    session: jlong,
    request: JByteArray<'l>,
) -> JByteArray<'l> {
    answering(env, &request, |request| {
        ops::catalog(handle(session), request)
    })
}

extern "system" fn open_table<'l>(
    env: EnvUnowned<'l>,
    _: JClass<'l>,
    session: jlong,
    request: JByteArray<'l>,
) -> jlong {
    taking(env, &request, |request| {
        ops::open_table(handle(session), request).map(opened)
    })
}

extern "system" fn describe<'l>(
    env: EnvUnowned<'l>,
    _: JClass<'l>,
    table: jlong,
) -> JByteArray<'l> {
    giving(env, || ops::describe(handle(table)))
}

extern "system" fn plan_scan<'l>(
    env: EnvUnowned<'l>,
    _: JClass<'l>,
    table: jlong,
    request: JByteArray<'l>,
) -> JByteArray<'l> {
    answering(env, &request, |request| {
        ops::plan_scan(handle(table), request)
    })
}

extern "system" fn open_split<'l>(
    env: EnvUnowned<'l>,
    _: JClass<'l>,
    session: jlong,
    split: JByteArray<'l>,
    granted: jlong,
) -> jlong {
    taking(env, &split, |split| {
        ops::open_split(handle(session), split, u64::try_from(granted).ok()).map(opened)
    })
}

extern "system" fn reader_schema<'l>(
    env: EnvUnowned<'l>,
    _: JClass<'l>,
    reader: jlong,
    schema: jlong,
) {
    plain(env, || {
        let reader = ops::reader(handle(reader))?;
        // SAFETY: Java gives the address of an empty struct of its own.
        unsafe { export::write_schema(reader.schema(), address(schema)) }
    });
}

extern "system" fn next_batch<'l>(
    env: EnvUnowned<'l>,
    _: JClass<'l>,
    reader: jlong,
    array: jlong,
    timeout_ms: jlong,
) -> jlong {
    plain(env, || {
        let timeout = Duration::from_millis(unsigned(timeout_ms, "the timeout")?);
        let array: *mut FFI_ArrowArray = address(array);
        if array.is_null() {
            return Err(Error::invalid_input(
                "the address of the array struct is null",
            ));
        }
        match ops::reader(handle(reader))?.next(timeout)? {
            Next::End => Ok(jlong::from(capi::BSDB_END)),
            Next::Pending => Ok(jlong::from(capi::BSDB_PENDING)),
            Next::NeedMemory(bytes) => {
                Ok(jlong::try_from(bytes).map_or(jlong::MIN, |bytes| -bytes))
            }
            Next::Batch(batch) => {
                // SAFETY: Java gives the address of an empty struct of its own.
                unsafe { export::write_array(batch, array)? };
                Ok(jlong::from(capi::BSDB_BATCH))
            }
        }
    })
}

extern "system" fn grant<'l>(env: EnvUnowned<'l>, _: JClass<'l>, reader: jlong, bytes: jlong) {
    plain(env, || {
        ops::reader(handle(reader))?.grant(unsigned(bytes, "the grant")?)
    });
}

extern "system" fn cancel<'l>(env: EnvUnowned<'l>, _: JClass<'l>, object: jlong) {
    plain(env, || ops::cancel(handle(object)));
}

extern "system" fn close<'l>(env: EnvUnowned<'l>, _: JClass<'l>, object: jlong) {
    plain(env, || ops::close(handle(object)));
}

extern "system" fn release_array<'l>(env: EnvUnowned<'l>, _: JClass<'l>, array: jlong) {
    plain(env, || {
        // SAFETY: Java gives the address of a struct that a native filled or that is zero.
        unsafe { capi::bsdb_array_release(address(array)) };
        Ok(())
    });
}

extern "system" fn release_schema<'l>(env: EnvUnowned<'l>, _: JClass<'l>, schema: jlong) {
    plain(env, || {
        let schema: *mut FFI_ArrowSchema = address(schema);
        if !schema.is_null() {
            // SAFETY: Java gives the address of a struct that a native filled or that is zero.
            drop(unsafe { FFI_ArrowSchema::from_raw(schema) });
        }
        Ok(())
    });
}

extern "system" fn write_spec<'l>(
    env: EnvUnowned<'l>,
    _: JClass<'l>,
    table: jlong,
    request: JByteArray<'l>,
) -> JByteArray<'l> {
    answering(env, &request, |request| {
        ops::write_spec(handle(table), request)
    })
}

extern "system" fn begin_write<'l>(
    env: EnvUnowned<'l>,
    _: JClass<'l>,
    session: jlong,
    spec: JByteArray<'l>,
) -> jlong {
    taking(env, &spec, |spec| {
        ops::begin_write(handle(session), spec).map(opened)
    })
}

extern "system" fn append<'l>(
    env: EnvUnowned<'l>,
    _: JClass<'l>,
    writer: jlong,
    array: jlong,
    schema: jlong,
) {
    plain(env, || {
        // SAFETY: Java gives the addresses of structs that it filled.
        let batch = unsafe { import::batch(address(array), address(schema))? };
        ops::append(handle(writer), &batch)
    });
}

extern "system" fn delete_positions<'l>(
    mut env: EnvUnowned<'l>,
    _: JClass<'l>,
    writer: jlong,
    file: JByteArray<'l>,
    positions: JLongArray<'l>,
    count: jint,
) {
    env.with_env(|env| -> Outcome<()> {
        let file = input(env, &file)?;
        let positions = longs(env, &positions, count)?;
        guard::run(|| {
            let positions = positions
                .iter()
                .map(|&position| unsigned(position, "a row position"));
            ops::delete_positions(
                handle(writer),
                &file,
                &positions.collect::<benostreamdb::Result<Vec<_>>>()?,
            )
        })?;
        Ok(())
    })
    .resolve::<Throw>();
}

fn longs(env: &mut Env<'_>, array: &JLongArray<'_>, count: jint) -> Outcome<Vec<jlong>> {
    if array.is_null() {
        return Err(Error::invalid_input("the positions are null").into());
    }
    let length = array.len(env)?;
    let count = usize::try_from(count).ok().filter(|count| *count <= length);
    let count =
        count.ok_or_else(|| Error::invalid_input(format!("there are only {length} positions")))?;
    let mut values = vec![0; count];
    array.get_region(env, 0, &mut values)?;
    Ok(values)
}

extern "system" fn finish_write<'l>(
    env: EnvUnowned<'l>,
    _: JClass<'l>,
    writer: jlong,
) -> JByteArray<'l> {
    giving(env, || ops::finish_write(handle(writer)))
}

extern "system" fn abort_write<'l>(env: EnvUnowned<'l>, _: JClass<'l>, writer: jlong) {
    plain(env, || ops::abort_write(handle(writer)));
}

extern "system" fn commit<'l>(
    env: EnvUnowned<'l>,
    _: JClass<'l>,
    table: jlong,
    request: JByteArray<'l>,
) -> JByteArray<'l> {
    answering(env, &request, |request| ops::commit(handle(table), request))
}

extern "system" fn maintain<'l>(
    env: EnvUnowned<'l>,
    _: JClass<'l>,
    table: jlong,
    request: JByteArray<'l>,
) -> JByteArray<'l> {
    answering(env, &request, |request| {
        ops::maintain(handle(table), request)
    })
}

extern "system" fn build_index_piece<'l>(
    env: EnvUnowned<'l>,
    _: JClass<'l>,
    session: jlong,
    piece: JByteArray<'l>,
) -> JByteArray<'l> {
    answering(env, &piece, |piece| {
        ops::build_index_piece(handle(session), piece)
    })
}

extern "system" fn metrics<'l>(env: EnvUnowned<'l>, _: JClass<'l>) -> JByteArray<'l> {
    giving(env, ops::metrics)
}

/// The release of structs whose memory Java owns.
extern "C" fn release_nothing(_: *mut c_void) {}

extern "system" fn no_release<'l>(env: EnvUnowned<'l>, _: JClass<'l>) -> jlong {
    plain(env, || {
        let function: extern "C" fn(*mut c_void) = release_nothing;
        let address = (function as *const c_void).expose_provenance();
        jlong::try_from(address).map_err(|_| Error::internal("an address exceeds 63 bits"))
    })
}

extern "system" fn self_test<'l>(
    env: EnvUnowned<'l>,
    _: JClass<'l>,
    request: JByteArray<'l>,
    in_array: jlong,
    in_schema: jlong,
    out_array: jlong,
    out_schema: jlong,
) -> JByteArray<'l> {
    answering(env, &request, |request| {
        // SAFETY: Java gives zero or the addresses of structs of its own.
        unsafe {
            selftest::run(
                request,
                address(in_array),
                address(in_schema),
                address(out_array),
                address(out_schema),
            )
        }
    })
}
