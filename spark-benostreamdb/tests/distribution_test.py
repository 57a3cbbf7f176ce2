"""The fat JAR in a real Spark distribution (the pyspark package), as users run it.

    python distribution_test.py --jar benostreamdb-spark-4.0_2.13-0.1.0.jar [--iceberg-jar ..] [scenario ..]

Every scenario is a process of its own, because a virtual machine keeps the JARs it was started with.
"""

import argparse
import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import time

EXTENSIONS = "com.benostreamdb.spark.BenoStreamExtensions"
ICEBERG_EXTENSIONS = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"


def session(master, warehouse, jars, **settings):
    from pyspark.sql import SparkSession

    builder = (
        SparkSession.builder.master(master)
        .config("spark.jars", ",".join(jars))
        .config("spark.ui.enabled", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.catalogImplementation", "in-memory")
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.sql.warehouse.dir", tempfile.mkdtemp())
        .config("spark.sql.catalog.bs", "com.benostreamdb.spark.BenoStreamCatalog")
        .config("spark.sql.catalog.bs.warehouse", warehouse)
    )
    extensions = EXTENSIONS
    if len(jars) > 1:
        extensions += "," + ICEBERG_EXTENSIONS
        builder = (
            builder.config("spark.sql.catalog.ice", "org.apache.iceberg.spark.SparkCatalog")
            .config("spark.sql.catalog.ice.type", "hadoop")
            .config("spark.sql.catalog.ice.warehouse", "file://" + warehouse)
            .config("spark.sql.catalog.ice.cache-enabled", "false")
        )
    builder = builder.config("spark.sql.extensions", extensions)
    for key, value in settings.items():
        builder = builder.config(key.replace("__", "."), value)
    return builder.getOrCreate()


def values(spark, text):
    return [tuple(row) for row in spark.sql(text).collect()]


def expect(actual, wanted):
    if actual != wanted:
        raise AssertionError(f"expected {wanted}, got {actual}")


DOCS = (
    "SELECT id, concat('word', id % 10, ' common', if(id % 9973 = 0, ' rare', '')) AS text, "
    "array(cast(id AS float), cast(id % 7 AS float)) AS e FROM range({first}, {end}, 1, {files})"
)

SEARCHES = {
    "vector": "SELECT id FROM vector_search('bs.ns.docs', 'e', array(700.2, 0), 5)",
    "order": "SELECT id FROM bs.ns.docs ORDER BY "
    "bs.system.vector_l2_distance(e, array(cast(700.2 AS float), 0f)) NULLS LAST LIMIT 5",
    "text": "SELECT id FROM bm25_search('bs.ns.docs', 'text', 'rare', 1000)",
}

# What Spark computes of rows that it holds itself.
NEAREST = (
    "SELECT id FROM {} ORDER BY pow(e[0] - cast(700.2 AS float), 2) + pow(e[1], 2) NULLS LAST LIMIT 5"
)


def digest(table, where="true"):
    """A query whose answer differs for any other rows."""
    return f"SELECT count(*), sum(id), bit_xor(xxhash64(id, text, e)) FROM {table} WHERE {where}"


def make_docs(spark, files=8, rows=4000):
    spark.sql("CREATE NAMESPACE bs.ns")
    spark.sql("CREATE TABLE bs.ns.docs AS " + DOCS.format(first=0, end=rows, files=files))


def local(warehouse, jars):
    """Everything a newcomer does, beside Iceberg where its JAR is given."""
    spark = session("local[2]", warehouse, jars)
    make_docs(spark)
    spark.sql("CALL bs.system.create_index('ns.docs', array('e'), 'hnsw')")
    spark.sql("CALL bs.system.create_index('ns.docs', array('text'), 'bm25')")
    spark.sql("CALL bs.system.create_index('ns.docs', array('id'), 'bitmap')")
    expect(values(spark, "SELECT id FROM bs.ns.docs WHERE id = 77"), [(77,)])
    expect(
        values(spark, "SELECT id FROM vector_search('bs.ns.docs', 'e', array(700, 0), 1)"),
        [(700,)],
    )
    expect(
        len(values(spark, "SELECT id FROM bm25_search('bs.ns.docs', 'text', 'word3', 5)")), 5
    )
    spark.sql(
        "MERGE INTO bs.ns.docs t USING (SELECT id FROM range(3990, 4010)) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET text = 'merged' "
        "WHEN NOT MATCHED THEN INSERT (id, text, e) VALUES (s.id, 'new', null)"
    )
    merged = "SELECT count(*), sum(id), count(e) FROM {}.ns.docs WHERE text IN ('merged', 'new')"
    expect(values(spark, merged.format("bs")), [(20, sum(range(3990, 4010)), 10)])
    if len(jars) > 1:
        expect(values(spark, merged.format("ice")), values(spark, merged.format("bs")))
    frame = spark.read.format("benostream").load(os.path.join(warehouse, "ns", "docs"))
    expect(frame.count(), 4010)


def tasks(spark):
    """How many tasks each executor has ended, killed ones included."""
    listed = spark.sparkContext._jsc.sc().statusStore().executorList(True)
    executors = [listed.apply(index) for index in range(listed.size())]
    return {executor.id(): executor.totalTasks() for executor in executors}


def executors_used(spark, action):
    """How many executors ran tasks of an action."""
    before = tasks(spark)
    action()
    time.sleep(0.5)
    after = tasks(spark).items()
    return sum(1 for name, total in after if name != "driver" and total > before.get(name, 0))


def cluster(warehouse, jars):
    """Two executor processes share scans, searches and builds over eight files."""
    spark = session(
        "local-cluster[2,1,1024]",
        warehouse,
        jars,
        spark__default__parallelism="4",
        spark__serializer="org.apache.spark.serializer.KryoSerializer",
    )
    # Both executors must be there before tasks are handed out.
    while spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() < 3:
        time.sleep(0.1)
    def spread(name, text):
        """The rows of a statement that both executors worked on."""
        rows = []
        used = executors_used(spark, lambda: rows.extend(values(spark, text)))
        if used < 2:
            raise AssertionError(f"{name} ran on {used} executor")
        return rows

    make_docs(spark, files=8, rows=80000)
    spark.sql("CREATE TEMPORARY VIEW docs AS " + DOCS.format(first=0, end=80000, files=8))
    expect(spread("scan", digest("bs.ns.docs", "text LIKE 'word3%'")), values(spark, digest("docs", "text LIKE 'word3%'")))
    expect(values(spark, digest("bs.ns.docs")), values(spark, digest("docs")))

    def check_searches(name, rows):
        """Whatever indexes there are, searches give what Spark itself computes, and say the same of the text."""
        found = [spread(f"{name} {kind} search", text) for kind, text in SEARCHES.items()]
        expect(found[0], values(spark, NEAREST.format(rows)))
        expect(found[1], found[0])
        expect(sorted(id for id, in found[2]), sorted(id for id, in values(spark, f"SELECT id FROM {rows} WHERE text LIKE '%rare%'")))
        return found

    scanned = check_searches("scanned", "docs")
    for column, kind in (("e", "hnsw"), ("text", "bm25"), ("id", "bitmap")):
        (built,) = spread(kind, f"CALL bs.system.create_index('ns.docs', array('{column}'), '{kind}')")
        expect((built[0], built[1], *built[3:]), (f"{column}_{kind}", kind, 80000, 8, 8))
    expect(check_searches("indexed", "docs"), scanned)
    expect(values(spark, digest("bs.ns.docs", "id = 77")), values(spark, digest("docs", "id = 77")))

    spark.sql("INSERT INTO bs.ns.docs " + DOCS.format(first=80000, end=88000, files=8))
    built = spread("refresh", "CALL bs.system.refresh_index('ns.docs')")
    expect(sorted(row[3:] for row in built), [(8000, 16, 16)] * 3)
    spread("delete", "DELETE FROM bs.ns.docs WHERE id % 1000 = 1")
    spread("update", "UPDATE bs.ns.docs SET text = concat(text, ' rare'), e = array(1f, 1f) WHERE id % 8000 = 7")
    spread(
        "merge",
        "MERGE INTO bs.ns.docs t USING (SELECT id * 10 + 700 AS id FROM range(8800)) s ON t.id = s.id "
        "WHEN MATCHED AND t.id % 9 = 0 THEN DELETE "
        "WHEN MATCHED THEN UPDATE SET text = 'merged', e = array(cast(t.id + 0.5 AS float), 0f) "
        "WHEN NOT MATCHED THEN INSERT (id, text, e) VALUES (s.id, 'rare new', null)",
    )
    spark.sql("CREATE TEMPORARY VIEW more AS " + DOCS.format(first=0, end=88000, files=8))
    spark.sql(
        "CREATE TEMPORARY VIEW changed AS WITH updated AS (SELECT id, "
        "if(id % 8000 = 7, concat(text, ' rare'), text) AS text, if(id % 8000 = 7, array(1f, 1f), e) AS e "
        "FROM more WHERE id % 1000 <> 1) "
        "SELECT id, if(id % 10 = 0 AND id >= 700, 'merged', text) AS text, "
        "if(id % 10 = 0 AND id >= 700, array(cast(id + 0.5 AS float), 0f), e) AS e "
        "FROM updated WHERE NOT (id % 10 = 0 AND id >= 700 AND id % 9 = 0) "
        "UNION ALL SELECT id * 10 + 700, 'rare new', null FROM range(8800) WHERE id * 10 + 700 >= 88000"
    )
    expect(spread("scan of changes", digest("bs.ns.docs")), values(spark, digest("changed")))
    changed = check_searches("changed", "changed")
    for name in ("e_hnsw", "text_bm25", "id_bitmap"):
        spark.sql(f"CALL bs.system.drop_index('ns.docs', '{name}')")
    expect(check_searches("dropped", "changed"), changed)


@contextlib.contextmanager
def standalone_cluster(hosts):
    """A master and a worker for each host name: a twin of a task runs on another host only."""
    import pyspark

    home = os.path.dirname(pyspark.__file__)
    environment = {**os.environ, "SPARK_HOME": home, "SPARK_WORKER_DIR": tempfile.mkdtemp()}
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    url = f"spark://127.0.0.1:{port}"

    def start(*arguments):
        return subprocess.Popen(
            [os.path.join(home, "bin", "spark-class"), *arguments],
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    processes = [
        start("org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0")
    ]
    for host in hosts:
        processes.append(
            start("org.apache.spark.deploy.worker.Worker", "--host", host, "--webui-port", "0", "-c", "1", "-m", "1g", url)
        )
    try:
        yield url
    finally:
        for process in reversed(processes):
            process.terminate()
            process.wait()


def speculation(warehouse, jars):
    """A slow task gets a twin; one of them is killed, its work is there once and no file of it is left."""
    with standalone_cluster(["127.0.0.2", "127.0.0.3"]) as master:
        write_delete_and_build_with_a_slow_task(master, warehouse, jars)


def write_delete_and_build_with_a_slow_task(master, warehouse, jars):
    from pyspark import TaskContext
    from pyspark.sql.functions import udf

    spark = session(
        master,
        warehouse,
        jars,
        spark__executor__memory="1g",
        spark__speculation="true",
        spark__speculation__interval="200ms",
        spark__speculation__multiplier="1.1",
        spark__speculation__quantile="0.5",
        spark__speculation__minTaskRuntime="500ms",
    )
    spark.sql("CREATE NAMESPACE bs.ns")
    spark.sql("CREATE TABLE bs.ns.slow (id BIGINT)")

    def slow(value):
        if TaskContext.get().attemptNumber() == 0 and value == 999:
            time.sleep(10)
        return value

    slow_udf = udf(slow, "bigint").asNondeterministic()
    with_a_twin(
        spark, "append", lambda: spark.range(0, 10000, 1, 4).select(slow_udf("id").alias("id")).writeTo("bs.ns.slow").append()
    )
    expect(
        values(spark, "SELECT count(*), count(DISTINCT id) FROM bs.ns.slow"), [(10000, 10000)]
    )
    expect_no_other_files(spark, warehouse, "slow", jars)

    spark.udf.register("slow", slow, "bigint")
    with_a_twin(spark, "delete", lambda: spark.sql("DELETE FROM bs.ns.slow WHERE slow(id) % 3 = 0"))
    expect(
        values(spark, "SELECT count(*), sum(id) FROM bs.ns.slow"),
        [(6666, sum(id for id in range(10000) if id % 3))],
    )
    expect_no_other_files(spark, warehouse, "slow", jars)

    vectors = "SELECT id, transform(sequence(1, 16), x -> cast(pmod(hash(id, x), 9973) AS float)) AS e FROM range({}, {}, 1, 1)"
    spark.sql("CREATE TABLE bs.ns.vectors AS " + vectors.format(0, 30000))
    spark.sql("INSERT INTO bs.ns.vectors " + vectors.format(30000, 30100))
    with_a_twin(spark, "build", lambda: spark.sql("CALL bs.system.create_index('ns.vectors', array('e'), 'hnsw')"))
    expect(segment_files(warehouse, "vectors"), published_segments(warehouse, "vectors"))
    expect(len(segment_files(warehouse, "vectors")), 2)
    spark.stop()


def with_a_twin(spark, name, action):
    """Runs an action of which one task is slow enough for a twin on the other host."""
    before = twins(spark)
    action()
    time.sleep(1)
    if twins(spark) == before:
        raise AssertionError(f"{name}: no task got a twin")


def twins(spark):
    """How many speculative tasks have run."""
    store = spark.sparkContext._jsc.sc().statusStore()
    tracker = spark.sparkContext.statusTracker()
    stages = {
        stage
        for job in tracker.getJobIdsForGroup(None)
        for stage in tracker.getJobInfo(job).stageIds
        if tracker.getStageInfo(stage) is not None
    }
    ran = [store.taskList(stage, 0, 1000) for stage in sorted(stages)]
    return sum(tasks.apply(index).speculative() for tasks in ran for index in range(tasks.size()))


def expect_no_other_files(spark, warehouse, table, jars):
    """Where Iceberg's JAR is there: the data folder holds what Iceberg's metadata lists."""
    if len(jars) > 1:
        listed = {path.removeprefix("file:").replace("///", "/") for path, in values(spark, f"SELECT file_path FROM ice.ns.{table}.all_files")}
        folder = os.path.join(warehouse, "ns", table, "data")
        deadline = time.time() + 10
        while set(map(lambda name: os.path.join(folder, name), os.listdir(folder))) != listed and time.time() < deadline:
            time.sleep(0.1)
        expect(sorted(os.path.join(folder, name) for name in os.listdir(folder)), sorted(listed))


def segment_files(warehouse, table):
    """What the overlay's folder holds beside its manifests."""
    names = os.listdir(os.path.join(warehouse, "ns", table, "_overlay"))
    return sorted(name for name in names if not name.startswith("manifest"))


def published_segments(warehouse, table):
    """The segments that the newest manifest lists."""
    folder = os.path.join(warehouse, "ns", table, "_overlay")
    versions = [int(name.split("-")[1].split(".")[0]) for name in os.listdir(folder) if name.startswith("manifest-")]
    with open(os.path.join(folder, f"manifest-{max(versions)}.json"), encoding="utf-8") as file:
        return sorted(segment["name"] for index in json.load(file)["indexes"] for segment in index["segments"])


def command_line(warehouse, jars):
    """spark-sql with --jars and nothing else."""
    import pyspark

    home = os.path.dirname(pyspark.__file__)
    done = subprocess.run(
        [
            os.path.join(home, "bin", "spark-sql"),
            "--jars", jars[0],
            "--conf", "spark.ui.enabled=false",
            "--conf", "spark.driver.bindAddress=127.0.0.1",
            "--conf", "spark.driver.host=127.0.0.1",
            "--conf", "spark.sql.catalogImplementation=in-memory",
            "--conf", f"spark.sql.extensions={EXTENSIONS}",
            "--conf", "spark.sql.catalog.bs=com.benostreamdb.spark.BenoStreamCatalog",
            "--conf", f"spark.sql.catalog.bs.warehouse={warehouse}",
            "-e",
            "CREATE NAMESPACE bs.ns; CREATE TABLE bs.ns.t AS SELECT 7 AS i; SELECT i + 1 FROM bs.ns.t;",
        ],
        env={**os.environ, "SPARK_HOME": home},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0 or done.stdout.strip().splitlines()[-1:] != ["8"]:
        raise AssertionError(done.stdout + done.stderr)


SCENARIOS = [local, cluster, speculation, command_line]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jar", required=True)
    parser.add_argument("--iceberg-jar")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("scenarios", nargs="*")
    arguments = parser.parse_args()
    jars = [os.path.abspath(j) for j in (arguments.jar, arguments.iceberg_jar) if j]
    chosen = [s for s in SCENARIOS if not arguments.scenarios or s.__name__ in arguments.scenarios]
    if arguments.inside:
        from pyspark.sql import SparkSession

        for scenario in chosen:
            scenario(tempfile.mkdtemp(), jars)
            if SparkSession.getActiveSession():
                SparkSession.getActiveSession().stop()
        return 0
    failed = 0
    for scenario in chosen:
        start = time.time()
        command = [sys.executable, os.path.abspath(__file__), "--inside", "--jar", jars[0]]
        if len(jars) > 1:
            command += ["--iceberg-jar", jars[1]]
        outcome = subprocess.run(command + [scenario.__name__], check=False).returncode
        print(f"{scenario.__name__}: {'ok' if outcome == 0 else 'FAILED'} in {time.time() - start:.0f} s")
        failed += outcome != 0
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
