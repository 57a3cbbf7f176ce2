package com.benostreamdb.arrow;

/** The Arrow types of the normal form: what batches hold in both directions. */
public enum ArrowType {
  BOOLEAN(0),
  INT32(4),
  INT64(8),
  FLOAT32(4),
  FLOAT64(8),
  /** 16 bytes, little endian; precision and scale in the field. */
  DECIMAL128(16),
  /** Days since 1970-01-01. */
  DATE32(4),
  /** Microseconds since midnight. */
  TIME_MICROS(8),
  /** Microseconds since 1970-01-01, no zone. */
  TIMESTAMP_MICROS(8),
  /** Microseconds since 1970-01-01 UTC. */
  TIMESTAMPTZ_MICROS(8),
  UTF8(0),
  BINARY(0),
  /** The length stands in the field. */
  FIXED_SIZE_BINARY(0),
  STRUCT(0),
  LIST(0),
  /** One child, a struct of key and value. */
  MAP(0),
  /** Only written, for vectors of a declared dimension; the length stands in the field. */
  FIXED_SIZE_LIST(0);

  private final int width;

  ArrowType(int width) {
    this.width = width;
  }

  /** Bytes of a value; 0 where that is not fixed by the type. */
  public int width() {
    return width;
  }

  boolean hasOffsets() {
    return this == UTF8 || this == BINARY || this == LIST || this == MAP;
  }

  boolean isNested() {
    return this == STRUCT || this == LIST || this == MAP || this == FIXED_SIZE_LIST;
  }
}
