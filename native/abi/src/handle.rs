//! The table of what callers hold: numbers that name a slot, its generation and the kind of object.
//! A closed, stale or foreign handle is an ordinary error; closing while a call runs is safe, because
//! the call holds its own reference.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use benostreamdb::{Error, Result};

use crate::ops::{SessionState, TableState, WriterState};
use crate::reader::Reader;

/// More open handles than this is a leak.
const HANDLE_LIMIT: usize = 1 << 20;
const GENERATION_LIMIT: u32 = 1 << 24;

/// What a handle stands for.
#[derive(Clone)]
pub(crate) enum Object {
    Session(Arc<SessionState>),
    Table(Arc<TableState>),
    Reader(Arc<Reader>),
    Writer(Arc<WriterState>),
}

impl Object {
    fn kind(&self) -> u64 {
        match self {
            Object::Session(_) => 1,
            Object::Table(_) => 2,
            Object::Reader(_) => 3,
            Object::Writer(_) => 4,
        }
    }
}

fn kind_name(kind: u64) -> Option<&'static str> {
    match kind {
        1 => Some("session"),
        2 => Some("table"),
        3 => Some("split reader"),
        4 => Some("table writer"),
        _ => None,
    }
}

struct Slot {
    generation: u32,
    object: Option<Object>,
}

struct Handles {
    slots: Vec<Slot>,
    free: Vec<u32>,
}

static HANDLES: Mutex<Handles> = Mutex::new(Handles {
    slots: Vec::new(),
    free: Vec::new(),
});

fn handles() -> MutexGuard<'static, Handles> {
    HANDLES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Where a handle points: bits 0 to 31 the slot, 32 to 55 the generation, 56 to 62 the kind.
struct Parts {
    slot: usize,
    generation: u32,
    kind: u64,
}

fn split(handle: u64) -> Parts {
    let generation = u32::try_from((handle >> 32) & u64::from(GENERATION_LIMIT - 1)).unwrap_or(0);
    let slot = usize::try_from(handle & u64::from(u32::MAX)).unwrap_or(usize::MAX);
    Parts {
        slot,
        generation,
        kind: handle >> 56,
    }
}

/// Hands an object out.
pub(crate) fn insert(object: Object) -> Result<u64> {
    let kind = object.kind();
    let mut table = handles();
    let slot = match table.free.pop() {
        Some(slot) => slot,
        None => table.grow()?,
    };
    let entry = usize::try_from(slot)
        .ok()
        .and_then(|slot| table.slots.get_mut(slot));
    let entry = entry.ok_or_else(|| Error::internal("handle table lost a slot"))?;
    entry.object = Some(object);
    Ok(kind << 56 | u64::from(entry.generation) << 32 | u64::from(slot))
}

impl Handles {
    fn grow(&mut self) -> Result<u32> {
        if self.slots.len() >= HANDLE_LIMIT {
            return Err(Error::resource_exhausted(format!(
                "more than {HANDLE_LIMIT} open handles"
            )));
        }
        let slot = u32::try_from(self.slots.len())
            .map_err(|_| Error::internal("handle table is too long"))?;
        self.slots.push(Slot {
            generation: 1,
            object: None,
        });
        Ok(slot)
    }
}

/// Takes an object back. Whoever still runs a call on it finishes first.
pub(crate) fn remove(handle: u64) -> Result<Object> {
    let parts = split(handle);
    let mut table = handles();
    let entry = table
        .slots
        .get_mut(parts.slot)
        .filter(|entry| entry.generation == parts.generation);
    let object = entry.and_then(|entry| {
        let matches = entry
            .object
            .as_ref()
            .is_some_and(|object| object.kind() == parts.kind);
        let object = if matches { entry.object.take() } else { None };
        if object.is_some() {
            entry.generation += 1;
        }
        object
    });
    let object = object.ok_or_else(|| unknown(handle))?;
    // A slot whose generations are used up is not used again.
    let reusable = table
        .slots
        .get(parts.slot)
        .is_some_and(|entry| entry.generation < GENERATION_LIMIT);
    if let (true, Ok(slot)) = (reusable, u32::try_from(parts.slot)) {
        table.free.push(slot);
    }
    Ok(object)
}

/// The object behind an open handle.
pub(crate) fn get(handle: u64) -> Result<Object> {
    let parts = split(handle);
    let table = handles();
    let entry = table
        .slots
        .get(parts.slot)
        .filter(|entry| entry.generation == parts.generation);
    let object = entry
        .and_then(|entry| entry.object.as_ref())
        .filter(|object| object.kind() == parts.kind);
    object.cloned().ok_or_else(|| unknown(handle))
}

fn unknown(handle: u64) -> Error {
    match (handle, kind_name(handle >> 56)) {
        (0, _) => Error::invalid_input("the handle is null"),
        (_, Some(kind)) => Error::invalid_input(format!("{kind} handle {handle:#x} is closed")),
        (_, None) => Error::invalid_input(format!("{handle:#x} is no handle")),
    }
}

fn mismatch(expected: &str, object: &Object) -> Error {
    let got = kind_name(object.kind()).unwrap_or("unknown");
    Error::invalid_input(format!(
        "a {expected} handle is expected, this is a {got} handle"
    ))
}

macro_rules! lookups {
    ($($function:ident: $variant:ident => $type:ty, $name:literal;)*) => {
        $(
            #[doc = concat!("The ", $name, " behind a handle.")]
            pub(crate) fn $function(handle: u64) -> Result<Arc<$type>> {
                match get(handle)? {
                    Object::$variant(object) => Ok(object),
                    other => Err(mismatch($name, &other)),
                }
            }
        )*
    };
}

lookups! {
    session: Session => SessionState, "session";
    table: Table => TableState, "table";
    reader: Reader => Reader, "split reader";
    writer: Writer => WriterState, "table writer";
}

/// Open handles by kind.
pub(crate) fn open_counts() -> BTreeMap<&'static str, u64> {
    let mut counts = BTreeMap::from([
        ("session", 0),
        ("table", 0),
        ("split reader", 0),
        ("table writer", 0),
    ]);
    for object in handles()
        .slots
        .iter()
        .filter_map(|slot| slot.object.as_ref())
    {
        if let Some(count) = kind_name(object.kind()).and_then(|name| counts.get_mut(name)) {
            *count += 1;
        }
    }
    counts
}
