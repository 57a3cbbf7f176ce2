#!/bin/bash
# The fat JAR holds our classes, our native library and metadata, nothing else, and needs no newer C library than it says.
set -euo pipefail
jar=$1
listing=$(python3 -c 'import sys, zipfile; print("\n".join(zipfile.ZipFile(sys.argv[1]).namelist()))' "$jar")
foreign=$(grep -vE '^(com/$|com/benostreamdb/|META-INF/)' <<<"$listing" || true)
if [ -n "$foreign" ]; then
  echo "entries outside com/benostreamdb and META-INF:"
  head -n 20 <<<"$foreign"
  exit 1
fi
if grep -E '^META-INF/(.*\.(SF|DSA|RSA)|maven/|versions/.*module-info)' <<<"$listing"; then
  echo "signatures or foreign metadata in the JAR"
  exit 1
fi
for wanted in com/benostreamdb/spark/BenoStreamCatalog.class com/benostreamdb/native/linux-x86_64/libbenostreamdb.so META-INF/services/org.apache.spark.sql.sources.DataSourceRegister; do
  grep -qx "$wanted" <<<"$listing" || { echo "the JAR lacks $wanted"; exit 1; }
done
echo "$(wc -l <<<"$listing") entries, $(stat -c %s "$jar") bytes"
