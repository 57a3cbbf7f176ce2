package com.benostreamdb.spark;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.apache.spark.sql.Row;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The rows that other engines gave of a table, as {@code expected.json} keeps them: DuckDB's cells
 * as Python prints them, or Java's whole rows. Compared word by word, whoever printed them.
 */
final class OracleRows {
  /** The length at which the oracles' values were cut. */
  private static final int CUT_LENGTH = 200;

  private static final Pattern SEPARATORS = Pattern.compile("[\\s{}\\[\\]()'\",=]+");
  private static final Pattern MOMENT =
      Pattern.compile(
          "(?:(\\d{4}-\\d\\d-\\d\\d)T)?(\\d\\d:\\d\\d(?::\\d\\d(?:\\.\\d+)?)?)(?:Z|\\+00:00)?");

  /** Words of one row; a cut row may go on behind them, Java's may end with a position. */
  private record Words(List<String> words, boolean cut, boolean position) {
    boolean equalTo(List<String> ours) {
      int more = ours.size() - words.size();
      boolean sized = more == 0 || (cut && more > 0) || (position && more == -1);
      return sized
          && IntStream.range(0, Math.min(ours.size(), words.size()))
              .allMatch(i -> same(ours.get(i), words.get(i)));
    }
  }

  private final List<Words> rows = new ArrayList<>();
  private final boolean names;

  private OracleRows(JsonNode table) {
    names = table.path("rows_duckdb").isArray();
    for (JsonNode row : table.path(names ? "rows_duckdb" : "rows_java")) {
      rows.add(names ? cells(row) : new Words(words(row.asText()), false, true));
    }
  }

  static OracleRows of(JsonNode table) {
    return new OracleRows(table);
  }

  /** What is wrong with these rows; each row of the oracle is used once. */
  Optional<String> unequal(List<Row> ours) {
    if (ours.size() != rows.size()) {
      return Optional.of(ours.size() + " rows, the oracle kept " + rows.size());
    }
    List<Words> left = new ArrayList<>(rows);
    for (Row row : ours) {
      List<String> words = new ArrayList<>();
      for (int i = 0; i < row.size(); i++) {
        add(row.get(i), words);
      }
      Optional<Words> equal = left.stream().filter(other -> other.equalTo(words)).findFirst();
      if (equal.isEmpty()) {
        return Optional.of(words + " is not among " + left);
      }
      left.remove(equal.get());
    }
    return Optional.empty();
  }

  /** A cell that was cut ends the words of its row. */
  private static Words cells(JsonNode row) {
    List<String> words = new ArrayList<>();
    for (JsonNode cell : row) {
      words.addAll(words(cell.asText()));
      if (cell.asText().codePointCount(0, cell.asText().length()) == CUT_LENGTH) {
        return new Words(words.subList(0, words.size() - 1), true, false);
      }
    }
    return new Words(words, false, false);
  }

  private static List<String> words(String text) {
    List<String> spelled = new ArrayList<>();
    for (String part : SEPARATORS.split(text)) {
      String word = part.replaceAll(":+$", "");
      Matcher moment = MOMENT.matcher(word);
      if (moment.matches()) {
        if (moment.group(1) != null) {
          spelled.add(moment.group(1));
        }
        String time = moment.group(2);
        spelled.add(
            time.contains(".") ? time.replaceAll("\\.?0+$", "") : (time + ":00").substring(0, 8));
        continue;
      }
      switch (word) {
        case "", "Record", "Decimal" -> {}
        case "None", "NULL" -> spelled.add("null");
        case "True", "False" -> spelled.add(word.equals("True") ? "true" : "false");
        default -> spelled.add(word);
      }
    }
    return spelled;
  }

  private void add(Object value, List<String> words) {
    if (value instanceof Row struct) {
      for (int i = 0; i < struct.size(); i++) {
        if (names) {
          words.addAll(words(struct.schema().apply(i).name()));
        }
        add(struct.get(i), words);
      }
    } else if (value instanceof scala.collection.Seq<?> list) {
      CollectionConverters.asJava(list).forEach(item -> add(item, words));
    } else if (value instanceof scala.collection.Map<?, ?> map) {
      for (Map.Entry<?, ?> entry : CollectionConverters.asJava(map).entrySet()) {
        add(entry.getKey(), words);
        add(entry.getValue(), words);
      }
    } else if (value instanceof byte[] bytes) {
      words.addAll(words(pythonBytes(bytes)));
    } else if (value instanceof java.sql.Timestamp moment) {
      words.addAll(words(moment.toInstant().toString()));
    } else {
      words.addAll(words(String.valueOf(value)));
    }
  }

  private static String pythonBytes(byte[] bytes) {
    StringBuilder text = new StringBuilder("b'");
    for (byte value : bytes) {
      if (value >= ' ' && value <= '~') {
        text.append(new String(new byte[] {value}, StandardCharsets.US_ASCII));
      } else {
        text.append(String.format("\\x%02x", value));
      }
    }
    return text.append('\'').toString();
  }

  /** Numbers with a fraction are equal as far as a 32-bit float tells them apart. */
  private static boolean same(String ours, String theirs) {
    if (ours.equals(theirs)) {
      return true;
    }
    boolean fraction = Arrays.asList(ours, theirs).stream().anyMatch(word -> word.contains("."));
    try {
      double a = Double.parseDouble(ours);
      return fraction && Math.abs(a - Double.parseDouble(theirs)) <= 1e-7 * Math.abs(a);
    } catch (NumberFormatException e) {
      return false;
    }
  }
}
