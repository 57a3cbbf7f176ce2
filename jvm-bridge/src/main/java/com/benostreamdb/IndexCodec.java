package com.benostreamdb;

import com.benostreamdb.proto.Wire;
import com.google.protobuf.ByteString;
import java.util.List;
import java.util.OptionalInt;
import java.util.stream.Collectors;

/** Index maintenance as messages. */
final class IndexCodec {
  private IndexCodec() {}

  private static Wire.MaintainRequest.Builder request() {
    return Wire.MaintainRequest.newBuilder().setAbiVersion(NativeLibrary.ABI_VERSION);
  }

  static Wire.MaintainRequest build(IndexBuild build, OptionalInt minPieces) {
    Wire.PlanIndexBuild.Builder plan =
        Wire.PlanIndexBuild.newBuilder()
            .setName(build.name())
            .setKind(build.kind())
            .addAllColumns(build.columns())
            .putAllOptions(build.options())
            .addAllInclude(build.include())
            .setIfNotExists(build.ifNotExists());
    minPieces.ifPresent(plan::setMinPieces);
    return request().setPlanIndexBuild(plan).build();
  }

  static Wire.MaintainRequest refresh(String index, OptionalInt minPieces) {
    Wire.PlanIndexRefresh.Builder plan = Wire.PlanIndexRefresh.newBuilder().setName(index);
    minPieces.ifPresent(plan::setMinPieces);
    return request().setPlanIndexRefresh(plan).build();
  }

  static Wire.MaintainRequest commit(IndexBuildPlan plan, List<byte[]> messages) {
    Wire.CommitIndex.Builder commit =
        Wire.CommitIndex.newBuilder().setPlan(ByteString.copyFrom(plan.plan()));
    messages.forEach(message -> commit.addMessages(ByteString.copyFrom(message)));
    return request().setCommitIndex(commit).build();
  }

  static Wire.MaintainRequest drop(String index, boolean ifExists) {
    return request()
        .setDropIndex(Wire.DropIndex.newBuilder().setName(index).setIfExists(ifExists))
        .build();
  }

  static Wire.MaintainRequest list() {
    return request().setListIndexes(Wire.ListIndexes.getDefaultInstance()).build();
  }

  static IndexBuildPlan plan(Wire.IndexBuildPlan plan) {
    return new IndexBuildPlan(
        plan.getName(),
        plan.getPlan().toByteArray(),
        plan.getPiecesList().stream().map(IndexCodec::piece).collect(Collectors.toList()));
  }

  private static IndexBuildPlan.Piece piece(Wire.IndexPiece piece) {
    return new IndexBuildPlan.Piece(
        piece.getPiece().toByteArray(), piece.getRowCount(), piece.getSizeBytes());
  }

  static IndexDescription description(Wire.IndexDescription index) {
    return new IndexDescription(
        index.getName(),
        index.getKind(),
        index.getColumnsList(),
        index.getOptionsMap(),
        index.getSegmentCount(),
        index.getFilesCovered(),
        index.getFilesTotal(),
        index.getRowsCovered(),
        index.getSizeBytes());
  }
}
