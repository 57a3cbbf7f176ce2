package com.benostreamdb;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import com.benostreamdb.BenoStreamException.Kind;
import com.benostreamdb.arrow.ArrowBatch;
import com.benostreamdb.arrow.ArrowBatchBuilder;
import com.benostreamdb.arrow.ArrowField;
import com.google.gson.JsonElement;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.concurrent.atomic.AtomicLong;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A warehouse through the bridge: tables, scans, writes, deletes, indexes, searches, errors. */
final class SessionTest {
  private static final List<Column> COLUMNS =
      List.of(
          Column.create("id", ColumnType.of(ColumnType.Kind.LONG), true),
          Column.create("name", ColumnType.of(ColumnType.Kind.STRING), false),
          Column.create(
              "embedding",
              ColumnType.list(
                  Column.create("element", ColumnType.of(ColumnType.Kind.FLOAT), false)),
              false));

  private static final TableName NAME = TableName.of(List.of("ns"), "t");

  @TempDir private Path warehouse;
  private Session session;
  private long leakedBefore;

  @BeforeEach
  void open() {
    leakedBefore = Metrics.read().leakedHandles();
    session = Session.open(Map.of("warehouse", warehouse.toString()));
    session.createNamespace(List.of("ns"));
  }

  @AfterEach
  void everythingIsGivenBack() {
    session.close();
    Metrics metrics = Metrics.read();
    assertThat(metrics.openHandles().values()).allMatch(count -> count == 0);
    assertThat(metrics.nativeBytes()).isZero();
    assertThat(metrics.javaBytes()).isZero();
    assertThat(metrics.leakedHandles()).isEqualTo(leakedBefore);
  }

  private static BenoStreamException thrown(ThrowingCallable call) {
    return catchThrowableOfType(BenoStreamException.class, call);
  }

  private byte[] write(Table table, long firstId, int count) {
    try (TableWriter writer = TableWriter.open(session, table.writeSpec("job"));
        ArrowBatchBuilder batch =
            new ArrowBatchBuilder(ArrowField.of(table.describe().columns()))) {
      for (long id = firstId; id < firstId + count; id++) {
        batch.column(0).appendLong(id);
        batch.column(1).appendBytes(("name " + id).getBytes(StandardCharsets.UTF_8));
        batch.column(2).appendFloats(new float[] {id, 1});
        batch.endRow();
      }
      writer.write(batch);
      return writer.finish();
    }
  }

  private Table tableOf(int rows) {
    try (Table table = session.createTable(NAME, COLUMNS, Map.of())) {
      table.commit(CommitRequest.append(List.of(write(table, 0, rows))));
      return table.refresh();
    }
  }

  private List<Long> ids(Table table, ScanRequest request) {
    List<Long> ids = new ArrayList<>();
    for (ScanPlan.Split split : table.planScan(request).splits()) {
      try (SplitReader reader = SplitReader.open(session, split.bytes())) {
        for (ArrowBatch batch = reader.next(); batch != null; batch = reader.next()) {
          for (int row = 0; row < batch.rowCount(); row++) {
            ids.add(batch.column(0).getLong(row));
          }
        }
      }
    }
    return ids;
  }

  private static ScanRequest all() {
    return ScanRequest.builder().build();
  }

  @Test
  void catalogListsWhatWasCreated() {
    assertThat(session.namespaceExists(List.of("ns"))).isTrue();
    assertThat(session.namespaceExists(List.of("other"))).isFalse();
    assertThat(session.listNamespaces(List.of())).contains(List.of("ns"));
    session.createTable(NAME, COLUMNS, Map.of("owner", "me")).close();
    assertThat(session.tableExists(NAME)).isTrue();
    assertThat(session.listTables(List.of("ns"))).containsExactly(NAME);
    TableName renamed = TableName.of(List.of("ns"), "u");
    assertThat(thrown(() -> session.renameTable(NAME, renamed)).kind()).isEqualTo(Kind.UNSUPPORTED);
    assertThat(session.dropTable(NAME)).isEmpty();
    assertThat(session.tableExists(NAME)).isFalse();
    session.dropNamespace(List.of("ns"));
    assertThat(session.namespaceExists(List.of("ns"))).isFalse();
  }

  @Test
  void descriptionTellsSchemaAndProperties() {
    Map<String, String> properties =
        Map.of("owner", "me", "benostream.vector.embedding.dimension", "2");
    try (Table table = session.createTable(NAME, COLUMNS, properties)) {
      TableDescription description = table.describe();
      assertThat(description.name()).isEqualTo(NAME);
      assertThat(description.formatVersion()).isEqualTo(2);
      assertThat(description.snapshotId()).isEmpty();
      assertThat(description.readOnly()).isFalse();
      assertThat(description.columns())
          .extracting(Column::name)
          .containsExactly("id", "name", "embedding");
      assertThat(description.columns()).extracting(Column::id).containsExactly(1, 2, 3);
      assertThat(description.properties()).containsEntry("owner", "me");
      assertThat(description.vectorDimensions()).isEqualTo(Map.of("embedding", 2));
      assertThat(description.location()).contains(warehouse.toString());
      try (Table byLocation = session.openTable(TableName.at(description.location()))) {
        assertThat(byLocation.describe().uuid()).isEqualTo(description.uuid());
      }
    }
  }

  @Test
  void everyTypeIsWrittenAndReadBack() {
    List<Cases.Case> cases = Cases.all();
    int rows = cases.stream().mapToInt(each -> each.values().size()).max().orElseThrow();
    List<Column> columns = cases.stream().map(Cases.Case::column).toList();
    try (Table created = session.createTable(NAME, columns, Map.of());
        TableWriter writer = TableWriter.open(session, created.writeSpec("job"));
        ArrowBatchBuilder batch =
            new ArrowBatchBuilder(ArrowField.of(created.describe().columns()))) {
      for (int row = 0; row < rows; row++) {
        for (int i = 0; i < cases.size(); i++) {
          Cases.append(batch.column(i), valueAt(cases.get(i), row));
        }
        batch.endRow();
      }
      writer.write(batch);
      CommitResult result = created.commit(CommitRequest.append(List.of(writer.finish())));
      assertThat(result.rowsAdded()).isEqualTo(rows);
      try (Table table = created.refresh()) {
        assertThat(table.describe().snapshotId()).isEqualTo(result.snapshotId());
        assertThat(table.describe().rowCount()).hasValue(rows);
        assertRows(table, cases, rows);
      }
    }
  }

  private static JsonElement valueAt(Cases.Case each, int row) {
    return each.values().get(row % each.values().size());
  }

  private void assertRows(Table table, List<Cases.Case> cases, int rows) {
    ScanPlan plan = table.planScan(all());
    assertThat(plan.splits()).hasSize(1);
    try (SplitReader reader = SplitReader.open(session, plan.splits().get(0).bytes())) {
      ArrowBatch batch = reader.next();
      assertThat(batch.rowCount()).isEqualTo(rows);
      for (int row = 0; row < rows; row++) {
        for (int i = 0; i < cases.size(); i++) {
          assertThat(Cases.value(batch.column(i), row))
              .as("%s, row %d", cases.get(i), row)
              .isEqualTo(valueAt(cases.get(i), row));
        }
      }
      assertThat(reader.next()).isNull();
      assertThat(reader.next()).isNull();
    }
  }

  @Test
  void filtersAreExactAndProjectionsKeepTheirOrder() {
    try (Table table = tableOf(1000)) {
      Filter greater = new Filter.Compare(1, Filter.CompareOp.GT_EQ, new Value.LongValue(990));
      Filter name =
          new Filter.In(
              2, List.of(new Value.StringValue("name 995"), new Value.StringValue("x")), true);
      ScanRequest request = ScanRequest.builder().filter(greater).filter(name).build();
      ScanPlan plan = table.planScan(request);
      assertThat(plan.exact()).containsExactly(true, true);
      assertThat(plan.snapshotId()).isEqualTo(table.describe().snapshotId());
      assertThat(plan.explain()).contains("files: 1");
      assertThat(ids(table, request)).containsExactly(995L);
      Filter nothing =
          new Filter.And(
              List.of(
                  new Filter.Not(new Filter.IsNull(1)),
                  new Filter.NullSafeEq(1, Optional.empty())));
      assertThat(ids(table, ScanRequest.builder().filter(nothing).build())).isEmpty();
      assertThat(ids(table, ScanRequest.builder().project(List.of(Column.POS_ID, 1)).build()))
          .hasSize(1000)
          .startsWith(0L, 1L);
    }
  }

  @Test
  void projectionOfNothingCounts() {
    try (Table table = tableOf(1000)) {
      long rows = 0;
      ScanRequest request = ScanRequest.builder().project(List.of()).build();
      for (ScanPlan.Split split : table.planScan(request).splits()) {
        try (SplitReader reader = SplitReader.open(session, split.bytes())) {
          for (ArrowBatch batch = reader.next(); batch != null; batch = reader.next()) {
            rows += batch.rowCount();
          }
        }
      }
      assertThat(rows).isEqualTo(1000);
    }
  }

  @Test
  void rowsAreDeletedByPositionAndOverwritten() {
    try (Table table = tableOf(10)) {
      ScanRequest request =
          ScanRequest.builder().project(List.of(1, Column.FILE_ID, Column.POS_ID)).build();
      String file;
      try (SplitReader reader =
          SplitReader.open(session, table.planScan(request).splits().get(0).bytes())) {
        file = new String(reader.next().column(1).getBytes(0), StandardCharsets.UTF_8);
      }
      byte[] message;
      try (TableWriter writer = TableWriter.open(session, table.writeSpec("delete"))) {
        writer.delete(file, new long[] {1, 3, 99}, 2);
        message = writer.finish();
      }
      OptionalLong base = table.describe().snapshotId();
      CommitResult deleted = table.commit(CommitRequest.rowDelta(List.of(message), base));
      assertThat(deleted.rowsDeleted()).isEqualTo(2);
      assertThat(thrown(() -> table.commit(CommitRequest.rowDelta(List.of(message), base))).kind())
          .isEqualTo(Kind.CONFLICT);
      try (Table after = table.refresh()) {
        assertThat(ids(after, all())).containsExactly(0L, 2L, 4L, 5L, 6L, 7L, 8L, 9L);
        assertThat(ids(table, all())).hasSize(10);
        byte[] rows = write(after, 100, 3);
        after.commit(CommitRequest.overwrite(List.of(rows), after.describe().snapshotId()));
        try (Table last = after.refresh()) {
          assertThat(ids(last, all())).containsExactly(100L, 101L, 102L);
        }
      }
    }
  }

  @Test
  void abortedWritesLeaveNothing() throws Exception {
    try (Table table = session.createTable(NAME, COLUMNS, Map.of())) {
      byte[] message = write(table, 0, 10);
      assertThat(dataFiles()).isOne();
      table.abort(List.of(message));
      assertThat(dataFiles()).isZero();
      try (TableWriter writer = TableWriter.open(session, table.writeSpec("job"))) {
        writer.abort();
        assertThat(thrown(writer::finish).kind()).isEqualTo(Kind.INVALID_INPUT);
      }
      byte[] committed = write(table, 0, 10);
      table.commit(CommitRequest.append(List.of(committed)));
      table.abort(List.of(committed));
      try (Table after = table.refresh()) {
        assertThat(ids(after, all())).hasSize(10);
      }
    }
  }

  private long dataFiles() throws java.io.IOException {
    try (java.util.stream.Stream<Path> files = java.nio.file.Files.walk(warehouse)) {
      return files.filter(file -> file.toString().endsWith(".parquet")).count();
    }
  }

  @Test
  void wrongRowsAreRefusedAndTheTableStaysIntact() {
    try (Table table = tableOf(5);
        TableWriter writer = TableWriter.open(session, table.writeSpec("job"));
        ArrowBatchBuilder batch =
            new ArrowBatchBuilder(
                ArrowField.of(
                    List.of(Column.create("id", ColumnType.of(ColumnType.Kind.STRING), false))))) {
      batch.column(0).appendBytes(new byte[] {'x'});
      batch.endRow();
      BenoStreamException e = thrown(() -> writer.write(batch));
      assertThat(e.kind()).isEqualTo(Kind.INVALID_INPUT);
      assertThat(e).hasMessageContaining("id");
      writer.abort();
      assertThat(ids(table, all())).hasSize(5);
    }
  }

  @Test
  void missingTableIsNotFoundAndNamed() {
    BenoStreamException e = thrown(() -> session.openTable(NAME));
    assertThat(e.kind()).isEqualTo(Kind.NOT_FOUND);
    assertThat(e).hasMessageContaining("ns.t");
    session.createTable(NAME, COLUMNS, Map.of()).close();
    assertThat(thrown(() -> session.createTable(NAME, COLUMNS, Map.of())).kind())
        .isEqualTo(Kind.ALREADY_EXISTS);
  }

  @Test
  void foreignBytesAreRefused() {
    try (Table table = tableOf(5)) {
      byte[] split = table.planScan(all()).splits().get(0).bytes();
      byte[] spec = table.writeSpec("job");
      assertThat(thrown(() -> SplitReader.open(session, spec)))
          .hasMessageContaining("split expected, got write specification");
      assertThat(thrown(() -> TableWriter.open(session, split)).kind())
          .isEqualTo(Kind.INVALID_INPUT);
      for (int i = 0; i < split.length; i += 7) {
        byte[] damaged = split.clone();
        damaged[i] ^= 0x55;
        try (SplitReader reader = SplitReader.open(session, damaged)) {
          reader.next();
        } catch (BenoStreamException e) {
          assertThat(e.kind()).isNotEqualTo(Kind.INTERNAL);
        }
      }
    }
  }

  @Test
  void cancelledAndClosedReadersAreErrors() {
    try (Table table = tableOf(5)) {
      byte[] split = table.planScan(all()).splits().get(0).bytes();
      SplitReader reader = SplitReader.open(session, split);
      reader.cancel();
      assertThat(thrown(reader::next).kind()).isEqualTo(Kind.CANCELLED);
      reader.close();
      reader.close();
      assertThat(thrown(reader::next)).hasMessage("split reader is closed");
    }
  }

  @Test
  void readerMayBeClosedWhileAnotherThreadReads() throws Exception {
    try (Table table = tableOf(50_000)) {
      byte[] split = table.planScan(all()).splits().get(0).bytes();
      for (int round = 0; round < 20; round++) {
        SplitReader reader = SplitReader.open(session, split);
        Thread thread = new Thread(() -> drain(reader));
        thread.start();
        Thread.sleep(round % 5);
        reader.close();
        thread.join();
      }
    }
  }

  private static void drain(SplitReader reader) {
    try {
      while (reader.next() != null) {
        Thread.onSpinWait();
      }
    } catch (BenoStreamException e) {
      assertThat(e.kind()).isIn(Kind.CANCELLED, Kind.INVALID_INPUT);
    }
  }

  @Test
  void batchesAreAccountedAndGivenBack() {
    AtomicLong acquired = new AtomicLong();
    AtomicLong most = new AtomicLong();
    SplitReader.MemoryGrant grant =
        new SplitReader.MemoryGrant() {
          @Override
          public void acquire(long bytes) {
            most.accumulateAndGet(acquired.addAndGet(bytes), Math::max);
          }

          @Override
          public void release(long bytes) {
            acquired.addAndGet(-bytes);
          }
        };
    try (Table table = tableOf(20_000)) {
      byte[] split = table.planScan(all()).splits().get(0).bytes();
      long rows = 0;
      try (SplitReader reader = SplitReader.open(session, split, grant)) {
        for (ArrowBatch batch = reader.next(); batch != null; batch = reader.next()) {
          rows += batch.rowCount();
          assertThat(Metrics.read().nativeBytes()).isLessThanOrEqualTo(acquired.get());
        }
      }
      assertThat(rows).isEqualTo(20_000);
      assertThat(most.get()).isBetween(1L, 4L << 20);
      assertThat(acquired.get()).isZero();
    }
  }

  @Test
  void indexIsBuiltInPiecesListedUsedAndDropped() {
    try (Table first = tableOf(100)) {
      first.commit(CommitRequest.append(List.of(write(first, 100, 100))));
      try (Table table = first.refresh()) {
        IndexBuild build =
            new IndexBuild("by_id", "bitmap", List.of("id"), Map.of(), List.of(), false);
        IndexBuildPlan plan = table.planIndexBuild(build, OptionalInt.of(2));
        assertThat(plan.pieces()).hasSize(2);
        List<byte[]> messages =
            plan.pieces().stream().map(piece -> session.buildIndexPiece(piece.bytes())).toList();
        table.commitIndex(plan, messages);
        IndexDescription index = table.listIndexes().get(0);
        assertThat(index.name()).isEqualTo("by_id");
        assertThat(index.columns()).containsExactly("id");
        assertThat(index.filesCovered()).isEqualTo(2);
        assertThat(index.rowsCovered()).isEqualTo(200);
        Filter equal = new Filter.Compare(1, Filter.CompareOp.EQ, new Value.LongValue(150));
        ScanRequest request = ScanRequest.builder().filter(equal).build();
        assertThat(table.planScan(request).explain()).contains("index by_id");
        assertThat(ids(table, request)).containsExactly(150L);
        assertThat(thrown(() -> table.planIndexBuild(build, OptionalInt.empty())).kind())
            .isEqualTo(Kind.ALREADY_EXISTS);
        assertThat(table.planIndexRefresh("by_id", OptionalInt.empty()).pieces()).isEmpty();
        table.dropIndex("by_id", false);
        assertThat(table.listIndexes()).isEmpty();
        table.dropIndex("by_id", true);
        assertThat(thrown(() -> table.dropIndex("by_id", false)).kind()).isEqualTo(Kind.NOT_FOUND);
      }
    }
  }

  @Test
  void searchesGiveTheBestRowsOfEachSplit() {
    try (Table table = tableOf(100)) {
      Search vector =
          new Search.Vector(
              3,
              new float[] {50.2f, 1},
              3,
              Optional.empty(),
              OptionalInt.empty(),
              Search.Mode.BALANCED,
              Search.Nulls.DROP);
      assertThat(ids(table, ScanRequest.builder().search(vector).build()))
          .containsExactly(50L, 51L, 49L);
      Search text = new Search.Text(2, "77", 3, false, Optional.empty());
      assertThat(ids(table, ScanRequest.builder().search(text).build())).containsExactly(77L);
      Search empty =
          new Search.Vector(
              3,
              new float[] {Float.NaN, 1},
              3,
              Optional.of(Search.Metric.L2),
              OptionalInt.empty(),
              Search.Mode.EXACT,
              Search.Nulls.DROP);
      assertThat(thrown(() -> table.planScan(ScanRequest.builder().search(empty).build())).kind())
          .isEqualTo(Kind.INVALID_INPUT);
    }
  }
}
