package com.benostreamdb;

import java.util.List;
import java.util.OptionalLong;

/**
 * A planned scan of one snapshot.
 *
 * @param snapshotId the snapshot; absent for a table without one
 * @param splits what tasks open
 * @param exact for each conjunct of the request, whether rows returned satisfy it
 * @param explain index, segments, rows proposed, files scanned: one {@code key: value} a line
 * @param appended the files that the commits of a range appended, oldest commit first
 */
public record ScanPlan(
    OptionalLong snapshotId,
    List<Split> splits,
    List<Boolean> exact,
    String explain,
    List<Appended> appended) {
  public ScanPlan {
    splits = List.copyOf(splits);
    exact = List.copyOf(exact);
    appended = List.copyOf(appended);
  }

  /**
   * A data file that a commit appended.
   *
   * @param snapshotId the commit
   * @param rowCount how many rows it holds
   */
  public record Appended(long snapshotId, long rowCount) {}

  /**
   * A piece of a scan.
   *
   * @param bytes opaque, serializable, for {@link SplitReader#open}
   * @param rowCount rows before filters and deletes, where known
   * @param sizeBytes bytes to read, where known
   */
  public record Split(byte[] bytes, OptionalLong rowCount, OptionalLong sizeBytes) {}
}
