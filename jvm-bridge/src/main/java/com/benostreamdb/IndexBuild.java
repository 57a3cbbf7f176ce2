package com.benostreamdb;

import java.util.List;
import java.util.Map;

/**
 * An index to create.
 *
 * @param name empty for the default name
 * @param kind bitmap, bm25, hnsw, ..
 * @param columns column names
 * @param options parameters of the kind
 * @param include columns kept beside the index
 * @param ifNotExists an index of that name is no error
 */
public record IndexBuild(
    String name,
    String kind,
    List<String> columns,
    Map<String, String> options,
    List<String> include,
    boolean ifNotExists) {
  public IndexBuild {
    columns = List.copyOf(columns);
    options = Map.copyOf(options);
    include = List.copyOf(include);
  }
}
