package com.benostreamdb.spark;

import com.benostreamdb.ScanPlan;
import com.benostreamdb.Search;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Supplier;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Statistics;
import org.apache.spark.sql.connector.read.SupportsReportStatistics;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * A scan of one snapshot: its splits are fixed, whoever commits meanwhile. It is planned on the
 * driver when Spark first asks for what the plan says; a stream never does.
 */
final class BenoStreamScan implements SupportsReportStatistics, Batch {
  private final BenoStreamTable table;
  private final Supplier<ScanPlan> planner;
  private final StructType readSchema;
  private final String request;
  private final Optional<Search> search;
  private final boolean isTableFunction;
  private final Supplier<MicroBatchStream> stream;
  private ScanPlan plan;

  BenoStreamScan(
      BenoStreamTable table,
      Supplier<ScanPlan> planner,
      StructType readSchema,
      String request,
      Optional<Search> search,
      boolean isTableFunction,
      Supplier<MicroBatchStream> stream) {
    this.table = table;
    this.planner = planner;
    this.stream = stream;
    this.readSchema = readSchema;
    this.request = request;
    this.search = search;
    this.isTableFunction = isTableFunction;
  }

  private synchronized ScanPlan plan() {
    if (plan == null) {
      plan = Failures.analyzed(planner::get);
    }
    return plan;
  }

  /** Whether the search is a table function's, whose filter must not be left to Spark. */
  boolean isTableFunction() {
    return isTableFunction;
  }

  @Override
  public StructType readSchema() {
    return readSchema;
  }

  @Override
  public String description() {
    return ScanText.describe(request, plan());
  }

  @Override
  public Batch toBatch() {
    return this;
  }

  @Override
  public MicroBatchStream toMicroBatchStream(String checkpointLocation) {
    return stream.get();
  }

  @Override
  public InputPartition[] planInputPartitions() {
    return partitions(plan());
  }

  static InputPartition[] partitions(ScanPlan plan) {
    return plan.splits().stream()
        .map(split -> new SplitPartition(split.bytes()))
        .toArray(InputPartition[]::new);
  }

  @Override
  public PartitionReaderFactory createReaderFactory() {
    return new SplitReaderFactory(table.options(), readSchema);
  }

  @Override
  public Statistics estimateStatistics() {
    OptionalLong rows = rowCount();
    OptionalLong bytes =
        rows.isPresent() ? OptionalLong.of(saturatedMultiply(rows.getAsLong(), rowSize())) : rows;
    return new Estimate(bytes, rows);
  }

  private OptionalLong rowCount() {
    if (search.isPresent()) {
      long k = search.get() instanceof Search.Vector vector ? vector.k() : textK(search.get());
      return OptionalLong.of(saturatedMultiply(k, Math.max(1, plan().splits().size())));
    }
    long rows = 0;
    for (ScanPlan.Split split : plan().splits()) {
      if (split.rowCount().isEmpty()) {
        return OptionalLong.empty();
      }
      rows += split.rowCount().getAsLong();
    }
    return OptionalLong.of(rows);
  }

  private static long textK(Search search) {
    return ((Search.Text) search).k();
  }

  /** Bytes of a row in memory; vectors by their declared dimension. */
  private long rowSize() {
    Map<String, Integer> dimensions = table.description().vectorDimensions();
    long size = 8;
    for (StructField field : readSchema.fields()) {
      long width = field.dataType().defaultSize();
      if (field.dataType() instanceof ArrayType array) {
        width = (long) array.elementType().defaultSize() * dimensions.getOrDefault(field.name(), 1);
      }
      size += width;
    }
    return size;
  }

  private static long saturatedMultiply(long a, long b) {
    long high = Math.multiplyHigh(a, b);
    return high != 0 || a * b < 0 ? Long.MAX_VALUE : a * b;
  }

  /** Equal scans read the same rows, so that Spark reads them once. */
  @Override
  public boolean equals(Object other) {
    return other instanceof BenoStreamScan that
        && table.equals(that.table)
        && plan().snapshotId().equals(that.plan().snapshotId())
        && readSchema.equals(that.readSchema)
        && request.equals(that.request)
        && ScanText.sameSearch(search, that.search);
  }

  @Override
  public int hashCode() {
    return Objects.hash(table, plan().snapshotId(), readSchema, request);
  }

  /** A split as Spark ships it. */
  record SplitPartition(byte[] split) implements InputPartition {}

  private record Estimate(OptionalLong sizeInBytes, OptionalLong numRows) implements Statistics {}
}
