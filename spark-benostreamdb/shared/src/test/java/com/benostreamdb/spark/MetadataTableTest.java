package com.benostreamdb.spark;

import static com.benostreamdb.spark.SparkFixture.newTable;
import static com.benostreamdb.spark.SparkFixture.rows;
import static com.benostreamdb.spark.SparkFixture.spark;
import static com.benostreamdb.spark.SparkFixture.sql;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.junit.jupiter.api.Test;

/** Each metadata table gives what Iceberg's gives over the same table. */
class MetadataTableTest {
  private static final List<String> ALL =
      List.of(
          "snapshots",
          "history",
          "refs",
          "metadata_log_entries",
          "files",
          "data_files",
          "delete_files",
          "entries",
          "manifests",
          "partitions",
          "all_files",
          "all_data_files",
          "all_delete_files",
          "all_entries",
          "all_manifests");

  private static String partitionedTable() {
    String table = newTable();
    sql(
        "CREATE TABLE ice.%s (id INT, name STRING, ts TIMESTAMP, v DOUBLE) USING iceberg"
            + " PARTITIONED BY (bucket(4, id), months(ts), name) TBLPROPERTIES"
            + " ('write.delete.mode' = 'merge-on-read', 'format-version' = '2')",
        table);
    sql(
        "INSERT INTO ice.%s VALUES (1, 'a', TIMESTAMP '2024-02-03 04:05:06', 1.5),"
            + " (2, NULL, TIMESTAMP '1969-12-31 23:00:00', double('NaN'))",
        table);
    sql("ALTER TABLE ice.%s ADD PARTITION FIELD truncate(name, 1)", table);
    sql("INSERT INTO ice.%s VALUES (3, 'xyz', TIMESTAMP '2024-02-04 04:05:06', NULL)", table);
    sql("INSERT INTO ice.%s SELECT id + 10, 'a', TIMESTAMP '2024-03-03', id FROM range(9)", table);
    sql("DELETE FROM ice.%s WHERE id = 12", table);
    sql("ALTER TABLE ice.%s DROP PARTITION FIELD truncate(name, 1)", table);
    sql("ALTER TABLE ice.%s CREATE TAG v1 RETAIN 7 DAYS", table);
    sql("DELETE FROM ice.%s WHERE name IS NULL", table);
    return table;
  }

  private static String unpartitionedTable() {
    String table = newTable();
    sql("CREATE TABLE bs.%s (id INT, name STRING)", table);
    sql("INSERT INTO bs.%s SELECT /*+ COALESCE(1) */ * FROM VALUES (1, 'a'), (2, 'b')", table);
    sql("DELETE FROM bs.%s WHERE id = 1", table);
    return table;
  }

  @Test
  void every_metadata_table_equals_icebergs() throws Exception {
    for (String table : List.of(partitionedTable(), unpartitionedTable())) {
      for (String kind : ALL) {
        Dataset<Row> own = sql("SELECT * FROM bs.%s.%s", table, kind);
        Dataset<Row> iceberg = sql("SELECT * FROM ice.%s.%s", table, kind).drop("readable_metrics");
        assertThat(types(own)).as(kind).isEqualTo(types(iceberg));
        assertThat(sorted(own)).as(kind).isEqualTo(sorted(iceberg));
      }
    }
  }

  @Test
  void filters_on_every_metadata_table_equal_icebergs() throws Exception {
    String table = partitionedTable();
    Map<String, String> filters =
        Map.ofEntries(
            Map.entry("snapshots", "operation = 'append' AND parent_id IS NOT NULL"),
            Map.entry("history", "is_current_ancestor AND made_current_at < now()"),
            Map.entry("refs", "type = 'TAG' OR name LIKE 'x%'"),
            Map.entry("metadata_log_entries", "latest_sequence_number >= 2"),
            Map.entry("files", "content = 0 AND partition.name = 'a'"),
            Map.entry("data_files", "record_count > 1 AND file_path LIKE '%parquet'"),
            Map.entry("delete_files", "content <> 0"),
            Map.entry("entries", "status = 1 AND data_file.content = 0"),
            Map.entry("manifests", "added_data_files_count > 0 AND content = 0"),
            Map.entry("partitions", "record_count IN (1, 2, 3)"),
            Map.entry("all_files", "spec_id = 1"),
            Map.entry("all_data_files", "record_count > 1"),
            Map.entry("all_delete_files", "spec_id >= 0"),
            Map.entry("all_entries", "status < 2 AND sequence_number > 1"),
            Map.entry("all_manifests", "content = 1"));
    assertThat(filters.keySet()).containsExactlyInAnyOrderElementsOf(ALL);
    for (String kind : ALL) {
      String where = filters.get(kind);
      Dataset<Row> own = sql("SELECT * FROM bs.%s.%s", table, kind).where(where);
      Dataset<Row> iceberg =
          sql("SELECT * FROM ice.%s.%s", table, kind).drop("readable_metrics").where(where);
      assertThat(sorted(own)).as(kind).isNotEmpty().isEqualTo(sorted(iceberg));
      assertThat(own.count()).as(kind).isEqualTo(iceberg.count());
    }
  }

  /** Columns with their types; whether they may be NULL is not compared. */
  private static String types(Dataset<Row> data) {
    return Arrays.stream(data.schema().fields())
        .map(field -> field.name() + " " + field.dataType().catalogString())
        .collect(Collectors.joining(", "));
  }

  /** The rows as JSON: maps in the order of their keys, one spelling of local paths. */
  private static List<String> sorted(Dataset<Row> data) throws JsonProcessingException {
    ObjectMapper mapper = new ObjectMapper().enable(SerializationFeature.ORDER_MAP_ENTRIES_BY_KEYS);
    List<String> rows = new ArrayList<>();
    for (Row row : data.selectExpr("to_json(struct(*))").collectAsList()) {
      Object parsed = mapper.readValue(row.getString(0), Object.class);
      rows.add(mapper.writeValueAsString(parsed).replaceAll("file:/+", "/"));
    }
    return rows.stream().sorted().toList();
  }

  @Test
  void metadata_tables_are_filtered_joined_aggregated_and_read_at_older_states() {
    String table = unpartitionedTable();
    assertThat(rows("SELECT operation FROM bs.%s.snapshots WHERE parent_id IS NULL", table))
        .containsExactly("[append]");
    assertThat(
            rows(
                "SELECT s.operation, h.is_current_ancestor FROM bs.%s.history h"
                    + " JOIN bs.%s.snapshots s ON h.snapshot_id = s.snapshot_id"
                    + " ORDER BY s.operation",
                table, table))
        .containsExactly("[append,true]", "[delete,true]");
    assertThat(rows("SELECT content, count(*) FROM bs.%s.files GROUP BY content", table))
        .containsExactlyInAnyOrder("[0,1]", "[1,1]");
    assertThat(rows("SELECT record_count FROM bs.%s.FILES WHERE content = 1", table))
        .containsExactly("[1]");
    long first =
        sql("SELECT snapshot_id FROM bs.%s.snapshots WHERE parent_id IS NULL", table)
            .first()
            .getLong(0);
    assertThat(rows("SELECT count(*) FROM bs.%s.files VERSION AS OF %d", table, first))
        .containsExactly("[1]");
    String path = SparkFixture.WAREHOUSE.resolve(table.replace('.', '/')) + "$files";
    assertThat(spark().read().format("benostream").load(path).count()).isEqualTo(2);
    assertThat(rows("SELECT count(*) FROM bs.`%s`", path)).containsExactly("[2]");
  }

  @Test
  void metadata_tables_follow_the_table_and_are_not_written() {
    String table = unpartitionedTable();
    Dataset<Row> files = spark().table("bs." + table + ".files");
    assertThat(files.count()).isEqualTo(2);
    sql("INSERT INTO bs.%s VALUES (3, 'c')", table);
    assertThat(files.count()).isEqualTo(3);
    assertThatThrownBy(() -> sql("DELETE FROM bs.%s.files WHERE content = 1", table))
        .isInstanceOf(Exception.class);
    assertThatThrownBy(() -> sql("TRUNCATE TABLE bs.%s.files", table))
        .hasMessageContaining("metadata table");
    assertThatThrownBy(() -> rows("SELECT * FROM bs.%s.nope", table)).hasMessageContaining("nope");
  }
}
