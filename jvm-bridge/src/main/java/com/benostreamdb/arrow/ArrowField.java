package com.benostreamdb.arrow;

import com.benostreamdb.Column;
import com.benostreamdb.ColumnType;
import java.io.Serializable;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * A column of a batch or a child of one.
 *
 * @param name the column's name
 * @param type which type of the normal form
 * @param length decimal precision, bytes of a fixed-size binary, elements of a fixed-size list
 * @param scale of a decimal
 * @param nullable whether values may be NULL
 * @param metadata of the Arrow field
 * @param children fields of a struct, the element of a list, the entries of a map
 */
public record ArrowField(
    String name,
    ArrowType type,
    int length,
    int scale,
    boolean nullable,
    Map<String, String> metadata,
    List<ArrowField> children)
    implements Serializable {

  /** Metadata key of the Iceberg field id. */
  public static final String FIELD_ID = "PARQUET:field_id";

  public ArrowField {
    metadata = Map.copyOf(metadata);
    children = List.copyOf(children);
  }

  /** The Iceberg field id; 0 where the field has none. */
  public int fieldId() {
    String id = metadata.get(FIELD_ID);
    return id == null ? 0 : Integer.parseInt(id);
  }

  /** Bytes of a value; 0 for booleans and for what has no fixed length. */
  public int width() {
    return type == ArrowType.FIXED_SIZE_BINARY ? length : type.width();
  }

  /** The fields a table's columns are written with. */
  public static List<ArrowField> of(List<Column> columns) {
    return columns.stream().map(ArrowField::of).collect(Collectors.toUnmodifiableList());
  }

  /** The field a column is written with. */
  public static ArrowField of(Column column) {
    ColumnType type = column.type();
    Map<String, String> metadata =
        column.id() == 0 ? Map.of() : Map.of(FIELD_ID, Integer.toString(column.id()));
    return new ArrowField(
        column.name(),
        arrowType(type.kind(), column.name()),
        type.precision(),
        type.scale(),
        !column.required(),
        metadata,
        children(type));
  }

  private static List<ArrowField> children(ColumnType type) {
    if (type.kind() != ColumnType.Kind.MAP) {
      return of(type.children());
    }
    return List.of(
        new ArrowField("key_value", ArrowType.STRUCT, 0, 0, false, Map.of(), of(type.children())));
  }

  private static ArrowType arrowType(ColumnType.Kind kind, String column) {
    return switch (kind) {
      case BOOLEAN -> ArrowType.BOOLEAN;
      case INT -> ArrowType.INT32;
      case LONG -> ArrowType.INT64;
      case FLOAT -> ArrowType.FLOAT32;
      case DOUBLE -> ArrowType.FLOAT64;
      case DECIMAL -> ArrowType.DECIMAL128;
      case DATE -> ArrowType.DATE32;
      case TIME -> ArrowType.TIME_MICROS;
      case TIMESTAMP -> ArrowType.TIMESTAMP_MICROS;
      case TIMESTAMPTZ -> ArrowType.TIMESTAMPTZ_MICROS;
      case STRING -> ArrowType.UTF8;
      case UUID, FIXED -> ArrowType.FIXED_SIZE_BINARY;
      case BINARY -> ArrowType.BINARY;
      case STRUCT -> ArrowType.STRUCT;
      case LIST -> ArrowType.LIST;
      case MAP -> ArrowType.MAP;
      case UNKNOWN ->
          throw new IllegalArgumentException("column " + column + " has an unknown type");
    };
  }
}
