package com.benostreamdb.spark;

import com.benostreamdb.Filter;
import com.benostreamdb.Value;
import java.math.BigDecimal;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.apache.iceberg.Schema;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;

/**
 * A filter in both languages. Iceberg knows no NULL as a truth value: its evaluator takes NULL for
 * the least value and fails over it in {@code IN}. So NULL is left out by name, nothing is negated,
 * and {@code IN} is spelled out.
 */
record RandomFilter(Expression iceberg, Filter ours) {

  static RandomFilter of(Schema schema, Random random) {
    RandomFilter one = leaf(schema, random);
    return switch (random.nextInt(4)) {
      case 0 -> {
        RandomFilter other = leaf(schema, random);
        yield new RandomFilter(
            Expressions.and(one.iceberg, other.iceberg),
            new Filter.And(List.of(one.ours, other.ours)));
      }
      case 1 -> {
        RandomFilter other = leaf(schema, random);
        yield new RandomFilter(
            Expressions.or(one.iceberg, other.iceberg),
            new Filter.Or(List.of(one.ours, other.ours)));
      }
      default -> one;
    };
  }

  private static RandomFilter leaf(Schema schema, Random random) {
    List<Types.NestedField> columns = new ArrayList<>(schema.columns());
    columns.removeIf(column -> ours(column.type(), null) == null);
    Types.NestedField column = columns.get(random.nextInt(columns.size()));
    String name = column.name();
    int id = column.fieldId();
    RandomValues values = new RandomValues(random);
    Object value = values.value(column.type());
    Value literal = ours(column.type(), value);
    Object bound = iceberg(value);
    return switch (random.nextInt(9)) {
      case 0 -> new RandomFilter(Expressions.isNull(name), new Filter.IsNull(id));
      case 1 -> new RandomFilter(Expressions.notNull(name), new Filter.Not(new Filter.IsNull(id)));
      case 2 ->
          new RandomFilter(
              known(name, Expressions.notEqual(name, bound)),
              new Filter.Compare(id, Filter.CompareOp.NOT_EQ, literal));
      case 3 ->
          new RandomFilter(
              known(name, Expressions.lessThan(name, bound)),
              new Filter.Compare(id, Filter.CompareOp.LT, literal));
      case 4 ->
          new RandomFilter(
              known(name, Expressions.lessThanOrEqual(name, bound)),
              new Filter.Compare(id, Filter.CompareOp.LT_EQ, literal));
      case 5 ->
          new RandomFilter(
              Expressions.greaterThan(name, bound),
              new Filter.Compare(id, Filter.CompareOp.GT, literal));
      case 6 ->
          new RandomFilter(
              Expressions.greaterThanOrEqual(name, bound),
              new Filter.Compare(id, Filter.CompareOp.GT_EQ, literal));
      case 7 -> {
        Object second = values.value(column.type());
        yield new RandomFilter(
            Expressions.or(
                Expressions.equal(name, bound), Expressions.equal(name, iceberg(second))),
            new Filter.In(id, List.of(literal, ours(column.type(), second)), false));
      }
      default ->
          new RandomFilter(
              Expressions.equal(name, bound), new Filter.Compare(id, Filter.CompareOp.EQ, literal));
    };
  }

  private static Expression known(String name, Expression test) {
    return Expressions.and(Expressions.notNull(name), test);
  }

  private static Object iceberg(Object value) {
    return value instanceof LocalDate date ? (Object) (int) date.toEpochDay() : value;
  }

  /** Null for a type that is not filtered on; with a null value just not null for the others. */
  private static Value ours(Type type, Object value) {
    return switch (type.typeId()) {
      case INTEGER -> new Value.IntValue(value == null ? 0 : (Integer) value);
      case LONG -> new Value.LongValue(value == null ? 0 : (Long) value);
      case STRING -> new Value.StringValue((String) value);
      case DATE -> new Value.DateValue(value == null ? 0 : (int) ((LocalDate) value).toEpochDay());
      case DECIMAL ->
          new Value.DecimalValue((BigDecimal) value, ((Types.DecimalType) type).precision());
      default -> null;
    };
  }
}
