package com.benostreamdb.spark;

import com.benostreamdb.Column;
import com.benostreamdb.ColumnType.Kind;
import com.benostreamdb.Search;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/** {@code vector_search(table, column, query, k [, filter, metric, ef_search, recall])}. */
final class VectorSearchFunction {
  static final String NAME = "vector_search";

  private static final List<String> PARAMETERS =
      List.of("table", "column", "query", "k", "filter", "metric", "ef_search", "recall");

  private VectorSearchFunction() {}

  static LogicalPlan plan(List<Expression> expressions) {
    FunctionArguments arguments = FunctionArguments.of(NAME, PARAMETERS, 4, expressions);
    SearchPlan plan = SearchPlan.open(NAME, arguments.text("table"));
    Column column = plan.column(arguments.text("column"));
    if (column.type().kind() != Kind.LIST || column.type().element().type().kind() != Kind.FLOAT) {
      throw arguments.invalid(
          "searches a column of vectors, array<float>, not '" + column.name() + "'");
    }
    int k = plan.requireK(arguments.integer("k"));
    Search search =
        new Search.Vector(
            column.id(),
            query(arguments),
            k,
            arguments.has("metric")
                ? Optional.of(DistanceMetric.ofOption(arguments.text("metric")).engineMetric())
                : Optional.empty(),
            arguments.has("ef_search")
                ? OptionalInt.of(arguments.integer("ef_search"))
                : OptionalInt.empty(),
            arguments.has("recall")
                ? SearchModes.ofRecall(arguments.text("recall"))
                : Search.Mode.BALANCED,
            Search.Nulls.DROP);
    return plan.plan(search, arguments, k);
  }

  private static float[] query(FunctionArguments arguments) {
    float[] query = arguments.vector("query");
    for (float component : query) {
      if (!Float.isFinite(component)) {
        throw arguments.invalid("takes finite numbers in 'query', not " + component);
      }
    }
    return query;
  }
}
