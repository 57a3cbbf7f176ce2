package com.benostreamdb;

import com.benostreamdb.ColumnType.Kind;
import com.benostreamdb.arrow.ArrowColumn;
import com.benostreamdb.arrow.ArrowField;
import com.benostreamdb.arrow.ColumnBuilder;
import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonNull;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.google.gson.JsonPrimitive;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;

/** The cross-language cases: the same file is replayed by the tests of {@code native/abi}. */
final class Cases {
  /** A column, its values, and how the native side prints them. */
  record Case(Column column, List<JsonElement> values, List<String> text) {
    ArrowField field() {
      return ArrowField.of(column);
    }

    @Override
    public String toString() {
      return column.name();
    }
  }

  private Cases() {}

  static List<Case> all() {
    List<Case> cases = new ArrayList<>();
    for (JsonElement element : read().getAsJsonArray()) {
      JsonObject object = element.getAsJsonObject();
      Column column =
          Column.create(object.get("name").getAsString(), type(object.get("type")), false);
      List<String> text = new ArrayList<>();
      object.get("text").getAsJsonArray().forEach(line -> text.add(line.getAsString()));
      cases.add(new Case(column, object.get("values").getAsJsonArray().asList(), text));
    }
    return cases;
  }

  private static JsonElement read() {
    try (InputStream in = Cases.class.getResourceAsStream("/cases.json")) {
      return JsonParser.parseReader(new InputStreamReader(in, StandardCharsets.UTF_8));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static ColumnType type(JsonElement type) {
    if (type.isJsonPrimitive()) {
      String name = type.getAsString();
      return name.equals("uuid")
          ? new ColumnType(Kind.UUID, 16, 0, List.of(), "")
          : ColumnType.of(Kind.valueOf(name.toUpperCase(java.util.Locale.ROOT)));
    }
    Map.Entry<String, JsonElement> entry = type.getAsJsonObject().entrySet().iterator().next();
    JsonElement inner = entry.getValue();
    return switch (entry.getKey()) {
      case "decimal" ->
          ColumnType.decimal(
              inner.getAsJsonArray().get(0).getAsInt(), inner.getAsJsonArray().get(1).getAsInt());
      case "fixed" -> ColumnType.fixed(inner.getAsInt());
      case "list" -> ColumnType.list(Column.create("element", type(inner), false));
      case "map" ->
          ColumnType.map(
              Column.create("key", type(inner.getAsJsonArray().get(0)), true),
              Column.create("value", type(inner.getAsJsonArray().get(1)), false));
      case "struct" -> ColumnType.struct(fields(inner.getAsJsonObject()));
      default -> throw new IllegalArgumentException(entry.getKey());
    };
  }

  private static List<Column> fields(JsonObject object) {
    List<Column> fields = new ArrayList<>();
    object
        .entrySet()
        .forEach(field -> fields.add(Column.create(field.getKey(), type(field.getValue()), false)));
    return fields;
  }

  /** Appends a value of the file. */
  static void append(ColumnBuilder to, JsonElement value) {
    if (value.isJsonNull()) {
      to.appendNull();
      return;
    }
    switch (to.field().type()) {
      case STRUCT -> {
        for (int i = 0; i < to.field().children().size(); i++) {
          append(to.child(i), value.getAsJsonObject().get(to.child(i).field().name()));
        }
        to.endStruct();
      }
      case LIST -> {
        value.getAsJsonArray().forEach(element -> append(to.child(0), element));
        to.endList();
      }
      case MAP -> {
        for (JsonElement entry : value.getAsJsonArray()) {
          append(to.keys(), entry.getAsJsonArray().get(0));
          append(to.values(), entry.getAsJsonArray().get(1));
        }
        to.endMap();
      }
      default -> appendPrimitive(to, value);
    }
  }

  private static void appendPrimitive(ColumnBuilder to, JsonElement value) {
    switch (to.field().type()) {
      case BOOLEAN -> to.appendBoolean(value.getAsBoolean());
      case INT32, DATE32 -> to.appendInt(value.getAsInt());
      case INT64, TIME_MICROS, TIMESTAMP_MICROS, TIMESTAMPTZ_MICROS ->
          to.appendLong(value.getAsLong());
      case FLOAT32 -> to.appendFloat(Float.parseFloat(value.getAsString()));
      case FLOAT64 -> to.appendDouble(Double.parseDouble(value.getAsString()));
      case DECIMAL128 -> to.appendDecimal(new BigDecimal(value.getAsString()));
      case UTF8 -> to.appendBytes(value.getAsString().getBytes(StandardCharsets.UTF_8));
      case BINARY, FIXED_SIZE_BINARY ->
          to.appendBytes(HexFormat.of().parseHex(value.getAsString()));
      default -> throw new IllegalArgumentException(to.field().toString());
    }
  }

  /** The value of a row, as the file would say it. */
  static JsonElement value(ArrowColumn from, int row) {
    if (from.isNull(row)) {
      return JsonNull.INSTANCE;
    }
    switch (from.field().type()) {
      case STRUCT -> {
        JsonObject object = new JsonObject();
        for (int i = 0; i < from.field().children().size(); i++) {
          object.add(from.child(i).field().name(), value(from.child(i), row));
        }
        return object;
      }
      case LIST -> {
        JsonArray array = new JsonArray();
        for (int i = from.start(row); i < from.end(row); i++) {
          array.add(value(from.child(0), i));
        }
        return array;
      }
      case MAP -> {
        JsonArray array = new JsonArray();
        for (int i = from.start(row); i < from.end(row); i++) {
          JsonArray entry = new JsonArray();
          entry.add(value(from.keys(), i));
          entry.add(value(from.values(), i));
          array.add(entry);
        }
        return array;
      }
      case BOOLEAN -> {
        return new JsonPrimitive(from.getBoolean(row));
      }
      default -> {
        return new JsonPrimitive(text(from, row));
      }
    }
  }

  private static String text(ArrowColumn from, int row) {
    return switch (from.field().type()) {
      case INT32, DATE32 -> Integer.toString(from.getInt(row));
      case INT64, TIME_MICROS, TIMESTAMP_MICROS, TIMESTAMPTZ_MICROS ->
          Long.toString(from.getLong(row));
      case FLOAT32 -> Float.toString(from.getFloat(row));
      case FLOAT64 -> Double.toString(from.getDouble(row));
      case DECIMAL128 -> from.getDecimal(row).toPlainString();
      case UTF8 -> new String(from.getBytes(row), StandardCharsets.UTF_8);
      case BINARY, FIXED_SIZE_BINARY -> HexFormat.of().formatHex(from.getBytes(row));
      default -> throw new IllegalArgumentException(from.field().toString());
    };
  }
}
