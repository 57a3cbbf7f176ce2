//! Names of columns in any case, where the session is opened so.

use std::collections::BTreeMap;

use benostreamdb::{ErrorKind, Result, Session, SessionOptions};

use crate::fixture::name;
use crate::support::{Folder, error, fails, line, rows};

fn open(folder: &Folder, case_sensitive: &str) -> Result<Session> {
    let option = ("case-sensitive".to_owned(), case_sensitive.to_owned());
    Session::open(&SessionOptions {
        warehouse: Some(folder.path().to_str().unwrap().to_owned()),
        options: BTreeMap::from([option]),
        map_prefix: Vec::new(),
    })
}

/// Table t with columns in mixed case, and u with two that differ in case only.
async fn tables() -> (Folder, Session) {
    let folder = Folder::new();
    rows(
        &folder.session(),
        r#"CREATE TABLE t ("Id" int, "Name" text, rest int, "V" vector(2));
           INSERT INTO t VALUES (1, 'one', 10, '[1,0]'), (2, 'two', 20, '[2,0]');
           CREATE TABLE u ("Key" int, "Tag" text, "TAG" text);
           INSERT INTO u VALUES (1, 'a', 'A'), (2, 'b', 'B')"#,
    )
    .await;
    let session = open(&folder, "false").unwrap();
    (folder, session)
}

#[tokio::test]
async fn r_sc7_columns_are_found_in_any_case_where_the_session_says_so() {
    let (folder, session) = tables().await;
    for (text, expected) in [
        ("SELECT name FROM t WHERE ID = 2", "two"),
        (
            r#"SELECT "nAME" FROM t WHERE "id" = 1 AND t."REST" = 10"#,
            "one",
        ),
        (
            "SELECT x.Name FROM t AS x ORDER BY x.id DESC LIMIT 1",
            "two",
        ),
        (
            "SELECT count(*), max(Name) FROM t GROUP BY iD HAVING max(id) > 1",
            "1|two",
        ),
        (
            "SELECT upper(name) AS NAME FROM t ORDER BY name DESC LIMIT 1",
            "TWO",
        ),
        (
            "SELECT t.name, u.key FROM t JOIN u ON t.ID = u.KEY WHERE u.key = 2",
            "two|2",
        ),
        (
            "SELECT a.NAME FROM t a JOIN t b USING (ID) WHERE a.iD = 1",
            "one",
        ),
        (
            "WITH c AS (SELECT id, name FROM t) SELECT NAME FROM c WHERE Id = 1",
            "one",
        ),
        (
            "SELECT n FROM (SELECT name AS n FROM t) d WHERE N = 'two'",
            "two",
        ),
        ("SELECT id, _pos FROM t WHERE _POS = 1", "2|1"),
        (
            "SELECT id FROM vector_search('t', 'v', '[2,0]', 1, filter => 'NAME <> ''one''')",
            "2",
        ),
        ("SELECT id FROM t ORDER BY v <-> '[2,0]' LIMIT 1", "2"),
        ("SELECT key AS tag FROM u WHERE key = 2", "2"),
        // Spelled exactly, in quotes, one of two is meant.
        (r#"SELECT "Tag", "TAG" FROM u WHERE key = 1"#, "a|A"),
    ] {
        assert_eq!(line(&session, text).await, expected, "{text}");
    }
    let results = session
        .sql("SELECT *, name AS label FROM t LIMIT 1")
        .await
        .unwrap();
    let fields = results[0].schema().fields().iter();
    let names: Vec<&str> = fields.map(|field| field.name().as_str()).collect();
    assert_eq!(names, ["Id", "Name", "rest", "V", "label"]);

    rows(
        &session,
        "UPDATE t SET NAME = name || '!', rest = REST + 1 WHERE id = 1;
         DELETE FROM t WHERE ID = 2;
         INSERT INTO t (v, name, ID) VALUES ('[3,0]', 'three', 3);
         CREATE INDEX ON t USING bitmap (name);
         UPDATE u SET key = 7 WHERE \"Tag\" = 'b'",
    )
    .await;
    let found = r#"SELECT "Id", "Name", rest FROM t ORDER BY "Id""#;
    assert_eq!(
        line(&folder.session(), found).await,
        "1|one!|11 3|three|NULL"
    );
    let found = r#"SELECT "Key", "Tag", "TAG" FROM u ORDER BY 1"#;
    assert_eq!(line(&folder.session(), found).await, "1|a|A 7|b|B");
    let table = session.table(&name("t")).await.unwrap();
    assert_eq!(table.column("NAME").unwrap().unwrap().name, "Name");
    assert!(table.column("nope").unwrap().is_none());
    let exact = folder.session().table(&name("t")).await.unwrap();
    assert!(exact.column("NAME").unwrap().is_none());
}

#[tokio::test]
async fn r_sc7_a_name_that_two_columns_share_but_for_case_is_ambiguous() {
    let (folder, session) = tables().await;
    for text in [
        "SELECT tag FROM u",
        r#"SELECT key FROM u WHERE u."tAG" = 'a'"#,
        "SELECT count(*) FROM t JOIN u ON t.name = u.TAG",
        "UPDATE u SET tag = 'x'",
        "DELETE FROM u WHERE tag = 'a'",
        "INSERT INTO u (tag) VALUES ('x')",
        "CREATE INDEX ON u USING bitmap (tag)",
        "SELECT key FROM bm25_search('u', 'tag', 'a', 1)",
    ] {
        let refused = error(&session, text).await;
        assert_eq!(refused.kind(), ErrorKind::InvalidInput, "{text}: {refused}");
        let message = refused.message();
        assert!(
            message.contains("ambiguous") && message.contains("Tag, TAG"),
            "{text}: {message}"
        );
    }
    let table = session.table(&name("u")).await.unwrap();
    assert_eq!(
        table.column("tag").unwrap_err().kind(),
        ErrorKind::InvalidInput
    );
    assert_eq!(
        line(&session, "SELECT count(*) FROM u WHERE key > 0").await,
        "2"
    );
    assert_eq!(
        line(&session, "SELECT * FROM u WHERE key = 1").await,
        "1|a|A"
    );
    fails(
        &folder.session(),
        "SELECT tag FROM u",
        ErrorKind::InvalidInput,
    )
    .await;
    let wrong = open(&folder, "maybe").err().unwrap();
    assert_eq!(wrong.kind(), ErrorKind::InvalidInput);
}
