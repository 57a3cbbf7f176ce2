package com.benostreamdb;

/** Which state of a table is read, if not the newest. */
public sealed interface AsOf {
  /** A snapshot, with its own schema. */
  record Snapshot(long id) implements AsOf {}

  /** What was current at a time, in milliseconds since 1970-01-01 UTC. */
  record Timestamp(long millis) implements AsOf {}

  /** A branch, with the table's current schema. */
  record Branch(String name) implements AsOf {}

  /** A tag, with its snapshot's schema. */
  record Tag(String name) implements AsOf {}

  /** A branch or a tag, whichever has the name. */
  record Reference(String name) implements AsOf {}
}
