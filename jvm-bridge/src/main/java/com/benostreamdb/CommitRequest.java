package com.benostreamdb;

import java.util.List;
import java.util.OptionalLong;

/**
 * What to publish.
 *
 * @param operation how
 * @param messages from {@link TableWriter#finish()}, of any process
 * @param baseSnapshotId the snapshot that a row delta or an overwrite was planned on
 */
public record CommitRequest(
    Operation operation, List<byte[]> messages, OptionalLong baseSnapshotId) {
  /** How rows change. */
  public enum Operation {
    /** Adds rows. */
    APPEND,
    /** Replaces every row of the table. */
    OVERWRITE,
    /** Adds and deletes rows by position; needs the base snapshot. */
    ROW_DELTA
  }

  public CommitRequest {
    messages = List.copyOf(messages);
  }

  /** Adds rows. */
  public static CommitRequest append(List<byte[]> messages) {
    return new CommitRequest(Operation.APPEND, messages, OptionalLong.empty());
  }

  /** Replaces every row. */
  public static CommitRequest overwrite(List<byte[]> messages, OptionalLong baseSnapshotId) {
    return new CommitRequest(Operation.OVERWRITE, messages, baseSnapshotId);
  }

  /** Adds and deletes rows by position. */
  public static CommitRequest rowDelta(List<byte[]> messages, OptionalLong baseSnapshotId) {
    return new CommitRequest(Operation.ROW_DELTA, messages, baseSnapshotId);
  }
}
