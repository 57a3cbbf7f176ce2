"""Rows after many commits: files touched, emptied, rewritten and deleted from again, read by PyIceberg and DuckDB."""

import pytest

from readers import READERS, metadata_files, newest, pyiceberg_table


def fill(cli, files, rows):
    """A table `t` of `files` data files of `rows` rows each: id, its remainder by 10, a text."""
    cli.sql("CREATE TABLE t (id bigint, rest int, name text)")
    for file in range(files):
        ids = range(file * rows, (file + 1) * rows)
        cli.sql("INSERT INTO t VALUES " + ", ".join(f"({i}, {i % 10}, 'n{i}')" for i in ids))


def check(cli, expected):
    """All three readers see these rows: id to (rest, name)."""
    ids = sorted(expected)
    wanted = {"id": ids, "rest": [expected[i][0] for i in ids], "name": [expected[i][1] for i in ids]}
    for name, reader in READERS.items():
        assert reader(newest(cli.location("t"))) == wanted, name
    lines = cli.sql("SELECT id, rest, name FROM t ORDER BY id").splitlines()
    assert lines[1:] == [f"{i},{'' if expected[i][0] is None else expected[i][0]},{expected[i][1] or ''}" for i in ids]


def test_rows_stay_equal_through_many_changes(cli):
    fill(cli, files=4, rows=100)
    rows = {i: (i % 10, f"n{i}") for i in range(400)}
    check(cli, rows)

    assert cli.sql("DELETE FROM t WHERE rest = 3") == "count\n40\n"
    rows = {i: row for i, row in rows.items() if row[0] != 3}
    check(cli, rows)

    assert cli.sql("UPDATE t SET name = NULL, rest = rest + 100 WHERE id BETWEEN 150 AND 249 AND rest < 5") == "count\n40\n"
    rows = {i: (row[0] + 100, None) if 150 <= i <= 249 and row[0] < 5 else row for i, row in rows.items()}
    check(cli, rows)

    assert cli.sql("DELETE FROM t WHERE id < 100") == "count\n90\n"
    rows = {i: row for i, row in rows.items() if i >= 100}
    check(cli, rows)

    assert cli.sql("UPDATE t SET id = id + 1000 WHERE rest >= 100") == "count\n40\n"
    rows = {i + 1000 if row[0] >= 100 else i: row for i, row in rows.items()}
    check(cli, rows)

    assert cli.sql("DELETE FROM t WHERE id > 1000 AND rest = 101") == "count\n10\n"
    rows = {i: row for i, row in rows.items() if not (i > 1000 and row[0] == 101)}
    check(cli, rows)

    assert cli.sql("INSERT INTO t SELECT id + 5000, rest, name FROM t WHERE id >= 1000") == "count\n30\n"
    rows.update({i + 5000: row for i, row in rows.items() if i >= 1000})
    check(cli, rows)


@pytest.mark.parametrize("statement", ["DELETE FROM t", "DELETE FROM t WHERE id >= 0", "TRUNCATE t"])
def test_emptied_table_reads_empty_and_fills_again(cli, statement):
    fill(cli, files=2, rows=10)
    cli.sql(statement)
    check(cli, {})
    cli.sql("INSERT INTO t VALUES (1, 2, '')")
    for reader in READERS.values():
        assert reader(newest(cli.location("t"))) == {"id": [1], "rest": [2], "name": [""]}


def test_table_from_empty_query_reads_empty(cli):
    assert cli.sql("CREATE TABLE t AS SELECT 1 AS id, 'x' AS s WHERE false") == "count\n0\n"
    table = pyiceberg_table(newest(cli.location("t")))
    assert [(field.name, str(field.field_type)) for field in table.schema().fields] == [("id", "long"), ("s", "string")]
    assert table.scan().to_arrow().num_rows == 0
    assert cli.sql("SELECT * FROM t") == "id,s\n"


def test_delete_adds_delete_file_and_no_data_file(cli):
    fill(cli, files=2, rows=1000)
    before = pyiceberg_table(newest(cli.location("t"))).inspect.files().to_pylist()
    cli.sql("DELETE FROM t WHERE id = 77")
    table = pyiceberg_table(newest(cli.location("t")))
    after = table.inspect.files().to_pylist()
    assert [f["file_path"] for f in after if f["content"] == 0] == [f["file_path"] for f in before]
    (deletes,) = [f for f in after if f["content"] != 0]
    assert (deletes["content"], deletes["record_count"]) == (1, 1)
    assert deletes["file_size_in_bytes"] < 64 * 1024


@pytest.mark.parametrize("statement", ["DELETE FROM t WHERE id = -1", "UPDATE t SET rest = 1 WHERE id = -1", "INSERT INTO t SELECT * FROM t WHERE false"])
def test_statement_without_rows_publishes_nothing(cli, statement):
    fill(cli, files=1, rows=10)
    before = metadata_files(cli.location("t"))
    assert cli.sql(statement) == "count\n0\n"
    assert metadata_files(cli.location("t")) == before


def test_every_snapshot_stays_readable_at_its_metadata(cli):
    fill(cli, files=1, rows=10)
    cli.sql("DELETE FROM t WHERE id < 5; UPDATE t SET rest = 0; DELETE FROM t WHERE id = 9")
    counts = [pyiceberg_table(str(file)).scan().to_arrow().num_rows for file in metadata_files(cli.location("t"))]
    assert counts == [0, 10, 5, 5, 4]
    operations = [snapshot.summary.operation.value for snapshot in pyiceberg_table(newest(cli.location("t"))).snapshots()]
    assert operations[0] == "append" and len(operations) == 4
