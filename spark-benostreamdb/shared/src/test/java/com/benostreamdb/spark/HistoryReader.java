package com.benostreamdb.spark;

import com.benostreamdb.AsOf;
import com.benostreamdb.Column;
import com.benostreamdb.Filter;
import com.benostreamdb.ScanPlan;
import com.benostreamdb.ScanRequest;
import com.benostreamdb.Session;
import com.benostreamdb.SplitReader;
import com.benostreamdb.Table;
import com.benostreamdb.TableName;
import com.benostreamdb.arrow.ArrowBatch;
import com.benostreamdb.arrow.ArrowColumn;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.iceberg.MetadataColumns;
import org.apache.iceberg.data.IcebergGenerics;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.types.Types;

/**
 * The rows of a table as sorted text, as we read them and as Iceberg's generic reader does. Zero
 * has no sign here: where a batch holds nothing but 0.0 and -0.0, ORC's Java reader gives the first
 * of them for all.
 */
final class HistoryReader {
  private HistoryReader() {}

  /** Our rows; {@code columns} are names, and after them come those with the ids {@code more}. */
  static List<String> ours(
      String location,
      Optional<Long> snapshot,
      List<String> columns,
      List<Integer> more,
      Optional<Filter> filter) {
    List<String> rows = new ArrayList<>();
    TableName name = TableName.at(location);
    try (Session session = Session.open(Map.of());
        Table table =
            snapshot.isEmpty()
                ? session.openTable(name)
                : session.openTable(name, new AsOf.Snapshot(snapshot.get()))) {
      List<Integer> ids = new ArrayList<>();
      columns.forEach(column -> ids.add(id(table.describe().columns(), column)));
      ids.addAll(more);
      ScanRequest.Builder request = ScanRequest.builder().project(ids).minSplits(3);
      filter.ifPresent(request::filter);
      for (ScanPlan.Split split : table.planScan(request.build()).splits()) {
        try (SplitReader reader = SplitReader.open(session, split.bytes())) {
          for (ArrowBatch batch = reader.next(); batch != null; batch = reader.next()) {
            for (int row = 0; row < batch.rowCount(); row++) {
              List<String> values = new ArrayList<>();
              for (ArrowColumn column : batch.columns()) {
                values.add(text(column, row));
              }
              rows.add(String.join("|", values));
            }
          }
        }
      }
    }
    return rows.stream().sorted().toList();
  }

  private static int id(List<Column> columns, String name) {
    return columns.stream().filter(c -> c.name().equals(name)).findFirst().orElseThrow().id();
  }

  private static String text(ArrowColumn column, int row) {
    if (column.isNull(row)) {
      return "null";
    }
    return switch (column.field().type()) {
      case BOOLEAN -> String.valueOf(column.getBoolean(row));
      case INT32 -> String.valueOf(column.getInt(row));
      case INT64 -> String.valueOf(column.getLong(row));
      case FLOAT32 -> text(column.getFloat(row));
      case FLOAT64 -> text(column.getDouble(row));
      case DECIMAL128 -> column.getDecimal(row).toPlainString();
      case DATE32 -> LocalDate.ofEpochDay(column.getInt(row)).toString();
      case TIMESTAMP_MICROS -> {
        long micros = column.getLong(row);
        int nanos = (int) Math.floorMod(micros, 1_000_000L) * 1_000;
        yield LocalDateTime.ofEpochSecond(Math.floorDiv(micros, 1_000_000L), nanos, ZoneOffset.UTC)
            .toString();
      }
      case UTF8 -> "'" + new String(column.getBytes(row), StandardCharsets.UTF_8) + "'";
      case BINARY -> HexFormat.of().formatHex(column.getBytes(row));
      case STRUCT -> {
        List<String> members = new ArrayList<>();
        for (int i = 0; i < column.field().children().size(); i++) {
          members.add(text(column.child(i), row));
        }
        yield "{" + String.join(",", members) + "}";
      }
      case LIST -> {
        List<String> elements = new ArrayList<>();
        for (int i = column.start(row); i < column.end(row); i++) {
          elements.add(text(column.child(0), i));
        }
        yield "[" + String.join(",", elements) + "]";
      }
      default -> throw new IllegalArgumentException(column.field().toString());
    };
  }

  /** Iceberg's rows, of a scan that selects these columns. */
  static List<String> theirs(IcebergGenerics.ScanBuilder scan, List<String> columns)
      throws Exception {
    List<String> rows = new ArrayList<>();
    try (CloseableIterable<Record> found = scan.build()) {
      for (Record record : found) {
        List<String> values = new ArrayList<>();
        columns.forEach(name -> values.add(text(record.getField(name))));
        int id = columns.indexOf(MetadataColumns.ROW_ID.name());
        if (id >= 0 && record.getField(columns.get(id)) == null) {
          // Of files that were never given row ids the generic reader tells the sequence number all
          // the same; the specification makes both NULL.
          values.set(columns.indexOf(MetadataColumns.LAST_UPDATED_SEQUENCE_NUMBER.name()), "null");
        }
        rows.add(String.join("|", values));
      }
    }
    return rows.stream().sorted().toList();
  }

  private static String text(Object value) {
    if (value instanceof Record record) {
      List<String> members = new ArrayList<>();
      for (Types.NestedField field : record.struct().fields()) {
        members.add(text(record.getField(field.name())));
      }
      return "{" + String.join(",", members) + "}";
    } else if (value instanceof List<?> list) {
      return "[" + String.join(",", list.stream().map(HistoryReader::text).toList()) + "]";
    } else if (value instanceof ByteBuffer bytes) {
      byte[] copy = new byte[bytes.remaining()];
      bytes.duplicate().get(copy);
      return HexFormat.of().formatHex(copy);
    } else if (value instanceof CharSequence text) {
      return "'" + text + "'";
    } else if (value instanceof BigDecimal decimal) {
      return decimal.toPlainString();
    } else if (value instanceof Float number && number == 0) {
      return "0.0";
    } else if (value instanceof Double number && number == 0) {
      return "0.0";
    }
    return String.valueOf(value);
  }
}
