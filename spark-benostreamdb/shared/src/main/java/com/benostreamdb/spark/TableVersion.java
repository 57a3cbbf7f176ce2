package com.benostreamdb.spark;

import com.benostreamdb.AsOf;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** The states of a table as Spark users name them: in SQL, in reader options, in identifiers. */
final class TableVersion {
  private static final Pattern NUMBER = Pattern.compile("-?\\d{1,19}");
  private static final Pattern SELECTOR =
      Pattern.compile("(branch|tag|snapshot_id|at_timestamp)_(.+)");

  private static final Map<String, Function<String, AsOf>> OPTIONS =
      Map.of(
          "snapshot-id",
          text -> new AsOf.Snapshot(number("snapshot-id", text)),
          "as-of-timestamp",
          text -> new AsOf.Timestamp(number("as-of-timestamp", text)),
          "branch",
          AsOf.Branch::new,
          "tag",
          AsOf.Tag::new);

  private TableVersion() {}

  /** What {@code VERSION AS OF} says: a snapshot's id, else a branch or a tag. */
  static AsOf ofVersion(String version) {
    return NUMBER.matcher(version).matches()
        ? new AsOf.Snapshot(number("VERSION AS OF", version))
        : new AsOf.Reference(version);
  }

  /** What {@code TIMESTAMP AS OF} says. */
  static AsOf ofMicros(long micros) {
    return new AsOf.Timestamp(Math.floorDiv(micros, 1_000L));
  }

  /** What a reader's options say; more than one of them is an error. */
  static Optional<AsOf> ofOptions(Map<String, String> options) {
    CaseInsensitiveStringMap given = new CaseInsensitiveStringMap(options);
    List<AsOf> states = new ArrayList<>();
    OPTIONS.forEach(
        (option, state) -> {
          String text = given.get(option);
          if (text != null) {
            states.add(state.apply(text));
          }
        });
    if (states.size() > 1) {
      throw Failures.invalidInput(
          "a reader takes one of the options snapshot-id, as-of-timestamp, branch and tag, not "
              + states.size());
    }
    return states.stream().findFirst();
  }

  /** What the last part of an identifier says, as in {@code table.branch_audit}. */
  static Optional<AsOf> ofSelector(String part) {
    Matcher matcher = SELECTOR.matcher(part);
    if (!matcher.matches()) {
      return Optional.empty();
    }
    String value = matcher.group(2);
    return switch (matcher.group(1)) {
      case "branch" -> Optional.of(new AsOf.Branch(value));
      case "tag" -> Optional.of(new AsOf.Tag(value));
      default -> {
        if (!NUMBER.matcher(value).matches()) {
          yield Optional.empty();
        }
        long number = number(part, value);
        yield Optional.of(
            matcher.group(1).equals("snapshot_id")
                ? new AsOf.Snapshot(number)
                : new AsOf.Timestamp(number));
      }
    };
  }

  static long number(String what, String text) {
    try {
      return Long.parseLong(text);
    } catch (NumberFormatException e) {
      throw Failures.invalidInput(what + " takes a number of 64 bits, not '" + text + "'");
    }
  }
}
