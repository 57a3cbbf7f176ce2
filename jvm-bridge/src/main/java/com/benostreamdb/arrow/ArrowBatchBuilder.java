package com.benostreamdb.arrow;

import java.util.List;
import java.util.function.LongBinaryOperator;
import java.util.stream.Collectors;

/**
 * Builds batches in native memory of its own. Append one value to every column, then {@link
 * #endRow}. Not thread safe; reusable after {@link #clear}; frees its memory on close.
 */
public final class ArrowBatchBuilder implements AutoCloseable {
  private final List<ArrowField> fields;
  private final List<ColumnBuilder> columns;
  private int rowCount;

  /** An empty batch of these columns. */
  public ArrowBatchBuilder(List<ArrowField> fields) {
    this.fields = List.copyOf(fields);
    this.columns = fields.stream().map(ColumnBuilder::new).collect(Collectors.toUnmodifiableList());
  }

  /** The columns. */
  public List<ArrowField> fields() {
    return fields;
  }

  /** Where values of a column go. */
  public ColumnBuilder column(int index) {
    return columns.get(index);
  }

  /** Counts a row whose values have been appended. */
  public void endRow() {
    rowCount++;
  }

  /** Rows counted. */
  public int rowCount() {
    return rowCount;
  }

  /** Bytes appended so far. */
  public long sizeBytes() {
    long size = 0;
    for (ColumnBuilder column : columns) {
      size += column.sizeBytes();
    }
    return size;
  }

  /** Forgets the rows and keeps the memory. */
  public void clear() {
    rowCount = 0;
    columns.forEach(ColumnBuilder::clear);
  }

  /**
   * Hands the batch to {@code use} as addresses of {@code ArrowArray} and {@code ArrowSchema}; they
   * are valid only inside the call.
   *
   * @param release address of a release function that does nothing
   */
  public long export(long release, LongBinaryOperator use) {
    for (ColumnBuilder column : columns) {
      if (column.rowCount() != rowCount) {
        throw new IllegalStateException(
            "column "
                + column.field().name()
                + " has "
                + column.rowCount()
                + " rows, the batch has "
                + rowCount);
      }
    }
    try (ArrowStructs structs = new ArrowStructs(release)) {
      long[] children = columns.stream().mapToLong(column -> column.export(structs)).toArray();
      long array = structs.array(rowCount, 0, new long[] {0}, children);
      return use.applyAsLong(array, structs.schema(fields));
    }
  }

  @Override
  public void close() {
    columns.forEach(ColumnBuilder::close);
  }
}
