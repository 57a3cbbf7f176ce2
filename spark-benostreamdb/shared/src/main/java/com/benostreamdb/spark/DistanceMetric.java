package com.benostreamdb.spark;

import com.benostreamdb.Search;
import java.util.Arrays;
import java.util.Locale;
import java.util.Optional;
import org.apache.spark.sql.catalyst.util.ArrayData;

/**
 * The distances of the vector functions. NULL vectors, NULL components and different lengths give
 * NULL. Components are widened to double and summed in eight lanes, which is how the engine scores
 * its final candidates: both sides agree to the last bit.
 */
enum DistanceMetric {
  L2("vector_l2_distance", "l2", "the Euclidean distance", Search.Metric.L2) {
    @Override
    double distance(float[] left, float[] right) {
      return Math.sqrt(
          sum(left, right, (a, b) -> ((double) a - (double) b) * ((double) a - (double) b)));
    }
  },
  COSINE(
      "vector_cosine_distance",
      "cosine",
      "one minus the cosine of the angle",
      Search.Metric.COSINE) {
    @Override
    double distance(float[] left, float[] right) {
      double lengths = Math.sqrt(dot(left, left) * dot(right, right));
      return 1 - Math.min(1, Math.max(-1, dot(left, right) / lengths));
    }
  },
  INNER_PRODUCT(
      "vector_inner_product",
      "inner_product",
      "the negative inner product",
      Search.Metric.INNER_PRODUCT) {
    @Override
    double distance(float[] left, float[] right) {
      return -dot(left, right);
    }
  },
  L1("vector_l1_distance", "l1", "the sum of the absolute differences", Search.Metric.L1) {
    @Override
    double distance(float[] left, float[] right) {
      return sum(left, right, (a, b) -> Math.abs((double) a - (double) b));
    }
  };

  private interface Term {
    double of(float a, float b);
  }

  private static final int LANES = 8;

  private static double dot(float[] left, float[] right) {
    return sum(left, right, (a, b) -> (double) a * (double) b);
  }

  private static double sum(float[] left, float[] right, Term term) {
    double[] lanes = new double[LANES];
    for (int i = 0; i < left.length; i++) {
      lanes[i % LANES] += term.of(left[i], right[i]);
    }
    return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6]))
        + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
  }

  private final String functionName;
  private final String optionName;
  private final String meaning;
  private final Search.Metric engineMetric;

  DistanceMetric(
      String functionName, String optionName, String meaning, Search.Metric engineMetric) {
    this.functionName = functionName;
    this.optionName = optionName;
    this.meaning = meaning;
    this.engineMetric = engineMetric;
  }

  /** The distance between two vectors of one length. */
  abstract double distance(float[] left, float[] right);

  /** The SQL function's name, without a catalog. */
  String functionName() {
    return functionName;
  }

  /** What it computes, in words. */
  String meaning() {
    return meaning;
  }

  /** The engine's name for it. */
  Search.Metric engineMetric() {
    return engineMetric;
  }

  /**
   * The name that identifies the function in pushed expressions, whatever the catalog is called.
   */
  String canonicalName() {
    return "benostream." + functionName;
  }

  /** The distance, or null where it is undefined. */
  Double distance(ArrayData left, ArrayData right) {
    int length = left.numElements();
    if (length != right.numElements() || hasNull(left, length) || hasNull(right, length)) {
      return null;
    }
    return distance(left.toFloatArray(), right.toFloatArray());
  }

  static Optional<DistanceMetric> ofFunction(String name) {
    String wanted = name.toLowerCase(Locale.ROOT);
    return Arrays.stream(values())
        .filter(m -> m.functionName.equals(wanted) || m.functionName.equals("vector_" + wanted))
        .findFirst();
  }

  static Optional<DistanceMetric> ofCanonicalName(String name) {
    return Arrays.stream(values()).filter(m -> m.canonicalName().equals(name)).findFirst();
  }

  /** The metric that {@code metric => '..'} names. */
  static DistanceMetric ofOption(String name) {
    String wanted = name.toLowerCase(Locale.ROOT);
    return Arrays.stream(values())
        .filter(m -> m.optionName.equals(wanted))
        .findFirst()
        .orElseThrow(
            () ->
                Failures.invalidInput(
                    "metric is one of l2, cosine, inner_product, l1, not '" + name + "'"));
  }

  private static boolean hasNull(ArrayData array, int length) {
    for (int i = 0; i < length; i++) {
      if (array.isNullAt(i)) {
        return true;
      }
    }
    return false;
  }
}
