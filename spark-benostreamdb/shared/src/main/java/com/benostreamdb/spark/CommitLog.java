package com.benostreamdb.spark;

import com.benostreamdb.ScanPlan;
import com.benostreamdb.ScanRequest;
import com.benostreamdb.SplitReader;
import com.benostreamdb.Table;
import com.benostreamdb.arrow.ArrowBatch;
import com.benostreamdb.arrow.ArrowColumn;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;

/** The commits that led to a snapshot, oldest first, as far as the table still has them. */
final class CommitLog {
  /**
   * A commit.
   *
   * @param id its snapshot
   * @param parent the snapshot before it
   * @param timestampMillis when
   * @param operation what it says it did; empty if it says nothing
   */
  record Commit(long id, OptionalLong parent, long timestampMillis, String operation) {}

  private static final List<String> COLUMNS =
      List.of("snapshot_id", "parent_id", "committed_at", "operation");

  private final String table;
  private final List<Commit> commits;

  private CommitLog(String table, List<Commit> commits) {
    this.table = table;
    this.commits = commits;
  }

  /** The ancestors of {@code head} in the metadata table {@code snapshots}, and itself. */
  static CommitLog of(Table newest, long head) {
    Map<Long, Commit> known = read(newest);
    Deque<Commit> line = new ArrayDeque<>();
    OptionalLong next = OptionalLong.of(head);
    while (next.isPresent() && line.size() <= known.size()) {
      Commit commit = known.get(next.getAsLong());
      if (commit == null) {
        break;
      }
      line.addFirst(commit);
      next = commit.parent();
    }
    return new CommitLog(newest.describe().name().toString(), new ArrayList<>(line));
  }

  private static Map<Long, Commit> read(Table table) {
    try (Table snapshots =
        table.session().openMetadataTable(table.describe().name(), "snapshots")) {
      List<Integer> ids =
          COLUMNS.stream().map(name -> ColumnNames.id(snapshots.describe(), name)).toList();
      ScanPlan plan = snapshots.planScan(ScanRequest.builder().project(ids).build());
      Map<Long, Commit> commits = new HashMap<>();
      for (ScanPlan.Split split : plan.splits()) {
        try (SplitReader reader = SplitReader.open(table.session(), split.bytes())) {
          for (ArrowBatch batch = reader.next(); batch != null; batch = reader.next()) {
            for (int row = 0; row < batch.rowCount(); row++) {
              Commit commit = commit(batch, row);
              commits.put(commit.id(), commit);
            }
          }
        }
      }
      return commits;
    }
  }

  private static Commit commit(ArrowBatch batch, int row) {
    ArrowColumn parent = batch.column(1);
    ArrowColumn operation = batch.column(3);
    return new Commit(
        batch.column(0).getLong(row),
        parent.isNull(row) ? OptionalLong.empty() : OptionalLong.of(parent.getLong(row)),
        Math.floorDiv(batch.column(2).getLong(row), 1_000L),
        operation.isNull(row) ? "" : new String(operation.getBytes(row), StandardCharsets.UTF_8));
  }

  /** The commit of a snapshot. Errors: one that is not in the line. */
  Commit get(long id) {
    int index = index(id);
    if (index < 0) {
      throw Failures.notFound(
          "snapshot "
              + id
              + ", up to which the stream has read, is no ancestor of the newest snapshot of "
              + table
              + " any more: it has expired, or the table was rolled back; start a new stream with"
              + " a new checkpoint");
    }
    return commits.get(index);
  }

  /** What follows a snapshot. Errors: one that is not in the line and not right before it. */
  List<Commit> after(long id) {
    boolean isBefore = !commits.isEmpty() && commits.get(0).parent().equals(OptionalLong.of(id));
    return isBefore ? commits : commits.subList(index(get(id).id()) + 1, commits.size());
  }

  private int index(long id) {
    for (int i = commits.size() - 1; i >= 0; i--) {
      if (commits.get(i).id() == id) {
        return i;
      }
    }
    return -1;
  }

  /**
   * All commits, or those at or after a time. Errors: commits that have expired may belong to them.
   */
  List<Commit> from(OptionalLong timestampMillis) {
    if (commits.isEmpty()) {
      return commits;
    }
    Commit oldest = commits.get(0);
    long from = timestampMillis.orElse(Long.MIN_VALUE);
    if (oldest.parent().isPresent() && oldest.timestampMillis() > from) {
      throw Failures.notFound(
          "the commits of "
              + table
              + " before snapshot "
              + oldest.id()
              + " have expired, and a stream cannot read what they appended; to read what came"
              + " since say "
              + StreamOptions.FROM_TIMESTAMP
              + "="
              + oldest.timestampMillis());
    }
    for (int i = 0; i < commits.size(); i++) {
      if (commits.get(i).timestampMillis() >= from) {
        return commits.subList(i, commits.size());
      }
    }
    return Collections.emptyList();
  }
}
