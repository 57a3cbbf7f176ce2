package com.benostreamdb.spark;

import com.benostreamdb.Table;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** {@code show_indexes}: the indexes of a table and how much of it they cover. */
record ShowIndexesProcedure(BenoStreamCatalog catalog) implements Procedure {
  @Override
  public String name() {
    return "show_indexes";
  }

  @Override
  public String description() {
    return "lists the indexes of a table and how much of its current snapshot they cover";
  }

  @Override
  public List<Parameter> parameters() {
    return List.of(Parameter.required("table", DataTypes.StringType));
  }

  @Override
  public StructType output() {
    return new StructType()
        .add("name", DataTypes.StringType, false)
        .add("kind", DataTypes.StringType, false)
        .add("columns", Procedures.STRINGS, false)
        .add("options", Procedures.STRING_MAP, false)
        .add("covered_files", DataTypes.LongType, false)
        .add("total_files", DataTypes.LongType, false)
        .add("segments", DataTypes.LongType, false)
        .add("size_bytes", DataTypes.LongType, false)
        .add("covered_rows", DataTypes.LongType, false);
  }

  @Override
  public InternalRow[] run(InternalRow arguments) {
    Identifier identifier =
        Procedures.tableIdentifier(catalog, Procedures.text(this, arguments, 0));
    try (Table table = catalog.openNewest(identifier)) {
      return table.listIndexes().stream()
          .map(
              index ->
                  Procedures.row(
                      index.name(),
                      index.kind(),
                      index.columns(),
                      index.options(),
                      index.filesCovered(),
                      index.filesTotal(),
                      index.segmentCount(),
                      index.sizeBytes(),
                      index.rowsCovered()))
          .toArray(InternalRow[]::new);
    }
  }
}
