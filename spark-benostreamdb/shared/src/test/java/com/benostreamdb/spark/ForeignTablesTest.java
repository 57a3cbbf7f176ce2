package com.benostreamdb.spark;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.StreamSupport;
import org.apache.spark.sql.DataFrameReader;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;

/**
 * Tables that other engines wrote, read in place under {@code map-prefix}: each gives the rows of
 * its oracles, or is refused for the reason that is listed here. The inputs are in {@code
 * fixtures/iceberg} under {@code BSDB_SHARED}.
 */
class ForeignTablesTest {
  private static final Path ROOT = root();

  /** The tables that are refused, with a word of the reason. All others must be read. */
  private static final Map<String, String> REFUSED =
      Map.of(
          "impala__iceberg_migrated_complex_test", "is stored as",
          "duckdb-iceberg__equality_delete_extra_column", "does not fit");

  /** The tables whose oracles kept the number of rows only, or values in a form of their own. */
  private static final Set<String> COUNTED =
      Set.of(
          "duckdb-iceberg__lineitem_iceberg_gz",
          "impala__iceberg_v3_default_value_orc",
          "impala__trino_variant");

  /** The tables that no oracle could read. */
  private static final Set<String> OURS_ALONE = Set.of("impala__trino_nested_variant");

  private static final String HOST = "hdfs://localhost:20500";

  private static Path root() {
    String shared = System.getenv().getOrDefault("BSDB_SHARED", "../shared");
    return Path.of(shared, "fixtures", "iceberg").toAbsolutePath().normalize();
  }

  private static JsonNode expected() throws IOException {
    Path file = ROOT.resolve("expected.json");
    if (!Files.exists(file)) {
      System.out.println("skipped: ForeignTablesTest: no fixtures in " + ROOT);
    }
    Assumptions.assumeTrue(Files.exists(file), "no fixtures in " + ROOT);
    return new ObjectMapper().readTree(file.toFile());
  }

  private static Path metadata(String name, JsonNode table) {
    Path core = ROOT.resolve(name);
    Path folder = Files.exists(core) ? core : ROOT.resolve("_extra").resolve(name);
    return folder.resolve(table.get("metadata").asText());
  }

  /** The places that a table's metadata names, and where they are. */
  private static String prefixes(String recorded, String actual) {
    // Some tables mix a location with and without its scheme.
    List<String> names = new ArrayList<>(List.of(recorded));
    if (recorded.startsWith("./")) {
      names.add(recorded.substring(2));
    }
    if (recorded.startsWith(HOST)) {
      names.add(recorded.substring(HOST.length()));
    } else if (recorded.startsWith("/")) {
      names.add(HOST + recorded);
    }
    List<String> pairs = new ArrayList<>(names.stream().map(from -> from + "=" + actual).toList());
    // Some hold files beside the table.
    int warehouse = recorded.indexOf("/warehouse/");
    String below = recorded.substring(warehouse < 0 ? 0 : warehouse + "/warehouse".length());
    if (warehouse >= 0 && actual.endsWith(below)) {
      String above = actual.substring(0, actual.length() - below.length());
      pairs.add(recorded.substring(0, warehouse) + "/warehouse=" + above);
    }
    return String.join(";", pairs);
  }

  private static Dataset<Row> read(String name, JsonNode table, String... options) {
    Path metadata = metadata(name, table);
    String actual = metadata.getParent().getParent().toString();
    DataFrameReader reader =
        SparkFixture.spark()
            .read()
            .format("benostream")
            .option("map-prefix", prefixes(table.get("recorded_location").asText(), actual));
    for (int i = 0; i < options.length; i += 2) {
      reader = reader.option(options[i], options[i + 1]);
    }
    return reader.load(metadata.toString());
  }

  private static Optional<String> misread(String name, JsonNode table) {
    try {
      Dataset<Row> data = read(name, table);
      List<Row> rows = data.collectAsList();
      if (REFUSED.containsKey(name)) {
        return Optional.of("is read now: take it off the list of refused tables");
      }
      if (data.count() != rows.size()) {
        return Optional.of("count() is " + data.count() + ", there are " + rows.size());
      }
      if (OURS_ALONE.contains(name)) {
        return Optional.empty();
      }
      boolean counted =
          StreamSupport.stream(table.get("engines").spliterator(), false)
              .anyMatch(engine -> engine.isInt() && engine.asInt() == rows.size());
      if (!counted) {
        return Optional.of(rows.size() + " rows, oracles " + table.get("engines"));
      }
      return COUNTED.contains(name) ? Optional.empty() : OracleRows.of(table).unequal(rows);
    } catch (Exception e) {
      String reason = REFUSED.get(name);
      boolean listed = reason != null && SparkFixture.rootCause(e).getMessage().contains(reason);
      return listed ? Optional.empty() : Optional.of("is refused: " + SparkFixture.rootCause(e));
    }
  }

  @Test
  void l12_foreign_tables_give_the_rows_of_their_oracles_or_are_refused() throws Exception {
    JsonNode expected = expected();
    List<String> wrong = new ArrayList<>();
    int seen = 0;
    for (Map.Entry<String, JsonNode> entry : expected.properties()) {
      for (JsonNode table : entry.getValue().get("tables")) {
        seen++;
        misread(entry.getKey(), table).ifPresent(why -> wrong.add(entry.getKey() + ": " + why));
      }
    }
    assertThat(wrong).isEmpty();
    assertThat(seen).isGreaterThanOrEqualTo(44);
  }

  private static List<String> facts(String name, String snapshot, String... columns)
      throws IOException {
    JsonNode table = expected().get(name).get("tables").get(0);
    Dataset<Row> data =
        snapshot.isEmpty() ? read(name, table) : read(name, table, "snapshot-id", snapshot);
    return SparkFixture.rows(data.selectExpr(columns)).stream().sorted().toList();
  }

  @Test
  void foreign_tables_hold_what_their_readme_says() throws Exception {
    assertThat(facts("impala__iceberg_v2_delete_equality_nulls", "4346796256488077976", "i", "s"))
        .containsExactly("[1,str1]", "[3,str3]", "[null,str2]");
    assertThat(
            facts(
                "impala__iceberg_v2_delete_equality_multi_eq_ids", "8127619959873391049", "i", "s"))
        .containsExactly("[1,str1]", "[2,str2]", "[3,str3_updated]");
    for (String snapshot : new String[] {"", "2872597867664652808"}) {
      assertThat(
              facts(
                  "impala__iceberg_v3_row_lineage",
                  snapshot,
                  "i",
                  "_row_id",
                  "_last_updated_sequence_number"))
          .as("at " + snapshot)
          .containsExactly("[1,0,1]", "[2,1,2]", "[3,2,3]");
    }
    assertThat(facts("impala__iceberg_v3_default_value_orc", "", "i", "j"))
        .containsExactly("[1,-1]", "[2,2]");
    assertThat(facts("impala__trino_variant", "", "descr", "v"))
        .contains("[variant null,null]", "[bool true,true]", "[int32 -12345,-12345]")
        .contains("[obj age/name,{\"age\":30,\"name\":\"Alice\"}]");
  }

  @Test
  void recorded_place_without_a_map_is_refused_by_its_name() throws Exception {
    String name = "impala__iceberg_v3_deletion_vectors";
    JsonNode table = expected().get(name).get("tables").get(0);
    String metadata = metadata(name, table).toString();
    assertThatThrownBy(
            () -> SparkFixture.spark().read().format("benostream").load(metadata).count())
        .hasStackTraceContaining(HOST);
  }
}
