package com.benostreamdb.spark;

import com.benostreamdb.AsOf;
import com.benostreamdb.Column;
import com.benostreamdb.CommitRequest;
import com.benostreamdb.TableDescription;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import org.apache.spark.sql.connector.catalog.MetadataColumn;
import org.apache.spark.sql.connector.catalog.SupportsMetadataColumns;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.SupportsRowLevelOperations;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.catalog.TruncatableTable;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.RowLevelOperationBuilder;
import org.apache.spark.sql.connector.write.RowLevelOperationInfo;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** A table as Spark sees it. Its schema is that of the snapshot it was loaded at. */
final class BenoStreamTable
    implements SupportsRead,
        SupportsWrite,
        SupportsMetadataColumns,
        SupportsRowLevelOperations,
        TruncatableTable,
        TableIndexes {
  private final com.benostreamdb.Table loaded;
  private final TableDescription description;
  private final String catalogName;
  private final TreeMap<String, String> options;
  private final boolean pinned;

  private BenoStreamTable(
      com.benostreamdb.Table loaded,
      String catalogName,
      Map<String, String> options,
      boolean pinned) {
    this.loaded = loaded;
    this.description = loaded.describe();
    this.catalogName = catalogName;
    this.options = new TreeMap<>(options);
    this.pinned = pinned;
  }

  /** A table that each statement reads at its newest snapshot. */
  static BenoStreamTable newest(
      com.benostreamdb.Table loaded, String catalogName, Map<String, String> options) {
    return new BenoStreamTable(loaded, catalogName, options, false);
  }

  /** A table at one snapshot, read-only. */
  static BenoStreamTable pinned(
      com.benostreamdb.Table loaded, String catalogName, Map<String, String> options) {
    return new BenoStreamTable(loaded, catalogName, options, true);
  }

  TableDescription description() {
    return description;
  }

  @Override
  public Map<String, String> options() {
    return options;
  }

  /** The snapshot that the current statement reads. */
  com.benostreamdb.Table snapshot() {
    if (pinned) {
      return loaded;
    }
    List<Object> key = List.of(options, description.name(), loaded.metadataTable());
    return StatementPins.pin(key, loaded::refresh);
  }

  /** The snapshot that a reader with an option for another state reads. */
  private com.benostreamdb.Table snapshot(Optional<AsOf> state) {
    if (pinned || state.isEmpty()) {
      return snapshot();
    }
    if (loaded.metadataTable().isPresent()) {
      String kind = loaded.metadataTable().get();
      return loaded.session().openMetadataTable(description.name(), kind, state.get());
    }
    com.benostreamdb.Table then = loaded.session().openTable(description.name(), state.get());
    if (!then.describe().columns().equals(description.columns())) {
      throw Failures.unsupported(
          name()
              + " had other columns then; read it by format(\"benostream\") and load(..), or by"
              + " VERSION AS OF");
    }
    return then;
  }

  @Override
  public com.benostreamdb.Table openNewest() {
    requireWritable();
    return loaded.refresh();
  }

  /** Refuses streams of what never gets new rows. */
  void requireStreamable() {
    if (loaded.metadataTable().isPresent()) {
      throw Failures.unsupported("a stream of the metadata table " + name());
    }
    if (pinned) {
      throw Failures.unsupported(
          "a stream of one state of "
              + name()
              + ": streams read its main branch, without snapshot-id, as-of-timestamp, branch and"
              + " tag");
    }
  }

  /** The newest state, whatever statements have pinned. */
  com.benostreamdb.Table refresh() {
    return loaded.refresh();
  }

  @Override
  public String name() {
    String name =
        description.name().location().isEmpty()
            ? catalogName + "." + description.name()
            : description.name().location();
    return loaded.metadataTable().map(kind -> name + "." + kind).orElse(name);
  }

  @Override
  public StructType schema() {
    return Failures.analyzed(() -> SparkTypes.toSpark(description.columns()));
  }

  @Override
  public Map<String, String> properties() {
    Map<String, String> result = new HashMap<>(description.properties());
    result.put("provider", "benostream");
    result.put("location", description.location());
    result.put("format-version", Integer.toString(description.formatVersion()));
    description.snapshotId().ifPresent(id -> result.put("current-snapshot-id", "" + id));
    return result;
  }

  @Override
  public Set<TableCapability> capabilities() {
    return EnumSet.of(
        TableCapability.BATCH_READ,
        TableCapability.MICRO_BATCH_READ,
        TableCapability.BATCH_WRITE,
        TableCapability.TRUNCATE);
  }

  @Override
  public MetadataColumn[] metadataColumns() {
    return loaded.metadataTable().isPresent()
        ? new MetadataColumn[0]
        : MetadataColumns.shown(description);
  }

  @Override
  public ScanBuilder newScanBuilder(CaseInsensitiveStringMap readOptions) {
    return Failures.analyzed(
        () -> {
          ReadOptions options = ReadOptions.of(readOptions);
          return new BenoStreamScanBuilder(this, snapshot(options.state()), options);
        });
  }

  @Override
  public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
    return Failures.analyzed(
        () -> {
          requireWritable();
          requireRowsWritable();
          return new BenoStreamWriteBuilder(this, snapshot(), info);
        });
  }

  @Override
  public RowLevelOperationBuilder newRowLevelOperationBuilder(RowLevelOperationInfo info) {
    return Failures.analyzed(
        () -> {
          requireWritable();
          for (Column column : description.columns()) {
            if (MetadataColumns.isReserved(column.name())) {
              throw Failures.unsupported(
                  "rows of "
                      + name()
                      + " cannot be changed: its column '"
                      + column.name()
                      + "' hides"
                      + " the metadata column of that name");
            }
          }
          return () -> Failures.analyzed(() -> new DeltaOperation(this, info));
        });
  }

  @Override
  public boolean truncateTable() {
    return Failures.analyzed(
        () -> {
          requireWritable();
          try (com.benostreamdb.Table newest = loaded.refresh()) {
            newest.commit(CommitRequest.overwrite(List.of(), newest.describe().snapshotId()));
          }
          return true;
        });
  }

  /** INSERT, UPDATE and MERGE need a Spark type for every column. */
  void requireRowsWritable() {
    for (Column column : description.columns()) {
      if (!SparkTypes.isWritable(column.type())) {
        throw Failures.unsupported(
            "rows of "
                + name()
                + " cannot be written from Spark: column '"
                + column.name()
                + "' has the type "
                + column.type().kind().name().toLowerCase(Locale.ROOT)
                + ", which Spark does not have");
      }
    }
  }

  private void requireWritable() {
    if (loaded.metadataTable().isPresent()) {
      throw Failures.unsupported(name() + " is a metadata table and can only be read");
    }
    if (pinned || description.readOnly()) {
      throw Failures.unsupported(name() + " is read-only: it is pinned to one snapshot");
    }
  }

  /** Equal tables give equal rows: a cached plan must not serve a newer snapshot. */
  @Override
  public boolean equals(Object other) {
    return other instanceof BenoStreamTable that
        && options.equals(that.options)
        && pinned == that.pinned
        && loaded.metadataTable().equals(that.loaded.metadataTable())
        && description.name().equals(that.description.name())
        && description.metadataLocation().equals(that.description.metadataLocation())
        && description.snapshotId().equals(that.description.snapshotId())
        && description.columns().equals(that.description.columns());
  }

  @Override
  public int hashCode() {
    return Objects.hash(description.name(), description.metadataLocation());
  }

  @Override
  public String toString() {
    return name();
  }
}
