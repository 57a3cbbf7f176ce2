package com.benostreamdb.spark;

import java.util.Map;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.SupportsCatalogOptions;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.sources.DataSourceRegister;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * {@code format("benostream")}: a path with a slash is a location, else it is an identifier of one
 * of our catalogs. Locations belong to a catalog of this connector's own, which needs no settings.
 */
public final class BenoStreamSource implements DataSourceRegister, SupportsCatalogOptions {
  /** The catalog of locations. */
  static final String PATH_CATALOG = "default_benostream";

  private static final String PATH = "path";

  @Override
  public String shortName() {
    return "benostream";
  }

  @Override
  public StructType inferSchema(CaseInsensitiveStringMap options) {
    // Spark loads tables through the catalog that extractCatalog names; streams ask getTable.
    return null;
  }

  @Override
  public Transform[] inferPartitioning(CaseInsensitiveStringMap options) {
    return new Transform[0];
  }

  @Override
  public Table getTable(
      StructType schema, Transform[] partitioning, Map<String, String> properties) {
    return Failures.analyzed(
        () -> {
          if (schema != null) {
            throw Failures.invalidInput(
                "format(\"benostream\") takes the schema from the table, not from the reader");
          }
          CaseInsensitiveStringMap options = new CaseInsensitiveStringMap(properties);
          return TableResolver.catalog(extractCatalog(options))
              .loadTable(extractIdentifier(options));
        });
  }

  @Override
  public boolean supportsExternalMetadata() {
    return true;
  }

  @Override
  public String extractCatalog(CaseInsensitiveStringMap options) {
    return Failures.analyzed(() -> resolve(options).catalog());
  }

  @Override
  public Identifier extractIdentifier(CaseInsensitiveStringMap options) {
    return Failures.analyzed(
        () -> {
          Identifier identifier = resolve(options).identifier();
          return new TableIdentifier(
              identifier.namespace(), identifier.name(), options.asCaseSensitiveMap());
        });
  }

  private static TableResolver.Resolved resolve(CaseInsensitiveStringMap options) {
    return TableResolver.resolve(path(options), options.containsKey("warehouse"));
  }

  private static String path(CaseInsensitiveStringMap options) {
    String path = options.get(PATH);
    if (path == null || path.isEmpty()) {
      throw Failures.invalidInput("format(\"benostream\") needs a path or an identifier");
    }
    return path;
  }
}
