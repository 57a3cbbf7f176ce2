package com.benostreamdb.spark;

import static com.benostreamdb.spark.SparkFixture.newTable;
import static com.benostreamdb.spark.SparkFixture.sortedRows;
import static com.benostreamdb.spark.SparkFixture.spark;
import static com.benostreamdb.spark.SparkFixture.sql;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.Row;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * Generated code closes vectors after every batch, interpreted code and limits close only the
 * reader. Vectors that freed their memory in one of these ways crashed the virtual machine.
 */
class CrashTrapTest {
  /**
   * A query of {@code %1$s}, and the query of all rows that it may choose from where it does not
   * say which it takes.
   */
  private record Query(String text, String choices) {}

  private static final List<Query> QUERIES =
      List.of(
          all("SELECT id + 1, upper(s), e[0] FROM %1$s"),
          all("SELECT max(s), min(s), sum(e[0]), count(id) FROM %1$s"),
          new Query("SELECT id, s, e FROM %1$s LIMIT 1", "SELECT id, s, e FROM %1$s"),
          new Query(
              "SELECT s FROM (SELECT s FROM %1$s LIMIT 20000) WHERE length(s) > 3 LIMIT 5",
              "SELECT s FROM %1$s"),
          all("SELECT s, count(*) FROM %1$s GROUP BY s ORDER BY s LIMIT 7"),
          all("SELECT s FROM %1$s WHERE id RLIKE '7' ORDER BY s DESC LIMIT 3"),
          all("SELECT a.s FROM %1$s a JOIN %1$s b ON a.id = b.id WHERE b.id < 100"),
          new Query("SELECT explode(e) FROM %1$s LIMIT 11", "SELECT explode(e) FROM %1$s"),
          new Query(
              "SELECT s, sum(id) OVER (PARTITION BY s) FROM %1$s LIMIT 3",
              "SELECT s, sum(id) OVER (PARTITION BY s) FROM %1$s"));

  private static final String ROWS =
      "SELECT id, concat('text ', id % 100) AS s, array(cast(id AS float), 2f) AS e"
          + " FROM range(0, 60000, 1, 2)";

  private static String table;

  @BeforeAll
  static void create() {
    table = newTable();
    sql("CREATE TABLE bs.%s AS %s", table, ROWS);
    spark().sql(ROWS).createOrReplaceTempView("crash_trap_rows");
  }

  private static Query all(String text) {
    return new Query(text, "");
  }

  @Test
  void every_way_to_end_a_scan_frees_its_memory_once() {
    List<List<String>> expected = new ArrayList<>();
    for (Query query : QUERIES) {
      String text = query.choices().isEmpty() ? query.text() : query.choices();
      expected.add(sortedRows(text, "crash_trap_rows"));
    }
    try {
      for (String codegen : new String[] {"true", "false"}) {
        spark().conf().set("spark.sql.codegen.wholeStage", codegen);
        for (int q = 0; q < QUERIES.size(); q++) {
          for (int i = 0; i < 3; i++) {
            assertAnswer(QUERIES.get(q), expected.get(q));
          }
        }
      }
    } finally {
      spark().conf().set("spark.sql.codegen.wholeStage", "true");
    }
  }

  private static void assertAnswer(Query query, List<String> expected) {
    List<String> found = sortedRows(query.text(), "bs." + table);
    if (query.choices().isEmpty()) {
      assertThat(found).as(query.text()).isEqualTo(expected);
      return;
    }
    String limit = query.text().substring(query.text().lastIndexOf(' ') + 1);
    assertThat(found).as(query.text()).hasSize(Integer.parseInt(limit));
    List<String> left = new ArrayList<>(expected);
    for (String row : found) {
      assertThat(left.remove(row)).as("%s gives %s", query.text(), row).isTrue();
    }
  }

  @Test
  void iterator_that_is_left_early_frees_its_memory() {
    Set<Long> ids = new HashSet<>();
    Iterator<Row> iterator = sql("SELECT id, s, e FROM bs.%s", table).toLocalIterator();
    for (int i = 0; i < 10; i++) {
      Row row = iterator.next();
      long id = row.getLong(0);
      assertThat(row.getString(1)).isEqualTo("text " + id % 100);
      assertThat(row.getList(2)).isEqualTo(List.of((float) id, 2f));
      assertThat(ids.add(id)).as("row %d comes once", id).isTrue();
    }
  }
}
