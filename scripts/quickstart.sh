#!/bin/bash
# Runs the quickstart with the JAR that was just built.
set -euo pipefail
source "$(dirname "$0")/environment.sh"
export PYTHONWARNINGS=ignore
"$venv/bin/python" "$root/quickstart/quickstart.py" --jar "$spark_jar" 2> >(grep -vE 'WARN|Setting default log level|To adjust logging level|Using Spark|incubator' >&2)
