#!/bin/bash
# Format, lints and licences: Rust, then Java.
set -euo pipefail
source "$(dirname "$0")/environment.sh"

cd "$root"
cargo fmt --all --check
cargo clippy --profile dist --workspace --all-targets --locked --quiet -- -D warnings
"$cargo_deny" check licenses bans sources
maven --quiet -Plint compile spotless:check
