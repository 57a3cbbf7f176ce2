package com.benostreamdb.spark;

import com.benostreamdb.ColumnType;
import com.benostreamdb.Value;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.UUID;
import java.util.function.Supplier;
import org.apache.spark.sql.connector.expressions.Literal;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.TimestampNTZType;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.unsafe.types.UTF8String;

/** Spark's literals as values of a column's own type; empty where they are not exactly that. */
final class Literals {
  private Literals() {}

  static Optional<Value> toValue(Literal<?> literal, ColumnType type) {
    DataType literalType = literal.dataType();
    Object value = literal.value();
    return switch (type.kind()) {
      case BOOLEAN ->
          when(literalType instanceof BooleanType, () -> new Value.BooleanValue((Boolean) value));
      case INT ->
          when(literalType instanceof IntegerType, () -> new Value.IntValue((Integer) value));
      case LONG -> when(literalType instanceof LongType, () -> new Value.LongValue((Long) value));
      case FLOAT ->
          when(literalType instanceof FloatType, () -> new Value.FloatValue((Float) value));
      case DOUBLE ->
          when(literalType instanceof DoubleType, () -> new Value.DoubleValue((Double) value));
      case DECIMAL -> literalType instanceof DecimalType ? decimal(value, type) : Optional.empty();
      case DATE ->
          when(literalType instanceof DateType, () -> new Value.DateValue((Integer) value));
      case TIMESTAMP ->
          when(
              literalType instanceof TimestampNTZType,
              () -> new Value.TimestampValue((Long) value));
      case TIMESTAMPTZ ->
          when(
              literalType instanceof TimestampType, () -> new Value.TimestampTzValue((Long) value));
      case STRING ->
          isPlainString(literalType) ? text(value).map(Value.StringValue::new) : Optional.empty();
      case UUID -> isPlainString(literalType) ? uuid(value) : Optional.empty();
      case FIXED ->
          when(
              literalType instanceof BinaryType && ((byte[]) value).length == type.precision(),
              () -> new Value.FixedValue((byte[]) value));
      case BINARY ->
          when(literalType instanceof BinaryType, () -> new Value.BinaryValue((byte[]) value));
      case TIME, STRUCT, LIST, MAP, UNKNOWN -> Optional.empty();
    };
  }

  /** A string type whose values compare by their bytes: collations of Spark 4 do not. */
  private static boolean isPlainString(DataType type) {
    return type.equals(DataTypes.StringType);
  }

  private static Optional<Value> decimal(Object value, ColumnType type) {
    BigDecimal exact = ((Decimal) value).toJavaBigDecimal();
    if (exact.stripTrailingZeros().scale() > type.scale()) {
      return Optional.empty();
    }
    BigDecimal rescaled = exact.setScale(type.scale(), RoundingMode.UNNECESSARY);
    if (rescaled.precision() > type.precision()) {
      return Optional.empty();
    }
    return Optional.of(new Value.DecimalValue(rescaled, type.precision()));
  }

  /** Java's decoding would silently replace bytes that are not UTF-8. */
  private static Optional<String> text(Object value) {
    try {
      CharBuffer text =
          StandardCharsets.UTF_8
              .newDecoder()
              .decode(ByteBuffer.wrap(((UTF8String) value).getBytes()));
      return Optional.of(text.toString());
    } catch (CharacterCodingException e) {
      return Optional.empty();
    }
  }

  /** Only the form in which the column is shown, so that text and value are equal together. */
  private static Optional<Value> uuid(Object value) {
    try {
      UUID uuid = UUID.fromString(value.toString());
      return uuid.toString().equals(value.toString())
          ? Optional.of(new Value.UuidValue(uuid))
          : Optional.empty();
    } catch (IllegalArgumentException e) {
      return Optional.empty();
    }
  }

  private static Optional<Value> when(boolean matches, Supplier<Value> value) {
    return matches ? Optional.of(value.get()) : Optional.empty();
  }
}
