package com.benostreamdb.arrow;

import com.benostreamdb.memory.NativeMemory;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Fills {@code ArrowArray} and {@code ArrowSchema} structs in memory of its own. Their release does
 * nothing: native code copies before it returns, and this object frees the structs.
 */
final class ArrowStructs implements AutoCloseable {
  private final long release;
  private final List<long[]> blocks = new ArrayList<>();

  ArrowStructs(long release) {
    this.release = release;
  }

  long schema(List<ArrowField> fields) {
    return schema(new ArrowField("", ArrowType.STRUCT, 0, 0, false, Map.of(), fields));
  }

  private long schema(ArrowField field) {
    long schema = block(CData.SCHEMA_SIZE);
    NativeMemory.putLong(schema + CData.SCHEMA_FORMAT, cString(format(field)));
    NativeMemory.putLong(schema + CData.SCHEMA_NAME, cString(field.name()));
    NativeMemory.putLong(schema + CData.SCHEMA_METADATA, metadata(field.metadata()));
    NativeMemory.putLong(schema + CData.SCHEMA_FLAGS, field.nullable() ? CData.FLAG_NULLABLE : 0);
    NativeMemory.putLong(schema + CData.SCHEMA_CHILD_COUNT, field.children().size());
    long children = block(8L * field.children().size());
    for (int i = 0; i < field.children().size(); i++) {
      NativeMemory.putLong(children + 8L * i, schema(field.children().get(i)));
    }
    NativeMemory.putLong(schema + CData.SCHEMA_CHILDREN, children);
    NativeMemory.putLong(schema + CData.SCHEMA_RELEASE, release);
    return schema;
  }

  /** An array struct; 0 stands for an absent buffer. */
  long array(long length, long nullCount, long[] buffers, long[] children) {
    long array = block(CData.ARRAY_SIZE);
    NativeMemory.putLong(array + CData.ARRAY_LENGTH, length);
    NativeMemory.putLong(array + CData.ARRAY_NULL_COUNT, nullCount);
    NativeMemory.putLong(array + CData.ARRAY_BUFFER_COUNT, buffers.length);
    NativeMemory.putLong(array + CData.ARRAY_CHILD_COUNT, children.length);
    NativeMemory.putLong(array + CData.ARRAY_BUFFERS, longs(buffers));
    NativeMemory.putLong(array + CData.ARRAY_CHILDREN, longs(children));
    NativeMemory.putLong(array + CData.ARRAY_RELEASE, release);
    return array;
  }

  private long longs(long[] values) {
    long at = block(8L * values.length);
    for (int i = 0; i < values.length; i++) {
      NativeMemory.putLong(at + 8L * i, values[i]);
    }
    return at;
  }

  private long block(long size) {
    long rounded = Math.max(8, size);
    long address = NativeMemory.allocateZeroed(rounded);
    blocks.add(new long[] {address, rounded});
    return address;
  }

  private long cString(String text) {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    long at = block(bytes.length + 1L);
    NativeMemory.copy(bytes, 0, bytes.length, at);
    return at;
  }

  private long metadata(Map<String, String> pairs) {
    if (pairs.isEmpty()) {
      return 0;
    }
    List<byte[]> texts = new ArrayList<>();
    long size = 4;
    for (Map.Entry<String, String> pair : pairs.entrySet()) {
      texts.add(pair.getKey().getBytes(StandardCharsets.UTF_8));
      texts.add(pair.getValue().getBytes(StandardCharsets.UTF_8));
    }
    for (byte[] text : texts) {
      size += 4L + text.length;
    }
    long start = block(size);
    NativeMemory.putInt(start, pairs.size());
    long at = start + 4;
    for (byte[] text : texts) {
      NativeMemory.putInt(at, text.length);
      NativeMemory.copy(text, 0, text.length, at + 4);
      at += 4L + text.length;
    }
    return start;
  }

  private static String format(ArrowField field) {
    return switch (field.type()) {
      case BOOLEAN -> "b";
      case INT32 -> "i";
      case INT64 -> "l";
      case FLOAT32 -> "f";
      case FLOAT64 -> "g";
      case DECIMAL128 -> "d:" + field.length() + "," + field.scale();
      case DATE32 -> "tdD";
      case TIME_MICROS -> "ttu";
      case TIMESTAMP_MICROS -> "tsu:";
      case TIMESTAMPTZ_MICROS -> "tsu:UTC";
      case UTF8 -> "u";
      case BINARY -> "z";
      case FIXED_SIZE_BINARY -> "w:" + field.length();
      case STRUCT -> "+s";
      case LIST -> "+l";
      case MAP -> "+m";
      case FIXED_SIZE_LIST -> "+w:" + field.length();
    };
  }

  @Override
  public void close() {
    blocks.forEach(block -> NativeMemory.free(block[0], block[1]));
    blocks.clear();
  }
}
