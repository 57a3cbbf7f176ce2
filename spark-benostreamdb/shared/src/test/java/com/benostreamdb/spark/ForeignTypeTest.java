package com.benostreamdb.spark;

import static com.benostreamdb.spark.SparkFixture.newTable;
import static com.benostreamdb.spark.SparkFixture.rows;
import static com.benostreamdb.spark.SparkFixture.sql;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

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
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.apache.iceberg.data.Record;
import org.junit.jupiter.api.Test;

/** Types that Spark does not have: time, uuid, fixed. */
class ForeignTypeTest {
  private static final UUID KEY = UUID.fromString("6f9619ff-8b86-d011-b42d-00cf4fc964ff");
  private static final LocalTime TIME = LocalTime.of(23, 59, 59, 999_999_000);

  /** Two rows, the second all NULL, written through the bridge. */
  private static String table(boolean withTime) {
    String name = newTable();
    List<Column> columns = new ArrayList<>();
    columns.add(Column.create("id", ColumnType.of(Kind.INT), false));
    columns.add(Column.create("key", ColumnType.of(Kind.UUID), false));
    columns.add(Column.create("code", ColumnType.fixed(3), false));
    if (withTime) {
      columns.add(Column.create("at", ColumnType.of(Kind.TIME), false));
    }
    Session session = Sessions.get(Map.of("warehouse", SparkFixture.WAREHOUSE.toString()));
    try (Table table =
            session.createTable(TableName.of(List.of("ns"), name.substring(3)), columns, Map.of());
        TableWriter writer = TableWriter.open(session, table.writeSpec("test"));
        ArrowBatchBuilder batch =
            new ArrowBatchBuilder(ArrowField.of(table.describe().columns()))) {
      batch.column(0).appendInt(1);
      batch
          .column(1)
          .appendBytes(
              ByteBuffer.allocate(16)
                  .putLong(KEY.getMostSignificantBits())
                  .putLong(KEY.getLeastSignificantBits())
                  .array());
      batch.column(2).appendBytes(new byte[] {1, 2, 3});
      if (withTime) {
        batch.column(3).appendLong(TIME.toNanoOfDay() / 1_000);
      }
      batch.endRow();
      batch.column(0).appendInt(2);
      for (int i = 1; i < columns.size(); i++) {
        batch.column(i).appendNull();
      }
      batch.endRow();
      writer.write(batch);
      table.commit(CommitRequest.append(List.of(writer.finish())));
    }
    return name;
  }

  @Test
  void time_is_text_in_spark_and_time_in_iceberg() throws Exception {
    String table = table(true);
    assertThat(rows("SELECT id, at, key, hex(code) FROM bs.%s ORDER BY id", table))
        .containsExactly("[1,23:59:59.999999," + KEY + ",010203]", "[2,null,null,null]");
    assertThat(rows("SELECT id FROM bs.%s WHERE at = '23:59:59.999999'", table))
        .containsExactly("[1]");
    List<Record> records = GenericReader.records(table);
    assertThat(records).hasSize(2);
    assertThat(records.get(0).getField("at")).isEqualTo(TIME);
    assertThat(records.get(0).getField("key")).isEqualTo(KEY);
    assertThat((byte[]) records.get(0).getField("code")).containsExactly(1, 2, 3);
  }

  @Test
  void rows_with_time_can_be_deleted_and_not_written() throws Exception {
    String table = table(true);
    for (String statement :
        new String[] {
          "INSERT INTO bs." + table + " VALUES (3, null, null, '10:00:00')",
          "UPDATE bs." + table + " SET id = 4",
          "MERGE INTO bs."
              + table
              + " t USING (SELECT 1 AS id) s ON t.id = s.id"
              + " WHEN MATCHED THEN UPDATE SET id = 9"
        }) {
      assertThatThrownBy(() -> sql("%s", statement))
          .as(statement)
          .isInstanceOf(BenoStreamAnalysisException.class)
          .hasMessageContaining("'at'")
          .hasMessageContaining("time");
    }
    sql("DELETE FROM bs.%s WHERE id = 1", table);
    assertThat(GenericReader.records(table)).hasSize(1);
  }

  @Test
  void uuid_and_fixed_are_written_from_text_and_binary() throws Exception {
    String table = table(false);
    sql("INSERT INTO bs.%s VALUES (3, '%s', X'0a0b0c')", table, KEY);
    assertThat(rows("SELECT count(*) FROM bs.%s WHERE key = '%s'", table, KEY))
        .containsExactly("[2]");
    assertThat(rows("SELECT id FROM bs.%s WHERE code = X'0a0b0c'", table)).containsExactly("[3]");
    assertThat(GenericReader.records(table)).extracting(r -> r.getField("key")).contains(KEY);
    assertThatThrownBy(() -> sql("INSERT INTO bs.%s VALUES (4, 'no uuid', null)", table))
        .hasStackTraceContaining("no uuid");
    assertThatThrownBy(() -> sql("INSERT INTO bs.%s VALUES (4, null, X'00')", table))
        .hasStackTraceContaining("takes 3 bytes");
    assertThat(rows("SELECT count(*) FROM bs.%s", table)).containsExactly("[3]");
  }
}
