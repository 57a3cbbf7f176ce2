package com.benostreamdb;

import com.benostreamdb.proto.Wire;
import java.util.stream.Collectors;

/** Scans and searches as messages. */
final class ScanCodec {
  private ScanCodec() {}

  static Wire.ScanRequest request(ScanRequest request) {
    Wire.ScanRequest.Builder message =
        Wire.ScanRequest.newBuilder()
            .setAbiVersion(NativeLibrary.ABI_VERSION)
            .setSkipIndexes(!request.useIndexes());
    request
        .projection()
        .ifPresent(ids -> message.setProjection(Wire.Projection.newBuilder().addAllColumns(ids)));
    request.conjuncts().forEach(filter -> message.addConjuncts(FilterCodec.filter(filter)));
    request.limit().ifPresent(message::setLimit);
    request.targetSplitBytes().ifPresent(message::setTargetSplitBytes);
    request.minSplits().ifPresent(message::setMinSplits);
    request.search().ifPresent(search -> search(search, message));
    request.range().ifPresent(range -> message.setRange(range(range)));
    return message.build();
  }

  private static Wire.SnapshotRange range(SnapshotRange range) {
    Wire.SnapshotRange.Builder message = Wire.SnapshotRange.newBuilder();
    range.startExclusive().ifPresent(message::setStartExclusive);
    range.endInclusive().ifPresent(message::setEndInclusive);
    range.takeLast().ifPresent(message::setTakeLast);
    return message.setSkipFirst(range.skipFirst()).build();
  }

  private static void search(Search search, Wire.ScanRequest.Builder message) {
    if (search instanceof Search.Vector vector) {
      message.setVector(vector(vector));
    } else if (search instanceof Search.Text text) {
      message.setText(text(text));
    }
  }

  private static Wire.VectorSearch vector(Search.Vector vector) {
    Wire.VectorSearch.Builder message =
        Wire.VectorSearch.newBuilder()
            .setColumn(vector.column())
            .setK(vector.k())
            .setMode(Wire.VectorSearch.Mode.valueOf(vector.mode().name()))
            .setNulls(Wire.VectorSearch.Nulls.valueOf(vector.nulls().name()));
    for (float component : vector.query()) {
      message.addQuery(component);
    }
    vector
        .metric()
        .ifPresent(metric -> message.setMetric(Wire.VectorSearch.Metric.valueOf(metric.name())));
    vector.efSearch().ifPresent(message::setEfSearch);
    return message.build();
  }

  private static Wire.TextSearch text(Search.Text text) {
    Wire.TextSearch.Builder message =
        Wire.TextSearch.newBuilder()
            .setColumn(text.column())
            .setQuery(text.query())
            .setK(text.k())
            .setAllTerms(text.allTerms());
    text.analyzer().ifPresent(message::setAnalyzer);
    return message.build();
  }

  static ScanPlan plan(Wire.ScanPlan plan) {
    return new ScanPlan(
        Session.optional(plan.hasSnapshotId(), plan.getSnapshotId()),
        plan.getSplitsList().stream().map(ScanCodec::split).collect(Collectors.toList()),
        plan.getExactList(),
        plan.getExplain(),
        plan.getAppendedList().stream()
            .map(file -> new ScanPlan.Appended(file.getSnapshotId(), file.getRowCount()))
            .collect(Collectors.toList()));
  }

  private static ScanPlan.Split split(Wire.PlannedSplit split) {
    return new ScanPlan.Split(
        split.getSplit().toByteArray(),
        Session.optional(split.hasRowCount(), split.getRowCount()),
        Session.optional(split.hasSizeBytes(), split.getSizeBytes()));
  }
}
