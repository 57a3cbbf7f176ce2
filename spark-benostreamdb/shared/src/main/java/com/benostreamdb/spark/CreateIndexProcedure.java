package com.benostreamdb.spark;

import com.benostreamdb.IndexBuild;
import com.benostreamdb.Table;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** {@code create_index}: defines an index and builds it over the current snapshot. */
record CreateIndexProcedure(BenoStreamCatalog catalog) implements Procedure {
  @Override
  public String name() {
    return "create_index";
  }

  @Override
  public String description() {
    return "creates an index and builds it over the current snapshot, as a Spark job";
  }

  @Override
  public List<Parameter> parameters() {
    return List.of(
        Parameter.required("table", DataTypes.StringType),
        Parameter.required("columns", Procedures.STRINGS),
        Parameter.required("kind", DataTypes.StringType),
        Parameter.optional("name", DataTypes.StringType),
        Parameter.optional("options", Procedures.STRING_MAP),
        Parameter.optional("include", Procedures.STRINGS));
  }

  @Override
  public StructType output() {
    return IndexJob.OUTPUT;
  }

  @Override
  public InternalRow[] run(InternalRow arguments) {
    IndexBuild build =
        new IndexBuild(
            Procedures.optionalText(arguments, 3),
            Procedures.text(this, arguments, 2),
            Procedures.texts(arguments, 1),
            Procedures.textMap(arguments, 4),
            Procedures.texts(arguments, 5),
            false);
    Identifier identifier =
        Procedures.tableIdentifier(catalog, Procedures.text(this, arguments, 0));
    try (Table table = catalog.openNewest(identifier)) {
      return new InternalRow[] {IndexCreation.run(table, build, catalog.options(identifier))};
    }
  }
}
