package com.benostreamdb.spark;

import com.benostreamdb.AsOf;
import com.benostreamdb.Search;
import com.benostreamdb.SnapshotRange;
import java.util.Optional;
import java.util.OptionalLong;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * The reader's options that concern a scan.
 *
 * @param searchMode how much a vector search may approximate
 * @param state the state of the table that is read, if not the newest
 * @param range the commits whose appended rows are read, instead of the rows of a snapshot
 * @param stream how a stream reads
 */
record ReadOptions(
    Search.Mode searchMode,
    Optional<AsOf> state,
    Optional<SnapshotRange> range,
    StreamOptions stream) {
  private static final String START = "start-snapshot-id";
  private static final String END = "end-snapshot-id";

  static ReadOptions of(CaseInsensitiveStringMap options) {
    Optional<AsOf> state = TableVersion.ofOptions(options);
    return new ReadOptions(
        SearchModes.ofOption(options.getOrDefault(SearchModes.OPTION, "auto")),
        state,
        range(options, state),
        StreamOptions.of(options));
  }

  private static Optional<SnapshotRange> range(
      CaseInsensitiveStringMap options, Optional<AsOf> state) {
    OptionalLong start = snapshot(options, START);
    OptionalLong end = snapshot(options, END);
    if (start.isEmpty() && end.isEmpty()) {
      return Optional.empty();
    }
    if (start.isEmpty()) {
      throw Failures.invalidInput("the option " + END + " needs " + START + " too");
    }
    if (state.isPresent() && !(state.get() instanceof AsOf.Branch)) {
      throw Failures.invalidInput(
          "the option " + START + " goes with none of snapshot-id, as-of-timestamp and tag");
    }
    return Optional.of(SnapshotRange.between(start, end));
  }

  private static OptionalLong snapshot(CaseInsensitiveStringMap options, String option) {
    String text = options.get(option);
    return text == null ? OptionalLong.empty() : OptionalLong.of(TableVersion.number(option, text));
  }
}
