package com.benostreamdb;

import java.util.OptionalLong;

/**
 * The commits of a scan between two snapshots: the rows that append commits added.
 *
 * @param startExclusive the snapshot before the first commit; absent from the first on
 * @param endInclusive the last commit; absent up to the table's snapshot
 */
public record SnapshotRange(OptionalLong startExclusive, OptionalLong endInclusive) {}
