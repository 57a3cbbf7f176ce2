package com.benostreamdb.arrow;

import com.benostreamdb.memory.NativeMemory;
import java.util.List;
import java.util.stream.Collectors;

/**
 * A view of a batch by address. The same object is pointed at each batch of a reader: what it shows
 * is valid until the reader's next {@code next()} or {@code close()}.
 */
public final class ArrowBatch {
  private final List<ArrowColumn> columns;
  private int rowCount;

  /** A view that is not pointed at anything yet. */
  public ArrowBatch(List<ArrowField> fields) {
    columns = fields.stream().map(ArrowColumn::new).collect(Collectors.toUnmodifiableList());
  }

  /** Points the view at the struct array of a batch. */
  public void point(long arrayAddress) {
    rowCount = Math.toIntExact(NativeMemory.getLong(arrayAddress + CData.ARRAY_LENGTH));
    long count = NativeMemory.getLong(arrayAddress + CData.ARRAY_CHILD_COUNT);
    if (count != columns.size()) {
      throw new IllegalStateException("batch of " + count + " columns, expected " + columns.size());
    }
    long children = NativeMemory.getLong(arrayAddress + CData.ARRAY_CHILDREN);
    for (int i = 0; i < columns.size(); i++) {
      columns.get(i).point(NativeMemory.getLong(children + 8L * i));
    }
  }

  /** Rows, also of a batch without columns. */
  public int rowCount() {
    return rowCount;
  }

  /** The columns in output order. */
  public List<ArrowColumn> columns() {
    return columns;
  }

  /** One column. */
  public ArrowColumn column(int index) {
    return columns.get(index);
  }
}
