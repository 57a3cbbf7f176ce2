package com.benostreamdb.spark;

import static com.benostreamdb.spark.SparkFixture.newTable;
import static com.benostreamdb.spark.SparkFixture.rows;
import static com.benostreamdb.spark.SparkFixture.sortedRows;
import static com.benostreamdb.spark.SparkFixture.spark;
import static com.benostreamdb.spark.SparkFixture.sql;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class TypeRoundTripTest {
  /** Column, type, and values as SQL; every list has a NULL and edge values. */
  static final String[][] TYPES = {
    {"b", "boolean", "true", "false", "null"},
    {"ti", "tinyint", "-128Y", "127Y", "null"},
    {"si", "smallint", "-32768S", "32767S", "null"},
    {"i", "int", "-2147483648", "2147483647", "null"},
    {"l", "bigint", "-9223372036854775808L", "9223372036854775807L", "null"},
    {"f", "float", "float('NaN')", "-0.0f", "null", "float('-Infinity')", "float(3.4028235E38)"},
    {"d", "double", "double('NaN')", "-0.0d", "null", "double('Infinity')", "4.9E-324d"},
    {"d5", "decimal(5,2)", "-999.99", "0.01", "null"},
    {"d18", "decimal(18,9)", "123456789.123456789", "-0.000000001", "null"},
    {
      "d38",
      "decimal(38,10)",
      "9999999999999999999999999999.9999999999",
      "-9999999999999999999999999999.9999999999",
      "null",
      "1"
    },
    {"dt", "date", "date'0001-01-01'", "date'9999-12-31'", "null", "date'1969-12-31'"},
    {
      "ts",
      "timestamp",
      "timestamp'1969-12-31 23:59:59.999999Z'",
      "timestamp'9999-12-31 23:59:59.999999Z'",
      "null",
      "timestamp'0001-01-01 00:00:00Z'"
    },
    {
      "tn",
      "timestamp_ntz",
      "timestamp_ntz'2024-03-31 02:30:00.000001'",
      "timestamp_ntz'1582-10-10 00:00:00'",
      "null"
    },
    {"s", "string", "''", "'snowman \u2603 \uD83D\uDE00'", "null", "repeat('x', 5000)"},
    {"bin", "binary", "X''", "X'00ff'", "null"},
    {"e", "array<float>", "array(1.5f, -0.0f)", "array()", "null", "array(1f, null)"},
    {"a", "array<string>", "array('', null, 'a')", "array()", "null"},
    {
      "st",
      "struct<x:int,y:struct<z:string>>",
      "named_struct('x', 1, 'y', named_struct('z', 'q'))",
      "named_struct('x', null, 'y', null)",
      "null"
    },
    {"m", "map<string,int>", "map('a', 1, 'b', null)", "map()", "null"},
    {
      "n",
      "array<struct<k:map<int,array<double>>>>",
      "array(named_struct('k', map(1, array(1.5d, null))), null)",
      "array()",
      "null"
    }
  };

  @AfterEach
  void restore() {
    spark().conf().set("spark.sql.codegen.wholeStage", "true");
  }

  /** One SELECT for each position: value number i of each column, wrapped around. */
  static String values(String[][] types, int count) {
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < count; i++) {
      text.append(i == 0 ? "SELECT " : " UNION ALL SELECT ").append(i).append(" AS row_number");
      for (String[] type : types) {
        String value = type[2 + i % (type.length - 2)];
        text.append(", cast(").append(value).append(" AS ").append(type[1]).append(") AS `");
        text.append(type[0].replace("`", "``")).append('`');
      }
    }
    return text.toString();
  }

  static String columns(String[][] types) {
    StringBuilder text = new StringBuilder("row_number int");
    for (String[] type : types) {
      text.append(", `").append(type[0].replace("`", "``")).append("` ").append(type[1]);
    }
    return text.toString();
  }

  @Test
  void every_type_written_is_read_by_us_and_by_iceberg_with_equal_rows() {
    String table = newTable();
    sql("CREATE TABLE bs.%s (%s)", table, columns(TYPES));
    String source = values(TYPES, 12);
    sql("INSERT INTO bs.%s %s", table, source);
    // Spark stores tinyint and smallint as int, as Iceberg does.
    List<String> expected = sortedRows(source);
    assertThat(sortedRows("SELECT * FROM bs.%s", table)).isEqualTo(expected);
    assertThat(sortedRows("SELECT * FROM ice.%s", table)).isEqualTo(expected);
    spark().conf().set("spark.sql.codegen.wholeStage", "false");
    assertThat(sortedRows("SELECT * FROM bs.%s", table)).isEqualTo(expected);
  }

  @Test
  void expressions_over_every_column_equal_those_of_iceberg() {
    String table = newTable();
    sql("CREATE TABLE bs.%s AS %s", table, values(TYPES, 12));
    for (String[] type : TYPES) {
      String query = "SELECT hash(`" + type[0] + "`), `" + type[0] + "` IS NULL FROM %s." + table;
      if (type[1].startsWith("map") || type[1].contains("map<")) {
        query = "SELECT to_json(struct(`" + type[0] + "`)) FROM %s." + table;
      }
      assertThat(sortedRows(query, "bs")).as(type[0]).isEqualTo(sortedRows(query, "ice"));
    }
  }

  @Test
  void names_with_dots_quotes_spaces_and_mixed_case_survive() {
    String[][] odd = {
      {"a.b", "int", "1", "null"},
      {"with space", "string", "'x'", "null"},
      {"quo`te\"s'", "int", "2", "null"},
      {"MixedCase", "int", "3", "null"},
      {"\u00fcml\u00e4ut", "int", "4", "null"},
      {"nested.struct", "struct<`in.ner`:int,`In Ner`:int>", "named_struct('in.ner',1,'In Ner',2)"}
    };
    String table = newTable();
    sql("CREATE TABLE bs.%s (%s)", table, columns(odd));
    sql("INSERT INTO bs.%s %s", table, values(odd, 2));
    List<String> expected = sortedRows(values(odd, 2));
    assertThat(sortedRows("SELECT * FROM bs.%s", table)).isEqualTo(expected);
    assertThat(sortedRows("SELECT * FROM ice.%s", table)).isEqualTo(expected);
    assertThat(rows("SELECT `a.b`, mixedcase FROM bs.%s WHERE `a.b` = 1 AND MIXEDCASE = 3", table))
        .containsExactly("[1,3]");
    assertThat(rows("SELECT `nested.struct`.`in.ner` FROM bs.%s", table)).contains("[1]");
  }

  @Test
  void empty_table_and_empty_insert_give_no_rows() {
    String table = newTable();
    sql("CREATE TABLE bs.%s (%s)", table, columns(TYPES));
    assertThat(rows("SELECT * FROM bs.%s", table)).isEmpty();
    assertThat(rows("SELECT count(*), max(i) FROM bs.%s", table)).containsExactly("[0,null]");
    sql("INSERT INTO bs.%s SELECT * FROM bs.%s", table, table);
    assertThat(rows("SELECT count(*) FROM bs.%s WHERE i > 3", table)).containsExactly("[0]");
  }

  @Test
  void columns_in_any_order_and_none_are_projected() {
    String table = newTable();
    sql("CREATE TABLE bs.%s AS %s", table, values(TYPES, 6));
    String query = "SELECT s, i, e, s AS again, st.y.z FROM %s." + table;
    assertThat(sortedRows(query, "bs")).isEqualTo(sortedRows(query, "ice"));
    assertThat(rows("SELECT 1 FROM bs.%s", table)).hasSize(6);
    assertThat(rows("SELECT count(*) FROM bs.%s", table)).containsExactly("[6]");
  }

  @Test
  void many_batches_keep_every_row() {
    String table = newTable();
    sql(
        "CREATE TABLE bs.%s AS SELECT id, repeat('v', cast(id %% 50 as int)) AS text,"
            + " if(id %% 3 = 0, null, array(cast(id as float))) AS e FROM range(0, 100000, 1, 3)",
        table);
    assertThat(
            rows(
                "SELECT count(*), sum(id), sum(length(text)), count(e), sum(e[0]) FROM bs.%s",
                table))
        .isEqualTo(
            rows(
                "SELECT count(*), sum(id), sum(length(text)), count(e), sum(e[0]) FROM ice.%s",
                table))
        .singleElement()
        .asString()
        .startsWith("[100000,4999950000,");
  }

  @Test
  void type_without_a_place_in_iceberg_is_refused() {
    assertThatThrownBy(() -> sql("CREATE TABLE bs.%s (i interval day)", newTable()))
        .isInstanceOf(BenoStreamAnalysisException.class)
        .hasMessageContaining("interval day");
    assertThatThrownBy(() -> sql("CREATE TABLE bs.%s (i variant)", newTable()))
        .hasMessageContaining("variant");
  }
}
