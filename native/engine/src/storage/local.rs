//! The local disk as an object store whose puts are durable: bytes and directory entries are synced before a
//! put is acknowledged. `object_store` gives atomic puts without syncing, so puts are done here and everything
//! else is passed on. Staging files are named `<file>#<number>`, which its listings leave out. Hadoop keeps a
//! checksum in `.<file>.crc` and refuses a file that does not match it, so it goes with the file it was made for.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use object_store::local::LocalFileSystem;
use object_store::path::Path as StorePath;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, PutMode, PutMultipartOptions, PutOptions, PutPayload, PutResult, RenameOptions,
    Result, UploadPart,
};

const STORE: &str = "local disk";

/// The local disk with durable puts.
#[derive(Debug)]
pub(super) struct LocalStore {
    inner: LocalFileSystem,
}

impl LocalStore {
    pub(super) fn new() -> LocalStore {
        LocalStore {
            inner: LocalFileSystem::new(),
        }
    }
}

impl fmt::Display for LocalStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(STORE)
    }
}

#[async_trait]
impl ObjectStore for LocalStore {
    async fn put_opts(
        &self,
        location: &StorePath,
        payload: PutPayload,
        options: PutOptions,
    ) -> Result<PutResult> {
        let create = match options.mode {
            PutMode::Create => true,
            PutMode::Overwrite => false,
            PutMode::Update(_) => {
                return Err(Error::NotImplemented {
                    operation: "conditional replace".to_string(),
                    implementer: STORE.to_string(),
                });
            }
        };
        let target = self.inner.path_to_filesystem(location)?;
        blocking(move || put_file(&target, &payload, create)).await?;
        Ok(PutResult {
            e_tag: None,
            version: None,
        })
    }

    async fn put_multipart_opts(
        &self,
        location: &StorePath,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        let target = self.inner.path_to_filesystem(location)?;
        if let Some(directory) = target.parent().map(Path::to_path_buf) {
            blocking(move || create_directories(&directory).map_err(generic)).await?;
        }
        let inner = self.inner.put_multipart_opts(location, options).await?;
        Ok(Box::new(SyncedUpload { inner, target }))
    }

    async fn get_opts(&self, location: &StorePath, options: GetOptions) -> Result<GetResult> {
        self.inner.get_opts(location, options).await
    }

    async fn get_ranges(&self, location: &StorePath, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.inner.get_ranges(location, ranges).await
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<StorePath>>,
    ) -> BoxStream<'static, Result<StorePath>> {
        let inner = self.inner.clone();
        let deleted = self.inner.delete_stream(locations);
        deleted
            .and_then(move |location| {
                let target = inner.path_to_filesystem(&location);
                async move {
                    let target = target?;
                    blocking(move || {
                        remove_checksum(&target);
                        Ok::<_, Error>(location)
                    })
                    .await
                }
            })
            .boxed()
    }

    fn list(&self, prefix: Option<&StorePath>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.inner.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&StorePath>) -> Result<ListResult> {
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(
        &self,
        from: &StorePath,
        to: &StorePath,
        options: CopyOptions,
    ) -> Result<()> {
        self.inner.copy_opts(from, to, options).await
    }

    async fn rename_opts(
        &self,
        from: &StorePath,
        to: &StorePath,
        options: RenameOptions,
    ) -> Result<()> {
        self.inner.rename_opts(from, to, options).await
    }
}

/// An upload in parts that is synced before it is acknowledged.
#[derive(Debug)]
struct SyncedUpload {
    inner: Box<dyn MultipartUpload>,
    target: PathBuf,
}

#[async_trait]
impl MultipartUpload for SyncedUpload {
    fn put_part(&mut self, data: PutPayload) -> UploadPart {
        self.inner.put_part(data)
    }

    async fn complete(&mut self) -> Result<PutResult> {
        let result = self.inner.complete().await?;
        let target = self.target.clone();
        blocking(move || {
            File::open(&target)
                .and_then(|file| file.sync_all())
                .map_err(generic)?;
            remove_checksum(&target);
            sync_parent(&target).map_err(generic)
        })
        .await?;
        Ok(result)
    }

    async fn abort(&mut self) -> Result<()> {
        self.inner.abort().await
    }
}

/// Runs file-system work off the reactor where there is one.
pub(super) async fn blocking<T, E>(
    work: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> Result<T, E>
where
    T: Send + 'static,
    E: From<tokio::task::JoinError> + Send + 'static,
{
    match tokio::runtime::Handle::try_current() {
        Ok(runtime) => runtime.spawn_blocking(work).await?,
        Err(_) => work(),
    }
}

/// Makes the directory and its missing parents, each entry synced.
pub(super) fn create_directories(directory: &Path) -> io::Result<()> {
    let mut missing = Vec::new();
    let mut current = Some(directory);
    while let Some(path) = current.filter(|path| !path.is_dir()) {
        missing.push(path);
        current = path.parent();
    }
    for path in missing.iter().rev() {
        match fs::create_dir(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => {}
            other => other?,
        }
        sync_parent(path)?;
    }
    Ok(())
}

/// Syncs the directory that holds `path`.
pub(super) fn sync_parent(path: &Path) -> io::Result<()> {
    let Some(directory) = path.parent() else {
        return Ok(());
    };
    match File::open(directory).and_then(|handle| handle.sync_all()) {
        // Some file systems cannot sync a directory and need not.
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported
            ) =>
        {
            Ok(())
        }
        // A directory that may be written but not read cannot be opened to sync it.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        other => other,
    }
}

fn put_file(target: &Path, payload: &PutPayload, create: bool) -> Result<()> {
    let (mut file, staging) = stage(target).map_err(generic)?;
    let published = write_synced(&mut file, payload).and_then(|()| {
        if create {
            fs::hard_link(&staging, target)
        } else {
            fs::rename(&staging, target)
        }
    });
    drop(file);
    if create || published.is_err() {
        // A staging file left behind is invisible and harmless.
        let _ = fs::remove_file(&staging);
    }
    match published {
        Ok(()) => {
            remove_checksum(target);
            sync_parent(target).map_err(generic)
        }
        Err(source) if create && source.kind() == io::ErrorKind::AlreadyExists => {
            Err(Error::AlreadyExists {
                path: target.display().to_string(),
                source: source.into(),
            })
        }
        Err(source) => Err(generic(source)),
    }
}

/// Removes what Hadoop wrote about an earlier file of the same name.
fn remove_checksum(target: &Path) {
    if let Some(name) = target.file_name().and_then(|name| name.to_str()) {
        // Mostly there is none; one that stays makes only Hadoop's readers fail, loudly.
        let _ = fs::remove_file(target.with_file_name(format!(".{name}.crc")));
    }
}

fn write_synced(file: &mut File, payload: &PutPayload) -> io::Result<()> {
    for chunk in payload {
        file.write_all(chunk)?;
    }
    file.sync_all()
}

/// A new file beside the target, under a name that no other writer holds.
fn stage(target: &Path) -> io::Result<(File, PathBuf)> {
    let mut made_directories = false;
    loop {
        let mut name = target.as_os_str().to_owned();
        name.push(format!("#{}", uuid::Uuid::new_v4().as_u64_pair().0));
        let staging = PathBuf::from(name);
        match OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&staging)
        {
            Ok(file) => return Ok((file, staging)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound && !made_directories => {
                made_directories = true;
                if let Some(directory) = target.parent() {
                    create_directories(directory)?;
                }
            }
            Err(error) => return Err(error),
        }
    }
}

fn generic(source: io::Error) -> Error {
    Error::Generic {
        store: STORE,
        source: source.into(),
    }
}
