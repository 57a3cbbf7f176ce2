package com.benostreamdb.spark;

import com.benostreamdb.BenoStreamException;
import com.benostreamdb.SplitReader;
import com.benostreamdb.arrow.ArrowBatch;
import com.benostreamdb.arrow.ArrowField;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/**
 * Reads a split batch by batch. It owns the batch that is open; a batch is valid until the next one
 * or the close. A killed task stops within a slice of waiting.
 */
final class ColumnarReader implements PartitionReader<ColumnarBatch> {
  private final SplitReader reader;
  private final StructType schema;
  private final TaskContext task;
  private List<ArrowVector> vectors;
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
      vectors = new ArrayList<>();
      batch = new ColumnarBatch(columns(next));
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
  private ColumnVector[] columns(ArrowBatch first) {
    ColumnVector[] result = new ColumnVector[schema.size()];
    for (int i = 0; i < result.length; i++) {
      StructField field = schema.apply(i);
      if (UnreadColumns.isUnread(field)) {
        result[i] = UnreadColumns.vector(field);
        continue;
      }
      ArrowVector vector =
          ArrowVector.of(field.dataType(), first.column(index(field.name(), vectors.size())));
      vectors.add(vector);
      result[i] = vector;
    }
    return result;
  }

  private int index(String name, int position) {
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
