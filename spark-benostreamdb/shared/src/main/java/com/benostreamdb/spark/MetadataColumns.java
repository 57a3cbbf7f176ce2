package com.benostreamdb.spark;

import com.benostreamdb.Column;
import java.util.OptionalInt;
import org.apache.spark.sql.connector.catalog.MetadataColumn;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;

/** Where a row lies: {@code _file} and {@code _pos}, as Iceberg names them. */
final class MetadataColumns {
  static final String FILE = "_file";
  static final String POSITION = "_pos";

  /** The data sequence number; decides ties of a search, users do not see it. */
  static final String SEQUENCE = "_seq";

  private static final int SEQUENCE_ID = 2_147_483_500;

  private MetadataColumns() {}

  static MetadataColumn[] all() {
    return new MetadataColumn[] {
      new Reserved(FILE, DataTypes.StringType, "path of the data file"),
      new Reserved(POSITION, DataTypes.LongType, "position of the row in the data file")
    };
  }

  static boolean isReserved(String name) {
    return fieldId(name).isPresent();
  }

  static OptionalInt fieldId(String name) {
    return switch (name) {
      case FILE -> OptionalInt.of(Column.FILE_ID);
      case POSITION -> OptionalInt.of(Column.POS_ID);
      case SEQUENCE -> OptionalInt.of(SEQUENCE_ID);
      default -> OptionalInt.empty();
    };
  }

  private record Reserved(String name, DataType dataType, String comment)
      implements MetadataColumn {
    @Override
    public boolean isNullable() {
      return false;
    }
  }
}
