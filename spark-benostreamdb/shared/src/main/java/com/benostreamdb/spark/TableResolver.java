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

  private static final String CATALOG_PREFIX = "spark.sql.catalog.";
  private static final String PATH_CATALOG_KEY = CATALOG_PREFIX + BenoStreamSource.PATH_CATALOG;

  private TableResolver() {}

  /**
   * A text with a slash is a location; a name stands in the catalog that its first part names, else
   * in the current one if it is ours.
   *
   * @param warehouse whether the reader or writer names a warehouse of its own
   */
  static Resolved resolve(String text, boolean warehouse) {
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
      if (!warehouse && !SQLConf.get().contains(PATH_CATALOG_KEY + ".warehouse")) {
        throw Failures.invalidInput(
            "'"
                + text
                + "' names no table: the current catalog '"
                + current.name()
                + "' is none of benostream; "
                + withCatalog(text));
      }
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

  /** The next step after a name without its catalog. */
  private static String withCatalog(String text) {
    String own = BenoStreamCatalog.class.getName();
    return SparkCompat.settings(SQLConf.get()).entrySet().stream()
        .filter(setting -> setting.getKey().startsWith(CATALOG_PREFIX))
        .filter(setting -> setting.getValue().equals(own))
        .map(setting -> setting.getKey().substring(CATALOG_PREFIX.length()))
        .filter(name -> !name.equals(BenoStreamSource.PATH_CATALOG))
        .sorted()
        .findFirst()
        .map(catalog -> "name the catalog too: '" + catalog + "." + text + "'")
        .orElse("register one with the setting " + CATALOG_PREFIX + "<name> = " + own);
  }

  private static String pathCatalog() {
    SQLConf conf = SQLConf.get();
    if (!conf.contains(PATH_CATALOG_KEY)) {
      conf.setConfString(PATH_CATALOG_KEY, BenoStreamCatalog.class.getName());
    }
    return BenoStreamSource.PATH_CATALOG;
  }

  private static Identifier identifier(List<String> parts) {
    int last = parts.size() - 1;
    return Identifier.of(parts.subList(0, last).toArray(String[]::new), parts.get(last));
  }
}
