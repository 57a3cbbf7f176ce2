package com.benostreamdb.spark;

import com.benostreamdb.arrow.ArrowColumn;
import java.nio.ByteBuffer;
import java.time.LocalTime;
import java.time.format.DateTimeFormatter;
import java.util.UUID;
import java.util.function.IntFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.unsafe.types.UTF8String;

/** A column that Spark sees as text because it has no such type: uuid and time of day. */
final class TextVector extends ArrowVector {
  private final IntFunction<String> text;

  private TextVector(DataType type, ArrowColumn column, IntFunction<String> text) {
    super(type, column);
    this.text = text;
  }

  static TextVector ofUuid(DataType type, ArrowColumn column) {
    return new TextVector(
        type,
        column,
        row -> {
          ByteBuffer bytes = ByteBuffer.wrap(column.getBytes(row));
          return new UUID(bytes.getLong(), bytes.getLong()).toString();
        });
  }

  static TextVector ofTime(DataType type, ArrowColumn column) {
    return new TextVector(
        type,
        column,
        row ->
            DateTimeFormatter.ISO_LOCAL_TIME.format(
                LocalTime.ofNanoOfDay(Math.multiplyExact(column.getLong(row), 1_000L))));
  }

  @Override
  public UTF8String getUTF8String(int row) {
    return isNullAt(row) ? null : UTF8String.fromString(text.apply(row));
  }
}
