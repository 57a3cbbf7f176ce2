"""The main job on real data: write, index, search and merge an Iceberg table in Spark, and let PyIceberg confirm it.

Run by `make quickstart`. Everything is written below a temporary folder that is removed at the end.
"""

import argparse
import glob
import os
import pathlib
import re
import statistics
import tempfile
import time

import numpy
import pyarrow
import pyarrow.parquet
from pyiceberg.table import StaticTable
from pyspark.sql import SparkSession

DATA = pathlib.Path(__file__).parent / "data" / "python_docs.parquet"
ROWS, DIMENSION, CLUSTERS, FILES = 200_000, 128, 500, 4


def open_session(jar, warehouse):
    """What a user types: the JAR, the extension, a catalog and its warehouse."""
    return (
        SparkSession.builder.master("local[2]")
        .appName("quickstart")
        .config("spark.jars", jar)
        .config("spark.sql.extensions", "com.benostreamdb.spark.BenoStreamExtensions")
        .config("spark.sql.catalog.lake", "com.benostreamdb.spark.BenoStreamCatalog")
        .config("spark.sql.catalog.lake.warehouse", warehouse)
        .config("spark.sql.catalogImplementation", "in-memory")
        .config("spark.driver.memory", "4g")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )


def show(spark, title, statement, width=60):
    print(f"\n-- {title}")
    print("   " + " ".join(statement.split())[:200])
    spark.sql(statement).show(10, truncate=width)


def index_in_plan(spark, statement):
    plan = spark.sql(f"EXPLAIN {statement}").first()[0]
    print("   EXPLAIN says: " + "; ".join(re.findall(r"index \w+: \d+ segments|rows proposed: \d+|rows: \d+", plan)))


def literal(vector):
    return "array(" + ", ".join(f"{v:.6f}" for v in vector) + ")"


def real_data(spark, warehouse):
    spark.read.parquet(str(DATA)).createOrReplaceTempView("downloaded")
    spark.sql("CREATE NAMESPACE lake.docs")
    spark.sql("CREATE TABLE lake.docs.python AS SELECT * FROM downloaded")
    count = spark.table("lake.docs.python").count()
    print(f"\n1. An Iceberg table of {count} documented functions, classes and methods of Python's standard library.")
    print("\n2. Three indexes over it, built as Spark jobs:")
    for column, kind in [("kind", "bitmap"), ("text", "bm25"), ("embedding", "hnsw")]:
        start = time.perf_counter()
        spark.sql(f"CALL lake.system.create_index(table => 'docs.python', columns => array('{column}'), kind => '{kind}')")
        print(f"   {kind:<7} on {column:<10} {time.perf_counter() - start:5.1f} s")
    query = spark.sql("SELECT embedding FROM lake.docs.python WHERE name = 'json.dumps'").first()[0]
    near = literal(query)
    print("\n3. Queries that use them:")
    filtered = "SELECT kind, count(*) AS rows FROM lake.docs.python WHERE kind IN ('class', 'function') GROUP BY kind ORDER BY kind"
    show(spark, "a filter, answered from the bitmap index", filtered)
    index_in_plan(spark, filtered)
    show(spark, "full text, best BM25 score first", "SELECT round(_score, 2) AS score, name, replace(text, '\\n', ' ') AS text FROM bm25_search('lake.docs.python', 'text', 'remove a directory tree', 5) ORDER BY _score DESC")
    search = "SELECT round(_distance, 3) AS distance, kind, name FROM vector_search('lake.docs.python', 'embedding', {}, 5{}) ORDER BY _distance"
    print("\n-- nearest in meaning to json.dumps (a vector of 384 floats)")
    spark.sql(search.format(near, "")).show(truncate=60)
    print("-- the same among classes only: the filter selects before the nearest are taken")
    spark.sql(search.format(near, ", filter => \"kind = 'class'\"")).show(truncate=60)
    print("4. A batch of changes, merged in one commit:")
    spark.sql(
        "MERGE INTO lake.docs.python t USING (SELECT id, id % 3 AS action FROM range(0, 30) UNION ALL SELECT id, 3 FROM range(100000, 100010)) s "
        "ON t.id = s.id WHEN MATCHED AND s.action = 0 THEN DELETE WHEN MATCHED AND s.action = 1 THEN UPDATE SET text = concat('[changed] ', t.text) "
        "WHEN NOT MATCHED THEN INSERT (id, module, name, kind, text) VALUES (s.id, 'example', concat('example.f', s.id), 'function', 'a zebra function that was merged in')"
    )
    show(spark, "the search sees the merged rows at once, before any index is refreshed", "SELECT round(_score, 2) AS score, name, text FROM bm25_search('lake.docs.python', 'text', 'zebra', 3) ORDER BY _score DESC, name")
    spark.sql("CALL lake.system.refresh_index(table => 'docs.python')")
    ours = spark.table("lake.docs.python").count()
    versions = glob.glob(os.path.join(warehouse, "docs", "python", "metadata", "v*.metadata.json"))
    newest = max(versions, key=lambda path: int(os.path.basename(path)[1:].split(".")[0]))
    theirs = StaticTable.from_metadata(newest).scan(selected_fields=("id",)).to_arrow().num_rows
    print(f"5. Rows after the merge: Spark counts {ours}, PyIceberg reads {theirs} from the same files.")
    if ours != theirs or ours != count:
        raise SystemExit("the two readers disagree")


def generated_data(spark, warehouse):
    random = numpy.random.default_rng(7)
    centres = random.normal(size=(CLUSTERS, DIMENSION)).astype(numpy.float32)
    folder = tempfile.mkdtemp(dir=warehouse)
    for file in range(FILES):
        rows = ROWS // FILES
        vectors = centres[random.integers(0, CLUSTERS, rows)] + 0.3 * random.normal(size=(rows, DIMENSION)).astype(numpy.float32)
        ids = numpy.arange(file * rows, (file + 1) * rows)
        table = pyarrow.table(
            {
                "id": ids,
                "bucket": ids * 7919 % 1000,
                "v": pyarrow.FixedSizeListArray.from_arrays(vectors.astype(numpy.float32).reshape(-1), DIMENSION).cast(pyarrow.list_(pyarrow.float32())),
            }
        )
        pyarrow.parquet.write_table(table, os.path.join(folder, f"{file}.parquet"))
    print(f"\n6. A generated table of {ROWS:,} rows x {DIMENSION} floats. Building its vector graph takes half a minute to two:", flush=True)
    spark.sql(f"CREATE TABLE lake.docs.generated AS SELECT * FROM parquet.`{folder}`")
    start = time.perf_counter()
    spark.sql("CALL lake.system.create_index(table => 'docs.generated', columns => array('v'), kind => 'hnsw')")
    graph = time.perf_counter() - start
    spark.sql("CALL lake.system.create_index(table => 'docs.generated', columns => array('bucket'), kind => 'bitmap')")
    print(f"   built in {graph:.1f} s. The same searches with and without index, seconds a query (median of three, after one warm-up):\n")
    query = literal(centres[3] + 0.1)
    cases = [
        ("nearest 10", ""),
        ("nearest 10 of 1 % of the rows", ", filter => 'bucket < 10'"),
        ("nearest 10 of one row in 1,000", ", filter => 'bucket = 7'"),
    ]
    print(f"   {'query':<34}{'index':>8}{'scan':>8}")
    for name, extra in cases:
        times = [median(spark, query, f"{extra}, recall => '{recall}'") for recall in ("balanced", "exact")]
        word = f"the index is {times[1] / times[0]:.1f} x faster" if times[0] < times[1] else "the scan wins"
        print(f"   {name:<34}{times[0]:8.3f}{times[1]:8.3f}  {word}")


def median(spark, query, extra):
    times = []
    for _ in range(4):
        start = time.perf_counter()
        found = spark.sql(f"SELECT id, _distance FROM vector_search('lake.docs.generated', 'v', {query}, 10{extra})").collect()
        times.append(time.perf_counter() - start)
        if len(found) != 10:
            raise SystemExit(f"expected 10 rows, got {len(found)}")
    return statistics.median(times[1:])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jar", required=True)
    jar = parser.parse_args().jar
    start = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="benostream-quickstart-") as warehouse:
        spark = open_session(os.path.abspath(jar), warehouse)
        spark.sparkContext.setLogLevel("ERROR")
        real_data(spark, warehouse)
        generated_data(spark, warehouse)
        spark.stop()
    print(f"\nDone in {time.perf_counter() - start:.0f} s. Next: README.md shows how to index tables of your own.")


if __name__ == "__main__":
    main()
