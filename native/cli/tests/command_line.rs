//! The command line as users run it: output, exit codes, and what stands where.
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

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path =
            std::env::temp_dir().join(format!("benostreamdb-cli-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_benostreamdb"))
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

fn sql(folder: &Folder, format: &str, text: &str) -> Output {
    run(&[
        "sql",
        "--warehouse",
        folder.path().to_str().unwrap(),
        "--format",
        format,
        "-e",
        text,
    ])
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

fn done(output: &Output) -> &str {
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}

#[test]
fn sql_in_every_format_prints_the_rows() {
    let folder = Folder::new("formats");
    let create = "CREATE TABLE t (id int, s text, v vector(2));
        INSERT INTO t VALUES (1, 'a', '[1,2]'), (2, '', NULL), (3, NULL, '[0.5,-1]')";
    assert_eq!(done(&sql(&folder, "csv", create)), "count\n3\n");
    let query = "SELECT * FROM t ORDER BY id";
    assert_eq!(
        done(&sql(&folder, "csv", query)),
        "id,s,v\n1,a,\"[1.0,2.0]\"\n2,\"\",\n3,,\"[0.5,-1.0]\"\n"
    );
    assert_eq!(
        done(&sql(&folder, "json", query)),
        "{\"id\":1,\"s\":\"a\",\"v\":[1.0,2.0]}\n{\"id\":2,\"s\":\"\",\"v\":null}\n{\"id\":3,\"s\":null,\"v\":[0.5,-1.0]}\n"
    );
    let table = done(&sql(&folder, "table", query)).to_string();
    assert!(table.starts_with(" id | s"), "{table}");
    assert!(table.ends_with("(3 rows)\n"), "{table}");
    assert_eq!(
        done(&sql(&folder, "csv", "SELECT id FROM t LIMIT 0")),
        "id\n"
    );
    assert_eq!(done(&sql(&folder, "json", "SELECT id FROM t LIMIT 0")), "");
    assert_eq!(
        done(&sql(&folder, "json", "SELECT 1 AS a; SELECT 2 AS b")),
        "{\"a\":1}\n{\"b\":2}\n"
    );
}

#[test]
fn a_failing_statement_prints_an_error_and_nothing_else() {
    let folder = Folder::new("errors");
    for (statement, kind) in [
        ("SELECT * FROM nope", "NotFound"),
        ("SELEC 1", "InvalidInput"),
        ("SELECT 1 / 0", "InvalidInput"),
        (
            "SELECT a.x, b.x FROM (SELECT 1 AS x) a, (SELECT 2 AS x) b",
            "InvalidInput",
        ),
        (
            "MERGE INTO t USING u ON t.id = u.id WHEN MATCHED THEN DELETE",
            "Unsupported",
        ),
    ] {
        for format in ["table", "csv", "json"] {
            let output = sql(&folder, format, statement);
            assert_eq!(output.status.code(), Some(1), "{statement}");
            assert_eq!(text(&output.stdout), "", "{statement}");
            assert!(
                text(&output.stderr).contains(kind),
                "{statement}: {}",
                text(&output.stderr)
            );
        }
    }
    let output = sql(
        &folder,
        "csv",
        "SELECT 1 AS a; SELECT * FROM nope; SELECT 2 AS b",
    );
    assert_eq!(
        (output.status.code(), text(&output.stdout)),
        (Some(1), "a\n1\n")
    );
}

#[test]
fn wrong_usage_exits_with_two() {
    for arguments in [
        &["sql", "-e"][..],
        &["nope"],
        &["sql", "-e", "SELECT 1", "--format", "xml"],
        &["sql", "-e", "SELECT 1", "--map-prefix", "nope"],
        &["index", "create", "t", "--kind", "bitmap"],
        &[],
    ] {
        assert_eq!(run(arguments).status.code(), Some(2), "{arguments:?}");
    }
}

#[test]
fn help_has_examples_within_eighty_columns() {
    for arguments in [
        &["--help"][..],
        &["sql", "--help"],
        &["describe", "--help"],
        &["index", "create", "--help"],
    ] {
        let output = run(arguments);
        let help = done(&output);
        assert!(help.contains("Examples:"), "{arguments:?}");
        assert!(
            help.lines()
                .filter(|line| !line.starts_with("Usage:"))
                .all(|line| line.chars().count() <= 80),
            "{help}"
        );
    }
}

#[test]
fn files_and_standard_input_hold_statements() {
    let folder = Folder::new("files");
    let script = folder.path().join("script.sql");
    std::fs::write(&script, "-- a comment\nSELECT 'é;' AS a;\n").unwrap();
    let output = run(&["sql", "--format", "csv", "-f", script.to_str().unwrap()]);
    assert_eq!(done(&output), "a\né;\n");
    let mut child = Command::new(env!("CARGO_BIN_EXE_benostreamdb"))
        .args(["sql", "--format", "csv", "-f", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"SELECT 7 AS b").unwrap();
    assert_eq!(done(&child.wait_with_output().unwrap()), "b\n7\n");
    let output = run(&["sql", "-f", "/nope.sql"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("/nope.sql"));
}

#[test]
fn tables_are_described_indexed_and_listed() {
    let folder = Folder::new("tables");
    let warehouse = folder.path().to_str().unwrap();
    done(&sql(
        &folder,
        "csv",
        "CREATE TABLE t (id int NOT NULL, s text); INSERT INTO t VALUES (1, 'a')",
    ));
    let described = done(&run(&["describe", "--warehouse", warehouse, "t"])).to_string();
    assert!(
        described.contains("location: ") && described.contains("rows in data files: 1"),
        "{described}"
    );
    let columns = done(&run(&[
        "describe",
        "--warehouse",
        warehouse,
        "t",
        "--format",
        "csv",
    ]))
    .to_string();
    assert_eq!(
        columns,
        "column,type,nullable,field_id,doc\nid,int,false,1,\ns,string,true,2,\n"
    );
    let location = format!("{warehouse}/default/t");
    let created = run(&[
        "index", "create", &location, "--kind", "bitmap", "--column", "s", "--format", "csv",
    ]);
    assert_eq!(done(&created), "index_name\ns_bitmap\n");
    done(&sql(&folder, "csv", "INSERT INTO t VALUES (2, 'b')"));
    let refreshed = run(&[
        "index",
        "refresh",
        "--warehouse",
        warehouse,
        "t",
        "--format",
        "csv",
    ]);
    assert_eq!(done(&refreshed), "indexed_files\n1\n");
    let listed = done(&run(&["index", "list", &location, "--format", "csv"])).to_string();
    assert!(listed.contains("s_bitmap,bitmap,s,2,2,"), "{listed}");
    done(&run(&["index", "drop", &location, "s_bitmap"]));
    let again = run(&["index", "drop", &location, "s_bitmap"]);
    assert_eq!(again.status.code(), Some(1));
    let snapshots = done(&run(&["snapshots", &location, "--format", "csv"])).to_string();
    assert_eq!(snapshots.lines().count(), 3, "{snapshots}");
    assert!(
        snapshots.starts_with(
            "committed_at,snapshot_id,parent_id,operation,added_records,total_records,total_position_deletes\n"
        )
    );
}

/// A child without rights, since a test that runs as root may read everything.
#[cfg(unix)]
#[test]
fn paths_without_permission_are_an_error_that_names_them() {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    use std::os::unix::process::CommandExt as _;

    const NOBODY: u32 = 65534;
    let folder = Folder::new("denied");
    done(&sql(
        &folder,
        "csv",
        "CREATE TABLE t (id int); INSERT INTO t VALUES (1)",
    ));
    let root = std::fs::metadata(folder.path()).unwrap().uid() == 0;
    let program = folder.path().join("program");
    std::fs::copy(env!("CARGO_BIN_EXE_benostreamdb"), &program).unwrap();
    let table = folder.path().join("default/t");
    let rights = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    let run = |text: &str| {
        let mut command = Command::new(&program);
        command.args([
            "sql",
            "--warehouse",
            folder.path().to_str().unwrap(),
            "-e",
            text,
        ]);
        if root {
            command.uid(NOBODY).gid(NOBODY);
        }
        command.stdin(Stdio::null()).output().unwrap()
    };
    for (path, text) in [
        (table.join("metadata"), "SELECT * FROM t"),
        (table.join("data"), "SELECT * FROM t"),
        (table.join("data"), "INSERT INTO t VALUES (2)"),
        (table.join("metadata"), "DELETE FROM t"),
    ] {
        rights(&path, 0o000);
        let output = run(text);
        rights(&path, 0o755);
        let message = self::text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{text}: {message}");
        assert!(output.stdout.is_empty(), "{text}");
        assert!(
            message.starts_with("error: PermissionDenied: "),
            "{text}: {message}"
        );
        assert!(
            message.contains(path.to_str().unwrap()),
            "{text}: {message}"
        );
    }
    assert_eq!(done(&sql(&folder, "csv", "SELECT * FROM t")), "id\n1\n");
}
