package com.benostreamdb.spark;

import com.benostreamdb.Column;
import com.benostreamdb.CommitRequest;
import com.benostreamdb.Table;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalLong;
import org.apache.spark.sql.connector.distributions.Distribution;
import org.apache.spark.sql.connector.distributions.Distributions;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.Expressions;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.SortOrder;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.write.DeltaBatchWrite;
import org.apache.spark.sql.connector.write.DeltaWrite;
import org.apache.spark.sql.connector.write.DeltaWriteBuilder;
import org.apache.spark.sql.connector.write.DeltaWriterFactory;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.PhysicalWriteInfo;
import org.apache.spark.sql.connector.write.RequiresDistributionAndOrdering;
import org.apache.spark.sql.connector.write.RowLevelOperationInfo;
import org.apache.spark.sql.connector.write.SupportsDelta;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * DELETE, UPDATE or MERGE as position deletes and new rows. The scan and the commit share one
 * snapshot: the commit fails if somebody else published since.
 */
final class DeltaOperation implements SupportsDelta {
  private final BenoStreamTable table;
  private final RowLevelOperationInfo info;
  private Table base;

  DeltaOperation(BenoStreamTable table, RowLevelOperationInfo info) {
    if (info.command() != Command.DELETE) {
      table.requireRowsWritable();
      ColumnNames.requireDistinct(table.description());
    }
    this.table = table;
    this.info = info;
  }

  /** The snapshot of the scan; a condition that folds to false has none. */
  private Table base() {
    if (base == null) {
      base = table.snapshot();
    }
    return base;
  }

  @Override
  public Command command() {
    return info.command();
  }

  @Override
  public String description() {
    return "benostream " + table.name() + " " + info.command().toString();
  }

  @Override
  public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
    return Failures.analyzed(
        () -> BenoStreamScanBuilder.ofChange(table, base(), ReadOptions.of(options)));
  }

  @Override
  public NamedReference[] rowId() {
    return new NamedReference[] {
      Expressions.column(MetadataColumns.FILE), Expressions.column(MetadataColumns.POSITION)
    };
  }

  @Override
  public NamedReference[] requiredMetadataAttributes() {
    return new NamedReference[0];
  }

  @Override
  public boolean representUpdateAsDeleteAndInsert() {
    // Spark cannot split the rows of an UPDATE that names metadata columns.
    return info.command() != Command.UPDATE;
  }

  @Override
  public DeltaWriteBuilder newWriteBuilder(LogicalWriteInfo writeInfo) {
    return new DeltaWriteBuilder() {
      @Override
      public DeltaWrite build() {
        return Failures.analyzed(
            () -> {
              Table target = base();
              List<Column> columns =
                  writeInfo.schema().isEmpty() ? List.of() : target.describe().columns();
              WriteTask task =
                  WriteTask.of(
                      target,
                      writeInfo.queryId(),
                      rows(writeInfo.schema(), columns),
                      columns,
                      table.options());
              return new Delta(
                  DeltaOperation.this.description(),
                  task,
                  new JobCommit(target),
                  target.describe().snapshotId(),
                  info.command() == Command.MERGE);
            });
      }
    };
  }

  /** The schema of new rows without the metadata columns that Spark leaves behind the table's. */
  private StructType rows(StructType schema, List<Column> columns) {
    StructField[] fields = schema.fields();
    int kept = fields.length;
    while (kept > columns.size()
        && MetadataColumns.find(table.description(), fields[kept - 1].name()).isPresent()) {
      kept--;
    }
    return new StructType(Arrays.copyOf(fields, kept));
  }

  private record Delta(
      String description,
      WriteTask task,
      JobCommit job,
      OptionalLong baseSnapshotId,
      boolean clusterByFile)
      implements DeltaWrite, DeltaBatchWrite, RequiresDistributionAndOrdering {

    /** A join scatters the rows of a file; gathered again they need one delete file. */
    @Override
    public Distribution requiredDistribution() {
      return clusterByFile
          ? Distributions.clustered(new Expression[] {Expressions.column(MetadataColumns.FILE)})
          : Distributions.unspecified();
    }

    @Override
    public boolean distributionStrictlyRequired() {
      return false;
    }

    @Override
    public SortOrder[] requiredOrdering() {
      return new SortOrder[0];
    }

    @Override
    public String toString() {
      return description;
    }

    @Override
    public DeltaBatchWrite toBatch() {
      return this;
    }

    @Override
    public DeltaWriterFactory createBatchWriterFactory(PhysicalWriteInfo physical) {
      return DeltaDataWriter.factory(task);
    }

    @Override
    public void commit(WriterCommitMessage[] messages) {
      job.commit(messages, bytes -> CommitRequest.rowDelta(bytes, baseSnapshotId));
    }

    @Override
    public void abort(WriterCommitMessage[] messages) {
      job.abort(messages);
    }
  }
}
