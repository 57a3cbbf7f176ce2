# Sourced by the other scripts: where tools and build products are.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
export BSDB_CACHE="${BSDB_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/benostreamdb}"
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$BSDB_CACHE/target}"
export CARGO_TERM_COLOR="${CARGO_TERM_COLOR:-never}"
export BSDB_SHARED="${BSDB_SHARED:-$root/../shared}"
export BSDB_CLI="$CARGO_TARGET_DIR/dist/benostreamdb"
export BSDB_TPCH_BENCH="$CARGO_TARGET_DIR/dist/examples/tpch_bench"
native_library="$CARGO_TARGET_DIR/dist/libbenostreamdb.so"
export BSDB_SPARK_JAR="$root/spark-benostreamdb/spark-4.0/target/benostreamdb-spark-4.0_2.13-0.1.0.jar"
spark_jar="$BSDB_SPARK_JAR"
venv="$BSDB_CACHE/venv"
cargo_deny="$BSDB_CACHE/tools/bin/cargo-deny"
versitygw="$BSDB_CACHE/tools/bin/versitygw"
versitygw_version=1.8.0

# A JDK 17 for the bridge and Spark.
find_java17() {
  local home
  for home in "${JAVA_HOME:-}" /usr/lib/jvm/*17*; do
    if [ -x "$home/bin/javac" ] && "$home/bin/javac" -version 2>&1 | grep -q '^javac 17'; then
      echo "$home"
      return 0
    fi
  done
  return 1
}
if java_home=$(find_java17); then
  export JAVA_HOME="$java_home"
fi

# Maven ends quiet runs with escape sequences, whatever it is told about colours.
maven() {
  mvn --batch-mode --no-transfer-progress -f "$root/maven/pom.xml" "$@" 2>&1 | sed -u 's/\x1b\[[0-9;]*m//g'
}

# Cargo tells a changed source by its time alone and names the sources of every clone alike: what
# another clone built into the shared target folder would pass for this one's.
if [ "$(cat "$CARGO_TARGET_DIR/built-from" 2>/dev/null)" != "$root" ]; then
  mkdir -p "$CARGO_TARGET_DIR"
  find "$root/native" -name '*.rs' -exec touch {} +
  echo "$root" >"$CARGO_TARGET_DIR/built-from"
fi
