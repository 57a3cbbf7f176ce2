"""Names with spaces, dots, quotes, mixed case and other letters, in tables, namespaces, columns and struct fields."""

import pytest

from readers import READERS, newest, pyiceberg_table

TABLE_NAMES = ["plain", "With Space", "dots.in.name", 'double"quote', "single'quote", "MiXeD", "ünïcödé 漢字", "100%", "semi;colon", "select"]

COLUMN_NAMES = ["id", "a b", "a.b", 'a"b', "a'b", "A b", "Ab", "aB", "ünï", "漢字", "%", "a-b", "1st", "select", "a\\b", "_file", "x,y", " lead"]


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


@pytest.mark.parametrize("name", TABLE_NAMES)
def test_table_of_any_name_reads_equal(cli, name):
    table = quoted(name)
    cli.sql(f"CREATE TABLE {table} (id int); INSERT INTO {table} VALUES (1), (2), (3); DELETE FROM {table} WHERE id = 2")
    assert cli.column(f"SELECT id FROM {table} ORDER BY id") == ["1", "3"]
    for reader in READERS.values():
        assert reader(newest(cli.location(name))) == {"id": [1, 3]}


@pytest.mark.parametrize("reader", READERS)
def test_columns_of_any_name_read_equal(cli, reader):
    names = [name for name in COLUMN_NAMES if reader == "pyiceberg" or name in distinct_ignoring_case(COLUMN_NAMES)]
    columns = ", ".join(f"{quoted(name)} {'int' if name == 'id' else 'text'}" for name in names)
    rows = ", ".join(f"({number}, " + ", ".join(f"'{number}-{at}'" for at in range(1, len(names))) + ")" for number in (1, 2, 3))
    cli.sql(f"CREATE TABLE t ({columns}); INSERT INTO t VALUES {rows}")
    cli.sql(f"DELETE FROM t WHERE {quoted(names[2])} = '2-2'")
    cli.sql(f"UPDATE t SET {', '.join(f'{quoted(name)} = {chr(39)}new{chr(39)}' for name in names[1:])} WHERE id = 3")
    read = READERS[reader](newest(cli.location("t")))
    assert list(read) == names
    assert read["id"] == [1, 3]
    for at, name in enumerate(names[1:], start=1):
        assert read[name] == [f"1-{at}", "new"], name


def distinct_ignoring_case(names):
    """DuckDB folds the case of column names, so that of `Ab` and `aB` it can read one."""
    return {name.lower(): name for name in names}.values()


def test_namespaces_of_any_name_hold_tables(cli):
    cli.location("t", namespace="My Space").parent.mkdir()
    cli.sql('CREATE TABLE "My Space".t (id int); INSERT INTO "My Space".t VALUES (7)')
    for reader in READERS.values():
        assert reader(newest(cli.location("t", namespace="My Space"))) == {"id": [7]}


def test_struct_fields_of_any_name_read_equal(cli):
    cli.sql("CREATE TABLE s AS SELECT 1 AS id, named_struct('a b', 1, 'a.b', 2, 'A', 3, '漢', 4) AS s")
    for reader in READERS.values():
        assert reader(newest(cli.location("s")))["s"] == [{"a b": 1, "a.b": 2, "A": 3, "漢": 4}]


def test_unquoted_names_fold_to_lower_case(cli):
    cli.sql("CREATE TABLE Folded (Id int, MyText text); INSERT INTO FOLDED (ID, mytext) VALUES (1, 'x')")
    assert [field.name for field in pyiceberg_table(newest(cli.location("folded"))).schema().fields] == ["id", "mytext"]


def test_columns_are_found_in_any_case_where_asked(cli):
    columns = ", ".join(f"{quoted(name)} int" for name in COLUMN_NAMES)
    cli.sql(f"CREATE TABLE t ({columns}, \"Total\" int); INSERT INTO t VALUES ({', '.join(str(at) for at in range(len(COLUMN_NAMES) + 1))})")
    any_case = ["--option", "case-sensitive=false", "--warehouse", str(cli.warehouse), "--format", "csv"]
    done = cli.run("sql", *any_case, "-e", "SELECT TOTAL, _FILE FROM t WHERE total = 18", "-e", "SELECT * FROM t")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Total,_file\n18,15\n")
    assert done.stdout.removeprefix("Total,_file\n18,15\n") == cli.sql("SELECT * FROM t")
    done = cli.run("sql", *any_case, "-e", "SELECT ab FROM t")
    assert (done.returncode, done.stdout) == (1, "")
    assert "ambiguous" in done.stderr and "Ab, aB" in done.stderr
    done = cli.run("sql", "--option", "case-sensitive=no", "-e", "SELECT 1")
    assert done.returncode == 1 and "case-sensitive" in done.stderr
