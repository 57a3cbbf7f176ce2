package com.benostreamdb.spark;

import static com.benostreamdb.spark.SparkFixture.WAREHOUSE;
import static com.benostreamdb.spark.SparkFixture.dataFiles;
import static com.benostreamdb.spark.SparkFixture.newTable;
import static com.benostreamdb.spark.SparkFixture.rows;
import static com.benostreamdb.spark.SparkFixture.spark;
import static com.benostreamdb.spark.SparkFixture.sql;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.spark.TaskContext;
import org.junit.jupiter.api.Test;

/** Index builds whose tasks fail, are tried again or are killed. A build has two tasks here. */
class IndexBuildFailureTest {
  private static final Pattern SEGMENT = Pattern.compile("\"name\": *\"([^\"]+\\.bsdb_idx)\"");

  private static String table() {
    String table = newTable();
    sql(
        "CREATE TABLE bs.%s AS SELECT id, concat('word', id %% 7) AS s,"
            + " array(cast(id AS float), 1f) AS e FROM range(0, 4000, 1, 4)",
        table);
    return table;
  }

  private static String create(String table, String column, String kind) {
    return String.format(
        "CALL bs.system.create_index('%s', array('%s'), '%s')", table, column, kind);
  }

  private static Set<String> overlay(String table) {
    Path folder = WAREHOUSE.resolve(table.replace('.', '/')).resolve("_overlay");
    if (!Files.exists(folder)) {
      return new TreeSet<>();
    }
    try (Stream<Path> files = Files.walk(folder)) {
      return files
          .filter(Files::isRegularFile)
          .map(file -> folder.relativize(file).toString())
          .collect(Collectors.toCollection(TreeSet::new));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static Set<String> manifests(String table) {
    return overlay(table).stream()
        .filter(file -> file.matches("manifest(-\\d+)?\\.json"))
        .collect(Collectors.toCollection(TreeSet::new));
  }

  /** The segments that the newest manifest lists. */
  private static Set<String> published(String table) throws IOException {
    String newest =
        manifests(table).stream()
            .filter(file -> file.startsWith("manifest-"))
            .max(Comparator.comparingInt(file -> Integer.parseInt(file.replaceAll("\\D", ""))))
            .orElseThrow();
    Path folder = WAREHOUSE.resolve(table.replace('.', '/')).resolve("_overlay");
    Matcher names = SEGMENT.matcher(Files.readString(folder.resolve(newest)));
    return names
        .results()
        .map(name -> name.group(1))
        .collect(Collectors.toCollection(TreeSet::new));
  }

  /** Manifests and the segments that the newest lists, nothing else. */
  private static void assertExactlyTheRightFiles(String table, int segments) throws IOException {
    Set<String> wanted = published(table);
    assertThat(wanted).hasSize(segments);
    wanted.addAll(manifests(table));
    assertThat(overlay(table)).isEqualTo(wanted);
  }

  /** What a failed build may leave: whole segments under the names that its retry gives them. */
  private static void assertNoPartsOfFiles(String table) {
    assertThat(overlay(table))
        .allMatch(file -> file.matches("manifest(-\\d+)?\\.json|\\w+\\.bsdb_idx"));
  }

  private static List<String> answers(String table) {
    return rows(
        "SELECT id FROM bs.%1$s WHERE id = 3999 UNION ALL SELECT count(*) FROM bs.%1$s"
            + " UNION ALL (SELECT id FROM vector_search('bs.%1$s', 'e', array(7, 1), 1))"
            + " UNION ALL (SELECT count(*) FROM bm25_search('bs.%1$s', 's', 'word3', 9))",
        table);
  }

  private static Path lastFile(String table) throws IOException {
    List<Path> files = dataFiles(table);
    return files.get(files.size() - 1);
  }

  private static Path aside(Path file) {
    return file.resolveSibling("_aside");
  }

  private static void move(Path from, Path to) {
    try {
      Files.move(from, to);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Test
  void l4_create_index_with_a_failing_task_names_the_file_and_leaves_no_index() throws Exception {
    String table = table();
    List<String> before = answers(table);
    Path lost = lastFile(table);
    for (String[] index : new String[][] {{"id", "bitmap"}, {"s", "bm25"}, {"e", "hnsw"}}) {
      move(lost, aside(lost));
      // The other task ends well before this one fails.
      try (AutoCloseable hook = TaskHooks.atStart(IndexBuildFailureTest::secondWaitsForFirst)) {
        assertThatThrownBy(() -> rows("%s", create(table, index[0], index[1])))
            .as(index[1])
            .hasMessageContaining("building index")
            .hasMessageContaining(lost.getFileName().toString())
            .hasMessageContaining("does not exist");
      }
      move(aside(lost), lost);
      assertThat(rows("CALL bs.system.show_indexes('%s')", table)).isEmpty();
      assertThat(published(table)).isEmpty();
      assertNoPartsOfFiles(table);
      assertThat(answers(table)).isEqualTo(before);
    }
    int segments = 0;
    for (String[] index : new String[][] {{"id", "bitmap"}, {"s", "bm25"}, {"e", "hnsw"}}) {
      assertThat(rows("%s", create(table, index[0], index[1])))
          .containsExactly(String.format("[%s_%s,%s,2,4000,4,4]", index[0], index[1], index[1]));
      segments += 2;
      assertThat(published(table)).hasSize(segments);
    }
    assertExactlyTheRightFiles(table, segments);
    assertThat(answers(table)).isEqualTo(before);
  }

  private static void secondWaitsForFirst(TaskContext task) {
    if (task.partitionId() == 1) {
      waitForOther(task);
    }
  }

  private static void waitForOther(TaskContext task) {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
    while (TaskHooks.succeeded() == 0 && !task.isInterrupted() && System.nanoTime() < deadline) {
      pause();
    }
  }

  private static void pause() {
    try {
      Thread.sleep(10);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  @Test
  void l4_refresh_index_with_a_failing_task_publishes_nothing() throws Exception {
    String table = table();
    rows("%s", create(table, "id", "bitmap"));
    sql("INSERT INTO bs.%s SELECT id, 'new', array(0f, 0f) FROM range(4000, 8000, 1, 4)", table);
    List<Path> files = dataFiles(table);
    List<String> before = answers(table);
    Set<String> manifests = manifests(table);
    Set<String> segments = published(table);
    List<String> indexes = rows("CALL bs.system.show_indexes('%s')", table);
    // A file of the second statement: its name is unknown, its values are not.
    Path lost =
        Path.of(
            rows("SELECT max(_file) FROM bs.%s WHERE id >= 4000", table)
                .get(0)
                .replaceAll("^\\[(file:)?|]$", ""));
    assertThat(files).contains(lost);
    move(lost, aside(lost));
    try (AutoCloseable hook = TaskHooks.atStart(IndexBuildFailureTest::secondWaitsForFirst)) {
      assertThatThrownBy(() -> rows("CALL bs.system.refresh_index('%s')", table))
          .hasMessageContaining("building index")
          .hasMessageContaining(lost.getFileName().toString())
          .hasMessageContaining("does not exist");
    }
    move(aside(lost), lost);
    assertThat(manifests(table)).isEqualTo(manifests);
    assertThat(published(table)).isEqualTo(segments);
    assertThat(rows("CALL bs.system.show_indexes('%s')", table)).isEqualTo(indexes);
    assertNoPartsOfFiles(table);
    assertThat(answers(table)).isEqualTo(before);
    assertThat(rows("CALL bs.system.refresh_index('%s')", table))
        .containsExactly("[id_bitmap,bitmap,2,4000,8,8]");
    assertExactlyTheRightFiles(table, 4);
    assertThat(answers(table)).isEqualTo(before);
  }

  @Test
  void task_of_a_build_that_is_tried_again_builds_its_piece_once() throws Exception {
    String table = table();
    List<String> before = answers(table);
    Path lost = lastFile(table);
    ConcurrentLinkedQueue<String> attempts = new ConcurrentLinkedQueue<>();
    try (AutoCloseable hook =
        TaskHooks.atStart(
            task -> {
              attempts.add(task.partitionId() + "." + task.attemptNumber());
              if (task.partitionId() == 1 && task.attemptNumber() == 0) {
                move(lost, aside(lost));
              } else if (task.partitionId() == 1) {
                move(aside(lost), lost);
              }
            })) {
      assertThat(rows("%s", create(table, "e", "hnsw")))
          .containsExactly("[e_hnsw,hnsw,2,4000,4,4]");
    }
    assertThat(attempts).containsExactlyInAnyOrder("0.0", "1.0", "1.1");
    assertExactlyTheRightFiles(table, 2);
    assertThat(answers(table)).isEqualTo(before);
  }

  @Test
  void l4_cancelled_build_with_one_piece_done_leaves_no_index() throws Exception {
    String table = table();
    List<String> before = answers(table);
    AtomicReference<Throwable> failure = new AtomicReference<>();
    Thread runner =
        new Thread(
            () -> {
              spark().sparkContext().setJobGroup("cancelled build", "to be cancelled", false);
              try {
                rows("%s", create(table, "e", "hnsw"));
              } catch (RuntimeException e) {
                failure.set(e);
              }
            });
    try (AutoCloseable hook =
        TaskHooks.atStart(
            task -> {
              while (task.partitionId() == 1 && !task.isInterrupted()) {
                pause();
              }
            })) {
      runner.start();
      while (TaskHooks.succeeded() == 0) {
        Thread.sleep(10);
      }
      spark().sparkContext().cancelJobGroup("cancelled build");
      runner.join(20_000);
    }
    assertThat(failure.get()).isNotNull().hasStackTraceContaining("cancelled job group");
    assertThat(rows("CALL bs.system.show_indexes('%s')", table)).isEmpty();
    assertThat(published(table)).isEmpty();
    assertNoPartsOfFiles(table);
    assertThat(answers(table)).isEqualTo(before);
    rows("%s", create(table, "e", "hnsw"));
    assertExactlyTheRightFiles(table, 2);
    assertThat(answers(table)).isEqualTo(before);
  }
}
