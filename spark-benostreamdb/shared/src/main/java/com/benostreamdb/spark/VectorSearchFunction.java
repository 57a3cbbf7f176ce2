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

  static final String USAGE =
      "_FUNC_(table, column, query, k [, filter, metric, ef_search, recall]) - Returns the columns of"
          + " the table and _distance, the k rows nearest to the query first. table is a name in a"
          + " catalog of benostream or a path, query an array of numbers or text like '[0.1, 0.2]',"
          + " filter a condition that rows meet before the k best are chosen, metric l2 (default),"
          + " cosine, inner_product or l1, recall fast, balanced (default) or exact. Arguments are"
          + " constants, by position or name => value.";
  static final String EXAMPLE =
      "SELECT id, _distance FROM _FUNC_('lake.mine.docs', 'embedding', array(0.1, 0.2), 10,"
          + " filter => 'year > 2020');";

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
