//! Files of other writers behind the common face. They are in `fixtures/iceberg` under `BSDB_SHARED`; without them
//! the tests pass.

use std::collections::BTreeMap;
use std::path::PathBuf;

use arrow::array::AsArray as _;
use arrow::datatypes::DataType;

use super::testing::{collect, decode};
use super::*;
use crate::storage::Storage;

#[tokio::test]
async fn r_ty2_shapes_of_other_writers_are_wkb_bytes() {
    let Ok(shared) = std::env::var("BSDB_SHARED") else {
        return;
    };
    let samples = "fixtures/iceberg/_format_samples/iceberg-go/table/testdata/geo";
    let folder = PathBuf::from(shared).join(samples);
    if !folder.exists() {
        return;
    }
    let storage = Storage::new(&BTreeMap::new(), &[]).unwrap();
    let environment = Environment::new(storage.clone(), None).unwrap();
    let root = storage.resolve(folder.to_str().unwrap()).unwrap();
    let files = storage.open(std::slice::from_ref(&root));
    let mut checked = 0;
    for (location, size) in files.reader().list(&root).await.unwrap() {
        let store = files.reader();
        let format = FileFormat::Parquet;
        let file = OpenFile::open(&environment, store, &location, size, &format).await;
        let file = file.unwrap();
        let last = file.schema().fields().len() - 1;
        assert_eq!(file.schema().field(last).data_type(), &DataType::Binary);
        let rows = file.rows();
        let batch = collect(file.stream(decode([last], None)).unwrap()).await;
        let batch = batch.unwrap();
        assert_eq!(batch.num_rows() as u64, rows, "{location}");
        let shapes = batch.column(0).as_binary::<i32>();
        // The first byte of WKB is the order of the others.
        assert!(
            shapes.iter().flatten().all(|shape| shape[0] <= 1),
            "{location}"
        );
        checked += 1;
    }
    assert!(checked > 3, "{checked}");
}
