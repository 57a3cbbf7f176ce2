package com.benostreamdb.spark;

import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.apache.iceberg.Schema;
import org.apache.iceberg.data.GenericRecord;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;

/** Values of small domains, so that filters and deletes meet rows. */
final class RandomValues {
  private static final String[] TEXTS = {"", "a", "ab", "b", "zz", "é", "Straße", "a b"};
  private static final double[] NUMBERS = {0.0, -0.0, 1.5, -2.25, Double.NaN, 1e10};

  private final Random random;

  RandomValues(Random random) {
    this.random = random;
  }

  static Schema schema() {
    return new Schema(
        Types.NestedField.optional(1, "id", Types.LongType.get()),
        Types.NestedField.optional(2, "a", Types.IntegerType.get()),
        Types.NestedField.optional(3, "b", Types.StringType.get()),
        Types.NestedField.optional(4, "c", Types.FloatType.get()),
        Types.NestedField.optional(5, "d", Types.DateType.get()),
        Types.NestedField.optional(6, "e", Types.DecimalType.of(9, 2)),
        Types.NestedField.optional(
            7,
            "s",
            Types.StructType.of(
                Types.NestedField.optional(8, "x", Types.IntegerType.get()),
                Types.NestedField.optional(9, "y", Types.StringType.get()))),
        Types.NestedField.optional(10, "t", Types.TimestampType.withoutZone()),
        Types.NestedField.optional(
            11, "l", Types.ListType.ofOptional(12, Types.IntegerType.get())));
  }

  Record record(Schema schema) {
    return record(schema.asStruct());
  }

  private Record record(Types.StructType type) {
    Record record = GenericRecord.create(type);
    for (Types.NestedField field : type.fields()) {
      record.setField(field.name(), random.nextInt(7) == 0 ? null : value(field.type()));
    }
    return record;
  }

  Object value(Type type) {
    return switch (type.typeId()) {
      case INTEGER -> random.nextInt(12) - 3;
      case LONG -> random.nextInt(60) - 5L;
      case FLOAT -> (float) NUMBERS[random.nextInt(NUMBERS.length)];
      case DOUBLE -> NUMBERS[random.nextInt(NUMBERS.length)];
      case STRING -> TEXTS[random.nextInt(TEXTS.length)];
      case DATE -> LocalDate.ofEpochDay(random.nextInt(80) - 40L);
      case TIMESTAMP ->
          LocalDateTime.of(1969, 12, 31, 20, 0).plusMinutes(random.nextInt(900)).plusNanos(1_000);
      case DECIMAL ->
          BigDecimal.valueOf(random.nextInt(400) - 200L, ((Types.DecimalType) type).scale());
      case BINARY -> ByteBuffer.wrap(new byte[] {(byte) random.nextInt(3), -1});
      case BOOLEAN -> random.nextBoolean();
      case STRUCT -> record(type.asStructType());
      case LIST -> {
        List<Object> list = new ArrayList<>();
        for (int i = random.nextInt(4); i > 0; i--) {
          list.add(random.nextInt(5) == 0 ? null : value(type.asListType().elementType()));
        }
        yield list;
      }
      default -> throw new IllegalArgumentException(type.toString());
    };
  }
}
