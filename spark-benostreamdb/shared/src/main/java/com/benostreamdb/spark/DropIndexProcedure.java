package com.benostreamdb.spark;

import com.benostreamdb.Table;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** {@code drop_index}: forgets an index. */
record DropIndexProcedure(BenoStreamCatalog catalog) implements Procedure {
  @Override
  public String name() {
    return "drop_index";
  }

  @Override
  public String description() {
    return "drops an index; queries scan instead";
  }

  @Override
  public List<Parameter> parameters() {
    return List.of(
        Parameter.required("table", DataTypes.StringType),
        Parameter.required("name", DataTypes.StringType));
  }

  @Override
  public StructType output() {
    return new StructType().add("index_name", DataTypes.StringType, false);
  }

  @Override
  public InternalRow[] run(InternalRow arguments) {
    Identifier identifier =
        Procedures.tableIdentifier(catalog, Procedures.text(this, arguments, 0));
    String index = Procedures.text(this, arguments, 1);
    try (Table table = catalog.openNewest(identifier)) {
      table.dropIndex(index, false);
    }
    return new InternalRow[] {Procedures.row(index)};
  }
}
