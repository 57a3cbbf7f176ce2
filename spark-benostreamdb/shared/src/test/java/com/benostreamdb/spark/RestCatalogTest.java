package com.benostreamdb.spark;

import static com.benostreamdb.spark.SparkFixture.rows;
import static com.benostreamdb.spark.SparkFixture.spark;
import static com.benostreamdb.spark.SparkFixture.sql;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Tables of Iceberg's own REST catalog server, in S3, through a catalog of Spark. */
class RestCatalogTest {
  private static final String SECRET = "r3st-s3cr3t";

  private static S3Server store;
  private static Process server;
  private static String address;

  @BeforeAll
  static void start() throws IOException, InterruptedException {
    store = new S3Server();
    server =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1",
                "-Xmx256m",
                "--class-path",
                S3Server.tool("catalog-server").resolve("*").toString(),
                Path.of("../../tests/catalog-server/CatalogServer.java").toString(),
                "s3://" + store.bucket() + "/wh",
                SECRET)
            .redirectError(ProcessBuilder.Redirect.DISCARD)
            .start();
    BufferedReader output =
        new BufferedReader(new InputStreamReader(server.getInputStream(), StandardCharsets.UTF_8));
    address = output.readLine();
    assertThat(address).startsWith("http://127.0.0.1:");
    configure("rest", SECRET);
  }

  @AfterAll
  static void stop() throws IOException {
    if (server != null) {
      server.getOutputStream().close();
    }
    if (store != null) {
      store.close();
    }
  }

  private static void configure(String catalog, String secret) {
    Map<String, String> options = new TreeMap<>(store.options());
    options.put("type", "rest");
    options.put("uri", address);
    options.put("credential", "me:" + secret);
    String prefix = "spark.sql.catalog." + catalog;
    spark().conf().set(prefix, BenoStreamCatalog.class.getName());
    options.forEach((key, value) -> spark().conf().set(prefix + "." + key, value));
  }

  @Test
  void table_is_created_changed_indexed_searched_renamed_and_dropped() {
    sql("CREATE NAMESPACE rest.ns");
    sql(
        "CREATE TABLE rest.ns.t AS SELECT id, array(cast(id AS float), 1f) AS e"
            + " FROM range(0, 100, 1, 4)");
    sql("CALL rest.system.create_index('ns.t', array('e'), 'hnsw')");
    sql("INSERT INTO rest.ns.t VALUES (1000, array(7.1f, 1f))");
    sql("DELETE FROM rest.ns.t WHERE id = 7");
    assertThat(rows("SELECT count(*), sum(id) FROM rest.ns.t")).containsExactly("[100,5943]");
    assertThat(rows("SELECT id FROM vector_search('rest.ns.t', 'e', array(7.2f, 1f), 2)"))
        .containsExactly("[1000]", "[8]");
    sql("ALTER TABLE rest.ns.t RENAME TO ns.moved");
    assertThat(rows("SHOW TABLES IN rest.ns")).containsExactly("[ns,moved,false]");
    sql("DROP TABLE rest.ns.moved");
    assertThat(rows("SHOW TABLES IN rest.ns")).isEmpty();
  }

  @Test
  void wrong_credential_is_refused_and_stands_in_no_error() {
    configure("restwrong", "wr0ng-s3cr3t");
    assertThatThrownBy(() -> rows("SHOW NAMESPACES IN restwrong"))
        .satisfies(
            error -> {
              assertThat(error.toString()).contains("gives no token");
              for (Throwable cause = error; cause != null; cause = cause.getCause()) {
                assertThat(cause.toString()).doesNotContain("wr0ng-s3cr3t");
              }
            });
  }
}
