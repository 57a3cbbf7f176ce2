"""The command line as scripts and people use it: exit codes, streams, output formats, and the shell on a terminal."""

import fcntl
import json
import os
import pty
import select
import struct
import subprocess
import termios
import time

import pyarrow.ipc
import pytest

EVERY_TYPE = """SELECT true AS b, 1::int AS i, 9007199254740992 AS l, 9007199254740993 AS big, -9007199254740993 AS small, 1.50 AS d,
  0.1::real AS f, 'NaN'::double precision AS nan, '-0'::double precision AS zero, 'Infinity'::real AS inf, '-Infinity'::double precision AS neg,
  date '2024-02-29' AS day, time '01:02:03.5' AS t, timestamp '2024-01-01 00:00:00.25' AS ts, timestamptz '2024-01-01 01:00:00+01' AS tz,
  'it''s "x"' AS s, '' AS e, NULL::text AS n, X'00ff' AS bin,
  named_struct('a', 1::int, 'b', make_array('x', NULL)) AS st, map(make_array('k'), make_array(2::int)) AS m, '[1, 2.5]'::vector AS v"""

JSON_LINE = (
    '{"b":true,"i":1,"l":9007199254740992,"big":"9007199254740993","small":"-9007199254740993","d":"1.50",'
    '"f":0.1,"nan":"NaN","zero":-0.0,"inf":"Infinity","neg":"-Infinity",'
    '"day":"2024-02-29","t":"01:02:03.500","ts":"2024-01-01T00:00:00.250","tz":"2024-01-01T00:00:00Z",'
    '"s":"it\'s \\"x\\"","e":"","n":null,"bin":"00ff",'
    '"st":{"a":1,"b":["x",null]},"m":[{"key":"k","value":2}],"v":[1.0,2.5]}\n'
)


def test_json_prints_every_type(cli):
    printed = cli.sql(EVERY_TYPE, output="json")
    assert printed == JSON_LINE
    assert list(json.loads(printed))[:3] == ["b", "i", "l"]


def test_json_of_stored_values_equals_json_of_constants(cli):
    cli.sql(f"CREATE TABLE t AS {EVERY_TYPE}")
    assert cli.sql("SELECT * FROM t", output="json") == JSON_LINE


def test_uuid_prints_hyphenated_and_fixed_as_hex(cli):
    cli.sql("CREATE TABLE t (u uuid, f fixed(16)); INSERT INTO t VALUES ('123E4567E89B12D3A456426614174000', decode(repeat('0a', 16), 'hex'))")
    assert cli.sql("SELECT * FROM t", output="json") == '{"u":"123e4567-e89b-12d3-a456-426614174000","f":"' + "0a" * 16 + '"}\n'


def test_csv_tells_null_from_empty_and_quotes(cli):
    text = "SELECT 1 AS id, NULL::text AS n, '' AS e, 'a,b' AS c, 'say \"x\"' AS q, E'two\\nlines' AS l, make_array(1, NULL) AS v"
    assert cli.sql(text) == 'id,n,e,c,q,l,v\n1,,"","a,b","say ""x""","two\nlines","[1,null]"\n'
    assert cli.sql('SELECT 1 AS "a,b", 2 AS "c""d"') == '"a,b","c""d"\n1,2\n'
    assert cli.sql("SELECT 1 AS a LIMIT 0") == "a\n"


def test_table_aligns_columns_and_counts_rows(cli):
    printed = cli.sql("SELECT 1 AS id, 'abc' AS name UNION ALL SELECT 20, NULL ORDER BY 1", output="table")
    assert printed == " id | name\n----+------\n  1 | abc\n 20 | NULL\n(2 rows)\n"
    assert cli.sql("SELECT 1 AS id LIMIT 0", output="table").endswith("(0 rows)\n")
    assert "…" in cli.sql("SELECT 1 AS id, repeat('x', 500) AS s", output="table")
    assert "x" * 500 in cli.sql("SELECT repeat('x', 500) AS s", output="table")


@pytest.mark.parametrize("output", ["csv", "json", "table"])
def test_changes_give_one_row_count(cli, output):
    expected = {"csv": "count\n2\n", "json": '{"count":2}\n', "table": " count\n-------\n     2\n(1 row)\n"}[output]
    assert cli.sql("CREATE TABLE t (id int)", output) == ""
    for statement in ("INSERT INTO t VALUES (1), (2)", "UPDATE t SET id = id + 1", "DELETE FROM t"):
        assert cli.sql(statement, output) == expected
    assert cli.sql("DROP TABLE t", output) == ""


@pytest.mark.parametrize("output", ["csv", "json", "table"])
@pytest.mark.parametrize(
    "statement",
    ["SELECT 1 / 0 AS x", "SELECT * FROM missing", "SELECT 1 AS a, 2 AS a", "SELEC", "SELECT id / (id - 3) AS x FROM t", "SELECT 10 / (id - 3) AS x FROM t ORDER BY id"],
)
def test_failing_statement_prints_nothing_on_stdout(cli, statement, output):
    cli.sql("CREATE TABLE t (id int); INSERT INTO t VALUES (1), (2), (3)")
    done = cli.attempt(statement, output)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: ")


def test_first_error_stops_and_keeps_what_was_done(cli):
    done = cli.attempt("CREATE TABLE t (id int); INSERT INTO t VALUES (1); SELECT * FROM missing; INSERT INTO t VALUES (2)")
    assert (done.returncode, done.stdout) == (1, "count\n1\n")
    assert cli.column("SELECT id FROM t") == ["1"]


def test_text_that_does_not_parse_runs_nothing(cli):
    done = cli.attempt("CREATE TABLE t (id int); INSERT INTO t VALUES (1); SELEC 1")
    assert (done.returncode, done.stdout) == (1, "")
    assert not cli.location("t").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["nope"],
        ["sql", "-e", "SELECT 1", "--format", "xml"],
        ["sql", "-e", "SELECT 1", "--nope"],
        ["sql", "-e"],
        ["sql", "-e", "SELECT 1", "--option", "novalue"],
        ["sql", "-e", "SELECT 1", "--map-prefix", "novalue"],
        ["describe"],
        ["snapshots"],
        ["index", "create", "t"],
        ["index", "drop", "t"],
    ],
    ids=" ".join,
)
def test_wrong_usage_exits_with_two(cli, arguments):
    done = cli.run(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert "--help" in done.stderr or "Usage:" in done.stderr


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["sql", "--help"], ["index", "--help"]], ids=" ".join)
def test_help_and_version_exit_with_zero(cli, arguments):
    done = cli.run(*arguments)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout


def test_statements_come_from_several_sources_in_order(cli, tmp_path):
    script = tmp_path / "script.sql"
    script.write_text("-- a comment; with a semicolon\nSELECT 'b;' AS b;\n", encoding="utf-8")
    done = cli.run("sql", "--format", "json", "-e", "SELECT 1 AS a", "-e", "SELECT 2 AS a", "-f", str(script))
    assert (done.returncode, done.stdout) == (0, '{"a":1}\n{"a":2}\n{"b":"b;"}\n')
    piped = subprocess.run([cli.binary, "sql", "--format", "csv", "-f", "-"], input="SELECT 7 AS a", capture_output=True, encoding="utf-8", timeout=60)
    assert (piped.returncode, piped.stdout) == (0, "a\n7\n")
    piped = subprocess.run([cli.binary, "sql", "--format", "csv"], input="SELECT 7 AS a; SELECT 8 AS a", capture_output=True, encoding="utf-8", timeout=60)
    assert (piped.returncode, piped.stdout) == (0, "a\n7\na\n8\n")
    missing = cli.run("sql", "-f", str(tmp_path / "missing.sql"))
    assert (missing.returncode, missing.stdout) == (1, "")
    assert "missing.sql" in missing.stderr


def test_reader_that_stops_early_is_no_error(cli):
    cli.sql("CREATE TABLE t (id int); INSERT INTO t VALUES " + ", ".join(f"({i})" for i in range(2000)))
    query = "SELECT a.id AS a, b.id AS b FROM t a CROSS JOIN t b"
    arguments = [cli.binary, "sql", "--warehouse", str(cli.warehouse), "--format", "csv", "-e", query]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        assert child.stdout.readline() == b"a,b\n"
        child.stdout.close()
        assert child.stderr.read() == b""
        assert child.wait(timeout=30) == 0


def stream(cli, text):
    """Runs statements with --format arrow; gives the finished process and its bytes."""
    arguments = [cli.binary, "sql", "--warehouse", str(cli.warehouse), "--format", "arrow", "-e", text]
    return subprocess.run(arguments, stdin=subprocess.DEVNULL, capture_output=True, timeout=60)


def test_arrow_is_one_stream_of_one_result(cli):
    cli.sql("CREATE TABLE t (id int, s text, v vector(2)); INSERT INTO t VALUES (1, 'a', '[1,2]'), (2, NULL, NULL)")
    done = stream(cli, "SELECT * FROM t ORDER BY id")
    assert (done.returncode, done.stderr) == (0, b"")
    rows = pyarrow.ipc.open_stream(done.stdout).read_all()
    assert rows.to_pylist() == [{"id": 1, "s": "a", "v": [1.0, 2.0]}, {"id": 2, "s": None, "v": None}]
    empty = pyarrow.ipc.open_stream(stream(cli, "SELECT id FROM t LIMIT 0").stdout).read_all()
    assert (empty.num_rows, empty.column_names) == (0, ["id"])
    assert stream(cli, "CREATE TABLE u (id int)").stdout == b""
    many = stream(cli, "SELECT a.id FROM t a CROSS JOIN t b")
    assert pyarrow.ipc.open_stream(many.stdout).read_all().num_rows == 4
    for failing in ("SELECT 1 / 0 AS x", "SELECT * FROM missing", "SELECT 1 AS a, 2 AS a"):
        done = stream(cli, failing)
        assert (done.returncode, done.stdout) == (1, b"")
    several = stream(cli, "SELECT 1 AS a; SELECT 2 AS a")
    assert several.returncode == 1 and b"InvalidInput" in several.stderr
    described = subprocess.run([cli.binary, "describe", str(cli.location("t")), "--format", "arrow"], capture_output=True, timeout=60)
    assert pyarrow.ipc.open_stream(described.stdout).read_all().num_rows == 3


class Shell:
    """The interactive shell on a terminal of its own."""

    def __init__(self, cli, home):
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 200, 0, 0))
        self.seen = ""
        self.process = subprocess.Popen(
            [cli.binary, "sql", "--warehouse", str(cli.warehouse), "--format", "csv"],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
            env={**os.environ, "XDG_DATA_HOME": str(home)},
        )
        os.close(slave)

    def type(self, text):
        os.write(self.master, text.encode())

    def expect(self, text, seconds=30):
        """Waits until the terminal shows a text; gives what stands before it."""
        end = time.monotonic() + seconds
        while text not in self.seen:
            left = end - time.monotonic()
            assert left > 0, f"{text!r} is not shown: {self.seen!r}"
            if select.select([self.master], [], [], left)[0]:
                try:
                    self.seen += os.read(self.master, 65536).decode()
                except OSError:
                    assert text in self.seen, f"{text!r} is not shown: {self.seen!r}"
        before, self.seen = self.seen.split(text, 1)
        return before

    def ended(self):
        try:
            return self.process.wait(timeout=30)
        finally:
            os.close(self.master)


PROMPT = "benostreamdb> "


def test_shell_runs_statements_of_several_lines_and_goes_on_after_errors(cli, tmp_path):
    shell = Shell(cli, tmp_path / "data")
    shell.expect(PROMPT)
    shell.type("CREATE TABLE t (id int);\r")
    shell.expect(PROMPT)
    shell.type("INSERT INTO t\rVALUES (1), (2) -- ;\r;\r")
    shell.expect("count\r\n2\r\n")
    shell.type("SELECT nope FROM t;\r")
    shell.expect("error: InvalidInput")
    shell.type("SELECT ';' AS s, sum(id) AS n FROM t;\r")
    shell.expect("s,n\r\n;,3\r\n")
    shell.type("\\d\r")
    shell.expect("t\r\n")
    shell.type("\\d t\r")
    shell.expect("id,int")
    shell.type("\\?\r")
    shell.expect("list tables")
    shell.type("\\nope\r")
    shell.expect("there is no command")
    shell.type("SELECT 41 + 1\r")
    shell.expect("-> ")
    shell.type("\x03")
    shell.expect("^C")
    shell.type("SELECT 7 AS seven;\r")
    shell.expect("seven\r\n7\r\n")
    shell.type("\\q\r")
    assert shell.ended() == 0
    assert cli.column("SELECT id FROM t ORDER BY id") == ["1", "2"]


def test_shell_recalls_what_an_earlier_one_ran(cli, tmp_path):
    first = Shell(cli, tmp_path / "data")
    first.expect(PROMPT)
    first.type("SELECT 5\r AS five;\r")
    first.expect("five\r\n5\r\n")
    first.expect(PROMPT)
    first.type("\x04")
    assert first.ended() == 0
    history = tmp_path / "data" / "benostreamdb" / "history"
    assert history.read_text() == "SELECT 5\\n AS five;\n"
    assert history.stat().st_mode & 0o077 == 0
    second = Shell(cli, tmp_path / "data")
    second.expect(PROMPT)
    second.type("\x1b[A\r")
    second.expect("five\r\n5\r\n")
    second.expect(PROMPT)
    second.type("\x04")
    assert second.ended() == 0


def test_shell_stops_a_statement_by_ctrl_c(cli, tmp_path):
    cli.sql("CREATE TABLE t (id int); INSERT INTO t VALUES " + ", ".join(f"({i})" for i in range(3000)))
    shell = Shell(cli, tmp_path / "data")
    shell.expect(PROMPT)
    shell.type("SELECT count(*) AS n FROM t a, t b, t c WHERE a.id + b.id * c.id = -1;\r")
    time.sleep(1.5)
    shell.type("\x03")
    shell.expect("error: Cancelled")
    shell.type("SELECT 8 AS eight;\r")
    shell.expect("eight\r\n8\r\n")
    shell.type("\x04")
    assert shell.ended() == 0


def test_describe_and_snapshots_tell_about_a_table(cli):
    cli.sql("CREATE TABLE t (id int NOT NULL, \"Na me\" text, v vector(3)); INSERT INTO t VALUES (1, 'a', '[1,2,3]'), (2, 'b', NULL)")
    cli.sql("DELETE FROM t WHERE id = 1")
    for target in (["--warehouse", str(cli.warehouse), "t"], [str(cli.location("t"))]):
        described = cli.run("describe", *target, "--format", "csv")
        assert described.returncode == 0, described.stderr
        assert described.stdout == "column,type,nullable,field_id,doc\nid,int,false,1,\nNa me,string,true,2,\nv,list<float>,true,3,\n"
        snapshots = cli.run("snapshots", *target, "--format", "json")
        assert snapshots.returncode == 0, snapshots.stderr
        first, second = map(json.loads, snapshots.stdout.splitlines())
        assert (first["operation"], first["total_records"]) == ("append", "2")
        assert second["parent_id"] == first["snapshot_id"]


@pytest.mark.parametrize("command", [["describe"], ["snapshots"], ["index", "list"], ["index", "refresh"]], ids=" ".join)
def test_commands_name_a_missing_table(cli, command):
    done = cli.run(*command, "--warehouse", str(cli.warehouse), "missing")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: NotFound: ") and "missing" in done.stderr


def test_tables_are_addressed_by_location(cli, tmp_path):
    location = tmp_path / "elsewhere" / "t"
    location.parent.mkdir()
    cli.sql(f"CREATE TABLE '{location}' (id int); INSERT INTO '{location}' VALUES (1), (2); DELETE FROM '{location}' WHERE id = 1")
    done = cli.run("sql", "--format", "csv", "-e", f"SELECT * FROM '{location}'")
    assert (done.returncode, done.stdout) == (0, "id\n2\n")
    pinned = location / "metadata" / "v2.metadata.json"
    assert cli.column(f"SELECT id FROM '{pinned}' ORDER BY id") == ["1", "2"]
