package com.benostreamdb.spark;

import static com.benostreamdb.spark.SparkFixture.rows;
import static com.benostreamdb.spark.SparkFixture.spark;
import static com.benostreamdb.spark.SparkFixture.sql;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.stream.Stream;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerEvent;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.util.JsonProtocol;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Tables in S3 through a catalog and by location, and where the keys must not be seen. */
class S3Test {
  private static S3Server server;
  private static String bucket;

  @BeforeAll
  static void start() throws IOException, InterruptedException {
    server = new S3Server();
    bucket = server.bucket();
    configure("s3", server.options());
    sql("CREATE NAMESPACE s3.ns");
  }

  @AfterAll
  static void stop() throws IOException {
    if (server != null) {
      server.close();
    }
  }

  private static void configure(String catalog, Map<String, String> options) {
    String prefix = "spark.sql.catalog." + catalog;
    spark().conf().set(prefix, BenoStreamCatalog.class.getName());
    spark().conf().set(prefix + ".warehouse", "s3://" + bucket + "/wh");
    options.forEach((key, value) -> spark().conf().set(prefix + "." + key, value));
  }

  private static String location(String table) {
    return "s3a://" + bucket + "/wh/ns/" + table;
  }

  @Test
  void table_of_a_catalog_is_written_changed_indexed_searched_and_dropped() throws IOException {
    sql(
        "CREATE TABLE s3.ns.t AS SELECT id, concat('word', id %% 5, ' common') AS title,"
            + " array(cast(id AS float), 1f) AS e FROM range(0, 400, 1, 4)");
    sql("CALL s3.system.create_index('ns.t', array('e'), 'hnsw')");
    sql("CALL s3.system.create_index('ns.t', array('title'), 'bm25')");
    sql("INSERT INTO s3.ns.t VALUES (1000, 'late', array(7.1f, 1f))");
    sql("DELETE FROM s3.ns.t WHERE id = 7");
    sql("UPDATE s3.ns.t SET title = 'changed' WHERE id = 8");
    sql(
        "MERGE INTO s3.ns.t t USING (SELECT 9L AS id UNION SELECT 2000L) s ON t.id = s.id"
            + " WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (id, title) VALUES (s.id, 'm')");
    assertThat(rows("SELECT count(*), sum(id) FROM s3.ns.t")).containsExactly("[400,82784]");
    assertThat(rows("SELECT id FROM vector_search('s3.ns.t', 'e', array(7.2f, 1f), 3)"))
        .containsExactly("[1000]", "[8]", "[6]");
    assertThat(rows("SELECT id FROM bm25_search('s3.ns.t', 'title', 'changed', 5)"))
        .containsExactly("[8]");
    sql("DROP TABLE s3.ns.t");
    try (Stream<Path> files = Files.walk(server.files(bucket).resolve("wh/ns/t"))) {
      assertThat(files.filter(Files::isRegularFile)).isEmpty();
    } catch (java.nio.file.NoSuchFileException gone) {
      assertThat(server.files(bucket).resolve("wh")).exists();
    }
  }

  @Test
  void location_is_written_and_read_with_options_of_its_own() {
    sql("CREATE TABLE s3.ns.by_location AS SELECT id FROM range(0, 10)");
    String location = location("by_location");
    spark()
        .range(10, 20)
        .toDF("id")
        .write()
        .format("benostream")
        .options(server.options())
        .mode(SaveMode.Append)
        .save(location);
    Dataset<Row> read =
        spark().read().format("benostream").options(server.options()).load(location);
    assertThat(read.count()).isEqualTo(20);
    assertThat(rows("SELECT count(*) FROM s3.ns.by_location")).containsExactly("[20]");
  }

  @Test
  void wrong_keys_are_refused_and_never_an_empty_table() {
    sql("CREATE TABLE s3.ns.kept AS SELECT 1 AS id");
    Map<String, String> wrong = new TreeMap<>(server.options());
    wrong.put("s3.secret-access-key", "wr0ng-s3cr3t");
    configure("s3wrong", wrong);
    for (String query : List.of("SELECT * FROM s3wrong.ns.kept", "SHOW TABLES IN s3wrong.ns")) {
      assertThatThrownBy(() -> rows(query))
          .hasMessageContaining("SignatureDoesNotMatch")
          .satisfies(error -> assertThat(allTexts(error)).doesNotContain("wr0ng-s3cr3t"));
    }
  }

  private static String allTexts(Throwable error) {
    StringBuilder texts = new StringBuilder();
    for (Throwable cause = error; cause != null; cause = cause.getCause()) {
      texts.append(cause).append('\n');
    }
    return texts.toString();
  }

  @Test
  void keys_are_in_no_plan_event_or_file() throws Exception {
    ConcurrentLinkedQueue<String> events = new ConcurrentLinkedQueue<>();
    SparkListener listener =
        new SparkListener() {
          @Override
          public void onOtherEvent(SparkListenerEvent event) {
            events.add(JsonProtocol.sparkEventToJsonString(event));
          }
        };
    spark().sparkContext().addSparkListener(listener);
    try {
      sql("CREATE TABLE s3.ns.seen AS SELECT id FROM range(0, 20, 1, 2)");
      sql("DELETE FROM s3.ns.seen WHERE id = 3");
      Dataset<Row> read =
          spark().read().format("benostream").options(server.options()).load(location("seen"));
      assertThat(read.filter("id > 3").collectAsList()).hasSize(16);
      org.apache.spark.sql.classic.Dataset<Row> planned =
          (org.apache.spark.sql.classic.Dataset<Row>) read.filter("id > 3");
      assertThat(planned.queryExecution().toString()).doesNotContain(S3Server.SECRET);
    } finally {
      spark().sparkContext().listenerBus().waitUntilEmpty();
      spark().sparkContext().removeSparkListener(listener);
    }
    assertThat(events)
        .anySatisfy(event -> assertThat(event).contains("physicalPlanDescription"))
        .allSatisfy(event -> assertThat(event).doesNotContain(S3Server.SECRET));
    try (Stream<Path> files = Files.walk(server.files(bucket))) {
      List<Path> written = files.filter(Files::isRegularFile).toList();
      assertThat(written).hasSizeGreaterThan(5);
      for (Path file : written) {
        String bytes = new String(Files.readAllBytes(file), StandardCharsets.ISO_8859_1);
        assertThat(bytes.contains(S3Server.SECRET)).as("%s", file).isFalse();
      }
    }
  }
}
