package com.benostreamdb;

import java.util.List;

/**
 * An index build, cut into pieces for tasks. Each piece is built by {@link Session#buildIndexPiece}
 * anywhere; {@link Table#commitIndex} publishes all of them at once.
 *
 * @param name of the index
 * @param plan opaque, for the commit
 * @param pieces what tasks build; empty if the index is up to date
 */
public record IndexBuildPlan(String name, byte[] plan, List<Piece> pieces) {
  public IndexBuildPlan {
    pieces = List.copyOf(pieces);
  }

  /**
   * A piece of a build.
   *
   * @param bytes opaque, serializable
   * @param rowCount rows to index
   * @param sizeBytes bytes to read
   */
  public record Piece(byte[] bytes, long rowCount, long sizeBytes) {}
}
