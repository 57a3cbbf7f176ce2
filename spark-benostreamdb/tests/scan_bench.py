"""Spark scan through the bridge against Spark's own Parquet reader on the same files.

    python scan_bench.py --jar benostreamdb-spark-4.0_2.13-0.1.0.jar [--rows 1000000] [--runs 5]

Prints one JSON line: medians in milliseconds and their ratio.
"""

import argparse
import glob
import json
import os
import statistics
import tempfile
import time

from pyspark.sql import SparkSession

COLUMNS = (
    "id, cast(id AS int) AS i, id / 7.0D AS d, cast(id AS float) AS f, "
    "concat('value ', id % 100000) AS s, date_add(date'2000-01-01', cast(id % 10000 AS int)) AS dt, "
    "timestamp_micros(id * 1000003) AS ts, id % 3 = 0 AS b"
)
QUERY = (
    "SELECT sum(id), count(id), sum(i), count(i), sum(d), count(d), sum(f), count(f), "
    "sum(length(s)), count(s), sum(unix_date(dt)), count(dt), sum(unix_micros(ts) % 1000), count(ts), "
    "sum(if(b, 1, 0)), count(b) FROM {}"
)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jar", required=True)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=5)
    arguments = parser.parse_args()
    warehouse = tempfile.mkdtemp()
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.jars", os.path.abspath(arguments.jar))
        .config("spark.ui.enabled", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.catalogImplementation", "in-memory")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.catalog.bs", "com.benostreamdb.spark.BenoStreamCatalog")
        .config("spark.sql.catalog.bs.warehouse", warehouse)
        .getOrCreate()
    )
    spark.sql("CREATE NAMESPACE bs.ns")
    spark.sql(f"CREATE TABLE bs.ns.t AS SELECT {COLUMNS} FROM range(0, {arguments.rows}, 1, 4)")
    files = glob.glob(os.path.join(warehouse, "ns", "t", "data", "**", "*.parquet"), recursive=True)
    spark.read.parquet(*files).createOrReplaceTempView("plain")
    sources = {"benostream": QUERY.format("bs.ns.t"), "parquet": QUERY.format("plain")}
    answers = {name: spark.sql(query).collect() for name, query in sources.items()}
    if answers["benostream"] != answers["parquet"]:
        raise SystemExit(f"answers differ: {answers}")
    times = {name: [] for name in sources}
    for run in range(arguments.runs + 3):
        for name, query in sources.items():
            start = time.perf_counter()
            spark.sql(query).collect()
            if run >= 3:
                times[name].append((time.perf_counter() - start) * 1000)
    medians = {name: round(statistics.median(taken), 1) for name, taken in times.items()}
    ratio = round(medians["benostream"] / medians["parquet"], 3)
    print(json.dumps({"rows": arguments.rows, "files": len(files), "median_ms": medians, "ratio": ratio}))


if __name__ == "__main__":
    main()
