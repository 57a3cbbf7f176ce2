//! Queries follow PostgreSQL: floats, NULLs, decimals, times, overflow.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, Float64Array, Int64Array, ListArray, RecordBatch, StringArray,
    TimestampMicrosecondArray,
};
use arrow::datatypes::Float32Type;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::datasource::MemTable;
use datafusion::prelude::SessionContext;

use super::explain_error;
use super::planner::template;
use crate::error::{ErrorKind, Result};
use crate::sql::parse::{Statement, parse};

/// Runs a query over an in-memory table `t` with the planner's own configuration, without our scans.
async fn run(text: &str) -> Result<Vec<String>> {
    let context = SessionContext::new_with_state(template().clone());
    let list = Arc::new(datafusion::catalog::MemoryCatalogProviderList::new());
    let catalog = Arc::new(datafusion::catalog::MemoryCatalogProvider::new());
    let schema = Arc::new(datafusion::catalog::MemorySchemaProvider::new());
    use datafusion::catalog::{
        CatalogProvider as _, CatalogProviderList as _, SchemaProvider as _,
    };
    catalog
        .register_schema("default", Arc::clone(&schema) as _)
        .unwrap();
    list.register_catalog(super::table::CATALOG_NAME.to_string(), catalog);
    let batch = rows();
    let table = MemTable::try_new(batch.schema(), vec![vec![batch]]).unwrap();
    schema
        .register_table("t".to_string(), Arc::new(table))
        .unwrap();
    let mut state = context.state();
    state.register_catalog_list(list);
    let Statement::Query(query) = parse(text)?.0.remove(0) else {
        panic!("{text} is no query")
    };
    let statement = datafusion::sql::parser::Statement::Statement(Box::new(
        datafusion::sql::sqlparser::ast::Statement::Query(query),
    ));
    let work = async {
        let plan = state.statement_to_plan(statement).await?;
        let physical = state.create_physical_plan(&plan).await?;
        datafusion::physical_plan::collect(physical, state.task_ctx()).await
    };
    Ok(shown(&work.await.map_err(explain_error)?))
}

fn rows() -> RecordBatch {
    let negative_nan = f64::from_bits(0xFFF8_0000_0000_0000);
    let floats = [
        Some(-0.0),
        Some(0.0),
        Some(1.0),
        Some(f64::NAN),
        Some(negative_nan),
        None,
        Some(f64::INFINITY),
    ];
    let vectors = (0..7i16).map(|row| (row != 5).then(|| vec![Some(f32::from(row)), Some(0.0)]));
    let columns: Vec<(&str, ArrayRef)> = vec![
        (
            "n",
            Arc::new(StringArray::from(vec![
                "nz", "pz", "one", "pnan", "nnan", "null", "inf",
            ])),
        ),
        ("x", Arc::new(Float64Array::from(floats.to_vec()))),
        ("k", Arc::new(Int64Array::from(vec![9, 8, 7, 6, 5, 4, 3]))),
        (
            "ts",
            Arc::new(TimestampMicrosecondArray::from(vec![
                0,
                1,
                2,
                3,
                4,
                5,
                253_402_300_800_000_000,
            ])),
        ),
        ("Mixed", Arc::new(Int64Array::from(vec![0; 7]))),
        (
            "v",
            Arc::new(ListArray::from_iter_primitive::<Float32Type, _, _>(vectors)),
        ),
    ];
    RecordBatch::try_from_iter_with_nullable(
        columns
            .into_iter()
            .map(|(name, column)| (name, column, true)),
    )
    .unwrap()
}

fn shown(batches: &[RecordBatch]) -> Vec<String> {
    let options = FormatOptions::default().with_null("null");
    let mut rows = Vec::new();
    for batch in batches {
        let columns: Vec<_> = batch
            .columns()
            .iter()
            .map(|c| ArrayFormatter::try_new(c, &options).unwrap())
            .collect();
        for row in 0..batch.num_rows() {
            rows.push(
                columns
                    .iter()
                    .map(|c| c.value(row).to_string())
                    .collect::<Vec<_>>()
                    .join("|"),
            );
        }
    }
    rows
}

async fn check(text: &str, expected: &str) {
    match run(text).await {
        Ok(rows) => assert_eq!(rows.join(" "), expected, "{text}"),
        Err(error) => panic!("{text}: {error}"),
    }
}

async fn kind_of(text: &str) -> ErrorKind {
    match run(text).await {
        Ok(rows) => panic!("{text} gave {rows:?}"),
        Err(error) => error.kind(),
    }
}

#[tokio::test]
async fn l2_floats_in_filters_follow_postgres() {
    for (filter, expected) in [
        ("x = 0.0", "nz pz"),
        ("x = -0.0", "nz pz"),
        ("x < 0.0", ""),
        ("x >= 0.0", "nz pz one pnan nnan inf"),
        ("x <> 0", "one pnan nnan inf"),
        ("x > 1", "pnan nnan inf"),
        ("x = 'NaN'::double precision", "pnan nnan"),
        ("x IN (0.0, 5.0)", "nz pz"),
        ("x IN (0.0, 5.0, 6.0, 7.0, 8.0)", "nz pz"),
        ("x NOT IN (0.0, 1.0)", "pnan nnan inf"),
        ("x BETWEEN 0.0 AND 0.5", "nz pz"),
        ("x BETWEEN -1 AND -0.0", "nz pz"),
        ("x IS NOT DISTINCT FROM 0.0", "nz pz"),
        ("NOT (x < 0.0)", "nz pz one pnan nnan inf"),
        ("CASE x WHEN 0.0 THEN true ELSE false END", "nz pz"),
        ("nullif(x, 0.0) IS NULL", "nz pz null"),
        ("x * 0 = 0", "nz pz one"),
        ("(x - x) > 1", "pnan nnan inf"),
        ("x IN (SELECT x FROM t WHERE n = 'pz')", "nz pz"),
        ("x = ANY (SELECT x FROM t WHERE n = 'nnan')", "pnan nnan"),
        (
            "x <> ALL (SELECT x FROM t WHERE n = 'pz')",
            "one pnan nnan inf",
        ),
        ("x = (SELECT x FROM t WHERE n = 'pz')", "nz pz"),
        (
            "EXISTS (SELECT 1 FROM t g WHERE g.x = t.x AND g.n <> t.n)",
            "nz pz pnan nnan",
        ),
    ] {
        check(
            &format!("SELECT n FROM t WHERE {filter} ORDER BY k DESC"),
            expected,
        )
        .await;
    }
}

#[tokio::test]
async fn l2_floats_in_keys_and_sorts_follow_postgres() {
    for (text, expected) in [
        ("SELECT count(*) FROM (SELECT DISTINCT x FROM t)", "5"),
        ("SELECT count(*) FROM (SELECT x FROM t GROUP BY x)", "5"),
        ("SELECT count(DISTINCT x) FROM t", "4"),
        (
            "SELECT count(*) FROM (SELECT x FROM t UNION SELECT x FROM t)",
            "5",
        ),
        ("SELECT count(*) FROM t a JOIN t b ON a.x = b.x", "10"),
        ("SELECT count(*) FROM t a JOIN t b USING (x)", "10"),
        ("SELECT count(*) FROM t a, t b WHERE a.x = b.x", "10"),
        (
            "SELECT count(*) FROM (SELECT x FROM t WHERE n = 'nz' INTERSECT SELECT x FROM t WHERE n = 'pz')",
            "1",
        ),
        (
            "SELECT count(*) FROM (SELECT x FROM t WHERE n = 'nz' EXCEPT SELECT x FROM t WHERE n = 'pz')",
            "0",
        ),
        (
            "SELECT n FROM t ORDER BY x, k",
            "pz nz one inf nnan pnan null",
        ),
        (
            "SELECT n FROM t ORDER BY x DESC, k LIMIT 3",
            "null nnan pnan",
        ),
        (
            "SELECT max(x), min(x) FROM t WHERE n IN ('nnan', 'inf')",
            "NaN|inf",
        ),
        (
            "SELECT n, rank() OVER (ORDER BY x) r FROM t WHERE k >= 8 ORDER BY n",
            "nz|1 pz|1",
        ),
        ("SELECT x, count(*) FROM t WHERE k >= 8 GROUP BY x", "0.0|2"),
        (
            "SELECT x AS y, count(*) c FROM t WHERE k >= 8 GROUP BY ROLLUP (x) ORDER BY y",
            "0.0|2 null|2",
        ),
        (
            "SELECT count(*) FROM (SELECT DISTINCT ON (x) n FROM t)",
            "5",
        ),
        ("SELECT t.x = 0.0 AS e FROM t WHERE n = 'nz'", "true"),
        ("SELECT x FROM t WHERE n = 'nz'", "-0.0"),
        ("SELECT greatest(x, 1.0) FROM t WHERE n = 'nnan'", "NaN"),
    ] {
        check(text, expected).await;
    }
}

#[tokio::test]
async fn integer_overflow_is_an_error() {
    for text in [
        "SELECT 9223372036854775807 + 1",
        "SELECT k + 9223372036854775807 FROM t",
        "SELECT -9223372036854775807 - k FROM t",
        "SELECT k * 9223372036854775807 FROM t",
        "SELECT sum(k + 9223372036854775800) FROM t",
        "SELECT sum(y) FROM (SELECT 9223372036854775807 AS y UNION ALL SELECT 9223372036854775807)",
        "SELECT 1 / 0",
        "SELECT k / 0 FROM t",
        "SELECT 3000000000::int",
        "SELECT 2147483647::int + 1::int",
    ] {
        assert_eq!(kind_of(text).await, ErrorKind::InvalidInput, "{text}");
    }
    check("SELECT sum(y) FROM (SELECT 9223372036854775807 AS y UNION ALL SELECT 1 UNION ALL SELECT -1)", "9223372036854775807").await;
    check(
        "SELECT sum(k), k % 2 AS odd FROM t GROUP BY k % 2 ORDER BY odd",
        "18|0 24|1",
    )
    .await;
    check(
        "SELECT sum(k) OVER (ORDER BY k ROWS 1 PRECEDING) FROM t ORDER BY k LIMIT 3",
        "3 7 9",
    )
    .await;
    check(
        "SELECT sum(DISTINCT k % 3), -k AS m FROM t GROUP BY k ORDER BY k LIMIT 1",
        "0|-3",
    )
    .await;
}

#[tokio::test]
async fn decimals_are_exact_and_division_is_postgres() {
    check(
        "SELECT 0.1 + 0.2 = 0.3, 5 / 2, 1.5::double precision * 2",
        "true|2|3.0",
    )
    .await;
    check("SELECT sum(k * 1.5) FROM t", "63.0").await;
}

#[tokio::test]
async fn times_are_utc_and_reach_beyond_nanoseconds() {
    check(
        "SELECT timestamptz '2024-01-01 02:00:00+02'",
        "2024-01-01T00:00:00Z",
    )
    .await;
    check(
        "SELECT timestamp '2024-01-01 12:00:00' = timestamptz '2024-01-01 12:00:00Z'",
        "true",
    )
    .await;
    check(
        "SELECT count(*) FROM t WHERE ts > timestamp '2024-01-01'",
        "1",
    )
    .await;
    check("SELECT count(*) FROM t WHERE ts < now()", "6").await;
    check("SELECT count(*) FROM t WHERE ts > '9999-01-01'", "1").await;
}

#[tokio::test]
async fn nulls_sort_last_ascending_and_first_descending() {
    check("SELECT n FROM t ORDER BY x, k DESC OFFSET 6", "null").await;
    check("SELECT n FROM t ORDER BY x DESC LIMIT 1", "null").await;
}

#[tokio::test]
async fn distances_are_planned_from_operators_and_functions() {
    check("SELECT v <-> '[3,4]' FROM t WHERE n = 'nz'", "5.0").await;
    check(
        "SELECT v <-> '[3,4]'::vector, v<->ARRAY[3.0, 4.0], v <-> [3, 4] FROM t WHERE n = 'nz'",
        "5.0|5.0|5.0",
    )
    .await;
    check(
        "SELECT vector_l2_distance(v, '[3,4]'), l2_distance('[3,4]', v) FROM t WHERE n = 'nz'",
        "5.0|5.0",
    )
    .await;
    check(
        "SELECT v <#> '[2,0]', v <+> '[3,1]', inner_product(v, '[2,0]') FROM t WHERE n = 'one'",
        "-4.0|2.0|4.0",
    )
    .await;
    check(
        "SELECT v <=> '[0,1]', v <~> '[0,1]', v <%> '[0,1]' FROM t WHERE n = 'one'",
        "1.0|2.0|1.0",
    )
    .await;
    check(
        "SELECT n FROM t ORDER BY v <-> '[4.2,0]' LIMIT 3",
        "nnan pnan inf",
    )
    .await;
    check("SELECT n FROM t ORDER BY v <-> '[4.2,0]' OFFSET 6", "null").await;
    check(
        "SELECT n FROM t WHERE v <-> '[4,0]' < 1 + 0.5 ORDER BY k",
        "nnan pnan",
    )
    .await;
    check("SELECT v <-> '[1,2,3]' FROM t WHERE n = 'one'", "null").await;
    check(
        "SELECT vector_dims(v), vector_norm(v) FROM t WHERE n = 'one'",
        "2|2.0",
    )
    .await;
    check("SELECT avg(v <-> '[0,0]') FROM t WHERE k > 6", "1.0").await;
    for text in [
        "SELECT v <-> '[NaN]' FROM t",
        "SELECT v <-> '[1' FROM t",
        "SELECT v <-> ARRAY['NaN'::real, 1] FROM t",
        "SELECT '[1,2]'::vector(3)",
        "SELECT v <-> 5 FROM t",
    ] {
        assert_eq!(kind_of(text).await, ErrorKind::InvalidInput, "{text}");
    }
}

#[tokio::test]
async fn unknown_columns_are_answered_with_the_nearest_name() {
    for (text, hint) in [
        ("SELECT mixed FROM t", "did you mean \"Mixed\"?"),
        ("SELECT Mixed FROM t", "did you mean \"Mixed\"?"),
        ("SELECT t.kk FROM t", "did you mean k?"),
        ("SELECT tss FROM t WHERE k = 1", "did you mean ts?"),
    ] {
        let error = run(text).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(error.message().contains(hint), "{text}: {error}");
    }
    let error = run("SELECT wholly_different FROM t").await.unwrap_err();
    assert!(!error.message().contains("did you mean"), "{error}");
}

#[tokio::test]
async fn subqueries_with_null_follow_three_valued_logic() {
    check(
        "SELECT count(*) FROM t WHERE x NOT IN (SELECT x FROM t WHERE n IN ('null', 'pz'))",
        "0",
    )
    .await;
    check(
        "SELECT count(*) FROM t WHERE x NOT IN (SELECT x FROM t WHERE n = 'pz')",
        "4",
    )
    .await;
    check(
        "SELECT count(*) FROM t WHERE x NOT IN (SELECT x FROM t WHERE false)",
        "7",
    )
    .await;
}
