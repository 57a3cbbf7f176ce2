package com.benostreamdb.spark;

import com.benostreamdb.Column;
import com.benostreamdb.ColumnType;
import com.benostreamdb.ColumnType.Kind;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.CharType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.ShortType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampNTZType;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.sql.types.VarcharType;

/**
 * Iceberg types as Spark types and back. Where Spark has no such type it shows another: uuid and
 * time as string, fixed as binary, and byte and short are stored as int.
 */
final class SparkTypes {
  private SparkTypes() {}

  static StructType toSpark(List<Column> columns) {
    StructField[] fields = new StructField[columns.size()];
    for (int i = 0; i < fields.length; i++) {
      Column column = columns.get(i);
      StructField field =
          new StructField(
              column.name(), toSpark(column.type()), !column.required(), Metadata.empty());
      fields[i] = column.doc().map(field::withComment).orElse(field);
    }
    return new StructType(fields);
  }

  static DataType toSpark(ColumnType type) {
    return switch (type.kind()) {
      case BOOLEAN -> DataTypes.BooleanType;
      case INT -> DataTypes.IntegerType;
      case LONG -> DataTypes.LongType;
      case FLOAT -> DataTypes.FloatType;
      case DOUBLE -> DataTypes.DoubleType;
      case DECIMAL -> DataTypes.createDecimalType(type.precision(), type.scale());
      case DATE -> DataTypes.DateType;
      case TIMESTAMP -> DataTypes.TimestampNTZType;
      case TIMESTAMPTZ -> DataTypes.TimestampType;
      case STRING, UUID, TIME -> DataTypes.StringType;
      // A column of an unknown type is refused when it is selected.
      case FIXED, BINARY, UNKNOWN -> DataTypes.BinaryType;
      case STRUCT -> toSpark(type.children());
      case LIST ->
          DataTypes.createArrayType(toSpark(type.element().type()), !type.element().required());
      case MAP ->
          DataTypes.createMapType(
              toSpark(type.key().type()), toSpark(type.value().type()), !type.value().required());
    };
  }

  static List<Column> toColumns(StructType schema) {
    List<Column> columns = new ArrayList<>(schema.size());
    for (StructField field : schema.fields()) {
      Optional<String> doc =
          field.getComment().isDefined() ? Optional.of(field.getComment().get()) : Optional.empty();
      columns.add(
          new Column(0, field.name(), toColumnType(field.dataType()), !field.nullable(), doc));
    }
    return columns;
  }

  static ColumnType toColumnType(DataType type) {
    if (type instanceof StructType struct) {
      return ColumnType.struct(toColumns(struct));
    }
    if (type instanceof ArrayType array) {
      return ColumnType.list(
          Column.create("element", toColumnType(array.elementType()), !array.containsNull()));
    }
    if (type instanceof MapType map) {
      return ColumnType.map(
          Column.create("key", toColumnType(map.keyType()), true),
          Column.create("value", toColumnType(map.valueType()), !map.valueContainsNull()));
    }
    if (type instanceof DecimalType decimal) {
      return ColumnType.decimal(decimal.precision(), decimal.scale());
    }
    return ColumnType.of(toKind(type));
  }

  /** Whether values of this type reach Spark in a form it can also write back. */
  static boolean isWritable(ColumnType type) {
    return switch (type.kind()) {
      case TIME, UNKNOWN -> false;
      case STRUCT, LIST, MAP ->
          type.children().stream().allMatch(child -> isWritable(child.type()));
      default -> true;
    };
  }

  private static Kind toKind(DataType type) {
    if (type instanceof BooleanType) {
      return Kind.BOOLEAN;
    }
    if (type instanceof ByteType || type instanceof ShortType || type instanceof IntegerType) {
      return Kind.INT;
    }
    if (type instanceof LongType) {
      return Kind.LONG;
    }
    if (type instanceof FloatType) {
      return Kind.FLOAT;
    }
    if (type instanceof DoubleType) {
      return Kind.DOUBLE;
    }
    if (type instanceof DateType) {
      return Kind.DATE;
    }
    if (type instanceof TimestampType) {
      return Kind.TIMESTAMPTZ;
    }
    if (type instanceof TimestampNTZType) {
      return Kind.TIMESTAMP;
    }
    if (type instanceof StringType || type instanceof CharType || type instanceof VarcharType) {
      return Kind.STRING;
    }
    if (type instanceof BinaryType) {
      return Kind.BINARY;
    }
    throw Failures.unsupported("a column of type " + type.simpleString() + " cannot be stored");
  }
}
