package com.benostreamdb.spark;

import static com.benostreamdb.spark.SparkFixture.newTable;
import static com.benostreamdb.spark.SparkFixture.rows;
import static com.benostreamdb.spark.SparkFixture.spark;
import static com.benostreamdb.spark.SparkFixture.sql;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.benostreamdb.BenoStreamException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerJobStart;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.apache.spark.sql.AnalysisException;
import org.junit.jupiter.api.Test;

class ProcedureTest {
  private static String fourFiles() {
    String table = newTable();
    sql(
        "CREATE TABLE bs.%s AS SELECT id, concat('text ', id) AS s,"
            + " array(cast(id AS float), 1f) AS e FROM range(0, 400, 1, 4)",
        table);
    return table;
  }

  @Test
  void index_is_created_shown_refreshed_and_dropped() {
    String table = fourFiles();
    assertThat(
            rows(
                "CALL bs.system.create_index(table => '%s', columns => array('id'), kind => 'bitmap',"
                    + " name => 'by_id')",
                table))
        .singleElement()
        .asString()
        .startsWith("[by_id,bitmap,")
        .endsWith(",400,4,4]");
    sql("INSERT INTO bs.%s VALUES (1000, 'late', null)", table);
    assertThat(rows("CALL bs.system.show_indexes('%s')", table))
        .singleElement()
        .asString()
        .startsWith("[by_id,bitmap,")
        .contains(",4,5,2,");
    assertThat(sql("CALL bs.system.show_indexes('%s')", table).columns())
        .startsWith(
            "name",
            "kind",
            "columns",
            "options",
            "covered_files",
            "total_files",
            "segments",
            "size_bytes");
    assertThat(rows("CALL bs.system.refresh_index('%s', 'by_id')", table))
        .singleElement()
        .asString()
        .endsWith(",1,5,5]");
    assertThat(rows("CALL bs.system.refresh_index(table => '%s')", table))
        .singleElement()
        .asString()
        .endsWith(",0,0,5,5]");
    assertThat(rows("SELECT s FROM bs.%s WHERE id = 1000", table)).containsExactly("[late]");
    assertThat(rows("CALL bs.system.drop_index('%s', 'by_id')", table)).containsExactly("[by_id]");
    assertThat(rows("CALL bs.system.show_indexes('%s')", table)).isEmpty();
  }

  @Test
  void build_runs_as_one_job_with_a_task_for_each_piece_and_says_what_it_does() throws Exception {
    String table = fourFiles();
    List<String> descriptions = Collections.synchronizedList(new ArrayList<>());
    List<Integer> tasks = Collections.synchronizedList(new ArrayList<>());
    SparkListener listener =
        new SparkListener() {
          @Override
          public void onJobStart(SparkListenerJobStart start) {
            descriptions.add(start.properties().getProperty("spark.job.description", ""));
          }

          @Override
          public void onTaskEnd(SparkListenerTaskEnd end) {
            tasks.add(end.stageId());
          }
        };
    spark().sparkContext().addSparkListener(listener);
    try {
      sql("CALL bs.system.create_index('%s', array('e'), 'hnsw', options => map('m', '8'))", table);
      spark().sparkContext().listenerBus().waitUntilEmpty(10_000);
    } finally {
      spark().sparkContext().removeSparkListener(listener);
    }
    assertThat(descriptions)
        .filteredOn(text -> text.contains("e_hnsw"))
        .singleElement()
        .asString()
        .contains("create_index", "400 rows", "pieces");
    assertThat(tasks).hasSizeGreaterThanOrEqualTo(2);
    assertThat(rows("CALL bs.system.show_indexes('%s')", table).toString()).contains("m -> 8");
  }

  @Test
  void columns_are_found_under_the_case_rule_of_spark() {
    String table = fourFiles();
    assertThat(rows("CALL bs.system.create_index('%s', array('ID'), 'bitmap')", table).toString())
        .startsWith("[[id_bitmap,");
    spark().conf().set("spark.sql.caseSensitive", "true");
    try {
      assertThatThrownBy(() -> rows("CALL bs.system.create_index('%s', array('S'), 'bm25')", table))
          .hasMessageContaining("no column S");
      sql("CREATE TABLE bs.%s_two (x int, X int)", table);
    } finally {
      spark().conf().unset("spark.sql.caseSensitive");
    }
    assertThatThrownBy(
            () -> rows("CALL bs.system.create_index('%s_two', array('X'), 'bitmap')", table))
        .hasMessageContaining("'X' is ambiguous, it may be one of [x, X]");
  }

  @Test
  void statements_of_spark_create_and_drop_an_index() {
    String table = fourFiles();
    sql("CREATE INDEX near ON bs.%s USING hnsw (E) OPTIONS (m = '8')", table);
    sql("CREATE INDEX IF NOT EXISTS near ON bs.%s USING hnsw (e)", table);
    assertThat(rows("CALL bs.system.show_indexes('%s')", table))
        .singleElement()
        .asString()
        .startsWith("[near,hnsw,")
        .contains("m -> 8");
    assertThatThrownBy(() -> sql("CREATE INDEX near ON bs.%s USING hnsw (e)", table))
        .isInstanceOf(AnalysisException.class)
        .hasMessageContaining("near");
    assertThatThrownBy(() -> sql("CREATE INDEX other ON bs.%s USING btree (id)", table))
        .isInstanceOf(BenoStreamAnalysisException.class)
        .hasMessageContaining("btree");
    assertThatThrownBy(() -> sql("CREATE INDEX other ON bs.%s (id)", table))
        .hasMessageContaining("USING");
    sql("DROP INDEX near ON bs.%s", table);
    sql("DROP INDEX IF EXISTS near ON bs.%s", table);
    assertThatThrownBy(() -> sql("DROP INDEX near ON bs.%s", table))
        .isInstanceOf(AnalysisException.class)
        .hasMessageContaining("near");
    assertThat(rows("CALL bs.system.show_indexes('%s')", table)).isEmpty();
  }

  @Test
  void bad_calls_are_named() {
    String table = fourFiles();
    String[][] cases = {
      {"create_index('%s', array('id'), 'btree')", "btree"},
      {"create_index('%s', array('nothing'), 'bitmap')", "nothing"},
      {"create_index('%s', array('s'), 'hnsw')", "s"},
      {"create_index('%s', array('id'), 'bitmap', options => map('speed', 'x'))", "speed"},
      {"create_index('ns.missing_%s', array('id'), 'bitmap')", "missing"},
      {"drop_index('%s', 'nothing')", "nothing"},
      {"refresh_index('%s', 'nothing')", "nothing"},
      {"show_indexes(null)", "table"},
      {"optimize('%s')", "optimize"},
    };
    for (String[] bad : cases) {
      String call = "CALL bs.system." + String.format(bad[0], table);
      assertThatThrownBy(() -> rows("%s", call))
          .as(call)
          .isInstanceOf(Exception.class)
          .hasMessageContaining(bad[1]);
    }
    sql("CALL bs.system.create_index('%s', array('id'), 'bitmap')", table);
    assertThatThrownBy(() -> sql("CALL bs.system.create_index('%s', array('id'), 'bitmap')", table))
        .isInstanceOf(BenoStreamAnalysisException.class)
        .extracting(e -> ((BenoStreamAnalysisException) e).kind())
        .isEqualTo(BenoStreamException.Kind.ALREADY_EXISTS);
  }
}
