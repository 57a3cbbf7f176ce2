#!/bin/bash
# Builds the connectors and collects them in connector-artifacts/.
set -euo pipefail
cd "$(dirname "$0")"
if [ "${1:-}" = "--cuda" ]; then
  echo "Unsupported: this build has no CUDA kernels yet; run without --cuda" >&2
  exit 1
fi
if [ $# -gt 0 ]; then
  echo "usage: ./build-connectors.sh" >&2
  exit 2
fi
scripts/setup.sh
scripts/build.sh
source scripts/environment.sh
mkdir -p connector-artifacts
cp -f "$spark_jar" "$native_library" "$BSDB_CLI" native/abi/include/benostreamdb.h connector-artifacts/
strip connector-artifacts/benostreamdb connector-artifacts/libbenostreamdb.so
ls -l connector-artifacts
