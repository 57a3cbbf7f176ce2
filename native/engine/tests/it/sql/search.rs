//! Vector and text search through SQL: table functions and ORDER BY distance, with and without index.

use benostreamdb::{ErrorKind, Session};

use crate::support::{error, fails, line, memory, rows};

/// Three files of vectors on a line, some NULL, some of another length.
async fn vectors(dimension: &str) -> Session {
    let session = memory();
    rows(
        &session,
        &format!("CREATE TABLE t (id int, kind text, v vector{dimension})"),
    )
    .await;
    rows(
        &session,
        "INSERT INTO t VALUES (0,'a','[0,0]'),(1,'b','[1,0]'),(2,'a','[2,0]'),(3,'b',NULL)",
    )
    .await;
    rows(
        &session,
        "INSERT INTO t VALUES (4,'a','[4,0]'),(5,'b','[5,0]'),(6,'a','[6,0]'),(7,'b',NULL)",
    )
    .await;
    rows(
        &session,
        "INSERT INTO t VALUES (8,'a','[8,0]'),(9,'b','[2,0]')",
    )
    .await;
    session
}

#[tokio::test]
async fn vector_search_gives_the_nearest_with_and_without_index() {
    for index in [None, Some("l2"), Some("cosine")] {
        let session = vectors("(2)").await;
        if let Some(metric) = index {
            rows(
                &session,
                &format!("CREATE INDEX ON t USING hnsw (v) WITH (metric = {metric})"),
            )
            .await;
        }
        for (text, expected) in [
            (
                "SELECT id, _distance FROM vector_search('t', 'v', '[1.9,0]', 3, metric => 'l2')",
                "2|0.1 9|0.1 1|0.9",
            ),
            (
                "SELECT id FROM vector_search(table => 't', column => 'v', query => ARRAY[6, 0], k => 2, metric => 'l2')",
                "6 5",
            ),
            (
                "SELECT id FROM vector_search(t, v, [6.1, 0], 1, metric => l2)",
                "6",
            ),
            (
                "SELECT id FROM vector_search('t', 'v', '[0,0]'::vector, 3, filter => 'kind = ''b''', metric => 'l2')",
                "1 9 5",
            ),
            (
                "SELECT id FROM vector_search('t', 'v', '[0,0]', 3, filter => 'id % 2 = 1', metric => 'l2')",
                "1 9 5",
            ),
            (
                "SELECT id FROM vector_search('t', 'v', '[0,0]', 2, filter => 'id IN (SELECT 5)', metric => 'l2')",
                "5",
            ),
            (
                "SELECT id FROM vector_search('t', 'v', '[0,0]', 4, metric => 'l2') WHERE kind = 'b'",
                "1 9",
            ),
            (
                "SELECT count(*) FROM vector_search('t', 'v', '[0,0]', 100, metric => 'l2')",
                "8",
            ),
            (
                "SELECT s.id FROM vector_search('t', 'v', '[8,0]', 1, recall => 'exact', metric => 'l2') AS s",
                "8",
            ),
            (
                "SELECT id FROM vector_search('t', 'v', '[1,0]', 2, metric => 'inner_product')",
                "8 6",
            ),
            (
                "SELECT x.id FROM t x JOIN vector_search('t', 'v', '[8,0]', 1, metric => 'l2') y ON x.id = y.id",
                "8",
            ),
            (
                "SELECT id FROM vector_search('t', 'v', '[8,0]', 5, metric => 'l2') LIMIT 0",
                "",
            ),
        ] {
            let got = line(&session, text).await;
            let rounded: Vec<String> = got.split(' ').map(round).collect();
            assert_eq!(rounded.join(" "), expected, "{index:?} {text}");
        }
    }
}

/// Distances to one digit.
fn round(row: &str) -> String {
    match row.split_once('|') {
        Some((id, distance)) => format!("{id}|{:.1}", distance.parse::<f64>().unwrap()),
        None => row.to_string(),
    }
}

#[tokio::test]
async fn order_by_distance_uses_the_index_where_it_is_sound() {
    let plain = vectors("(2)").await;
    let indexed = vectors("(2)").await;
    rows(&indexed, "CREATE INDEX near ON t USING hnsw (v)").await;
    for (text, by_index) in [
        ("SELECT id FROM t ORDER BY v <-> '[5.1,0]' LIMIT 3", true),
        (
            "SELECT id, v <-> '[5.1,0]' AS d FROM t ORDER BY d LIMIT 3",
            true,
        ),
        (
            "SELECT id FROM t ORDER BY vector_l2_distance(v, '[5.1,0]') LIMIT 2 OFFSET 1",
            true,
        ),
        (
            "SELECT id FROM t AS x ORDER BY l2_distance('[5.1,0]', x.v) LIMIT 2",
            true,
        ),
        (
            "SELECT id FROM (SELECT * FROM t) s ORDER BY v <-> ARRAY[5.1, 0] LIMIT 2",
            true,
        ),
        (
            "SELECT id FROM t WHERE kind = 'a' AND id < 8 ORDER BY v <-> '[5.1,0]' LIMIT 3",
            true,
        ),
        (
            "SELECT id FROM t WHERE id >= 3 ORDER BY v <-> '[5.1,0]' LIMIT 10",
            true,
        ),
        (
            "SELECT count(*) FROM (SELECT id FROM t ORDER BY v <-> '[5.1,0]' NULLS FIRST LIMIT 3) WHERE id IN (3, 7)",
            true,
        ),
        (
            "SELECT id FROM t WHERE id % 2 = 0 ORDER BY v <-> '[5.1,0]' LIMIT 3",
            false,
        ),
        (
            "SELECT id FROM t ORDER BY v <-> '[5.1,0]' DESC LIMIT 3",
            false,
        ),
        (
            "SELECT id FROM t ORDER BY v <-> '[2,0]', id DESC LIMIT 2",
            false,
        ),
        (
            "SELECT id FROM t ORDER BY v <=> '[5.1,1]', id LIMIT 3",
            false,
        ),
        ("SELECT id FROM t ORDER BY v <#> '[5.1,0]' LIMIT 3", false),
        (
            "SELECT id FROM t ORDER BY (v <-> '[5.1,0]') + 1 LIMIT 3",
            false,
        ),
        ("SELECT id FROM t ORDER BY v <-> '[5.1,0]'", false),
    ] {
        let plan = rows(&indexed, &format!("EXPLAIN {text}")).await.join("\n");
        assert_eq!(plan.contains("index=near"), by_index, "{text}: {plan}");
        let nulls_tie = text.ends_with("LIMIT 10") || text.ends_with("'[5.1,0]'");
        let (mut with, mut without) = (rows(&indexed, text).await, rows(&plain, text).await);
        if nulls_tie {
            with.sort();
            without.sort();
        }
        assert_eq!(with, without, "{text}");
    }
    assert_eq!(
        line(&indexed, "SELECT id FROM t ORDER BY v <-> '[0,0]' LIMIT 0").await,
        ""
    );
}

#[tokio::test]
async fn wrong_searches_are_refused_with_and_without_index() {
    for index in [false, true] {
        let session = vectors("(2)").await;
        if index {
            rows(&session, "CREATE INDEX ON t USING hnsw (v)").await;
        }
        for wrong in [
            "SELECT * FROM vector_search('t', 'v', '[1,2]', 0)",
            "SELECT * FROM vector_search('t', 'v', '[1,2]', -1)",
            "SELECT * FROM vector_search('t', 'v', '[1,2,3]', 5)",
            "SELECT * FROM vector_search('t', 'v', '[NaN,2]', 5)",
            "SELECT * FROM vector_search('t', 'v', 'x', 5)",
            "SELECT * FROM vector_search('t', 'nope', '[1,2]', 5)",
            "SELECT * FROM vector_search('t', 'id', '[1,2]', 5)",
            "SELECT * FROM vector_search('t', 'v', '[1,2]')",
            "SELECT * FROM vector_search('t', 'v', '[1,2]', 5, nope => 1)",
            "SELECT * FROM vector_search('t', 'v', '[1,2]', 5, k => 6)",
            "SELECT * FROM vector_search('t', 'v', '[1,2]', 5, metric => 'nope')",
            "SELECT * FROM vector_search('t', 'v', '[1,2]', 5, filter => 'nope = 1')",
            "SELECT * FROM vector_search('t', 'v', '[1,2]', 5, filter => 'id =')",
            "SELECT id FROM t ORDER BY v <-> '[1,2,3]' LIMIT 5",
            "SELECT id FROM t ORDER BY v <-> '[1,Infinity]' LIMIT 5",
            "SELECT v <-> '[1,2,3]' FROM t",
            "SELECT * FROM bm25_search('t', 'id', 'x', 5)",
            "SELECT * FROM bm25_search('t', 'kind', 'x', 0)",
            "SELECT * FROM bm25_search('t', 'kind', 'x', 5, operator => 'xor')",
        ] {
            fails(&session, wrong, ErrorKind::InvalidInput).await;
        }
        fails(
            &session,
            "SELECT * FROM vector_search('nope', 'v', '[1,2]', 5)",
            ErrorKind::NotFound,
        )
        .await;
        fails(
            &session,
            "SELECT * FROM vector_search('t', 'v', '[1,2]', 10001)",
            ErrorKind::ResourceExhausted,
        )
        .await;
        fails(
            &session,
            "SELECT * FROM hybrid_search('t')",
            ErrorKind::Unsupported,
        )
        .await;
    }
}

#[tokio::test]
async fn text_search_ranks_by_bm25_with_and_without_index() {
    for index in [false, true] {
        let session = memory();
        rows(&session, "CREATE TABLE d (id int, body text)").await;
        rows(
            &session,
            "INSERT INTO d VALUES (1,'quick brown fox'),(2,'lazy dog'),(3,'quick quick dog'),(4,NULL),(5,'')",
        )
        .await;
        rows(
            &session,
            "INSERT INTO d VALUES (6,'the quick fox jumps over the lazy dog and runs away')",
        )
        .await;
        if index {
            rows(&session, "CREATE INDEX ON d USING bm25 (body)").await;
        }
        for (text, expected) in [
            (
                "SELECT id FROM bm25_search('d', 'body', 'quick', 10)",
                "3 1 6",
            ),
            (
                "SELECT id FROM bm25_search('d', 'body', 'quick fox', 10, operator => 'and')",
                "1 6",
            ),
            ("SELECT id FROM bm25_search('d', 'body', 'dog', 1)", "2"),
            (
                "SELECT id FROM bm25_search('d', 'body', 'quick', 10, filter => 'id > 1')",
                "3 6",
            ),
            (
                "SELECT id FROM bm25_search('d', 'body', 'quick', 10) WHERE id > 1",
                "3 6",
            ),
            (
                "SELECT id FROM bm25_search('d', 'body', 'quick', 10, filter => 'length(body) > 15')",
                "6",
            ),
            (
                "SELECT id FROM bm25_search('d', 'body', 'dog', 10, filter => 'id IN (SELECT 6) OR id % 3 = 0')",
                "3 6",
            ),
            (
                "SELECT id FROM bm25_search('d', 'body', 'dog', 10, filter => 'length(body) > 99')",
                "",
            ),
            (
                "SELECT count(*) FROM bm25_search('d', 'body', 'absent', 10)",
                "0",
            ),
            ("SELECT id FROM d WHERE body = 'lazy dog'", "2"),
            ("SELECT id FROM d WHERE body = ''", "5"),
        ] {
            assert_eq!(
                line(&session, text).await,
                expected,
                "index {index}: {text}"
            );
        }
        let plan = rows(
            &session,
            "EXPLAIN SELECT id FROM bm25_search('d', 'body', 'quick', 10)",
        )
        .await
        .join("\n");
        assert_eq!(plan.contains("index=body_bm25"), index, "{plan}");
    }
}

#[tokio::test]
async fn ragged_vectors_have_no_distance() {
    let session = vectors("").await;
    rows(&session, "INSERT INTO t VALUES (10, 'a', '[1,2,3]')").await;
    assert_eq!(
        line(&session, "SELECT v <-> '[0,0]' FROM t WHERE id = 10").await,
        "NULL"
    );
    assert_eq!(
        line(
            &session,
            "SELECT count(*) FROM vector_search('t', 'v', '[0,0]', 100)"
        )
        .await,
        "8"
    );
    assert_eq!(
        line(
            &session,
            "SELECT id FROM vector_search('t', 'v', '[1,2,3]', 100)"
        )
        .await,
        "10"
    );
}

#[tokio::test]
async fn explain_says_why_an_index_is_not_used() {
    let session = memory();
    rows(
        &session,
        "CREATE TABLE t (id int, v real[], body text); INSERT INTO t VALUES (1, '[1,2]', 'fox'), (2, '[3,4]', 'dog');
         CREATE INDEX vi ON t USING hnsw (v) WITH (metric = cosine); CREATE INDEX ti ON t USING bm25 (body);
         CREATE INDEX ids ON t USING bitmap (id)",
    )
    .await;
    for (query, reason) in [
        (
            "SELECT id FROM vector_search('t', 'v', '[1,2]', 1, metric => 'l2')",
            "index=none, index vi is not used: its metric is cosine, the search asks for l2",
        ),
        (
            "SELECT id FROM vector_search('t', 'v', '[1,2]', 1, recall => 'exact')",
            "index vi is not used: the search is exact",
        ),
        (
            "SELECT id FROM bm25_search('t', 'body', 'fox', 1, analyzer => 'english')",
            "index ti is not used: its analyzer is standard, the search asks for english",
        ),
        (
            "SELECT id FROM t WHERE body = 'fox'",
            "index ti is not used: it answers text searches only",
        ),
    ] {
        let plan = rows(&session, &format!("EXPLAIN {query}")).await.join("\n");
        assert!(plan.contains(reason), "{query}: {plan}");
    }
    let used = rows(
        &session,
        "EXPLAIN SELECT id FROM vector_search('t', 'v', '[1,2]', 1)",
    )
    .await;
    assert!(
        used.join(" ")
            .contains("index=vi segments=1, rows_indexed=2 of 2"),
        "{used:?}"
    );
}

#[tokio::test]
async fn first_index_over_vectors_of_one_length_fixes_the_dimension() {
    let session = memory();
    rows(
        &session,
        "CREATE TABLE t (id int, v real[], w real[]);
         INSERT INTO t VALUES (1, ARRAY[1.0, 2.0], ARRAY[1.0]), (2, NULL, ARRAY[1.0, 2.0]);
         CREATE INDEX vi ON t USING hnsw (v); CREATE INDEX wi ON t USING hnsw (w)",
    )
    .await;
    for refused in [
        "SELECT id FROM vector_search('t', 'v', '[1,2,3]', 1)",
        "INSERT INTO t (v) VALUES (ARRAY[1.0, 2.0, 3.0])",
        "UPDATE t SET v = ARRAY[1.0] WHERE id = 1",
    ] {
        let message = error(&session, refused).await.to_string();
        assert!(
            message.contains("dimension") && message.contains('v'),
            "{refused}: {message}"
        );
    }
    rows(&session, "DROP INDEX vi ON t").await;
    fails(
        &session,
        "SELECT id FROM vector_search('t', 'v', '[1,2,3]', 1)",
        ErrorKind::InvalidInput,
    )
    .await;
    rows(&session, "INSERT INTO t (w) VALUES (ARRAY[1.0, 2.0, 3.0])").await;
    assert_eq!(
        rows(&session, "SELECT id FROM vector_search('t', 'w', '[1]', 5)").await,
        ["1"]
    );
}

#[tokio::test]
async fn order_by_distance_uses_the_index_up_to_the_largest_k() {
    let session = vectors("(2)").await;
    let plain = vectors("(2)").await;
    rows(&session, "CREATE INDEX near ON t USING hnsw (v)").await;
    for (limit, by_index) in [(1, true), (9_999, true), (10_000, true), (10_001, false)] {
        let text = format!(
            "SELECT id FROM t WHERE v IS NOT NULL ORDER BY v <-> '[5.2,0]', id LIMIT {limit}"
        );
        let near = text.replace(", id LIMIT", " LIMIT");
        let plan = rows(&session, &format!("EXPLAIN {near}")).await.join("\n");
        assert_eq!(plan.contains("index=near"), by_index, "{limit}: {plan}");
        let before = session.environment().distances_computed();
        let mut found = rows(&session, &near).await;
        let distances = session.environment().distances_computed() - before;
        assert_eq!(distances > 0, by_index, "{limit}: {distances} distances");
        let mut expected = rows(&plain, &text).await;
        found.sort();
        expected.sort();
        assert_eq!(found, expected, "{limit}");
    }
}
