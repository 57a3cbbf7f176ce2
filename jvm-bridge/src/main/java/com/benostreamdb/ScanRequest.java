package com.benostreamdb;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;

/** What to read. Immutable; made by a builder. */
public final class ScanRequest {
  private final Optional<List<Integer>> projection;
  private final List<Filter> conjuncts;
  private final OptionalLong limit;
  private final Optional<Search> search;
  private final Optional<SnapshotRange> range;
  private final boolean useIndexes;
  private final OptionalLong targetSplitBytes;
  private final OptionalInt minSplits;

  private ScanRequest(Builder builder) {
    projection = builder.projection.map(List::copyOf);
    conjuncts = List.copyOf(builder.conjuncts);
    limit = builder.limit;
    search = builder.search;
    range = builder.range;
    useIndexes = builder.useIndexes;
    targetSplitBytes = builder.targetSplitBytes;
    minSplits = builder.minSplits;
  }

  /** A request for every column and row, until told otherwise. */
  public static Builder builder() {
    return new Builder();
  }

  /** Field ids in output order; empty means every column. */
  public Optional<List<Integer>> projection() {
    return projection;
  }

  /** Predicates that every row satisfies. */
  public List<Filter> conjuncts() {
    return conjuncts;
  }

  /** No split gives more rows than this. */
  public OptionalLong limit() {
    return limit;
  }

  /** The search, if it is one. */
  public Optional<Search> search() {
    return search;
  }

  /** The commits whose appended rows are asked for, instead of the rows of the snapshot. */
  public Optional<SnapshotRange> range() {
    return range;
  }

  /** Whether indexes may be used; answers are the same. */
  public boolean useIndexes() {
    return useIndexes;
  }

  /** About how large a split should be. */
  public OptionalLong targetSplitBytes() {
    return targetSplitBytes;
  }

  /** At least so many splits, where the files allow it. */
  public OptionalInt minSplits() {
    return minSplits;
  }

  /** Builds a request. */
  public static final class Builder {
    private Optional<List<Integer>> projection = Optional.empty();
    private final List<Filter> conjuncts = new ArrayList<>();
    private OptionalLong limit = OptionalLong.empty();
    private Optional<Search> search = Optional.empty();
    private Optional<SnapshotRange> range = Optional.empty();
    private boolean useIndexes = true;
    private OptionalLong targetSplitBytes = OptionalLong.empty();
    private OptionalInt minSplits = OptionalInt.empty();

    private Builder() {}

    /** Field ids in output order, reserved ids included; may be empty for a count. */
    public Builder project(List<Integer> columns) {
      projection = Optional.of(columns);
      return this;
    }

    /** Adds a predicate that every row must satisfy. */
    public Builder filter(Filter conjunct) {
      conjuncts.add(conjunct);
      return this;
    }

    /** No split gives more rows than this. */
    public Builder limit(long rows) {
      limit = OptionalLong.of(rows);
      return this;
    }

    /** Makes it a top-k search; the conjuncts select before it. */
    public Builder search(Search what) {
      search = Optional.of(what);
      return this;
    }

    /** Asks for the rows that commits appended. */
    public Builder range(SnapshotRange commits) {
      range = Optional.of(commits);
      return this;
    }

    /** Whether indexes may be used; true unless told otherwise. */
    public Builder useIndexes(boolean use) {
      useIndexes = use;
      return this;
    }

    /** About how large a split should be. */
    public Builder targetSplitBytes(long bytes) {
      targetSplitBytes = OptionalLong.of(bytes);
      return this;
    }

    /** At least so many splits, where the files allow it. */
    public Builder minSplits(int splits) {
      minSplits = OptionalInt.of(splits);
      return this;
    }

    /** The request. */
    public ScanRequest build() {
      return new ScanRequest(this);
    }
  }
}
