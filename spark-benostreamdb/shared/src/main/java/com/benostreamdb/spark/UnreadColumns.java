package com.benostreamdb.spark;

import org.apache.spark.sql.execution.vectorized.ConstantColumnVector;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.MetadataBuilder;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.vectorized.ColumnVector;

/** Columns of a batch that the engine is not asked for; the field of each says what it holds. */
final class UnreadColumns {
  private static final String CONSTANT = "benostream.constant";
  private static final String REFUSED = "benostream.refused";

  private UnreadColumns() {}

  /** A column of this truth value in every row. */
  static StructField constant(String name, boolean value) {
    Metadata metadata = new MetadataBuilder().putBoolean(CONSTANT, value).build();
    return new StructField(name, DataTypes.BooleanType, false, metadata);
  }

  /** A column that answers to nobody: reading a value of it is refused with this sentence. */
  static StructField refused(StructField field, String message) {
    Metadata metadata = new MetadataBuilder().putString(REFUSED, message).build();
    return new StructField(field.name(), field.dataType(), field.nullable(), metadata);
  }

  static boolean isUnread(StructField field) {
    return field.metadata().contains(CONSTANT) || field.metadata().contains(REFUSED);
  }

  static ColumnVector vector(StructField field) {
    if (field.metadata().contains(REFUSED)) {
      return new RefusedVector(field.dataType(), field.metadata().getString(REFUSED));
    }
    ConstantColumnVector vector = new ConstantColumnVector(0, field.dataType());
    vector.setBoolean(field.metadata().getBoolean(CONSTANT));
    return vector;
  }
}
