package com.benostreamdb.spark;

import com.benostreamdb.Table;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.connector.catalog.TableChange;

/** ALTER TABLE: what the engine can change so far, which is properties. */
final class TableChanges {
  private TableChanges() {}

  static void apply(Table table, TableChange... changes) {
    Map<String, String> set = new HashMap<>();
    Set<String> removed = new HashSet<>();
    for (TableChange change : changes) {
      if (change instanceof TableChange.SetProperty property) {
        set.put(property.property(), property.value());
        removed.remove(property.property());
      } else if (change instanceof TableChange.RemoveProperty property) {
        removed.add(property.property());
        set.remove(property.property());
      } else {
        throw Failures.unsupported(
            "ALTER TABLE "
                + table.describe().name()
                + ": "
                + change.getClass().getSimpleName()
                + " is not there yet");
      }
    }
    table.changeProperties(set, removed);
  }
}
