package com.benostreamdb.spark;

import static org.assertj.core.api.Assertions.assertThat;

import com.benostreamdb.Filter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.LongStream;
import org.apache.iceberg.MetadataColumns;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.data.IcebergGenerics;
import org.apache.iceberg.types.Types;
import org.junit.jupiter.api.Test;

/** Random histories of tables, read by us as by Iceberg's own reader. */
class TableHistoryTest {
  private static final int SCALE =
      Integer.parseInt(System.getenv().getOrDefault("BSDB_TEST_SCALE", "1"));
  private static final long FIRST_SEED =
      Long.parseLong(System.getenv().getOrDefault("BSDB_TEST_SEED", "1"));
  private static final int HISTORIES = 100 * SCALE;
  private static final int STEPS = 14;
  private static final Path FOLDER = SparkFixture.WAREHOUSE.resolve("histories");
  private static final AtomicInteger TABLES = new AtomicInteger();

  @Test
  void random_histories_give_the_rows_of_iceberg() throws Exception {
    Map<String, Integer> done = new ConcurrentHashMap<>();
    List<String> wrong = Collections.synchronizedList(new ArrayList<>());
    LongStream.range(FIRST_SEED, FIRST_SEED + HISTORIES)
        .parallel()
        .forEach(
            seed -> {
              TableHistory history = history(seed);
              history.done.forEach((what, count) -> done.merge(what, count, Integer::sum));
              compare(seed, history, wrong);
            });
    assertThat(wrong).isEmpty();
    assertThat(done.keySet()).isEqualTo(Set.copyOf(TableHistory.operations()));
    assertThat(done).allSatisfy((what, count) -> assertThat(count).as(what).isGreaterThan(9));
  }

  @Test
  void random_histories_give_the_rows_of_iceberg_through_spark() {
    for (long seed = FIRST_SEED; seed < FIRST_SEED + 8; seed++) {
      TableHistory history = history(seed);
      String name = history.table.location().replaceAll(".*/", "histories.");
      for (String filter : List.of("true", "id < 20", "id IS NULL OR id IN (1, 2, 3)")) {
        assertThat(rows("bs." + name, filter))
            .as("seed %d where %s", seed, filter)
            .isEqualTo(rows("ice." + name, filter));
      }
    }
  }

  /** Without the sign of zero, see {@link HistoryReader}. */
  private static List<String> rows(String table, String filter) {
    return SparkFixture.rows("SELECT * FROM %s WHERE %s", table, filter).stream()
        .map(row -> row.replaceAll("-0\\.0(?=[,\\]])", "0.0"))
        .sorted()
        .toList();
  }

  private static TableHistory history(long seed) {
    TableHistory history = new TableHistory(seed, FOLDER.resolve("t" + TABLES.incrementAndGet()));
    try {
      for (int step = 0; step < STEPS; step++) {
        history.step();
      }
    } catch (Exception e) {
      throw new AssertionError("seed " + seed, e);
    }
    return history;
  }

  private static void compare(long seed, TableHistory history, List<String> wrong) {
    history.table.refresh();
    Random random = new Random(seed);
    Schema schema = history.table.schema();
    Check check = new Check(seed, history, wrong);
    List<String> names = names(schema);
    check.run("all", names, IcebergGenerics.read(history.table).select(names), Optional.empty());
    for (int i = 0; i < 6; i++) {
      List<String> some = new ArrayList<>(names);
      some.removeIf(name -> random.nextInt(3) == 0 && some.size() > 1);
      RandomFilter filter = RandomFilter.of(schema, random);
      IcebergGenerics.ScanBuilder scan =
          IcebergGenerics.read(history.table).select(some).where(filter.iceberg());
      check.run(filter.iceberg() + " of " + some, some, scan, Optional.of(filter.ours()));
    }
    List<Snapshot> snapshots = new ArrayList<>();
    history.table.snapshots().forEach(snapshots::add);
    if (!snapshots.isEmpty()) {
      Snapshot then = snapshots.get(random.nextInt(snapshots.size()));
      List<String> old = names(history.table.schemas().get(then.schemaId()));
      check.snapshot = Optional.of(then.snapshotId());
      check.run(
          "snapshot " + then.snapshotId(),
          old,
          IcebergGenerics.read(history.table).useSnapshot(then.snapshotId()).select(old),
          Optional.empty());
      check.snapshot = Optional.empty();
    }
    if (history.version() == 3) {
      List<Types.NestedField> columns = new ArrayList<>(schema.columns());
      columns.add(MetadataColumns.ROW_ID);
      columns.add(MetadataColumns.LAST_UPDATED_SEQUENCE_NUMBER);
      Schema wide = new Schema(columns);
      check.more =
          List.of(MetadataColumns.ROW_ID.fieldId(), columns.get(columns.size() - 1).fieldId());
      check.run(
          "row ids",
          names(wide),
          IcebergGenerics.read(history.table).project(wide),
          Optional.empty());
    }
  }

  private static List<String> names(Schema schema) {
    return schema.columns().stream().map(Types.NestedField::name).toList();
  }

  /** What is compared of one history. */
  private static final class Check {
    private final long seed;
    private final TableHistory history;
    private final List<String> wrong;
    private Optional<Long> snapshot = Optional.empty();
    private List<Integer> more = List.of();

    Check(long seed, TableHistory history, List<String> wrong) {
      this.seed = seed;
      this.history = history;
      this.wrong = wrong;
    }

    /** The last columns are those of {@code more}. */
    void run(
        String what,
        List<String> columns,
        IcebergGenerics.ScanBuilder scan,
        Optional<Filter> filter) {
      String where = "seed " + seed + ", V" + history.version() + ", " + what + ": ";
      try {
        List<String> theirs = HistoryReader.theirs(scan, columns);
        List<String> named = columns.subList(0, columns.size() - more.size());
        List<String> ours =
            HistoryReader.ours(history.table.location(), snapshot, named, more, filter);
        if (!ours.equals(theirs)) {
          wrong.add(where + difference(theirs, ours) + " after " + history.done);
        }
      } catch (Exception e) {
        wrong.add(where + e);
      }
    }

    private static String difference(List<String> theirs, List<String> ours) {
      List<String> lost = new ArrayList<>(theirs);
      ours.forEach(lost::remove);
      List<String> extra = new ArrayList<>(ours);
      theirs.forEach(extra::remove);
      return String.format(
          "lost %d %s, extra %d %s",
          lost.size(),
          lost.subList(0, Math.min(3, lost.size())),
          extra.size(),
          extra.subList(0, Math.min(3, extra.size())));
    }
  }
}
