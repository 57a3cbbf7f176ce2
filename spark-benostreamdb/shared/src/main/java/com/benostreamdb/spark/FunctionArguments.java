package com.benostreamdb.spark;

import java.util.List;
import java.util.Locale;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedArgumentExpression;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.IntegralType;
import org.apache.spark.sql.types.NullType;
import org.apache.spark.sql.types.NumericType;
import org.apache.spark.sql.types.StringType;

/** The constant arguments of a table function, by position or by name. */
final class FunctionArguments {
  private final String function;
  private final List<String> names;
  private final Expression[] values;

  private FunctionArguments(String function, List<String> names) {
    this.function = function;
    this.names = names;
    this.values = new Expression[names.size()];
  }

  /** Sorts the arguments by parameter; the first {@code required} parameters must be given. */
  static FunctionArguments of(
      String function, List<String> names, int required, List<Expression> arguments) {
    FunctionArguments result = new FunctionArguments(function, names);
    int position = 0;
    boolean named = false;
    for (Expression argument : arguments) {
      if (argument instanceof NamedArgumentExpression byName) {
        named = true;
        result.put(result.indexOf(byName.key()), byName.value());
      } else if (named) {
        throw result.invalid("takes no argument by position after one by name");
      } else if (position == names.size()) {
        throw result.invalid("takes at most " + names.size() + " arguments");
      } else {
        result.put(position++, argument);
      }
    }
    for (int i = 0; i < required; i++) {
      if (result.values[i] == null) {
        throw result.invalid("needs the argument '" + names.get(i) + "'");
      }
    }
    return result;
  }

  boolean has(String name) {
    return values[names.indexOf(name)] != null;
  }

  String text(String name) {
    Expression value = values[names.indexOf(name)];
    if (!(value.dataType() instanceof StringType)) {
      throw invalid("takes a string as '" + name + "', not " + value.dataType().simpleString());
    }
    return evaluate(name, value).toString();
  }

  int integer(String name) {
    Expression value = values[names.indexOf(name)];
    if (!(value.dataType() instanceof IntegralType)) {
      throw invalid("takes an integer as '" + name + "', not " + value.dataType().simpleString());
    }
    long number = (Long) evaluate(name, SparkCompat.cast(value, DataTypes.LongType));
    return (int) Math.max(Integer.MIN_VALUE, Math.min(Integer.MAX_VALUE, number));
  }

  /** A vector: an array of numbers, or text in pgvector's form. */
  float[] vector(String name) {
    Expression value = values[names.indexOf(name)];
    DataType type = value.dataType();
    if (type instanceof StringType) {
      return VectorText.parse(evaluate(name, value).toString());
    }
    if (!(type instanceof ArrayType array
        && (array.elementType() instanceof NumericType
            || array.elementType() instanceof NullType))) {
      throw invalid("takes an array of numbers as '" + name + "', not " + type.simpleString());
    }
    ArrayType floats = DataTypes.createArrayType(DataTypes.FloatType, true);
    ArrayData data = (ArrayData) evaluate(name, SparkCompat.cast(value, floats));
    float[] vector = new float[data.numElements()];
    for (int i = 0; i < vector.length; i++) {
      if (data.isNullAt(i)) {
        throw invalid("takes no NULL component in '" + name + "'");
      }
      vector[i] = data.getFloat(i);
    }
    return vector;
  }

  RuntimeException invalid(String problem) {
    return Failures.invalidInput(function + " " + problem);
  }

  private Object evaluate(String name, Expression value) {
    if (!value.foldable()) {
      throw invalid("takes a constant as '" + name + "', not " + value.sql());
    }
    Object result = value.eval(InternalRow.empty());
    if (result == null) {
      throw invalid("takes no NULL as '" + name + "'");
    }
    return result;
  }

  private int indexOf(String name) {
    int index = names.indexOf(name.toLowerCase(Locale.ROOT));
    if (index < 0) {
      throw invalid("knows no argument '" + name + "', only " + String.join(", ", names));
    }
    return index;
  }

  private void put(int index, Expression value) {
    if (values[index] != null) {
      throw invalid("got the argument '" + names.get(index) + "' twice");
    }
    values[index] = value;
  }
}
