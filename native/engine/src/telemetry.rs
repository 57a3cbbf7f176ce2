//! Warnings: what went wrong without changing an answer, such as a damaged segment that was not used.
//! A surface may take them; by default they go to standard error. Never holds secrets: texts name
//! locations and kinds only.

use std::sync::OnceLock;

type Sink = Box<dyn Fn(&str) + Send + Sync>;

static SINK: OnceLock<Sink> = OnceLock::new();

/// Sends warnings of this process to `sink` from now on. False if a sink is set already.
pub fn set_warning_sink(sink: impl Fn(&str) + Send + Sync + 'static) -> bool {
    SINK.set(Box::new(sink)).is_ok()
}

/// Reports a warning.
pub(crate) fn warn(text: &str) {
    match SINK.get() {
        Some(sink) => sink(text),
        None => eprintln!("warning: {text}"),
    }
}
