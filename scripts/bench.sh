#!/bin/bash
# Ratios against named peers, both sides in one run; results go to bench/results/.
set -euo pipefail
source "$(dirname "$0")/environment.sh"
cd "$root"
"$venv/bin/pip" install --quiet --disable-pip-version-check hnswlib==0.8.0
cargo build --profile dist --workspace --locked --examples
"$venv/bin/python" bench/hnsw.py "$CARGO_TARGET_DIR/dist/examples/hnsw_bench"
"$venv/bin/python" bench/tpch.py "$BSDB_TPCH_BENCH"
"$venv/bin/python" bench/planning.py "$CARGO_TARGET_DIR/dist/examples/plan_bench"
"$venv/bin/python" spark-benostreamdb/tests/scan_bench.py --jar "$spark_jar" | tee bench/results/spark_scan.json
