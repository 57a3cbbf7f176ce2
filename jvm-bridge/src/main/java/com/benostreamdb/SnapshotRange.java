package com.benostreamdb;

import java.util.OptionalInt;
import java.util.OptionalLong;

/**
 * The commits of a scan between two snapshots: the rows that append commits added.
 *
 * @param startExclusive the snapshot before the first commit; absent from the first on
 * @param endInclusive the last commit; absent up to the table's snapshot
 * @param skipFirst how many files of the first commit are left out
 * @param takeLast how many files of the last commit are taken; absent takes all
 */
public record SnapshotRange(
    OptionalLong startExclusive, OptionalLong endInclusive, int skipFirst, OptionalInt takeLast) {
  /** Whole commits. */
  public static SnapshotRange between(OptionalLong startExclusive, OptionalLong endInclusive) {
    return new SnapshotRange(startExclusive, endInclusive, 0, OptionalInt.empty());
  }
}
