package com.benostreamdb.spark;

import static com.benostreamdb.spark.SparkFixture.newTable;
import static com.benostreamdb.spark.SparkFixture.rows;
import static com.benostreamdb.spark.SparkFixture.spark;
import static com.benostreamdb.spark.SparkFixture.sql;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Files;
import org.apache.spark.sql.AnalysisException;
import org.junit.jupiter.api.Test;

class CatalogTest {
  @Test
  void namespaces_are_created_listed_and_dropped() {
    sql("CREATE NAMESPACE bs.spaces");
    assertThat(rows("SHOW NAMESPACES IN bs")).contains("[ns]", "[spaces]");
    assertThatThrownBy(() -> sql("CREATE NAMESPACE bs.spaces"))
        .isInstanceOf(AnalysisException.class);
    sql("CREATE NAMESPACE IF NOT EXISTS bs.spaces");
    sql("CREATE TABLE bs.spaces.t (i int)");
    assertThatThrownBy(() -> sql("DROP NAMESPACE bs.spaces")).hasMessageContaining("spaces");
    sql("DROP NAMESPACE bs.spaces CASCADE");
    assertThat(rows("SHOW NAMESPACES IN bs")).doesNotContain("[spaces]");
    assertThatThrownBy(() -> sql("DROP NAMESPACE bs.spaces")).isInstanceOf(AnalysisException.class);
  }

  @Test
  void tables_are_listed_renamed_and_dropped() {
    sql("CREATE NAMESPACE bs.listed");
    sql("CREATE TABLE bs.listed.a (i int COMMENT 'a number') TBLPROPERTIES ('k' = 'v')");
    assertThat(rows("SHOW TABLES IN bs.listed")).containsExactly("[listed,a,false]");
    assertThat(rows("DESCRIBE bs.listed.a")).contains("[i,int,a number]");
    assertThat(rows("SHOW TBLPROPERTIES bs.listed.a")).contains("[k,v]");
    assertThatThrownBy(() -> sql("CREATE TABLE bs.listed.a (i int)"))
        .isInstanceOf(AnalysisException.class);
    sql("CREATE TABLE IF NOT EXISTS bs.listed.a (i int)");
    sql("DROP TABLE bs.listed.a");
    sql("DROP TABLE IF EXISTS bs.listed.a");
    assertThatThrownBy(() -> sql("DROP TABLE bs.listed.a")).isInstanceOf(AnalysisException.class);
    assertThat(Files.exists(SparkFixture.WAREHOUSE.resolve("listed/a/metadata"))).isFalse();
  }

  @Test
  void properties_are_set_and_removed_and_columns_not_yet_changed() {
    String table = newTable();
    sql("CREATE TABLE bs.%s (i int) COMMENT 'about numbers' TBLPROPERTIES ('a' = '1')", table);
    sql(
        "ALTER TABLE bs.%s SET TBLPROPERTIES ('b' = '2', 'benostream.index.auto-refresh' = 'false')",
        table);
    sql("ALTER TABLE bs.%s UNSET TBLPROPERTIES ('a')", table);
    assertThat(rows("SHOW TBLPROPERTIES bs.%s", table))
        .contains("[b,2]", "[benostream.index.auto-refresh,false]")
        .doesNotContain("[a,1]");
    assertThat(rows("DESCRIBE EXTENDED bs.%s", table)).contains("[Comment,about numbers,]");
    assertThatThrownBy(() -> sql("ALTER TABLE bs.%s ADD COLUMN j int", table))
        .hasMessageContaining("AddColumn");
  }

  @Test
  void table_that_is_missing_is_named() {
    assertThatThrownBy(() -> sql("SELECT * FROM bs.ns.missing"))
        .isInstanceOf(AnalysisException.class)
        .hasMessageContaining("missing");
    assertThatThrownBy(() -> sql("SELECT nothing FROM bs.ns.missing"))
        .hasMessageContaining("missing");
  }

  @Test
  void column_that_is_missing_is_named() {
    String table = newTable();
    sql("CREATE TABLE bs.%s (number int)", table);
    assertThatThrownBy(() -> sql("SELECT numbr FROM bs.%s", table))
        .isInstanceOf(AnalysisException.class)
        .hasMessageContaining("numbr")
        .hasMessageContaining("number");
  }

  @Test
  void one_part_name_stands_in_the_default_namespace() {
    sql("CREATE TABLE bs.single_part AS SELECT 1 AS i");
    assertThat(rows("SELECT * FROM bs.default.single_part")).containsExactly("[1]");
    sql("DROP TABLE bs.single_part");
  }

  @Test
  void table_from_a_query_that_fails_leaves_no_table() {
    String table = newTable();
    assertThatThrownBy(
            () -> sql("CREATE TABLE bs.%s AS SELECT raise_error('no') AS i FROM range(3)", table))
        .isInstanceOf(Exception.class);
    assertThat(rows("SHOW TABLES IN bs.ns"))
        .doesNotContain("[ns," + table.substring(3) + ",false]");
  }

  @Test
  void replaced_table_holds_the_new_rows_only() {
    String table = newTable();
    sql("CREATE TABLE bs.%s AS SELECT 1 AS i", table);
    sql("CREATE OR REPLACE TABLE bs.%s AS SELECT 'x' AS s", table);
    assertThat(rows("SELECT * FROM bs.%s", table)).containsExactly("[x]");
  }

  @Test
  void what_is_not_there_yet_is_refused() {
    String table = newTable();
    assertThatThrownBy(() -> sql("CREATE TABLE bs.%s (i int) PARTITIONED BY (i)", table))
        .isInstanceOf(BenoStreamAnalysisException.class)
        .hasMessageContaining("partitioned");
    assertThatThrownBy(() -> sql("CREATE TABLE bs.%s (i int) LOCATION '/elsewhere/x'", table))
        .hasMessageContaining("path");
    assertThatThrownBy(() -> sql("CREATE TABLE bs.%s (i int) USING parquet", table))
        .hasMessageContaining("parquet")
        .hasMessageContaining("USING benostream")
        .hasMessageContaining(".format(\"benostream\")");
    sql("CREATE TABLE bs.%s (i int) USING Iceberg", newTable());
    assertThatThrownBy(() -> sql("CREATE NAMESPACE bs.with_comment COMMENT 'x'"))
        .hasMessageContaining("comment");
  }

  @Test
  void functions_of_the_system_namespace_are_listed_and_found() {
    assertThat(rows("SELECT bs.system.vector_l2_distance(array(0.0, 3.0), array(4, 0))"))
        .containsExactly("[5.0]");
    assertThat(rows("SELECT bs.system.l2_distance(array(1.0f), array(1.0f, 2.0f))"))
        .containsExactly("[null]");
    assertThat(rows("SELECT bs.system.vector_cosine_distance(null, array(1.0f))"))
        .containsExactly("[null]");
    assertThatThrownBy(() -> sql("SELECT bs.system.vector_l2_distance('a', array(1.0f))"))
        .hasMessageContaining("arrays of numbers");
    assertThatThrownBy(() -> sql("SELECT bs.system.vector_hamming(array(1.0f), array(1.0f))"))
        .isInstanceOf(AnalysisException.class)
        .hasMessageContaining("vector_hamming");
    assertThat(rows("SHOW USER FUNCTIONS IN bs.system").toString()).contains("vector_l1_distance");
  }

  @Test
  void functions_are_described_with_signature_meaning_and_example() {
    for (String function : new String[] {"vector_search", "bm25_search"}) {
      assertThat(rows("DESCRIBE FUNCTION EXTENDED %s", function).toString())
          .contains(function + "(table, column, query, k [, filter,")
          .contains("> SELECT id, ")
          .doesNotContain("_FUNC_", "N/A");
    }
    assertThat(new DistanceFunction(DistanceMetric.L2).description())
        .contains("vector_l2_distance(left, right)", "Euclidean", "Example: SELECT");
  }

  @Test
  void l9_cached_dataframe_never_hides_newer_rows_from_a_new_query() {
    String table = newTable();
    sql("CREATE TABLE bs.%s AS SELECT 1 AS i", table);
    spark().table("bs." + table).cache().count();
    sql("INSERT INTO ice.%s VALUES (2)", table);
    assertThat(rows("SELECT count(*) FROM bs.%s", table)).containsExactly("[2]");
    spark().catalog().clearCache();
  }

  @Test
  void dataframe_used_again_reads_the_newest_rows() {
    String table = newTable();
    sql("CREATE TABLE bs.%s AS SELECT 1 AS i", table);
    org.apache.spark.sql.Dataset<org.apache.spark.sql.Row> data = spark().table("bs." + table);
    assertThat(data.count()).isEqualTo(1);
    sql("INSERT INTO bs.%s VALUES (2)", table);
    assertThat(data.count()).isEqualTo(2);
    assertThat(data.join(spark().table("bs." + table), "i").count()).isEqualTo(2);
  }
}
