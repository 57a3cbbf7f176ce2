package com.benostreamdb;

import java.util.OptionalLong;

/**
 * What a commit published.
 *
 * @param snapshotId the new snapshot; absent if nothing changed
 * @param rowsAdded rows added
 * @param rowsDeleted rows deleted
 */
public record CommitResult(OptionalLong snapshotId, long rowsAdded, long rowsDeleted) {}
