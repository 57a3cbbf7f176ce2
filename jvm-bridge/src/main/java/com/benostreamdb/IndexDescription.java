package com.benostreamdb;

import java.util.List;
import java.util.Map;

/**
 * An index of a table and how much of the table it covers.
 *
 * @param name unique per table
 * @param kind bitmap, bm25, hnsw, ..
 * @param columns column names
 * @param options parameters of the kind
 * @param segmentCount live segments
 * @param filesCovered data files of this snapshot that a segment covers
 * @param filesTotal data files of this snapshot
 * @param rowsCovered rows of those files
 * @param sizeBytes bytes of the segments
 */
public record IndexDescription(
    String name,
    String kind,
    List<String> columns,
    Map<String, String> options,
    long segmentCount,
    long filesCovered,
    long filesTotal,
    long rowsCovered,
    long sizeBytes) {
  public IndexDescription {
    columns = List.copyOf(columns);
    options = Map.copyOf(options);
  }
}
