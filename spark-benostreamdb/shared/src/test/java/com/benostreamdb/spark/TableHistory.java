package com.benostreamdb.spark;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.AppendFiles;
import org.apache.iceberg.BaseTable;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileContent;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.OverwriteFiles;
import org.apache.iceberg.PartitionKey;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.RewriteFiles;
import org.apache.iceberg.RowDelta;
import org.apache.iceberg.Schema;
import org.apache.iceberg.SortOrder;
import org.apache.iceberg.StructLike;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.data.BaseDeleteLoader;
import org.apache.iceberg.data.GenericAppenderFactory;
import org.apache.iceberg.data.GenericRecord;
import org.apache.iceberg.data.IcebergGenerics;
import org.apache.iceberg.data.InternalRecordWrapper;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.deletes.BaseDVFileWriter;
import org.apache.iceberg.deletes.EqualityDeleteWriter;
import org.apache.iceberg.deletes.PositionDelete;
import org.apache.iceberg.deletes.PositionDeleteIndex;
import org.apache.iceberg.deletes.PositionDeleteWriter;
import org.apache.iceberg.encryption.EncryptedOutputFile;
import org.apache.iceberg.hadoop.HadoopTables;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.io.DataWriter;
import org.apache.iceberg.io.DeleteWriteResult;
import org.apache.iceberg.io.OutputFileFactory;
import org.apache.iceberg.types.Types;

/** A table that Iceberg's own library changes at random: the same seed gives the same history. */
final class TableHistory {
  private static final List<FileFormat> FORMATS =
      List.of(FileFormat.PARQUET, FileFormat.ORC, FileFormat.AVRO);
  private static final List<String> ANY_VERSION =
      List.of("append", "delete files", "overwrite", "compact", "branch", "tag", "roll back");
  private static final List<String> ROW_LEVEL =
      List.of(
          "position deletes",
          "equality deletes",
          "global equality deletes",
          "deletion vectors",
          "upgrade");
  private static final Set<String> KEYS = Set.of("long", "int", "string", "date");

  /** How often each operation took place. */
  final Map<String, Integer> done = new TreeMap<>();

  final Table table;
  private final Random random;
  private final RandomValues values;
  private final SchemaChanges schemaChanges;

  /** Columns that partitions or equality deletes need. */
  private final Set<Integer> needed = new HashSet<>();

  private int tasks;
  private int references;

  TableHistory(long seed, Path location) {
    random = new Random(seed);
    values = new RandomValues(random);
    Schema schema = RandomValues.schema();
    int version = 1 + random.nextInt(3);
    PartitionSpec spec = SchemaChanges.spec(schema, random);
    Map<String, String> properties =
        Map.of(
            "format-version", String.valueOf(version),
            "write.parquet.page-row-limit", "5",
            "write.parquet.row-group-size-bytes", "2000",
            "write.parquet.row-group-check-min-record-count", "5",
            "write.parquet.row-group-check-max-record-count", "10");
    table =
        new HadoopTables(new Configuration())
            .create(schema, spec, SortOrder.unsorted(), properties, location.toUri().toString());
    schemaChanges = new SchemaChanges(table, random, needed);
  }

  int version() {
    return ((BaseTable) table).operations().current().formatVersion();
  }

  /** One change; which one, chance says. */
  void step() throws IOException {
    table.refresh();
    String operation = operation();
    boolean happened =
        switch (operation) {
          case "append" -> append();
          case "delete files" -> deleteFiles();
          case "overwrite" -> overwrite();
          case "compact" -> compact();
          case "position deletes" -> positionDeletes();
          case "equality deletes" -> equalityDeletes(false);
          case "global equality deletes" -> equalityDeletes(true);
          case "deletion vectors" -> deletionVectors();
          case "upgrade" -> upgrade();
          case "branch" -> branch();
          case "tag" -> tag();
          case "roll back" -> rollBack();
          default -> schemaChanges.apply(operation);
        };
    if (happened) {
      done.merge(operation, 1, Integer::sum);
    }
  }

  /** All that may happen to a table. */
  static List<String> operations() {
    List<String> names = new ArrayList<>(ANY_VERSION);
    names.addAll(ROW_LEVEL);
    names.addAll(SchemaChanges.NAMES);
    return names;
  }

  private String operation() {
    List<String> choices = new ArrayList<>(ANY_VERSION);
    choices.addAll(Collections.nCopies(5, "append"));
    choices.addAll(SchemaChanges.NAMES);
    if (version() == 2) {
      choices.addAll(Collections.nCopies(4, "position deletes"));
    }
    if (version() >= 2) {
      choices.addAll(Collections.nCopies(4, "equality deletes"));
      choices.addAll(Collections.nCopies(2, "global equality deletes"));
    }
    if (version() == 3) {
      choices.addAll(Collections.nCopies(4, "deletion vectors"));
    } else {
      choices.add("upgrade");
    }
    return choices.get(random.nextInt(choices.size()));
  }

  private boolean append() throws IOException {
    AppendFiles append = random.nextBoolean() ? table.newAppend() : table.newFastAppend();
    write(someRows()).forEach(append::appendFile);
    append.commit();
    return true;
  }

  private boolean branch() throws IOException {
    if (table.currentSnapshot() == null) {
      return false;
    }
    String name = "branch" + ++references;
    table.manageSnapshots().createBranch(name).commit();
    AppendFiles append = table.newAppend().toBranch(name);
    write(someRows()).forEach(append::appendFile);
    append.commit();
    return true;
  }

  private boolean tag() {
    if (table.currentSnapshot() == null) {
      return false;
    }
    table
        .manageSnapshots()
        .createTag("tag" + ++references, table.currentSnapshot().snapshotId())
        .commit();
    return true;
  }

  private boolean rollBack() {
    if (table.currentSnapshot() == null || table.currentSnapshot().parentId() == null) {
      return false;
    }
    table.manageSnapshots().rollbackTo(table.currentSnapshot().parentId()).commit();
    return true;
  }

  private boolean upgrade() {
    TableMetadata current = ((BaseTable) table).operations().current();
    ((BaseTable) table)
        .operations()
        .commit(current, current.upgradeToFormatVersion(current.formatVersion() + 1));
    return true;
  }

  private boolean deleteFiles() throws IOException {
    List<FileScanTask> files = files();
    if (files.size() < 2) {
      return false;
    }
    table.newDelete().deleteFile(any(files).file()).commit();
    return true;
  }

  private boolean overwrite() throws IOException {
    List<FileScanTask> files = files();
    if (files.isEmpty()) {
      return false;
    }
    OverwriteFiles overwrite = table.newOverwrite().deleteFile(any(files).file());
    write(someRows()).forEach(overwrite::addFile);
    overwrite.commit();
    return true;
  }

  private boolean compact() throws IOException {
    List<FileScanTask> files = files();
    if (files.isEmpty()) {
      return false;
    }
    List<Record> rows = new ArrayList<>();
    try (CloseableIterable<Record> found = IcebergGenerics.read(table).build()) {
      for (Record record : found) {
        Record row = GenericRecord.create(table.schema());
        for (Types.NestedField field : table.schema().columns()) {
          row.setField(field.name(), record.getField(field.name()));
        }
        rows.add(row);
      }
    }
    RewriteFiles rewrite =
        table.newRewrite().validateFromSnapshot(table.currentSnapshot().snapshotId());
    Set<String> deletes = new HashSet<>();
    for (FileScanTask task : files) {
      rewrite.deleteFile(task.file());
      for (DeleteFile delete : task.deletes()) {
        if (random.nextInt(4) > 0 && deletes.add(delete.location() + delete.contentOffset())) {
          rewrite.deleteFile(delete);
        }
      }
    }
    write(rows).forEach(rewrite::addFile);
    rewrite.commit();
    return true;
  }

  private boolean positionDeletes() throws IOException {
    List<FileScanTask> files = files();
    if (files.isEmpty()) {
      return false;
    }
    FileScanTask first = any(files);
    files.removeIf(
        task ->
            task.spec().specId() != first.spec().specId()
                || !task.file().partition().equals(first.file().partition())
                || (task != first && random.nextBoolean()));
    files.sort((a, b) -> a.file().location().compareTo(b.file().location()));
    FileFormat format = any(FORMATS);
    PositionDeleteWriter<Record> writer =
        new GenericAppenderFactory(table.schema(), first.spec())
            .newPosDeleteWriter(
                output(format, first.spec(), first.file().partition()),
                format,
                first.file().partition());
    try (writer) {
      for (FileScanTask task : files) {
        // A file without rows is not even created.
        long least = random.nextInt((int) task.file().recordCount());
        for (long position = 0; position < task.file().recordCount(); position++) {
          if (position == least || random.nextInt(4) == 0) {
            writer.write(
                PositionDelete.<Record>create().set(task.file().location(), position, null));
          }
        }
      }
    }
    table.newRowDelta().addDeletes(writer.toDeleteFile()).commit();
    return true;
  }

  private boolean equalityDeletes(boolean global) throws IOException {
    List<FileScanTask> files = files();
    if (files.isEmpty()) {
      return false;
    }
    FileScanTask any = any(files);
    PartitionSpec spec = any.spec();
    StructLike partition = any.file().partition();
    if (global) {
      spec =
          table.specs().values().stream()
              .filter(PartitionSpec::isUnpartitioned)
              .findFirst()
              .orElse(null);
      partition = null;
      if (spec == null) {
        return false;
      }
    } else if (spec.isUnpartitioned()) {
      return false;
    }
    List<Types.NestedField> columns = new ArrayList<>(table.schema().columns());
    columns.removeIf(column -> !KEYS.contains(column.type().toString()));
    Collections.shuffle(columns, random);
    columns = columns.subList(0, 1 + random.nextInt(Math.min(2, columns.size())));
    Schema keys = table.schema().select(columns.stream().map(Types.NestedField::name).toList());
    int[] ids = keys.columns().stream().mapToInt(Types.NestedField::fieldId).toArray();
    keys.columns().forEach(column -> needed.add(column.fieldId()));
    FileFormat format = any(FORMATS);
    EqualityDeleteWriter<Record> writer =
        new GenericAppenderFactory(table.schema(), spec, ids, keys)
            .newEqDeleteWriter(output(format, spec, partition), format, partition);
    try (writer) {
      int rows = 1 + random.nextInt(4);
      for (int row = 0; row < rows; row++) {
        writer.write(values.record(keys));
      }
    }
    table.newRowDelta().addDeletes(writer.toDeleteFile()).commit();
    return true;
  }

  private boolean deletionVectors() throws IOException {
    List<FileScanTask> files = files();
    if (files.isEmpty()) {
      return false;
    }
    Map<String, List<DeleteFile>> known = new LinkedHashMap<>();
    for (FileScanTask task : files) {
      List<DeleteFile> deletes = new ArrayList<>(task.deletes());
      deletes.removeIf(delete -> delete.content() != FileContent.POSITION_DELETES);
      known.put(task.file().location(), deletes);
    }
    OutputFileFactory outputs =
        OutputFileFactory.builderFor(table, 1, ++tasks).format(FileFormat.PUFFIN).build();
    BaseDVFileWriter writer =
        new BaseDVFileWriter(outputs, location -> deleted(known.get(location), location));
    int rows = 0;
    try (writer) {
      for (FileScanTask task : files) {
        boolean wanted = random.nextInt(3) == 0;
        for (long position = 0; wanted && position < task.file().recordCount(); position++) {
          if (random.nextInt(4) == 0) {
            rows++;
            writer.delete(task.file().location(), position, task.spec(), task.file().partition());
          }
        }
      }
    }
    if (rows == 0) {
      return false;
    }
    DeleteWriteResult result = writer.result();
    RowDelta delta = table.newRowDelta().validateFromSnapshot(table.currentSnapshot().snapshotId());
    result.deleteFiles().forEach(delta::addDeletes);
    result.rewrittenDeleteFiles().forEach(delta::removeDeletes);
    delta.commit();
    return true;
  }

  private PositionDeleteIndex deleted(List<DeleteFile> deletes, String location) {
    if (deletes.isEmpty()) {
      return null;
    }
    return new BaseDeleteLoader(delete -> table.io().newInputFile(delete.location()))
        .loadPositionDeletes(deletes, location);
  }

  private List<FileScanTask> files() throws IOException {
    List<FileScanTask> files = new ArrayList<>();
    try (CloseableIterable<FileScanTask> tasks = table.newScan().planFiles()) {
      tasks.forEach(files::add);
    }
    files.sort((a, b) -> a.file().location().compareTo(b.file().location()));
    return files;
  }

  private List<Record> someRows() {
    List<Record> rows = new ArrayList<>();
    for (int row = random.nextInt(40); row >= 0; row--) {
      rows.add(values.record(table.schema()));
    }
    return rows;
  }

  /** Data files of the rows, one for each partition. */
  private List<DataFile> write(List<Record> rows) throws IOException {
    PartitionSpec spec = table.spec();
    Schema schema = table.schema();
    InternalRecordWrapper wrapper = new InternalRecordWrapper(schema.asStruct());
    PartitionKey key = new PartitionKey(spec, schema);
    Map<PartitionKey, List<Record>> partitions = new LinkedHashMap<>();
    for (Record row : rows) {
      key.partition(wrapper.wrap(row));
      partitions.computeIfAbsent(key.copy(), partition -> new ArrayList<>()).add(row);
    }
    List<DataFile> files = new ArrayList<>();
    for (Map.Entry<PartitionKey, List<Record>> partition : partitions.entrySet()) {
      FileFormat format = schemaChanges.anyFormat();
      DataWriter<Record> writer =
          new GenericAppenderFactory(schema, spec)
              .setAll(table.properties())
              .newDataWriter(output(format, spec, partition.getKey()), format, partition.getKey());
      try (writer) {
        partition.getValue().forEach(writer::write);
      }
      files.add(writer.toDataFile());
    }
    return files;
  }

  private EncryptedOutputFile output(FileFormat format, PartitionSpec spec, StructLike partition) {
    return OutputFileFactory.builderFor(table, 1, ++tasks)
        .format(format)
        .build()
        .newOutputFile(spec, partition);
  }

  private <T> T any(List<T> list) {
    return list.get(random.nextInt(list.size()));
  }
}
