"""Every column type that SQL creates, read by PyIceberg and DuckDB with equal rows: as inserted, after DELETE and
after UPDATE, each at its own metadata file.

CREATE TABLE makes all types but struct and map, which come from CREATE TABLE AS. Time zones cross as UTC instants.
"""

import datetime
import decimal
import math
import uuid
from dataclasses import dataclass

import pytest
from pyiceberg.expressions import EqualTo, IsNull, NotNull

from readers import READERS, by_pyiceberg, metadata_files, normal, pyiceberg_table

D = decimal.Decimal
UTC = datetime.timezone.utc


@dataclass(frozen=True)
class Column:
    """A column, the SQL of five values, the values themselves, and the type other readers see."""

    name: str
    sql: str
    literals: tuple
    values: tuple
    iceberg: str


def column(name, sql, iceberg, *pairs):
    literals, values = zip(*pairs)
    return Column(name, sql, literals, values, iceberg)


def moment(*parts, zone=None):
    return datetime.datetime(*parts, tzinfo=zone)


COLUMNS = [
    column("id", "int NOT NULL", "int", ("1", 1), ("2", 2), ("3", 3), ("4", 4), ("5", 5)),
    column("bool", "boolean", "boolean", ("true", True), ("false", False), ("NULL", None), ("true", True), ("false", False)),
    column(
        "int4", "int", "int",
        ("0", 0), ("-2147483648", -(2**31)), ("2147483647", 2**31 - 1), ("-1", -1), ("NULL", None),
    ),
    column(
        "int8", "bigint", "long",
        ("NULL", None), ("'-9223372036854775808'", -(2**63)), ("9223372036854775807", 2**63 - 1), ("0", 0), ("-1", -1),
    ),
    column(
        "float4", "real", "float",
        ("'NaN'", float("nan")), ("'-0'", -0.0), ("'Infinity'", float("inf")), ("'1e-45'", 2.0**-149), ("NULL", None),
    ),
    column(
        "float8", "double precision", "double",
        ("'NaN'", float("nan")), ("'-0'", -0.0), ("'-Infinity'", float("-inf")), ("'5e-324'", 5e-324), ("0.1", 0.1),
    ),
    column(
        "only_nan", "double precision", "double",
        ("'NaN'", float("nan")), ("'NaN'", float("nan")), ("NULL", None), ("'NaN'", float("nan")), ("'NaN'", float("nan")),
    ),
    column(
        "dec1", "numeric(1, 0)", "decimal(1, 0)",
        ("0", D("0")), ("9", D("9")), ("-9", D("-9")), ("1", D("1")), ("NULL", None),
    ),
    column(
        "dec9", "numeric(9, 2)", "decimal(9, 2)",
        ("1.5", D("1.50")), ("9999999.99", D("9999999.99")), ("-9999999.99", D("-9999999.99")), ("NULL", None), ("0", D("0.00")),
    ),
    column(
        "dec18", "numeric(18, 6)", "decimal(18, 6)",
        ("-0.000001", D("-0.000001")), ("999999999999.999999", D("999999999999.999999")), ("NULL", None),
        ("1", D("1.000000")), ("0", D("0.000000")),
    ),
    column(
        "dec28", "numeric(28, 10)", "decimal(28, 10)",
        ("NULL", None), ("'123456789012345678.0123456789'", D("123456789012345678.0123456789")),
        ("'-123456789012345678.0123456789'", D("-123456789012345678.0123456789")), ("-1", D("-1.0000000000")), ("0", D("0E-10")),
    ),
    column(
        "dec38", "numeric(38, 0)", "decimal(38, 0)",
        ("'99999999999999999999999999999999999999'", D("9" * 38)), ("'-99999999999999999999999999999999999999'", D("-" + "9" * 38)),
        ("256", D(256)), ("-128", D(-128)), ("NULL", None),
    ),
    column(
        "dec38s", "numeric(38, 37)", "decimal(38, 37)",
        ("'9.9999999999999999999999999999999999999'", D("9." + "9" * 37)), ("'-0.0000000000000000000000000000000000001'", D("-1E-37")),
        ("NULL", None), ("0", D("0E-37")), ("1", D("1." + "0" * 37)),
    ),
    column(
        "day", "date", "date",
        ("'0001-01-01'", datetime.date(1, 1, 1)), ("'9999-12-31'", datetime.date(9999, 12, 31)),
        ("'1969-12-31'", datetime.date(1969, 12, 31)), ("'2024-02-29'", datetime.date(2024, 2, 29)), ("NULL", None),
    ),
    column(
        "clock", "time", "time",
        ("'00:00:00'", datetime.time(0)), ("'23:59:59.999999'", datetime.time(23, 59, 59, 999999)),
        ("'12:34:56.000001'", datetime.time(12, 34, 56, 1)), ("NULL", None), ("'01:02:03.4'", datetime.time(1, 2, 3, 400000)),
    ),
    column(
        "moment", "timestamp", "timestamp",
        ("'0001-01-01 00:00:00'", moment(1, 1, 1)), ("'9999-12-31 23:59:59.999999'", moment(9999, 12, 31, 23, 59, 59, 999999)),
        ("'1969-12-31 23:59:59.999999'", moment(1969, 12, 31, 23, 59, 59, 999999)), ("NULL", None),
        ("'2024-06-01T12:00:00.5'", moment(2024, 6, 1, 12, 0, 0, 500000)),
    ),
    column(
        "instant", "timestamptz", "timestamptz",
        ("'2024-06-01 12:00:00+02'", moment(2024, 6, 1, 10, zone=UTC)), ("'2024-06-01 12:00:00Z'", moment(2024, 6, 1, 12, zone=UTC)),
        ("'1969-12-31 23:59:59.999999'", moment(1969, 12, 31, 23, 59, 59, 999999, zone=UTC)), ("NULL", None),
        ("'2000-01-01 00:00:00-11:30'", moment(2000, 1, 1, 11, 30, zone=UTC)),
    ),
    column(
        "words", "text", "string",
        ("''", ""), ("'ünïcödé 🙂 漢字'", "ünïcödé 🙂 漢字"), ("'it''s \"quoted\", with\nlines'", "it's \"quoted\", with\nlines"),
        ("NULL", None), ("repeat('z', 5000)", "z" * 5000),
    ),
    column(
        "bytes", "bytea", "binary",
        ("X''", b""), ("X'00ff'", b"\x00\xff"), ("X'c3'", b"\xc3"), ("decode(repeat('ab', 40), 'hex')", b"\xab" * 40), ("NULL", None),
    ),
    column(
        "tag", "uuid", "uuid",
        ("'123e4567-e89b-12d3-a456-426614174000'", uuid.UUID("123e4567-e89b-12d3-a456-426614174000")),
        ("'00000000-0000-0000-0000-000000000000'", uuid.UUID(int=0)), ("'ffffffff-ffff-ffff-ffff-ffffffffffff'", uuid.UUID(int=2**128 - 1)),
        ("NULL", None), ("'80000000-0000-0000-0000-000000000000'", uuid.UUID(int=2**127)),
    ),
    column(
        "fix", "fixed(4)", "fixed[4]",
        ("X'00000000'", b"\0" * 4), ("X'ffffffff'", b"\xff" * 4), ("NULL", None), ("X'61626364'", b"abcd"), ("X'80000000'", b"\x80\0\0\0"),
    ),
    column(
        "texts", "text[]", "list<string>",
        ("make_array('a', '', NULL)", ["a", "", None]), ("make_array('ü')", ["ü"]), ("NULL", None), ("make_array('b')", ["b"]),
        ("make_array(NULL::text)", [None]),
    ),
    column(
        "grid", "int[][]", "list<list<int>>",
        ("make_array(make_array(1, 2), make_array(3))", [[1, 2], [3]]), ("NULL", None), ("make_array(make_array(NULL, 4))", [[None, 4]]),
        ("make_array(make_array(5))", [[5]]), ("make_array(make_array(6))", [[6]]),
    ),
    column(
        "doubles", "double precision[]", "list<double>",
        ("make_array('NaN'::double precision, '-0'::double precision)", [float("nan"), -0.0]), ("NULL", None),
        ("make_array(1::double precision)", [1.0]), ("make_array(NULL::double precision)", [None]),
        ("make_array('-Infinity'::double precision)", [float("-inf")]),
    ),
    column(
        "embedding", "vector(3)", "list<float>",
        ("'[1, 2.5, -3]'", [1.0, 2.5, -3.0]), ("'[0, -0, 1e-45]'", [0.0, -0.0, 2.0**-149]), ("NULL", None), ("'[4, 5, 6]'", [4.0, 5.0, 6.0]),
        ("'[0.5, 0.5, 0.5]'", [0.5, 0.5, 0.5]),
    ),
    column(
        "ragged", "vector", "list<float>",
        ("'[1]'", [1.0]), ("'[1, 2]'", [1.0, 2.0]), ("NULL", None), ("'[1, 2, 3]'", [1.0, 2.0, 3.0]), ("'[9]'", [9.0]),
    ),
]
BY_NAME = {c.name: c for c in COLUMNS}

ROW_COUNT = 5
ALL_NULL = 6
DELETED = (2, 6)
SHIFTED = (1, 4)


def expected(stage, column):
    """The values of a column after the statements of a stage, in the order of id."""
    values = {row + 1: value for row, value in enumerate(column.values)}
    values[ALL_NULL] = ALL_NULL if column.name == "id" else None
    if stage in ("deleted", "updated"):
        for row in DELETED:
            del values[row]
    if stage == "updated" and column.name != "id":
        for row in SHIFTED:
            values[row] = column.values[row]
    return [normal(values[row]) for row in sorted(values)]


@pytest.fixture(scope="module")
def stages(shared_cli):
    """The metadata file of each stage of one table: two files of rows, then deletes, then updates of all columns."""
    cli = shared_cli
    cli.sql("CREATE TABLE t (" + ", ".join(f"{c.name} {c.sql}" for c in COLUMNS) + ")")
    location = cli.location("t")
    found = {"created": str(metadata_files(location)[-1])}
    row = lambda index: "(" + ", ".join(c.literals[index] for c in COLUMNS) + ")"
    assert cli.sql(f"INSERT INTO t VALUES {row(0)}, {row(1)}, {row(2)}") == "count\n3\n"
    assert cli.sql(f"INSERT INTO t VALUES {row(3)}, {row(4)}; INSERT INTO t (id) VALUES ({ALL_NULL})") == "count\n2\ncount\n1\n"
    found["inserted"] = str(metadata_files(location)[-1])
    assert cli.sql(f"DELETE FROM t WHERE id IN ({', '.join(map(str, DELETED))})") == "count\n2\n"
    found["deleted"] = str(metadata_files(location)[-1])
    for number in SHIFTED:
        changes = ", ".join(f"{c.name} = {c.literals[number]}" for c in COLUMNS if c.name != "id")
        assert cli.sql(f"UPDATE t SET {changes} WHERE id = {number}") == "count\n1\n"
    found["updated"] = str(metadata_files(location)[-1])
    return found


@pytest.fixture(scope="module")
def read(stages):
    """What each reader sees at each stage, read once."""
    return {(stage, name): reader(stages[stage]) for stage in ("inserted", "deleted", "updated") for name, reader in READERS.items()}


def test_schema_has_iceberg_types(stages):
    schema = pyiceberg_table(stages["created"]).schema()
    assert [(field.name, str(field.field_type)) for field in schema.fields] == [(c.name, c.iceberg) for c in COLUMNS]
    assert [field.required for field in schema.fields] == [c.name == "id" for c in COLUMNS]


def test_created_table_is_empty(stages):
    rows = by_pyiceberg(stages["created"])
    assert list(rows) == [c.name for c in COLUMNS]
    assert set(map(len, rows.values())) == {0}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("stage", ["inserted", "deleted", "updated"])
@pytest.mark.parametrize("name", BY_NAME)
def test_column_reads_equal(read, stage, reader, name):
    assert read[stage, reader][name] == expected(stage, BY_NAME[name])


FILTERABLE = [c for c in COLUMNS if "[]" not in c.sql and "vector" not in c.sql]


def is_finite(value):
    """PyIceberg takes an infinity for a number out of range, and NaN equals nothing there."""
    return not isinstance(value, float) or math.isfinite(value)


@pytest.mark.parametrize("filtered", [c for c in FILTERABLE if c.name not in ("only_nan", "fix")], ids=lambda c: c.name)
def test_statistics_prune_no_matching_file(stages, filtered):
    for value in {normal(v): v for v in filtered.values if v is not None and is_finite(v)}.values():
        literal = value.isoformat() if isinstance(value, (datetime.date, datetime.time)) else value
        rows = by_pyiceberg(stages["inserted"], row_filter=EqualTo(filtered.name, literal))
        found = [row + 1 for row, known in enumerate(filtered.values) if known == value]
        assert rows["id"] == found, value


@pytest.mark.parametrize("filtered", FILTERABLE, ids=lambda c: c.name)
def test_null_counts_prune_no_matching_file(stages, filtered):
    values = expected("inserted", filtered)
    for expression, wanted in ((IsNull(filtered.name), True), (NotNull(filtered.name), False)):
        rows = by_pyiceberg(stages["inserted"], row_filter=expression)
        assert rows["id"] == [row + 1 for row, value in enumerate(values) if (value is None) == wanted]


NESTED = """CREATE TABLE nested AS
  SELECT 1 AS id, named_struct('a', 1, 'b', 'x', 'c', named_struct('d', make_array(1.5::double precision))) AS s,
         map(make_array('k', ''), make_array(1, NULL)) AS m, make_array(named_struct('e', 'y'), named_struct('e', NULL)) AS l
  UNION ALL
  SELECT 2, named_struct('a', 2, 'b', '', 'c', named_struct('d', make_array('NaN'::double precision))),
         map(make_array('ü'), make_array(-5)), make_array(named_struct('e', ''))
  UNION ALL
  SELECT 3, NULL, NULL, make_array(named_struct('e', 'z'))"""
NESTED_ROWS = {
    1: ({"a": 1, "b": "x", "c": {"d": [1.5]}}, [("k", 1), ("", None)], [{"e": "y"}, {"e": None}]),
    2: ({"a": 2, "b": "", "c": {"d": [float("nan")]}}, [("ü", -5)], [{"e": ""}]),
    3: (None, None, [{"e": "z"}]),
}


@pytest.mark.parametrize("reader", READERS)
def test_structs_and_maps_read_equal_before_and_after_changes(cli, reader):
    assert cli.sql(NESTED) == "count\n3\n"

    def check(rows):
        read = READERS[reader](newest_of(cli, "nested"))
        assert read["id"] == sorted(rows)
        for index, name in enumerate(("s", "m", "l")):
            assert read[name] == [normal(rows[number][index]) for number in sorted(rows)], name

    check(NESTED_ROWS)
    assert cli.sql("DELETE FROM nested WHERE id = 1") == "count\n1\n"
    check({number: NESTED_ROWS[number] for number in (2, 3)})
    assert cli.sql("UPDATE nested SET id = id + 10, s = NULL WHERE id = 2") == "count\n1\n"
    check({12: (None, *NESTED_ROWS[2][1:]), 3: NESTED_ROWS[3]})


def test_null_list_of_structs_is_no_empty_list(cli):
    """Read by DuckDB only: PyIceberg 0.12 drops the NULLs of lists of structs."""
    cli.sql("CREATE TABLE l AS SELECT 1 AS id, make_array(named_struct('e', 'y')) AS l UNION ALL SELECT 2, NULL")
    assert READERS["duckdb"](newest_of(cli, "l"))["l"] == [[{"e": "y"}], None]


def newest_of(cli, table):
    return str(metadata_files(cli.location(table))[-1])
