package com.benostreamdb.spark;

import com.benostreamdb.TableWriter;
import java.util.Arrays;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.write.DeltaWriter;
import org.apache.spark.sql.connector.write.DeltaWriterFactory;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.unsafe.types.UTF8String;

/** Writes the position deletes and new rows of one task. */
final class DeltaDataWriter implements DeltaWriter<InternalRow> {
  private static final int MAX_POSITIONS = 65_536;

  private final WriteTask task;
  private final TableWriter writer;
  private final RowBatcher rows;
  private UTF8String file;
  private long[] positions = new long[1024];
  private int count;

  private DeltaDataWriter(WriteTask task) {
    this.task = task;
    writer = task.openWriter();
    try {
      // A DELETE writes no rows and says so by an empty schema.
      rows = task.schema().isEmpty() ? null : task.openBatcher(writer);
    } catch (RuntimeException e) {
      writer.abort();
      throw e;
    }
  }

  /** The factory that Spark ships to executors. */
  static DeltaWriterFactory factory(WriteTask task) {
    return new Factory(task);
  }

  @Override
  public void delete(InternalRow metadata, InternalRow id) {
    UTF8String rowFile = id.getUTF8String(0);
    if (!rowFile.equals(file)) {
      flushPositions();
      file = rowFile.copy();
    }
    if (count == positions.length) {
      if (count == MAX_POSITIONS) {
        flushPositions();
      } else {
        positions = Arrays.copyOf(positions, 2 * count);
      }
    }
    positions[count++] = id.getLong(1);
  }

  @Override
  public void update(InternalRow metadata, InternalRow id, InternalRow row) {
    delete(metadata, id);
    insert(row);
  }

  @Override
  public void reinsert(InternalRow metadata, InternalRow row) {
    insert(row);
  }

  @Override
  public void insert(InternalRow row) {
    rows.add(row);
  }

  private void flushPositions() {
    if (count > 0) {
      writer.delete(file.toString(), positions, count);
      count = 0;
    }
  }

  @Override
  public WriterCommitMessage commit() {
    flushPositions();
    if (rows != null) {
      rows.flush();
    }
    return task.finish(writer);
  }

  @Override
  public void abort() {
    writer.abort();
  }

  @Override
  public void close() {
    if (rows != null) {
      rows.close();
    }
    writer.close();
  }

  private record Factory(WriteTask task) implements DeltaWriterFactory {
    @Override
    public DeltaWriter<InternalRow> createWriter(int partition, long taskId) {
      return new DeltaDataWriter(task);
    }
  }
}
