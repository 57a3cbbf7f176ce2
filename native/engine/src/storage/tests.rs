//! Stores, handles and test stores, on disk, in memory and in S3.

mod location;

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use object_store::memory::InMemory;

use super::testing::{
    CountingStore, FaultMode, FaultStore, Gateway, ReadCount, TempFolder, local_disk,
};
use super::{Location, PutOutcome, Storage};
use crate::error::ErrorKind;

fn storage() -> Storage {
    Storage::new(&BTreeMap::new(), &[]).unwrap()
}

fn at(text: &str) -> Location {
    storage().resolve(text).unwrap()
}

/// Names that are legal on disk and mean something else in URLs, globs or shells.
const ODD_NAMES: [&str; 31] = [
    "a b",
    " lead",
    "trail ",
    "a.b",
    "...",
    "it's",
    "say \"hi\"",
    "ünïcode 日本",
    "e\u{301}",
    "🦀",
    "100%",
    "%20",
    "a%2Fb",
    "%2e%2e",
    "x#1",
    "x#y",
    "q?x",
    "c:d",
    "c|d",
    "C:",
    "C|",
    "~",
    "[x]",
    "{y}",
    "<z>",
    "^",
    "`",
    "*",
    "+&=",
    ";,@!$",
    "Mixed",
];

#[tokio::test]
async fn store_on_disk_gives_files_the_exact_recorded_name() {
    let folder = TempFolder::new().unwrap();
    let store = storage().open(&[folder.location()]);
    for name in ODD_NAMES {
        let directory = folder.location().join(name).unwrap();
        let refused = ["x#1", "C:", "C|"].contains(&name);
        if refused {
            let error = store
                .put(&directory.join(name).unwrap(), Bytes::new())
                .await
                .unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
        }
        let file_name = if refused { "plain" } else { name };
        let file = directory.join(file_name).unwrap();
        store.put(&file, Bytes::from_static(b"abc")).await.unwrap();
        let on_disk = folder.path().join(name).join(file_name);
        assert_eq!(std::fs::read(&on_disk).unwrap(), b"abc", "{name}");
        assert_eq!(file.as_str(), on_disk.to_str().unwrap());
        assert_eq!(store.get(&file).await.unwrap(), "abc");
        assert_eq!(
            store.list(&directory).await.unwrap(),
            [(file.clone(), 3)],
            "{name}"
        );
        let mut upload = store.writer(&directory.join("u").unwrap()).unwrap();
        upload.write(Bytes::from_static(b"de")).await.unwrap();
        assert_eq!(upload.finish().await.unwrap(), 2);
        assert_eq!(
            std::fs::read(folder.path().join(name).join("u")).unwrap(),
            b"de"
        );
        assert_eq!(
            std::fs::read_dir(folder.path().join(name)).unwrap().count(),
            2,
            "staging file left in {name}"
        );
    }
    let children = store.children(&folder.location()).await.unwrap();
    let mut names: Vec<&str> = children.directories.iter().map(Location::name).collect();
    let mut expected = ODD_NAMES.to_vec();
    names.sort_unstable();
    expected.sort_unstable();
    assert_eq!(names, expected);
}

#[tokio::test]
async fn file_replaced_or_deleted_takes_hadoops_checksum_along() {
    let folder = TempFolder::new().unwrap();
    let store = storage().open(&[folder.location()]);
    let file = folder.location().join("v1.metadata.json").unwrap();
    let checksum = folder.path().join(".v1.metadata.json.crc");
    let neighbour = folder.path().join(".v10.metadata.json.crc");
    std::fs::write(&neighbour, b"crc").unwrap();
    let stale = || std::fs::write(&checksum, b"crc").unwrap();
    stale();
    store.put_if_absent(&file, Bytes::new()).await.unwrap();
    assert!(!checksum.exists());
    stale();
    store.put_if_absent(&file, Bytes::new()).await.unwrap();
    assert!(
        checksum.exists(),
        "a file that was not replaced keeps its checksum"
    );
    store.put(&file, Bytes::new()).await.unwrap();
    assert!(!checksum.exists());
    stale();
    let mut upload = store.writer(&file).unwrap();
    upload.write(Bytes::from(vec![0; 9 << 20])).await.unwrap();
    upload.finish().await.unwrap();
    assert!(!checksum.exists());
    stale();
    store.delete(&file).await.unwrap();
    assert!(!checksum.exists() && neighbour.exists());
}

async fn each_store(check: impl AsyncFn(&Storage, Location)) {
    let folder = TempFolder::new().unwrap();
    check(&storage(), folder.location()).await;
    check(&storage(), at("memory:///top")).await;
    match Gateway::shared() {
        Ok(gateway) => {
            let storage = Storage::new(&gateway.options(), &[]).unwrap();
            let root = format!("s3://{}/a top", gateway.bucket().unwrap());
            check(&storage, at(&root)).await;
        }
        Err(error) => println!("skipped on S3: {error}"),
    }
}

#[tokio::test]
async fn store_puts_reads_lists_and_deletes() {
    each_store(async |storage, root| {
        let store = storage.open(std::slice::from_ref(&root));
        let file = root.join("a/b/f").unwrap();
        assert_eq!(
            store.get(&file).await.unwrap_err().kind(),
            ErrorKind::NotFound
        );
        assert!(!store.exists(&file).await.unwrap());
        assert!(
            store
                .list(&root.join("none").unwrap())
                .await
                .unwrap()
                .is_empty()
        );
        store.put(&file, Bytes::from_static(b"one")).await.unwrap();
        store
            .put(&file, Bytes::from_static(b"three"))
            .await
            .unwrap();
        assert_eq!(
            store
                .put_if_absent(&file, Bytes::from_static(b"x"))
                .await
                .unwrap(),
            PutOutcome::Exists
        );
        let other = root.join("a/c").unwrap();
        assert_eq!(
            store.put_if_absent(&other, Bytes::new()).await.unwrap(),
            PutOutcome::Created
        );
        assert_eq!(
            (
                store.head(&file).await.unwrap(),
                store.head(&other).await.unwrap()
            ),
            (5, 0)
        );
        assert_eq!(store.get(&file).await.unwrap(), "three");
        assert_eq!(
            store.list(&root).await.unwrap(),
            [(file.clone(), 5), (other.clone(), 0)]
        );
        let children = store.children(&root.join("a").unwrap()).await.unwrap();
        assert_eq!(children.files, [(other.clone(), 0)]);
        assert_eq!(children.directories, [root.join("a/b").unwrap()]);
        let limited = store.get_limited(&file, 4).await.unwrap_err();
        assert_eq!(limited.kind(), ErrorKind::ResourceExhausted);
        store
            .delete_all(&[file.clone(), other, file.clone()])
            .await
            .unwrap();
        assert!(store.list(&root).await.unwrap().is_empty());
        // A path that runs through a file, or names a directory, names no file.
        store.put(&file, Bytes::from_static(b"x")).await.unwrap();
        for absent in [root.join("a/b/f/g").unwrap(), root.join("a").unwrap()] {
            assert!(!store.exists(&absent).await.unwrap(), "{absent}");
            let error = store.get(&absent).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NotFound);
            assert!(error.message().contains(absent.as_str()), "{error}");
        }
    })
    .await;
}

#[tokio::test]
async fn ranges_come_back_in_order_and_never_short() {
    each_store(async |storage, root| {
        let store = storage.open(std::slice::from_ref(&root));
        let file = root.join("f").unwrap();
        store
            .put(&file, Bytes::from_static(b"0123456789"))
            .await
            .unwrap();
        assert_eq!(store.get_range(&file, 2..5).await.unwrap(), "234");
        assert_eq!(store.get_range(&file, 10..10).await.unwrap(), "");
        let parts = store.get_ranges(&file, &[8..10, 3..3, 0..1]).await.unwrap();
        assert_eq!(parts, ["89", "", "0"]);
        for beyond in [8..11, 10..11, 20..30, 0..u64::MAX] {
            let error = store.get_range(&file, beyond.clone()).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corrupt, "{beyond:?}: {error}");
            assert!(error.message().contains(file.as_str()), "{error}");
        }
        let missing = store
            .get_range(&root.join("g").unwrap(), 0..1)
            .await
            .unwrap_err();
        assert_eq!(missing.kind(), ErrorKind::NotFound);
    })
    .await;
}

#[tokio::test]
async fn l4_upload_of_many_parts_appears_whole_or_not_at_all() {
    each_store(async |storage, root| {
        let store = storage.open(std::slice::from_ref(&root));
        let (kept, given_up, dropped) = (
            root.join("d/k").unwrap(),
            root.join("d/g").unwrap(),
            root.join("d/x").unwrap(),
        );
        let chunk = Bytes::from(
            (0..1_000_003)
                .map(|i: u32| i.to_le_bytes()[0])
                .collect::<Vec<u8>>(),
        );
        for (file, finish) in [(&kept, true), (&given_up, false)] {
            let mut upload = store.writer(file).unwrap();
            for _ in 0..20 {
                upload.write(chunk.clone()).await.unwrap();
            }
            assert!(!store.exists(file).await.unwrap());
            if finish {
                assert_eq!(upload.finish().await.unwrap(), 20_000_060);
                assert_eq!(
                    upload.write(chunk.clone()).await.unwrap_err().kind(),
                    ErrorKind::Internal
                );
            } else {
                upload.abort().await.unwrap();
            }
        }
        store
            .writer(&dropped)
            .unwrap()
            .write(chunk.clone())
            .await
            .unwrap();
        assert_eq!(
            store.list(&root).await.unwrap(),
            [(kept.clone(), 20_000_060)]
        );
        let bytes = store.get(&kept).await.unwrap();
        assert!(bytes.chunks(chunk.len()).all(|part| part == chunk));
    })
    .await;
}

#[tokio::test]
async fn directories_are_made_and_removed_only_when_empty() {
    each_store(async |storage, root| {
        let store = storage.open(std::slice::from_ref(&root));
        let (a, b) = (root.join("a").unwrap(), root.join("a/b").unwrap());
        assert!(!store.directory_exists(&a).await.unwrap());
        assert_eq!(
            store.remove_directory(&a).await.unwrap_err().kind(),
            ErrorKind::NotFound
        );
        store.create_directory(&b).await.unwrap();
        assert!(
            store.directory_exists(&a).await.unwrap() && store.directory_exists(&b).await.unwrap()
        );
        assert!(store.list(&root).await.unwrap().is_empty());
        assert_eq!(
            store.children(&a).await.unwrap().directories,
            std::slice::from_ref(&b)
        );
        assert_eq!(
            store.remove_directory(&a).await.unwrap_err().kind(),
            ErrorKind::InvalidInput
        );
        let file = b.join("f").unwrap();
        store.put(&file, Bytes::new()).await.unwrap();
        assert_eq!(
            store.remove_directory(&b).await.unwrap_err().kind(),
            ErrorKind::InvalidInput
        );
        store.remove_empty_directories(&a).await.unwrap();
        assert!(store.exists(&file).await.unwrap());
        assert!(!store.directory_exists(&file).await.unwrap());
        store.delete(&file).await.unwrap();
        store.remove_empty_directories(&a).await.unwrap();
        assert!(!store.directory_exists(&a).await.unwrap());
    })
    .await;
}

#[tokio::test]
async fn l7_handle_refuses_everything_outside_its_roots() {
    let folder = TempFolder::new().unwrap();
    let inside = folder.location().join("t").unwrap();
    let outside = folder.location().join("t2/f").unwrap();
    std::fs::create_dir(folder.path().join("t2")).unwrap();
    std::fs::write(folder.path().join("t2/f"), b"x").unwrap();
    let store = storage().open(&[inside]);
    let bytes = Bytes::from_static(b"y");
    let kinds = [
        store.get(&outside).await.unwrap_err().kind(),
        store.get_range(&outside, 0..1).await.unwrap_err().kind(),
        store.head(&outside).await.unwrap_err().kind(),
        store.exists(&outside).await.unwrap_err().kind(),
        store.list(&folder.location()).await.unwrap_err().kind(),
        store.children(&outside).await.unwrap_err().kind(),
        store.directory_exists(&outside).await.unwrap_err().kind(),
        store.put(&outside, bytes.clone()).await.unwrap_err().kind(),
        store
            .put_if_absent(&outside, bytes)
            .await
            .unwrap_err()
            .kind(),
        store.writer(&outside).unwrap_err().kind(),
        store.delete(&outside).await.unwrap_err().kind(),
        store.create_directory(&outside).await.unwrap_err().kind(),
        store.remove_directory(&outside).await.unwrap_err().kind(),
        store
            .remove_empty_directories(&outside)
            .await
            .unwrap_err()
            .kind(),
    ];
    assert!(
        kinds
            .iter()
            .all(|kind| *kind == ErrorKind::PermissionDenied),
        "{kinds:?}"
    );
    assert_eq!(std::fs::read(folder.path().join("t2/f")).unwrap(), b"x");
}

#[tokio::test]
async fn l7_handle_made_read_only_reads_and_never_writes() {
    let root = at("memory:///t");
    let storage = storage();
    let file = root.join("f").unwrap();
    storage
        .open(std::slice::from_ref(&root))
        .put(&file, Bytes::from_static(b"x"))
        .await
        .unwrap();
    let store = storage.open(&[root]).read_only();
    assert_eq!(store.get(&file).await.unwrap(), "x");
    let errors = [
        store.put(&file, Bytes::new()).await.unwrap_err(),
        store.put_if_absent(&file, Bytes::new()).await.unwrap_err(),
        store.writer(&file).unwrap_err(),
        store.delete(&file).await.unwrap_err(),
        store.create_directory(&file).await.unwrap_err(),
    ];
    for error in errors {
        assert_eq!(error.kind(), ErrorKind::PermissionDenied);
        assert!(error.message().contains("read-only mount"), "{error}");
    }
    assert_eq!(store.get(&file).await.unwrap(), "x");
}

#[tokio::test]
async fn put_racing_itself_creates_exactly_once() {
    let folder = TempFolder::new().unwrap();
    let store = storage().open(&[folder.location()]);
    for round in 0..20 {
        let file = folder
            .location()
            .join(&format!("new/dir/{round}/f"))
            .unwrap();
        let puts = (0..8).map(|task| {
            let (store, file) = (store.clone(), file.clone());
            tokio::spawn(async move {
                store
                    .put_if_absent(&file, Bytes::from(format!("task {task}")))
                    .await
                    .unwrap()
            })
        });
        let outcomes = futures::future::join_all(puts).await;
        let created = outcomes
            .into_iter()
            .filter(|outcome| matches!(outcome, Ok(PutOutcome::Created)))
            .count();
        assert_eq!(created, 1, "round {round}");
        assert!(store.get(&file).await.unwrap().starts_with(b"task "));
    }
}

#[tokio::test]
async fn put_on_a_full_disk_is_resource_exhausted_and_leaves_nothing() {
    let faults = FaultStore::new(Arc::new(InMemory::new()));
    let storage = storage().with_store("memory://", Arc::new(faults.clone()));
    let root = at("memory:///t");
    let store = storage.open(std::slice::from_ref(&root));
    let file = root.join("f").unwrap();
    faults.fail_from(1, FaultMode::DiskFull);
    let mut upload = store.writer(&file).unwrap();
    upload.write(Bytes::from_static(b"x")).await.unwrap();
    for error in [
        store.put(&file, Bytes::new()).await.unwrap_err(),
        upload.finish().await.unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::ResourceExhausted);
        assert!(error.message().contains("memory:///t/f"), "{error}");
    }
    assert!(!store.exists(&file).await.unwrap());
}

#[tokio::test]
async fn fault_store_fails_the_chosen_operation_in_each_mode() {
    let root = at("memory:///t");
    let file = root.join("f").unwrap();
    let whole = Bytes::from_static(b"0123456789");
    for (mode, left) in [
        (FaultMode::Error, None),
        (FaultMode::DiskFull, None),
        (FaultMode::TornPut, Some("01234")),
        (FaultMode::LostAnswer, Some("0123456789")),
    ] {
        let faults = FaultStore::new(Arc::new(InMemory::new()));
        let storage = storage().with_store("memory://", Arc::new(faults.clone()));
        let store = storage.open(std::slice::from_ref(&root));
        faults.fail_at(2, mode);
        assert!(!store.exists(&file).await.unwrap());
        store.put(&file, whole.clone()).await.unwrap_err();
        assert_eq!(faults.operations(), 2);
        let found = store.get(&file).await;
        assert_eq!(found.ok().as_deref(), left.map(str::as_bytes), "{mode:?}");
        faults.heal();
        store.put(&file, whole.clone()).await.unwrap();
        faults.fail_from(2, FaultMode::Error);
        assert_eq!(store.get(&file).await.unwrap(), whole);
        assert_eq!(
            store.get(&file).await.unwrap_err().kind(),
            ErrorKind::Unavailable
        );
        assert_eq!(
            store.list(&root).await.unwrap_err().kind(),
            ErrorKind::Unavailable
        );
        assert_eq!(
            store.delete(&file).await.unwrap_err().kind(),
            ErrorKind::Unavailable
        );
    }
}

#[tokio::test]
async fn counting_store_counts_requests_and_bytes_per_path() {
    let folder = TempFolder::new().unwrap();
    let counts = CountingStore::new(local_disk());
    let storage = storage().with_store("file://", Arc::new(counts.clone()));
    let store = storage.open(&[folder.location()]);
    let file = folder.location().join("data/f").unwrap();
    store
        .put(&file, Bytes::from_static(b"0123456789"))
        .await
        .unwrap();
    store.get(&file).await.unwrap();
    store.get_ranges(&file, &[0..2, 4..9]).await.unwrap();
    store.head(&file).await.unwrap();
    store.list(&folder.location()).await.unwrap();
    store.delete(&file).await.unwrap();
    let path = file.as_str().trim_start_matches('/').to_string();
    assert_eq!(
        counts.reads().get(&path),
        Some(&ReadCount {
            gets: 3,
            bytes: 17,
            heads: 1
        })
    );
    assert_eq!(
        counts.reads_of("/data/"),
        ReadCount {
            gets: 3,
            bytes: 17,
            heads: 1
        }
    );
    assert_eq!(counts.puts().get(&path), Some(&1));
    assert_eq!((counts.lists(), counts.deletes()), (1, 1));
    counts.reset();
    assert_eq!(counts.reads_of(""), ReadCount::default());
}

const FORBIDDEN: &str = "BSDB_TEST_FORBIDDEN";

/// Runs as an unprivileged child of the next test; on its own it has nothing to check.
#[tokio::test]
async fn child_without_permission() {
    let Ok(root) = std::env::var(FORBIDDEN) else {
        return;
    };
    let root = at(&root);
    let store = storage().open(std::slice::from_ref(&root));
    let locked = root.join("locked/f").unwrap();
    let new = root.join("f").unwrap();
    let old = root.join("old").unwrap();
    let errors = [
        (store.get(&locked).await.map(drop), "locked/f"),
        (store.head(&locked).await.map(drop), "locked/f"),
        (store.exists(&locked).await.map(drop), "locked/f"),
        (store.get_range(&locked, 0..1).await.map(drop), "locked/f"),
        (
            store
                .children(&root.join("locked").unwrap())
                .await
                .map(drop),
            "locked",
        ),
        (store.list(&root).await.map(drop), "forbidden"),
        (store.put(&new, Bytes::new()).await, "forbidden/f"),
        (
            store.put_if_absent(&new, Bytes::new()).await.map(drop),
            "forbidden/f",
        ),
        (
            store.put(&root.join("d/f").unwrap(), Bytes::new()).await,
            "forbidden/d/f",
        ),
        (store.delete(&old).await, "forbidden/old"),
        (
            store.create_directory(&root.join("d").unwrap()).await,
            "forbidden/d",
        ),
        (
            store.remove_directory(&root.join("locked").unwrap()).await,
            "forbidden/locked",
        ),
    ];
    for (result, part) in errors {
        let error = result.expect_err(part);
        assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{error}");
        assert!(error.message().contains(part), "{error}");
    }
    println!("all were denied");
}

#[test]
fn path_without_permission_is_denied_by_name() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    use std::os::unix::process::CommandExt;

    let folder = TempFolder::new().unwrap();
    let root = folder.path().join("forbidden");
    std::fs::create_dir_all(root.join("locked")).unwrap();
    for file in ["locked/f", "old"] {
        std::fs::write(root.join(file), b"x").unwrap();
    }
    for (path, mode) in [("locked", 0o000), ("", 0o555)] {
        std::fs::set_permissions(root.join(path), std::fs::Permissions::from_mode(mode)).unwrap();
    }
    let mut child = std::process::Command::new("/proc/self/exe");
    child
        .args([
            "--exact",
            "storage::tests::child_without_permission",
            "--nocapture",
        ])
        .env(FORBIDDEN, &root);
    if std::fs::metadata(folder.path()).unwrap().uid() == 0 {
        child.uid(65534).gid(65534);
    }
    let output = child.output().unwrap();
    for path in ["", "locked"] {
        std::fs::set_permissions(root.join(path), std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("all were denied"),
        "{text}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
