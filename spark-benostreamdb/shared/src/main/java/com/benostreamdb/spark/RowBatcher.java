package com.benostreamdb.spark;

import com.benostreamdb.TableWriter;
import com.benostreamdb.arrow.ArrowBatchBuilder;
import com.benostreamdb.arrow.ArrowField;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructType;

/** Turns rows into batches for a table writer. */
final class RowBatcher implements AutoCloseable {
  private static final int MAX_ROWS = 16_384;
  private static final long MAX_BYTES = 16L << 20;
  private static final int SIZE_CHECK_ROWS = 64;

  private final TableWriter writer;
  private final ArrowBatchBuilder batch;
  private final ValueAppender[] appenders;

  RowBatcher(TableWriter writer, StructType schema, List<ArrowField> fields) {
    if (schema.size() != fields.size()) {
      throw Failures.invalidInput(
          "rows have " + schema.size() + " columns, the table has " + fields.size());
    }
    this.writer = writer;
    this.appenders = new ValueAppender[schema.size()];
    for (int i = 0; i < appenders.length; i++) {
      appenders[i] = ValueAppender.of(schema.apply(i).dataType(), fields.get(i));
    }
    this.batch = new ArrowBatchBuilder(fields);
  }

  void add(InternalRow row) {
    for (int i = 0; i < appenders.length; i++) {
      appenders[i].appendNullable(row, i, batch.column(i));
    }
    batch.endRow();
    int rows = batch.rowCount();
    if (rows >= MAX_ROWS || (rows % SIZE_CHECK_ROWS == 0 && batch.sizeBytes() >= MAX_BYTES)) {
      flush();
    }
  }

  void flush() {
    if (batch.rowCount() > 0) {
      writer.write(batch);
      batch.clear();
    }
  }

  @Override
  public void close() {
    batch.close();
  }
}
