package com.benostreamdb.spark;

import static com.benostreamdb.spark.SparkFixture.newTable;
import static com.benostreamdb.spark.SparkFixture.plan;
import static com.benostreamdb.spark.SparkFixture.rows;
import static com.benostreamdb.spark.SparkFixture.sortedRows;
import static com.benostreamdb.spark.SparkFixture.sql;
import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

class PushDownTest {
  private static String table;

  @BeforeAll
  static void create() {
    table = newTable();
    sql(
        "CREATE TABLE bs.%s AS SELECT cast(id AS int) AS id, concat('t', id) AS title, id %% 2 = 0"
            + " AS even, cast(id AS double) / 4 AS d, array(cast(id AS float), 0.5f) AS e,"
            + " named_struct('x', id) AS st FROM range(0, 20, 1, 2)",
        table);
    sql("INSERT INTO bs.%s VALUES (null, null, null, null, null, null)", table);
  }

  private static String where(String condition) {
    return "SELECT * FROM bs." + table + " WHERE " + condition;
  }

  /** The filter is decided by the scan: no Filter node is left, and the rows are right. */
  private static void assertPushed(String condition) {
    assertThat(plan("%s", where(condition))).contains("filters=[").doesNotContain("Filter (");
    assertSameRows(condition);
  }

  private static void assertLeftToSpark(String condition) {
    assertThat(plan("%s", where(condition))).contains("Filter ");
    assertSameRows(condition);
  }

  private static void assertSameRows(String condition) {
    String query = "." + table + " WHERE " + condition;
    assertThat(sortedRows("SELECT id, title, even, d FROM bs%s", query))
        .isEqualTo(sortedRows("SELECT id, title, even, d FROM ice%s", query));
  }

  @Test
  void filters_that_the_engine_decides_exactly_leave_nothing_to_spark() {
    assertPushed("id = 3");
    assertPushed("id > 3 AND title <> 't5'");
    assertPushed("id IN (1, 2, 40) OR NOT (title = 't9')");
    assertPushed("id IN (1, null)");
    assertSameRows("id NOT IN (1, null)");
    assertPushed("NOT (id <=> null)");
    assertPushed("title <=> 't4'");
    assertPushed("title LIKE 't1%'");
    assertPushed("title LIKE '%1' AND contains(title, '1')");
    assertPushed("even");
    assertPushed("NOT even");
    assertPushed("d >= 1.25d");
    assertPushed("e IS NULL");
    assertPushed("e IS NOT NULL AND st IS NOT NULL");
  }

  @Test
  void filters_that_spark_alone_understands_stay_with_it() {
    assertLeftToSpark("title RLIKE 't1.'");
    assertLeftToSpark("size(e) > 1 AND id > 3");
    assertLeftToSpark("st.x = 4");
    assertLeftToSpark("id + 1 > 15");
    assertLeftToSpark("lower(title) = 't1' OR id = 2");
  }

  @Test
  void limit_is_pushed_only_without_a_filter_above_it() {
    assertThat(plan("SELECT id FROM bs.%s LIMIT 3", table)).contains("limit=3");
    assertThat(plan("SELECT id FROM bs.%s WHERE id > 4 LIMIT 3", table)).contains("limit=3");
    assertThat(plan("SELECT id FROM bs.%s WHERE title RLIKE 't' LIMIT 3", table))
        .doesNotContain("limit=");
    assertThat(rows("SELECT id FROM bs.%s WHERE id > 4 LIMIT 3", table)).hasSize(3);
    assertThat(rows("SELECT id FROM bs.%s LIMIT 0", table)).isEmpty();
  }

  @Test
  void scan_of_several_files_has_several_partitions() {
    assertThat(sql("SELECT * FROM bs.%s", table).javaRDD().getNumPartitions()).isGreaterThan(1);
  }

  @Test
  void equal_scans_of_a_statement_run_once() {
    String query =
        "SELECT a.id FROM (SELECT id, max(d) m FROM bs.%s GROUP BY id) a"
            + " JOIN (SELECT id, max(d) m FROM bs.%s GROUP BY id) b ON a.id = b.id";
    assertThat(rows(query, table, table)).hasSize(20);
  }
}
