package com.benostreamdb.spark;

import static com.benostreamdb.spark.SparkFixture.newTable;
import static com.benostreamdb.spark.SparkFixture.plan;
import static com.benostreamdb.spark.SparkFixture.rows;
import static com.benostreamdb.spark.SparkFixture.sortedRows;
import static com.benostreamdb.spark.SparkFixture.spark;
import static com.benostreamdb.spark.SparkFixture.sql;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.benostreamdb.BenoStreamException;
import java.util.List;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.functions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

class VectorSearchTest {
  private static final String DISTANCE = "bs.system.vector_l2_distance(e, array(5.2, 1.0))";

  private static String table;

  @BeforeAll
  static void create() {
    table = newTable();
    sql(
        "CREATE TABLE bs.%s AS SELECT cast(id AS int) AS id, concat('word', id %% 5, ' common')"
            + " AS title, CASE WHEN id = 90 THEN null WHEN id = 91 THEN array(1f)"
            + " WHEN id = 92 THEN array(1f, null)"
            + " ELSE array(cast(id AS float), cast(id %% 7 AS float)) END AS e"
            + " FROM range(0, 100, 1, 4)",
        table);
    sql("CALL bs.system.create_index('%s', array('e'), 'hnsw')", table);
    sql("CALL bs.system.create_index('%s', array('title'), 'bm25')", table);
    sql(
        "INSERT INTO bs.%s SELECT cast(id AS int), 'unindexed common', array(cast(id AS float), 1f)"
            + " FROM range(100, 110, 1, 1)",
        table);
    sql("DELETE FROM bs.%s WHERE id = 5", table);
  }

  private static String order(String key, String rest) {
    return "SELECT id, " + DISTANCE + " FROM bs." + table + " ORDER BY " + key + " " + rest;
  }

  /** The plan uses the search, and the rows are those of the plain sort. */
  private static void assertSearched(String query) {
    assertThat(plan("%s", query)).contains("search=vector(e");
    assertThat(rows("%s", query)).isEqualTo(withoutPushDown(query));
  }

  private static void assertScanned(String query) {
    assertThat(plan("%s", query)).doesNotContain("search=");
    assertThat(rows("%s", query)).isEqualTo(withoutPushDown(query));
  }

  /** A filter that no scan decides keeps Spark from pushing the limit. */
  private static List<String> withoutPushDown(String query) {
    String undecided = "FROM (SELECT * FROM bs." + table + " WHERE id IS NULL OR id + 0 = id)";
    return rows("%s", query.replace("FROM bs." + table, undecided));
  }

  @Test
  void order_by_distance_with_limit_uses_the_index() {
    String query = order(DISTANCE, "NULLS LAST LIMIT 4");
    assertSearched(query);
    assertThat(plan("%s", query)).contains("e_hnsw");
    assertThat(rows("%s", query)).first().asString().startsWith("[7,").doesNotContain("null");
  }

  @Test
  void order_by_distance_puts_null_distances_first_as_spark_does() {
    String query = "SELECT id FROM bs.%s ORDER BY %s LIMIT %d";
    assertThat(plan(query, table, DISTANCE, 3)).contains("search=vector(e");
    assertThat(sortedRows(query, table, DISTANCE, 3)).containsExactly("[90]", "[91]", "[92]");
    assertThat(rows(query, table, DISTANCE, 4)).last().isEqualTo("[7]");
  }

  @Test
  void order_by_alias_ordinal_filter_and_offset_use_the_index() {
    assertSearched(
        "SELECT id, " + DISTANCE + " AS d FROM bs." + table + " ORDER BY d NULLS LAST LIMIT 3");
    assertSearched(
        "SELECT id, " + DISTANCE + " FROM bs." + table + " ORDER BY 2 NULLS LAST LIMIT 3");
    assertSearched(
        "SELECT id, "
            + DISTANCE
            + " FROM bs."
            + table
            + " WHERE id > 40 AND title LIKE 'word%' ORDER BY 2 NULLS LAST LIMIT 3");
    assertSearched(order(DISTANCE, "NULLS LAST LIMIT 3 OFFSET 2"));
  }

  @Test
  void orders_that_a_search_cannot_answer_are_scanned() {
    assertScanned(order(DISTANCE, "DESC LIMIT 3"));
    assertScanned(order(DISTANCE, "NULLS LAST, id LIMIT 3"));
    assertScanned(order("-" + DISTANCE, "DESC NULLS LAST LIMIT 3"));
    String undefined = "bs.system.vector_l2_distance(e, array(float('NaN'), 1f))";
    assertThat(plan(order(undefined, "LIMIT 3"))).doesNotContain("search=");
    assertScanned(
        "SELECT id, "
            + DISTANCE
            + " FROM bs."
            + table
            + " WHERE size(e) = 2 ORDER BY 2 NULLS LAST LIMIT 3");
    assertScanned(order(DISTANCE, "NULLS LAST, id"));
  }

  @Test
  void exact_mode_is_an_option_of_the_reader() {
    String described =
        ((Dataset<Row>)
                spark()
                    .read()
                    .option("benostream.search.mode", "exact")
                    .table("bs." + table)
                    .orderBy(functions.expr(DISTANCE).asc_nulls_last())
                    .limit(2))
            .queryExecution()
            .executedPlan()
            .toString();
    assertThat(described).contains("mode=EXACT");
  }

  @Test
  void vector_search_gives_the_table_and_the_distance_best_first() {
    assertThat(
            rows(
                "SELECT id, round(_distance, 3) FROM vector_search('bs.%s', 'e', array(9, 2), 3)",
                table))
        .containsExactly("[9,0.0]", "[8,1.414]", "[10,1.414]");
    assertThat(sql("SELECT * FROM vector_search('bs.%s', 'e', '[9, 2]', 1)", table).columns())
        .containsExactly("id", "title", "e", "_distance");
    assertThat(
            rows(
                "SELECT id FROM vector_search(k => 2, query => array(104.0f, 1.0f), column => 'e',"
                    + " table => 'bs.%s')",
                table))
        .containsExactly("[104]", "[103]");
  }

  @Test
  void vector_search_filter_selects_before_and_where_after() {
    assertThat(
            rows(
                "SELECT id FROM vector_search('bs.%s', 'e', array(9, 2), 2, filter => 'id > 50')",
                table))
        .containsExactly("[51]", "[52]");
    assertThat(
            rows("SELECT id FROM vector_search('bs.%s', 'e', array(9, 2), 3) WHERE id > 8", table))
        .containsExactly("[9]", "[10]");
    assertThat(
            rows("SELECT id FROM vector_search('bs.%s', 'e', array(9, 2), 3) WHERE id > 50", table))
        .isEmpty();
  }

  @Test
  void vector_search_filter_that_the_scan_cannot_decide_is_refused() {
    for (String filter :
        new String[] {
          "size(e) > 1",
          "id > 3 AND title RLIKE 'x'",
          "id IN (SELECT 1)",
          "_distance < 3",
          "rand() > 0"
        }) {
      assertThatThrownBy(
              () ->
                  rows(
                      "SELECT id FROM vector_search('bs.%s', 'e', array(9, 2), 2, filter => \"%s\")",
                      table, filter))
          .as(filter)
          .isInstanceOf(BenoStreamAnalysisException.class)
          .extracting(e -> ((BenoStreamAnalysisException) e).kind())
          .isEqualTo(BenoStreamException.Kind.UNSUPPORTED);
    }
  }

  @Test
  void vector_search_joins_and_shows_its_index() {
    assertThat(
            rows(
                "SELECT s.id, t.title FROM vector_search('bs.%s', 'e', array(104, 1), 1) s"
                    + " JOIN bs.%s t ON s.id = t.id",
                table, table))
        .containsExactly("[104,unindexed common]");
    assertThat(plan("SELECT * FROM vector_search('bs.%s', 'e', array(9, 2), 2)", table))
        .contains("e_hnsw");
  }

  @Test
  void vector_search_of_more_rows_than_there_are_gives_all_that_have_a_distance() {
    assertThat(rows("SELECT id FROM vector_search('bs.%s', 'e', array(9, 2), 9999)", table))
        .hasSize(106);
  }

  @Test
  void vector_search_by_each_metric_equals_the_function() {
    for (String metric : new String[] {"l2", "cosine", "inner_product", "l1"}) {
      String function =
          "bs.system.vector_" + metric + (metric.equals("inner_product") ? "" : "_distance");
      assertThat(
              rows(
                  "SELECT _distance FROM vector_search('bs.%s', 'e', array(3, 5), 7, metric => '%s')",
                  table, metric))
          .as(metric)
          .isEqualTo(
              rows(
                  "SELECT %s(e, array(3, 5)) AS d FROM bs.%s WHERE id + 0 = id ORDER BY d"
                      + " NULLS LAST LIMIT 7",
                  function, table));
    }
  }

  @Test
  void bm25_search_scores_and_combines_terms() {
    assertThat(rows("SELECT id FROM bm25_search('bs.%s', 'title', 'unindexed', 20)", table))
        .hasSize(10);
    assertThat(
            rows(
                "SELECT id, _score FROM bm25_search('bs.%s', 'title', 'word1 common', 5,"
                    + " operator => 'and')",
                table))
        .hasSize(5)
        .allMatch(row -> Integer.parseInt(row.substring(1, row.indexOf(','))) % 5 == 1);
    assertThat(
            sortedRows(
                "SELECT id FROM bm25_search(table => 'bs.%s', column => 'title', query => 'word3',"
                    + " k => 3, filter => 'id >= 93')",
                table))
        .containsExactly("[93]", "[98]");
    assertThat(rows("SELECT id FROM bm25_search('bs.%s', 'title', 'absent', 3)", table)).isEmpty();
  }

  @Test
  void searched_table_without_a_catalog_stands_in_the_current_one() {
    String search = "SELECT id FROM vector_search('%s', 'e', array(9, 2), 1)";
    assertThatThrownBy(() -> rows(search, table))
        .hasMessageContaining("name the catalog too: 'bs." + table + "'");
    sql("USE bs.ns");
    try {
      assertThat(rows(search, table)).containsExactly("[9]");
      assertThat(rows(search, table.substring(3))).containsExactly("[9]");
      assertThat(rows("CALL bs.system.show_indexes('%s')", table.substring(3))).hasSize(2);
    } finally {
      sql("USE spark_catalog.default");
    }
  }

  @Test
  void plans_name_the_distance_and_whether_an_index_is_used() {
    assertThat(plan("SELECT %s FROM bs.%s", DISTANCE, table))
        .contains("(vector_l2_distance,")
        .doesNotContain("DistanceFunction");
    assertThat(plan("SELECT id FROM bs.%s WHERE id > 3", table))
        .contains("index: none")
        .doesNotContain("proposed", "without index");
  }

  @Test
  void bad_arguments_are_named() {
    String[][] cases = {
      {"'bs.%s', 'e', array(1, 2), 0", "k is at least 1"},
      {"'bs.%s', 'e', array(1, 2), -1", "k is at least 1"},
      {"'bs.%s', 'nothing', array(1, 2), 3", "nothing"},
      {"'bs.%s', 'title', array(1, 2), 3", "title"},
      {"'bs.%s', 'e', array(double('NaN'), 2), 3", "NaN"},
      {"'bs.%s', 'e', 'text', 3", "text"},
      {"'bs.%s', 'e', array(1, null), 3", "NULL"},
      {"'bs.%s', 'e', array(1, 2), 20000", "10"},
      {"'bs.%s', 'e', array(1, 2)", "'k'"},
      {"'bs.%s', 'e', array(1, 2), 3, speed => 'fast'", "speed"},
      {"'bs.%s', 'e', array(1, 2), 3, metric => 'hamming'", "hamming"},
      {"'bs.%s', 'e', array(1, 2), 3, filter => 'id >'", "id >"},
      {"'bs.missing.%s', 'e', array(1, 2), 3", "missing"},
      {"'bs.%s', 'e', array(rand(), 2), 3", "constant"},
    };
    for (String[] bad : cases) {
      String call = String.format(bad[0], table);
      assertThatThrownBy(() -> rows("SELECT * FROM vector_search(" + call + ")"))
          .as(call)
          .isInstanceOf(Exception.class)
          .hasMessageContaining(bad[1]);
    }
  }
}
