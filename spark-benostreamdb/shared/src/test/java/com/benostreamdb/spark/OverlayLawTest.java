package com.benostreamdb.spark;

import static com.benostreamdb.spark.SparkFixture.newTable;
import static com.benostreamdb.spark.SparkFixture.rows;
import static com.benostreamdb.spark.SparkFixture.sortedRows;
import static com.benostreamdb.spark.SparkFixture.sql;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** Law L1 through Spark: rows with indexes are the rows without, and those of Iceberg's reader. */
class OverlayLawTest {
  private static final int ROWS = 400;
  private static final int SCALE =
      Integer.parseInt(System.getenv().getOrDefault("BSDB_TEST_SCALE", "1"));
  private static final int PREDICATES = 60 * SCALE;
  private static final Pattern USED = Pattern.compile("index \\w+: [1-9]\\d* segments");

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

  private static final String EXACT = ", recall => 'exact'";

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
    for (String[] leaf : LEAVES) {
      assertUsed("SELECT * FROM bs." + table + " WHERE " + leaf[0] + " = " + leaf[1]);
    }
    sql("DELETE FROM bs.%s WHERE pmod(hash(k), 5) = 0", table);
    sql("INSERT INTO bs.%s %s", table, values(3));
    sql("UPDATE bs.%s SET i = 19, s = 'a' WHERE k %% 11 = 0", table);
    assertAll(table, predicates.subList(20, PREDICATES), "stale indexes");
  }

  @Test
  void l1_searches_give_the_rows_of_a_scan_with_fresh_stale_and_no_index() {
    String table = newTable();
    String rows =
        "SELECT cast(id AS int) AS k, concat('word', pmod(id, 7), ' common ', "
            + "if(pmod(id, 13) = 0, 'rare rare', 'plain')) AS s, transform(sequence(1, 4), "
            + "x -> float(pmod(hash(id, x), 1000) / 100)) AS v FROM range(%d, %d, 1, 3)";
    sql("CREATE TABLE bs.%s AS " + rows, table, 0, 600);
    List<String> texts = new ArrayList<>();
    for (String query : List.of("rare", "word3 rare", "common", "absent", "word1 word2")) {
      texts.add("SELECT k, _score FROM bm25_search('bs." + table + "', 's', '" + query + "', 50)");
      texts.add(
          String.format(
              "SELECT k, _score FROM bm25_search('bs.%s', 's', '%s', 9, filter => 'k < 77')",
              table, query));
    }
    List<List<String>> scanned = all(texts);
    sql("CALL bs.system.create_index('%s', array('s'), 'bm25')", table);
    sql("CALL bs.system.create_index('%s', array('v'), 'hnsw')", table);
    assertUsed(texts.get(0));
    assertUsed(nearest(table, "array(1, 2, 3, 4)", ""));
    assertThat(all(texts)).isEqualTo(scanned);
    assertNearest(table, "fresh");
    sql("DELETE FROM bs.%s WHERE pmod(k, 5) = 0", table);
    sql("INSERT INTO bs.%s " + rows, table, 600, 650);
    sql("UPDATE bs.%s SET s = 'rare rare rare', v = array(1f, 2f, 3f, 4f) WHERE k = 7", table);
    List<List<String>> stale = all(texts);
    assertNearest(table, "stale");
    sql("CALL bs.system.refresh_index('%s')", table);
    assertThat(all(texts)).isEqualTo(stale);
    assertNearest(table, "refreshed");
    sql("CALL bs.system.drop_index('%s', 's_bm25')", table);
    assertThat(all(texts)).isEqualTo(stale).isNotEqualTo(scanned);
  }

  private static List<List<String>> all(List<String> statements) {
    return statements.stream().map(statement -> rows("%s", statement)).toList();
  }

  private static String nearest(String table, String query, String more) {
    return String.format(
        "SELECT k, _distance FROM vector_search('bs.%s', 'v', %s, %s)",
        table, query, more.isEmpty() ? "10" : more);
  }

  /** The index answers with rows of the scan at their distances, best first, and misses few. */
  private static void assertNearest(String table, String state) {
    int found = 0;
    int wanted = 0;
    for (int i = 0; i < 10 * SCALE; i++) {
      String query = String.format("array(%d, %d, %d, %d)", i % 10, i * 3 % 10, i * 7 % 10, 5);
      for (String filter : List.of("", ", filter => 'k < 100'")) {
        String more = "10" + filter;
        List<String> indexed = rows("%s", nearest(table, query, more));
        List<String> every = rows("%s", nearest(table, query, "10000" + filter + EXACT));
        List<String> exact = rows("%s", nearest(table, query, more + EXACT));
        assertThat(indexed).as(state + query + filter).hasSameSizeAs(exact);
        assertThat(every).as(state + query + filter).containsSubsequence(indexed);
        wanted += exact.size();
        found += (int) exact.stream().filter(indexed::contains).count();
      }
    }
    assertThat(found).as(state).isGreaterThanOrEqualTo(wanted * 95 / 100);
  }

  private static void assertUsed(String statement) {
    String plan = rows("%s", "EXPLAIN " + statement).get(0);
    assertThat(USED.matcher(plan).find()).as(plan).isTrue();
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
