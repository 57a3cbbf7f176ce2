//! Variants whole and in columns, sound and not. The samples of other writers are in `fixtures/iceberg` under
//! `BSDB_SHARED`; without them their test passes.

use std::path::{Path, PathBuf};

use arrow::array::{Array, BinaryArray, Int64Array, StringArray, StructArray};
use arrow::datatypes::{DataType, Field};
use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use parquet_variant::Variant;

use super::*;
use crate::error::ErrorKind;

/// A group of one row: metadata without names, a value, and a typed value.
fn group(value: Option<&[u8]>, typed: Option<i64>) -> ArrayRef {
    let fields = vec![
        Field::new("metadata", DataType::Binary, false),
        Field::new("value", DataType::Binary, true),
        Field::new("typed_value", DataType::Int64, true),
    ];
    let columns: Vec<ArrayRef> = vec![
        Arc::new(BinaryArray::from(vec![[1u8, 0, 0].as_slice()])),
        Arc::new(BinaryArray::from(vec![value])),
        Arc::new(Int64Array::from(vec![typed])),
    ];
    Arc::new(StructArray::new(fields.into(), columns, None))
}

#[test]
fn r_ty2_shredded_variants_are_read_and_invalid_ones_refused() {
    let text = |array: &ArrayRef| {
        texts(array, "v")
            .unwrap()
            .as_string::<i32>()
            .value(0)
            .to_owned()
    };
    assert_eq!(text(&group(None, Some(5))), "5");
    assert_eq!(text(&group(Some(&[0x0c, 7]), None)), "7");
    let error = texts(&group(Some(&[0x0c, 7]), Some(5)), "v").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(error.to_string().contains("column v"), "{error}");
    let plain: ArrayRef = Arc::new(StringArray::from(vec!["5"]));
    assert_eq!(texts(&plain, "v").unwrap_err().kind(), ErrorKind::Corrupt);
}

#[test]
fn l8_damaged_variants_are_corrupt_and_never_panic() {
    // An array of two numbers, with every byte changed and every end cut.
    let sound = [0x03, 2, 0, 2, 4, 0x0c, 7, 0x0c, 8];
    let array = texts(&group(Some(&sound), None), "v").unwrap();
    assert_eq!(array.as_string::<i32>().value(0), "[7,8]");
    for place in 0..sound.len() {
        for change in 1..=255 {
            let mut damaged = sound;
            damaged[place] ^= change;
            let _ = texts(&group(Some(&damaged), None), "v");
        }
        assert!(
            texts(&group(Some(&sound[..place]), None), "v").is_err(),
            "cut at {place}"
        );
    }
}

/// What one row of a sample holds, whole: metadata, then value.
fn whole(path: &Path) -> String {
    let bytes = std::fs::read(path).unwrap();
    let width = usize::from(bytes[0] >> 6) + 1;
    let number = |at: usize| {
        let digits = bytes[at..at + width].iter().rev();
        digits.fold(0usize, |n, byte| n << 8 | usize::from(*byte))
    };
    let names = number(1);
    let length = 1 + width * (names + 2) + number(1 + width * (names + 1));
    let (metadata, value) = bytes.split_at(length);
    Variant::try_new(metadata, value)
        .unwrap()
        .to_json_string()
        .unwrap()
}

#[test]
fn r_ty2_shredded_variants_of_other_writers_hold_what_they_say() {
    let Ok(shared) = std::env::var("BSDB_SHARED") else {
        return;
    };
    let samples = "fixtures/iceberg/_format_samples/iceberg-go/table/testdata/shredded_variant";
    let folder = PathBuf::from(shared).join(samples);
    if !folder.exists() {
        return;
    }
    let mut checked = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        if path
            .extension()
            .is_none_or(|extension| extension != "parquet")
        {
            continue;
        }
        let file = std::fs::File::open(&path).unwrap();
        let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
        let reader = ParquetRecordBatchReaderBuilder::try_new_with_options(file, options);
        let batch = reader.unwrap().build().unwrap().next().unwrap().unwrap();
        let array = batch.column_by_name("var").unwrap();
        checked += 1;
        let sound = |row: usize| {
            folder
                .join(format!("{name}_row-{row}.variant.bin"))
                .exists()
        };
        // The samples without a sound form contradict themselves too.
        if name.contains("INVALID") || !(0..array.len()).any(sound) {
            let refused = texts(array, "var").map_err(|e| e.kind());
            assert_eq!(refused, Err(ErrorKind::Corrupt), "{name}");
            continue;
        }
        let found = texts(array, "var").unwrap_or_else(|e| panic!("{name}: {e}"));
        for row in 0..found.len() {
            let expected = folder.join(format!("{name}_row-{row}.variant.bin"));
            if !expected.exists() {
                assert!(found.is_null(row), "{name} row {row}");
                continue;
            }
            assert_eq!(
                found.as_string::<i32>().value(row),
                whole(&expected),
                "{name} row {row}"
            );
        }
    }
    assert!(checked > 10, "{checked}");
}
