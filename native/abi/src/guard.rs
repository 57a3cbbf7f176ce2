//! What stands between the host and us: panics become errors of kind `Internal` with their text and
//! place, a forked child is refused, and texts lose their NULs before they become C or Java strings.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process;
use std::sync::{Once, OnceLock};

use benostreamdb::{Error, Result};

static OWNER: OnceLock<u32> = OnceLock::new();

thread_local! {
    static GUARDED: Cell<bool> = const { Cell::new(false) };
    static PLACE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Runs one operation. Nothing unwinds out of it.
pub(crate) fn run<T>(operation: impl FnOnce() -> Result<T>) -> Result<T> {
    check_process()?;
    install_hook();
    let outer = GUARDED.replace(true);
    let outcome = catch_unwind(AssertUnwindSafe(operation));
    GUARDED.set(outer);
    outcome.unwrap_or_else(|payload| Err(Error::internal(panic_message(payload))))
}

/// Threads, sockets and locks do not survive a fork.
fn check_process() -> Result<()> {
    let here = process::id();
    let owner = *OWNER.get_or_init(|| here);
    if owner == here {
        return Ok(());
    }
    Err(Error::unsupported(format!(
        "process {here} was forked from process {owner}, which uses BenoStreamDB; start a fresh process instead"
    )))
}

/// The default hook would print to the host's stderr.
fn install_hook() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let previous = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if GUARDED.get() {
                let place = info
                    .location()
                    .map(|at| format!(" at {}:{}", at.file(), at.line()));
                PLACE.set(place.unwrap_or_default());
            } else {
                previous(info);
            }
        }));
    });
}

/// The text of a panic, and where it happened if that was on this thread.
pub(crate) fn panic_message(payload: Box<dyn Any + Send>) -> String {
    let text = payload
        .downcast_ref::<&'static str>()
        .map(|text| (*text).to_owned())
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "payload without text".to_owned());
    // Dropping a payload can panic too.
    if let Err(second) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(second);
    }
    format!("panic: {text}{}", PLACE.take())
}

/// What the host shows: message and context without the kind, which travels beside it.
pub(crate) fn message(error: &Error) -> String {
    let text = error.to_string();
    let prefix = format!("{}: ", error.kind());
    escape_nul(text.strip_prefix(&prefix).unwrap_or(&text))
}

/// C strings end at NUL and some readers stop there.
pub(crate) fn escape_nul(text: &str) -> String {
    text.replace('\0', "\\0")
}
