package com.benostreamdb.spark;

import static com.benostreamdb.spark.SparkFixture.newTable;
import static com.benostreamdb.spark.SparkFixture.rows;
import static com.benostreamdb.spark.SparkFixture.spark;
import static com.benostreamdb.spark.SparkFixture.sql;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Path;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SaveMode;
import org.junit.jupiter.api.Test;

class SourceTest {
  private static final String FORMAT = "benostream";

  private static Dataset<Row> numbers(long from, long to) {
    return spark().range(from, to).toDF("id");
  }

  private static long count(Path path) {
    return spark().read().format(FORMAT).load(path.toString()).count();
  }

  @Test
  void path_is_created_appended_overwritten_and_read() {
    Path path = SparkFixture.temporaryFolder("path").resolve("table");
    numbers(0, 10).write().format(FORMAT).save(path.toString());
    assertThat(count(path)).isEqualTo(10);
    assertThatThrownBy(() -> numbers(0, 1).write().format(FORMAT).save(path.toString()))
        .hasMessageContaining("exist");
    numbers(0, 1).write().format(FORMAT).mode(SaveMode.Ignore).save(path.toString());
    assertThat(count(path)).isEqualTo(10);
    numbers(10, 15).write().format(FORMAT).mode(SaveMode.Append).save(path.toString());
    assertThat(count(path)).isEqualTo(15);
    numbers(0, 3).write().format(FORMAT).mode(SaveMode.Overwrite).save(path.toString());
    assertThat(count(path)).isEqualTo(3);
  }

  @Test
  void path_in_sql_names_a_table_of_the_catalog() {
    Path path = SparkFixture.temporaryFolder("sql").resolve("table");
    numbers(0, 4).write().format(FORMAT).save(path.toString());
    assertThat(rows("SELECT count(*) FROM bs.`%s`", path)).containsExactly("[4]");
    sql("DELETE FROM bs.`%s` WHERE id = 1", path);
    assertThat(count(path)).isEqualTo(3);
  }

  @Test
  void text_without_slash_is_an_identifier() {
    String table = newTable();
    sql("CREATE TABLE bs.%s AS SELECT 7L AS id", table);
    assertThat(rows(spark().read().format(FORMAT).load("bs." + table))).containsExactly("[7]");
    numbers(0, 2).write().format(FORMAT).mode(SaveMode.Append).save("bs." + table);
    assertThat(rows("SELECT count(*) FROM bs.%s", table)).containsExactly("[3]");
  }

  @Test
  void name_without_a_catalog_needs_one_of_ours_or_a_warehouse() {
    String table = newTable();
    sql("CREATE TABLE bs.%s AS SELECT 7L AS id", table);
    assertThatThrownBy(() -> spark().read().format(FORMAT).load(table))
        .isInstanceOf(BenoStreamAnalysisException.class)
        .hasMessageContaining("'spark_catalog' is none of benostream")
        .hasMessageContaining("name the catalog too: 'bs." + table + "'");
    assertThat(
            rows(
                spark()
                    .read()
                    .format(FORMAT)
                    .option("warehouse", SparkFixture.WAREHOUSE.toString())
                    .load(table)))
        .containsExactly("[7]");
    sql("USE bs.ns");
    try {
      assertThat(rows(spark().read().format(FORMAT).load(table))).containsExactly("[7]");
      assertThat(rows(spark().read().format(FORMAT).load(table.substring(3))))
          .containsExactly("[7]");
    } finally {
      sql("USE spark_catalog.default");
    }
  }

  @Test
  void dataframe_writer_v2_creates_appends_and_replaces() throws Exception {
    String table = "bs." + newTable();
    numbers(0, 3).writeTo(table).create();
    numbers(3, 5).writeTo(table).append();
    assertThat(spark().table(table).count()).isEqualTo(5);
    numbers(0, 1).writeTo(table).createOrReplace();
    assertThat(spark().table(table).count()).isEqualTo(1);
  }

  @Test
  void insert_overwrite_and_truncate_replace_every_row() {
    String table = newTable();
    sql("CREATE TABLE bs.%s AS SELECT id FROM range(5)", table);
    sql("INSERT OVERWRITE bs.%s SELECT id FROM range(2)", table);
    assertThat(rows("SELECT count(*) FROM bs.%s", table)).containsExactly("[2]");
    assertThat(rows("SELECT count(*) FROM ice.%s", table)).containsExactly("[2]");
    sql("TRUNCATE TABLE bs.%s", table);
    assertThat(rows("SELECT count(*) FROM ice.%s", table)).containsExactly("[0]");
  }

  @Test
  void columns_are_matched_by_name_and_mismatches_refused() {
    Path path = SparkFixture.temporaryFolder("byname").resolve("table");
    spark().sql("SELECT 1 AS a, 'x' AS b").write().format(FORMAT).save(path.toString());
    spark()
        .sql("SELECT 'y' AS b, 2 AS a")
        .write()
        .format(FORMAT)
        .mode(SaveMode.Append)
        .save(path.toString());
    assertThat(rows(spark().read().format(FORMAT).load(path.toString()).orderBy("a")))
        .containsExactly("[1,x]", "[2,y]");
    assertThatThrownBy(
            () ->
                spark()
                    .sql("SELECT 'text' AS a, 'z' AS b")
                    .write()
                    .format(FORMAT)
                    .mode(SaveMode.Append)
                    .save(path.toString()))
        .hasMessageContaining("a");
    assertThat(count(path)).isEqualTo(2);
  }

  @Test
  void missing_path_and_unknown_options_are_errors() {
    assertThatThrownBy(() -> spark().read().format(FORMAT).load("/nowhere/table"))
        .hasMessageContaining("/nowhere/table");
    assertThatThrownBy(() -> spark().read().format(FORMAT).load())
        .isInstanceOf(BenoStreamAnalysisException.class)
        .hasMessageContaining("path");
    Path path = SparkFixture.temporaryFolder("options").resolve("table");
    numbers(0, 1).write().format(FORMAT).save(path.toString());
    assertThatThrownBy(
            () ->
                spark()
                    .read()
                    .format(FORMAT)
                    .option("benostream.search.mode", "sloppy")
                    .load(path.toString())
                    .count())
        .hasMessageContaining("auto, exact");
    assertThatThrownBy(
            () ->
                spark()
                    .read()
                    .format(FORMAT)
                    .option("end-snapshot-id", "1")
                    .load(path.toString())
                    .count())
        .isInstanceOf(BenoStreamAnalysisException.class)
        .hasMessageContaining("start-snapshot-id");
    assertThatThrownBy(
            () ->
                spark()
                    .read()
                    .format(FORMAT)
                    .option("snapshot-id", "12345")
                    .load(path.toString())
                    .count())
        .isInstanceOf(Exception.class);
  }
}
