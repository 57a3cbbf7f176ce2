package com.benostreamdb.spark;

import static com.benostreamdb.spark.SparkFixture.newTable;
import static com.benostreamdb.spark.SparkFixture.rows;
import static com.benostreamdb.spark.SparkFixture.sortedRows;
import static com.benostreamdb.spark.SparkFixture.spark;
import static com.benostreamdb.spark.SparkFixture.sql;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.Map;
import org.apache.spark.sql.DataFrameReader;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.junit.jupiter.api.Test;

/** Older states through Spark's syntax, reader options and identifiers, as Iceberg reads them. */
class TimeTravelTest {
  /**
   * Rows 1, then 1 and 2, then 2 alone; branch audit at the first snapshot, tag v1 at the second.
   */
  private static List<Long> history(String table) {
    sql("CREATE TABLE bs.%s (id INT, name STRING)", table);
    sql("INSERT INTO bs.%s VALUES (1, 'a')", table);
    sql("INSERT INTO bs.%s VALUES (2, 'b')", table);
    sql("DELETE FROM bs.%s WHERE id = 1", table);
    List<Long> ids =
        sql("SELECT snapshot_id FROM ice.%s.snapshots ORDER BY committed_at", table)
            .collectAsList()
            .stream()
            .map(row -> row.getLong(0))
            .toList();
    sql("ALTER TABLE ice.%s CREATE BRANCH audit AS OF VERSION %d", table, ids.get(0));
    sql("ALTER TABLE ice.%s CREATE TAG v1 AS OF VERSION %d", table, ids.get(1));
    sql("ALTER TABLE ice.%s RENAME COLUMN name TO label", table);
    return ids;
  }

  private static void assertLikeIceberg(String table, String query, String expected) {
    String text = query.replace("$t", table);
    assertThat(rows(text.replace("$c", "bs"))).as(text).hasToString(expected);
    assertThat(rows(text.replace("$c", "ice"))).as("Iceberg: " + text).hasToString(expected);
  }

  @Test
  void versions_times_branches_and_tags_in_sql_equal_icebergs() {
    String table = newTable();
    List<Long> ids = history(table);
    String first = "SELECT * FROM $c.$t VERSION AS OF " + ids.get(0);
    assertLikeIceberg(table, first, "[[1,a]]");
    assertLikeIceberg(table, "SELECT * FROM $c.$t ORDER BY id", "[[2,b]]");
    assertLikeIceberg(
        table, "SELECT id, name FROM $c.$t VERSION AS OF 'v1' ORDER BY id", "[[1,a], [2,b]]");
    assertLikeIceberg(table, "SELECT id, label FROM $c.$t VERSION AS OF 'audit'", "[[1,a]]");
    assertLikeIceberg(table, "SELECT id, label FROM $c.$t.branch_audit", "[[1,a]]");
    assertLikeIceberg(table, "SELECT id, name FROM $c.$t.tag_v1 ORDER BY id", "[[1,a], [2,b]]");
    assertLikeIceberg(table, "SELECT id FROM $c.$t.snapshot_id_" + ids.get(0), "[[1]]");
    assertLikeIceberg(
        table, "SELECT id FROM $c.$t TIMESTAMP AS OF '2100-01-01' ORDER BY id", "[[2]]");
    String between =
        sql(
                "SELECT cast(committed_at AS STRING) FROM ice.%s.snapshots WHERE snapshot_id = %d",
                table, ids.get(1))
            .first()
            .getString(0);
    assertLikeIceberg(
        table, "SELECT id FROM $c.$t TIMESTAMP AS OF '" + between + "' ORDER BY id", "[[1], [2]]");
    // Two states in one statement.
    assertLikeIceberg(
        table,
        "SELECT o.id, n.id FROM $c.$t VERSION AS OF 'v1' o LEFT JOIN $c.$t n ON o.id = n.id"
            + " ORDER BY o.id",
        "[[1,null], [2,2]]");
  }

  @Test
  void reader_options_equal_icebergs() {
    String table = newTable();
    List<Long> ids = history(table);
    for (Map.Entry<String, String> option :
        Map.of(
                "snapshot-id",
                ids.get(1).toString(),
                "branch",
                "audit",
                "tag",
                "v1",
                "as-of-timestamp",
                "4102444800000")
            .entrySet()) {
      Dataset<Row> iceberg = reader("iceberg", option).load("ice." + table);
      String expected = sorted(iceberg);
      assertThat(sorted(reader("benostream", option).load("bs." + table)))
          .as(option.toString())
          .isEqualTo(expected);
      String path = SparkFixture.WAREHOUSE.resolve(table.replace('.', '/')).toString();
      assertThat(sorted(reader("benostream", option).load(path))).isEqualTo(expected);
    }
    assertThat(spark().read().option("branch", "audit").table("bs." + table).count()).isEqualTo(1);
  }

  private static DataFrameReader reader(String format, Map.Entry<String, String> option) {
    return spark().read().format(format).option(option.getKey(), option.getValue());
  }

  private static String sorted(Dataset<Row> data) {
    return List.of(data.columns()) + SparkFixture.rows(data).stream().sorted().toList().toString();
  }

  @Test
  void what_does_not_exist_is_named_and_nothing_old_is_written() {
    String table = newTable();
    List<Long> ids = history(table);
    assertThatThrownBy(() -> rows("SELECT * FROM bs.%s VERSION AS OF 5", table))
        .hasMessageContaining("snapshot 5")
        .hasMessageContaining(ids.get(0).toString());
    assertThatThrownBy(() -> rows("SELECT * FROM bs.%s VERSION AS OF 'nope'", table))
        .hasMessageContaining("audit")
        .hasMessageContaining("v1");
    assertThatThrownBy(() -> rows("SELECT * FROM bs.%s TIMESTAMP AS OF '2000-01-01'", table))
        .hasMessageContaining("history begins");
    assertThatThrownBy(() -> rows("SELECT * FROM bs.%s.branch_v1", table))
        .hasMessageContaining("branch 'v1'");
    assertThatThrownBy(
            () ->
                spark()
                    .read()
                    .format("benostream")
                    .option("branch", "audit")
                    .option("tag", "v1")
                    .load("bs." + table))
        .hasMessageContaining("one of the options");
    assertThatThrownBy(() -> sql("INSERT INTO bs.%s.branch_audit VALUES (9, 'z')", table))
        .hasMessageContaining("read-only");
    assertThat(sortedRows("SELECT id FROM bs.%s", table)).containsExactly("[2]");
  }

  @Test
  void dataframes_of_two_states_stay_apart() {
    String table = newTable();
    List<Long> ids = history(table);
    Dataset<Row> old = sql("SELECT id FROM bs.%s VERSION AS OF %d", table, ids.get(1)).cache();
    assertThat(old.count()).isEqualTo(2);
    assertThat(sql("SELECT id FROM bs.%s VERSION AS OF %d", table, ids.get(0)).count())
        .isEqualTo(1);
    assertThat(sql("SELECT id FROM bs.%s VERSION AS OF %d", table, ids.get(1)).count())
        .isEqualTo(2);
    old.unpersist();
  }

  @Test
  void rows_appended_between_snapshots_equal_icebergs() {
    String table = newTable();
    List<Long> ids = history(table);
    sql("INSERT INTO bs.%s VALUES (3, 'c')", table);
    String[][] ranges = {
      {ids.get(0).toString(), null},
      {ids.get(0).toString(), ids.get(1).toString()},
      {ids.get(1).toString(), ids.get(2).toString()}
    };
    for (String[] range : ranges) {
      String expected = sorted(between("iceberg", range).load("ice." + table));
      assertThat(sorted(between("benostream", range).load("bs." + table)))
          .as(String.join(" to ", range[0], String.valueOf(range[1])))
          .isEqualTo(expected);
    }
    assertThat(between("benostream", ranges[0]).load("bs." + table).filter("id > 2").count())
        .isEqualTo(1);
    String[] backwards = {ids.get(1).toString(), ids.get(0).toString()};
    assertThatThrownBy(() -> between("benostream", backwards).load("bs." + table).count())
        .hasMessageContaining("no ancestor");
    assertThatThrownBy(
            () ->
                between("benostream", ranges[0])
                    .option("snapshot-id", ids.get(0).toString())
                    .load("bs." + table)
                    .count())
        .hasMessageContaining("start-snapshot-id");
  }

  private static DataFrameReader between(String format, String[] range) {
    DataFrameReader reader = spark().read().format(format).option("start-snapshot-id", range[0]);
    return range[1] == null ? reader : reader.option("end-snapshot-id", range[1]);
  }
}
