package com.benostreamdb.spark;

import com.benostreamdb.Column;
import com.benostreamdb.TableDescription;
import java.util.List;
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
