//! A C program compiled against the committed header opens a table, writes, scans and handles errors.
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

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The library lies beside the tests' own folder.
fn library() -> PathBuf {
    let test = env::current_exe().unwrap();
    let folder = test.parent().unwrap();
    let places = [folder.to_owned(), folder.parent().unwrap().to_owned()];
    let file = places
        .iter()
        .map(|place| place.join("libbenostreamdb_abi.so"))
        .find(|file| file.exists());
    file.expect("libbenostreamdb_abi.so was built with this test")
}

fn run(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let text = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(output.status.success(), "{command:?}: {text}");
    text
}

#[test]
fn c_program_writes_scans_and_handles_errors() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = env::temp_dir().join(format!("bsdb-c-client-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::copy(library(), folder.join("libbenostreamdb.so")).unwrap();
    let program = folder.join("client");
    let compiler = env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    run(Command::new(compiler)
        .args([
            "-std=c11",
            "-D_DEFAULT_SOURCE",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-O1",
        ])
        .arg(source.join("tests/c/client.c"))
        .arg("-I")
        .arg(source.join("include"))
        .arg("-L")
        .arg(&folder)
        .args(["-lbenostreamdb", "-Wl,-rpath"])
        .arg(format!("-Wl,{}", folder.display()))
        .arg("-o")
        .arg(&program));
    let answer = run(Command::new(&program).arg(folder.join("table")));
    assert_eq!(answer, "ok\n");
    std::fs::remove_dir_all(&folder).unwrap();
}
