package com.benostreamdb.spark;

import com.benostreamdb.Column;
import com.benostreamdb.TableDescription;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import org.apache.spark.sql.internal.SQLConf;

/** Columns by the names that users write, under Spark's case rule. */
final class ColumnNames {
  private ColumnNames() {}

  /** The column of a name. Errors: several columns that the case rule does not tell apart. */
  static Optional<Column> find(TableDescription table, String name) {
    boolean sensitive = SQLConf.get().caseSensitiveAnalysis();
    List<Column> found =
        table.columns().stream()
            .filter(c -> sensitive ? c.name().equals(name) : c.name().equalsIgnoreCase(name))
            .toList();
    if (found.size() > 1) {
      throw Failures.invalidInput(
          "column '"
              + name
              + "' is ambiguous, it may be one of "
              + found.stream().map(Column::name).toList()
              + "; set spark.sql.caseSensitive = true to tell them apart");
    }
    return found.stream().findFirst();
  }

  /** Refuses to give new values to rows whose columns Spark would take for each other. */
  static void requireDistinct(TableDescription table) {
    if (SQLConf.get().caseSensitiveAnalysis()) {
      return;
    }
    Map<String, String> seen = new HashMap<>();
    for (Column column : table.columns()) {
      String other = seen.put(column.name().toLowerCase(Locale.ROOT), column.name());
      if (other != null) {
        throw Failures.unsupported(
            "UPDATE or MERGE of columns '"
                + other
                + "' and '"
                + column.name()
                + "', which differ in case only; set spark.sql.caseSensitive = true");
      }
    }
  }

  /** The id of a column that the table has by this very name. */
  static int id(TableDescription table, String name) {
    return table.columns().stream()
        .filter(column -> column.name().equals(name))
        .mapToInt(Column::id)
        .findFirst()
        .orElseThrow(() -> Failures.internal("there is no column '" + name + "'"));
  }

  /** The names as the table has them; unknown ones stay, for the engine to refuse. */
  static List<String> resolve(TableDescription table, List<String> names) {
    return names.stream().map(name -> find(table, name).map(Column::name).orElse(name)).toList();
  }
}
