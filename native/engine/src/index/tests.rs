//! Index kinds are found by name.

use super::kind;
use crate::error::ErrorKind;

#[test]
fn kind_known_is_found() {
    assert_eq!(kind("bitmap").unwrap().name(), "bitmap");
}

#[test]
fn kind_announced_is_unsupported() {
    for name in [
        "sorted",
        "primary_key",
        "bloom",
        "json_path",
        "ivf_pq",
        "csr_graph",
    ] {
        let error = kind(name).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert_eq!(
            error.message(),
            format!("index kind {name} is not available yet")
        );
    }
}

#[test]
fn kind_unknown_lists_known() {
    let error = kind("btree").err().unwrap();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(
        error.message().contains("btree") && error.message().contains("bitmap"),
        "{error}"
    );
}
