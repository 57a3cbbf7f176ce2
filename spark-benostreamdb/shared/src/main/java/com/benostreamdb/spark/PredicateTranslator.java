package com.benostreamdb.spark;

import com.benostreamdb.Column;
import com.benostreamdb.ColumnType.Kind;
import com.benostreamdb.Filter;
import com.benostreamdb.Filter.CompareOp;
import com.benostreamdb.Filter.MatchOp;
import com.benostreamdb.Value;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.Literal;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.filter.Predicate;

/**
 * Spark's predicates as the engine's filters. A predicate is translated only if the engine decides
 * every row exactly as Spark does: everything else is left to Spark.
 */
final class PredicateTranslator {
  private final Map<String, Column> columns = new HashMap<>();

  PredicateTranslator(List<Column> columns) {
    for (Column column : columns) {
      this.columns.putIfAbsent(column.name(), column);
    }
  }

  Optional<Filter> translate(Predicate predicate) {
    Expression[] children = predicate.children();
    return switch (predicate.name()) {
      case "ALWAYS_TRUE" -> Optional.of(new Filter.Constant(Optional.of(true)));
      case "ALWAYS_FALSE" -> Optional.of(new Filter.Constant(Optional.of(false)));
      case "AND" -> all(children).map(Filter.And::new);
      case "OR" -> all(children).map(Filter.Or::new);
      case "NOT" -> child(children[0]).map(Filter.Not::new);
      case "IS_NULL" -> column(children[0]).map(c -> new Filter.IsNull(c.id()));
      case "IS_NOT_NULL" -> column(children[0]).map(c -> new Filter.Not(new Filter.IsNull(c.id())));
      case "=" -> compare(children, CompareOp.EQ);
      case "<>" -> compare(children, CompareOp.NOT_EQ);
      case "<" -> compare(children, CompareOp.LT);
      case "<=" -> compare(children, CompareOp.LT_EQ);
      case ">" -> compare(children, CompareOp.GT);
      case ">=" -> compare(children, CompareOp.GT_EQ);
      case "<=>" -> nullSafeEquals(children);
      case "IN" -> in(children);
      case "STARTS_WITH" -> match(children, MatchOp.STARTS_WITH);
      case "ENDS_WITH" -> match(children, MatchOp.ENDS_WITH);
      case "CONTAINS" -> match(children, MatchOp.CONTAINS);
      default -> Optional.empty();
    };
  }

  private Optional<Filter> child(Expression expression) {
    return expression instanceof Predicate predicate ? translate(predicate) : Optional.empty();
  }

  private Optional<List<Filter>> all(Expression[] children) {
    List<Filter> filters = new ArrayList<>(children.length);
    for (Expression expression : children) {
      Optional<Filter> filter = child(expression);
      if (filter.isEmpty()) {
        return Optional.empty();
      }
      filters.add(filter.get());
    }
    return Optional.of(filters);
  }

  private Optional<Column> column(Expression expression) {
    if (expression instanceof NamedReference reference && reference.fieldNames().length == 1) {
      return Optional.ofNullable(columns.get(reference.fieldNames()[0]))
          .filter(column -> column.type().kind() != Kind.UNKNOWN);
    }
    return Optional.empty();
  }

  private Optional<Filter> compare(Expression[] children, CompareOp op) {
    if (children[0] instanceof Literal && !(children[1] instanceof Literal)) {
      return compare(children[1], children[0], flip(op));
    }
    return compare(children[0], children[1], op);
  }

  private Optional<Filter> compare(Expression left, Expression right, CompareOp op) {
    Optional<Column> column = column(left);
    if (column.isEmpty() || !(right instanceof Literal<?> literal)) {
      return Optional.empty();
    }
    if (literal.value() == null) {
      return Optional.of(new Filter.Constant(Optional.empty()));
    }
    boolean ordered = op != CompareOp.EQ && op != CompareOp.NOT_EQ;
    if (ordered && column.get().type().kind() == Kind.UUID) {
      return Optional.empty();
    }
    return Literals.toValue(literal, column.get().type())
        .map(value -> new Filter.Compare(column.get().id(), op, value));
  }

  private Optional<Filter> nullSafeEquals(Expression[] children) {
    boolean flipped = children[0] instanceof Literal;
    Optional<Column> column = column(children[flipped ? 1 : 0]);
    Expression other = children[flipped ? 0 : 1];
    if (column.isEmpty() || !(other instanceof Literal<?> literal)) {
      return Optional.empty();
    }
    int id = column.get().id();
    if (literal.value() == null) {
      return Optional.of(new Filter.NullSafeEq(id, Optional.empty()));
    }
    return Literals.toValue(literal, column.get().type())
        .map(value -> new Filter.NullSafeEq(id, Optional.of(value)));
  }

  private Optional<Filter> in(Expression[] children) {
    Optional<Column> column = column(children[0]);
    if (column.isEmpty()) {
      return Optional.empty();
    }
    List<Value> values = new ArrayList<>(children.length - 1);
    boolean hasNull = false;
    for (int i = 1; i < children.length; i++) {
      if (!(children[i] instanceof Literal<?> literal)) {
        return Optional.empty();
      }
      if (literal.value() == null) {
        hasNull = true;
        continue;
      }
      Optional<Value> value = Literals.toValue(literal, column.get().type());
      if (value.isEmpty()) {
        return Optional.empty();
      }
      values.add(value.get());
    }
    return Optional.of(new Filter.In(column.get().id(), values, hasNull));
  }

  private Optional<Filter> match(Expression[] children, MatchOp op) {
    Optional<Column> column = column(children[0]).filter(c -> c.type().kind() == Kind.STRING);
    if (column.isEmpty() || !(children[1] instanceof Literal<?> literal)) {
      return Optional.empty();
    }
    if (literal.value() == null) {
      return Optional.of(new Filter.Constant(Optional.empty()));
    }
    return Literals.toValue(literal, column.get().type())
        .map(value -> (Value.StringValue) value)
        .map(value -> new Filter.Match(column.get().id(), op, value.value()));
  }

  private static CompareOp flip(CompareOp op) {
    return switch (op) {
      case LT -> CompareOp.GT;
      case LT_EQ -> CompareOp.GT_EQ;
      case GT -> CompareOp.LT;
      case GT_EQ -> CompareOp.LT_EQ;
      case EQ, NOT_EQ -> op;
    };
  }
}
