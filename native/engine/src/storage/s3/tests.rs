//! Options, refusals, and what a bucket on a real server answers. Contract tests of stores run over S3 in
//! `storage::tests` and `catalog::file_system::tests`.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use object_store::aws::AmazonS3;
use object_store::memory::InMemory;

use super::options::S3Options;
use crate::error::{Error, ErrorKind};
use crate::storage::testing::{FaultMode, FaultStore, Gateway, SECRET};
use crate::storage::{Location, PutOutcome, Storage};

fn options(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    let owned = |(key, value): &(&str, &str)| (key.to_string(), value.to_string());
    pairs.iter().map(owned).collect()
}

fn client(given: &[(&str, &str)], bucket: &str, environment: &[(&str, &str)]) -> AmazonS3 {
    let environment = options(environment);
    S3Options::new(&options(given))
        .unwrap()
        .client(bucket, &|name| environment.get(name).cloned())
        .unwrap()
}

/// What a client was made with; its keys are not shown.
fn shown(given: &[(&str, &str)], bucket: &str, environment: &[(&str, &str)]) -> String {
    format!("{:?}", client(given, bucket, environment))
}

/// Key, secret and token that a client signs with.
async fn keys(client: &AmazonS3) -> (String, String, Option<String>) {
    let held = client.credentials().get_credential().await.unwrap();
    (
        held.key_id.clone(),
        held.secret_key.clone(),
        held.token.clone(),
    )
}

const KEYS: [(&str, &str); 2] = [
    ("s3.access-key-id", "id-1"),
    ("s3.secret-access-key", "secret-1"),
];
const ENVIRONMENT: [(&str, &str); 5] = [
    ("AWS_ACCESS_KEY_ID", "id-2"),
    ("AWS_SECRET_ACCESS_KEY", "secret-2"),
    ("AWS_SESSION_TOKEN", "token-2"),
    ("AWS_REGION", "eu-north-1"),
    ("AWS_ENDPOINT_URL_S3", "https://store.example"),
];

#[tokio::test]
async fn options_come_before_the_environment_and_never_mix_keys_with_it() {
    let made = client(&KEYS, "bucket", &ENVIRONMENT);
    assert_eq!(
        keys(&made).await,
        ("id-1".to_string(), "secret-1".to_string(), None)
    );
    let text = format!("{made:?}");
    for part in ["eu-north-1", "https://bucket.store.example"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("169.254") && !text.contains("secret-1"));
    let made = client(
        &[
            ("client.region", "us-west-2"),
            ("s3.endpoint", "https://o.example/x/"),
            ("s3.path-style-access", "true"),
        ],
        "bucket",
        &ENVIRONMENT,
    );
    let token = Some("token-2".to_string());
    assert_eq!(
        keys(&made).await,
        ("id-2".to_string(), "secret-2".to_string(), token)
    );
    let text = format!("{made:?}");
    for part in ["us-west-2", "\"https://o.example/x/bucket\""] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // Without keys the instance is asked, and only then.
    assert!(shown(&[], "bucket", &[]).contains("169.254.169.254"));
    let anonymous = shown(&[("s3.anonymous", "true")], "bucket", &ENVIRONMENT);
    assert!(anonymous.contains("skip_signature: true"), "{anonymous}");
}

#[test]
fn bucket_stands_in_the_host_where_it_can() {
    let cases = [
        (
            "",
            "",
            "bucket",
            "https://bucket.s3.us-east-1.amazonaws.com\"",
        ),
        ("", "", "a.b", "https://s3.us-east-1.amazonaws.com/a.b\""),
        (
            "",
            "true",
            "bucket",
            "https://s3.us-east-1.amazonaws.com/bucket\"",
        ),
        (
            "http://localhost:9000",
            "",
            "bucket",
            "http://localhost:9000/bucket\"",
        ),
        (
            "http://127.0.0.1:9000",
            "false",
            "bucket",
            "http://127.0.0.1:9000/bucket\"",
        ),
        (
            "http://[::1]:9000/",
            "",
            "bucket",
            "http://[::1]:9000/bucket\"",
        ),
        (
            "https://o.example",
            "",
            "bucket",
            "https://bucket.o.example\"",
        ),
        ("https://o.example", "", "a.b", "https://o.example/a.b\""),
        (
            "http://localhost",
            "false",
            "bucket",
            "http://bucket.localhost\"",
        ),
    ];
    for (endpoint, path_style, bucket, expected) in cases {
        let mut given = KEYS.to_vec();
        if !endpoint.is_empty() {
            given.push(("s3.endpoint", endpoint));
        }
        if !path_style.is_empty() {
            given.push(("s3.path-style-access", path_style));
        }
        let text = shown(&given, bucket, &[]);
        assert!(text.contains(expected), "{expected}: {text}");
        // Plain http is spoken only to an endpoint spelled so.
        let plain = text.contains("allow_http: Parsed(true)");
        assert_eq!(plain, endpoint.starts_with("http:"), "{endpoint}: {text}");
    }
}

#[test]
fn options_that_cannot_be_are_refused_without_their_values() {
    let value = "s3cr3t-value";
    let endpoint = format!("https://user:{value}@h");
    let cases = [
        (vec![("s3.sse.type", value)], ErrorKind::Unsupported),
        (vec![("s3.access-key", value)], ErrorKind::Unsupported),
        (vec![("client.factory", value)], ErrorKind::Unsupported),
        (
            vec![("s3.secret-access-key", value)],
            ErrorKind::InvalidInput,
        ),
        (vec![("s3.access-key-id", value)], ErrorKind::InvalidInput),
        (vec![("s3.session-token", value)], ErrorKind::InvalidInput),
        (
            vec![("s3.path-style-access", value)],
            ErrorKind::InvalidInput,
        ),
        (vec![("s3.endpoint", value)], ErrorKind::InvalidInput),
        (
            vec![("s3.endpoint", endpoint.as_str())],
            ErrorKind::InvalidInput,
        ),
        (
            vec![("s3.endpoint", "file:///s3cr3t-value")],
            ErrorKind::InvalidInput,
        ),
        (vec![("client.region", "")], ErrorKind::InvalidInput),
    ];
    for (given, kind) in cases {
        let error = Storage::new(&options(&given), &[]).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.message().contains(given[0].0), "{error}");
        assert!(!format!("{error} {error:?}").contains(value), "{error:?}");
    }
    for (environment, kind) in [
        (vec![("AWS_ACCESS_KEY_ID", value)], ErrorKind::InvalidInput),
        (vec![("AWS_ENDPOINT_URL", value)], ErrorKind::InvalidInput),
        (
            vec![("AWS_EC2_METADATA_DISABLED", "true")],
            ErrorKind::PermissionDenied,
        ),
    ] {
        let environment = options(&environment);
        let made = S3Options::new(&options(&[]))
            .unwrap()
            .client("bucket", &|name| environment.get(name).cloned());
        let error = made.unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(!format!("{error} {error:?}").contains(value), "{error:?}");
    }
}

fn careless() -> (Storage, Location) {
    let faults = FaultStore::new(Arc::new(InMemory::new()));
    faults.fail_from(1, FaultMode::IgnoredCondition);
    let storage = Storage::new(&BTreeMap::new(), &[])
        .unwrap()
        .with_store("s3://careless", Arc::new(faults));
    let root = storage.resolve("s3://careless/t").unwrap();
    (storage, root)
}

#[tokio::test]
async fn store_that_ignores_put_if_absent_is_read_and_never_committed_to() {
    let (storage, root) = careless();
    let store = storage.open(std::slice::from_ref(&root));
    let file = root.join("metadata/v1.metadata.json").unwrap();
    for _ in 0..2 {
        let error = store
            .put_if_absent(&file, Bytes::from_static(b"{}"))
            .await
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.message().contains(file.as_str()), "{error}");
    }
    assert!(store.list(&root).await.unwrap().is_empty());
    store.put(&file, Bytes::from_static(b"{}")).await.unwrap();
    assert_eq!(store.get(&file).await.unwrap(), "{}");
}

#[tokio::test]
async fn handle_reaches_no_other_bucket_and_nothing_beside_its_root() {
    let storage = Storage::new(&BTreeMap::new(), &[])
        .unwrap()
        .with_store("s3://lake", Arc::new(InMemory::new()));
    let root = storage.resolve("s3://lake/t").unwrap();
    let store = storage.open(std::slice::from_ref(&root));
    for recorded in [
        "s3://other/t/f",
        "s3://lake/t2/f",
        "s3://lake/t/../u",
        "s3://lake/t//f",
        "s3://lake@169.254.169.254/t/f",
        "http://169.254.169.254/latest/meta-data",
        "/lake/t/f",
        "file:///etc/passwd",
    ] {
        let error = store.resolve(recorded).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{recorded}");
    }
    for spelling in ["s3://lake/t/f", "s3a://lake/t/f", "S3N://lake/t/f"] {
        let location = store.resolve(spelling).unwrap();
        assert_eq!(location.as_str(), "s3://lake/t/f");
    }
    let elsewhere = storage.resolve("s3://other/t/f").unwrap();
    let error = store.put(&elsewhere, Bytes::new()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PermissionDenied);
}

/// The server of this process; none where it is not installed.
fn gateway() -> Option<Arc<Gateway>> {
    match Gateway::shared() {
        Ok(gateway) => Some(gateway),
        Err(error) => {
            println!("skipped: {error}");
            None
        }
    }
}

async fn every_error(storage: &Storage, root: &Location) -> Vec<Error> {
    let store = storage.open(std::slice::from_ref(root));
    let file = root.join("f").unwrap();
    let mut large = store.writer(&file).unwrap();
    let part = Bytes::from(vec![1; 9 << 20]);
    vec![
        store.get(&file).await.unwrap_err(),
        store.get_range(&file, 0..4).await.unwrap_err(),
        store.list(root).await.unwrap_err(),
        store.children(root).await.unwrap_err(),
        store.put(&file, Bytes::new()).await.unwrap_err(),
        store.put_if_absent(&file, Bytes::new()).await.unwrap_err(),
        large.write(part).await.unwrap_err(),
    ]
}

#[tokio::test]
async fn refusals_of_a_store_have_the_right_kind_and_hold_no_secret() {
    let Some(gateway) = gateway() else { return };
    let bucket = gateway.bucket().unwrap();
    let stranger = "wr0ng-s3cr3t";
    let mut wrong = gateway.options();
    wrong.insert("s3.secret-access-key".to_string(), stranger.to_string());
    let mut down = gateway.options();
    let nobody = {
        let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        closed.local_addr().unwrap().port()
    };
    down.insert(
        "s3.endpoint".to_string(),
        format!("http://127.0.0.1:{nobody}"),
    );
    for (options, bucket, kind) in [
        (gateway.options(), "no-such-bucket", ErrorKind::NotFound),
        (wrong, bucket.as_str(), ErrorKind::PermissionDenied),
        (down, bucket.as_str(), ErrorKind::Unavailable),
    ] {
        let storage = Storage::new(&options, &[]).unwrap();
        let root = storage.resolve(&format!("s3://{bucket}/t")).unwrap();
        for error in every_error(&storage, &root).await {
            assert_eq!(error.kind(), kind, "{error}");
            assert_eq!(error.is_retryable(), kind == ErrorKind::Unavailable);
            assert!(error.message().contains(bucket), "{error}");
            let text = format!("{error} {error:?} {storage:?}");
            assert!(!text.contains(SECRET) && !text.contains(stranger), "{text}");
        }
    }
}

#[tokio::test]
async fn put_if_absent_racing_itself_on_s3_creates_exactly_once() {
    let Some(gateway) = gateway() else { return };
    let storage = Storage::new(&gateway.options(), &[]).unwrap();
    let root = format!("s3://{}/t", gateway.bucket().unwrap());
    let root = storage.resolve(&root).unwrap();
    let store = storage.open(std::slice::from_ref(&root));
    for round in 0..20 {
        let file = root.join(&format!("new/{round}/f")).unwrap();
        let puts = (0..16).map(|task| {
            let (store, file) = (store.clone(), file.clone());
            tokio::spawn(async move {
                let bytes = Bytes::from(format!("task {task}"));
                (task, store.put_if_absent(&file, bytes).await.unwrap())
            })
        });
        let outcomes = futures::future::join_all(puts).await;
        let winners: Vec<i32> = outcomes
            .into_iter()
            .map(Result::unwrap)
            .filter(|(_, outcome)| *outcome == PutOutcome::Created)
            .map(|(task, _)| task)
            .collect();
        assert_eq!(winners.len(), 1, "round {round}");
        let found = store.get(&file).await.unwrap();
        assert_eq!(found, format!("task {}", winners[0]));
    }
    // The probe left nothing behind.
    assert_eq!(store.list(&root).await.unwrap().len(), 20);
}

#[tokio::test]
async fn keys_of_a_catalog_replace_those_of_the_session_and_never_mix_with_them() {
    let session = S3Options::new(&options(&[
        KEYS[0],
        KEYS[1],
        ("s3.session-token", "token-1"),
        ("client.region", "eu-north-1"),
    ]))
    .unwrap();
    let given = [
        ("s3.access-key-id", "id-3"),
        ("s3.secret-access-key", "secret-3"),
    ];
    let vended = session.vended(&options(&given)).unwrap().unwrap();
    let client = vended.client("bucket", &|_| None).unwrap();
    let expected = ("id-3".to_string(), "secret-3".to_string(), None);
    assert_eq!(keys(&client).await, expected);
    assert!(format!("{client:?}").contains("eu-north-1"));
    let region = options(&[("client.region", "x"), ("py-io-impl", "y")]);
    assert!(session.vended(&region).unwrap().is_none());
    let plain = [given[0], given[1], ("s3.endpoint", "http://h")];
    let refused = session.vended(&options(&plain)).map(drop);
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::PermissionDenied);
}
