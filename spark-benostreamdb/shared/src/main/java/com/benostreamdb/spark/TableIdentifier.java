package com.benostreamdb.spark;

import com.benostreamdb.AsOf;
import com.benostreamdb.TableName;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeMap;
import org.apache.spark.sql.connector.catalog.Identifier;

/**
 * An identifier that may carry session options from a reader or writer. A name with a slash and
 * without a namespace is a location; a one-part name stands in the namespace {@code default}.
 */
final class TableIdentifier implements Identifier {
  private final String[] namespace;
  private final String name;
  private final TreeMap<String, String> options;

  TableIdentifier(String[] namespace, String name, Map<String, String> options) {
    this.namespace = namespace.clone();
    this.name = name;
    this.options = new TreeMap<>(options);
  }

  @Override
  public String[] namespace() {
    return namespace.clone();
  }

  @Override
  public String name() {
    return name;
  }

  /** The catalog's options with those that this identifier carries. */
  static Map<String, String> options(Identifier identifier, Map<String, String> catalog) {
    return identifier instanceof TableIdentifier own
        ? SessionOptions.merge(catalog, own.options)
        : new TreeMap<>(catalog);
  }

  /** The state that the reader's options ask for. */
  static Optional<AsOf> state(Identifier identifier) {
    return identifier instanceof TableIdentifier own
        ? TableVersion.ofOptions(own.options)
        : Optional.empty();
  }

  static boolean isLocation(Identifier identifier) {
    return identifier.namespace().length == 0 && identifier.name().contains("/");
  }

  static TableName toTableName(Identifier identifier) {
    if (isLocation(identifier)) {
      return TableName.at(identifier.name());
    }
    String[] namespace = identifier.namespace();
    return TableName.of(
        namespace.length == 0 ? List.of("default") : Arrays.asList(namespace), identifier.name());
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Identifier that
        && Arrays.equals(namespace, that.namespace())
        && name.equals(that.name());
  }

  @Override
  public int hashCode() {
    return Objects.hash(Arrays.asList(namespace), name);
  }

  @Override
  public String toString() {
    return namespace.length == 0 ? name : String.join(".", namespace) + "." + name;
  }
}
