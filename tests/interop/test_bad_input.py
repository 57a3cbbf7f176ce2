"""Wrong statements, wrong values, damaged files and forbidden paths: an error of the right kind that names the
thing, and the table is intact afterwards."""

import json
import os
import pathlib
import shutil
import tempfile

import pytest

from conftest import CommandLine
from readers import READERS, metadata_files, newest

UNPRIVILEGED = 65534


def fill(cli):
    cli.sql("CREATE TABLE t (id int NOT NULL, s text, n numeric(5, 2), v vector(2), d date)")
    cli.sql("INSERT INTO t VALUES (1, 'a', 1.25, '[1,2]', '2024-01-01'), (2, NULL, NULL, NULL, NULL)")


@pytest.fixture
def table(cli):
    fill(cli)
    return cli


def assert_intact(cli):
    assert cli.column("SELECT id FROM t ORDER BY id") == ["1", "2"]
    assert len(metadata_files(cli.location("t"))) == 2
    for reader in READERS.values():
        assert reader(newest(cli.location("t")))["id"] == [1, 2]


STATEMENTS = [
    ("SELECT * FROM missing", "NotFound", ["missing"]),
    ("SELECT * FROM missing.t", "NotFound", ["missing.t"]),
    ("SELECT * FROM '/nowhere/t'", "NotFound", ["/nowhere/t"]),
    ("INSERT INTO missing VALUES (1)", "NotFound", ["missing"]),
    ("UPDATE missing SET a = 1", "NotFound", ["missing"]),
    ("DELETE FROM missing", "NotFound", ["missing"]),
    ("DROP TABLE missing", "NotFound", ["missing"]),
    ("SELECT nope FROM t", "InvalidInput", ["nope"]),
    ("SELECT idd FROM t", "InvalidInput", ["idd", "did you mean id?"]),
    ("SELECT id FROM t WHERE nope = 1", "InvalidInput", ["nope"]),
    ("SELECT id FROM t ORDER BY nope", "InvalidInput", ["nope"]),
    ("INSERT INTO t (nope) VALUES (1)", "InvalidInput", ["nope"]),
    ("UPDATE t SET nope = 1", "InvalidInput", ["nope"]),
    ("DELETE FROM t WHERE nope = 1", "InvalidInput", ["nope"]),
    ("SELEC 1", "InvalidInput", ["SELEC"]),
    ("SELECT 1 FROM", "InvalidInput", []),
    ("SELECT 'open", "InvalidInput", []),
    ("SELECT (1", "InvalidInput", []),
    ("SELECT nope(1) AS a", "InvalidInput", ["nope"]),
    ("INSERT INTO t VALUES (3)", "InvalidInput", ["1", "5"]),
    ("INSERT INTO t (id, id) VALUES (3, 3)", "InvalidInput", ["id"]),
    ("INSERT INTO t (id) VALUES ('x')", "InvalidInput", ["x"]),
    ("INSERT INTO t (id) VALUES (true)", "InvalidInput", ["id"]),
    ("INSERT INTO t (id) VALUES (2147483648)", "InvalidInput", ["2147483648"]),
    ("INSERT INTO t (id) VALUES (NULL)", "InvalidInput", ["id"]),
    ("INSERT INTO t (s) VALUES ('x')", "InvalidInput", ["id"]),
    ("INSERT INTO t (id, n) VALUES (3, 1000)", "InvalidInput", ["1000"]),
    ("INSERT INTO t (id, d) VALUES (3, '2024-13-01')", "InvalidInput", ["2024-13-01"]),
    ("INSERT INTO t (id, d) VALUES (3, 'x')", "InvalidInput", ["x"]),
    ("INSERT INTO t (id, v) VALUES (3, '[1]')", "InvalidInput", ["v"]),
    ("INSERT INTO t (id, v) VALUES (3, '[1,2,3]')", "InvalidInput", ["v"]),
    ("INSERT INTO t (id, v) VALUES (3, '[1,NaN]')", "InvalidInput", ["NaN"]),
    ("INSERT INTO t (id, v) VALUES (3, 'x')", "InvalidInput", []),
    ("INSERT INTO t (id, s) SELECT id, d FROM t", "InvalidInput", ["s"]),
    ("INSERT INTO t (id) VALUES (3), (1 / 0)", "InvalidInput", ["zero"]),
    ("UPDATE t SET id = 'x'", "InvalidInput", ["x"]),
    ("UPDATE t SET id = NULL", "InvalidInput", ["id"]),
    ("UPDATE t SET id = 1 / (id - 1)", "InvalidInput", ["zero"]),
    ("UPDATE t SET id = 2147483647 + id", "InvalidInput", []),
    ("UPDATE t SET v = '[1,2,3]'", "InvalidInput", ["v"]),
    ("DELETE FROM t WHERE id", "InvalidInput", []),
    ("DELETE FROM t WHERE 1 / (id - 1) = 1", "InvalidInput", ["zero"]),
    ("CREATE TABLE t (id int)", "AlreadyExists", ["t"]),
    ("CREATE TABLE t AS SELECT 1 AS id", "AlreadyExists", ["t"]),
    ("CREATE TABLE x (a int, a text)", "InvalidInput", ["a"]),
    ("CREATE TABLE x (a int, A text)", "InvalidInput", ["a"]),
    ("CREATE TABLE x ()", "InvalidInput", ["x"]),
    ("CREATE TABLE x (a nope)", "Unsupported", ["nope"]),
    ("CREATE TABLE x (a numeric)", "InvalidInput", ["a"]),
    ("CREATE TABLE x (a numeric(39, 0))", "InvalidInput", ["39"]),
    ("CREATE TABLE x (a vector(0))", "InvalidInput", ["a"]),
    ("CREATE TABLE x AS SELECT NULL AS a", "InvalidInput", ["a"]),
    ("CREATE TABLE x AS SELECT 1 / 0 AS a", "InvalidInput", ["zero"]),
    ("CREATE TABLE x AS SELECT * FROM missing", "NotFound", ["missing"]),
    ("MERGE INTO t USING t u ON t.id = u.id WHEN MATCHED THEN DELETE", "Unsupported", ["MERGE"]),
    ("SELECT * FROM t TABLESAMPLE (10)", "Unsupported", ["TABLESAMPLE"]),
    ("SELECT * FROM t FOR UPDATE", "Unsupported", ["FOR UPDATE"]),
    ("SELECT * FROM 'gs://bucket/t'", "Unsupported", ["gs://bucket/t"]),
    ("SELECT * FROM 'https://host/t'", "InvalidInput", ["https://host/t"]),
]


@pytest.mark.parametrize("statement, kind, named", STATEMENTS, ids=[statement for statement, *_ in STATEMENTS])
def test_wrong_statement_is_refused_and_changes_nothing(table, statement, kind, named):
    table.fails(statement, kind, *named)
    assert_intact(table)
    assert not table.location("x").exists()


def test_deeply_nested_statement_is_refused(table):
    table.fails("SELECT " + "(" * 5000 + "1" + ")" * 5000 + " AS a", "InvalidInput")
    assert_intact(table)


def test_missing_warehouse_makes_no_folder(binary, tmp_path):
    missing = tmp_path / "missing"
    CommandLine(binary, missing).fails("SELECT * FROM t", "NotFound", "t")
    assert not missing.exists()


@pytest.mark.parametrize("damage", ["torn", "empty", "garbage", "no_json_object"])
def test_damaged_metadata_file_is_named(table, damage):
    newest_file = metadata_files(table.location("t"))[-1]
    content = newest_file.read_bytes()
    newest_file.write_bytes({"torn": content[: len(content) // 2], "empty": b"", "garbage": bytes(range(256)), "no_json_object": b"[1]"}[damage])
    table.fails("SELECT * FROM t", "Corrupt", newest_file.name)
    table.fails("INSERT INTO t (id) VALUES (3)", "Corrupt", newest_file.name)
    newest_file.write_bytes(content)
    assert_intact(table)


@pytest.mark.parametrize("pattern", ["data/*.parquet", "metadata/snap-*.avro", "metadata/*-m0.avro"])
@pytest.mark.parametrize("damage", ["missing", "truncated", "garbage"])
def test_damaged_file_is_named(table, pattern, damage):
    (path,) = table.location("t").glob(pattern)
    content = path.read_bytes()
    path.unlink()
    if damage != "missing":
        path.write_bytes(content[: len(content) // 2] if damage == "truncated" else b"\0garbage" * 64)
    table.fails("SELECT * FROM t", "NotFound" if damage == "missing" else "Corrupt", path.name)
    path.write_bytes(content)
    assert_intact(table)


@pytest.mark.parametrize("damage", ["truncated", "garbage", "empty", "missing", "foreign"])
def test_damaged_segment_gives_right_answers_and_a_warning(cli, damage):
    for name in ("t", "other"):
        cli.sql(f"CREATE TABLE {name} (id int, s text, v vector(2)); INSERT INTO {name} VALUES (1, 'a x', '[1,0]'), (2, 'b', '[5,5]'), (3, 'a', '[0,0]')")
        cli.sql(f"CREATE INDEX ON {name} USING bitmap (s); CREATE INDEX ON {name} USING bm25 (s); CREATE INDEX ON {name} USING hnsw (v)")
    queries = {
        "SELECT id FROM t WHERE s = 'a'": "id\n3\n",
        "SELECT id FROM bm25_search('t', 's', 'a', 5)": "id\n3\n1\n",
        "SELECT id FROM t ORDER BY v <-> '[0,0]' LIMIT 2": "id\n3\n1\n",
    }
    segments = sorted(cli.location("t").rglob("*.bsdb_idx"))
    assert len(segments) == 3
    foreign = sorted(cli.location("other").rglob("*.bsdb_idx"))
    for segment, other in zip(segments, foreign):
        content = segment.read_bytes()
        segment.unlink()
        if damage == "foreign":
            shutil.copy(other, segment)
        elif damage != "missing":
            segment.write_bytes({"truncated": content[: len(content) // 2], "garbage": b"\0garbage" * 64, "empty": b""}[damage])
    for query, expected in queries.items():
        done = cli.attempt(query)
        assert (done.returncode, done.stdout) == (0, expected), query + done.stderr
        assert done.stderr.startswith("warning: ") and ".bsdb_idx" in done.stderr, query + done.stderr


def test_metadata_that_leads_outside_the_table_is_refused(table, tmp_path):
    outside = tmp_path / "outside.avro"
    newest_file = metadata_files(table.location("t"))[-1]
    content = newest_file.read_bytes()
    document = json.loads(content)
    shutil.copy(document["snapshots"][-1]["manifest-list"], outside)
    for path in (str(outside), "/etc/passwd", f"{table.location('t')}/../../outside.avro", "http://127.0.0.1:1/x.avro"):
        document["snapshots"][-1]["manifest-list"] = path
        newest_file.write_text(json.dumps(document), encoding="utf-8")
        table.fails("SELECT * FROM t", "PermissionDenied", path.rsplit("/", 1)[-1])
    newest_file.write_bytes(content)
    assert_intact(table)


def unprivileged():
    os.setgroups([])
    os.setgid(UNPRIVILEGED)
    os.setuid(UNPRIVILEGED)


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become an unprivileged user")


@pytest.fixture(scope="module")
def open_folder(binary):
    """A folder that every user may enter, with the binary in it."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        folder.chmod(0o755)
        shutil.copy(binary, folder / "benostreamdb")
        yield folder


@pytest.fixture
def readable(open_folder, request):
    """The table where an unprivileged user may read everything and write nothing."""
    warehouse = open_folder / str(abs(hash(request.node.name)))
    warehouse.mkdir()
    cli = CommandLine(str(open_folder / "benostreamdb"), warehouse)
    fill(cli)
    for path in warehouse.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    return cli


@needs_root
def test_table_without_read_permission_is_refused(readable):
    data = readable.location("t") / "data"
    data.chmod(0o700)
    readable.fails("SELECT * FROM t", "PermissionDenied", "data", preexec_fn=unprivileged)
    data.chmod(0o755)
    metadata = readable.location("t") / "metadata"
    metadata.chmod(0o700)
    readable.fails("SELECT * FROM t", "PermissionDenied", "metadata", preexec_fn=unprivileged)
    metadata.chmod(0o755)
    assert_intact(readable)


@needs_root
@pytest.mark.parametrize(
    "statement", ["INSERT INTO t (id) VALUES (3)", "DELETE FROM t WHERE id = 1", "UPDATE t SET s = 'b'", "CREATE INDEX ON t USING bitmap (id)", "DROP TABLE t", "CREATE TABLE x (id int)"]
)
def test_change_without_write_permission_is_refused(readable, statement):
    done = readable.attempt("SELECT id FROM t ORDER BY id", preexec_fn=unprivileged)
    assert (done.returncode, done.stdout) == (0, "id\n1\n2\n"), done.stderr
    readable.fails(statement, "PermissionDenied", preexec_fn=unprivileged)
    assert_intact(readable)
