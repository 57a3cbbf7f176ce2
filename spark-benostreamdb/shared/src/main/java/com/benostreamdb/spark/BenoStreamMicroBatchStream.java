package com.benostreamdb.spark;

import com.benostreamdb.Column;
import com.benostreamdb.ScanPlan;
import com.benostreamdb.ScanRequest;
import com.benostreamdb.SnapshotRange;
import com.benostreamdb.Table;
import com.benostreamdb.spark.CommitLog.Commit;
import java.util.List;
import java.util.OptionalInt;
import java.util.OptionalLong;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.ReadAllAvailable;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.connector.read.streaming.SupportsTriggerAvailableNow;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * What append commits add, commit by commit. An offset says all that a batch needs: what a restart
 * reads again is what was read before. Commits that only rewrite files are passed over; one that
 * deletes or changes rows ends the stream with an error, unless an option passes over it too.
 */
final class BenoStreamMicroBatchStream implements MicroBatchStream, SupportsTriggerAvailableNow {
  private final BenoStreamTable table;
  private final StructType schema;
  private final List<Integer> columns;
  private final StreamOptions options;
  private boolean endsAtHead;
  private OptionalLong head = OptionalLong.empty();

  BenoStreamMicroBatchStream(
      BenoStreamTable table, StructType schema, List<Integer> columns, ReadOptions options) {
    if (options.state().isPresent() || options.range().isPresent()) {
      throw Failures.invalidInput(
          "a stream takes none of the options snapshot-id, as-of-timestamp, branch, tag,"
              + " start-snapshot-id and end-snapshot-id; "
              + StreamOptions.FROM_TIMESTAMP
              + " says where it begins");
    }
    this.table = table;
    this.schema = schema;
    this.columns = List.copyOf(columns);
    this.options = options.stream();
    table.requireStreamable();
  }

  @Override
  public Offset initialOffset() {
    return StreamOffset.START;
  }

  @Override
  public Offset deserializeOffset(String json) {
    return StreamOffset.parse(json);
  }

  @Override
  public void prepareForTriggerAvailableNow() {
    try (Table newest = table.refresh()) {
      endsAtHead = true;
      head = newest.describe().snapshotId();
    }
  }

  @Override
  public ReadLimit getDefaultReadLimit() {
    // The stream counts files and rows by itself; the trigger may still ask for everything.
    return options.limited()
        ? ReadLimit.maxRows(options.maxRows().orElse(Long.MAX_VALUE))
        : ReadLimit.allAvailable();
  }

  @Override
  public Offset latestOffset() {
    throw Failures.internal("Spark asks for offsets with a limit");
  }

  @Override
  public Offset latestOffset(Offset start, ReadLimit limit) {
    StreamOffset from = (StreamOffset) start;
    try (Table newest = table.refresh()) {
      OptionalLong end = endsAtHead ? head : newest.describe().snapshotId();
      if (end.isEmpty()) {
        return null;
      }
      CommitLog log = CommitLog.of(newest, end.getAsLong());
      BatchEnd batch = new BatchEnd(newest, from, limit);
      if (from.isWithin()) {
        batch.take(log.get(from.snapshotId()), from.position());
      }
      List<Commit> pending =
          from.isStart() ? log.from(options.fromTimestamp()) : log.after(from.snapshotId());
      for (Commit commit : pending) {
        if (batch.isFull() || (!batch.isEmpty() && refuses(commit))) {
          break;
        }
        requireReadable(commit);
        batch.take(commit, 0);
      }
      return batch.end.isStart() ? null : batch.end;
    }
  }

  private static boolean isAppend(Commit commit) {
    return commit.operation().equals("append");
  }

  private boolean refuses(Commit commit) {
    return switch (commit.operation()) {
      case "append", "replace" -> false;
      case "delete" -> !options.skipDeletes();
      default -> !options.skipOverwrites();
    };
  }

  private void requireReadable(Commit commit) {
    if (refuses(commit)) {
      boolean deletes = commit.operation().equals("delete");
      throw Failures.unsupported(
          "snapshot "
              + commit.id()
              + " of "
              + table.name()
              + (deletes ? " deleted rows" : " changed rows")
              + ", which a stream of what was appended cannot tell; to pass over it say "
              + (deletes ? StreamOptions.SKIP_DELETES : StreamOptions.SKIP_OVERWRITES)
              + "=true");
    }
  }

  /** Finds where a batch ends. */
  private final class BatchEnd {
    private final Table newest;
    private final boolean limited;
    private StreamOffset end;
    private int files;
    private long rows;
    private boolean full;

    BatchEnd(Table newest, StreamOffset start, ReadLimit limit) {
      this.newest = newest;
      this.end = start;
      this.limited = options.limited() && !(limit instanceof ReadAllAvailable);
    }

    boolean isFull() {
      return full;
    }

    boolean isEmpty() {
      return files == 0;
    }

    /** Takes the files of a commit from the {@code done}th on, as far as they fit. */
    void take(Commit commit, int done) {
      long first = end.isStart() ? commit.id() : end.firstSnapshotId();
      if (!isAppend(commit) || !limited) {
        files += isAppend(commit) ? 1 : 0;
        end = StreamOffset.behind(first, commit.id());
        return;
      }
      SnapshotRange whole = SnapshotRange.between(commit.parent(), OptionalLong.of(commit.id()));
      ScanRequest request = ScanRequest.builder().project(List.of()).range(whole).build();
      List<ScanPlan.Appended> added = newest.planScan(request).appended();
      int taken = done;
      while (taken < added.size() && fits(added.get(taken).rowCount())) {
        files++;
        rows = Math.addExact(rows, added.get(taken).rowCount());
        taken++;
      }
      full = taken < added.size();
      if (taken == added.size()) {
        end = StreamOffset.behind(first, commit.id());
      } else if (taken > done) {
        end = StreamOffset.within(first, commit.id(), taken);
      }
    }

    private boolean fits(long rowCount) {
      return isEmpty()
          || (files < options.maxFiles().orElse(Integer.MAX_VALUE)
              && rows + rowCount <= options.maxRows().orElse(Long.MAX_VALUE));
    }
  }

  @Override
  public InputPartition[] planInputPartitions(Offset start, Offset end) {
    StreamOffset from = (StreamOffset) start;
    StreamOffset to = (StreamOffset) end;
    try (Table newest = table.refresh()) {
      requireSameColumns(newest);
      CommitLog log = CommitLog.of(newest, newest.describe().snapshotId().orElse(-1));
      ScanRequest request =
          ScanRequest.builder()
              .project(columns)
              .range(range(log, from, to))
              .minSplits(SparkSession.active().sparkContext().defaultParallelism())
              .build();
      return BenoStreamScan.partitions(newest.planScan(request));
    }
  }

  /** The commits of a batch; each is looked at again, since a restart may have other options. */
  private SnapshotRange range(CommitLog log, StreamOffset from, StreamOffset to) {
    OptionalLong before;
    if (from.isStart()) {
      before = log.get(to.firstSnapshotId()).parent();
    } else if (from.isWithin()) {
      before = log.get(from.snapshotId()).parent();
    } else {
      before = OptionalLong.of(from.snapshotId());
    }
    long last = log.get(to.snapshotId()).id();
    List<Commit> commits = before.isEmpty() ? log.from(before) : log.after(before.getAsLong());
    for (Commit commit : commits) {
      requireReadable(commit);
      if (commit.id() == last) {
        break;
      }
    }
    return new SnapshotRange(
        before,
        OptionalLong.of(last),
        from.isWithin() ? from.position() : 0,
        to.isWithin() ? OptionalInt.of(to.position()) : OptionalInt.empty());
  }

  /** A column that was dropped or has another type since the stream began cannot be given. */
  private void requireSameColumns(Table newest) {
    List<Column> now = newest.describe().columns();
    for (Column column : table.description().columns()) {
      boolean same =
          now.stream().anyMatch(c -> c.id() == column.id() && c.type().equals(column.type()));
      if (columns.contains(column.id()) && !same) {
        throw Failures.unsupported(
            "column '"
                + column.name()
                + "' of "
                + table.name()
                + " was dropped or retyped while the stream ran; restart it");
      }
    }
  }

  @Override
  public PartitionReaderFactory createReaderFactory() {
    StructType all = schema;
    for (StructField field : SparkTypes.toSpark(MetadataColumns.of(table.description())).fields()) {
      all = all.add(UnreadColumns.refused(field, "the column " + field.name() + " in a stream"));
    }
    return new SplitReaderFactory(table.options(), all);
  }

  @Override
  public void commit(Offset end) {}

  @Override
  public void stop() {}

  @Override
  public String toString() {
    return "benostream " + table.name();
  }
}
