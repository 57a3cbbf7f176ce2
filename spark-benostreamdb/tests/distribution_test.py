"""The fat JAR in a real Spark distribution (the pyspark package), as users run it.

    python distribution_test.py --jar benostreamdb-spark-4.0_2.13-0.1.0.jar [--iceberg-jar ..] [scenario ..]

Every scenario is a process of its own, because a virtual machine keeps the JARs it was started with.
"""

import argparse
import contextlib
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


def make_docs(spark, files=8, rows=4000):
    spark.sql("CREATE NAMESPACE bs.ns")
    spark.sql(
        f"CREATE TABLE bs.ns.docs AS SELECT id, concat('word', id % 10, ' common') AS text, "
        f"array(cast(id AS float), cast(id % 7 AS float)) AS e FROM range(0, {rows}, 1, {files})"
    )


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
    make_docs(spark, files=8, rows=80000)
    actions = {
        "scan": "SELECT sum(id), count(text) FROM bs.ns.docs WHERE text LIKE 'word%'",
        "build": "CALL bs.system.create_index('ns.docs', array('e'), 'hnsw')",
        "search": "SELECT id FROM vector_search('bs.ns.docs', 'e', array(700, 0), 3)",
        "order": "SELECT id FROM bs.ns.docs ORDER BY "
        "bs.system.vector_l2_distance(e, array(700, 0)) NULLS LAST LIMIT 3",
        "delete": "DELETE FROM bs.ns.docs WHERE id % 1000 = 1",
    }
    for name, text in actions.items():
        used = executors_used(spark, lambda: spark.sql(text).collect())
        if used < 2:
            raise AssertionError(f"{name} ran on {used} executor")
    expect(values(spark, "SELECT count(*) FROM bs.ns.docs"), [(79920,)])


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
    """A slow task gets a twin; one of them is killed, its rows are there once."""
    with standalone_cluster(["127.0.0.2", "127.0.0.3"]) as master:
        write_with_a_slow_task(master, warehouse, jars)


def write_with_a_slow_task(master, warehouse, jars):
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
        context = TaskContext.get()
        if context.partitionId() == 0 and context.attemptNumber() == 0 and value == 999:
            time.sleep(10)
        return value

    rows = spark.range(0, 10000, 1, 4).select(
        udf(slow, "bigint").asNondeterministic()("id").alias("id")
    )
    before = sum(tasks(spark).values())
    rows.writeTo("bs.ns.slow").append()
    time.sleep(0.5)
    ran = sum(tasks(spark).values()) - before
    if ran < 5:
        raise AssertionError(f"no task got a twin: {ran} tasks ran")
    expect(
        values(spark, "SELECT count(*), count(DISTINCT id) FROM bs.ns.slow"), [(10000, 10000)]
    )
    spark.stop()


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
