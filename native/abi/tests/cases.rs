//! Every type crosses in both directions: a batch there and back is equal, and the native side sees the
//! values that the file says. The Java tests replay the same file.
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

use std::mem::MaybeUninit;
use std::ptr;
use std::sync::Arc;
use std::time::Duration;

use arrow::array::*;
use arrow::datatypes::Schema;
use arrow::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi};
use benostreamdb_abi::{
    BsdbBytes, BsdbError, bsdb_bytes_free, bsdb_last_error, bsdb_metrics, bsdb_self_test,
};
use prost::Message;
use support::wire::self_test::Test;
use support::wire::{Metrics, Rendered, SelfTest};

fn last_error() -> String {
    let mut error = MaybeUninit::<BsdbError>::uninit();
    unsafe {
        bsdb_last_error(error.as_mut_ptr());
        std::ffi::CStr::from_ptr(error.assume_init().message)
            .to_string_lossy()
            .into_owned()
    }
}

fn take(bytes: &mut BsdbBytes) -> Vec<u8> {
    let copy = if bytes.len == 0 {
        Vec::new()
    } else {
        unsafe { std::slice::from_raw_parts(bytes.data, bytes.len) }.to_vec()
    };
    unsafe { bsdb_bytes_free(bytes) };
    copy
}

fn outstanding() -> u64 {
    let mut answer = BsdbBytes {
        data: ptr::null_mut(),
        len: 0,
    };
    assert_eq!(unsafe { bsdb_metrics(&raw mut answer) }, 0);
    Metrics::decode(take(&mut answer).as_slice())
        .unwrap()
        .native_bytes_outstanding
}

fn self_test(test: Test, batch: &RecordBatch) -> (Option<RecordBatch>, Vec<u8>) {
    let request = SelfTest { test: Some(test) }.encode_to_vec();
    let data = StructArray::from(batch.clone()).into_data();
    let mut in_array = FFI_ArrowArray::new(&data);
    let mut in_schema = FFI_ArrowSchema::try_from(batch.schema().as_ref()).unwrap();
    let (mut out_array, mut out_schema) = (FFI_ArrowArray::empty(), FFI_ArrowSchema::empty());
    let mut answer = BsdbBytes {
        data: ptr::null_mut(),
        len: 0,
    };
    let code = unsafe {
        bsdb_self_test(
            request.as_ptr(),
            request.len(),
            &raw mut in_array,
            &raw mut in_schema,
            &raw mut out_array,
            &raw mut out_schema,
            &raw mut answer,
        )
    };
    assert_eq!(code, 0, "{}", last_error());
    assert!(in_array.is_released(), "the batch was not consumed");
    let returned = (!out_array.is_released()).then(|| {
        let data = unsafe { from_ffi(out_array, &out_schema) }.unwrap();
        data.validate_full().unwrap();
        assert_no_offset(&data);
        let columns = StructArray::from(data).into_parts().1;
        let schema = Arc::new(Schema::try_from(&out_schema).unwrap());
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        RecordBatch::try_new_with_options(schema, columns, &options).unwrap()
    });
    (returned, take(&mut answer))
}

fn assert_no_offset(data: &ArrayData) {
    assert_eq!(data.offset(), 0);
    data.child_data().iter().for_each(assert_no_offset);
}

fn batches() -> Vec<(String, RecordBatch, Vec<String>)> {
    let mut all = Vec::new();
    for case in support::cases() {
        let full = support::column(case.field.data_type(), &case.values);
        let schema = Arc::new(Schema::new(vec![Arc::clone(&case.field)]));
        let batch = RecordBatch::try_new(schema, vec![full]).unwrap();
        for (start, length) in [
            (0, batch.num_rows()),
            (0, 0),
            (1, batch.num_rows() - 1),
            (1, 1),
        ] {
            let name = format!("{} from {start}, {length} rows", case.name);
            all.push((
                name,
                batch.slice(start, length),
                case.text[start..start + length].to_vec(),
            ));
        }
    }
    all
}

#[test]
fn batch_of_each_type_comes_back_equal_and_memory_is_given_back() {
    for (name, batch, _) in batches() {
        let (returned, _) = self_test(Test::Echo(true), &batch);
        assert_eq!(returned.unwrap(), batch, "{name}");
    }
    // Tests of this file run side by side.
    let free = || {
        (0..200).any(|_| {
            outstanding() == 0 || {
                std::thread::sleep(Duration::from_millis(10));
                false
            }
        })
    };
    assert!(free(), "{} bytes are outstanding", outstanding());
}

#[test]
fn batch_of_each_type_is_read_as_the_values_of_the_file() {
    for (name, batch, text) in batches() {
        let (_, answer) = self_test(Test::Render(true), &batch);
        let rendered = Rendered::decode(answer.as_slice()).unwrap();
        assert_eq!(rendered.columns[0].values, text, "{name}");
    }
}

#[test]
fn types_outside_the_normal_form_are_cast() {
    let views: ArrayRef = Arc::new(StringViewArray::from(vec![
        Some("a string longer than twelve"),
        None,
        Some(""),
    ]));
    let plain: ArrayRef = Arc::new(StringArray::from(vec![
        Some("a string longer than twelve"),
        None,
        Some(""),
    ]));
    let dictionary: ArrayRef = Arc::new(
        vec![Some("x"), None, Some("x")]
            .into_iter()
            .collect::<DictionaryArray<arrow::datatypes::Int8Type>>(),
    );
    let values: ArrayRef = Arc::new(StringArray::from(vec![Some("x"), None, Some("x")]));
    let large: ArrayRef = Arc::new(LargeBinaryArray::from(vec![
        Some(&b"1"[..]),
        None,
        Some(b""),
    ]));
    let small: ArrayRef = Arc::new(BinaryArray::from(vec![Some(&b"1"[..]), None, Some(b"")]));
    for (given, expected) in [(views, plain), (dictionary, values), (large, small)] {
        let (returned, _) = self_test(
            Test::Echo(true),
            &RecordBatch::try_from_iter([("c", given)]).unwrap(),
        );
        assert_eq!(returned.unwrap().column(0), &expected);
    }
}

#[test]
fn batch_without_columns_keeps_its_rows() {
    let options = RecordBatchOptions::new().with_row_count(Some(7));
    let batch =
        RecordBatch::try_new_with_options(Arc::new(Schema::empty()), vec![], &options).unwrap();
    assert_eq!(self_test(Test::Echo(true), &batch).0.unwrap().num_rows(), 7);
}
