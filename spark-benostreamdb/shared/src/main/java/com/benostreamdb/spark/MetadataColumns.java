package com.benostreamdb.spark;

import com.benostreamdb.Column;
import com.benostreamdb.ColumnType;
import com.benostreamdb.ColumnType.Kind;
import com.benostreamdb.TableDescription;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.connector.catalog.MetadataColumn;
import org.apache.spark.sql.types.DataType;

/**
 * What a row's place says of the row, under Iceberg's names: where it lies, whether a delete takes
 * it away, its partition and its lineage. Where {@code _deleted} is asked for, deleted rows come
 * too.
 */
final class MetadataColumns {
  static final String FILE = "_file";
  static final String POSITION = "_pos";
  static final String DELETED = "_deleted";

  /** The data sequence number; decides ties of a search, users do not see it. */
  static final String SEQUENCE = "_seq";

  private static final int DELETED_ID = 2_147_483_644;
  private static final int SPEC_ID_ID = 2_147_483_643;
  private static final int PARTITION_ID = 2_147_483_642;
  private static final int ROW_ID_ID = 2_147_483_540;
  private static final int LAST_UPDATED_ID = 2_147_483_539;
  private static final int SEQUENCE_ID = 2_147_483_500;

  private static final Column SEQUENCE_COLUMN =
      column(SEQUENCE_ID, SEQUENCE, Kind.LONG, true, "data sequence number of the row's file");

  private MetadataColumns() {}

  /** The metadata columns of a table, as columns of the engine. */
  static List<Column> of(TableDescription table) {
    List<Column> columns = new ArrayList<>();
    columns.add(column(Column.FILE_ID, FILE, Kind.STRING, true, "path of the data file"));
    columns.add(
        column(Column.POS_ID, POSITION, Kind.LONG, true, "position of the row in the data file"));
    columns.add(column(DELETED_ID, DELETED, Kind.BOOLEAN, true, "whether the row is deleted"));
    columns.add(column(SPEC_ID_ID, "_spec_id", Kind.INT, true, "partition spec of the data file"));
    Optional<String> comment =
        Optional.of("partition of the data file, by the fields of all specs");
    table
        .partition()
        .map(type -> new Column(PARTITION_ID, "_partition", type, false, comment))
        .ifPresent(columns::add);
    columns.add(column(ROW_ID_ID, "_row_id", Kind.LONG, false, "id of the row for ever"));
    columns.add(
        column(
            LAST_UPDATED_ID,
            "_last_updated_sequence_number",
            Kind.LONG,
            false,
            "sequence number of the row's last change"));
    return columns;
  }

  private static Column column(int id, String name, Kind kind, boolean required, String comment) {
    return new Column(id, name, ColumnType.of(kind), required, Optional.of(comment));
  }

  static MetadataColumn[] shown(TableDescription table) {
    return of(table).stream().map(Shown::new).toArray(MetadataColumn[]::new);
  }

  /** The metadata column of a name, also the one that users do not see. */
  static Optional<Column> find(TableDescription table, String name) {
    if (name.equals(SEQUENCE)) {
      return Optional.of(SEQUENCE_COLUMN);
    }
    return of(table).stream().filter(column -> column.name().equals(name)).findFirst();
  }

  /** Whether a name is one that searches and row changes need for themselves. */
  static boolean isReserved(String name) {
    return name.equals(FILE) || name.equals(POSITION) || name.equals(SEQUENCE);
  }

  private record Shown(Column column) implements MetadataColumn {
    @Override
    public String name() {
      return column.name();
    }

    @Override
    public DataType dataType() {
      return SparkTypes.toSpark(column.type());
    }

    @Override
    public boolean isNullable() {
      return !column.required();
    }

    @Override
    public String comment() {
      return column.doc().orElse("");
    }
  }
}
