#!/bin/bash
# Builds everything once, in one cargo profile, with the whole workspace's features.
set -euo pipefail
source "$(dirname "$0")/environment.sh"

cd "$root"
cargo build --profile dist --workspace --locked
cp -f "$CARGO_TARGET_DIR/dist/libbenostreamdb_abi.so" "$native_library.new"
mv -f "$native_library.new" "$native_library"
maven --quiet package -DskipTests -Dbenostream.native.path="$native_library"
echo "built $BSDB_CLI"
echo "built $native_library"
echo "built $spark_jar"
