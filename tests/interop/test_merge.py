"""Every column type that Spark writes, read by PyIceberg, DuckDB and us with equal rows: as inserted, after DELETE, after
UPDATE and after MERGE, each at its own metadata file. MERGE comes from Spark, so the table is made there.

The Spark is that of the pyspark package, with the JAR named by BSDB_SPARK_JAR.
"""

import datetime
import decimal
import os
import pathlib
from dataclasses import dataclass
from typing import Callable

import pytest

from readers import READERS, metadata_files, newest, normal, pyiceberg_table

D = decimal.Decimal
UTC = datetime.timezone.utc
NAN = float("nan")


@dataclass(frozen=True)
class Column:
    """A column of Spark, the SQL of its values, the values, and what makes them of those that Spark collects."""

    name: str
    type: str
    literals: tuple
    values: tuple
    collected: Callable = lambda value: value

    def literal(self, at):
        return f"CAST({self.literals[at]} AS {self.type})"

    @property
    def quoted(self):
        return "`" + self.name.replace("`", "``") + "`"


def column(name, type, *pairs, collected=None):
    literals, values = zip(*pairs)
    return Column(name, type, literals, values, *([collected] if collected else []))


def entries(value):
    return list(value.items())


def instant(value):
    """Spark gives instants in this process's zone and without it."""
    return value.astimezone(UTC)


VALUE_COUNT = 4

COLUMNS = [
    column("Bool", "boolean", ("true", True), ("false", False), ("NULL", None), ("true", True)),
    column("tiny int", "tinyint", ("-128Y", -128), ("127Y", 127), ("NULL", None), ("0Y", 0)),
    column("int.4", "int", ("-2147483648", -(2**31)), ("2147483647", 2**31 - 1), ("NULL", None), ("0", 0)),
    column("int8", "bigint", ("-9223372036854775808L", -(2**63)), ("NULL", None), ("9223372036854775807L", 2**63 - 1), ("1L", 1)),
    column("float4", "float", ("'NaN'", NAN), ("-0.0f", -0.0), ("NULL", None), ("'-Infinity'", float("-inf"))),
    column('double"quoted"', "double", ("'NaN'", NAN), ("-0.0d", -0.0), ("4.9E-324d", 5e-324), ("NULL", None)),
    column("dec5`2", "decimal(5, 2)", ("-999.99", D("-999.99")), ("0.01", D("0.01")), ("NULL", None), ("0", D("0.00"))),
    column("dec18", "decimal(18, 9)", ("NULL", None), ("123456789.123456789", D("123456789.123456789")), ("-0.000000001", D("-1E-9")), ("1", D("1.000000000"))),
    column(
        "dec38", "decimal(38, 10)",
        ("9999999999999999999999999999.9999999999", D("9" * 28 + "." + "9" * 10)), ("NULL", None),
        ("-9999999999999999999999999999.9999999999", D("-" + "9" * 28 + "." + "9" * 10)), ("1", D("1.0000000000")),
    ),
    column(
        "Day", "date",
        ("'0001-01-01'", datetime.date(1, 1, 1)), ("'9999-12-31'", datetime.date(9999, 12, 31)), ("'1969-12-31'", datetime.date(1969, 12, 31)), ("NULL", None),
    ),
    column(
        "instant", "timestamp",
        ("'1969-12-31 23:59:59.999999Z'", datetime.datetime(1969, 12, 31, 23, 59, 59, 999999, UTC)), ("NULL", None),
        ("'2024-06-01 12:00:00+02:00'", datetime.datetime(2024, 6, 1, 10, tzinfo=UTC)), ("'2000-01-01 00:00:00Z'", datetime.datetime(2000, 1, 1, tzinfo=UTC)),
        collected=instant,
    ),
    column(
        "moment", "timestamp_ntz",
        ("NULL", None), ("'0001-01-01 00:00:00'", datetime.datetime(1, 1, 1)), ("'2024-03-31 02:30:00.000001'", datetime.datetime(2024, 3, 31, 2, 30, 0, 1)),
        ("'9999-12-31 23:59:59.999999'", datetime.datetime(9999, 12, 31, 23, 59, 59, 999999)),
    ),
    column("words of it's", "string", ("''", ""), ("'snow \\u2603 \\U0001F600'", "snow \u2603 \U0001f600"), ("NULL", None), ("repeat('x', 5000)", "x" * 5000)),
    column("bytes", "binary", ("X''", b""), ("X'00ff'", b"\x00\xff"), ("X'c3'", b"\xc3"), ("NULL", None), collected=bytes),
    column("embedding", "array<float>", ("array(1.5f, -0.0f)", [1.5, -0.0]), ("array()", []), ("NULL", None), ("array(1f, NULL)", [1.0, None])),
    column("texts", "array<string>", ("array('', NULL, 'a')", ["", None, "a"]), ("NULL", None), ("array()", []), ("array('ü')", ["ü"])),
    column(
        "st.ruct", "struct<`in.ner`: int, `In Ner`: struct<z: double>>",
        ("named_struct('in.ner', 1, 'In Ner', named_struct('z', double('NaN')))", {"in.ner": 1, "In Ner": {"z": NAN}}), ("NULL", None),
        ("named_struct('in.ner', NULL, 'In Ner', named_struct('z', -0.0d))", {"in.ner": None, "In Ner": {"z": -0.0}}),
        ("named_struct('in.ner', 2, 'In Ner', named_struct('z', NULL))", {"in.ner": 2, "In Ner": {"z": None}}),
        collected=lambda value: value.asDict(recursive=True),
    ),
    column(
        "map", "map<string, int>",
        ("map('k', 1, '', NULL)", [("k", 1), ("", None)]), ("map()", []), ("NULL", None), ("map('ü', -5)", [("ü", -5)]), collected=entries,
    ),
]
BY_NAME = {c.name: c for c in COLUMNS}
STAGES = ("inserted", "deleted", "updated", "merged")


def select(rows):
    """One SELECT of each row: its id, and the values at a position."""
    return " UNION ALL ".join(
        f"SELECT {id} AS id, " + ", ".join(f"{c.literal(at)} AS {c.quoted}" for c in COLUMNS) for id, at in rows.items()
    )


# Row number to the position of its values, at each stage.
INSERTED = {id: id % VALUE_COUNT for id in range(1, 9)}
DELETED = {id: at for id, at in INSERTED.items() if id not in (2, 7)}
UPDATED = {**DELETED, 1: 0, 3: 1, 8: 3}
SOURCE = {1: 2, 3: 0, 4: 1, 5: 3, 9: 0, 10: 1, 11: 2}
MERGED = {**{id: at for id, at in UPDATED.items() if id != 4}, **{id: at for id, at in SOURCE.items() if id != 4}}
ROWS = dict(zip(STAGES, (INSERTED, DELETED, UPDATED, MERGED)))


def expected(stage, name):
    rows = ROWS[stage]
    return [normal(BY_NAME[name].values[rows[id]]) for id in sorted(rows)]


@pytest.fixture(scope="module")
def spark(tmp_path_factory):
    from pyspark.sql import SparkSession

    jar = os.environ.get("BSDB_SPARK_JAR")
    assert jar and pathlib.Path(jar).is_file(), f"BSDB_SPARK_JAR names no JAR: {jar}"
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.jars", jar)
        .config("spark.ui.enabled", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.catalogImplementation", "in-memory")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("spark")))
        .config("spark.sql.extensions", "com.benostreamdb.spark.BenoStreamExtensions")
        .config("spark.sql.catalog.bs", "com.benostreamdb.spark.BenoStreamCatalog")
        .config("spark.sql.catalog.bs.warehouse", str(tmp_path_factory.mktemp("lake")))
        .getOrCreate()
    )
    yield session
    session.stop()


@pytest.fixture(scope="module")
def read(spark):
    """What each reader sees at each stage, read as the stage ends."""
    location = pathlib.Path(spark.conf.get("spark.sql.catalog.bs.warehouse")) / "ns" / "t"
    found = {}

    def end(stage):
        for name, reader in READERS.items():
            found[stage, name] = reader(newest(location))
        rows = spark.sql("SELECT * FROM bs.ns.t ORDER BY id").collect()
        found[stage, "ours"] = {"id": [row[0] for row in rows]} | {
            c.name: [None if row[at] is None else normal(c.collected(row[at])) for row in rows] for at, c in enumerate(COLUMNS, start=1)
        }

    spark.sql("CREATE NAMESPACE bs.ns")
    spark.sql("CREATE TABLE bs.ns.t (id int, " + ", ".join(f"{c.quoted} {c.type}" for c in COLUMNS) + ")")
    for part in (range(1, 6), range(6, 9)):
        spark.sql("INSERT INTO bs.ns.t " + select({id: INSERTED[id] for id in part}))
    end("inserted")
    spark.sql("DELETE FROM bs.ns.t WHERE id IN (2, 7)")
    end("deleted")
    for id in (1, 3, 8):
        changes = ", ".join(f"{c.quoted} = {c.literal(UPDATED[id])}" for c in COLUMNS)
        spark.sql(f"UPDATE bs.ns.t SET {changes} WHERE id = {id}")
    end("updated")
    spark.sql(
        f"MERGE INTO bs.ns.t t USING ({select(SOURCE)}) s ON t.id = s.id WHEN MATCHED AND s.id = 4 THEN DELETE "
        f"WHEN MATCHED THEN UPDATE SET {', '.join(f't.{c.quoted} = s.{c.quoted}' for c in COLUMNS)} WHEN NOT MATCHED THEN INSERT *"
    )
    end("merged")
    found["operations"] = [s.summary.operation.value for s in pyiceberg_table(str(metadata_files(location)[-1])).snapshots()]
    return found


def test_every_change_is_a_snapshot_of_row_deltas(read):
    operations = read["operations"]
    assert operations[:2] == ["append", "append"] and len(operations) == 2 + 1 + 3 + 1
    assert set(operations[2:]) <= {"overwrite", "delete"}


@pytest.mark.parametrize("reader", [*READERS, "ours"])
@pytest.mark.parametrize("stage", STAGES)
def test_rows_read_equal(read, stage, reader):
    rows = read[stage, reader]
    assert list(rows) == ["id", *BY_NAME]
    assert rows["id"] == sorted(ROWS[stage])
    for name in BY_NAME:
        assert rows[name] == expected(stage, name), name
