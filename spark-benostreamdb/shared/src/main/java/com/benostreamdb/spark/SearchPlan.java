package com.benostreamdb.spark;

import com.benostreamdb.Column;
import com.benostreamdb.Search;
import com.benostreamdb.TableDescription;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import scala.Option;

/**
 * A search function as a plan: the best k rows of a search scan, ties by sequence number, file and
 * position. The filter stands below the limit and must be decided by the scan; whatever the query
 * adds stands above the limit, where Spark leaves it.
 */
final class SearchPlan {
  private final String function;
  private final BenoStreamCatalog catalog;
  private final Identifier identifier;
  private final BenoStreamTable table;

  private SearchPlan(
      String function, BenoStreamCatalog catalog, Identifier identifier, BenoStreamTable table) {
    this.function = function;
    this.catalog = catalog;
    this.identifier = identifier;
    this.table = table;
  }

  /** Opens the table that the argument names. */
  static SearchPlan open(String function, String tableName) {
    TableResolver.Resolved resolved = TableResolver.resolve(tableName, false);
    BenoStreamCatalog catalog = TableResolver.catalog(resolved.catalog());
    return Failures.analyzed(
        () -> {
          BenoStreamTable table = (BenoStreamTable) catalog.loadTable(resolved.identifier());
          return new SearchPlan(function, catalog, resolved.identifier(), table);
        });
  }

  /** A column by name, under Spark's case rule. */
  Column column(String name) {
    TableDescription description = table.description();
    return ColumnNames.find(description, name)
        .orElseThrow(
            () ->
                Failures.invalidInput(
                    function
                        + ": "
                        + table.name()
                        + " has no column '"
                        + name
                        + "', only "
                        + description.columns().stream().map(Column::name).toList()));
  }

  /** Refuses a k that makes no sense. */
  int requireK(int k) {
    if (k < 1) {
      throw Failures.invalidInput(function + ": k is at least 1, not " + k);
    }
    return k;
  }

  LogicalPlan plan(Search search, FunctionArguments arguments, int k) {
    SearchTable searched = new SearchTable(table, search);
    LogicalPlan relation =
        DataSourceV2Relation.create(searched, Option.apply(catalog), Option.apply(identifier));
    List<Attribute> output = SparkCompat.output(relation);
    int score = table.schema().size();
    LogicalPlan selected =
        arguments.has("filter") ? filter(arguments.text("filter"), relation) : relation;
    List<SortOrder> orders = new ArrayList<>();
    orders.add(
        SparkCompat.sortOrder(
            output.get(score),
            search instanceof Search.Vector ? SparkCompat.ascending() : SparkCompat.descending()));
    for (Attribute tie : output.subList(score + 1, output.size())) {
      orders.add(SparkCompat.sortOrder(tie, SparkCompat.ascending()));
    }
    LogicalPlan best = SparkCompat.limit(k, SparkCompat.sort(orders, selected));
    return SparkCompat.project(output.subList(0, score + 1), best);
  }

  private LogicalPlan filter(String text, LogicalPlan relation) {
    Expression condition = SparkCompat.parseExpression(text);
    // Spark turns some of them into joins, which would see the best rows only.
    if (SubqueryExpression.hasSubquery(condition)) {
      throw Failures.unsupported(function + ": the filter '" + text + "' holds a subquery");
    }
    return SparkCompat.filter(condition, relation);
  }
}
