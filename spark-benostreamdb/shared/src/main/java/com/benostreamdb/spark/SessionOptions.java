package com.benostreamdb.spark;

import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/** Which options of a catalog or of a reader belong to the engine's session. */
final class SessionOptions {
  private static final List<String> PREFIXES =
      List.of("s3.", "client.", "adls.", "gcs.", "upstream.", "overlay.", "header.");
  private static final Set<String> NAMES =
      Set.of(
          "warehouse",
          "map-prefix",
          "type",
          "uri",
          "credential",
          "token",
          "oauth2-server-uri",
          "scope",
          "prefix",
          "rest-page-size",
          "catalog-name");

  private SessionOptions() {}

  /** The session's options among {@code options}, over those of {@code base}. */
  static Map<String, String> merge(Map<String, String> base, Map<String, String> options) {
    TreeMap<String, String> result = new TreeMap<>(base);
    options.forEach(
        (key, value) -> {
          if (isSessionOption(key.toLowerCase(Locale.ROOT))) {
            result.put(key, value);
          }
        });
    return result;
  }

  private static boolean isSessionOption(String key) {
    return NAMES.contains(key) || PREFIXES.stream().anyMatch(key::startsWith);
  }
}
