package com.benostreamdb.spark;

import static com.benostreamdb.spark.SparkFixture.dataFiles;
import static com.benostreamdb.spark.SparkFixture.newTable;
import static com.benostreamdb.spark.SparkFixture.rows;
import static com.benostreamdb.spark.SparkFixture.spark;
import static com.benostreamdb.spark.SparkFixture.sql;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.benostreamdb.Table;
import com.benostreamdb.TableName;
import java.io.Serializable;
import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.api.java.function.Function;
import org.apache.spark.sql.api.java.UDF1;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.DeltaWriter;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.status.api.v1.ExecutorSummary;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;
import scala.jdk.javaapi.CollectionConverters;

class TaskFailureTest {
  /** A statement that writes 20,000 rows and fails after most of them. */
  private static final String FAILS =
      "SELECT if(id = 19999, cast(raise_error('late failure') AS bigint), id) AS id"
          + " FROM range(0, 20000, 1, 2)";

  private static final AtomicLong SLOW_CALLS = new AtomicLong();

  private static String table() {
    String table = newTable();
    sql("CREATE TABLE bs.%s AS SELECT 1L AS id", table);
    return table;
  }

  @Test
  void l4_failed_task_leaves_nothing_visible_and_no_files() throws Exception {
    String table = table();
    List<Path> before = dataFiles(table);
    assertThatThrownBy(() -> sql("INSERT INTO bs.%s %s", table, FAILS))
        .hasStackTraceContaining("late failure");
    assertThatThrownBy(() -> sql("INSERT OVERWRITE bs.%s %s", table, FAILS))
        .hasStackTraceContaining("late failure");
    assertThatThrownBy(
            () ->
                sql(
                    "MERGE INTO bs.%s t USING (%s) s ON t.id = s.id"
                        + " WHEN NOT MATCHED THEN INSERT *",
                    table, FAILS))
        .hasStackTraceContaining("late failure");
    assertThat(rows("SELECT * FROM bs.%s", table)).containsExactly("[1]");
    assertThat(rows("SELECT * FROM ice.%s", table)).containsExactly("[1]");
    assertFilesBecome(before, table);
  }

  @Test
  void l4_failed_task_of_a_row_change_leaves_nothing_visible_and_no_files() throws Exception {
    String table = newTable();
    sql("CREATE TABLE bs.%s AS SELECT id, id AS v FROM range(0, 20000, 1, 2)", table);
    List<Path> before = dataFiles(table);
    List<String> rows = rows("SELECT count(*), sum(id), sum(v) FROM ice.%s", table);
    spark()
        .udf()
        .register(
            "fails_last",
            functions.udf(
                (UDF1<Long, Long>)
                    id -> {
                      // Once another task has ended well, or can be expected to have.
                      for (int i = 0; id == 19_999 && TaskHooks.succeeded() == 0 && i < 100; i++) {
                        Thread.sleep(10);
                      }
                      if (id == 19_999) {
                        throw new IllegalStateException("late failure");
                      }
                      return id;
                    },
                DataTypes.LongType));
    for (String statement :
        new String[] {
          "DELETE FROM bs." + table + " WHERE fails_last(id) >= 0",
          "UPDATE bs." + table + " SET v = fails_last(id) + 1",
          "MERGE INTO bs."
              + table
              + " t USING (SELECT id FROM range(10, 30000)) s ON t.id = s.id"
              + " WHEN MATCHED AND t.id < 100 THEN DELETE"
              + " WHEN MATCHED THEN UPDATE SET v = fails_last(t.id) + 1"
              + " WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, 0)"
        }) {
      try (AutoCloseable hook = TaskHooks.atStart(task -> {})) {
        assertThatThrownBy(() -> sql("%s", statement))
            .as(statement)
            .hasStackTraceContaining("late failure");
      }
      assertFilesBecome(before, table);
      String totals = "SELECT count(*), sum(id), sum(v) FROM %s." + table;
      assertThat(rows(totals, "bs")).as(statement).isEqualTo(rows);
      assertThat(rows(totals, "ice")).as(statement).isEqualTo(rows);
    }
  }

  /** A job fails with its first task; the others are killed and clean up a little later. */
  private static void assertFilesBecome(List<Path> wanted, String table) throws Exception {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
    while (!dataFiles(table).equals(wanted) && System.nanoTime() < deadline) {
      Thread.sleep(20);
    }
    assertThat(dataFiles(table)).isEqualTo(wanted);
  }

  /** Writes one row from a task whose first attempt ends badly after its commit. */
  private static List<Path> filesAfter(boolean delta, Consumer<TaskContext> end) throws Exception {
    String name = newTable();
    sql("CREATE TABLE bs.%s AS SELECT 0L AS id", name);
    String file = (String) sql("SELECT _file FROM bs.%s", name).first().get(0);
    InternalRow place = new GenericInternalRow(new Object[] {UTF8String.fromString(file), 0L});
    Map<String, String> options = Map.of("warehouse", SparkFixture.WAREHOUSE.toString());
    try (Table target =
        Sessions.get(options).openTable(TableName.of(List.of("ns"), name.substring(3)))) {
      WriteTask task =
          WriteTask.of(
              target,
              "job",
              new StructType().add("id", DataTypes.LongType),
              target.describe().columns(),
              options);
      Function<Integer, Integer> write =
          id -> {
            InternalRow row = new GenericInternalRow(new Object[] {1L});
            if (delta) {
              try (DeltaWriter<InternalRow> writer =
                  DeltaDataWriter.factory(task).createWriter(0, 0)) {
                writer.delete(null, place);
                writer.insert(row);
                writer.commit();
              }
            } else {
              try (DataWriter<InternalRow> writer =
                  BenoStreamDataWriter.factory(task).createWriter(0, 0)) {
                writer.write(row);
                writer.commit();
              }
            }
            if (TaskContext.get().attemptNumber() == 0) {
              end.accept(TaskContext.get());
            }
            return id;
          };
      JavaSparkContext.fromSparkContext(spark().sparkContext())
          .parallelize(List.of(1), 1)
          .map(write)
          .collect();
    }
    return dataFiles(name);
  }

  private interface TaskEnd extends Consumer<TaskContext>, Serializable {}

  @Test
  void task_that_ends_badly_after_its_commit_deletes_its_files() throws Exception {
    TaskEnd killed = task -> task.markInterrupted("killed");
    TaskEnd fails =
        task -> {
          throw new IllegalStateException("the task fails");
        };
    // The table's own file, and what the second attempt wrote.
    assertThat(filesAfter(false, killed)).hasSize(2);
    assertThat(filesAfter(false, fails)).hasSize(2);
    assertThat(filesAfter(true, killed)).hasSize(3);
    assertThat(filesAfter(true, fails)).hasSize(3);
  }

  @Test
  void vector_of_another_dimension_than_declared_is_refused_whole() {
    String table = newTable();
    sql(
        "CREATE TABLE bs.%s (e array<float>)"
            + " TBLPROPERTIES ('benostream.vector.e.dimension' = '2')",
        table);
    sql("INSERT INTO bs.%s VALUES (array(1f, 2f)), (null)", table);
    assertThatThrownBy(
            () -> sql("INSERT INTO bs.%s VALUES (array(1f, 2f)), (array(1f, 2f, 3f))", table))
        .hasStackTraceContaining("dimension");
    assertThat(rows("SELECT count(*) FROM bs.%s", table)).containsExactly("[2]");
    assertThatThrownBy(() -> rows("SELECT * FROM vector_search('bs.%s', 'e', array(1), 1)", table))
        .hasMessageContaining("dimension");
  }

  @Test
  void task_that_is_tried_again_writes_its_rows_once() throws Exception {
    String table = table();
    spark()
        .udf()
        .register(
            "fails_first",
            functions
                .udf(
                    (UDF1<Long, Long>)
                        id -> {
                          if (id == 19_999 && TaskContext.get().attemptNumber() == 0) {
                            throw new IllegalStateException("first attempt");
                          }
                          return id;
                        },
                    DataTypes.LongType)
                .asNondeterministic());
    sql("INSERT INTO bs.%s SELECT fails_first(id) FROM range(10000, 20000, 1, 2)", table);
    assertThat(rows("SELECT count(*), count(DISTINCT id) FROM bs.%s", table))
        .containsExactly("[10001,10001]");
    assertThat(rows("SELECT count(*) FROM ice.%s", table)).containsExactly("[10001]");
    // One file of the table's first row and one of each task: the failed attempt left none.
    assertThat(dataFiles(table)).hasSize(3);
  }

  @Test
  void cancelled_build_scan_and_write_stop_within_a_second() throws Exception {
    String table = newTable();
    sql(
        "CREATE TABLE bs.%s AS SELECT id, array_repeat(cast(id AS float), 64) AS e"
            + " FROM range(0, 200000, 1, 2)",
        table);
    spark()
        .udf()
        .register(
            "slow",
            functions.udf(
                (UDF1<Long, Long>)
                    id -> {
                      SLOW_CALLS.incrementAndGet();
                      // Spark looks for a kill between batches: they must not take long.
                      if (id % 64 == 0) {
                        Thread.sleep(1);
                      }
                      return id;
                    },
                DataTypes.LongType));
    List<String> rows = rows("SELECT count(*), sum(id) FROM ice.%s", table);
    String scans =
        String.join(" UNION ALL ", Collections.nCopies(8, "SELECT id, e FROM bs." + table));
    for (String statement :
        new String[] {
          "CALL bs.system.create_index('" + table + "', array('e'), 'hnsw')",
          "SELECT sum(slow(id)) FROM (" + scans + ")",
          "INSERT INTO bs." + table + " SELECT slow(id), e FROM (" + scans + ")",
          "DELETE FROM bs." + table + " WHERE slow(id) >= 0",
          "MERGE INTO bs."
              + table
              + " t USING (SELECT id FROM range(200000)) s ON t.id = s.id"
              + " WHEN MATCHED THEN UPDATE SET id = slow(t.id) + 1"
        }) {
      assertThat(millisecondsToStop(statement)).as(statement).isLessThan(1000);
      assertThat(rows("SELECT count(*), sum(id) FROM ice.%s", table)).as(statement).isEqualTo(rows);
      assertThat(rows("SELECT count(*), sum(id) FROM bs.%s", table)).as(statement).isEqualTo(rows);
    }
    assertThat(rows("CALL bs.system.show_indexes('%s')", table)).isEmpty();
  }

  private static long millisecondsToStop(String statement) throws Exception {
    AtomicReference<Exception> failure = new AtomicReference<>();
    Thread runner =
        new Thread(
            () -> {
              spark().sparkContext().setJobGroup("cancelled", "to be cancelled", false);
              try {
                rows("%s", statement);
              } catch (Exception e) {
                failure.set(e);
              }
            });
    SLOW_CALLS.set(0);
    runner.start();
    if (statement.contains("slow")) {
      while (SLOW_CALLS.get() < 5_000 && runner.isAlive()) {
        Thread.sleep(1);
      }
    } else {
      while (activeTasks() == 0 && runner.isAlive()) {
        Thread.sleep(10);
      }
      Thread.sleep(500);
    }
    long start = System.nanoTime();
    spark().sparkContext().cancelJobGroup("cancelled");
    runner.join(20_000);
    while (activeTasks() > 0) {
      Thread.sleep(10);
    }
    long stopped = (System.nanoTime() - start) / 1_000_000;
    assertThat(failure.get()).as(statement).hasStackTraceContaining("cancelled job group");
    return stopped;
  }

  /** A stage that was cancelled is over at once, its tasks are not. */
  private static int activeTasks() {
    return CollectionConverters.asJava(spark().sparkContext().statusStore().executorList(true))
        .stream()
        .mapToInt(ExecutorSummary::activeTasks)
        .sum();
  }
}
