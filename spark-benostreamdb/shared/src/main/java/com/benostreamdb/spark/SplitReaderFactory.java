package com.benostreamdb.spark;

import com.benostreamdb.SplitReader;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/** Opens splits on executors, in the executor's own session. */
final class SplitReaderFactory implements PartitionReaderFactory {
  private static final long serialVersionUID = 1L;

  private final TreeMap<String, String> options;
  private final StructType schema;

  SplitReaderFactory(Map<String, String> options, StructType schema) {
    this.options = new TreeMap<>(options);
    this.schema = schema;
  }

  @Override
  public boolean supportColumnarReads(InputPartition partition) {
    return true;
  }

  @Override
  public PartitionReader<InternalRow> createReader(InputPartition partition) {
    throw Failures.internal("splits are read in columns");
  }

  @Override
  public PartitionReader<ColumnarBatch> createColumnarReader(InputPartition partition) {
    byte[] split = ((BenoStreamScan.SplitPartition) partition).split();
    return new ColumnarReader(SplitReader.open(Sessions.get(options), split), schema);
  }
}
