"""Indexes and searches through SQL: what is created and listed, what EXPLAIN names, and that answers with and
without an index are the same."""

import json
import random
import re

import pytest

ROWS_PER_FILE = 200
FILES = 3
DIMENSION = 8
WORDS = ["river", "stone", "cloud", "ember", "frost", "grove", "haven", "ivory"]


def vector(random_source):
    return "[" + ", ".join(f"{random_source.uniform(-1, 1):.4f}" for _ in range(DIMENSION)) + "]"


def fill(cli, table):
    source = random.Random(7)
    cli.sql(f"CREATE TABLE {table} (id int, kind text, body text, v vector({DIMENSION}))")
    for file in range(FILES):
        rows = []
        for number in range(file * ROWS_PER_FILE, (file + 1) * ROWS_PER_FILE):
            body = " ".join(source.choices(WORDS, k=source.randint(1, 6)))
            embedding = "NULL" if number % 50 == 49 else f"'{vector(source)}'"
            rows.append(f"({number}, 'kind{number % 20}', '{body}', {embedding})")
        cli.sql(f"INSERT INTO {table} VALUES " + ", ".join(rows))
    cli.sql(f"DELETE FROM {table} WHERE id % 7 = 3")
    cli.sql(f"UPDATE {table} SET kind = 'changed' WHERE id IN (10, 210, 410)")


@pytest.fixture(scope="module")
def tables(shared_cli):
    """The same rows twice: `plain` without indexes, `indexed` with one of each kind."""
    fill(shared_cli, "plain")
    fill(shared_cli, "indexed")
    shared_cli.sql("CREATE INDEX ON indexed USING bitmap (kind); CREATE INDEX body_text ON indexed USING bm25 (body)")
    shared_cli.sql("CREATE INDEX ON indexed USING hnsw (v) WITH (metric = l2, m = 8)")
    return shared_cli


QUERY = "[" + ", ".join(["0.25"] * DIMENSION) + "]"
NEAREST = f"SELECT id, v <-> '{QUERY}' AS d FROM {{table}} ORDER BY v <-> '{QUERY}' LIMIT 10"
VECTOR_SEARCH = f"SELECT id, _distance FROM vector_search('{{table}}', 'v', '{QUERY}', 10)"
TEXT_SEARCH = "SELECT id, _score FROM bm25_search('{table}', 'body', 'river frost', 10)"

QUERIES = {
    "filter": "SELECT * FROM {table} WHERE kind = 'kind3' ORDER BY id",
    "filter_changed": "SELECT id FROM {table} WHERE kind = 'changed' ORDER BY id",
    "filter_several": "SELECT id FROM {table} WHERE kind IN ('kind1', 'kind2', 'none') AND id > 300 ORDER BY id",
    "filter_absent": "SELECT id FROM {table} WHERE kind = 'none'",
    "nearest": NEAREST,
    "nearest_under_filter": f"SELECT id FROM {{table}} WHERE kind = 'kind4' ORDER BY v <-> '{QUERY}' LIMIT 5",
    "nearest_more_than_rows": f"SELECT count(*) AS n FROM (SELECT id FROM {{table}} ORDER BY v <-> '{QUERY}' LIMIT 9999) x",
    "vector_search": VECTOR_SEARCH,
    "vector_search_exact": f"SELECT id FROM vector_search('{{table}}', 'v', '{QUERY}', 10, recall => 'exact')",
    "vector_search_filter": f"SELECT id FROM vector_search('{{table}}', 'v', '{QUERY}', 5, filter => 'kind = ''kind4''')",
    "vector_search_where": f"SELECT id FROM vector_search('{{table}}', 'v', '{QUERY}', 50) WHERE kind = 'kind4'",
    "vector_search_named": f"SELECT id FROM vector_search(table => '{{table}}', column => 'v', k => 3, query => '{QUERY}')",
    "vector_search_all": f"SELECT count(*) AS n FROM vector_search('{{table}}', 'v', '{QUERY}', 10000)",
    "cosine": f"SELECT id FROM vector_search('{{table}}', 'v', '{QUERY}', 5, metric => 'cosine')",
    "text_search": TEXT_SEARCH,
    "text_search_and": "SELECT id FROM bm25_search('{table}', 'body', 'river frost', 10, operator => 'and')",
    "text_search_filter": "SELECT id FROM bm25_search('{table}', 'body', 'river', 10, filter => 'kind = ''kind4''')",
    "text_search_absent": "SELECT id FROM bm25_search('{table}', 'body', 'absent', 10)",
}


@pytest.mark.parametrize("name", QUERIES)
def test_answers_with_and_without_index_are_the_same(tables, name):
    plain, indexed = (tables.sql(QUERIES[name].format(table=table)) for table in ("plain", "indexed"))
    assert indexed == plain
    assert ("absent" in name) == (plain.count("\n") == 1)


EXPLAINED = {
    "kind_bitmap": "SELECT id FROM {table} WHERE kind = 'changed'",
    "v_hnsw": NEAREST,
    "v_hnsw ": VECTOR_SEARCH,
    "body_text": TEXT_SEARCH,
}


@pytest.mark.parametrize("index", EXPLAINED)
def test_explain_names_index_segments_rows_and_files(tables, index):
    plan = tables.sql("EXPLAIN " + EXPLAINED[index].format(table="indexed"))
    assert f"index={index.strip()}" in plan
    assert int(re.search(r"segments=(\d+)", plan)[1]) >= 1
    assert re.search(r"files_scanned=\d+, files=\d+", plan), plan
    plain = tables.sql("EXPLAIN " + EXPLAINED[index].format(table="plain"))
    assert "index=none" in plain and "segments=" not in plain


def test_explain_analyze_counts_rows_proposed(tables):
    plan = tables.sql("EXPLAIN ANALYZE SELECT id FROM indexed WHERE kind = 'kind3'")
    assert int(re.search(r"rows_proposed=(\d+)", plan)[1]) > 0, plan


def test_rows_without_vector_come_last(cli):
    cli.sql("CREATE TABLE t (id int, v vector(2)); INSERT INTO t VALUES (1, '[9,9]'), (2, NULL), (3, '[0,1]')")
    for _ in range(2):
        assert cli.column("SELECT id FROM t ORDER BY v <-> '[0,0]' LIMIT 3") == ["3", "1", "2"]
        assert cli.column("SELECT id FROM vector_search('t', 'v', '[0,0]', 3)") == ["3", "1"]
        cli.sql("CREATE INDEX IF NOT EXISTS vi ON t USING hnsw (v)")


def test_distances_are_those_of_their_definition(cli):
    cli.sql("CREATE TABLE t (id int, v vector(2)); INSERT INTO t VALUES (1, '[3,4]')")
    row = json.loads(cli.sql(
        "SELECT v <-> '[0,0]' AS l2, v <=> '[4,3]' AS cosine, v <#> '[1,1]' AS inner_product, vector_l1_distance(v, '[0,0]') AS l1, "
        "vector_l2_distance(v, '[0,0]') AS f2, l2_distance(v, '[0,0]') AS p2 FROM t", output="json"))
    assert row == pytest.approx({"l2": 5.0, "cosine": 0.04, "inner_product": -7.0, "l1": 7.0, "f2": 5.0, "p2": 5.0}, abs=1e-6)


def test_indexes_are_listed_refreshed_and_dropped(cli):
    cli.sql("CREATE TABLE t (id int, s text); INSERT INTO t VALUES (1, 'a')")
    cli.sql("CREATE INDEX by_id ON t USING bitmap (id); CREATE INDEX ON t USING bm25 (s) WITH (analyzer = english)")

    def listed():
        rows = map(json.loads, cli.sql("SHOW INDEXES FROM t", output="json").splitlines())
        return {row["name"]: (row["kind"], row["columns"], row["covered_files"], row["total_files"]) for row in rows}

    assert listed() == {"by_id": ("bitmap", "id", 1, 1), "s_bm25": ("bm25", "s", 1, 1)}
    cli.sql("INSERT INTO t VALUES (2, 'b'), (3, 'bees')")
    assert listed() == {"by_id": ("bitmap", "id", 1, 2), "s_bm25": ("bm25", "s", 1, 2)}
    assert cli.column("SELECT id FROM bm25_search('t', 's', 'bee', 5)") == ["3"]
    assert cli.column("SELECT id FROM t WHERE id = 2") == ["2"]
    assert cli.sql("CALL system.refresh_index(table => 't', name => 'by_id')") == "indexed_files\n1\n"
    assert listed()["by_id"] == ("bitmap", "id", 2, 2)
    assert cli.sql("CALL system.refresh_index('t')") == "indexed_files\n1\n"
    assert cli.column("SELECT id FROM bm25_search('t', 's', 'bee', 5)") == ["3"]
    assert cli.sql("CALL system.show_indexes('t')") == cli.sql("SHOW INDEXES FROM t")
    cli.sql("CREATE INDEX IF NOT EXISTS by_id ON t USING bitmap (id); DROP INDEX by_id ON t; DROP INDEX IF EXISTS by_id ON t")
    assert list(listed()) == ["s_bm25"]


def test_index_commands_do_what_statements_do(cli):
    cli.sql("CREATE TABLE t (id int, v vector(2)); INSERT INTO t VALUES (1, '[1,2]')")
    warehouse = ["--warehouse", str(cli.warehouse)]
    made = cli.run("index", "create", *warehouse, "t", "--kind", "hnsw", "--column", "v", "--with", "metric=cosine", "--name", "near", "--format", "csv")
    assert (made.returncode, made.stdout) == (0, "index_name\nnear\n"), made.stderr
    again = cli.run("index", "create", *warehouse, "t", "--kind", "hnsw", "--column", "v", "--name", "near")
    assert (again.returncode, again.stdout) == (1, "")
    assert again.stderr.startswith("error: AlreadyExists: ") and "near" in again.stderr
    cli.sql("INSERT INTO t VALUES (2, '[2,1]')")
    refreshed = cli.run("index", "refresh", *warehouse, "t", "near", "--format", "csv")
    assert (refreshed.returncode, refreshed.stdout) == (0, "indexed_files\n1\n")
    (row,) = map(json.loads, cli.run("index", "list", *warehouse, "t", "--format", "json").stdout.splitlines())
    assert (row["name"], row["kind"], row["covered_files"]) == ("near", "hnsw", 2)
    assert cli.run("index", "drop", *warehouse, "t", "near").returncode == 0
    assert cli.run("index", "list", *warehouse, "t", "--format", "json").stdout == ""


def test_indexes_leave_the_table_to_other_readers(tables):
    from readers import READERS, newest

    expected = [int(number) for number in tables.column("SELECT id FROM plain ORDER BY id")]
    for reader in READERS.values():
        assert reader(newest(tables.location("indexed")))["id"] == expected


WRONG = [
    ("VECTOR, '[1]', 5", "InvalidInput", "1"),
    ("VECTOR, '[1,2,3,4,5,6,7,8,9]', 5", "InvalidInput", "9"),
    ("VECTOR, '[1,2,3,NaN,5,6,7,8]', 5", "InvalidInput", "NaN"),
    ("VECTOR, '[1,2,3,Infinity,5,6,7,8]', 5", "InvalidInput", ""),
    ("VECTOR, 'text', 5", "InvalidInput", ""),
    ("VECTOR, '', 5", "InvalidInput", ""),
    ("VECTOR, QUERY, 0", "InvalidInput", "k = 0"),
    ("VECTOR, QUERY, -1", "InvalidInput", "k = -1"),
    ("VECTOR, QUERY, 10001", "ResourceExhausted", "10001"),
    ("VECTOR, QUERY, 99999999999999999999", "", "99999999999999999999"),
    ("VECTOR, QUERY, 'x'", "InvalidInput", "k"),
    ("VECTOR, QUERY", "InvalidInput", "k"),
    ("VECTOR, QUERY, 5, nope => 1", "InvalidInput", "nope"),
    ("VECTOR, QUERY, 5, metric => 'nope'", "InvalidInput", "nope"),
    ("VECTOR, QUERY, 5, recall => 'nope'", "InvalidInput", "nope"),
    ("VECTOR, QUERY, 5, filter => 'nope = 1'", "InvalidInput", "nope"),
    ("VECTOR, QUERY, 5, filter => 'id ='", "InvalidInput", "id ="),
    ("vector_search('TABLE', 'nope', QUERY, 5", "InvalidInput", "nope"),
    ("vector_search('TABLE', 'id', QUERY, 5", "InvalidInput", "id"),
    ("vector_search('missing', 'v', QUERY, 5", "NotFound", "missing"),
    ("TEXT, 'river', 0", "InvalidInput", "k = 0"),
    ("TEXT, 'river', -1", "InvalidInput", "k = -1"),
    ("TEXT, 'river', 10001", "ResourceExhausted", "10001"),
    ("TEXT, 'river', 5, operator => 'nope'", "InvalidInput", "nope"),
    ("TEXT, 'river', 5, filter => 'nope = 1'", "InvalidInput", "nope"),
    ("bm25_search('TABLE', 'nope', 'river', 5", "InvalidInput", "nope"),
    ("bm25_search('TABLE', 'v', 'river', 5", "InvalidInput", "v"),
    ("bm25_search('missing', 'body', 'river', 5", "NotFound", "missing"),
]


@pytest.mark.parametrize("table", ["plain", "indexed"])
@pytest.mark.parametrize("call, kind, named", WRONG, ids=[call for call, *_ in WRONG])
def test_wrong_search_is_refused(tables, table, call, kind, named):
    call = call.replace("VECTOR", "vector_search('TABLE', 'v'").replace("TEXT", "bm25_search('TABLE', 'body'")
    call = call.replace("TABLE", table).replace("QUERY", f"'{QUERY}'")
    tables.fails(f"SELECT * FROM {call})", kind or "InvalidInput", named)


@pytest.mark.parametrize("table", ["plain", "indexed"])
@pytest.mark.parametrize(
    "order, named",
    [("v <-> '[1,2]'", "2"), ("v <-> '[1,2,3,NaN,5,6,7,8]'", "NaN"), ("v <-> 'x'", ""), ("nope <-> '[1]'", "nope"), ("kind <-> '[1]'", "")],
)
def test_wrong_order_by_distance_is_refused(tables, table, order, named):
    tables.fails(f"SELECT id FROM {table} ORDER BY {order} LIMIT 3", "InvalidInput", named)


def test_limit_zero_is_no_error(tables):
    for table in ("plain", "indexed"):
        assert tables.sql(f"SELECT id FROM {table} ORDER BY v <-> '{QUERY}' LIMIT 0") == "id\n"


@pytest.mark.parametrize(
    "statement, kind, named",
    [
        ("CREATE INDEX ON plain USING nope (id)", "InvalidInput", ["nope", "bitmap", "bm25", "hnsw"]),
        ("CREATE INDEX ON plain USING bitmap (nope)", "InvalidInput", ["nope"]),
        ("CREATE INDEX ON plain USING hnsw (kind)", "InvalidInput", ["kind"]),
        ("CREATE INDEX ON plain USING bm25 (id)", "InvalidInput", ["id"]),
        ("CREATE INDEX ON plain USING hnsw (v) WITH (nope = 1)", "InvalidInput", ["nope", "metric"]),
        ("CREATE INDEX ON plain USING hnsw (v) WITH (metric = nope)", "InvalidInput", ["nope"]),
        ("CREATE INDEX ON plain USING bm25 (body) WITH (analyzer = nope)", "InvalidInput", ["nope"]),
        ("CREATE INDEX ON missing USING bitmap (id)", "NotFound", ["missing"]),
        ("CREATE INDEX body_text ON indexed USING bitmap (id)", "AlreadyExists", ["body_text"]),
        ("DROP INDEX nope ON plain", "NotFound", ["nope"]),
        ("SHOW INDEXES FROM missing", "NotFound", ["missing"]),
        ("CALL system.refresh_index(table => 'plain', name => 'nope')", "NotFound", ["nope"]),
        ("CALL system.nope()", "Unsupported", ["nope"]),
    ],
)
def test_wrong_index_statement_is_refused(tables, statement, kind, named):
    tables.fails(statement, kind, *named)
    assert tables.sql("SHOW INDEXES FROM plain").count("\n") == 1
