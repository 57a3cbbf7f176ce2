#!/bin/bash
# Every test, cheapest first; a failing step does not hide the later ones. Ends with one total.
set -uo pipefail
source "$(dirname "$0")/environment.sh"
cd "$root" || exit 1
scripts/test-servers.sh || exit 1

passed=0 failed=0 skipped=0
logs=$(mktemp -d)

# Runs a step and keeps its output; its counter adds up what the runner printed.
step() { # name, counter, command ..
  local name=$1 counter=$2 start=$SECONDS
  shift 2
  echo "== $name"
  local out="$logs/$(tr 'A-Z ,' 'a-z--' <<<"$name").log"
  "$@" >"$out" 2>&1
  local status=$?
  local before=$failed good=$passed
  "$counter" "$out" "$status"
  if [ "$status" != 0 ] || [ "$failed" != "$before" ]; then
    [ "$failed" = "$before" ] && failed=$((failed + 1))
    tail -n "${BSDB_TEST_TAIL:-120}" "$out"
    echo "-- $name FAILED after $((SECONDS - start)) s, whole output in $out"
  else
    grep -hE '^(skipped|SKIPPED)' "$out" | sort -u
    case $((passed - good)) in
      0) echo "-- $name: ok in $((SECONDS - start)) s" ;;
      *) echo "-- $name: $((passed - good)) passed in $((SECONDS - start)) s" ;;
    esac
  fi
}

sum() { # file, sed expression that prints one number a line
  sed -nE "$2" "$1" | awk '{n += $1} END {print n + 0}'
}

count_one() { # a check that is one pass or one failure
  if [ "$2" = 0 ]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
}

count_nothing() {
  :
}

count_cargo() {
  passed=$((passed + $(sum "$1" 's/^test result: .* ([0-9]+) passed; .*/\1/p')))
  failed=$((failed + $(sum "$1" 's/^test result: .* ([0-9]+) failed; .*/\1/p')))
  skipped=$((skipped + $(sum "$1" 's/^test result: .* ([0-9]+) ignored; .*/\1/p')))
}

count_maven() { # the per-module totals, not the per-class lines
  local totals
  totals=$(grep -E 'Tests run: [0-9]+, Failures: [0-9]+, Errors: [0-9]+, Skipped: [0-9]+$' "$1" | sed 's/.*Tests run/Tests run/')
  local run bad skip
  run=$(sed -nE 's/.*Tests run: ([0-9]+).*/\1/p' <<<"$totals" | awk '{n += $1} END {print n + 0}')
  bad=$(sed -nE 's/.*Failures: ([0-9]+), Errors: ([0-9]+).*/\1 \2/p' <<<"$totals" | awk '{n += $1 + $2} END {print n + 0}')
  skip=$(sed -nE 's/.*Skipped: ([0-9]+).*/\1/p' <<<"$totals" | awk '{n += $1} END {print n + 0}')
  passed=$((passed + run - bad - skip)) failed=$((failed + bad)) skipped=$((skipped + skip))
}

count_pytest() { # from the last line, such as "1 failed, 20 passed, 3 skipped in 4.20s"
  local totals
  totals=$(grep -E '[0-9]+ (passed|failed|error|skipped).* in [0-9.]+s' "$1" | tail -n 1 | grep -oE '[0-9]+ (passed|failed|error|skipped)')
  passed=$((passed + $(sum /dev/stdin 's/ passed//p' <<<"$totals")))
  failed=$((failed + $(sum /dev/stdin 's/ (failed|error)//p' <<<"$totals")))
  skipped=$((skipped + $(sum /dev/stdin 's/ skipped//p' <<<"$totals")))
}

count_scenarios() {
  passed=$((passed + $(grep -oE '[a-z_]+: ok in' "$1" | wc -l)))
  failed=$((failed + $(grep -oE '[a-z_]+: FAILED in' "$1" | wc -l)))
}

iceberg_jar() {
  ls ~/.m2/repository/org/apache/iceberg/iceberg-spark-runtime-4.0_2.13/*/iceberg-spark-runtime-4.0_2.13-*.jar 2>/dev/null | grep -v sources | tail -n 1
}

step "format, lints, licences" count_one scripts/lint.sh
step "Rust tests" count_cargo cargo test --profile dist --workspace --locked --no-fail-fast
step "native library and command line" count_nothing scripts/build.sh
step "Java and Spark tests" count_maven maven verify -Dbenostream.native.path="$native_library"
step "Python tests" count_pytest "$venv/bin/python" -m pytest -q -rs tests
step "Spark distribution" count_scenarios "$venv/bin/python" spark-benostreamdb/tests/distribution_test.py --jar "$spark_jar" --iceberg-jar "$(iceberg_jar)"
step "JAR contents" count_one scripts/audit-jar.sh "$spark_jar"

echo
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
