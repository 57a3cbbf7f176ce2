#!/usr/bin/env python3
"""Planning one file of 10,000 by a filter, against PyIceberg over the same metadata.

Usage: bench/planning.py PATH_OF_EXAMPLE_plan_bench [--rounds N]. Writes bench/results/planning.json.
"""

import argparse
import json
import os
import pathlib
import platform
import statistics
import subprocess
import tempfile
import time

import pyiceberg
from pyiceberg.table import StaticTable


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binary")
    parser.add_argument("--rounds", default="7")
    parser.add_argument("--out", default=str(pathlib.Path(__file__).parent / "results" / "planning.json"))
    options = parser.parse_args()
    theirs = []
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([options.binary, folder, options.rounds], check=True, stdout=subprocess.PIPE, text=True)
        ours = json.loads(done.stdout)
        for _ in range(int(options.rounds)):
            started = time.perf_counter()
            table = StaticTable.from_metadata(ours["metadata"])
            tasks = list(table.scan(row_filter=f"day = {ours['day']} and id = {ours['id']}").plan_files())
            theirs.append(time.perf_counter() - started)
            assert len(tasks) == ours["files"] == 1, (len(tasks), ours["files"])
    mine, other = statistics.median(ours["seconds"]), statistics.median(theirs)
    result = {
        "files": 10_000,
        "manifests": 200,
        "rounds": int(options.rounds),
        "time": "seconds, median of the rounds, from opening the table",
        "cores": os.cpu_count(),
        "machine": platform.machine(),
        "pyiceberg_version": pyiceberg.__version__,
        "ours": round(mine, 5),
        "pyiceberg": round(other, 5),
        "ratio": round(mine / other, 3),
    }
    with open(options.out, "w") as file:
        json.dump(result, file, indent=1)
        file.write("\n")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
