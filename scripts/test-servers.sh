#!/bin/bash
# Installs the servers that tests start: an S3 server (Go) and the libraries of Iceberg's REST catalog (Maven).
set -euo pipefail
source "$(dirname "$0")/environment.sh"

mkdir -p "$BSDB_CACHE/tools/bin"
if ! "$versitygw" --version 2>/dev/null | grep -q "$versitygw_version"; then
  command -v go >/dev/null || {
    echo "missing: Go 1.25 or later (go on the PATH; see https://go.dev/dl)" >&2
    exit 1
  }
  echo "installing the S3 server of the tests into $BSDB_CACHE/tools"
  GOBIN="$BSDB_CACHE/tools/bin" GOFLAGS=-buildvcs=false go install \
    -ldflags "-s -w -X main.Version=$versitygw_version" "github.com/versity/versitygw/cmd/versitygw@v$versitygw_version"
fi
catalog_server="$BSDB_CACHE/tools/catalog-server"
if ! cmp -s "$root/tests/catalog-server/pom.xml" "$catalog_server/pom.xml"; then
  echo "fetching the libraries of the tests' catalog server into $catalog_server"
  rm -rf "$catalog_server"
  mvn --batch-mode --no-transfer-progress --quiet -f "$root/tests/catalog-server/pom.xml" \
    dependency:copy-dependencies -DoutputDirectory="$catalog_server"
  cp "$root/tests/catalog-server/pom.xml" "$catalog_server/pom.xml"
fi
