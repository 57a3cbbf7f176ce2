package com.benostreamdb.spark;

import static com.benostreamdb.spark.SparkFixture.newTable;
import static com.benostreamdb.spark.SparkFixture.rows;
import static com.benostreamdb.spark.SparkFixture.sql;
import static org.assertj.core.api.Assertions.assertThat;

import com.benostreamdb.Column;
import com.benostreamdb.ColumnType;
import com.benostreamdb.ColumnType.Kind;
import com.benostreamdb.CommitRequest;
import com.benostreamdb.Session;
import com.benostreamdb.Table;
import com.benostreamdb.TableName;
import com.benostreamdb.TableWriter;
import com.benostreamdb.arrow.ArrowBatchBuilder;
import com.benostreamdb.arrow.ArrowField;
import java.nio.ByteBuffer;
import java.time.LocalTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.spark.sql.Row;
import org.junit.jupiter.api.Test;

/** Every type, read by Iceberg without Spark, after each kind of change. */
class GenericReaderTest {
  private static final int ROWS = 12;

  private static final String[][] ODD_NAMES = {
    {"a.b", "int", "1", "null", "-7"},
    {"with space", "string", "'x'", "null", "''"},
    {"quo`te\"s'", "double", "double('NaN')", "-0.0d", "null", "0.0d"},
    {"MixedCase", "int", "3", "null"},
    {"nested.struct", "struct<`in.ner`:int,`In Ner`:int>", "named_struct('in.ner',1,'In Ner',2)"}
  };

  private static final String[][] TYPES =
      Stream.concat(Arrays.stream(TypeRoundTripTest.TYPES), Arrays.stream(ODD_NAMES))
          .toArray(String[][]::new);

  /** {@code SET} or {@code INSERT} lists: each column with a source column of the same name. */
  private static String columns(String format) {
    return Arrays.stream(TYPES)
        .map(type -> String.format(format, "`" + type[0].replace("`", "``") + "`"))
        .collect(Collectors.joining(", "));
  }

  /** The row of that number with the values of another. */
  private static List<Object> row(int number, List<Object> values) {
    List<Object> row = new ArrayList<>(values);
    row.set(0, number);
    return row;
  }

  @Test
  void every_type_of_spark_is_equal_after_delete_update_and_merge() throws Exception {
    String table = newTable();
    String source = TypeRoundTripTest.values(TYPES, ROWS);
    sql("CREATE TABLE bs.%s (%s)", table, TypeRoundTripTest.columns(TYPES));
    sql("INSERT INTO bs.%s %s", table, source);
    List<String> names = new ArrayList<>(List.of("row_number"));
    Arrays.stream(TYPES).forEach(type -> names.add(type[0]));
    assertThat(GenericReader.columnNames(table)).isEqualTo(names);
    Map<Integer, List<Object>> values = GenericReader.bySpark(source);
    Map<Integer, List<Object>> expected = new TreeMap<>(values);
    assertThat(GenericReader.rows(table)).hasSize(ROWS).isEqualTo(expected);

    sql("DELETE FROM bs.%s WHERE row_number IN (0, 5)", table);
    expected.keySet().removeAll(List.of(0, 5));
    assertThat(GenericReader.rows(table)).isEqualTo(expected);

    // Every column of four rows, each with the value of the row after it.
    for (int number = 1; number < 5; number++) {
      StringBuilder set = new StringBuilder();
      for (String[] type : TYPES) {
        set.append(set.length() == 0 ? "" : ", ");
        set.append('`').append(type[0].replace("`", "``")).append("` = ");
        set.append(value(type, number + 1));
      }
      sql("UPDATE bs.%s SET %s WHERE row_number = %d", table, set, number);
      expected.put(number, row(number, values.get(number + 1)));
    }
    assertThat(GenericReader.rows(table)).isEqualTo(expected);

    // Rows 6 to 11 match: one is deleted, the others take the values of the row before; 12 is new.
    sql(
        "MERGE INTO bs.%s t USING (SELECT row_number + 1 AS number, * FROM (%s)"
            + " WHERE row_number >= 5) s ON t.row_number = s.number"
            + " WHEN MATCHED AND s.number = 8 THEN DELETE"
            + " WHEN MATCHED THEN UPDATE SET %s"
            + " WHEN NOT MATCHED THEN INSERT (row_number, %s) VALUES (s.number, %s)",
        table, source, columns("%1$s = s.%1$s"), columns("%s"), columns("s.%s"));
    for (int number = 6; number <= ROWS; number++) {
      expected.put(number, row(number, values.get(number - 1)));
    }
    expected.remove(8);
    assertThat(GenericReader.rows(table)).hasSize(ROWS - 2).isEqualTo(expected);
  }

  private static String value(String[] type, int number) {
    return "cast(" + type[2 + number % (type.length - 2)] + " AS " + type[1] + ")";
  }

  private static final UUID KEY = UUID.fromString("6f9619ff-8b86-d011-b42d-00cf4fc964ff");
  private static final UUID HIGH = UUID.fromString("ffffffff-ffff-ffff-ffff-ffffffffffff");
  private static final LocalTime LAST = LocalTime.of(23, 59, 59, 999_999_000);

  /** What Spark cannot write, or only from other types: id, a time, a uuid, a fixed. */
  private static List<Object> foreign(int id, LocalTime at, UUID key, String code) {
    return Arrays.asList(id, at, key, code == null ? null : "0x" + code);
  }

  private static void append(TableWriter writer, Table table, List<List<Object>> rows) {
    try (ArrowBatchBuilder batch =
        new ArrowBatchBuilder(ArrowField.of(table.describe().columns()))) {
      for (List<Object> row : rows) {
        for (int i = 0; i < row.size(); i++) {
          Object value = row.get(i);
          if (value == null) {
            batch.column(i).appendNull();
          } else if (value instanceof Integer number) {
            batch.column(i).appendInt(number);
          } else if (value instanceof LocalTime time) {
            batch.column(i).appendLong(time.toNanoOfDay() / 1_000);
          } else if (value instanceof UUID key) {
            ByteBuffer bytes = ByteBuffer.allocate(16).putLong(key.getMostSignificantBits());
            batch.column(i).appendBytes(bytes.putLong(key.getLeastSignificantBits()).array());
          } else {
            batch.column(i).appendBytes(HexFormat.of().parseHex(((String) value).substring(2)));
          }
        }
        batch.endRow();
      }
      writer.write(batch);
    }
  }

  private static Map<Integer, List<Object>> byId(List<List<Object>> rows) {
    return rows.stream().collect(Collectors.toMap(row -> (Integer) row.get(0), row -> row));
  }

  @Test
  void time_uuid_and_fixed_are_equal_after_delete_and_row_delta() throws Exception {
    String name = newTable();
    List<Column> columns =
        List.of(
            Column.create("id", ColumnType.of(Kind.INT), false),
            Column.create("at of day", ColumnType.of(Kind.TIME), false),
            Column.create("the.Key", ColumnType.of(Kind.UUID), false),
            Column.create("co\"de", ColumnType.fixed(3), false));
    Session session = Sessions.get(Map.of("warehouse", SparkFixture.WAREHOUSE.toString()));
    TableName tableName = TableName.of(List.of("ns"), name.substring(3));
    Map<Integer, List<Object>> expected =
        byId(
            List.of(
                foreign(1, LocalTime.MIDNIGHT, KEY, "000000"),
                foreign(2, LAST, HIGH, "ffffff"),
                foreign(3, null, null, null),
                foreign(4, LocalTime.of(12, 34, 56, 1_000), new UUID(0, 0), "80007f")));
    try (Table table = session.createTable(tableName, columns, Map.of());
        TableWriter writer = TableWriter.open(session, table.writeSpec("rows"))) {
      append(writer, table, List.copyOf(expected.values()));
      table.commit(CommitRequest.append(List.of(writer.finish())));
    }
    assertThat(GenericReader.rows(name)).isEqualTo(expected);

    sql("DELETE FROM bs.%s WHERE `at of day` = '00:00:00'", name);
    expected.remove(1);
    assertThat(GenericReader.rows(name)).isEqualTo(expected);

    // An UPDATE of two rows, as an engine's tasks write it.
    Row[] places = (Row[]) sql("SELECT _file, _pos FROM bs.%s WHERE id IN (2, 3)", name).collect();
    assertThat(places).hasSize(2);
    List<List<Object>> changed =
        List.of(foreign(2, null, KEY, "010203"), foreign(3, LAST, HIGH, null));
    try (Table table = session.openTable(tableName);
        TableWriter writer = TableWriter.open(session, table.writeSpec("change"))) {
      for (Row place : places) {
        writer.delete(place.getString(0), new long[] {place.getLong(1)}, 1);
      }
      append(writer, table, changed);
      table.commit(CommitRequest.rowDelta(List.of(writer.finish()), table.describe().snapshotId()));
    }
    expected.putAll(byId(changed));
    assertThat(GenericReader.rows(name)).isEqualTo(expected);
    assertThat(rows("SELECT id, `at of day`, `the.Key` FROM bs.%s ORDER BY id", name))
        .containsExactly(
            "[2,null," + KEY + "]",
            "[3,23:59:59.999999," + HIGH + "]",
            "[4,12:34:56.000001," + new UUID(0, 0) + "]");
  }

  @Test
  void uuid_and_fixed_are_equal_after_update_and_merge_of_spark() throws Exception {
    String name = newTable();
    List<Column> columns =
        List.of(
            Column.create("id", ColumnType.of(Kind.INT), false),
            Column.create("key", ColumnType.of(Kind.UUID), false),
            Column.create("code", ColumnType.fixed(2), false));
    Session session = Sessions.get(Map.of("warehouse", SparkFixture.WAREHOUSE.toString()));
    session.createTable(TableName.of(List.of("ns"), name.substring(3)), columns, Map.of()).close();
    sql(
        "INSERT INTO bs.%s VALUES (1, '%s', X'0000'), (2, null, null), (3, '%s', X'ffff')",
        name, KEY, HIGH);
    Map<Integer, List<Object>> expected = new TreeMap<>();
    expected.put(1, Arrays.asList(1, KEY, "0x0000"));
    expected.put(2, Arrays.asList(2, null, null));
    expected.put(3, Arrays.asList(3, HIGH, "0xffff"));
    assertThat(GenericReader.rows(name)).isEqualTo(expected);

    sql("UPDATE bs.%s SET key = '%s', code = X'8001' WHERE id = 2", name, HIGH);
    sql("UPDATE bs.%s SET key = null, code = null WHERE id = 1", name);
    expected.put(1, Arrays.asList(1, null, null));
    expected.put(2, Arrays.asList(2, HIGH, "0x8001"));
    assertThat(GenericReader.rows(name)).isEqualTo(expected);

    sql(
        "MERGE INTO bs.%s t USING (SELECT explode(sequence(2, 4)) AS id) s ON t.id = s.id"
            + " WHEN MATCHED AND t.id = 2 THEN DELETE"
            + " WHEN MATCHED THEN UPDATE SET key = '%s'"
            + " WHEN NOT MATCHED THEN INSERT (id, key, code) VALUES (s.id, '%s', X'0a0b')",
        name, KEY, KEY);
    expected.remove(2);
    expected.put(3, Arrays.asList(3, KEY, "0xffff"));
    expected.put(4, Arrays.asList(4, KEY, "0x0a0b"));
    assertThat(GenericReader.rows(name)).isEqualTo(expected);
  }
}
