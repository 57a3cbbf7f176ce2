"""The 22 queries of TPC-H over Iceberg tables, by the binary that also measures them: answers as recorded.

Queries and answers are in `data/tpch` under BSDB_SHARED; without them these tests are skipped. The data comes from
tpchgen-cli, the binary is named by BSDB_TPCH_BENCH.
"""

import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(os.environ.get("BSDB_SHARED", "../shared")) / "data" / "tpch"
GENERATOR = pathlib.Path(sys.executable).parent / "tpchgen-cli"
TOLERANCE = 1e-6


def rows(file, skip):
    """A line a row; a single NULL is an empty line, or a quoted nothing."""
    lines = file.read_text().splitlines()[skip:]
    return [[value(text) for text in line.replace('""', "").split("|")] for line in lines]


def value(text):
    try:
        return float(text)
    except ValueError:
        return text


def equal(ours, theirs):
    if isinstance(ours, float) and isinstance(theirs, float):
        return abs(ours - theirs) <= TOLERANCE * max(1, abs(theirs))
    return ours == theirs


@pytest.mark.skipif(not ROOT.exists(), reason=f"no queries in {ROOT}")
@pytest.mark.parametrize("scale", ["0.01", "0.1"])
def test_answers_are_those_recorded(scale, tmp_path):
    parquet, warehouse = tmp_path / "parquet", tmp_path / "lake"
    subprocess.run([GENERATOR, "parquet", "-s", scale, f"--output-dir={parquet}"], check=True, capture_output=True)
    warehouse.mkdir()
    bench = [os.environ["BSDB_TPCH_BENCH"], parquet, warehouse, ROOT / "queries", "1"]
    done = subprocess.run(bench, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    queries = sorted(file.stem for file in (ROOT / "queries").glob("*.sql"))
    assert len(queries) == 22
    for query in queries:
        theirs = rows(ROOT / "answers-tpchgen" / f"sf{scale}" / f"{query}.csv", 1)
        ours = rows(warehouse / f"{query}.csv", 0)
        assert len(ours) == len(theirs), query
        for our_row, their_row in zip(ours, theirs):
            assert len(our_row) == len(their_row), query
            assert all(map(equal, our_row, their_row)), f"{query}: {our_row} is not {their_row}"
