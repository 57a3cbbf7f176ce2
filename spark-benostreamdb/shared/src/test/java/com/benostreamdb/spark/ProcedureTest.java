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
        .contains(",4,5,");
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
