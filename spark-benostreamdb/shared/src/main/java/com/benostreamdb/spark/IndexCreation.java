package com.benostreamdb.spark;

import com.benostreamdb.IndexBuild;
import com.benostreamdb.IndexBuildPlan;
import com.benostreamdb.Table;
import com.benostreamdb.TableDescription;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;

/** Defines an index and builds it: what CREATE INDEX and {@code create_index} do. */
final class IndexCreation {
  private IndexCreation() {}

  /** The definition is there before the pieces: a build that fails takes it away again. */
  static InternalRow run(Table table, IndexBuild wanted, Map<String, String> options) {
    TableDescription description = table.describe();
    IndexBuild build =
        new IndexBuild(
            wanted.name(),
            wanted.kind(),
            ColumnNames.resolve(description, wanted.columns()),
            wanted.options(),
            ColumnNames.resolve(description, wanted.include()),
            wanted.ifNotExists());
    IndexBuildPlan plan = table.planIndexBuild(build, IndexJob.minPieces());
    try {
      return new IndexJob("create_index", table, options).run(plan);
    } catch (RuntimeException failure) {
      try {
        table.dropIndex(plan.name(), true);
      } catch (RuntimeException e) {
        failure.addSuppressed(e);
      }
      throw failure;
    }
  }
}
