package com.benostreamdb.spark;

import com.benostreamdb.Column;
import com.benostreamdb.ColumnType.Kind;
import com.benostreamdb.Search;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/** {@code bm25_search(table, column, query, k [, filter, operator, analyzer])}. */
final class TextSearchFunction {
  static final String NAME = "bm25_search";

  static final String USAGE =
      "_FUNC_(table, column, query, k [, filter, operator, analyzer]) - Returns the columns of the"
          + " table and _score, the k rows that match the words of the query best first. table is a"
          + " name in a catalog of benostream or a path, filter a condition that rows meet before"
          + " the k best are chosen, operator or (default) or and: whether one word is enough,"
          + " analyzer that of the index unless given. Arguments are constants, by position or"
          + " name => value.";
  static final String EXAMPLE =
      "SELECT id, _score FROM _FUNC_('lake.mine.docs', 'text', 'red shoes', 10,"
          + " operator => 'and');";

  private static final List<String> PARAMETERS =
      List.of("table", "column", "query", "k", "filter", "operator", "analyzer");

  private TextSearchFunction() {}

  static LogicalPlan plan(List<Expression> expressions) {
    FunctionArguments arguments = FunctionArguments.of(NAME, PARAMETERS, 4, expressions);
    SearchPlan plan = SearchPlan.open(NAME, arguments.text("table"));
    Column column = plan.column(arguments.text("column"));
    if (column.type().kind() != Kind.STRING) {
      throw arguments.invalid("searches a column of strings, not '" + column.name() + "'");
    }
    int k = plan.requireK(arguments.integer("k"));
    Search search =
        new Search.Text(
            column.id(),
            arguments.text("query"),
            k,
            requiresAllTerms(arguments),
            arguments.has("analyzer") ? Optional.of(arguments.text("analyzer")) : Optional.empty());
    return plan.plan(search, arguments, k);
  }

  private static boolean requiresAllTerms(FunctionArguments arguments) {
    if (!arguments.has("operator")) {
      return false;
    }
    return switch (arguments.text("operator").toLowerCase(Locale.ROOT)) {
      case "and" -> true;
      case "or" -> false;
      default ->
          throw arguments.invalid(
              "takes 'and' or 'or' as 'operator', not '" + arguments.text("operator") + "'");
    };
  }
}
