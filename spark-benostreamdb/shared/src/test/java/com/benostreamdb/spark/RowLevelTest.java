package com.benostreamdb.spark;

import static com.benostreamdb.spark.SparkFixture.dataFiles;
import static com.benostreamdb.spark.SparkFixture.newTable;
import static com.benostreamdb.spark.SparkFixture.rows;
import static com.benostreamdb.spark.SparkFixture.sortedRows;
import static com.benostreamdb.spark.SparkFixture.sql;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class RowLevelTest {
  private static String docs(int rows) {
    String table = newTable();
    sql(
        "CREATE TABLE bs.%s AS SELECT cast(id AS int) AS id, concat('t', id) AS title,"
            + " array(cast(id AS float), 0.5f) AS e FROM range(0, %d, 1, 2)",
        table, rows);
    return table;
  }

  /** Both readers see the same rows. */
  private static List<String> both(String table) {
    List<String> ours = sortedRows("SELECT * FROM bs.%s", table);
    assertThat(sortedRows("SELECT * FROM ice.%s", table)).isEqualTo(ours);
    return ours;
  }

  @Test
  void delete_removes_exactly_the_rows_of_the_condition() {
    String table = docs(10);
    sql("DELETE FROM bs.%s WHERE id IN (1, 8) OR title LIKE '%%5'", table);
    both(table);
    assertThat(rows("SELECT id FROM bs.%s ORDER BY id", table))
        .containsExactly("[0]", "[2]", "[3]", "[4]", "[6]", "[7]", "[9]");
    sql("DELETE FROM bs.%s WHERE size(e) = 2 AND id > 6", table);
    assertThat(rows("SELECT count(*) FROM bs.%s", table)).containsExactly("[5]");
    both(table);
  }

  @Test
  void delete_with_a_condition_that_is_null_or_false_changes_nothing() {
    String table = docs(4);
    String before = rows("SELECT * FROM ice.%s.snapshots", table).toString();
    sql("DELETE FROM bs.%s WHERE id = null", table);
    sql("DELETE FROM bs.%s WHERE false", table);
    sql("DELETE FROM bs.%s WHERE id > 100", table);
    assertThat(rows("SELECT * FROM ice.%s.snapshots", table)).hasToString(before);
    assertThat(rows("SELECT count(*) FROM bs.%s", table)).containsExactly("[4]");
  }

  @Test
  void delete_without_condition_empties_the_table() {
    String table = docs(4);
    sql("DELETE FROM bs.%s", table);
    assertThat(both(table)).isEmpty();
  }

  @Test
  void delete_of_one_row_adds_one_small_file_and_no_data_file() throws Exception {
    String table = newTable();
    sql("CREATE TABLE bs.%s AS SELECT id, repeat('x', 20) AS s FROM range(0, 200000, 1, 2)", table);
    List<Path> before = dataFiles(table);
    sql("DELETE FROM bs.%s WHERE id = 123456", table);
    List<Path> added = new ArrayList<>(dataFiles(table));
    added.removeAll(before);
    assertThat(added).hasSize(1);
    assertThat(Files.size(added.get(0))).isLessThan(64 << 10);
    assertThat(rows("SELECT count(*), sum(id) FROM ice.%s", table))
        .isEqualTo(rows("SELECT count(*), sum(id) FROM bs.%s", table));
  }

  @Test
  void delete_by_subquery_and_of_deleted_rows_again() {
    String table = docs(10);
    sql("DELETE FROM bs.%s WHERE id IN (SELECT id * 2 FROM range(3))", table);
    sql("DELETE FROM bs.%s WHERE id < 5", table);
    assertThat(rows("SELECT id FROM bs.%s ORDER BY id", table))
        .containsExactly("[5]", "[6]", "[7]", "[8]", "[9]");
    both(table);
  }

  @Test
  void update_changes_exactly_the_rows_of_the_condition() {
    String table = docs(6);
    sql("UPDATE bs.%s SET title = concat(title, '!'), e = null WHERE id %% 2 = 0", table);
    both(table);
    assertThat(rows("SELECT id, title, e IS NULL FROM bs.%s ORDER BY id", table))
        .containsExactly(
            "[0,t0!,true]",
            "[1,t1,false]",
            "[2,t2!,true]",
            "[3,t3,false]",
            "[4,t4!,true]",
            "[5,t5,false]");
    sql("UPDATE bs.%s SET id = id + 1", table);
    assertThat(rows("SELECT sum(id), count(*) FROM bs.%s", table)).containsExactly("[21,6]");
    both(table);
  }

  @Test
  void merge_updates_deletes_inserts_and_handles_rows_of_the_target_alone() {
    String table = docs(8);
    sql(
        "MERGE INTO bs.%s t USING (SELECT cast(id AS int) AS id FROM range(4, 10)) s ON t.id = s.id"
            + " WHEN MATCHED AND s.id = 4 THEN DELETE"
            + " WHEN MATCHED THEN UPDATE SET title = 'merged'"
            + " WHEN NOT MATCHED THEN INSERT (id, title, e) VALUES (s.id, 'new', array(1f))"
            + " WHEN NOT MATCHED BY SOURCE AND t.id = 0 THEN DELETE"
            + " WHEN NOT MATCHED BY SOURCE AND t.id = 1 THEN UPDATE SET title = 'alone'",
        table);
    both(table);
    assertThat(rows("SELECT id, title FROM bs.%s ORDER BY id", table))
        .containsExactly(
            "[1,alone]",
            "[2,t2]",
            "[3,t3]",
            "[5,merged]",
            "[6,merged]",
            "[7,merged]",
            "[8,new]",
            "[9,new]");
  }

  @Test
  void merge_with_two_source_rows_for_one_target_row_is_an_error_and_changes_nothing() {
    String table = docs(3);
    assertThatThrownBy(
            () ->
                sql(
                    "MERGE INTO bs.%s t USING (SELECT 1 AS id FROM range(2)) s ON t.id = s.id"
                        + " WHEN MATCHED THEN UPDATE SET title = 'x'",
                    table))
        .hasStackTraceContaining("MERGE_CARDINALITY_VIOLATION");
    assertThat(rows("SELECT count(*) FROM bs.%s WHERE title = 'x'", table)).containsExactly("[0]");
  }

  @Test
  void l9_merge_of_a_table_into_itself_reads_one_snapshot() {
    String table = docs(4);
    sql(
        "MERGE INTO bs.%s t USING (SELECT id + 2 AS id FROM bs.%s) s ON t.id = s.id"
            + " WHEN MATCHED THEN UPDATE SET title = 'self' WHEN NOT MATCHED THEN"
            + " INSERT (id, title, e) VALUES (s.id, 'more', null)",
        table, table);
    assertThat(rows("SELECT id, title FROM bs.%s ORDER BY id", table))
        .containsExactly("[0,t0]", "[1,t1]", "[2,self]", "[3,self]", "[4,more]", "[5,more]");
    both(table);
  }

  @Test
  void merge_from_an_iceberg_table_and_into_one_work_beside_each_other() {
    String table = docs(4);
    String other = newTable();
    sql("CREATE TABLE ice.%s AS SELECT 2 AS id, 'from iceberg' AS title", other);
    sql(
        "MERGE INTO bs.%s t USING ice.%s s ON t.id = s.id"
            + " WHEN MATCHED THEN UPDATE SET title = s.title",
        table, other);
    sql(
        "MERGE INTO ice.%s t USING bs.%s s ON t.id = s.id"
            + " WHEN NOT MATCHED THEN INSERT (id, title) VALUES (s.id, s.title)",
        other, table);
    assertThat(rows("SELECT title FROM bs.%s WHERE id = 2", table))
        .containsExactly("[from iceberg]");
    assertThat(rows("SELECT count(*) FROM ice.%s", other)).containsExactly("[4]");
  }

  @Test
  void metadata_columns_name_file_and_position() {
    String table = docs(4);
    assertThat(rows("SELECT count(DISTINCT _file, _pos) FROM bs.%s", table)).containsExactly("[4]");
    assertThat(sortedRows("SELECT id, _pos FROM bs.%s", table))
        .isEqualTo(sortedRows("SELECT id, _pos FROM ice.%s", table));
  }

  @Test
  void column_named_like_a_metadata_column_refuses_row_changes_only() {
    String table = newTable();
    sql("CREATE TABLE bs.%s AS SELECT 1 AS id, 'f' AS _file", table);
    assertThat(rows("SELECT * FROM bs.%s", table)).containsExactly("[1,f]");
    assertThatThrownBy(() -> sql("DELETE FROM bs.%s WHERE id = 1", table))
        .hasMessageContaining("_file");
  }

  @Test
  void row_change_on_a_base_that_moved_is_a_conflict_and_appends_are_rebased() {
    String table = docs(4);
    ConcurrentCommits.duringStatement(
        table,
        "DELETE FROM bs." + table + " WHERE id = 1 AND " + ConcurrentCommits.CONDITION,
        error ->
            assertThat(SparkFixture.rootCause(error))
                .isInstanceOf(com.benostreamdb.BenoStreamException.class)
                .extracting(e -> ((com.benostreamdb.BenoStreamException) e).kind())
                .isEqualTo(com.benostreamdb.BenoStreamException.Kind.CONFLICT));
    assertThat(rows("SELECT count(*) FROM bs.%s WHERE id = 1", table)).containsExactly("[1]");
    ConcurrentCommits.duringStatement(
        table,
        "INSERT INTO bs."
            + table
            + " SELECT id, 'appended', null FROM (SELECT 50 AS id) WHERE "
            + ConcurrentCommits.CONDITION,
        error -> assertThat(error).isNull());
    assertThat(rows("SELECT count(*) FROM bs.%s WHERE id = 50", table)).containsExactly("[1]");
    both(table);
  }
}
