package com.benostreamdb.spark;

import com.benostreamdb.TableWriter;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.DataWriterFactory;
import org.apache.spark.sql.connector.write.WriterCommitMessage;

/** Writes the rows of one task. */
final class BenoStreamDataWriter implements DataWriter<InternalRow> {
  private final WriteTask task;
  private final TableWriter writer;
  private final RowBatcher rows;

  private BenoStreamDataWriter(WriteTask task) {
    this.task = task;
    writer = task.openWriter();
    try {
      rows = task.openBatcher(writer);
    } catch (RuntimeException e) {
      writer.abort();
      throw e;
    }
  }

  /** The factory that Spark ships to executors. */
  static DataWriterFactory factory(WriteTask task) {
    return new Factory(task);
  }

  @Override
  public void write(InternalRow row) {
    rows.add(row);
  }

  @Override
  public WriterCommitMessage commit() {
    rows.flush();
    return task.finish(writer);
  }

  @Override
  public void abort() {
    writer.abort();
  }

  @Override
  public void close() {
    rows.close();
    writer.close();
  }

  private record Factory(WriteTask task) implements DataWriterFactory {
    @Override
    public DataWriter<InternalRow> createWriter(int partition, long taskId) {
      return new BenoStreamDataWriter(task);
    }
  }
}
