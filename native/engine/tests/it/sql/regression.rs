//! Symptoms that users of other engines reported, as regression cases: an index that changes answers, a filter
//! that is dropped, a damaged file that empties a table or ends the process.

use std::fs;

use benostreamdb::{ErrorKind, Session};

use crate::support::{Folder, fails, line, memory, rows, try_rows};

async fn ten_rows(session: &Session, index: bool) {
    rows(
        session,
        "CREATE TABLE t (id int, f double precision, s text)",
    )
    .await;
    if index {
        rows(session, "CREATE INDEX ON t USING bitmap (id)").await;
    }
    rows(
        session,
        "INSERT INTO t SELECT value, value, 'r' || value FROM generate_series(0, 9)",
    )
    .await;
    if index {
        rows(session, "CALL system.refresh_index(table => 't')").await;
    }
}

#[tokio::test]
async fn delete_of_a_range_on_an_indexed_column_keeps_the_rest() {
    for index in [false, true] {
        for (filter, left) in [
            ("id >= 2 AND id < 5", "0 1 5 6 7 8 9"),
            ("id >= 2 AND id < 5 AND id <> 3", "0 1 3 5 6 7 8 9"),
            ("id BETWEEN 2 AND 4", "0 1 5 6 7 8 9"),
            ("id IN (2, 4) OR id = 9", "0 1 3 5 6 7 8"),
            ("NOT (id < 8 OR id > 8)", "0 1 2 3 4 5 6 7 9"),
            ("id > 3 AND s LIKE 'r%' AND id + 1 < 6", "0 1 2 3 5 6 7 8 9"),
        ] {
            let session = memory();
            ten_rows(&session, index).await;
            rows(&session, &format!("DELETE FROM t WHERE {filter}")).await;
            assert_eq!(
                line(&session, "SELECT id FROM t ORDER BY id").await,
                left,
                "index {index}: {filter}"
            );
        }
    }
}

#[tokio::test]
async fn torn_newest_metadata_is_an_error_and_never_an_empty_table() {
    let folder = Folder::new();
    ten_rows(&folder.session(), false).await;
    let newest = folder.files(".metadata.json").pop().unwrap();
    let whole = fs::read(&newest).unwrap();
    fs::write(&newest, "{").unwrap();
    fails(
        &folder.session(),
        "SELECT count(*) FROM t",
        ErrorKind::Corrupt,
    )
    .await;
    fails(
        &folder.session(),
        "INSERT INTO t VALUES (77, 1, 'x')",
        ErrorKind::Corrupt,
    )
    .await;
    fs::write(&newest, whole).unwrap();
    assert_eq!(
        line(&folder.session(), "SELECT count(*), max(id) FROM t").await,
        "10|9"
    );
}

/// Three indexes over two files, and the answers that must not change.
async fn searched(folder: &Folder, table: &str, shift: i32) {
    let session = folder.session();
    rows(
        &session,
        &format!("CREATE TABLE {table} (id int, s text, v vector(2))"),
    )
    .await;
    for part in 0..2 {
        let from = part * 50;
        let insert = format!(
            "INSERT INTO {table} SELECT value, 'word' || (value + {shift}), ARRAY[value + {shift}, 1]
             FROM generate_series({from}, {from} + 49)"
        );
        rows(&session, &insert).await;
    }
    for index in ["bitmap (id)", "bm25 (s)", "hnsw (v)"] {
        rows(&session, &format!("CREATE INDEX ON {table} USING {index}")).await;
    }
}

const SEARCHES: [&str; 4] = [
    "SELECT id FROM t WHERE id IN (3, 57) ORDER BY id",
    "SELECT id FROM bm25_search('t', 's', 'word7', 3)",
    "SELECT id FROM vector_search('t', 'v', '[42.1, 1]', 3)",
    "SELECT id FROM t ORDER BY v <-> '[42.1, 1]' LIMIT 2",
];

async fn answers(folder: &Folder) -> Vec<String> {
    let session = folder.session();
    let mut answers = Vec::new();
    for text in SEARCHES {
        answers.push(line(&session, text).await);
    }
    answers
}

#[tokio::test]
async fn damaged_and_foreign_segments_change_no_answer() {
    let folder = Folder::new();
    searched(&folder, "t", 0).await;
    searched(&folder, "other", 1000).await;
    let expected = ["3 57", "7", "42 43 41", "42 43"];
    assert_eq!(answers(&folder).await, expected);
    let of = |table: &str| -> Vec<_> {
        let part = format!("/{table}/");
        folder
            .files(".bsdb_idx")
            .into_iter()
            .filter(|path| path.to_str().unwrap().contains(&part))
            .collect()
    };
    let (own, foreign) = (of("t"), of("other"));
    assert!(own.len() >= 3 && foreign.len() >= 3, "{own:?} {foreign:?}");
    let whole: Vec<Vec<u8>> = own.iter().map(|path| fs::read(path).unwrap()).collect();
    let others: Vec<Vec<u8>> = foreign.iter().map(|path| fs::read(path).unwrap()).collect();
    for damage in 0..5 {
        for (index, (path, bytes)) in own.iter().zip(&whole).enumerate() {
            let bytes: Vec<u8> = match damage {
                0 => bytes
                    .iter()
                    .enumerate()
                    .map(|(at, b)| if at % 7 == 3 { b ^ 0x55 } else { *b })
                    .collect(),
                1 => bytes[..bytes.len() / 2].to_vec(),
                2 => Vec::new(),
                3 => vec![0xAB; bytes.len()],
                _ => others[index % others.len()].clone(),
            };
            fs::write(path, bytes).unwrap();
        }
        assert_eq!(answers(&folder).await, expected, "damage {damage}");
    }
    for path in &own {
        fs::remove_file(path).unwrap();
    }
    assert_eq!(answers(&folder).await, expected, "segments removed");
}

#[tokio::test]
async fn filters_on_columns_that_are_not_selected_hold() {
    for index in [false, true] {
        let session = memory();
        ten_rows(&session, index).await;
        for (filter, expected) in [
            ("s LIKE 'r1%'", "1"),
            ("f BETWEEN 4 AND 6", "4 5 6"),
            ("(f > 5) IS NOT TRUE", "0 1 2 3 4 5"),
            ("f NOT BETWEEN 1 AND 8", "0 9"),
            ("s ILIKE 'R3'", "3"),
            ("id IN (SELECT 5)", "5"),
            ("s NOT LIKE 'r%' OR id = 2", "2"),
            ("length(s) = 2 AND id < 2", "0 1"),
        ] {
            let text = format!("SELECT id FROM t WHERE {filter} ORDER BY id");
            assert_eq!(
                line(&session, &text).await,
                expected,
                "index {index}: {filter}"
            );
            let text = format!("SELECT count(*) FROM t WHERE {filter}");
            assert_eq!(
                line(&session, &text).await,
                expected.split(' ').count().to_string(),
                "index {index}: {filter}"
            );
        }
    }
}

#[tokio::test]
async fn an_index_changes_no_answer_for_nan_zeros_blanks_and_case() {
    let create = "CREATE TABLE t (f double precision, s text);
        INSERT INTO t VALUES (1.0, ' lead'), (2.0, 'lead'), ('NaN', 'Lead'), (-0.0::double precision, ''), (NULL, NULL)";
    let (plain, indexed) = (memory(), memory());
    rows(&plain, create).await;
    rows(&indexed, create).await;
    rows(
        &indexed,
        "CREATE INDEX ON t USING bitmap (f); CREATE INDEX ON t USING bitmap (s)",
    )
    .await;
    for (filter, expected) in [
        ("f > 1.5", "2"),
        ("f = 'NaN'", "1"),
        ("f <> 1", "3"),
        ("f = 0.0", "1"),
        ("f < 0", "0"),
        ("NOT (f > 1.5)", "2"),
        ("s = ' lead'", "1"),
        ("s = 'lead'", "1"),
        ("s = ''", "1"),
        ("s < 'a'", "3"),
        ("s IS NULL", "1"),
        ("s IN ('lead', NULL)", "1"),
        ("NOT (s IN ('lead', NULL))", "0"),
        ("s IS DISTINCT FROM 'lead'", "4"),
        ("s LIKE '%lead'", "2"),
    ] {
        let text = format!("SELECT count(*) FROM t WHERE {filter}");
        assert_eq!(line(&plain, &text).await, expected, "{filter}");
        assert_eq!(line(&indexed, &text).await, expected, "indexed: {filter}");
    }
}

#[tokio::test]
async fn a_text_index_leaves_equality_alone() {
    let session = memory();
    rows(
        &session,
        "CREATE TABLE t (id int, s text); INSERT INTO t VALUES (1, 'x'), (2, 'x y'), (3, '')",
    )
    .await;
    rows(&session, "CREATE INDEX ON t USING bm25 (s)").await;
    assert_eq!(line(&session, "SELECT id FROM t WHERE s = 'x'").await, "1");
    assert_eq!(line(&session, "SELECT id FROM t WHERE s = ''").await, "3");
    assert_eq!(
        line(
            &session,
            "SELECT id, s FROM t WHERE s LIKE 'x%' ORDER BY id"
        )
        .await,
        "1|x 2|x y"
    );
}

#[tokio::test]
async fn l9_a_delete_sees_what_another_session_committed_just_now() {
    let folder = Folder::new();
    let (first, second) = (folder.session(), folder.session());
    rows(&first, "CREATE TABLE t (id int)").await;
    assert_eq!(line(&second, "SELECT count(*) FROM t").await, "0");
    for round in 0..5 {
        rows(
            &first,
            "INSERT INTO t SELECT value FROM generate_series(1, 200)",
        )
        .await;
        assert_eq!(
            line(&second, "DELETE FROM t WHERE id >= 0").await,
            "200",
            "round {round}"
        );
        assert_eq!(
            line(&first, "SELECT count(*) FROM t").await,
            "0",
            "round {round}"
        );
    }
}

#[tokio::test]
async fn nearest_neighbours_are_k_rows_after_deletes_and_under_filters() {
    let session = memory();
    rows(&session, "CREATE TABLE t (id int, v vector(2))").await;
    let wave = "ARRAY[sin(value), cos(value * 0.7)]";
    rows(
        &session,
        &format!("INSERT INTO t SELECT value, {wave} FROM generate_series(1, 2000)"),
    )
    .await;
    rows(&session, "CREATE INDEX near ON t USING hnsw (v)").await;
    rows(&session, "DELETE FROM t WHERE id % 2 = 0").await;
    for filter in [
        "true",
        "id < 200",
        "id BETWEEN 300 AND 340",
        "id = 7",
        "id > 1990",
    ] {
        let found = |recall: &str| {
            format!(
                "SELECT id FROM vector_search('t', 'v', '[0.3, 0.3]', 10, filter => '{filter}', recall => '{recall}')"
            )
        };
        let (near, exact) = (
            rows(&session, &found("balanced")).await,
            rows(&session, &found("exact")).await,
        );
        let matching: usize = line(&session, &format!("SELECT count(*) FROM t WHERE {filter}"))
            .await
            .parse()
            .unwrap();
        assert_eq!(near.len(), matching.min(10), "{filter}");
        let common = near.iter().filter(|id| exact.contains(id)).count();
        assert!(
            common * 20 >= exact.len() * 19,
            "{filter}: {near:?} of {exact:?}"
        );
    }
}

#[tokio::test]
async fn rows_without_a_vector_never_rank_before_those_with_one() {
    for index in [false, true] {
        let session = memory();
        rows(&session, "CREATE TABLE t (id int, v vector(2)); INSERT INTO t VALUES (1, NULL), (2, '[3,4]'), (3, NULL)").await;
        if index {
            rows(&session, "CREATE INDEX ON t USING hnsw (v)").await;
        }
        assert_eq!(
            line(
                &session,
                "SELECT id FROM vector_search('t', 'v', '[0,0]', 10)"
            )
            .await,
            "2"
        );
        assert_eq!(
            line(&session, "SELECT id FROM t ORDER BY v <-> '[0,0]' LIMIT 1").await,
            "2"
        );
        assert_eq!(
            line(
                &session,
                "SELECT avg(v <-> '[0,0]'::vector), count(v <-> '[0,0]') FROM t"
            )
            .await,
            "5.0|1"
        );
        assert_eq!(
            rows(
                &session,
                "SELECT id FROM t ORDER BY v <-> '[0,0]' NULLS FIRST LIMIT 3"
            )
            .await
            .last()
            .unwrap(),
            "2"
        );
    }
}

#[tokio::test]
async fn a_misspelt_location_is_not_found_and_creates_nothing() {
    let folder = Folder::new();
    let wrong = folder.path().join("typo");
    fails(
        &folder.session(),
        &format!("SELECT * FROM '{}'", wrong.display()),
        ErrorKind::NotFound,
    )
    .await;
    assert!(!wrong.exists());
}

#[tokio::test]
async fn second_statements_and_server_files_cannot_be_reached() {
    let session = memory();
    for text in [
        "COPY (SELECT 1) TO '/tmp/benostreamdb-copy'",
        "CREATE EXTERNAL TABLE x STORED AS CSV LOCATION '/etc/passwd'",
        "CREATE TABLE x (a text) LOCATION '/etc'",
    ] {
        let error = try_rows(&session, text).await.unwrap_err();
        assert!(
            matches!(
                error.kind(),
                ErrorKind::Unsupported | ErrorKind::InvalidInput
            ),
            "{text}: {error}"
        );
    }
    assert!(!std::path::Path::new("/tmp/benostreamdb-copy").exists());
}

#[tokio::test]
async fn is_distinct_from_ends_before_and_and_or() {
    let session = memory();
    rows(
        &session,
        "CREATE TABLE p (id int, b boolean, i int);
         INSERT INTO p VALUES (1, true, 1), (2, true, 2), (3, false, 1), (4, false, 2), (5, NULL, 1)",
    )
    .await;
    for (filter, expected) in [
        ("b IS NOT DISTINCT FROM true AND i = 1", "1"),
        ("b IS DISTINCT FROM false OR i = 2", "1 2 4 5"),
        ("i IS DISTINCT FROM 1 + 1 AND b", "1"),
        ("NOT b IS DISTINCT FROM NULL", "5"),
    ] {
        let found = line(
            &session,
            &format!("SELECT id FROM p WHERE {filter} ORDER BY id"),
        )
        .await;
        assert_eq!(found, expected, "{filter}");
    }
    let deleted = "DELETE FROM p WHERE b IS NOT DISTINCT FROM true AND id = 99";
    assert_eq!(line(&session, deleted).await, "0");
}

#[tokio::test]
async fn in_list_with_case_is_decided_for_every_row() {
    let session = memory();
    rows(
        &session,
        "CREATE TABLE t (a int, f double precision); INSERT INTO t VALUES (1, 'NaN'), (3, -0.0)",
    )
    .await;
    let case = "CASE WHEN a = 5 THEN 0 ELSE a END";
    for (filter, expected) in [
        (format!("3 IN ({case}, 2)"), "3"),
        (format!("3 NOT IN ({case}, 2)"), "1"),
        (format!("a IN (7, {case}, NULL)"), "1 3"),
        (format!("a NOT IN (7, {case}, NULL)"), ""),
        ("f IN (f, 7)".to_string(), "1 3"),
        ("0.0 IN (f, 7)".to_string(), "3"),
    ] {
        let found = line(
            &session,
            &format!("SELECT a FROM t WHERE {filter} ORDER BY a"),
        )
        .await;
        assert_eq!(found, expected, "{filter}");
    }
    let deleted = format!("DELETE FROM t WHERE 3 NOT IN ({case}, 2)");
    assert_eq!(line(&session, &deleted).await, "1");
}

#[tokio::test]
async fn metadata_that_lost_its_snapshot_is_corrupt_and_not_empty() {
    let folder = Folder::new();
    let session = folder.session();
    rows(&session, "CREATE TABLE t (a int); INSERT INTO t VALUES (1)").await;
    let newest = folder.files("v2.metadata.json").remove(0);
    let whole = fs::read_to_string(&newest).unwrap();
    for (from, to) in [
        ("\"manifest-list\"", "\"manifest-lisu\""),
        ("\"current-snapshot-id\"", "\"current-snapshot-ie\""),
        (
            "\"current-snapshot-id\":",
            "\"current-snapshot-id\":-1,\"x\":",
        ),
    ] {
        assert!(whole.contains(from), "{whole}");
        fs::write(&newest, whole.replace(from, to)).unwrap();
        let fresh = folder.session();
        fails(&fresh, "SELECT * FROM t", ErrorKind::Corrupt).await;
    }
}

#[tokio::test]
async fn times_and_dates_compare_in_their_whole_range() {
    let session = memory();
    rows(
        &session,
        "CREATE TABLE t (id int, tm time, d date, ts timestamp, tz timestamptz);
         INSERT INTO t VALUES (1, '11:00:00', '9999-01-01', '2020-01-01', '2020-01-01 00:00:00Z'),
            (2, '13:00:00', '0001-01-01', '9998-01-01', '9998-01-01 00:00:00Z')",
    )
    .await;
    for (filter, expected) in [
        ("tm < CAST('12:00:00' AS time)", "1"),
        ("tm BETWEEN time '12:00' AND time '14:00'", "2"),
        ("d > ts", "1"),
        ("d < tz", "2"),
        ("date '9999-01-01' > ts", "1 2"),
        ("greatest(d, ts) = ts", "2"),
    ] {
        let found = line(
            &session,
            &format!("SELECT id FROM t WHERE {filter} ORDER BY id"),
        )
        .await;
        assert_eq!(found, expected, "{filter}");
    }
}

#[tokio::test]
async fn names_with_slashes_in_double_quotes_are_refused() {
    let folder = Folder::new();
    let session = folder.session();
    for text in [
        "CREATE TABLE \"../evil\" (a int)",
        "CREATE TABLE \"a/b\" (a int)",
        "SELECT * FROM \"a/b\"",
        "DROP TABLE \"a/b\"",
        "INSERT INTO \"../evil\" VALUES (1)",
    ] {
        fails(&session, text, ErrorKind::InvalidInput).await;
    }
    let location = folder.path().join("default/t");
    let location = location.to_str().unwrap();
    rows(
        &session,
        &format!("CREATE TABLE '{location}' (a int); INSERT INTO '{location}' VALUES (1)"),
    )
    .await;
    assert_eq!(line(&session, "SELECT * FROM t").await, "1");
}

#[tokio::test]
async fn properties_that_move_new_files_are_refused_by_writes() {
    let session = memory();
    rows(
        &session,
        "CREATE TABLE t (a int) WITH (\"write.data.path\" = 'memory:///elsewhere')",
    )
    .await;
    fails(&session, "INSERT INTO t VALUES (1)", ErrorKind::Unsupported).await;
    assert_eq!(line(&session, "SELECT count(*) FROM t").await, "0");
}

#[tokio::test]
async fn word_of_megabytes_is_cut_into_terms() {
    let session = memory();
    rows(
        &session,
        "CREATE TABLE t (id int, s text); INSERT INTO t SELECT 1, repeat('x', 5000000); INSERT INTO t VALUES (2, 'x')",
    )
    .await;
    let query = format!(
        "SELECT id FROM bm25_search('t', 's', '{}', 5)",
        "x".repeat(255)
    );
    assert_eq!(line(&session, &query).await, "1");
    rows(&session, "CREATE INDEX ON t USING bm25 (s)").await;
    assert_eq!(line(&session, &query).await, "1");
}

/// The planner takes the left table's value for a merged column, where PostgreSQL takes the one that is there.
#[tokio::test]
async fn merged_columns_of_right_and_full_joins_are_never_null_instead() {
    let session = memory();
    rows(
        &session,
        "CREATE TABLE t (id int, name text); INSERT INTO t VALUES (1, 'a');
         CREATE TABLE u (id int, x text); INSERT INTO u VALUES (1, 'p'), (2, 'q')",
    )
    .await;
    for text in [
        "SELECT id, x FROM t RIGHT JOIN u USING (id)",
        "SELECT * FROM t FULL JOIN u USING (id)",
        "SELECT x FROM t FULL OUTER JOIN u USING (id) ORDER BY id",
        "SELECT count(*) FROM t RIGHT JOIN u USING (id) GROUP BY id",
        "SELECT x FROM t NATURAL RIGHT JOIN u",
        "SELECT count(*) FROM (SELECT id FROM t FULL JOIN u USING (id)) d",
        "SELECT 1 AS id UNION SELECT id FROM t FULL JOIN u USING (id)",
    ] {
        fails(&session, text, ErrorKind::Unsupported).await;
    }
    for (text, expected) in [
        (
            "SELECT u.id, x FROM t RIGHT JOIN u USING (id) ORDER BY id",
            "1|p 2|q",
        ),
        (
            "SELECT COALESCE(t.id, u.id) AS id FROM t FULL JOIN u USING (id) ORDER BY id",
            "1 2",
        ),
        (
            "SELECT d.id, x FROM t RIGHT JOIN (SELECT id, x FROM u WHERE id > 1) d USING (id)",
            "2|q",
        ),
        ("SELECT count(*) FROM t RIGHT JOIN u USING (id)", "2"),
        (
            "SELECT count(*), max(u.x) FROM t NATURAL RIGHT JOIN u",
            "2|q",
        ),
        (
            "SELECT id, x FROM u LEFT JOIN t USING (id) ORDER BY id",
            "1|p 2|q",
        ),
    ] {
        assert_eq!(line(&session, text).await, expected, "{text}");
    }
}
