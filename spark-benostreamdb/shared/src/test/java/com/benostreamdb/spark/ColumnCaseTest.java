package com.benostreamdb.spark;

import static com.benostreamdb.spark.SparkFixture.newTable;
import static com.benostreamdb.spark.SparkFixture.rows;
import static com.benostreamdb.spark.SparkFixture.spark;
import static com.benostreamdb.spark.SparkFixture.sql;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Columns in any case, as {@code spark.sql.caseSensitive} says. */
class ColumnCaseTest {
  private static final String CASE_SENSITIVE = "spark.sql.caseSensitive";

  @AfterEach
  void reset() {
    spark().conf().unset(CASE_SENSITIVE);
  }

  @Test
  void r_sc7_columns_are_found_in_any_case_and_ambiguous_names_are_refused() {
    String table = newTable();
    spark().conf().set(CASE_SENSITIVE, "true");
    sql("CREATE TABLE bs.%s (id INT, Name STRING, Tag STRING, TAG STRING)", table);
    sql(
        "INSERT INTO bs.%s SELECT /*+ COALESCE(1) */ *"
            + " FROM VALUES (1, 'one', 'a', 'A'), (2, 'two', 'b', 'B')",
        table);
    String both = "SELECT id FROM bs.%s WHERE Tag = 'b' AND TAG = 'B'";
    assertThat(rows(both, table)).containsExactly("[2]");
    assertThatThrownBy(() -> rows("SELECT NAME FROM bs.%s", table)).hasMessageContaining("NAME");

    spark().conf().set(CASE_SENSITIVE, "false");
    String any = "SELECT iD, _POS FROM bs.%s WHERE NAME = 'two'";
    assertThat(rows(any, table)).containsExactly("[2,1]");
    assertThat(SparkFixture.plan(any, table)).contains("filters=[Name IS NOT NULL, Name = 'two']");
    assertThatThrownBy(() -> rows("SELECT tag FROM bs.%s", table))
        .hasMessageContaining("AMBIGUOUS");
    // Spark would write the value of one column into the other.
    assertThatThrownBy(() -> sql("UPDATE bs.%s SET NAME = 'zwei' WHERE ID = 2", table))
        .isInstanceOf(BenoStreamAnalysisException.class)
        .hasMessageContaining("spark.sql.caseSensitive");
    sql("DELETE FROM bs.%s WHERE ID = 1", table);
    spark().conf().set(CASE_SENSITIVE, "true");
    sql("UPDATE bs.%s SET Name = 'zwei' WHERE id = 2", table);
    assertThat(rows("SELECT * FROM ice.%s ORDER BY id", table)).hasToString("[[2,zwei,b,B]]");
  }
}
