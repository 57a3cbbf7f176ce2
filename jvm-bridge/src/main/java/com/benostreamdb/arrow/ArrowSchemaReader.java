package com.benostreamdb.arrow;

import com.benostreamdb.memory.NativeMemory;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Reads an {@code ArrowSchema} of the normal form by address. */
public final class ArrowSchemaReader {
  private ArrowSchemaReader() {}

  /** The fields of the struct that stands for a batch. */
  public static List<ArrowField> fields(long schemaAddress) {
    return read(schemaAddress).children();
  }

  private static ArrowField read(long schema) {
    String name = NativeMemory.getCString(NativeMemory.getLong(schema + CData.SCHEMA_NAME));
    String format = NativeMemory.getCString(NativeMemory.getLong(schema + CData.SCHEMA_FORMAT));
    ArrowType type = type(format, name);
    return new ArrowField(
        name,
        type,
        length(type, format),
        type == ArrowType.DECIMAL128 ? number(format.substring(format.indexOf(',') + 1)) : 0,
        (NativeMemory.getLong(schema + CData.SCHEMA_FLAGS) & CData.FLAG_NULLABLE) != 0,
        metadata(NativeMemory.getLong(schema + CData.SCHEMA_METADATA)),
        children(schema));
  }

  private static List<ArrowField> children(long schema) {
    long count = NativeMemory.getLong(schema + CData.SCHEMA_CHILD_COUNT);
    long addresses = NativeMemory.getLong(schema + CData.SCHEMA_CHILDREN);
    List<ArrowField> fields = new ArrayList<>();
    for (long i = 0; i < count; i++) {
      fields.add(read(NativeMemory.getLong(addresses + 8 * i)));
    }
    return fields;
  }

  private static ArrowType type(String format, String name) {
    return switch (format) {
      case "b" -> ArrowType.BOOLEAN;
      case "i" -> ArrowType.INT32;
      case "l" -> ArrowType.INT64;
      case "f" -> ArrowType.FLOAT32;
      case "g" -> ArrowType.FLOAT64;
      case "tdD" -> ArrowType.DATE32;
      case "ttu" -> ArrowType.TIME_MICROS;
      case "tsu:" -> ArrowType.TIMESTAMP_MICROS;
      case "u" -> ArrowType.UTF8;
      case "z" -> ArrowType.BINARY;
      case "+s" -> ArrowType.STRUCT;
      case "+l" -> ArrowType.LIST;
      case "+m" -> ArrowType.MAP;
      default -> parameterized(format, name);
    };
  }

  private static ArrowType parameterized(String format, String name) {
    if (format.startsWith("d:")) {
      return ArrowType.DECIMAL128;
    } else if (format.startsWith("tsu:")) {
      return ArrowType.TIMESTAMPTZ_MICROS;
    } else if (format.startsWith("w:")) {
      return ArrowType.FIXED_SIZE_BINARY;
    } else if (format.startsWith("+w:")) {
      return ArrowType.FIXED_SIZE_LIST;
    }
    throw new IllegalStateException(
        "column " + name + ": Arrow format '" + format + "' is not of the normal form");
  }

  private static int length(ArrowType type, String format) {
    return switch (type) {
      case DECIMAL128 -> number(format.substring(2, format.indexOf(',')));
      case FIXED_SIZE_BINARY -> number(format.substring(2));
      case FIXED_SIZE_LIST -> number(format.substring(3));
      default -> 0;
    };
  }

  private static int number(String text) {
    return Integer.parseInt(text);
  }

  /** Pairs of length-prefixed strings after a count, as the C data interface has it. */
  private static Map<String, String> metadata(long address) {
    Map<String, String> pairs = new HashMap<>();
    if (address == 0) {
      return pairs;
    }
    int count = NativeMemory.getInt(address);
    long at = address + 4;
    for (int i = 0; i < count; i++) {
      String key = text(at);
      at += 4L + NativeMemory.getInt(at);
      pairs.put(key, text(at));
      at += 4L + NativeMemory.getInt(at);
    }
    return pairs;
  }

  private static String text(long at) {
    return new String(
        NativeMemory.getBytes(at + 4, NativeMemory.getInt(at)), StandardCharsets.UTF_8);
  }
}
