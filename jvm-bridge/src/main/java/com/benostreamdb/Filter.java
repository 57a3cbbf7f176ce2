package com.benostreamdb;

import java.util.List;
import java.util.Optional;

/**
 * A predicate over field ids with three-valued logic; -0.0 equals 0.0, NaN equals NaN and is
 * greatest. A literal has the column's own type.
 */
public sealed interface Filter {
  /** How two values compare. */
  enum CompareOp {
    EQ,
    NOT_EQ,
    LT,
    LT_EQ,
    GT,
    GT_EQ
  }

  /** How a string is matched; bytes are compared. */
  enum MatchOp {
    STARTS_WITH,
    ENDS_WITH,
    CONTAINS
  }

  /** Always this truth value; empty is NULL. */
  record Constant(Optional<Boolean> value) implements Filter {}

  /** All of these. */
  record And(List<Filter> filters) implements Filter {
    public And {
      filters = List.copyOf(filters);
    }
  }

  /** Any of these. */
  record Or(List<Filter> filters) implements Filter {
    public Or {
      filters = List.copyOf(filters);
    }
  }

  /** NULL stays NULL. */
  record Not(Filter filter) implements Filter {}

  /** {@code column op value}; NULL for a NULL column. */
  record Compare(int column, CompareOp op, Value value) implements Filter {}

  /** {@code column IS NOT DISTINCT FROM value}; an empty value is NULL. */
  record NullSafeEq(int column, Optional<Value> value) implements Filter {}

  /** {@code column IN (values [, NULL])}; with {@code hasNull} a miss is NULL. */
  record In(int column, List<Value> values, boolean hasNull) implements Filter {
    public In {
      values = List.copyOf(values);
    }
  }

  /** {@code column IS NULL}. */
  record IsNull(int column) implements Filter {}

  /** {@code isnan(column)}; NULL for NULL. */
  record IsNan(int column) implements Filter {}

  /** A string match; NULL for NULL. */
  record Match(int column, MatchOp op, String pattern) implements Filter {}
}
