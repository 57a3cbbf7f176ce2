package com.benostreamdb.spark;

import com.benostreamdb.IndexDescription;
import com.benostreamdb.Table;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** {@code refresh_index}: indexes what an index, or every index, does not cover yet. */
record RefreshIndexProcedure(BenoStreamCatalog catalog) implements Procedure {
  @Override
  public String name() {
    return "refresh_index";
  }

  @Override
  public String description() {
    return "indexes the files of the current snapshot that are not covered yet, as a Spark job";
  }

  @Override
  public List<Parameter> parameters() {
    return List.of(
        Parameter.required("table", DataTypes.StringType),
        Parameter.optional("name", DataTypes.StringType));
  }

  @Override
  public StructType output() {
    return IndexJob.OUTPUT;
  }

  @Override
  public InternalRow[] run(InternalRow arguments) {
    Identifier identifier =
        Procedures.tableIdentifier(catalog, Procedures.text(this, arguments, 0));
    String wanted = Procedures.optionalText(arguments, 1);
    try (Table table = catalog.openNewest(identifier)) {
      List<IndexDescription> indexes =
          wanted.isEmpty() ? table.listIndexes() : List.of(Procedures.index(table, wanted));
      IndexJob job = new IndexJob(name(), table, catalog.options(identifier));
      return indexes.stream()
          .map(index -> table.planIndexRefresh(index.name(), IndexJob.minPieces()))
          .map(job::run)
          .toArray(InternalRow[]::new);
    }
  }
}
