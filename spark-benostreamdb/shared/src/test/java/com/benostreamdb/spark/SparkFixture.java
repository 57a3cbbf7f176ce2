package com.benostreamdb.spark;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;

/**
 * One session for all tests of this JVM: our catalog {@code bs} and Iceberg's own {@code ice} over
 * the same warehouse, so that every table can be read by both.
 */
final class SparkFixture {
  static final Path WAREHOUSE = temporaryFolder("warehouse");

  private static final AtomicInteger TABLES = new AtomicInteger();
  private static final SparkSession SPARK = open();

  private SparkFixture() {}

  static SparkSession spark() {
    return SPARK;
  }

  private static SparkSession open() {
    SparkSession spark =
        SparkSession.builder()
            // Two cores, and a task that fails is tried a second time.
            .master("local[2,2]")
            .appName("benostream-tests")
            .config("spark.plugins", TaskHooks.class.getName())
            .config("spark.ui.enabled", "false")
            .config("spark.sql.shuffle.partitions", "2")
            .config("spark.sql.catalogImplementation", "in-memory")
            .config("spark.sql.session.timeZone", "UTC")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.sql.warehouse.dir", temporaryFolder("spark").toString())
            .config("spark.sql.catalog.bs", BenoStreamCatalog.class.getName())
            .config("spark.sql.catalog.bs.warehouse", WAREHOUSE.toString())
            .config("spark.sql.catalog.ice", "org.apache.iceberg.spark.SparkCatalog")
            .config("spark.sql.catalog.ice.type", "hadoop")
            .config("spark.sql.catalog.ice.warehouse", WAREHOUSE.toUri().toString())
            .config("spark.sql.catalog.ice.cache-enabled", "false")
            .config(
                "spark.sql.extensions",
                BenoStreamExtensions.class.getName()
                    + ",org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions")
            .getOrCreate();
    spark.sql("CREATE NAMESPACE bs.ns");
    return spark;
  }

  static Path temporaryFolder(String name) {
    try {
      return Files.createTempDirectory("benostream-" + name).toRealPath();
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }

  /** A table name in {@code ns} that no other test uses. */
  static String newTable() {
    return "ns.t" + TABLES.incrementAndGet();
  }

  static Dataset<Row> sql(String text, Object... arguments) {
    return SPARK.sql(String.format(text, arguments));
  }

  /** The rows as text, in the query's order. */
  static List<String> rows(String text, Object... arguments) {
    return rows(sql(text, arguments));
  }

  static List<String> rows(Dataset<Row> data) {
    return Arrays.stream((Row[]) data.collect()).map(SparkFixture::text).toList();
  }

  private static String text(Row row) {
    List<String> values = new ArrayList<>();
    for (int i = 0; i < row.size(); i++) {
      Object value = row.get(i);
      values.add(
          value instanceof byte[] bytes ? HexFormat.of().formatHex(bytes) : String.valueOf(value));
    }
    return "[" + String.join(",", values) + "]";
  }

  static List<String> sortedRows(String text, Object... arguments) {
    return rows(text, arguments).stream().sorted().toList();
  }

  /** The plan that runs, with the descriptions of its scans. */
  static String plan(String text, Object... arguments) {
    Dataset<Row> data = sql(text, arguments);
    return ((org.apache.spark.sql.classic.Dataset<Row>) data)
        .queryExecution()
        .executedPlan()
        .toString();
  }

  /** The data files below a table's folder, delete files included. */
  static List<Path> dataFiles(String table) throws IOException {
    Path folder = WAREHOUSE.resolve(table.replace('.', '/')).resolve("data");
    if (!Files.exists(folder)) {
      return List.of();
    }
    try (Stream<Path> files = Files.walk(folder)) {
      return files.filter(Files::isRegularFile).sorted().toList();
    }
  }

  /** The innermost cause. */
  static Throwable rootCause(Throwable error) {
    Throwable cause = error;
    while (cause.getCause() != null) {
      cause = cause.getCause();
    }
    return cause;
  }
}
