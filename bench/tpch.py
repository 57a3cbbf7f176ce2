#!/usr/bin/env python3
"""TPC-H over Iceberg tables without index against plain DataFusion over the same Parquet files, in one process, turn by turn.

Needs tpchgen-cli, and the queries in data/tpch under BSDB_SHARED. Usage: bench/tpch.py PATH_OF_EXAMPLE_tpch_bench
[--scale N] [--rounds N]. Writes bench/results/tpch.json.
"""

import argparse
import json
import math
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile

GENERATOR = pathlib.Path(sys.executable).parent / "tpchgen-cli"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binary")
    parser.add_argument("--scale", default="1")
    parser.add_argument("--rounds", default="5")
    parser.add_argument("--out", default=str(pathlib.Path(__file__).parent / "results" / "tpch.json"))
    options = parser.parse_args()
    queries = pathlib.Path(os.environ.get("BSDB_SHARED", "../shared")) / "data" / "tpch" / "queries"
    if not queries.exists():
        sys.exit(f"skipped: no queries in {queries}; name the folder above data/tpch in BSDB_SHARED")
    with tempfile.TemporaryDirectory() as folder:
        parquet, warehouse = os.path.join(folder, "parquet"), os.path.join(folder, "lake")
        os.mkdir(warehouse)
        subprocess.run([GENERATOR, "parquet", "-s", options.scale, f"--output-dir={parquet}"], check=True, capture_output=True)
        bench = [options.binary, parquet, warehouse, queries, options.rounds]
        done = subprocess.run(bench, check=True, stdout=subprocess.PIPE, text=True)
    figures = []
    for line in done.stdout.splitlines():
        query = json.loads(line)
        ours, plain = statistics.median(query["ours"]), statistics.median(query["datafusion"])
        figures.append({"query": query["query"], "ours": round(ours, 4), "datafusion": round(plain, 4), "ratio": round(ours / plain, 3)})
    result = {
        "scale": options.scale,
        "rounds": int(options.rounds),
        "time": "seconds, median of the rounds, sides alternate",
        "cores": os.cpu_count(),
        "machine": platform.machine(),
        "queries": figures,
        "geometric_mean_ratio": round(math.exp(statistics.fmean(math.log(f["ratio"]) for f in figures)), 3),
    }
    with open(options.out, "w") as file:
        json.dump(result, file, indent=1)
        file.write("\n")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
