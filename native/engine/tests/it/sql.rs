//! Statements of our SQL over tables in memory.

mod case;
mod metadata;
mod regression;
mod search;

use std::time::{Duration, Instant};

use benostreamdb::ErrorKind;
use futures::StreamExt;

use crate::support::{error, fails, line, memory, rows};

#[tokio::test]
async fn create_insert_select_of_every_column_type_gives_the_values_back() {
    let session = memory();
    rows(
        &session,
        "CREATE TABLE t (b boolean, i int, l bigint, f real, d double precision, n numeric(10,2), s text, x bytea,
            u uuid, day date, tm time, ts timestamp, tz timestamptz, v vector(2), a text[], fx fixed(3), sm smallint)",
    )
    .await;
    let inserted = line(
        &session,
        "INSERT INTO t VALUES
            (true, 1, 9223372036854775807, 0.5, 'NaN', 1.25, 'x', 'ab', '00112233-4455-6677-8899-aabbccddeeff',
             '2024-02-29', '01:02:03.000004', '2024-01-01 00:00:00', '2024-01-01T02:00:00+02:00', '[1,2]',
             ARRAY['p', NULL], 'abc', 7),
            (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)",
    )
    .await;
    assert_eq!(inserted, "2");
    let values = rows(&session, "SELECT * FROM t ORDER BY i").await;
    assert_eq!(
        values[0],
        "true|1|9223372036854775807|0.5|NaN|1.25|x|6162|00112233445566778899aabbccddeeff|2024-02-29|01:02:03.000004|\
         2024-01-01T00:00:00|2024-01-01T00:00:00Z|[1.0, 2.0]|[p, NULL]|616263|7"
    );
    assert_eq!(values[1], vec!["NULL"; 17].join("|"));
    for filter in [
        "b",
        "i = 1",
        "l > 9223372036854775806",
        "f = 0.5",
        "d = 'NaN'",
        "n = 1.25",
        "s LIKE 'x%'",
        "day >= '2024-02-29'",
        "u = '00112233-4455-6677-8899-aabbccddeeff'",
        "ts = '2024-01-01'",
        "tz = timestamptz '2024-01-01 00:00:00Z'",
        "tm < '02:00'",
        "x = 'ab'",
        "i IN (1, 2)",
        "b IS TRUE",
        "n IN (1.25, 3)",
        "ts < now()",
        "fx = 'abc'",
    ] {
        assert_eq!(
            line(&session, &format!("SELECT count(*) FROM t WHERE {filter}")).await,
            "1",
            "{filter}"
        );
        assert_eq!(
            line(&session, &format!("SELECT sm FROM t WHERE {filter}")).await,
            "7",
            "{filter}"
        );
    }
}

#[tokio::test]
async fn row_changes_publish_one_snapshot_each_and_count_rows() {
    let session = memory();
    rows(&session, "CREATE TABLE t (id bigint NOT NULL, a text)").await;
    let snapshots = || async {
        let table = session
            .table(&session.table_ref("t").unwrap())
            .await
            .unwrap();
        table.document().snapshots().len()
    };
    assert_eq!(
        line(
            &session,
            "INSERT INTO t VALUES (1,'a'),(2,'b'),(3,'c'),(4,NULL)"
        )
        .await,
        "4"
    );
    assert_eq!(snapshots().await, 1);
    assert_eq!(
        line(&session, "UPDATE t SET a = a || '!' WHERE id >= 3").await,
        "2"
    );
    assert_eq!(snapshots().await, 2);
    assert_eq!(
        line(&session, "SELECT id, a FROM t ORDER BY id").await,
        "1|a 2|b 3|c! 4|NULL"
    );
    assert_eq!(
        line(&session, "DELETE FROM t WHERE a IS NULL OR id = 1").await,
        "2"
    );
    assert_eq!(
        line(&session, "SELECT id, a FROM t ORDER BY id").await,
        "2|b 3|c!"
    );
    assert_eq!(snapshots().await, 3);
    for nothing in [
        "DELETE FROM t WHERE false",
        "DELETE FROM t WHERE id = 99",
        "UPDATE t SET a = 'x' WHERE id = 99",
        "INSERT INTO t SELECT 1, 'x' WHERE false",
    ] {
        assert_eq!(line(&session, nothing).await, "0", "{nothing}");
    }
    assert_eq!(snapshots().await, 3);
    assert_eq!(line(&session, "TRUNCATE t").await, "2");
    assert_eq!(line(&session, "SELECT count(*) FROM t").await, "0");
    assert_eq!(line(&session, "TRUNCATE TABLE t").await, "0");
    assert_eq!(snapshots().await, 4);
}

#[tokio::test]
async fn delete_with_subqueries_and_using_means_only_the_rows_it_names() {
    for (statement, left) in [
        ("DELETE FROM t WHERE id IN (SELECT id FROM u)", "1 4"),
        (
            "DELETE FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.id = t.id)",
            "1 4",
        ),
        (
            "DELETE FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.id = t.id)",
            "2 3",
        ),
        (
            "DELETE FROM t AS x WHERE x.id = (SELECT max(id) FROM u)",
            "1 2 4",
        ),
        ("DELETE FROM t USING u WHERE t.id = u.id", "1 4"),
        (
            "DELETE FROM t USING u, u AS w WHERE t.id = u.id AND w.id >= u.id",
            "1 4",
        ),
        (
            "DELETE FROM t WHERE id = ANY (SELECT id FROM t WHERE id = 2)",
            "1 3 4",
        ),
        ("DELETE FROM t WHERE id > 1 AND id < 3 OR a = 'd'", "1 3"),
        ("DELETE FROM t", ""),
    ] {
        let session = memory();
        rows(
            &session,
            "CREATE TABLE t (id int, a text); INSERT INTO t VALUES (1,'a'),(2,'b'),(3,'c'),(4,'d');
             CREATE TABLE u AS SELECT 2 AS id UNION ALL SELECT 3",
        )
        .await;
        let deleted = 4 - left.split_whitespace().count();
        assert_eq!(
            line(&session, statement).await,
            deleted.to_string(),
            "{statement}"
        );
        assert_eq!(
            line(&session, "SELECT id FROM t ORDER BY id").await,
            left,
            "{statement}"
        );
    }
}

#[tokio::test]
async fn update_assigns_by_postgres_rules() {
    let session = memory();
    rows(
        &session,
        "CREATE TABLE t (id int, \"Mixed\" text, d date, v vector(2), n numeric(6,2))",
    )
    .await;
    rows(
        &session,
        "INSERT INTO t VALUES (1, 'a', '2024-01-01', '[1,2]', 1), (2, 'b', NULL, NULL, 2)",
    )
    .await;
    rows(
        &session,
        "CREATE TABLE u AS SELECT 2 AS id, 5.5 AS n UNION ALL SELECT 3, 7",
    )
    .await;
    assert_eq!(
        line(
            &session,
            "UPDATE t SET \"Mixed\" = 'q', d = '2025-01-01', v = '[3,4]' WHERE id = 1"
        )
        .await,
        "1"
    );
    assert_eq!(
        line(
            &session,
            "UPDATE t AS x SET n = u.n + x.id FROM u WHERE u.id = x.id"
        )
        .await,
        "1"
    );
    assert_eq!(
        line(
            &session,
            "UPDATE t SET n = (SELECT max(n) FROM u) WHERE id = 1"
        )
        .await,
        "1"
    );
    assert_eq!(
        line(&session, "SELECT * FROM t ORDER BY id").await,
        "1|q|2025-01-01|[3.0, 4.0]|7.00 2|b|NULL|NULL|7.50"
    );
    for wrong in [
        "UPDATE t SET id = 1, id = 2",
        "UPDATE t SET mixed = 'x'",
        "UPDATE t SET nope = 1",
        "UPDATE t SET id = \"Mixed\"",
        "UPDATE t SET id = true",
        "UPDATE t SET id = 'x'",
        "UPDATE t SET v = '[1,2,3]'",
        "UPDATE t SET n = 123456789",
        "UPDATE t SET id = 1 FROM u WHERE u.id > 1",
    ] {
        fails(&session, wrong, ErrorKind::InvalidInput).await;
    }
    assert_eq!(
        line(&session, "SELECT id, n FROM t ORDER BY id").await,
        "1|7.00 2|7.50"
    );
}

#[tokio::test]
async fn insert_refuses_what_does_not_fit_and_leaves_the_table_as_it_was() {
    let session = memory();
    rows(&session, "CREATE TABLE t (id int NOT NULL, s text, v vector(2)); INSERT INTO t VALUES (1, 'a', '[1,2]')").await;
    for wrong in [
        "INSERT INTO t VALUES (1)",
        "INSERT INTO t VALUES (1, 'a', '[1,2]', 5)",
        "INSERT INTO t (id, id) VALUES (1, 2)",
        "INSERT INTO t (nope) VALUES (1)",
        "INSERT INTO t (s) VALUES ('a')",
        "INSERT INTO t VALUES (NULL, 'a', NULL)",
        "INSERT INTO t VALUES ('x', 'a', NULL)",
        "INSERT INTO t VALUES (3000000000, 'a', NULL)",
        "INSERT INTO t VALUES (1, 'a', '[1,2,3]')",
        "INSERT INTO t VALUES (1, 'a', '[1,x]')",
        "INSERT INTO t SELECT s, s, v FROM t",
        "INSERT INTO t SELECT id FROM t",
    ] {
        fails(&session, wrong, ErrorKind::InvalidInput).await;
    }
    assert_eq!(
        line(&session, "SELECT id, s, v FROM t").await,
        "1|a|[1.0, 2.0]"
    );
    assert_eq!(
        line(
            &session,
            "INSERT INTO t (v, id) VALUES (ARRAY[3, 4], 2), (NULL, 3)"
        )
        .await,
        "2"
    );
    assert_eq!(
        line(&session, "INSERT INTO t SELECT id + 10, s, v FROM t").await,
        "3"
    );
    assert_eq!(
        line(&session, "SELECT id FROM t WHERE s IS NULL ORDER BY id").await,
        "2 3 12 13"
    );
}

#[tokio::test]
async fn tables_are_created_and_dropped_as_asked() {
    let session = memory();
    rows(&session, "CREATE TABLE t (a int) WITH (\"x.y\" = 'z')").await;
    let table = session
        .table(&session.table_ref("t").unwrap())
        .await
        .unwrap();
    assert_eq!(table.properties().get("x.y").map(String::as_str), Some("z"));
    fails(&session, "CREATE TABLE t (a int)", ErrorKind::AlreadyExists).await;
    fails(
        &session,
        "CREATE TABLE t AS SELECT 1 AS a",
        ErrorKind::AlreadyExists,
    )
    .await;
    rows(
        &session,
        "CREATE TABLE IF NOT EXISTS t (b int); CREATE TABLE IF NOT EXISTS t AS SELECT 1 AS a",
    )
    .await;
    assert_eq!(line(&session, "SELECT count(*) FROM t").await, "0");
    assert_eq!(
        line(
            &session,
            "CREATE TABLE c AS SELECT 1 AS a, 'x' AS b, now() AS c, 1.5 AS d, ARRAY[1] AS e"
        )
        .await,
        "1"
    );
    assert_eq!(
        line(&session, "SELECT a, b, d, e FROM c").await,
        "1|x|1.5|[1]"
    );
    rows(
        &session,
        "CREATE TABLE s AS SELECT named_struct('x', 1) AS p, map(make_array('k'), make_array(2)) AS m",
    )
    .await;
    assert_eq!(line(&session, "SELECT count(*) FROM s").await, "1");
    for wrong in [
        "CREATE TABLE w (a int, a int)",
        "CREATE TABLE w (a numeric)",
        "CREATE TABLE w AS SELECT NULL AS a",
        "CREATE TABLE w AS SELECT 1 AS a, 2 AS a",
        "CREATE TABLE w AS SELECT 1 / 0 AS a",
        "CREATE TABLE _hidden (a int)",
    ] {
        let error = error(&session, wrong).await;
        assert!(
            matches!(
                error.kind(),
                ErrorKind::InvalidInput | ErrorKind::PermissionDenied
            ),
            "{wrong}: {error}"
        );
    }
    fails(
        &session,
        "CREATE TABLE w (a varchar(10))",
        ErrorKind::Unsupported,
    )
    .await;
    fails(&session, "SELECT * FROM w", ErrorKind::NotFound).await;
    rows(&session, "DROP TABLE t; DROP TABLE IF EXISTS t").await;
    fails(&session, "DROP TABLE t", ErrorKind::NotFound).await;
    fails(&session, "SELECT * FROM t", ErrorKind::NotFound).await;
    fails(&session, "SELECT * FROM nons.t", ErrorKind::NotFound).await;
}

#[tokio::test]
async fn locations_name_tables_wherever_names_do() {
    let session = memory();
    let at = "'memory:///lake/t'";
    rows(&session, &format!("CREATE TABLE {at} (id int, a text)")).await;
    assert_eq!(
        line(
            &session,
            &format!("INSERT INTO {at} VALUES (1,'a'),(2,'b')")
        )
        .await,
        "2"
    );
    assert_eq!(
        line(&session, &format!("UPDATE {at} SET a = 'c' WHERE id = 2")).await,
        "1"
    );
    assert_eq!(
        line(&session, &format!("DELETE FROM {at} AS x WHERE x.id = 1")).await,
        "1"
    );
    assert_eq!(
        line(&session, &format!("SELECT id, a FROM {at}")).await,
        "2|c"
    );
    assert_eq!(
        line(&session, "SELECT t.a FROM \"memory:///lake/t\" AS t").await,
        "c"
    );
    rows(&session, &format!("CREATE INDEX ON {at} USING bitmap (id)")).await;
    assert!(
        line(&session, &format!("SHOW INDEXES FROM {at}"))
            .await
            .starts_with("id_bitmap|bitmap|id|")
    );
    rows(
        &session,
        &format!("DROP INDEX id_bitmap ON {at}; DROP TABLE {at}"),
    )
    .await;
    fails(
        &session,
        &format!("SELECT * FROM {at}"),
        ErrorKind::NotFound,
    )
    .await;
    fails(
        &session,
        "SELECT * FROM 'http://host/t'",
        ErrorKind::InvalidInput,
    )
    .await;
}

#[tokio::test]
async fn l9_a_statement_sees_one_snapshot_of_a_table_named_twice() {
    let session = memory();
    rows(
        &session,
        "CREATE TABLE t (id int); INSERT INTO t VALUES (1), (2), (3)",
    )
    .await;
    let both = "SELECT (SELECT count(*) FROM t) - (SELECT count(*) FROM \"memory:///warehouse/default/t\")";
    let writer = async {
        for id in 0..10 {
            rows(&session, &format!("INSERT INTO t VALUES ({id})")).await;
        }
    };
    let reader = async {
        for _ in 0..20 {
            assert_eq!(line(&session, both).await, "0");
        }
    };
    futures::join!(writer, reader);
    assert_eq!(line(&session, "SELECT count(*) FROM t").await, "13");
}

#[tokio::test]
async fn explain_names_files_filters_and_indexes() {
    let session = memory();
    rows(&session, "CREATE TABLE t (id int, a text)").await;
    for id in 0..5 {
        rows(
            &session,
            &format!("INSERT INTO t VALUES ({id}, 'x'), ({id} + 100, 'y')"),
        )
        .await;
    }
    rows(&session, "CREATE INDEX ids ON t USING bitmap (id)").await;
    let plan = rows(&session, "EXPLAIN SELECT a FROM t WHERE id = 3")
        .await
        .join("\n");
    assert!(
        plan.contains("index=ids")
            && plan.contains("segments=")
            && plan.contains("rows_proposed=1"),
        "{plan}"
    );
    assert!(
        plan.contains("files_scanned=1") && plan.contains("filter="),
        "{plan}"
    );
    let plan = rows(&session, "EXPLAIN ANALYZE SELECT a FROM t WHERE id = 3")
        .await
        .join("\n");
    assert!(plan.contains("output_rows=1"), "{plan}");
    let plan = rows(&session, "EXPLAIN DELETE FROM t WHERE id = 3")
        .await
        .join("\n");
    assert!(
        plan.starts_with("ScanExec: table=default.t, columns=[_file, _pos], ")
            && plan.contains("index=ids"),
        "{plan}"
    );
    assert_eq!(line(&session, "SELECT count(*) FROM t").await, "10");
    let stages = rows(&session, "EXPLAIN VERBOSE SELECT a FROM t").await;
    assert!(
        stages.iter().any(|line| line == "initial_logical_plan:"),
        "{stages:?}"
    );
}

#[tokio::test]
async fn schemas_are_created_and_dropped_when_empty() {
    let session = memory();
    rows(
        &session,
        "CREATE SCHEMA sales; CREATE TABLE sales.orders (id int)",
    )
    .await;
    fails(&session, "CREATE SCHEMA sales", ErrorKind::AlreadyExists).await;
    rows(&session, "CREATE SCHEMA IF NOT EXISTS sales").await;
    fails(&session, "DROP SCHEMA sales", ErrorKind::InvalidInput).await;
    rows(&session, "DROP TABLE sales.orders; DROP SCHEMA sales").await;
    fails(&session, "DROP SCHEMA sales", ErrorKind::NotFound).await;
    rows(&session, "DROP SCHEMA IF EXISTS sales").await;
    fails(
        &session,
        "CREATE SCHEMA sales AUTHORIZATION me",
        ErrorKind::Unsupported,
    )
    .await;
    fails(&session, "CREATE SCHEMA \"../x\"", ErrorKind::InvalidInput).await;
}

#[tokio::test]
async fn tables_schemas_and_columns_are_listed() {
    let session = memory();
    rows(
        &session,
        "CREATE SCHEMA sales; CREATE TABLE sales.orders (id int NOT NULL, v vector(2)); CREATE TABLE t (id int)",
    )
    .await;
    assert_eq!(rows(&session, "SHOW SCHEMAS").await, ["default", "sales"]);
    assert_eq!(rows(&session, "SHOW TABLES").await, ["t"]);
    assert_eq!(rows(&session, "SHOW TABLES FROM sales").await, ["orders"]);
    assert_eq!(
        rows(&session, "DESCRIBE sales.orders").await,
        ["id|int|false|NULL", "v|list<float>|true|NULL"]
    );
    let message = error(&session, "SELECT * FROM sales.order")
        .await
        .to_string();
    assert!(
        message.contains("/warehouse/sales/order; did you mean orders?"),
        "{message}"
    );
    let message = error(&session, "DROP INDEX x ON t").await.to_string();
    assert!(
        message.contains("default.t has no index x; it has none"),
        "{message}"
    );
}

#[tokio::test]
async fn bytes_are_written_as_hex_or_as_their_text() {
    let session = memory();
    rows(&session, "CREATE TABLE t (id int, b bytea, f fixed(2))").await;
    rows(
        &session,
        r"INSERT INTO t VALUES (1, '\x0aFF', '\xdead'), (2, 'abc', 'ab'), (3, X'00', X'0102'), (4, '\x', NULL)",
    )
    .await;
    let stored = rows(&session, "SELECT b, f FROM t ORDER BY id").await;
    assert_eq!(stored, ["0aff|dead", "616263|6162", "00|0102", "|NULL"]);
    for filter in [
        r"b = '\x0aff'",
        r"f = '\xDEAD'",
        r"b = CAST('\x0aff' AS bytea)",
        r"b IN ('\x0aff', 'zz')",
    ] {
        let found = line(&session, &format!("SELECT id FROM t WHERE {filter}")).await;
        assert_eq!(found, "1", "{filter}");
    }
    rows(&session, r"UPDATE t SET b = '\xbeef' WHERE id = 1").await;
    assert_eq!(line(&session, "SELECT b FROM t WHERE id = 1").await, "beef");
    for text in [r"\x0", r"\xzz", r"\x+1"] {
        fails(
            &session,
            &format!("INSERT INTO t (b) VALUES ('{text}')"),
            ErrorKind::InvalidInput,
        )
        .await;
    }
}

#[tokio::test]
async fn index_statements_and_procedures_manage_indexes() {
    let session = memory();
    rows(&session, "CREATE TABLE t (id int, body text, v vector(2)); INSERT INTO t VALUES (1, 'one two', '[1,2]')").await;
    rows(&session, "CREATE INDEX ids ON t USING bitmap (id)").await;
    fails(
        &session,
        "CREATE INDEX ids ON t USING bitmap (id)",
        ErrorKind::AlreadyExists,
    )
    .await;
    rows(
        &session,
        "CREATE INDEX IF NOT EXISTS ids ON t USING bitmap (id)",
    )
    .await;
    let made = "CALL system.create_index(table => 't', columns => array['v'], kind => 'hnsw', options => map('m', '8'))";
    assert_eq!(line(&session, made).await, "v_hnsw");
    rows(
        &session,
        "CALL system.create_index('t', array['body'], 'bm25', 'words')",
    )
    .await;
    rows(&session, "INSERT INTO t VALUES (2, 'three', '[3,4]')").await;
    let listed = rows(&session, "SHOW INDEXES FROM t").await;
    assert_eq!(listed.len(), 3);
    assert!(listed.iter().all(|row| row.contains("|1|2|")), "{listed:?}");
    assert_eq!(
        line(
            &session,
            "CALL system.refresh_index(table => 't', name => 'ids')"
        )
        .await,
        "1"
    );
    rows(&session, "CALL system.refresh_index(table => 't')").await;
    assert_eq!(
        rows(&session, "CALL system.show_indexes(table => 't')").await,
        rows(&session, "SHOW INDEXES FROM t").await
    );
    rows(
        &session,
        "DROP INDEX ids ON t; DROP INDEX IF EXISTS ids ON t; CALL system.drop_index('t', 'words')",
    )
    .await;
    fails(&session, "DROP INDEX ids ON t", ErrorKind::NotFound).await;
    for wrong in [
        "CREATE INDEX n ON t USING btree (id)",
        "CREATE INDEX n ON t USING bitmap (nope)",
        "CREATE INDEX n ON t USING bitmap (id) WITH (nope = 1)",
        "CREATE INDEX n ON t USING hnsw (id)",
        "CREATE INDEX n ON t USING bm25 (id)",
        "CALL system.create_index(table => 't', kind => 'bitmap')",
        "CALL system.create_index(table => 't', columns => array['id'], kind => 'bitmap', nope => 1)",
    ] {
        fails(&session, wrong, ErrorKind::InvalidInput).await;
    }
    fails(
        &session,
        "CALL system.vacuum(table => 't')",
        ErrorKind::Unsupported,
    )
    .await;
    fails(
        &session,
        "CREATE INDEX n ON nope USING bitmap (id)",
        ErrorKind::NotFound,
    )
    .await;
}

#[tokio::test]
async fn unknown_names_are_errors_that_name_them() {
    let session = memory();
    rows(&session, "CREATE TABLE t (id int, \"Name\" text)").await;
    let missing = error(&session, "SELECT name FROM t").await;
    assert_eq!(missing.kind(), ErrorKind::InvalidInput);
    assert!(
        missing.message().contains("did you mean \"Name\"?"),
        "{missing}"
    );
    let missing = error(&session, "SELECT * FROM nope").await;
    assert!(missing.message().contains("nope"), "{missing}");
    fails(&session, "SELECT nope(id) FROM t", ErrorKind::InvalidInput).await;
    assert_eq!(line(&session, "SELECT id FROM t LIMIT 0").await, "");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dropped_query_stops_within_a_second() {
    let session = memory();
    rows(
        &session,
        "CREATE TABLE t AS SELECT value AS id FROM generate_series(1, 200000)",
    )
    .await;
    for text in [
        "SELECT a.id % 7, count(*) FROM t a, t b, t c GROUP BY 1",
        "SELECT a.id FROM t a, t b ORDER BY a.id * b.id DESC LIMIT 3",
        "SELECT sum(a.id + b.id) FROM t a, t b WHERE (a.id + b.id) % 3 = 0",
    ] {
        let statement = benostreamdb::sql::parse_statements(text).unwrap().remove(0);
        let mut batches = statement
            .run(session.environment())
            .await
            .unwrap()
            .into_batches();
        let first = tokio::time::timeout(Duration::from_millis(200), batches.next()).await;
        assert!(first.is_err(), "{text} is done already");
        let dropped = Instant::now();
        drop(batches);
        let metrics = tokio::runtime::Handle::current().metrics();
        while metrics.num_alive_tasks() > 0 && dropped.elapsed() < Duration::from_secs(5) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert!(
            dropped.elapsed() < Duration::from_secs(1),
            "{text} ran on for {:?}",
            dropped.elapsed()
        );
    }
}

#[tokio::test]
async fn deep_statements_run_up_to_the_limit_and_are_refused_beyond() {
    let session = memory();
    rows(
        &session,
        "CREATE TABLE t (k bigint, s text); INSERT INTO t VALUES (3, 'x')",
    )
    .await;
    let chain = |n: usize| vec!["k = 1"; n].join(" OR ");
    let count = |filter: &str| format!("SELECT count(*) FROM t WHERE {filter}");
    assert_eq!(line(&session, &count(&chain(330))).await, "0");
    assert_eq!(
        line(&session, &count(&format!("{} OR s LIKE '%x'", chain(450)))).await,
        "1"
    );
    let sum = vec!["k"; 200].join(" + ");
    assert_eq!(line(&session, &format!("SELECT {sum} FROM t")).await, "600");
    let union = vec!["SELECT k FROM t"; 150].join(" UNION ALL ");
    assert_eq!(
        line(&session, &format!("SELECT sum(k) FROM ({union}) u")).await,
        "450"
    );
    let list = vec!["3"; 5000].join(", ");
    assert_eq!(line(&session, &count(&format!("k IN ({list})"))).await, "1");
    assert_eq!(
        line(&session, &format!("DELETE FROM t WHERE {}", chain(330))).await,
        "0"
    );
    for deep in [
        chain(5000),
        vec!["k"; 5000].join(" + ") + " = 1",
        format!("{}k = 1{}", "(".repeat(300), ")".repeat(300)),
    ] {
        fails(&session, &count(&deep), ErrorKind::InvalidInput).await;
    }
}
