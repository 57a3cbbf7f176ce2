package com.benostreamdb;

import java.util.Optional;

/**
 * A column of a table or a field of a nested type.
 *
 * @param id the Iceberg field id; 0 lets {@code createTable} assign one
 * @param name the name as written
 * @param type the type
 * @param required whether NULL is refused
 * @param doc the comment
 */
public record Column(int id, String name, ColumnType type, boolean required, Optional<String> doc) {

  /** Id of the metadata column {@code _file}. */
  public static final int FILE_ID = 2_147_483_646;

  /** Id of the metadata column {@code _pos}. */
  public static final int POS_ID = 2_147_483_645;

  /** A new column whose id the engine assigns. */
  public static Column create(String name, ColumnType type, boolean required) {
    return new Column(0, name, type, required, Optional.empty());
  }
}
