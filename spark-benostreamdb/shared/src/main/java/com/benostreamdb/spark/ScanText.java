package com.benostreamdb.spark;

import com.benostreamdb.ScanPlan;
import com.benostreamdb.Search;
import com.benostreamdb.SnapshotRange;
import java.util.Arrays;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.stream.Collectors;
import org.apache.spark.sql.connector.expressions.filter.Predicate;

/** What plans say about a scan: one line, without credentials and without vectors. */
final class ScanText {
  private ScanText() {}

  static String describe(
      BenoStreamTable table,
      Predicate[] predicates,
      OptionalInt limit,
      Optional<Search> search,
      Optional<SnapshotRange> range) {
    StringBuilder text = new StringBuilder("benostream ").append(table.name());
    if (predicates.length > 0) {
      text.append(", filters=[")
          .append(Arrays.stream(predicates).map(Object::toString).collect(Collectors.joining(", ")))
          .append(']');
    }
    range.ifPresent(
        commits -> {
          text.append(", appended after ").append(commits.startExclusive().orElse(0));
          commits.endInclusive().ifPresent(id -> text.append(" up to ").append(id));
        });
    limit.ifPresent(rows -> text.append(", limit=").append(rows));
    search.ifPresent(what -> text.append(", search=").append(describe(table, what)));
    return text.toString();
  }

  /** Adds the engine's report. */
  static String describe(String request, ScanPlan plan) {
    String snapshot =
        plan.snapshotId().isPresent() ? Long.toString(plan.snapshotId().getAsLong()) : "none";
    String explain =
        plan.explain().lines().filter(line -> !line.isBlank()).collect(Collectors.joining(", "));
    return request
        + ", snapshot="
        + snapshot
        + ", splits="
        + plan.splits().size()
        + (explain.isEmpty() ? "" : " (" + explain + ")");
  }

  private static String describe(BenoStreamTable table, Search search) {
    if (search instanceof Search.Vector vector) {
      return "vector("
          + columnName(table, vector.column())
          + ", k="
          + vector.k()
          + vector.metric().map(metric -> ", metric=" + metric).orElse("")
          + ", mode="
          + vector.mode()
          + ")";
    }
    Search.Text text = (Search.Text) search;
    return "bm25(" + columnName(table, text.column()) + ", k=" + text.k() + ")";
  }

  private static String columnName(BenoStreamTable table, int id) {
    return table.description().columns().stream()
        .filter(column -> column.id() == id)
        .map(column -> column.name())
        .findFirst()
        .orElse("#" + id);
  }

  /** Records compare arrays by identity, queries are equal by content. */
  static boolean sameSearch(Optional<Search> a, Optional<Search> b) {
    if (a.isPresent() && b.isPresent() && a.get() instanceof Search.Vector left) {
      return b.get() instanceof Search.Vector right
          && Arrays.equals(left.query(), right.query())
          && left.column() == right.column()
          && left.k() == right.k()
          && left.metric().equals(right.metric())
          && left.efSearch().equals(right.efSearch())
          && left.mode() == right.mode()
          && left.nulls() == right.nulls();
    }
    return a.equals(b);
  }
}
