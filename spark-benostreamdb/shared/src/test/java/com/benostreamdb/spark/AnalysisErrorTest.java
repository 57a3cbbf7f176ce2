package com.benostreamdb.spark;

import static com.benostreamdb.spark.SparkFixture.newTable;
import static com.benostreamdb.spark.SparkFixture.rows;
import static com.benostreamdb.spark.SparkFixture.sql;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import com.benostreamdb.BenoStreamException;
import com.benostreamdb.BenoStreamException.Kind;
import org.apache.spark.ErrorMessageFormat;
import org.apache.spark.SparkThrowableHelper;
import org.apache.spark.sql.AnalysisException;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** What users of spark-sql and PySpark see of our errors before a query runs. */
class AnalysisErrorTest {
  private static String table;

  @BeforeAll
  static void create() {
    table = newTable();
    sql(
        "CREATE TABLE bs.%s AS SELECT 1L AS id, array(1f, 2f) AS e, cast(2 AS double) AS price",
        table);
  }

  private static AnalysisException error(String statement) {
    return catchThrowableOfType(AnalysisException.class, () -> rows(statement.replace("#", table)));
  }

  @Test
  void errors_before_a_query_runs_are_sentences_of_a_kind_without_a_cause() {
    Object[][] cases = {
      {"CALL bs.system.create_index('#', array('price'), 'btree')", Kind.INVALID_INPUT},
      {"CALL bs.system.drop_index('#', 'nothing')", Kind.NOT_FOUND},
      {"CALL bs.system.nope('#')", Kind.NOT_FOUND},
      {"SELECT * FROM vector_search('bs.#', 'e', array(1, 2), 0)", Kind.INVALID_INPUT},
      {"SELECT * FROM vector_search('bs.#', 'e', array(1, 2), 20000)", Kind.RESOURCE_EXHAUSTED},
      {"SELECT * FROM vector_search('bs.#', 'e', array(1), 1, metric => 'x')", Kind.INVALID_INPUT},
      {"SELECT * FROM bm25_search('bs.#', 'e', 'x', 1)", Kind.INVALID_INPUT},
      {"ALTER TABLE bs.# ADD COLUMN j int", Kind.UNSUPPORTED},
      {"ALTER NAMESPACE bs.ns SET PROPERTIES ('a' = 'b')", Kind.UNSUPPORTED},
      {"CREATE TABLE bs.ns.refused (i int) PARTITIONED BY (i)", Kind.UNSUPPORTED},
      {"CREATE TABLE bs.ns.refused (i interval day)", Kind.UNSUPPORTED},
    };
    for (Object[] wrong : cases) {
      AnalysisException error = error((String) wrong[0]);
      assertThat(error).as((String) wrong[0]).isInstanceOf(BenoStreamAnalysisException.class);
      assertThat(((BenoStreamAnalysisException) error).kind())
          .as((String) wrong[0])
          .isEqualTo(wrong[1]);
      // Spark's command line prints the stack of an error that has a cause.
      assertThat(error).hasNoCause();
      assertThat(error.getSuppressed()).hasAtLeastOneElementOfType(BenoStreamException.class);
      assertThat(error.message()).doesNotContain("Exception");
    }
  }

  @Test
  void every_format_of_spark_shows_the_sentence() {
    AnalysisException error = error("CALL bs.system.nope('#')");
    assertThat(error.getMessage())
        .isEqualTo(
            "no procedure 'nope'; there are create_index, refresh_index, drop_index, show_indexes");
    assertThat(error.getSqlState()).isEqualTo("42704");
    for (scala.Enumeration.Value format :
        new scala.Enumeration.Value[] {
          ErrorMessageFormat.PRETTY(), ErrorMessageFormat.MINIMAL(), ErrorMessageFormat.STANDARD()
        }) {
      assertThat(SparkThrowableHelper.getMessage(error, format)).contains("no procedure 'nope'");
    }
    assertThat(SparkThrowableHelper.getMessage(error.getCondition(), error.getMessageParameters()))
        .contains("no procedure 'nope'");
  }

  @Test
  void missing_tables_are_errors_of_spark_itself() {
    for (String statement :
        new String[] {
          "CALL bs.system.create_index('ns.missing', array('id'), 'bitmap')",
          "CALL bs.system.show_indexes('ns.missing')",
          "SELECT * FROM vector_search('bs.ns.missing', 'e', array(1, 2), 1)",
          "SELECT * FROM bs.ns.missing"
        }) {
      AnalysisException error = error(statement);
      assertThat(error).as(statement).hasMessageContaining("missing");
      assertThat(error.getCondition()).as(statement).isEqualTo("TABLE_OR_VIEW_NOT_FOUND");
    }
  }
}
