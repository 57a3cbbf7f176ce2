package com.benostreamdb;

import com.benostreamdb.proto.Wire;
import com.google.protobuf.ByteString;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.stream.Collectors;

/** One snapshot of one table. Thread safe; does not cross processes. */
public final class Table implements AutoCloseable {
  private final Session session;
  private final NativeHandle handle;
  private final TableDescription description;
  private final String metadataTable;

  Table(Session session, long handle, String metadataTable) {
    this.session = session;
    this.metadataTable = metadataTable;
    this.handle = new NativeHandle(this, handle, "table");
    this.description =
        TableCodec.description(
            Answers.parse(Native.describe(handle), Wire.TableDescription.parser()));
  }

  /** What the table is at this snapshot. */
  public TableDescription describe() {
    return description;
  }

  /** The session the table was opened in. */
  public Session session() {
    return session;
  }

  /** Which metadata table this is; empty for a table of rows. A metadata table is only read. */
  public Optional<String> metadataTable() {
    return metadataTable.isEmpty() ? Optional.empty() : Optional.of(metadataTable);
  }

  /** The same table at its newest snapshot. */
  public Table refresh() {
    return metadataTable.isEmpty()
        ? session.openTable(description.name())
        : session.openMetadataTable(description.name(), metadataTable);
  }

  /** Plans a scan or a search of this snapshot. */
  public ScanPlan planScan(ScanRequest request) {
    byte[] answer = Native.planScan(handle.get(), ScanCodec.request(request).toByteArray());
    return ScanCodec.plan(Answers.parse(answer, Wire.ScanPlan.parser()));
  }

  /** What tasks need to write to this table; opaque, serializable. */
  public byte[] writeSpec(String jobId) {
    Wire.WriteSpecRequest request =
        Wire.WriteSpecRequest.newBuilder()
            .setAbiVersion(NativeLibrary.ABI_VERSION)
            .setJobId(jobId)
            .build();
    return Native.writeSpec(handle.get(), request.toByteArray());
  }

  /** Publishes what tasks wrote. */
  public CommitResult commit(CommitRequest request) {
    return commit(TableCodec.commit(request).build());
  }

  /** Sets and removes table properties; a table that moved since it was opened is a conflict. */
  public void changeProperties(Map<String, String> set, Set<String> remove) {
    maintain(TableCodec.properties(set, remove));
  }

  /** Deletes the files of a job that is not committed, as far as they are known. */
  public void abort(List<byte[]> messages) {
    Wire.CommitRequest.Builder request =
        Wire.CommitRequest.newBuilder().setAbiVersion(NativeLibrary.ABI_VERSION).setAbort(true);
    messages.forEach(message -> request.addMessages(ByteString.copyFrom(message)));
    commit(request.build());
  }

  /** Plans the build of a new index in at least {@code minPieces} pieces where files allow it. */
  public IndexBuildPlan planIndexBuild(IndexBuild build, OptionalInt minPieces) {
    return maintain(IndexCodec.build(build, minPieces)).plan();
  }

  /** Plans the build of what an index does not cover yet. */
  public IndexBuildPlan planIndexRefresh(String index, OptionalInt minPieces) {
    return maintain(IndexCodec.refresh(index, minPieces)).plan();
  }

  /** Publishes the pieces of a build at once. */
  public void commitIndex(IndexBuildPlan plan, List<byte[]> messages) {
    maintain(IndexCodec.commit(plan, messages));
  }

  /** Drops an index. */
  public void dropIndex(String index, boolean ifExists) {
    maintain(IndexCodec.drop(index, ifExists));
  }

  /** The indexes and how much of this snapshot they cover. */
  public List<IndexDescription> listIndexes() {
    return maintain(IndexCodec.list()).indexes();
  }

  @Override
  public void close() {
    handle.close();
  }

  private CommitResult commit(Wire.CommitRequest request) {
    byte[] answer = Native.commit(handle.get(), request.toByteArray());
    Wire.CommitResult result = Answers.parse(answer, Wire.CommitResult.parser());
    return new CommitResult(
        Session.optional(result.hasSnapshotId(), result.getSnapshotId()),
        result.getRowsAdded(),
        result.getRowsDeleted());
  }

  private record Maintained(IndexBuildPlan plan, List<IndexDescription> indexes) {}

  private Maintained maintain(Wire.MaintainRequest request) {
    byte[] answer = Native.maintain(handle.get(), request.toByteArray());
    Wire.MaintainResponse response = Answers.parse(answer, Wire.MaintainResponse.parser());
    return new Maintained(
        IndexCodec.plan(response.getPlan()),
        response.getIndexesList().stream()
            .map(IndexCodec::description)
            .collect(Collectors.toUnmodifiableList()));
  }
}
