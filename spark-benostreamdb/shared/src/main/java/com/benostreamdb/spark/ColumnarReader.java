package com.benostreamdb.spark;

import com.benostreamdb.BenoStreamException;
import com.benostreamdb.SplitReader;
import com.benostreamdb.arrow.ArrowBatch;
import com.benostreamdb.arrow.ArrowField;
import java.util.List;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/**
 * Reads a split batch by batch. It owns the batch that is open; a batch is valid until the next one
 * or the close. A killed task stops within a slice of waiting.
 */
final class ColumnarReader implements PartitionReader<ColumnarBatch> {
  private final SplitReader reader;
  private final StructType schema;
  private final TaskContext task;
  private ArrowVector[] vectors;
  private ColumnarBatch batch;

  ColumnarReader(SplitReader reader, StructType schema) {
    this.reader = reader;
    this.schema = schema;
    this.task = TaskContext.get();
  }

  @Override
  public boolean next() {
    ArrowBatch next = read();
    if (next == null) {
      return false;
    }
    if (vectors == null) {
      vectors = vectors(next);
      batch = new ColumnarBatch(vectors);
    }
    for (ArrowVector vector : vectors) {
      vector.repoint();
    }
    batch.setNumRows(next.rowCount());
    return true;
  }

  private ArrowBatch read() {
    if (task == null) {
      return reader.next();
    }
    try {
      return reader.next(task::isInterrupted);
    } catch (BenoStreamException e) {
      if (e.kind() == BenoStreamException.Kind.CANCELLED) {
        task.killTaskIfInterrupted();
      }
      throw e;
    }
  }

  /** Projected columns come in the order asked for; a score is found by its name. */
  private ArrowVector[] vectors(ArrowBatch first) {
    ArrowVector[] result = new ArrowVector[schema.size()];
    for (int i = 0; i < result.length; i++) {
      result[i] = ArrowVector.of(schema.apply(i).dataType(), first.column(index(i)));
    }
    return result;
  }

  private int index(int position) {
    String name = schema.apply(position).name();
    List<ArrowField> fields = reader.fields();
    if (!SearchTable.isScore(name)) {
      return position;
    }
    for (int i = fields.size() - 1; i >= 0; i--) {
      if (fields.get(i).name().equals(name)) {
        return i;
      }
    }
    throw Failures.internal("the search gives no column '" + name + "'");
  }

  @Override
  public ColumnarBatch get() {
    return batch;
  }

  @Override
  public void close() {
    reader.close();
  }
}
