package com.benostreamdb.spark;

import com.benostreamdb.Search;
import java.util.Locale;

/** How users name the effort of a vector search. */
final class SearchModes {
  /** The reader option. */
  static final String OPTION = "benostream.search.mode";

  private SearchModes() {}

  /** The mode that {@code recall => '..'} names. */
  static Search.Mode ofRecall(String text) {
    return switch (text.toLowerCase(Locale.ROOT)) {
      case "fast" -> Search.Mode.FAST;
      case "balanced" -> Search.Mode.BALANCED;
      case "exact" -> Search.Mode.EXACT;
      default ->
          throw Failures.invalidInput("recall is one of fast, balanced, exact, not '" + text + "'");
    };
  }

  /** The mode that the reader option names. */
  static Search.Mode ofOption(String text) {
    return switch (text.toLowerCase(Locale.ROOT)) {
      case "auto" -> Search.Mode.BALANCED;
      case "exact" -> Search.Mode.EXACT;
      default -> throw Failures.invalidInput(OPTION + " is one of auto, exact, not '" + text + "'");
    };
  }
}
