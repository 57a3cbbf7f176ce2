//! Reads deletion vectors: one range of a file for one data file. The container around the blob is not looked
//! at, some writers put none there.

use std::sync::Arc;

use roaring::RoaringBitmap;

use crate::error::{Error, Result};
use crate::iceberg::deletion_vector::{check_length, decode};
use crate::table::read::ReadContext;

/// A deletion vector by where it lies.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct VectorKey {
    pub(super) path: String,
    pub(super) offset: u64,
    pub(super) length: u64,
    /// How many positions the manifest says that it holds.
    pub(super) cardinality: u64,
}

/// The positions of a vector that a data file can have. Errors: Corrupt for a damaged blob, or one of another cardinality.
pub(super) async fn load(context: &ReadContext, key: VectorKey) -> Result<Arc<RoaringBitmap>> {
    let caches = context.environment.deletes();
    let read = async {
        check_length(key.length)?;
        let end = key
            .offset
            .checked_add(key.length)
            .ok_or_else(|| Error::corrupt("the deletion vector ends beyond 2^64"))?;
        let location = context.files.resolve(&key.path)?;
        let reader = context.files.reader();
        let blob = reader.get_range(&location, key.offset..end).await?;
        // Files have fewer than 2^32 rows, so that greater positions name none of them.
        let low = decode(&blob, key.cardinality)?
            .bitmaps()
            .find_map(|(high, rows)| (high == 0).then(|| rows.clone()));
        let rows = Arc::new(low.unwrap_or_default());
        let bytes = rows.serialized_size();
        Ok((rows, bytes))
    };
    caches.vectors.get_or_load(key.clone(), read).await
}
