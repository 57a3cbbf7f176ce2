package com.benostreamdb.spark;

import com.benostreamdb.arrow.ArrowColumn;
import java.math.BigDecimal;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarArray;
import org.apache.spark.sql.vectorized.ColumnarMap;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A column of the current batch by address. Vectors are reused from batch to batch and own nothing:
 * generated code closes them after every batch, the reader frees the memory.
 */
class ArrowVector extends ColumnVector {
  private static final ArrowVector[] NONE = {};

  protected final ArrowColumn column;
  private final ArrowVector[] children;
  private int nullCount;
  private long validity;
  private long offsets;
  private long data;

  ArrowVector(DataType type, ArrowColumn column) {
    super(type);
    this.column = column;
    this.children = children(type, column);
  }

  /** The vector that shows {@code column} as a Spark type. */
  static ArrowVector of(DataType type, ArrowColumn column) {
    return switch (column.field().type()) {
      case TIME_MICROS -> TextVector.ofTime(type, column);
      // Only uuid is shown as text; a fixed is binary.
      case FIXED_SIZE_BINARY ->
          type.equals(DataTypes.StringType)
              ? TextVector.ofUuid(type, column)
              : new ArrowVector(type, column);
      default -> new ArrowVector(type, column);
    };
  }

  private static ArrowVector[] children(DataType type, ArrowColumn column) {
    if (type instanceof ArrayType array) {
      return new ArrowVector[] {of(array.elementType(), column.child(0))};
    }
    if (type instanceof MapType map) {
      return new ArrowVector[] {
        of(map.keyType(), column.keys()), of(map.valueType(), column.values())
      };
    }
    if (type instanceof StructType struct) {
      ArrowVector[] fields = new ArrowVector[struct.size()];
      for (int i = 0; i < fields.length; i++) {
        fields[i] = of(struct.apply(i).dataType(), column.child(i));
      }
      return fields;
    }
    return NONE;
  }

  /** Takes the addresses of the column's current batch. */
  final void repoint() {
    nullCount = column.nullCount();
    validity = column.validityAddress();
    offsets = column.offsetsAddress();
    data = column.dataAddress();
    for (ArrowVector child : children) {
      child.repoint();
    }
  }

  @Override
  public void close() {}

  @Override
  public void closeIfFreeable() {}

  @Override
  public boolean hasNull() {
    return nullCount > 0;
  }

  @Override
  public int numNulls() {
    return nullCount;
  }

  @Override
  public boolean isNullAt(int row) {
    return validity != 0 && !bit(validity, row);
  }

  @Override
  public boolean getBoolean(int row) {
    return bit(data, row);
  }

  private static boolean bit(long bits, int row) {
    return (Platform.getByte(null, bits + (row >> 3)) >> (row & 7) & 1) != 0;
  }

  @Override
  public byte getByte(int row) {
    return (byte) getInt(row);
  }

  @Override
  public short getShort(int row) {
    return (short) getInt(row);
  }

  @Override
  public int getInt(int row) {
    return Platform.getInt(null, data + 4L * row);
  }

  @Override
  public long getLong(int row) {
    return Platform.getLong(null, data + 8L * row);
  }

  @Override
  public float getFloat(int row) {
    return Platform.getFloat(null, data + 4L * row);
  }

  @Override
  public float[] getFloats(int row, int count) {
    float[] values = new float[count];
    Platform.copyMemory(null, data + 4L * row, values, Platform.FLOAT_ARRAY_OFFSET, 4L * count);
    return values;
  }

  @Override
  public double getDouble(int row) {
    return Platform.getDouble(null, data + 8L * row);
  }

  @Override
  public Decimal getDecimal(int row, int precision, int scale) {
    if (isNullAt(row)) {
      return null;
    }
    if (precision <= Decimal.MAX_LONG_DIGITS()) {
      return Decimal.createUnsafe(Platform.getLong(null, data + 16L * row), precision, scale);
    }
    BigDecimal value = column.getDecimal(row);
    return Decimal.apply(value, precision, scale);
  }

  @Override
  public UTF8String getUTF8String(int row) {
    if (isNullAt(row)) {
      return null;
    }
    int start = Platform.getInt(null, offsets + 4L * row);
    int end = Platform.getInt(null, offsets + 4L * row + 4);
    return UTF8String.fromAddress(null, data + start, end - start);
  }

  @Override
  public byte[] getBinary(int row) {
    return isNullAt(row) ? null : column.getBytes(row);
  }

  @Override
  public ColumnarArray getArray(int row) {
    if (isNullAt(row)) {
      return null;
    }
    int start = Platform.getInt(null, offsets + 4L * row);
    int end = Platform.getInt(null, offsets + 4L * row + 4);
    return new ColumnarArray(children[0], start, end - start);
  }

  @Override
  public ColumnarMap getMap(int row) {
    if (isNullAt(row)) {
      return null;
    }
    int start = Platform.getInt(null, offsets + 4L * row);
    int end = Platform.getInt(null, offsets + 4L * row + 4);
    return new ColumnarMap(children[0], children[1], start, end - start);
  }

  @Override
  public ColumnVector getChild(int ordinal) {
    return children[ordinal];
  }
}
