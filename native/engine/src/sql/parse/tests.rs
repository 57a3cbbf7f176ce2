//! Statements that are read, and those that are refused.

use super::{Statement, parse_expression};
use crate::error::{ErrorKind, Result};

fn parse(text: &str) -> Result<Vec<Statement>> {
    super::parse(text).map(|(statements, _)| statements)
}

fn one(text: &str) -> Statement {
    let mut statements = parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    assert_eq!(statements.len(), 1, "{text}");
    statements.remove(0)
}

fn kind_of(text: &str) -> ErrorKind {
    match parse(text) {
        Ok(statements) => panic!("{text} parsed as {statements:?}"),
        Err(error) => error.kind(),
    }
}

#[test]
fn statements_separated_by_semicolons_all_parse() {
    assert_eq!(
        parse(" ; SELECT 1;; -- a comment\n SELECT ';' ; ")
            .unwrap()
            .len(),
        2
    );
    assert!(parse("").unwrap().is_empty());
}

#[test]
fn statements_that_mean_something_here_parse() {
    for text in [
        "SELECT * FROM '/lake/t' WHERE a = 1",
        "SELECT a <-> '[1,2]', a<=>b, a <#> b, a<+>b, a <~> b, a <%> b FROM t",
        "SELECT a<->-1, a<#>-b, a <=> -b, a < +1, a<-1 FROM t",
        "WITH x AS (SELECT 1) SELECT * FROM x",
        "VALUES (1), (2)",
        "SELECT at, changes FROM t at",
        "CREATE TABLE t (a int, v vector(3), n numeric(10,2) NOT NULL) WITH ('write.format.default' = 'parquet', k = 3)",
        "CREATE TABLE IF NOT EXISTS ns.t AS SELECT 1 AS a",
        "CREATE TABLE t WITH (k = true) AS SELECT 1 AS a",
        "DROP TABLE IF EXISTS \"/lake/t\"",
        "INSERT INTO '/lake/t' (a, b) VALUES (1, 2)",
        "DELETE FROM t AS x WHERE x.a IN (SELECT 1)",
        "DELETE FROM t USING u WHERE t.a = u.a",
        "UPDATE t SET a = 1, b = u.b FROM u WHERE t.a = u.a",
        "TRUNCATE t",
        "TRUNCATE TABLE '/lake/t'",
        "CREATE INDEX IF NOT EXISTS n ON '/lake/t' USING hnsw (a) WITH (m = 16, metric = cosine)",
        "CREATE INDEX ON t USING bm25 (a)",
        "DROP INDEX IF EXISTS n ON t",
        "SHOW INDEXES FROM '/lake/t'",
        "CALL system.create_index(table => 't', columns => array['a'], kind => 'bitmap', options => map('k', 'v'))",
        "EXPLAIN ANALYZE SELECT 1",
        "EXPLAIN (VERBOSE) SELECT 1",
        "EXPLAIN DELETE FROM t",
    ] {
        one(text);
    }
}

#[test]
fn clauses_that_are_parsed_but_not_meant_are_unsupported() {
    for text in [
        "SELECT * FROM t FOR SYSTEM_TIME AS OF '2024-01-01'",
        "SELECT * FROM t VERSION AS OF 5",
        "SELECT * FROM f(1) FOR VERSION AS OF 5",
        "DELETE FROM t FOR VERSION AS OF 5",
        "UPDATE t FOR VERSION AS OF 5 SET a = 1",
        "INSERT INTO t FOR TIMESTAMP AS OF '2024-01-01' SELECT 1",
        "TRUNCATE t FOR VERSION AS OF 5",
        "DROP TABLE t FOR VERSION AS OF 5",
        "SELECT * FROM t TABLESAMPLE BERNOULLI (10)",
        "SELECT * FROM t WITH (k = 1)",
        "SELECT 1 FOR UPDATE",
        "SELECT 1 INTO x",
        "SELECT * FROM t WHERE a > ANY (SELECT 1)",
        "SELECT * FROM t WHERE a < ALL (SELECT 1)",
        "CREATE TABLE t (a int) PARTITIONED BY (a)",
        "CREATE TABLE t (a int PRIMARY KEY)",
        "CREATE TABLE t (a int DEFAULT 1)",
        "CREATE TABLE t (a int, PRIMARY KEY (a))",
        "CREATE TEMPORARY TABLE t (a int)",
        "CREATE EXTERNAL TABLE t (a int) STORED AS PARQUET LOCATION '/etc'",
        "CREATE TABLE t (a int) AS SELECT 1",
        "COPY (SELECT 1) TO '/tmp/x'",
        "INSERT INTO t VALUES (1) ON CONFLICT DO NOTHING",
        "INSERT INTO t VALUES (1) RETURNING a",
        "INSERT OVERWRITE t VALUES (1)",
        "INSERT INTO t AS x VALUES (1)",
        "INSERT INTO t DEFAULT VALUES",
        "UPDATE t SET s.x = 1",
        "UPDATE t SET (a, b) = (1, 2)",
        "DELETE FROM t LIMIT 1",
        "DELETE FROM t RETURNING a",
        "TRUNCATE a, b",
        "DROP TABLE a, b",
        "DROP TABLE t CASCADE",
        "CREATE INDEX n ON t USING hnsw (a vector_l2_ops)",
        "CREATE UNIQUE INDEX n ON t USING bitmap (a)",
        "CREATE INDEX n ON t USING bitmap (a DESC)",
        "CREATE INDEX n ON t USING bitmap (a) WHERE a > 1",
        "CREATE INDEX n ON t USING bitmap (a) INCLUDE (b)",
        "MERGE INTO t USING u ON t.id = u.id WHEN MATCHED THEN DELETE",
        "EXPLAIN ANALYZE DELETE FROM t",
        "CREATE VIEW v AS SELECT 1",
        "SET x = 1",
        "GRANT SELECT ON t TO u",
    ] {
        assert!(
            matches!(
                kind_of(text),
                ErrorKind::Unsupported | ErrorKind::InvalidInput
            ),
            "{text} is refused with {:?}",
            kind_of(text)
        );
    }
}

#[test]
fn text_that_is_no_sql_is_invalid_input() {
    for text in [
        "SELEC 1",
        "SELECT 'open",
        "SELECT (1",
        "SELECT 1 2 3",
        "DROP INDEX n",
        "\u{0}",
    ] {
        assert_eq!(
            parse(text).err().map(|error| error.kind()),
            Some(ErrorKind::InvalidInput),
            "{text:?}"
        );
    }
    assert_eq!(kind_of("CREATE INDEX n ON t (a)"), ErrorKind::InvalidInput);
    assert_eq!(kind_of("CALL p()"), ErrorKind::InvalidInput);
    assert_eq!(
        kind_of("CREATE TABLE t (a int) WITH (k = 1, k = 2)"),
        ErrorKind::InvalidInput
    );
    assert_eq!(kind_of("SELECT 1e400"), ErrorKind::InvalidInput);
    assert_eq!(
        kind_of("CALL system.p(a => 1, a => 2)"),
        ErrorKind::InvalidInput
    );
    assert_eq!(kind_of("CALL system.p(a => 1, 2)"), ErrorKind::InvalidInput);
}

#[test]
fn nesting_beyond_the_limit_is_refused_in_every_shape() {
    let chain = |operator: &str, n: usize| {
        format!("SELECT 1 FROM t WHERE {}", vec!["a = 1"; n].join(operator))
    };
    one(&chain(" OR ", 300));
    for text in [
        chain(" OR ", 100_000),
        format!("SELECT {}1{}", "(".repeat(100_000), ")".repeat(100_000)),
        format!("SELECT {}", vec!["1"; 100_000].join("+")),
        format!("SELECT {}1", "- ".repeat(100_000)),
        format!("SELECT {}true", "NOT ".repeat(100_000)),
        vec!["SELECT 1"; 100_000].join(" UNION ALL "),
        format!("SELECT 1{}", "::int".repeat(100_000)),
        format!(
            "SELECT {}1{}",
            "CASE WHEN true THEN ".repeat(50_000),
            " END".repeat(50_000)
        ),
        format!("SELECT a{}", "[1]".repeat(100_000)),
        format!("SELECT * FROM t {}", "JOIN t ON 1 = 1 ".repeat(50_000)),
    ] {
        let shown: String = text.chars().take(60).collect();
        match parse(&text) {
            Err(error) => assert_eq!(error.kind(), ErrorKind::InvalidInput, "{shown}"),
            Ok(_) => panic!("{shown} parsed"),
        }
    }
    let wide = format!(
        "SELECT 1 FROM t WHERE a IN ({})",
        vec!["-1"; 20_000].join(", ")
    );
    one(&wide);
}

#[test]
fn names_fold_unless_quoted() {
    let Statement::DropTable { table, .. } = one("DROP TABLE Ns.\"T b\"") else {
        panic!()
    };
    assert_eq!(super::name_parts(&table).unwrap(), ["ns", "T b"]);
    let Statement::CreateIndex(create) = one("CREATE INDEX N ON T USING BITMAP (\"A b\", C)")
    else {
        panic!()
    };
    assert_eq!(
        (create.kind.as_str(), create.name.as_deref()),
        ("bitmap", Some("n"))
    );
    assert_eq!(create.columns, ["A b", "c"]);
}

#[test]
fn expressions_end_where_the_text_ends() {
    assert!(parse_expression("a > 1 AND b LIKE 'x%'").is_ok());
    for text in ["a > 1 b", "", "a >", "a = 1; DROP TABLE t"] {
        assert_eq!(
            parse_expression(text).unwrap_err().kind(),
            ErrorKind::InvalidInput,
            "{text}"
        );
    }
}

#[test]
fn arguments_bind_by_position_and_name() {
    let Statement::Call(call) =
        one("CALL system.p('t', k => -5, l => array['a', B], m => map('x', 1))")
    else {
        panic!()
    };
    let bound = call
        .arguments
        .bind("p", &["table", "k", "l", "m", "n"])
        .unwrap();
    assert_eq!(bound.required_text("table").unwrap(), "t");
    assert_eq!(bound.integer("k").unwrap(), Some(-5));
    assert_eq!(bound.text_list("l").unwrap().unwrap(), ["a", "b"]);
    assert_eq!(bound.text_map("m").unwrap()["x"], "1");
    assert_eq!(bound.text("n").unwrap(), None);
    assert_eq!(
        bound.required("n").unwrap_err().kind(),
        ErrorKind::InvalidInput
    );
    assert_eq!(
        call.arguments
            .bind("p", &["table", "k"])
            .unwrap_err()
            .kind(),
        ErrorKind::InvalidInput
    );
}
