"""Tables that other engines wrote, through the command line: read in place under `--map-prefix`, each gives the rows
of its oracles and what its README says of it, or is refused with the message that is listed here.

The inputs are in `fixtures/iceberg` under BSDB_SHARED; without them these tests are skipped.
"""

import ast
import json
import os
import pathlib
import re

import pytest

ROOT = pathlib.Path(os.environ.get("BSDB_SHARED", "../shared")) / "fixtures" / "iceberg"

# The tables that are refused, with the kind and a word of the reason. All others must be read.
REFUSED = {
    "impala__iceberg_migrated_complex_test": ("Unsupported", "is stored as"),
    "duckdb-iceberg__equality_delete_extra_column": ("Corrupt", "does not fit"),
}
# The tables whose oracles kept the number of rows only, or values in a form of their own.
COUNTED = {"duckdb-iceberg__lineitem_iceberg_gz", "impala__iceberg_v3_default_value_orc", "impala__trino_variant"}
# The tables that no oracle could read; FACTS tells what they hold.
OURS_ALONE = {"impala__trino_nested_variant"}
# The length at which the oracles' values were cut.
CUT_LENGTH = 200

LINEAGE = "SELECT i, _row_id, _last_updated_sequence_number FROM {t} {at} ORDER BY i"
BY_ID = "SELECT id, descr, v FROM {t} {at} WHERE id IN (0, 1, 2) ORDER BY id"
# What the README says beyond the rows of the newest state: table, query, snapshot, rows.
FACTS = [
    ("impala__iceberg_v2_delete_equality_nulls", "SELECT i, s FROM {t} {at} ORDER BY s", 4346796256488077976, [[1, "str1"], [None, "str2"], [3, "str3"]]),
    ("impala__iceberg_v2_delete_equality_multi_eq_ids", "SELECT i, s FROM {t} {at} ORDER BY i", 8127619959873391049, [[1, "str1"], [2, "str2"], [3, "str3_updated"]]),
    ("impala__iceberg_v3_row_lineage", LINEAGE, None, [[1, 0, 1], [2, 1, 2], [3, 2, 3]]),
    ("impala__iceberg_v3_row_lineage", LINEAGE, 2872597867664652808, [[1, 0, 1], [2, 1, 2], [3, 2, 3]]),
    ("impala__iceberg_v3_default_value_orc", "SELECT i, j FROM {t} {at} ORDER BY i", None, [[1, -1], [2, 2]]),
    ("impala__iceberg_spark_compaction_with_dangling_delete", "SELECT count(*) FROM {t} {at}", None, [[4]]),
    ("impala__trino_variant", BY_ID, None, [[0, "NULL", None], [1, "variant null", "null"], [2, "bool true", "true"]]),
    ("impala__trino_nested_variant", "SELECT count(*) FROM {t} {at}", None, [[2]]),
]


def expected():
    """Each recorded table: its name, and what expected.json says of it."""
    file = ROOT / "expected.json"
    entries = json.loads(file.read_text()) if file.exists() else {}
    return [(name, table) for name, entry in entries.items() for table in entry["tables"]]


TABLES = expected()
needs_fixtures = pytest.mark.skipif(not TABLES, reason=f"no fixtures in {ROOT}")


def metadata_file(name, table):
    core = ROOT / name
    return ((core if core.exists() else ROOT / "_extra" / name) / table["metadata"]).resolve()


def prefixes(recorded, actual):
    """The places that a table's metadata names, and where they are."""
    # Some tables mix a location with and without its scheme.
    host = "hdfs://localhost:20500"
    names = [recorded]
    if recorded.startswith("./"):
        names.append(recorded[2:])
    if recorded.startswith(host):
        names.append(recorded.removeprefix(host))
    elif recorded.startswith("/"):
        names.append(host + recorded)
    pairs = [(name, actual) for name in names]
    # Some hold files beside the table.
    above, found, below = recorded.partition("/warehouse/")
    if found and actual.endswith("/" + below):
        pairs.append((above + "/warehouse", actual.removesuffix("/" + below)))
    return [f"--map-prefix={name}={place}" for name, place in pairs]


def read(binary, name, table, *queries):
    """Runs queries over a table, called {t}; gives exit code, rows as they are printed, and errors."""
    metadata = metadata_file(name, table)
    arguments = prefixes(table["recorded_location"], str(metadata.parent.parent))
    for query in queries:
        arguments += ["-e", query.replace("{t}", f"'{metadata}'")]
    return binary.run("sql", "--format", "json", *arguments)


def words(text):
    """The words of a value, spelled alike whoever printed it; what was cut off is not among them."""
    spelled = []
    for word in re.split(r"[\s{}\[\]()'\",=]+", text):
        word = word.rstrip(":")
        moment = re.fullmatch(r"(?:(\d{4}-\d\d-\d\d)T)?(\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(?:Z|\+00:00)?", word)
        if moment:
            date, time = moment.groups()
            seconds = ":00" if len(time) == len("00:00") else ""
            spelled += [date] if date else []
            spelled.append((time + seconds).rstrip("0").rstrip(".") if "." in time else time + seconds)
        elif word in ("None", "NULL"):
            spelled.append("null")
        elif word in ("True", "False"):
            spelled.append(word.lower())
        elif word and word not in ("Record", "Decimal"):
            spelled.append(word)
    return spelled


def oracle_cell(cell):
    """The words of one value that DuckDB gave, as Python prints it, and whether it was cut."""
    plain = re.sub(r"b'(?:[^'\\]|\\.)*'", lambda found: ast.literal_eval(found[0]).hex(), cell)
    found = words(plain)
    return (found[:-1], True) if len(cell) == CUT_LENGTH else (found, False)


def our_words(value, names):
    """The words of one of our values; field names of structs where the oracle has them."""
    if isinstance(value, dict):
        return [word for name, inner in value.items() for word in (words(name) if names else []) + our_words(inner, names)]
    if isinstance(value, list):
        is_map = all(isinstance(item, dict) and list(item) == ["key", "value"] for item in value)
        return [word for item in value for word in our_words(item, names and not is_map)]
    if value is None or isinstance(value, bool):
        return [str(value).lower().replace("none", "null")]
    return words(value if isinstance(value, str) else repr(value))


def same_word(ours, theirs):
    """Numbers with a fraction are equal as far as a 32-bit float tells them apart."""
    if ours == theirs:
        return True
    try:
        a, b = float(ours), float(theirs)
    except ValueError:
        return False
    return "." in ours + theirs and abs(a - b) <= 1e-7 * abs(a)


def same_cells(ours, theirs, names):
    """Whether a row of ours equals one of the oracle; theirs are cells, or the words of Java's whole row."""
    if not names:
        # Java adds the position to rows of files with deletes.
        ours = [word for cell in ours for word in cell]
        return len(theirs) - len(ours) in (0, 1) and all(map(same_word, ours, theirs))
    for cell, (other, cut) in zip(ours, theirs, strict=True):
        if len(other) > len(cell) or (len(other) < len(cell) and not cut) or not all(map(same_word, cell, other)):
            return False
    return True


def unequal(rows, table):
    """The first of our rows that no row of the oracle equals; each row of the oracle is used once."""
    names = table.get("rows_duckdb") is not None
    if names:
        theirs = [[oracle_cell(cell) for cell in row] for row in table["rows_duckdb"]]
    else:
        theirs = [words(row) for row in table["rows_java"]]
    if len(theirs) != len(rows):
        return f"{len(rows)} rows, the oracle kept {len(theirs)}"
    for row in rows:
        ours = [our_words(value, names) for value in row.values()]
        equal = next((i for i, other in enumerate(theirs) if same_cells(ours, other, names)), None)
        if equal is None:
            return f"{ours} is not among {theirs}"
        del theirs[equal]
    return None


@needs_fixtures
@pytest.mark.parametrize(("name", "table"), TABLES, ids=[f"{name}-{pathlib.Path(table['metadata']).parts[0]}" for name, table in TABLES])
def test_l12_table_of_another_engine_gives_the_rows_of_its_oracle_or_is_refused(cli, name, table):
    done = read(cli, name, table, "SELECT count(*) AS count FROM {t}", "SELECT * FROM {t}")
    if name in REFUSED:
        kind, reason = REFUSED[name]
        assert (done.returncode, done.stderr.startswith(f"error: {kind}: ")) == (1, True), done.stderr
        assert reason in done.stderr
        return
    assert (done.returncode, done.stderr) == (0, "")
    count, *lines = done.stdout.splitlines()
    assert json.loads(count) == {"count": len(lines)}
    if name in OURS_ALONE:
        return
    assert len(lines) in [rows for rows in table["engines"].values() if isinstance(rows, int)]
    if name not in COUNTED:
        assert unequal([json.loads(line) for line in lines], table) is None


@needs_fixtures
@pytest.mark.parametrize(("name", "query", "snapshot", "rows"), FACTS)
def test_table_of_another_engine_holds_what_its_readme_says(cli, name, query, snapshot, rows):
    (table,) = [table for known, table in TABLES if known == name]
    at = f"FOR VERSION AS OF {snapshot}" if snapshot else ""
    done = read(cli, name, table, query.replace("{at}", at))
    assert (done.returncode, done.stderr) == (0, "")
    assert [list(json.loads(line).values()) for line in done.stdout.splitlines()] == rows


@needs_fixtures
def test_every_fixture_is_listed():
    """A table that is new among the fixtures, or one that is refused no more, does not pass unseen."""
    folders = {folder.name for parent in (ROOT, ROOT / "_extra") for folder in parent.iterdir() if "__" in folder.name}
    assert folders == {name for name, _ in TABLES}
    assert REFUSED.keys() | COUNTED | OURS_ALONE <= folders


def test_rows_that_differ_in_one_value_have_no_equal():
    rows = [{"id": 1, "name": "a b"}, {"id": 2, "name": None}]
    assert unequal(rows, {"rows_java": ["Record(2, null)", "Record(1, a b, 0)"]}) is None
    for wrong in (["Record(2, null)", "Record(1, a c)"], ["Record(2, x)", "Record(1, a b)"], ["Record(1, a b)", "Record(1, a b)"]):
        assert unequal(rows, {"rows_java": wrong})
    cells = [["2", "None"], ["1", "a b"]]
    assert unequal(rows, {"rows_duckdb": cells}) is None
    assert unequal(rows, {"rows_duckdb": [["2", "None"], ["1", "a"]]})
    assert unequal([{"b": "00ff", "t": "2024-01-01T00:00:00Z"}], {"rows_duckdb": [["b'\\x00\\xff'", "2024-01-01 00:00:00+00:00"]]}) is None
