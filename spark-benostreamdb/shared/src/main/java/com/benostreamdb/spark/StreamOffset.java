package com.benostreamdb.spark;

import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.sql.connector.read.streaming.Offset;

/** How far a stream has read: up to a commit, and of that commit's files all or the first few. */
final class StreamOffset extends Offset {
  /** Before the first commit of the stream. */
  static final StreamOffset START = new StreamOffset(-1, -1, 0);

  private static final int ALL = -1;
  private static final Pattern JSON =
      Pattern.compile(
          "\\{\"version\":1,\"first_snapshot_id\":(-?\\d{1,19}),\"snapshot_id\":(-?\\d{1,19}),"
              + "\"position\":(-?\\d{1,9})\\}");

  private final long firstSnapshotId;
  private final long snapshotId;
  private final int position;

  private StreamOffset(long firstSnapshotId, long snapshotId, int position) {
    this.firstSnapshotId = firstSnapshotId;
    this.snapshotId = snapshotId;
    this.position = position;
  }

  /** Behind the whole commit. */
  static StreamOffset behind(long firstSnapshotId, long snapshotId) {
    return new StreamOffset(firstSnapshotId, snapshotId, ALL);
  }

  /** Behind the first {@code files} files of the commit. */
  static StreamOffset within(long firstSnapshotId, long snapshotId, int files) {
    return new StreamOffset(firstSnapshotId, snapshotId, files);
  }

  static StreamOffset parse(String json) {
    Matcher matcher = JSON.matcher(json);
    if (!matcher.matches()) {
      throw Failures.invalidInput("the checkpoint holds no offset of benostream: " + json);
    }
    return new StreamOffset(
        TableVersion.number("first_snapshot_id", matcher.group(1)),
        TableVersion.number("snapshot_id", matcher.group(2)),
        Integer.parseInt(matcher.group(3)));
  }

  @Override
  public String json() {
    return String.format(
        "{\"version\":1,\"first_snapshot_id\":%d,\"snapshot_id\":%d,\"position\":%d}",
        firstSnapshotId, snapshotId, position);
  }

  boolean isStart() {
    return snapshotId == START.snapshotId;
  }

  /** The commit that the stream began with: what a batch from the start reads from. */
  long firstSnapshotId() {
    return firstSnapshotId;
  }

  long snapshotId() {
    return snapshotId;
  }

  /** Whether files of the commit are left to read. */
  boolean isWithin() {
    return !isStart() && position != ALL;
  }

  /** The number of the commit's files that were read, if not all were. */
  int position() {
    return position;
  }
}
