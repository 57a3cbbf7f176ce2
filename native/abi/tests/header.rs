//! The committed header is what the source says. `BSDB_UPDATE=1 cargo test --test header` writes it anew.

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
