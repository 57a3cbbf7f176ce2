package com.benostreamdb;

import java.util.List;

/**
 * The Iceberg type of a column.
 *
 * @param kind which type
 * @param precision digits of a decimal or bytes of a fixed, else 0
 * @param scale of a decimal, else 0
 * @param children fields of a struct, the element of a list, key and value of a map, else empty
 * @param text the name of a type that this version does not know, else empty
 */
public record ColumnType(Kind kind, int precision, int scale, List<Column> children, String text) {

  /** The Iceberg types. */
  public enum Kind {
    BOOLEAN,
    INT,
    LONG,
    FLOAT,
    DOUBLE,
    DECIMAL,
    DATE,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    STRING,
    UUID,
    FIXED,
    BINARY,
    STRUCT,
    LIST,
    MAP,
    /** A type this version does not know; its columns are refused when selected. */
    UNKNOWN
  }

  public ColumnType {
    children = List.copyOf(children);
  }

  /** A type without parameters. */
  public static ColumnType of(Kind kind) {
    return new ColumnType(kind, 0, 0, List.of(), "");
  }

  /** {@code decimal(precision, scale)}. */
  public static ColumnType decimal(int precision, int scale) {
    return new ColumnType(Kind.DECIMAL, precision, scale, List.of(), "");
  }

  /** {@code fixed[length]}. */
  public static ColumnType fixed(int length) {
    return new ColumnType(Kind.FIXED, length, 0, List.of(), "");
  }

  /** A struct of these fields. */
  public static ColumnType struct(List<Column> fields) {
    return new ColumnType(Kind.STRUCT, 0, 0, fields, "");
  }

  /** A list; the element's name is {@code element}. */
  public static ColumnType list(Column element) {
    return new ColumnType(Kind.LIST, 0, 0, List.of(element), "");
  }

  /** A map; the names are {@code key} and {@code value}, the key is required. */
  public static ColumnType map(Column key, Column value) {
    return new ColumnType(Kind.MAP, 0, 0, List.of(key, value), "");
  }

  /** The element of a list. */
  public Column element() {
    return children.get(0);
  }

  /** The key of a map. */
  public Column key() {
    return children.get(0);
  }

  /** The value of a map. */
  public Column value() {
    return children.get(1);
  }
}
