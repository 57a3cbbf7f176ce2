package com.benostreamdb.spark;

import static com.benostreamdb.spark.SparkFixture.newTable;
import static com.benostreamdb.spark.SparkFixture.rows;
import static com.benostreamdb.spark.SparkFixture.spark;
import static com.benostreamdb.spark.SparkFixture.sql;
import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** The metadata columns of rows: selected, filtered on, and what Iceberg gives for them. */
class MetadataColumnTest {
  /** Two partition specs, files with deletes by position. */
  private static String table(int version) {
    String table = newTable();
    sql(
        "CREATE TABLE ice.%s (id BIGINT, name STRING) USING iceberg PARTITIONED BY (bucket(2, id))"
            + " TBLPROPERTIES ('write.delete.mode' = 'merge-on-read',"
            + " 'write.update.mode' = 'merge-on-read', 'format-version' = '%d')",
        table, version);
    sql("INSERT INTO ice.%s SELECT id, cast(id AS STRING) FROM range(10)", table);
    sql("ALTER TABLE ice.%s ADD PARTITION FIELD name", table);
    sql("INSERT INTO ice.%s VALUES (10, 'a'), (11, NULL), (12, 'a')", table);
    sql("DELETE FROM ice.%s WHERE id IN (3, 4, 10)", table);
    if (version >= 3) {
      sql("UPDATE ice.%s SET name = 'new' WHERE id = 5", table);
    }
    return table;
  }

  private static void assertLikeIceberg(String table, String query) {
    String text = query.replace("$t", table) + " ORDER BY id, _pos";
    String expected = rows("%s", text.replace("$c", "ice")).toString();
    assertThat(expected).isNotEqualTo("[]");
    assertThat(rows("%s", text.replace("$c", "bs"))).as(text).hasToString(expected);
  }

  @Test
  void columns_and_filters_equal_icebergs() {
    String table = table(2);
    for (String query :
        new String[] {
          "SELECT id, _file, _pos, _spec_id, _partition FROM $c.$t",
          "SELECT _partition, id, _pos FROM $c.$t WHERE _pos > 1",
          "SELECT id, _pos FROM $c.$t WHERE _spec_id = 1",
          "SELECT id, _pos, _partition.name FROM $c.$t WHERE _partition.name = 'a'",
          "SELECT id, _pos FROM $c.$t WHERE _partition.id_bucket = 1 AND _pos < 3",
          "SELECT id, _pos FROM $c.$t WHERE _file IN (SELECT _file FROM $c.$t WHERE id = 12)",
          "SELECT id, _pos, _deleted FROM $c.$t",
          "SELECT id, _pos FROM $c.$t WHERE NOT _deleted AND id < 6",
        }) {
      assertLikeIceberg(table, query);
    }
    assertThat(rows("SELECT * FROM bs.%s WHERE id = 11 AND _pos >= 0", table))
        .containsExactly("[11,null]");
    assertThat(rows("SELECT count(*) FROM bs.%s WHERE _deleted", table)).containsExactly("[3]");
    assertThat(rows("SELECT count(*), count(_row_id) FROM bs.%s", table)).containsExactly("[10,0]");
    String plan = SparkFixture.plan("SELECT id FROM bs.%s WHERE _pos = 1", table);
    assertThat(plan).contains("filters=[_pos = 1]");
    String path = SparkFixture.WAREHOUSE.resolve(table.replace('.', '/')).toString();
    assertThat(
            rows(
                spark()
                    .read()
                    .format("benostream")
                    .load(path)
                    .where("_spec_id = 1")
                    .selectExpr("id", "_partition.name")
                    .orderBy("id")))
        .containsExactly("[11,null]", "[12,a]");
  }

  @Test
  void lineage_of_version_3_equals_icebergs() {
    String table = table(3);
    assertLikeIceberg(
        table, "SELECT id, name, _pos, _row_id, _last_updated_sequence_number FROM $c.$t");
    assertLikeIceberg(table, "SELECT id, _pos FROM $c.$t WHERE _row_id > 5");
    assertLikeIceberg(table, "SELECT id, _pos FROM $c.$t WHERE _last_updated_sequence_number >= 2");
  }

  @Test
  void table_without_partitions_has_an_empty_partition() {
    String table = newTable();
    sql("CREATE TABLE bs.%s AS SELECT id FROM range(2)", table);
    assertLikeIceberg(table, "SELECT id, _pos, _spec_id, _partition FROM $c.$t");
  }

  @Test
  void own_column_hides_the_metadata_column() {
    String table = newTable();
    sql("CREATE TABLE bs.%s AS SELECT 7 AS _pos, 'x' AS _partition, 1L AS id", table);
    assertThat(rows("SELECT *, _spec_id FROM bs.%s WHERE _pos = 7", table))
        .containsExactly("[7,x,1,0]");
  }

  @Test
  void rows_are_changed_by_metadata_columns_and_deleted_rows_never() {
    String table = newTable();
    sql("CREATE TABLE bs.%s AS SELECT /*+ COALESCE(1) */ id, 'a' AS name FROM range(6)", table);
    sql("DELETE FROM bs.%s WHERE _pos = 2", table);
    sql("UPDATE bs.%s SET name = 'b' WHERE _pos > 3", table);
    assertThat(rows("SELECT * FROM ice.%s ORDER BY id", table))
        .hasToString("[[0,a], [1,a], [3,a], [4,b], [5,b]]");
    for (String statement :
        new String[] {
          "DELETE FROM bs." + table + " WHERE _deleted",
          "UPDATE bs." + table + " SET name = 'back' WHERE _deleted",
          "MERGE INTO bs."
              + table
              + " t USING (SELECT 2L AS id) s ON t.id = s.id AND t._deleted"
              + " WHEN MATCHED THEN UPDATE SET name = 'back'"
        }) {
      sql("%s", statement);
    }
    assertThat(rows("SELECT count(*) FROM bs.%s", table)).containsExactly("[5]");
    assertThat(rows("SELECT count(*) FROM ice.%s", table)).containsExactly("[5]");
  }
}
