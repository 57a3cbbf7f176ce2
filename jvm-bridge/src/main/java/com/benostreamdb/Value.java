package com.benostreamdb;

import java.math.BigDecimal;
import java.util.UUID;

/** A literal of the column's own type. */
public sealed interface Value {
  /** A boolean. */
  record BooleanValue(boolean value) implements Value {}

  /** An int. */
  record IntValue(int value) implements Value {}

  /** A long. */
  record LongValue(long value) implements Value {}

  /** A float. */
  record FloatValue(float value) implements Value {}

  /** A double. */
  record DoubleValue(double value) implements Value {}

  /** A decimal of the column's precision; the scale is the value's own and must be the column's. */
  record DecimalValue(BigDecimal value, int precision) implements Value {}

  /** Days since 1970-01-01. */
  record DateValue(int days) implements Value {}

  /** Microseconds since midnight. */
  record TimeValue(long micros) implements Value {}

  /** Microseconds since 1970-01-01, no zone. */
  record TimestampValue(long micros) implements Value {}

  /** Microseconds since 1970-01-01 UTC. */
  record TimestampTzValue(long micros) implements Value {}

  /** A string. */
  record StringValue(String value) implements Value {}

  /** A UUID. */
  record UuidValue(UUID value) implements Value {}

  /** Bytes of a fixed length; not copied. */
  record FixedValue(byte[] value) implements Value {}

  /** Bytes; not copied. */
  record BinaryValue(byte[] value) implements Value {}
}
