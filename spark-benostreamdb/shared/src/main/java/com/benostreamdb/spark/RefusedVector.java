package com.benostreamdb.spark;

import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarArray;
import org.apache.spark.sql.vectorized.ColumnarMap;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A column that a batch does not have and whose values are refused. Spark does not tell a stream
 * which metadata columns a query names, so they stand behind its columns and answer to none.
 */
final class RefusedVector extends ColumnVector {
  private final String message;

  RefusedVector(DataType type, String message) {
    super(type);
    this.message = message;
  }

  private RuntimeException refused() {
    return Failures.unsupported(message);
  }

  @Override
  public void close() {}

  @Override
  public boolean hasNull() {
    throw refused();
  }

  @Override
  public int numNulls() {
    throw refused();
  }

  @Override
  public boolean isNullAt(int row) {
    throw refused();
  }

  @Override
  public boolean getBoolean(int row) {
    throw refused();
  }

  @Override
  public byte getByte(int row) {
    throw refused();
  }

  @Override
  public short getShort(int row) {
    throw refused();
  }

  @Override
  public int getInt(int row) {
    throw refused();
  }

  @Override
  public long getLong(int row) {
    throw refused();
  }

  @Override
  public float getFloat(int row) {
    throw refused();
  }

  @Override
  public double getDouble(int row) {
    throw refused();
  }

  @Override
  public ColumnarArray getArray(int row) {
    throw refused();
  }

  @Override
  public ColumnarMap getMap(int row) {
    throw refused();
  }

  @Override
  public Decimal getDecimal(int row, int precision, int scale) {
    throw refused();
  }

  @Override
  public UTF8String getUTF8String(int row) {
    throw refused();
  }

  @Override
  public byte[] getBinary(int row) {
    throw refused();
  }

  @Override
  public ColumnVector getChild(int ordinal) {
    throw refused();
  }
}
