package com.benostreamdb.arrow;

import com.benostreamdb.memory.NativeMemory;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.List;
import java.util.stream.Collectors;

/**
 * A view of one column by address, pointed at one batch after the other. Rows are not checked
 * against the row count. The native side promises offset 0 and the buffers of the normal form.
 */
public final class ArrowColumn {
  private final ArrowField field;
  private final List<ArrowColumn> children;
  private int rowCount;
  private int nullCount;
  private long validity;
  private long offsets;
  private long data;

  ArrowColumn(ArrowField field) {
    this.field = field;
    this.children =
        field.children().stream().map(ArrowColumn::new).collect(Collectors.toUnmodifiableList());
  }

  void point(long array) {
    if (NativeMemory.getLong(array + CData.ARRAY_OFFSET) != 0) {
      throw new IllegalStateException("column " + field.name() + " has an offset");
    }
    rowCount = Math.toIntExact(NativeMemory.getLong(array + CData.ARRAY_LENGTH));
    nullCount = Math.toIntExact(NativeMemory.getLong(array + CData.ARRAY_NULL_COUNT));
    validity = nullCount == 0 ? 0 : buffer(array, 0);
    offsets = field.type().hasOffsets() ? buffer(array, 1) : 0;
    data = dataBuffer(array);
    long childArrays = NativeMemory.getLong(array + CData.ARRAY_CHILDREN);
    for (int i = 0; i < children.size(); i++) {
      children.get(i).point(NativeMemory.getLong(childArrays + 8L * i));
    }
  }

  private long dataBuffer(long array) {
    if (field.type().isNested()) {
      return 0;
    }
    return buffer(array, field.type().hasOffsets() ? 2 : 1);
  }

  private static long buffer(long array, int index) {
    return NativeMemory.getLong(NativeMemory.getLong(array + CData.ARRAY_BUFFERS) + 8L * index);
  }

  /** Name, type and children. */
  public ArrowField field() {
    return field;
  }

  /** Rows of this column in the current batch. */
  public int rowCount() {
    return rowCount;
  }

  /** NULLs in the current batch. */
  public int nullCount() {
    return nullCount;
  }

  /** Address of the validity bits, lowest bit first; 0 if nothing is NULL. */
  public long validityAddress() {
    return validity;
  }

  /** Address of the 32-bit offsets of strings, binaries, lists and maps, else 0. */
  public long offsetsAddress() {
    return offsets;
  }

  /** Address of the values: bits of booleans, bytes of all else; 0 for nested types. */
  public long dataAddress() {
    return data;
  }

  /** A child: field of a struct, element of a list, entries of a map. */
  public ArrowColumn child(int index) {
    return children.get(index);
  }

  /** The keys of a map. */
  public ArrowColumn keys() {
    return children.get(0).children.get(0);
  }

  /** The values of a map. */
  public ArrowColumn values() {
    return children.get(0).children.get(1);
  }

  public boolean isNull(int row) {
    return validity != 0 && !bit(validity, row);
  }

  private static boolean bit(long bits, int row) {
    return (NativeMemory.getByte(bits + (row >> 3)) >> (row & 7) & 1) != 0;
  }

  public boolean getBoolean(int row) {
    return bit(data, row);
  }

  /** An int, or a date in days. */
  public int getInt(int row) {
    return NativeMemory.getInt(data + 4L * row);
  }

  /** A long, or a time or timestamp in microseconds. */
  public long getLong(int row) {
    return NativeMemory.getLong(data + 8L * row);
  }

  public float getFloat(int row) {
    return NativeMemory.getFloat(data + 4L * row);
  }

  public double getDouble(int row) {
    return NativeMemory.getDouble(data + 8L * row);
  }

  /** The low half of a decimal: the unscaled value, if its precision is at most 18. */
  public long getDecimalLow(int row) {
    return NativeMemory.getLong(data + 16L * row);
  }

  /** The high half of a decimal. */
  public long getDecimalHigh(int row) {
    return NativeMemory.getLong(data + 16L * row + 8);
  }

  public BigDecimal getDecimal(int row) {
    long low = getDecimalLow(row);
    long high = getDecimalHigh(row);
    if (high == low >> 63) {
      return BigDecimal.valueOf(low, field.scale());
    }
    BigInteger unscaled =
        BigInteger.valueOf(high).shiftLeft(64).add(new BigInteger(1, bigEndian(low)));
    return new BigDecimal(unscaled, field.scale());
  }

  private static byte[] bigEndian(long value) {
    byte[] bytes = new byte[8];
    for (int i = 0; i < 8; i++) {
      bytes[i] = (byte) (value >>> (56 - 8 * i));
    }
    return bytes;
  }

  /** Where a string, binary, list or map begins, in bytes or elements. */
  public int start(int row) {
    return NativeMemory.getInt(offsets + 4L * row);
  }

  /** Where a string, binary, list or map ends, in bytes or elements. */
  public int end(int row) {
    return NativeMemory.getInt(offsets + 4L * row + 4);
  }

  /** Address of a string, binary or fixed-size binary. */
  public long bytesAddress(int row) {
    return data + (offsets != 0 ? start(row) : (long) field.length() * row);
  }

  /** Length of a string, binary or fixed-size binary. */
  public int bytesLength(int row) {
    return offsets != 0 ? end(row) - start(row) : field.length();
  }

  /** A copy of a string, binary or fixed-size binary. */
  public byte[] getBytes(int row) {
    return NativeMemory.getBytes(bytesAddress(row), bytesLength(row));
  }
}
