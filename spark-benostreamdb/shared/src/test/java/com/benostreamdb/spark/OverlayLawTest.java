package com.benostreamdb.spark;

import static com.benostreamdb.spark.SparkFixture.newTable;
import static com.benostreamdb.spark.SparkFixture.rows;
import static com.benostreamdb.spark.SparkFixture.sortedRows;
import static com.benostreamdb.spark.SparkFixture.sql;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Law L1 through Spark: rows with indexes are the rows without, and those of Iceberg's reader. */
class OverlayLawTest {
  private static final int ROWS = 400;
  private static final int PREDICATES = 60;

  private static final String[][] LEAVES = {
    {"i", "0", "7", "-3", "19", "cast(null AS int)"},
    {"l", "0L", "5L", "-1L", "9000000000L"},
    {"f", "0.0f", "-0.0f", "float('NaN')", "1.5f", "float('Infinity')"},
    {"d", "0.0d", "-0.0d", "double('NaN')", "2.25d", "double('-Infinity')"},
    {"s", "''", "'a'", "'ab'", "'B'", "'\u00e4'", "cast(null AS string)"},
    {"dc", "cast(1.50 AS decimal(9,2))", "cast(0 AS decimal(9,2))", "cast(-7.25 AS decimal(9,2))"},
    {"dt", "date'1970-01-01'", "date'2024-02-29'", "date'1969-12-31'"},
    {
      "ts",
      "timestamp'1970-01-01 00:00:00Z'",
      "timestamp'1969-12-31 23:59:59.999999Z'",
      "timestamp'2024-01-01 12:00:00Z'"
    },
    {"b", "true", "false"},
    {"bin", "X''", "X'00'", "X'ff'"}
  };

  private static final String VALUES =
      "SELECT cast(id AS int) AS k, %s FROM range(0, " + ROWS + ", 1, 3)";

  /** Random values from each column's own list, with NULLs, by row number and seed. */
  private static String values(int seed) {
    List<String> columns = new ArrayList<>();
    for (int c = 0; c < LEAVES.length; c++) {
      String[] leaf = LEAVES[c];
      StringBuilder text = new StringBuilder("CASE pmod(hash(id, ").append(seed).append(", ");
      text.append(c).append("), ").append(leaf.length).append(')');
      for (int i = 1; i < leaf.length; i++) {
        text.append(" WHEN ").append(i).append(" THEN ").append(leaf[i]);
      }
      columns.add(text.append(" END AS ").append(leaf[0]).toString());
    }
    return String.format(VALUES, String.join(", ", columns));
  }

  private static String predicate(Random random, int depth) {
    int choice = random.nextInt(depth == 0 ? 7 : 10);
    String[] leaf = LEAVES[random.nextInt(LEAVES.length)];
    String column = leaf[0];
    String value = leaf[1 + random.nextInt(leaf.length - 1)];
    String other = leaf[1 + random.nextInt(leaf.length - 1)];
    String[] operators = {"=", "<>", "<", "<=", ">", ">=", "<=>"};
    return switch (choice) {
      case 0, 1, 2 -> column + " " + operators[random.nextInt(operators.length)] + " " + value;
      case 3 -> column + " IN (" + value + ", " + other + ")";
      case 4 -> column + (random.nextBoolean() ? " IS NULL" : " IS NOT NULL");
      case 5 -> column + " BETWEEN " + value + " AND " + other;
      case 6 -> column.equals("s") ? "s LIKE 'a%%'" : column + " NOT IN (" + value + ", null)";
      case 7 -> "NOT (" + predicate(random, depth - 1) + ")";
      case 8 -> "(" + predicate(random, depth - 1) + " AND " + predicate(random, depth - 1) + ")";
      default -> "(" + predicate(random, depth - 1) + " OR " + predicate(random, depth - 1) + ")";
    };
  }

  @Test
  void l1_random_predicates_give_the_rows_of_iceberg_with_fresh_stale_and_no_index() {
    String table = newTable();
    sql("CREATE TABLE bs.%s AS %s", table, values(1));
    sql("INSERT INTO bs.%s %s", table, values(2));
    Random random = new Random(20_260_101);
    List<String> predicates = new ArrayList<>();
    for (int i = 0; i < PREDICATES; i++) {
      predicates.add(predicate(random, 3));
    }
    assertAll(table, predicates.subList(0, 20), "no index");
    for (String[] leaf : LEAVES) {
      sql("CALL bs.system.create_index('%s', array('%s'), 'bitmap')", table, leaf[0]);
    }
    assertThat(rows("CALL bs.system.show_indexes('%s')", table)).hasSize(LEAVES.length);
    assertAll(table, predicates, "fresh indexes");
    sql("DELETE FROM bs.%s WHERE pmod(hash(k), 5) = 0", table);
    sql("INSERT INTO bs.%s %s", table, values(3));
    sql("UPDATE bs.%s SET i = 19, s = 'a' WHERE k %% 11 = 0", table);
    assertAll(table, predicates.subList(20, PREDICATES), "stale indexes");
  }

  private static void assertAll(String table, List<String> predicates, String state) {
    for (String predicate : predicates) {
      String where = predicate.replace("%%", "%");
      assertThat(sortedRows("%s", "SELECT * FROM bs." + table + " WHERE " + where))
          .as(state + ": " + where)
          .isEqualTo(sortedRows("%s", "SELECT * FROM ice." + table + " WHERE " + where));
    }
  }
}
