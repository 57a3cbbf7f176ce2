//! The command line over tables in S3: options, environment variables, and what is refused.
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests say what they expect by panicking"
)]

use std::process::{Command, Output, Stdio};
use std::sync::Arc;

use benostreamdb::testing::{Gateway, KEY_ID, SECRET};

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

/// Runs a command with these variables and none of those that AWS's tools read.
fn run(environment: &[(&str, &str)], arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_benostreamdb"));
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("AWS_")) {
        command.env_remove(name);
    }
    command
        .env("AWS_EC2_METADATA_DISABLED", "true")
        .envs(environment.iter().copied())
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

fn done(output: &Output) -> &str {
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}

/// The arguments that name the server and its keys.
fn options(gateway: &Gateway) -> Vec<String> {
    let options = gateway.options();
    let pairs = options.iter().map(|(key, value)| format!("{key}={value}"));
    pairs
        .flat_map(|pair| ["--option".to_string(), pair])
        .collect()
}

#[test]
fn table_in_s3_is_created_indexed_and_searched_by_options() {
    let Some(gateway) = gateway() else { return };
    let warehouse = format!("s3://{}/wh", gateway.bucket().unwrap());
    let options = options(&gateway);
    let with = |arguments: &[&str]| {
        let mut all: Vec<&str> = arguments.to_vec();
        all.extend(options.iter().map(String::as_str));
        run(&[], &all)
    };
    let sql = |statement: &str| {
        with(&[
            "sql",
            "--warehouse",
            &warehouse,
            "--format",
            "csv",
            "-e",
            statement,
        ])
    };
    let create = "CREATE TABLE t (id int, s text);
        INSERT INTO t VALUES (1, 'quick fox'), (2, 'lazy dog'), (3, NULL)";
    assert_eq!(done(&sql(create)), "count\n3\n");
    let location = format!("{warehouse}/default/t");
    let create = [
        "index", "create", &location, "--kind", "bm25", "--column", "s",
    ];
    done(&with(&create));
    let search = "SELECT id FROM bm25_search('t', 's', 'fox', 5)";
    assert_eq!(done(&sql(search)), "id\n1\n");
    assert_eq!(done(&sql("DELETE FROM t WHERE id = 1")), "count\n1\n");
    assert_eq!(done(&sql(search)), "id\n");
    let described = with(&["describe", &location.replace("s3:", "s3a:")]);
    assert!(done(&described).contains(&location), "{described:?}");
    assert!(done(&with(&["snapshots", &location])).contains("delete"));
    done(&sql("DROP TABLE t"));
    let gone = sql("SELECT * FROM t");
    assert_eq!(gone.status.code(), Some(1));
    assert!(text(&gone.stderr).contains("NotFound"), "{gone:?}");
}

#[test]
fn keys_and_endpoint_may_come_from_the_environment() {
    let Some(gateway) = gateway() else { return };
    let warehouse = format!("s3://{}/wh", gateway.bucket().unwrap());
    let statement = "CREATE TABLE t AS SELECT 7 AS a; SELECT a FROM t";
    let arguments = [
        "sql",
        "--warehouse",
        &warehouse,
        "--format",
        "csv",
        "-e",
        statement,
    ];
    let endpoint = gateway.endpoint();
    let mut environment = vec![("AWS_ENDPOINT_URL", endpoint.as_str())];
    let refused = run(&environment, &arguments);
    assert_eq!(refused.status.code(), Some(1));
    let message = text(&refused.stderr);
    assert!(
        message.contains("PermissionDenied") && message.contains("s3.access-key-id"),
        "{message}"
    );
    environment.push(("AWS_ACCESS_KEY_ID", KEY_ID));
    environment.push(("AWS_SECRET_ACCESS_KEY", SECRET));
    assert!(done(&run(&environment, &arguments)).ends_with("a\n7\n"));
}

#[test]
fn wrong_options_end_with_an_error_that_hides_their_values() {
    let value = "s3cr3t-value";
    let keys = [
        "s3.secret-access-key",
        "s3.sse.key",
        "adls.sas-token",
        "gcs.oauth2.token",
        "token-of-mine",
    ];
    for key in keys {
        let pair = format!("{key}={value}");
        let output = run(&[], &["sql", "-e", "SELECT 1", "--option", &pair]);
        assert_eq!(output.status.code(), Some(1), "{key}");
        assert_eq!(text(&output.stdout), "", "{key}");
        let message = text(&output.stderr);
        assert!(
            message.contains(key) && !message.contains(value),
            "{message}"
        );
    }
    let location = "SELECT * FROM 's3://AK:s3cr3t-value@bucket/t'";
    let output = run(&[], &["sql", "-e", location]);
    assert_eq!(output.status.code(), Some(1));
    assert!(!text(&output.stderr).contains(value), "{output:?}");
}
