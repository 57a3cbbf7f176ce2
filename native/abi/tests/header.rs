//! The committed header is what the source says. `BSDB_UPDATE=1 cargo test --test header` writes it anew.
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

use std::path::Path;

#[test]
fn header_is_current() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(root.join("cbindgen.toml")).unwrap();
    let mut header = Vec::new();
    let builder = cbindgen::Builder::new()
        .with_config(config)
        .with_src(root.join("src/capi.rs"));
    builder.generate().unwrap().write(&mut header);
    let path = root.join("include/benostreamdb.h");
    if std::env::var_os("BSDB_UPDATE").is_some() {
        std::fs::write(&path, &header).unwrap();
    }
    let committed = std::fs::read(&path).unwrap_or_default();
    assert!(
        committed == header,
        "include/benostreamdb.h is not current; run with BSDB_UPDATE=1"
    );
}
