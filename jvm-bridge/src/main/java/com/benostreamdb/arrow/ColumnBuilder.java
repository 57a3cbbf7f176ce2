package com.benostreamdb.arrow;

import com.benostreamdb.memory.NativeBuffer;
import com.benostreamdb.memory.NativeMemory;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.List;
import java.util.stream.Collectors;

/**
 * Builds one column. A nested value is closed after its children: append to the children, then
 * {@link #endList}, {@link #endMap} or {@link #endStruct}. The append must fit the column's type;
 * that is not checked for each value.
 */
public final class ColumnBuilder implements AutoCloseable {
  private static final int START_ROWS = 1024;

  private final ArrowField field;
  private final List<ColumnBuilder> children;
  private final NativeBuffer validity;
  private final NativeBuffer offsets;
  private final NativeBuffer data;
  private int rowCount;
  private int nullCount;

  ColumnBuilder(ArrowField field) {
    this.field = field;
    this.children =
        field.children().stream().map(ColumnBuilder::new).collect(Collectors.toUnmodifiableList());
    this.validity = new NativeBuffer(START_ROWS / 8);
    this.offsets = new NativeBuffer(field.type().hasOffsets() ? 4L * START_ROWS : 0);
    this.data = new NativeBuffer((long) START_ROWS * Math.max(1, field.width()));
    clear();
  }

  /** Name, type and children. */
  public ArrowField field() {
    return field;
  }

  /** Rows appended. */
  public int rowCount() {
    return rowCount;
  }

  /** A child: field of a struct, element of a list. */
  public ColumnBuilder child(int index) {
    return children.get(index);
  }

  /** The keys of a map. */
  public ColumnBuilder keys() {
    return children.get(0).children.get(0);
  }

  /** The values of a map. */
  public ColumnBuilder values() {
    return children.get(0).children.get(1);
  }

  /** Appends NULL, with what the children need. */
  public void appendNull() {
    nullCount++;
    switch (field.type()) {
      case BOOLEAN -> putBit(data, false);
      case UTF8, BINARY -> putOffset(data.size());
      case LIST, MAP -> putOffset(children.get(0).rowCount);
      case STRUCT -> children.forEach(ColumnBuilder::appendNull);
      case FIXED_SIZE_LIST -> {
        for (int i = 0; i < field.length(); i++) {
          children.get(0).appendNull();
        }
      }
      default -> NativeMemory.fill(data.extend(field.width()), field.width(), (byte) 0);
    }
    mark(false);
  }

  public void appendBoolean(boolean value) {
    putBit(data, value);
    mark(true);
  }

  /** An int, or a date in days. */
  public void appendInt(int value) {
    NativeMemory.putInt(data.extend(4), value);
    mark(true);
  }

  /** A long, or a time or timestamp in microseconds. */
  public void appendLong(long value) {
    NativeMemory.putLong(data.extend(8), value);
    mark(true);
  }

  public void appendFloat(float value) {
    NativeMemory.putFloat(data.extend(4), value);
    mark(true);
  }

  public void appendDouble(double value) {
    NativeMemory.putDouble(data.extend(8), value);
    mark(true);
  }

  /** A decimal whose unscaled value fits a long. */
  public void appendDecimal(long unscaled) {
    appendDecimal(unscaled >> 63, unscaled);
  }

  /** A decimal by the halves of its unscaled value. */
  public void appendDecimal(long high, long low) {
    long at = data.extend(16);
    NativeMemory.putLong(at, low);
    NativeMemory.putLong(at + 8, high);
    mark(true);
  }

  /** A decimal of the column's scale and at most its precision. */
  public void appendDecimal(BigDecimal value) {
    BigInteger unscaled = value.setScale(field.scale()).unscaledValue();
    if (unscaled.bitLength() > 127) {
      throw new ArithmeticException("decimal " + value + " does not fit column " + field.name());
    }
    appendDecimal(unscaled.shiftRight(64).longValue(), unscaled.longValue());
  }

  /** A string in UTF-8, a binary, or a fixed-size binary of the right length. */
  public void appendBytes(byte[] value) {
    appendBytes(value, 0, value.length);
  }

  /** A string in UTF-8, a binary, or a fixed-size binary of the right length. */
  public void appendBytes(byte[] value, int offset, int length) {
    NativeMemory.copy(value, offset, length, bytes(length));
    mark(true);
  }

  /** As {@link #appendBytes(byte[])}, from memory. */
  public void appendBytes(long address, int length) {
    NativeMemory.copy(address, bytes(length), length);
    mark(true);
  }

  private long bytes(int length) {
    if (!field.type().hasOffsets() && length != field.length()) {
      throw new IllegalArgumentException(
          "column " + field.name() + " takes " + field.length() + " bytes, not " + length);
    }
    long at = data.extend(length);
    if (field.type().hasOffsets()) {
      putOffset(data.size());
    }
    return at;
  }

  /** Closes a list whose elements were appended to {@code child(0)}. */
  public void endList() {
    if (field.type() == ArrowType.LIST) {
      putOffset(children.get(0).rowCount);
    } else if (children.get(0).rowCount != (rowCount + 1) * field.length()) {
      throw new IllegalArgumentException(
          "column " + field.name() + " takes lists of " + field.length() + " elements");
    }
    mark(true);
  }

  /** Closes a map whose entries were appended to {@code keys()} and {@code values()}. */
  public void endMap() {
    ColumnBuilder entries = children.get(0);
    while (entries.rowCount < keys().rowCount) {
      entries.mark(true);
    }
    putOffset(entries.rowCount);
    mark(true);
  }

  /** Closes a struct whose fields were appended to the children. */
  public void endStruct() {
    mark(true);
  }

  /** Appends a whole list of floats. */
  public void appendFloats(float[] values) {
    children.get(0).putFloats(values);
    endList();
  }

  private void putFloats(float[] values) {
    NativeMemory.copy(values, 0, values.length, data.extend(4L * values.length));
    for (int i = 0; i < values.length; i++) {
      mark(true);
    }
  }

  private void putOffset(long offset) {
    NativeMemory.putInt(offsets.extend(4), (int) offset);
  }

  private void mark(boolean valid) {
    putBit(validity, valid);
    rowCount++;
  }

  private void putBit(NativeBuffer bits, boolean value) {
    int bit = rowCount & 7;
    long at = bit == 0 ? bits.extend(1) : bits.address() + bits.size() - 1;
    int before = bit == 0 ? 0 : NativeMemory.getByte(at);
    NativeMemory.putByte(at, (byte) (value ? before | 1 << bit : before));
  }

  /** Forgets the rows and keeps the memory. */
  void clear() {
    rowCount = 0;
    nullCount = 0;
    validity.clear();
    offsets.clear();
    data.clear();
    if (field.type().hasOffsets()) {
      putOffset(0);
    }
    children.forEach(ColumnBuilder::clear);
  }

  long export(ArrowStructs structs) {
    long[] childArrays = children.stream().mapToLong(child -> child.export(structs)).toArray();
    long bits = nullCount == 0 ? 0 : validity.address();
    long[] buffers =
        switch (field.type()) {
          case STRUCT, FIXED_SIZE_LIST -> new long[] {bits};
          case LIST, MAP -> new long[] {bits, offsets.address()};
          case UTF8, BINARY -> new long[] {bits, offsets.address(), data.address()};
          default -> new long[] {bits, data.address()};
        };
    return structs.array(rowCount, nullCount, buffers, childArrays);
  }

  /** Bytes appended so far, children included. */
  public long sizeBytes() {
    long size = validity.size() + offsets.size() + data.size();
    for (ColumnBuilder child : children) {
      size += child.sizeBytes();
    }
    return size;
  }

  @Override
  public void close() {
    children.forEach(ColumnBuilder::close);
    validity.close();
    offsets.close();
    data.close();
  }
}
