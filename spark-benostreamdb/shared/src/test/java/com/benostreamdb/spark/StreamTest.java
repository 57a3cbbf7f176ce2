package com.benostreamdb.spark;

import static com.benostreamdb.spark.SparkFixture.newTable;
import static com.benostreamdb.spark.SparkFixture.rows;
import static com.benostreamdb.spark.SparkFixture.spark;
import static com.benostreamdb.spark.SparkFixture.sql;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.stream.LongStream;
import org.apache.spark.api.java.function.VoidFunction2;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.streaming.DataStreamReader;
import org.apache.spark.sql.streaming.StreamingQuery;
import org.apache.spark.sql.streaming.Trigger;
import org.junit.jupiter.api.Test;

/** Streams over what is appended: every row once, whatever stops and restarts them. */
class StreamTest {
  private final Path checkpoint = SparkFixture.temporaryFolder("checkpoint");

  /** What the batches of a stream gave, in the order they came. */
  private final List<List<Long>> batches = Collections.synchronizedList(new ArrayList<>());

  /** The batch that fails after its rows were read; -1 for none. */
  private long failing = -1;

  private static String numbers() {
    String table = newTable();
    sql("CREATE TABLE bs.%s (id BIGINT)", table);
    return table;
  }

  /** One commit of so many files of two rows each, with ids from {@code first} on. */
  private static void append(String table, long first, int files) throws Exception {
    spark().range(first, first + 2L * files, 1, files).toDF("id").writeTo("bs." + table).append();
  }

  private DataStreamReader reader(String... options) {
    DataStreamReader reader = spark().readStream().format("benostream");
    for (int i = 0; i < options.length; i += 2) {
      reader = reader.option(options[i], options[i + 1]);
    }
    return reader;
  }

  private StreamingQuery start(Dataset<Row> data, Trigger trigger) throws Exception {
    VoidFunction2<Dataset<Row>, Long> sink =
        (batch, id) -> {
          List<Long> ids = batch.collectAsList().stream().map(row -> row.getLong(0)).toList();
          if (id == failing) {
            throw new IllegalStateException("the sink of batch " + id + " fails");
          }
          batches.add(ids);
        };
    return data.writeStream()
        .trigger(trigger)
        .option("checkpointLocation", checkpoint.toString())
        .foreachBatch(sink)
        .start();
  }

  /** Runs the stream to the end of what there is. */
  private void run(String table, String... options) throws Exception {
    start(reader(options).load("bs." + table), Trigger.AvailableNow()).awaitTermination();
  }

  private List<Long> ids() {
    return batches.stream().flatMap(List::stream).sorted().toList();
  }

  private static List<Long> range(long end) {
    return LongStream.range(0, end).boxed().toList();
  }

  @Test
  void appended_rows_come_once_through_restarts() throws Exception {
    String table = numbers();
    run(table);
    assertThat(batches).isEmpty();
    append(table, 0, 1);
    append(table, 2, 2);
    run(table);
    assertThat(ids()).isEqualTo(range(6));
    append(table, 6, 1);
    run(table);
    run(table);
    assertThat(ids()).isEqualTo(range(8));
    assertThat(batches).hasSize(2);
  }

  @Test
  void limits_cut_commits_between_files_and_restarts_go_on_there() throws Exception {
    for (String[] limit :
        new String[][] {
          {"streaming-max-files-per-micro-batch", "2"},
          {"streaming-max-rows-per-micro-batch", "5"},
          {"streaming-max-rows-per-micro-batch", "1"}
        }) {
      StreamTest stream = new StreamTest();
      String table = numbers();
      append(table, 0, 5);
      append(table, 10, 1);
      append(table, 12, 4);
      stream.failing = 2;
      assertThatThrownBy(() -> stream.run(table, limit)).hasMessageContaining("batch 2 fails");
      append(table, 20, 3);
      stream.failing = -1;
      stream.run(table, limit);
      assertThat(stream.ids()).as(String.join("=", limit)).isEqualTo(range(26));
      int most = limit[1].equals("1") ? 2 : 4;
      assertThat(stream.batches).allMatch(batch -> batch.size() <= most && !batch.isEmpty());
      assertThat(stream.batches).hasSize(limit[1].equals("1") ? 13 : 7);
      // Without the limit the rest comes at once.
      append(table, 26, 3);
      stream.run(table);
      assertThat(stream.ids()).isEqualTo(range(32));
    }
  }

  @Test
  void batch_that_failed_is_read_again_as_it_was() throws Exception {
    String table = numbers();
    append(table, 0, 2);
    failing = 0;
    assertThatThrownBy(() -> run(table)).hasMessageContaining("batch 0 fails");
    append(table, 4, 1);
    // A delete has come meanwhile; what was appended before it is still what was appended.
    sql("DELETE FROM bs.%s WHERE id = 0", table);
    failing = -1;
    assertThatThrownBy(() -> run(table)).hasStackTraceContaining("deleted rows");
    run(table, "streaming-skip-delete-snapshots", "true");
    assertThat(batches.get(0)).containsExactlyInAnyOrder(0L, 1L, 2L, 3L);
    assertThat(ids()).isEqualTo(range(6));
  }

  @Test
  void commits_that_delete_or_change_are_refused_or_passed_over() throws Exception {
    String table = numbers();
    append(table, 0, 1);
    sql("INSERT OVERWRITE bs.%s SELECT 100L", table);
    append(table, 2, 1);
    assertThatThrownBy(() -> run(table))
        .hasStackTraceContaining("changed rows")
        .hasStackTraceContaining("streaming-skip-overwrite-snapshots=true");
    // What came before the refused commit was given.
    assertThat(ids()).isEqualTo(range(2));
    run(table, "streaming-skip-overwrite-snapshots", "true");
    assertThat(ids()).isEqualTo(range(4));
    sql("TRUNCATE TABLE bs.%s", table);
    assertThatThrownBy(() -> run(table)).hasStackTraceContaining("streaming-skip-");
  }

  @Test
  void compaction_gives_no_row_again() throws Exception {
    String table = numbers();
    append(table, 0, 3);
    run(table);
    sql(
        "CALL ice.system.rewrite_data_files(table => '%s', options => map('rewrite-all', 'true'))",
        table);
    assertThat(rows("SELECT operation FROM bs.%s.snapshots", table)).contains("[replace]");
    append(table, 6, 1);
    run(table);
    assertThat(ids()).isEqualTo(range(8));
  }

  private static List<Long> times(String table) {
    return sql("SELECT unix_millis(committed_at) FROM bs.%s.snapshots ORDER BY 1", table)
        .collectAsList()
        .stream()
        .map(row -> row.getLong(0))
        .toList();
  }

  @Test
  void stream_begins_at_a_time_or_says_that_older_commits_have_expired() throws Exception {
    String table = numbers();
    append(table, 0, 1);
    Thread.sleep(5);
    append(table, 2, 1);
    Thread.sleep(5);
    append(table, 4, 1);
    String second = times(table).get(1).toString();
    run(table, "stream-from-timestamp", second);
    assertThat(ids()).containsExactly(2L, 3L, 4L, 5L);

    sql(
        "CALL ice.system.expire_snapshots(table => '%s', retain_last => 2,"
            + " older_than => now())",
        table);
    assertThat(times(table)).hasSize(2);
    StreamTest later = new StreamTest();
    assertThatThrownBy(() -> later.run(table))
        .hasStackTraceContaining("have expired")
        .hasStackTraceContaining("stream-from-timestamp=" + second);
    later.run(table, "stream-from-timestamp", second);
    assertThat(later.ids()).containsExactly(2L, 3L, 4L, 5L);
    StreamTest future = new StreamTest();
    future.run(table, "stream-from-timestamp", "4102444800000");
    assertThat(future.batches).isEmpty();
  }

  @Test
  void table_that_was_rolled_back_ends_the_stream() throws Exception {
    String table = numbers();
    append(table, 0, 1);
    Object first = sql("SELECT snapshot_id FROM bs.%s.snapshots", table).first().get(0);
    append(table, 2, 1);
    run(table);
    sql("CALL ice.system.rollback_to_snapshot('%s', %s)", table, first);
    append(table, 4, 1);
    assertThatThrownBy(() -> run(table)).hasStackTraceContaining("no ancestor");
    assertThat(ids()).isEqualTo(range(4));
  }

  @Test
  void running_stream_sees_what_others_commit() throws Exception {
    String table = numbers();
    append(table, 0, 1);
    StreamingQuery query =
        start(spark().readStream().table("bs." + table), Trigger.ProcessingTime(50));
    try {
      query.processAllAvailable();
      sql("INSERT INTO ice.%s VALUES (2), (3)", table);
      query.processAllAvailable();
      assertThat(ids()).isEqualTo(range(4));
    } finally {
      query.stop();
    }
  }

  @Test
  void streams_of_one_state_and_bad_options_are_refused() {
    String table = numbers();
    sql("INSERT INTO bs.%s VALUES (1)", table);
    Object id = sql("SELECT snapshot_id FROM bs.%s.snapshots", table).first().get(0);
    assertThatThrownBy(() -> run(table, "snapshot-id", id.toString()))
        .hasStackTraceContaining("snapshot-id");
    assertThatThrownBy(() -> run(table + ".snapshots")).hasStackTraceContaining("snapshots");
    assertThatThrownBy(() -> run(table, "start-snapshot-id", id.toString()))
        .hasStackTraceContaining("stream-from-timestamp");
    assertThatThrownBy(() -> run(table, "streaming-max-files-per-micro-batch", "0"))
        .hasStackTraceContaining("at least 1");
    assertThatThrownBy(() -> run(table, "streaming-skip-delete-snapshots", "maybe"))
        .hasStackTraceContaining("true or false");
    assertThatThrownBy(() -> reader().schema("id INT").load("bs." + table))
        .hasMessageContaining("schema");
  }

  @Test
  void metadata_columns_of_a_stream_are_refused() throws Exception {
    String table = numbers();
    append(table, 0, 1);
    Dataset<Row> data = reader().load("bs." + table).selectExpr("_pos");
    assertThatThrownBy(() -> start(data, Trigger.AvailableNow()).awaitTermination())
        .hasStackTraceContaining("the column _pos in a stream");
    assertThat(batches).isEmpty();
  }

  @Test
  void column_that_was_retyped_ends_the_stream() throws Exception {
    String table = newTable();
    sql("CREATE TABLE bs.%s (id INT)", table);
    Dataset<Row> data = reader().load("bs." + table).selectExpr("CAST(id AS BIGINT)");
    sql("INSERT INTO bs.%s VALUES (0)", table);
    StreamingQuery query = start(data, Trigger.ProcessingTime(50));
    try {
      query.processAllAvailable();
      sql("ALTER TABLE ice.%s ALTER COLUMN id TYPE BIGINT", table);
      sql("INSERT INTO ice.%s VALUES (5000000000)", table);
      assertThatThrownBy(query::processAllAvailable).hasStackTraceContaining("retyped");
    } finally {
      query.stop();
    }
    start(reader().load("bs." + table), Trigger.AvailableNow()).awaitTermination();
    assertThat(ids()).containsExactly(0L, 5_000_000_000L);
  }
}
