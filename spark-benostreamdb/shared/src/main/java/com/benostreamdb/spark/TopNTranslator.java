package com.benostreamdb.spark;

import com.benostreamdb.Column;
import com.benostreamdb.ColumnType.Kind;
import com.benostreamdb.Search;
import com.benostreamdb.TableDescription;
import java.util.Optional;
import java.util.OptionalInt;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.Literal;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.NullOrdering;
import org.apache.spark.sql.connector.expressions.SortDirection;
import org.apache.spark.sql.connector.expressions.SortOrder;
import org.apache.spark.sql.connector.expressions.UserDefinedScalarFunc;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataTypes;

/**
 * An ORDER BY with a LIMIT as a vector search: exactly one ascending key that is one of our
 * distances between a column and a constant. Everything else stays a scan: a second key would
 * decide ties that a split has already cut.
 */
final class TopNTranslator {
  /** Beyond this the engine refuses a search, and a scan is the better plan anyway. */
  static final int MAX_K = 10_000;

  private TopNTranslator() {}

  static Optional<Search> translate(
      SortOrder[] orders, int rows, TableDescription table, Search.Mode mode) {
    if (orders.length != 1 || rows < 1 || rows > MAX_K) {
      return Optional.empty();
    }
    SortOrder order = orders[0];
    if (order.direction() != SortDirection.ASCENDING
        || !(order.expression() instanceof UserDefinedScalarFunc function)
        || function.children().length != 2) {
      return Optional.empty();
    }
    Optional<DistanceMetric> metric = DistanceMetric.ofCanonicalName(function.canonicalName());
    if (metric.isEmpty()) {
      return Optional.empty();
    }
    // Every metric is symmetric, so the column may stand on either side.
    boolean flipped = function.children()[0] instanceof Literal;
    OptionalInt column = vectorColumn(function.children()[flipped ? 1 : 0], table);
    Optional<float[]> query = constant(function.children()[flipped ? 0 : 1]);
    if (column.isEmpty() || query.isEmpty()) {
      return Optional.empty();
    }
    Search.Nulls nulls =
        order.nullOrdering() == NullOrdering.NULLS_FIRST ? Search.Nulls.FIRST : Search.Nulls.LAST;
    return Optional.of(
        new Search.Vector(
            column.getAsInt(),
            query.get(),
            rows,
            Optional.of(metric.get().engineMetric()),
            OptionalInt.empty(),
            mode,
            nulls));
  }

  private static OptionalInt vectorColumn(Expression expression, TableDescription table) {
    if (!(expression instanceof NamedReference reference) || reference.fieldNames().length != 1) {
      return OptionalInt.empty();
    }
    String name = reference.fieldNames()[0];
    for (Column column : table.columns()) {
      if (column.name().equals(name)
          && column.type().kind() == Kind.LIST
          && column.type().element().type().kind() == Kind.FLOAT) {
        return OptionalInt.of(column.id());
      }
    }
    return OptionalInt.empty();
  }

  /** The query, unless distances to it are undefined or do not order as numbers do. */
  private static Optional<float[]> constant(Expression expression) {
    if (!(expression instanceof Literal<?> literal)
        || !(literal.dataType() instanceof ArrayType type)
        || !type.elementType().equals(DataTypes.FloatType)
        || !(literal.value() instanceof ArrayData data)) {
      return Optional.empty();
    }
    float[] query = new float[data.numElements()];
    for (int i = 0; i < query.length; i++) {
      if (data.isNullAt(i) || !Float.isFinite(data.getFloat(i))) {
        return Optional.empty();
      }
      query[i] = data.getFloat(i);
    }
    return query.length == 0 ? Optional.empty() : Optional.of(query);
  }
}
