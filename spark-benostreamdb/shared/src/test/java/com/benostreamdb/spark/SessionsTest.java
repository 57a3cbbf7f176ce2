package com.benostreamdb.spark;

import static com.benostreamdb.spark.SparkFixture.temporaryFolder;
import static org.assertj.core.api.Assertions.assertThat;

import com.benostreamdb.Column;
import com.benostreamdb.ColumnType;
import com.benostreamdb.Metrics;
import com.benostreamdb.Session;
import com.benostreamdb.Table;
import com.benostreamdb.TableName;
import java.lang.ref.WeakReference;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Test;

class SessionsTest {
  private static final Path FOLDER = temporaryFolder("sessions");

  private static Map<String, String> options(int number) {
    return Map.of("warehouse", FOLDER.resolve("w" + number).toString());
  }

  private static long open() {
    return Metrics.read().openHandles().getOrDefault("session", 0L);
  }

  @Test
  void sessions_beyond_those_used_last_end_when_nothing_uses_them() throws Exception {
    long before = open();
    List<Table> held = new ArrayList<>(List.of(createTable()));
    WeakReference<Session> unused = new WeakReference<>(held.get(0).session());
    Session used = Sessions.get(options(1));
    for (int i = 2; i < 3 * Sessions.KEPT; i++) {
      Sessions.get(options(i));
      assertThat(Sessions.get(options(1))).as("after %d others", i).isSameAs(used);
    }
    // The table's session, and those that other tests' tables hold.
    assertBecomes(() -> open() <= Sessions.KEPT + 1 + before);
    assertThat(open()).isGreaterThan(Sessions.KEPT);
    assertThat(columnsOfNewest(held.get(0))).isEqualTo(1);
    held.remove(0).close();
    assertBecomes(() -> unused.get() == null);
    assertBecomes(() -> open() <= Sessions.KEPT + before);
  }

  // Methods of their own: a local variable may keep what it held until its method returns.
  private static Table createTable() {
    Session session = Sessions.get(options(0));
    session.createNamespace(List.of("ns"));
    return session.createTable(
        TableName.of(List.of("ns"), "t"),
        List.of(Column.create("id", ColumnType.of(ColumnType.Kind.INT), false)),
        Map.of());
  }

  private static int columnsOfNewest(Table table) {
    try (Table newest = table.refresh()) {
      return newest.describe().columns().size();
    }
  }

  private static void assertBecomes(BooleanSupplier condition) throws Exception {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
    while (!condition.getAsBoolean() && System.nanoTime() < deadline) {
      System.gc();
      Thread.sleep(20);
    }
    assertThat(condition.getAsBoolean()).as("%d sessions are open", open()).isTrue();
  }
}
