package com.benostreamdb.spark;

import com.benostreamdb.Table;
import org.apache.spark.sql.connector.catalog.TableChange;

/** ALTER TABLE: what the engine can change so far. */
final class TableChanges {
  private TableChanges() {}

  static void apply(Table table, TableChange... changes) {
    for (TableChange change : changes) {
      throw Failures.unsupported(
          "ALTER TABLE "
              + table.describe().name()
              + ": "
              + change.getClass().getSimpleName()
              + " is not there yet");
    }
  }
}
