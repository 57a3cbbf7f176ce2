package com.benostreamdb.spark;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.functions.BoundFunction;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.NullType;
import org.apache.spark.sql.types.NumericType;
import org.apache.spark.sql.types.StructType;

/**
 * A vector distance as a catalog function. It has {@code produceResult} only: that is the one form
 * which every Spark line translates when it pushes an ORDER BY with a LIMIT.
 */
final class DistanceFunction implements UnboundFunction {
  private final DistanceMetric metric;

  DistanceFunction(DistanceMetric metric) {
    this.metric = metric;
  }

  @Override
  public String name() {
    return metric.functionName();
  }

  @Override
  public String description() {
    return metric.functionName()
        + "(left, right) - "
        + metric.meaning()
        + " of two arrays of numbers, a double; NULL for NULL vectors or components and for vectors"
        + " of different lengths. ORDER BY it with a LIMIT uses an index where there is one."
        + " Example: SELECT id FROM lake.mine.docs ORDER BY lake.system."
        + metric.functionName()
        + "(embedding, array(0.1, 0.2)) NULLS LAST LIMIT 10";
  }

  @Override
  public BoundFunction bind(StructType input) {
    if (input.size() != 2) {
      throw new UnsupportedOperationException(
          name() + " takes two vectors, not " + input.size() + " arguments");
    }
    for (DataType type : new DataType[] {input.apply(0).dataType(), input.apply(1).dataType()}) {
      if (!isVector(type)) {
        throw new UnsupportedOperationException(
            name() + " takes arrays of numbers, not " + type.simpleString());
      }
    }
    return new Bound(metric);
  }

  private static boolean isVector(DataType type) {
    if (type instanceof NullType) {
      return true;
    }
    return type instanceof ArrayType array
        && (array.elementType() instanceof NumericType || array.elementType() instanceof NullType);
  }

  /** The function over two arrays of float; Spark casts other numbers. */
  private static final class Bound implements ScalarFunction<Double> {
    private static final long serialVersionUID = 1L;

    private final DistanceMetric metric;

    Bound(DistanceMetric metric) {
      this.metric = metric;
    }

    @Override
    public DataType[] inputTypes() {
      DataType vector = DataTypes.createArrayType(DataTypes.FloatType, true);
      return new DataType[] {vector, vector};
    }

    @Override
    public DataType resultType() {
      return DataTypes.DoubleType;
    }

    @Override
    public String name() {
      return metric.functionName();
    }

    @Override
    public String canonicalName() {
      return metric.canonicalName();
    }

    @Override
    public Double produceResult(InternalRow input) {
      if (input.isNullAt(0) || input.isNullAt(1)) {
        return null;
      }
      return metric.distance(input.getArray(0), input.getArray(1));
    }

    /** Plans show the function by this text. */
    @Override
    public String toString() {
      return name();
    }

    @Override
    public boolean equals(Object other) {
      return other instanceof Bound bound && bound.metric == metric;
    }

    @Override
    public int hashCode() {
      return metric.hashCode();
    }
  }
}
