#!/bin/bash
# Format, lints and licences of the Rust crates.
set -euo pipefail
source "$(dirname "$0")/environment.sh"

cd "$root"
cargo fmt --all --check
cargo clippy --profile dist --workspace --all-targets --locked --quiet -- -D warnings
if command -v cargo-deny >/dev/null; then
  cargo deny --offline check licenses bans sources
else
  echo "cargo-deny is not installed (cargo install cargo-deny --locked): licences were not checked"
fi
