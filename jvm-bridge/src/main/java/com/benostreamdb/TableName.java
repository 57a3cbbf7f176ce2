package com.benostreamdb;

import java.io.Serializable;
import java.util.List;

/**
 * A table: by name in the warehouse, or by location.
 *
 * @param namespace parts of the namespace; empty for a location
 * @param name the name; empty for a location
 * @param location a path or URL; empty for a name
 */
public record TableName(List<String> namespace, String name, String location)
    implements Serializable {
  public TableName {
    namespace = List.copyOf(namespace);
  }

  /** A table in the warehouse. */
  public static TableName of(List<String> namespace, String name) {
    return new TableName(namespace, name, "");
  }

  /** The table that lies at a path or URL. */
  public static TableName at(String location) {
    return new TableName(List.of(), "", location);
  }

  @Override
  public String toString() {
    if (!location.isEmpty()) {
      return location;
    }
    return namespace.isEmpty() ? name : String.join(".", namespace) + "." + name;
  }
}
