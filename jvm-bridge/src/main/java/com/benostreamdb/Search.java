package com.benostreamdb;

import java.util.Optional;
import java.util.OptionalInt;

/**
 * A top-k search over one column. Every split gives its own best k; whoever asks merges by the
 * extra column, then {@code _seq}, {@code _file}, {@code _pos}.
 */
public sealed interface Search {
  /** Name of the extra output column of a vector search: double, ascending. */
  String DISTANCE = "_distance";

  /** Name of the extra output column of a text search: double, descending. */
  String SCORE = "_score";

  /** How far two vectors are apart. */
  enum Metric {
    L2,
    COSINE,
    INNER_PRODUCT,
    L1
  }

  /** How hard an index looks. */
  enum Mode {
    BALANCED,
    EXACT,
    FAST
  }

  /** Where rows whose distance is NULL stand. */
  enum Nulls {
    DROP,
    FIRST,
    LAST
  }

  /** The {@code k} rows nearest to a vector; an empty metric is the index's own, else L2. */
  record Vector(
      int column,
      float[] query,
      long k,
      Optional<Metric> metric,
      OptionalInt efSearch,
      Mode mode,
      Nulls nulls)
      implements Search {}

  /** The {@code k} rows that match a text best. */
  record Text(int column, String query, long k, boolean allTerms, Optional<String> analyzer)
      implements Search {}
}
