package com.benostreamdb.spark;

import static com.benostreamdb.spark.SparkFixture.newTable;
import static com.benostreamdb.spark.SparkFixture.rows;
import static com.benostreamdb.spark.SparkFixture.spark;
import static com.benostreamdb.spark.SparkFixture.sql;
import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * Generated code closes vectors after every batch, interpreted code and limits close only the
 * reader. Vectors that freed their memory in one of these ways crashed the virtual machine.
 */
class CrashTrapTest {
  private static final String[] QUERIES = {
    "SELECT id + 1, upper(s), e[0] FROM bs.%s",
    "SELECT max(s), min(s), sum(e[0]), count(id) FROM bs.%s",
    "SELECT id, s, e FROM bs.%s LIMIT 1",
    "SELECT s FROM (SELECT s FROM bs.%1$s LIMIT 20000) WHERE length(s) > 3 LIMIT 5",
    "SELECT s, count(*) FROM bs.%s GROUP BY s ORDER BY s LIMIT 7",
    "SELECT s FROM bs.%s WHERE id RLIKE '7' ORDER BY s DESC LIMIT 3",
    "SELECT a.s FROM bs.%1$s a JOIN bs.%1$s b ON a.id = b.id WHERE b.id < 100",
    "SELECT explode(e) FROM bs.%s LIMIT 11",
    "SELECT sum(id) OVER (PARTITION BY s) FROM bs.%s LIMIT 3"
  };

  private static String table;

  @BeforeAll
  static void create() {
    table = newTable();
    sql(
        "CREATE TABLE bs.%s AS SELECT id, concat('text ', id %% 100) AS s,"
            + " array(cast(id AS float), 2f) AS e FROM range(0, 60000, 1, 2)",
        table);
  }

  @Test
  void every_way_to_end_a_scan_frees_its_memory_once() {
    try {
      for (String codegen : new String[] {"true", "false"}) {
        spark().conf().set("spark.sql.codegen.wholeStage", codegen);
        for (String query : QUERIES) {
          for (int i = 0; i < 3; i++) {
            assertThat(rows(query, table)).as(query).isNotEmpty();
          }
        }
      }
    } finally {
      spark().conf().set("spark.sql.codegen.wholeStage", "true");
    }
  }

  @Test
  void iterator_that_is_left_early_frees_its_memory() {
    java.util.Iterator<org.apache.spark.sql.Row> iterator =
        sql("SELECT id, s, e FROM bs.%s", table).toLocalIterator();
    for (int i = 0; i < 10; i++) {
      assertThat(iterator.next().getString(1)).startsWith("text");
    }
  }
}
