//! Whatever a caller does wrong is an ordinary error of the right kind that names the thing: null
//! pointers, garbage bytes, stale and foreign handles, double close, panics, NULs in texts.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests say what they expect by panicking, on small numbers"
)]

mod support;

use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::ptr;

use arrow::ffi::{FFI_ArrowArray, FFI_ArrowSchema};
use benostreamdb_abi::*;
use prost::Message;
use support::wire::self_test::Test;
use support::wire::{Failure, OpenSession, SelfTest};

fn last_error() -> (i32, bool, String) {
    let mut error = MaybeUninit::<BsdbError>::uninit();
    unsafe {
        bsdb_last_error(error.as_mut_ptr());
        let error = error.assume_init();
        (
            error.kind,
            error.retryable,
            CStr::from_ptr(error.message).to_str().unwrap().to_owned(),
        )
    }
}

fn assert_error(code: i32, kind: BsdbErrorKind, part: &str) {
    let (stored, _, message) = last_error();
    assert_eq!((code, stored), (kind as i32, kind as i32), "{message}");
    assert!(message.contains(part), "'{message}' does not say '{part}'");
}

fn empty() -> BsdbBytes {
    BsdbBytes {
        data: ptr::null_mut(),
        len: 0,
    }
}

fn open_session() -> u64 {
    let request = OpenSession {
        abi_version: BSDB_ABI_VERSION,
        ..Default::default()
    }
    .encode_to_vec();
    let mut session = 0;
    assert_eq!(
        unsafe { bsdb_session_open(request.as_ptr(), request.len(), &raw mut session) },
        0,
        "{:?}",
        last_error()
    );
    session
}

fn fail(test: Test) -> i32 {
    let request = SelfTest { test: Some(test) }.encode_to_vec();
    let mut answer = empty();
    let (null_array, null_schema) = (ptr::null_mut(), ptr::null_mut());
    unsafe {
        bsdb_self_test(
            request.as_ptr(),
            request.len(),
            null_array,
            null_schema,
            null_array,
            null_schema,
            &raw mut answer,
        )
    }
}

#[test]
fn handle_closed_twice_is_an_error_that_names_its_kind() {
    let session = open_session();
    assert_eq!(bsdb_close(session), 0);
    assert_error(
        bsdb_close(session),
        BsdbErrorKind::InvalidInput,
        "session handle",
    );
    assert_error(
        bsdb_cancel(session),
        BsdbErrorKind::InvalidInput,
        "is closed",
    );
}

#[test]
fn stale_handle_does_not_reach_the_next_object_of_its_slot() {
    let first = open_session();
    assert_eq!(bsdb_close(first), 0);
    let second = open_session();
    assert_ne!(first, second);
    let mut answer = empty();
    let code = unsafe { bsdb_catalog(first, ptr::null(), 0, &raw mut answer) };
    assert_error(code, BsdbErrorKind::InvalidInput, "session handle");
    assert_eq!(bsdb_close(second), 0);
}

#[test]
fn handle_of_another_kind_or_of_nothing_is_an_error() {
    let session = open_session();
    let mut answer = empty();
    let code = unsafe { bsdb_table_describe(session, &raw mut answer) };
    assert_error(
        code,
        BsdbErrorKind::InvalidInput,
        "a table handle is expected, this is a session handle",
    );
    for nonsense in [0, 1, u64::MAX, 42 << 56, (1 << 56) | 5] {
        assert_error(bsdb_close(nonsense), BsdbErrorKind::InvalidInput, "handle");
    }
    assert_eq!(bsdb_close(session), 0);
}

#[test]
fn handle_closed_by_many_threads_is_closed_once() {
    for _ in 0..50 {
        let session = open_session();
        let threads: Vec<_> = (0..4)
            .map(|_| std::thread::spawn(move || bsdb_close(session)))
            .collect();
        let codes: Vec<i32> = threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect();
        assert_eq!(
            codes.iter().filter(|code| **code == 0).count(),
            1,
            "{codes:?}"
        );
    }
}

#[test]
fn null_addresses_are_errors() {
    let session = open_session();
    let invalid = BsdbErrorKind::InvalidInput;
    unsafe {
        assert_error(
            bsdb_session_open(ptr::null(), 8, &mut 0),
            invalid,
            "request",
        );
        assert_error(
            bsdb_session_open(ptr::null(), 0, ptr::null_mut()),
            invalid,
            "answer",
        );
        assert_error(
            bsdb_catalog(session, ptr::null(), 1, &mut empty()),
            invalid,
            "request",
        );
        assert_error(
            bsdb_table_open(session, ptr::null(), 3, &mut 0),
            invalid,
            "request",
        );
        assert_error(bsdb_metrics(ptr::null_mut()), invalid, "answer");
        assert_error(
            bsdb_reader_next(session, ptr::null_mut(), 0, &mut 0, &mut 0),
            invalid,
            "null",
        );
        assert_error(
            bsdb_write_append(session, ptr::null_mut(), ptr::null_mut()),
            invalid,
            "null",
        );
        assert_error(
            bsdb_split_open(session, ptr::null(), 0, false, ptr::null_mut()),
            invalid,
            "answer",
        );
        bsdb_last_error(ptr::null_mut());
        bsdb_bytes_free(ptr::null_mut());
        bsdb_bytes_free(&mut empty());
        bsdb_array_release(ptr::null_mut());
        bsdb_array_release(&mut FFI_ArrowArray::empty());
    }
    assert_eq!(bsdb_close(session), 0);
}

#[test]
fn garbage_bytes_are_errors() {
    let session = open_session();
    let mut garbage = [0xff_u8; 64];
    for round in 0..200_u8 {
        for (i, byte) in garbage.iter_mut().enumerate() {
            *byte = byte
                .wrapping_mul(31)
                .wrapping_add(round)
                .wrapping_add(u8::try_from(i).unwrap());
        }
        let (data, len) = (garbage.as_ptr(), garbage.len());
        let mut answer = empty();
        let codes = unsafe {
            [
                bsdb_session_open(data, len, &mut 0),
                bsdb_catalog(session, data, len, &raw mut answer),
                bsdb_table_open(session, data, len, &mut 0),
                bsdb_split_open(session, data, len, false, &mut 0),
                bsdb_write_begin(session, data, len, &mut 0),
                bsdb_index_build_piece(session, data, len, &raw mut answer),
            ]
        };
        assert!(
            codes.iter().all(|code| *code == 1 || *code == 7),
            "round {round}: {codes:?}"
        );
    }
    assert_eq!(bsdb_close(session), 0);
}

#[test]
fn request_of_another_version_is_refused() {
    let request = OpenSession {
        abi_version: 99,
        ..Default::default()
    }
    .encode_to_vec();
    let code = unsafe { bsdb_session_open(request.as_ptr(), request.len(), &mut 0) };
    assert_error(code, BsdbErrorKind::InvalidInput, "version 99");
}

#[test]
fn released_arrow_structs_are_errors() {
    let session = open_session();
    let (mut array, mut schema) = (FFI_ArrowArray::empty(), FFI_ArrowSchema::empty());
    let code = unsafe { bsdb_write_append(session, &raw mut array, &raw mut schema) };
    assert_error(code, BsdbErrorKind::InvalidInput, "already released");
    assert_eq!(bsdb_close(session), 0);
}

#[test]
fn errors_of_every_kind_keep_kind_text_and_flag() {
    for kind in 1..=12 {
        let failure = Failure {
            kind,
            message: format!("no table t{kind}"),
            retryable: kind % 2 == 0,
        };
        assert_eq!(fail(Test::Fail(failure)), kind);
        assert_eq!(
            last_error(),
            (kind, kind % 2 == 0, format!("no table t{kind}"))
        );
    }
}

#[test]
fn panic_and_nul_become_errors() {
    assert_error(
        fail(Test::Panic("broken \0 assumption".into())),
        BsdbErrorKind::Internal,
        "panic: broken \\0 assumption",
    );
    let failure = Failure {
        kind: 4,
        message: "commit \0 lost \u{1F600}".into(),
        retryable: false,
    };
    assert_error(
        fail(Test::Fail(failure)),
        BsdbErrorKind::Conflict,
        "commit \\0 lost \u{1F600}",
    );
}

#[test]
fn success_clears_the_last_error() {
    assert_error(bsdb_close(0), BsdbErrorKind::InvalidInput, "null");
    let session = open_session();
    assert_eq!(last_error(), (0, false, String::new()));
    assert_eq!(bsdb_close(session), 0);
}
