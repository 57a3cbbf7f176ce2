//! The C ABI and the JNI surface of BenoStreamDB: thin twins over the operations in [`ops`]. Owns
//! handles, bytes and Arrow structs; knows nothing of tables. Only bytes leave a process: splits and
//! commit messages are serializable, handles are not. No error, panic or misuse aborts the host.
//!
//! The library is built as `libbenostreamdb_abi.so` and shipped as `libbenostreamdb.so` (its SONAME):
//! `cargo build --profile dist -p benostreamdb-abi`, then copy it under that name.
#![cfg_attr(
    test,
    allow(
        clippy::cast_possible_truncation,
        clippy::cast_possible_wrap,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        clippy::indexing_slicing,
        reason = "tests work on small numbers"
    )
)]

mod capi;
mod decode;
mod describe;
mod export;
mod guard;
mod handle;
mod import;
mod natives;
mod ops;
mod reader;
mod runtime;
mod selftest;
mod stream;
mod wire;

pub use capi::*;
