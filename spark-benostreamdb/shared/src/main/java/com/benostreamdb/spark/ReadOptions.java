package com.benostreamdb.spark;

import com.benostreamdb.Search;
import java.util.List;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * The reader's options that concern a scan.
 *
 * @param searchMode how much a vector search may approximate
 */
record ReadOptions(Search.Mode searchMode) {
  private static final List<String> INCREMENTAL = List.of("start-snapshot-id", "end-snapshot-id");

  static ReadOptions of(CaseInsensitiveStringMap options) {
    for (String option : INCREMENTAL) {
      if (options.containsKey(option)) {
        throw Failures.unsupported("incremental reads (" + option + ") are not there yet");
      }
    }
    return new ReadOptions(SearchModes.ofOption(options.getOrDefault(SearchModes.OPTION, "auto")));
  }
}
