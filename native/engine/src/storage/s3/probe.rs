//! The test that a store must pass before a commit relies on it: a second put-if-absent of the same name fails and
//! leaves the first. Some stores and proxies ignore the condition and answer success, which loses commits.

use object_store::path::Path as StorePath;
use object_store::{Error as StoreError, ObjectStore, ObjectStoreExt, PutMode, PutPayload};

use super::failure::s3_error;
use crate::error::{Error, ErrorKind, Result};
use crate::storage::Location;

const FIRST: &[u8] = b"first";
const SECOND: &[u8] = b"second";

/// Puts a small file of its own beside `beside` twice, and removes it.
pub(super) async fn conditional_put(
    store: &dyn ObjectStore,
    location: &Location,
    beside: &StorePath,
) -> Result<()> {
    let name = format!("_conditional-put-{}", uuid::Uuid::new_v4());
    let mut parts: Vec<_> = beside.parts().collect();
    parts.pop();
    let path: StorePath = parts.into_iter().chain([name.as_str().into()]).collect();
    let outcome = put_twice(store, location, &path).await;
    // What cannot be removed is an empty name that nobody reads.
    let _ = store.delete(&path).await;
    outcome
}

async fn put_twice(store: &dyn ObjectStore, location: &Location, path: &StorePath) -> Result<()> {
    let put = async |bytes: &'static [u8]| {
        let payload = PutPayload::from_static(bytes);
        store.put_opts(path, payload, PutMode::Create.into()).await
    };
    match put(FIRST).await {
        // A request that was sent again after a lost answer finds its own file.
        Ok(_) | Err(StoreError::AlreadyExists { .. } | StoreError::Precondition { .. }) => {}
        Err(error) => {
            let error = s3_error(&error, "write", location);
            return Err(match error.kind() {
                ErrorKind::Unsupported => unsupported(location, error.message()),
                _ => error,
            });
        }
    }
    match put(SECOND).await {
        Err(StoreError::AlreadyExists { .. } | StoreError::Precondition { .. }) => {}
        Err(error) => return Err(s3_error(&error, "write", location)),
        Ok(_) => {
            return Err(unsupported(
                location,
                "a second put of the same name with If-None-Match was accepted",
            ));
        }
    }
    let found = async { store.get(path).await?.bytes().await };
    match found.await {
        Ok(bytes) if bytes == FIRST => Ok(()),
        Ok(_) => Err(unsupported(
            location,
            "a put that was refused has replaced the file",
        )),
        Err(error) => Err(s3_error(&error, "read", location)),
    }
}

fn unsupported(location: &Location, why: &str) -> Error {
    Error::unsupported(format!(
        "nothing can be committed at {location}: its store does not keep put-if-absent ({why})"
    ))
}
