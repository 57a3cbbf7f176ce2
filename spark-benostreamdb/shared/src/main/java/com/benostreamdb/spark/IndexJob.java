package com.benostreamdb.spark;

import com.benostreamdb.BenoStreamException;
import com.benostreamdb.IndexBuildPlan;
import com.benostreamdb.IndexDescription;
import com.benostreamdb.Table;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkStageInfo;
import org.apache.spark.api.java.JavaFutureAction;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Builds the pieces of an index as one Spark job, a task for each, and publishes them at once. */
final class IndexJob {
  static final StructType OUTPUT =
      new StructType()
          .add("index_name", DataTypes.StringType, false)
          .add("kind", DataTypes.StringType, false)
          .add("pieces_built", DataTypes.IntegerType, false)
          .add("rows_indexed", DataTypes.LongType, false)
          .add("covered_files", DataTypes.LongType, false)
          .add("total_files", DataTypes.LongType, false);

  private static final Logger LOG = LoggerFactory.getLogger(IndexJob.class);
  private static final long REPORT_SECONDS = 1;

  private final String procedure;
  private final Table table;
  private final TreeMap<String, String> options;

  IndexJob(String procedure, Table table, Map<String, String> options) {
    this.procedure = procedure;
    this.table = table;
    this.options = new TreeMap<>(options);
  }

  /** As many pieces as tasks can run at once, where the table has so many files. */
  static OptionalInt minPieces() {
    return OptionalInt.of(context().defaultParallelism());
  }

  InternalRow run(IndexBuildPlan plan) {
    List<IndexBuildPlan.Piece> pieces = plan.pieces();
    long rows = pieces.stream().mapToLong(IndexBuildPlan.Piece::rowCount).sum();
    List<byte[]> messages = pieces.isEmpty() ? List.of() : build(plan, rows);
    table.commitIndex(plan, messages);
    IndexDescription index = Procedures.index(table, plan.name());
    return Procedures.row(
        index.name(), index.kind(), pieces.size(), rows, index.filesCovered(), index.filesTotal());
  }

  private List<byte[]> build(IndexBuildPlan plan, long rows) {
    int count = plan.pieces().size();
    JavaSparkContext spark = JavaSparkContext.fromSparkContext(context());
    String before = spark.getLocalProperty("spark.job.description");
    spark.setJobDescription(
        procedure
            + " "
            + plan.name()
            + " on "
            + table.describe().name()
            + ": "
            + rows
            + " rows in "
            + count
            + (count == 1 ? " piece" : " pieces"));
    try {
      List<byte[]> pieces = plan.pieces().stream().map(IndexBuildPlan.Piece::bytes).toList();
      JavaRDD<byte[]> built = spark.parallelize(pieces, count).map(new PieceBuild(options));
      return await(spark, plan.name(), built.collectAsync(), count);
    } finally {
      spark.setLocalProperty("spark.job.description", before);
    }
  }

  private static List<byte[]> await(
      JavaSparkContext spark, String index, JavaFutureAction<List<byte[]>> job, int count) {
    while (true) {
      try {
        return job.get(REPORT_SECONDS, TimeUnit.SECONDS);
      } catch (TimeoutException e) {
        LOG.info("index {}: {} of {} pieces are built", index, completed(spark, job), count);
      } catch (InterruptedException e) {
        job.cancel(true);
        Thread.currentThread().interrupt();
        throw new IllegalStateException("building index " + index + " was interrupted", e);
      } catch (ExecutionException e) {
        throw e.getCause() instanceof RuntimeException cause
            ? cause
            : new IllegalStateException(
                "building index " + index + " failed: " + reason(e.getCause()), e.getCause());
      }
    }
  }

  /** The engine's own words where a task has them, not Spark's about the task. */
  private static String reason(Throwable failure) {
    for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
      if (cause instanceof BenoStreamException) {
        return cause.getMessage();
      }
    }
    return failure.getMessage();
  }

  private static int completed(JavaSparkContext spark, JavaFutureAction<List<byte[]>> job) {
    int completed = 0;
    for (int id : job.jobIds()) {
      int[] stages =
          spark.statusTracker().getJobInfo(id) == null
              ? new int[0]
              : spark.statusTracker().getJobInfo(id).stageIds();
      for (int stage : stages) {
        SparkStageInfo info = spark.statusTracker().getStageInfo(stage);
        completed += info == null ? 0 : info.numCompletedTasks();
      }
    }
    return completed;
  }

  private static SparkContext context() {
    return SparkSession.active().sparkContext();
  }
}
