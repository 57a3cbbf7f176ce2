package com.benostreamdb.spark;

import com.benostreamdb.arrow.ArrowField;
import com.benostreamdb.arrow.ArrowType;
import com.benostreamdb.arrow.ColumnBuilder;
import java.nio.ByteBuffer;
import java.util.UUID;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.NullType;
import org.apache.spark.sql.types.ShortType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampNTZType;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;

/** Appends the value at one ordinal of a Spark row or array to a column. */
@FunctionalInterface
interface ValueAppender {
  /** Appends a value that is not NULL. */
  void append(SpecializedGetters row, int ordinal, ColumnBuilder column);

  /** Appends a value or NULL. */
  default void appendNullable(SpecializedGetters row, int ordinal, ColumnBuilder column) {
    if (row.isNullAt(ordinal)) {
      column.appendNull();
    } else {
      append(row, ordinal, column);
    }
  }

  /** The appender for values of a Spark type into a column of the table. */
  static ValueAppender of(DataType type, ArrowField field) {
    if (type instanceof StructType struct) {
      return ofStruct(struct, field);
    }
    if (type instanceof ArrayType array) {
      return ofArray(array, field);
    }
    if (type instanceof MapType map) {
      return ofMap(map, field);
    }
    if (type instanceof DecimalType decimal) {
      return ofDecimal(decimal);
    }
    return ofPrimitive(type, field);
  }

  private static ValueAppender ofPrimitive(DataType type, ArrowField field) {
    if (type instanceof BooleanType) {
      return (row, i, column) -> column.appendBoolean(row.getBoolean(i));
    }
    if (type instanceof ByteType) {
      return (row, i, column) -> column.appendInt(row.getByte(i));
    }
    if (type instanceof ShortType) {
      return (row, i, column) -> column.appendInt(row.getShort(i));
    }
    if (type instanceof IntegerType || type instanceof DateType) {
      return (row, i, column) -> column.appendInt(row.getInt(i));
    }
    if (type instanceof LongType
        || type instanceof TimestampType
        || type instanceof TimestampNTZType) {
      return (row, i, column) -> column.appendLong(row.getLong(i));
    }
    if (type instanceof FloatType) {
      return (row, i, column) -> column.appendFloat(row.getFloat(i));
    }
    if (type instanceof DoubleType) {
      return (row, i, column) -> column.appendDouble(row.getDouble(i));
    }
    if (type instanceof BinaryType) {
      return (row, i, column) -> appendBinary(row.getBinary(i), column);
    }
    if (type instanceof StringType && field.type() == ArrowType.FIXED_SIZE_BINARY) {
      return (row, i, column) -> appendUuid(row.getUTF8String(i), column);
    }
    if (type instanceof StringType) {
      return (row, i, column) -> appendText(row.getUTF8String(i), column);
    }
    if (type instanceof NullType) {
      return (row, i, column) -> column.appendNull();
    }
    throw Failures.unsupported(
        "values of type " + type.simpleString() + " cannot be written to '" + field.name() + "'");
  }

  private static ValueAppender ofDecimal(DecimalType type) {
    int precision = type.precision();
    int scale = type.scale();
    if (precision <= Decimal.MAX_LONG_DIGITS()) {
      return (row, i, column) ->
          column.appendDecimal(row.getDecimal(i, precision, scale).toUnscaledLong());
    }
    return (row, i, column) ->
        column.appendDecimal(row.getDecimal(i, precision, scale).toJavaBigDecimal());
  }

  private static ValueAppender ofStruct(StructType type, ArrowField field) {
    ValueAppender[] fields = new ValueAppender[type.size()];
    for (int i = 0; i < fields.length; i++) {
      fields[i] = of(type.apply(i).dataType(), field.children().get(i));
    }
    return (row, ordinal, column) -> {
      InternalRow struct = row.getStruct(ordinal, fields.length);
      for (int i = 0; i < fields.length; i++) {
        fields[i].appendNullable(struct, i, column.child(i));
      }
      column.endStruct();
    };
  }

  private static ValueAppender ofArray(ArrayType type, ArrowField field) {
    ValueAppender element = of(type.elementType(), field.children().get(0));
    boolean isVector = type.elementType() instanceof FloatType;
    return (row, ordinal, column) -> {
      ArrayData array = row.getArray(ordinal);
      if (isVector && !hasNull(array)) {
        column.appendFloats(array.toFloatArray());
        return;
      }
      appendElements(array, element, column.child(0));
      column.endList();
    };
  }

  private static ValueAppender ofMap(MapType type, ArrowField field) {
    ArrowField entries = field.children().get(0);
    ValueAppender key = of(type.keyType(), entries.children().get(0));
    ValueAppender value = of(type.valueType(), entries.children().get(1));
    return (row, ordinal, column) -> {
      MapData map = row.getMap(ordinal);
      appendElements(map.keyArray(), key, column.keys());
      appendElements(map.valueArray(), value, column.values());
      column.endMap();
    };
  }

  private static void appendElements(ArrayData array, ValueAppender element, ColumnBuilder column) {
    int count = array.numElements();
    for (int i = 0; i < count; i++) {
      element.appendNullable(array, i, column);
    }
  }

  private static boolean hasNull(ArrayData array) {
    int count = array.numElements();
    for (int i = 0; i < count; i++) {
      if (array.isNullAt(i)) {
        return true;
      }
    }
    return false;
  }

  private static void appendText(UTF8String text, ColumnBuilder column) {
    Object base = text.getBaseObject();
    int length = text.numBytes();
    if (base == null) {
      column.appendBytes(text.getBaseOffset(), length);
    } else if (base instanceof byte[] bytes) {
      int start = Math.toIntExact(text.getBaseOffset() - Platform.BYTE_ARRAY_OFFSET);
      column.appendBytes(bytes, start, length);
    } else {
      column.appendBytes(text.getBytes());
    }
  }

  private static void appendBinary(byte[] bytes, ColumnBuilder column) {
    ArrowField field = column.field();
    if (field.type() == ArrowType.FIXED_SIZE_BINARY && bytes.length != field.length()) {
      throw Failures.invalidInput(
          "column '" + field.name() + "' takes " + field.length() + " bytes, not " + bytes.length);
    }
    column.appendBytes(bytes);
  }

  private static void appendUuid(UTF8String text, ColumnBuilder column) {
    UUID uuid;
    try {
      uuid = UUID.fromString(text.toString());
    } catch (IllegalArgumentException e) {
      throw Failures.invalidInput(
          "column '" + column.field().name() + "' takes a uuid, not '" + text + "'");
    }
    column.appendBytes(
        ByteBuffer.allocate(16)
            .putLong(uuid.getMostSignificantBits())
            .putLong(uuid.getLeastSignificantBits())
            .array());
  }
}
