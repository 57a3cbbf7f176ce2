//! Metadata columns beyond plain queries: in statements that change rows, in the filters of searches, at older states.

use benostreamdb::{ErrorKind, Session};

use crate::support::{error, line, memory, rows};

/// Two files of three rows: id, text, vector.
async fn two_files() -> Session {
    let session = memory();
    rows(
        &session,
        "CREATE TABLE t (id int, body text, v vector(2));
         INSERT INTO t VALUES (0, 'red fox', '[0,0]'), (1, 'red hen', '[1,0]'), (2, 'red cat', '[2,0]');
         INSERT INTO t VALUES (3, 'red owl', '[3,0]'), (4, 'red bee', '[4,0]'), (5, 'blue ant', '[5,0]')",
    )
    .await;
    session
}

#[tokio::test]
async fn rows_are_changed_by_their_metadata_columns() {
    let session = two_files().await;
    assert_eq!(
        line(&session, "DELETE FROM t WHERE _pos = 1").await,
        "2",
        "one row of each file"
    );
    let ids = "SELECT id FROM t ORDER BY id";
    assert_eq!(line(&session, ids).await, "0 2 3 5");
    // The rows of the first file alone, by a query over the table itself.
    let update = "UPDATE t AS x SET id = id + 10 * (1 + CAST(x._pos AS int))
                  WHERE _file = (SELECT min(_file) FROM t WHERE id = 0)";
    assert_eq!(line(&session, update).await, "2");
    assert_eq!(line(&session, ids).await, "3 5 10 32");
    assert_eq!(
        line(&session, "DELETE FROM t USING (SELECT _file AS f FROM t WHERE id = 3) d WHERE t._file = d.f AND _pos > 1").await,
        "1"
    );
    assert_eq!(line(&session, ids).await, "3 10 32");
}

#[tokio::test]
async fn deleted_rows_are_no_rows_to_change_or_to_find() {
    let session = two_files().await;
    rows(&session, "DELETE FROM t WHERE id = 1").await;
    for statement in [
        "DELETE FROM t WHERE _deleted",
        "UPDATE t SET id = 7 WHERE _deleted",
        "SELECT id FROM vector_search('t', 'v', '[1,0]', 3, filter => '_deleted')",
        "SELECT id FROM bm25_search('t', 'body', 'red', 3, filter => 'NOT _deleted')",
    ] {
        let refused = error(&session, statement).await;
        assert_eq!(
            refused.kind(),
            ErrorKind::Unsupported,
            "{statement}: {refused}"
        );
        assert!(refused.message().contains("_deleted"), "{refused}");
    }
    assert_eq!(line(&session, "SELECT count(*) FROM t").await, "5");
}

#[tokio::test]
async fn searches_select_by_metadata_columns_with_and_without_index() {
    let session = two_files().await;
    for index in [
        "",
        "CREATE INDEX ON t USING hnsw (v); CREATE INDEX ON t USING bm25 (body)",
    ] {
        rows(&session, index).await;
        for (text, expected) in [
            (
                "vector_search('t', 'v', '[0,0]', 2, filter => '_pos > 0')",
                "1 2",
            ),
            // What no predicate means is measured row by row.
            (
                "vector_search('t', 'v', '[0,0]', 2, filter => '_pos % 2 = 1')",
                "1 4",
            ),
            (
                "bm25_search('t', 'body', 'red', 9, filter => '_pos = 1')",
                "1 4",
            ),
            (
                "bm25_search('t', 'body', 'red', 9, filter => '_pos % 2 = 1 AND id > 1')",
                "4",
            ),
        ] {
            let found = line(&session, &format!("SELECT id FROM {text} ORDER BY id")).await;
            assert_eq!(found, expected, "{text} {index}");
        }
        let columns = rows(
            &session,
            "SELECT * FROM vector_search('t', 'v', '[0,0]', 1, filter => '_pos = 0')",
        )
        .await;
        assert_eq!(columns, ["0|red fox|[0.0, 0.0]|0.0"]);
    }
}

#[tokio::test]
async fn metadata_columns_of_an_older_state_are_there() {
    let session = two_files().await;
    let first = line(
        &session,
        "SELECT snapshot_id FROM \"t$snapshots\" ORDER BY committed_at LIMIT 1",
    )
    .await;
    let text = format!(
        "SELECT id, _pos, _spec_id FROM t FOR VERSION AS OF {first} WHERE _pos > 0 ORDER BY id"
    );
    assert_eq!(line(&session, &text).await, "1|1|0 2|2|0");
}
