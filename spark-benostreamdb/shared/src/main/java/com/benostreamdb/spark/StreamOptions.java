package com.benostreamdb.spark;

import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * How a stream reads, by Iceberg's options.
 *
 * @param fromTimestamp the stream begins with the first commit at or after this time, in
 *     milliseconds; absent: with the first commit of the table
 * @param skipDeletes whether commits that only deleted rows are passed over
 * @param skipOverwrites whether commits that changed rows are passed over
 * @param maxFiles the most files of a batch
 * @param maxRows a batch ends before the file that brings it above so many rows, if it has one
 */
record StreamOptions(
    OptionalLong fromTimestamp,
    boolean skipDeletes,
    boolean skipOverwrites,
    OptionalInt maxFiles,
    OptionalLong maxRows) {
  static final String FROM_TIMESTAMP = "stream-from-timestamp";
  static final String SKIP_DELETES = "streaming-skip-delete-snapshots";
  static final String SKIP_OVERWRITES = "streaming-skip-overwrite-snapshots";
  private static final String MAX_FILES = "streaming-max-files-per-micro-batch";
  private static final String MAX_ROWS = "streaming-max-rows-per-micro-batch";

  static StreamOptions of(CaseInsensitiveStringMap options) {
    OptionalLong files = positive(options, MAX_FILES);
    return new StreamOptions(
        number(options, FROM_TIMESTAMP),
        flag(options, SKIP_DELETES),
        flag(options, SKIP_OVERWRITES),
        files.isPresent()
            ? OptionalInt.of((int) Math.min(files.getAsLong(), Integer.MAX_VALUE))
            : OptionalInt.empty(),
        positive(options, MAX_ROWS));
  }

  /** Whether a batch may end within what one commit appended. */
  boolean limited() {
    return maxFiles.isPresent() || maxRows.isPresent();
  }

  private static OptionalLong number(CaseInsensitiveStringMap options, String option) {
    return Optional.ofNullable(options.get(option)).stream()
        .mapToLong(text -> TableVersion.number("the option " + option, text))
        .findFirst();
  }

  private static OptionalLong positive(CaseInsensitiveStringMap options, String option) {
    OptionalLong number = number(options, option);
    if (number.isPresent() && number.getAsLong() < 1) {
      throw Failures.invalidInput("the option " + option + " takes a number of at least 1");
    }
    return number;
  }

  private static boolean flag(CaseInsensitiveStringMap options, String option) {
    String text = options.getOrDefault(option, "false");
    if (!text.equalsIgnoreCase("true") && !text.equalsIgnoreCase("false")) {
      throw Failures.invalidInput("the option " + option + " is true or false, not '" + text + "'");
    }
    return Boolean.parseBoolean(text);
  }
}
