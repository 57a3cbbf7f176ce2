package com.benostreamdb.spark;

import java.util.List;
import java.util.Map;
import org.apache.spark.sql.connector.catalog.CatalogManager;
import org.apache.spark.sql.connector.catalog.CatalogPlugin;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.internal.SQLConf;

/** Finds the catalog and the identifier that a text names, in this session. */
final class TableResolver {
  /** A table's place. */
  record Resolved(String catalog, Identifier identifier) {}

  private TableResolver() {}

  static Resolved resolve(String text) {
    if (text.contains("/")) {
      return new Resolved(pathCatalog(), new TableIdentifier(new String[0], text, Map.of()));
    }
    List<String> parts = SparkCompat.parseName(text);
    CatalogManager catalogs = SparkCompat.catalogManager();
    if (parts.size() > 1 && catalogs.isCatalogRegistered(parts.get(0))) {
      return new Resolved(parts.get(0), identifier(parts.subList(1, parts.size())));
    }
    CatalogPlugin current = catalogs.currentCatalog();
    if (!(current instanceof BenoStreamCatalog)) {
      return new Resolved(pathCatalog(), identifier(parts));
    }
    if (parts.size() == 1) {
      return new Resolved(current.name(), Identifier.of(catalogs.currentNamespace(), parts.get(0)));
    }
    return new Resolved(current.name(), identifier(parts));
  }

  /** Our catalog of that name. Errors: another kind of catalog. */
  static BenoStreamCatalog catalog(String name) {
    CatalogPlugin catalog = SparkCompat.catalogManager().catalog(name);
    if (catalog instanceof BenoStreamCatalog own) {
      return own;
    }
    throw Failures.invalidInput(
        "the catalog '" + name + "' is none of benostream, it is " + catalog.getClass().getName());
  }

  private static String pathCatalog() {
    String key = "spark.sql.catalog." + BenoStreamSource.PATH_CATALOG;
    SQLConf conf = SQLConf.get();
    if (!conf.contains(key)) {
      conf.setConfString(key, BenoStreamCatalog.class.getName());
    }
    return BenoStreamSource.PATH_CATALOG;
  }

  private static Identifier identifier(List<String> parts) {
    int last = parts.size() - 1;
    return Identifier.of(parts.subList(0, last).toArray(String[]::new), parts.get(last));
  }
}
