package com.benostreamdb.spark;

import com.benostreamdb.CommitRequest;
import com.benostreamdb.Table;
import java.util.List;
import java.util.OptionalLong;
import org.apache.spark.sql.connector.write.BatchWrite;
import org.apache.spark.sql.connector.write.DataWriterFactory;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.PhysicalWriteInfo;
import org.apache.spark.sql.connector.write.SupportsTruncate;
import org.apache.spark.sql.connector.write.Write;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.connector.write.WriterCommitMessage;

/** Appends rows, or replaces all of them. */
final class BenoStreamWriteBuilder implements WriteBuilder, SupportsTruncate {
  private static final List<String> UNSUPPORTED = List.of("branch", "tag", "snapshot-id");

  private final BenoStreamTable table;
  private final Table target;
  private final LogicalWriteInfo info;
  private boolean truncate;

  BenoStreamWriteBuilder(BenoStreamTable table, Table target, LogicalWriteInfo info) {
    for (String option : UNSUPPORTED) {
      if (info.options().containsKey(option)) {
        throw Failures.unsupported("writing with the option '" + option + "' is not there yet");
      }
    }
    this.table = table;
    this.target = target;
    this.info = info;
  }

  @Override
  public WriteBuilder truncate() {
    truncate = true;
    return this;
  }

  @Override
  public Write build() {
    return Failures.analyzed(
        () -> {
          WriteTask task =
              WriteTask.of(
                  target,
                  info.queryId(),
                  info.schema(),
                  target.describe().columns(),
                  table.options());
          return new RowWrite(
              table.name(), task, new JobCommit(target), truncate, target.describe().snapshotId());
        });
  }

  private record RowWrite(
      String tableName,
      WriteTask task,
      JobCommit job,
      boolean truncate,
      OptionalLong baseSnapshotId)
      implements Write, BatchWrite {
    @Override
    public String description() {
      return "benostream " + tableName + (truncate ? ", replacing all rows" : "");
    }

    @Override
    public String toString() {
      return description();
    }

    @Override
    public BatchWrite toBatch() {
      return this;
    }

    @Override
    public DataWriterFactory createBatchWriterFactory(PhysicalWriteInfo physical) {
      return BenoStreamDataWriter.factory(task);
    }

    @Override
    public void commit(WriterCommitMessage[] messages) {
      job.commit(
          messages,
          bytes ->
              truncate
                  ? CommitRequest.overwrite(bytes, baseSnapshotId)
                  : CommitRequest.append(bytes));
    }

    @Override
    public void abort(WriterCommitMessage[] messages) {
      job.abort(messages);
    }
  }
}
