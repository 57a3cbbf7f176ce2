package com.benostreamdb.spark;

import com.benostreamdb.BenoStreamException;
import com.benostreamdb.Column;
import com.benostreamdb.Table;
import com.benostreamdb.TableName;
import com.benostreamdb.TableWriter;
import com.benostreamdb.arrow.ArrowField;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.util.TaskCompletionListener;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What a task needs to write: the table and the engine's specification, the schema of Spark's rows,
 * the table's columns in the same order, and the session's options.
 */
record WriteTask(
    TableName table,
    byte[] specification,
    StructType schema,
    ArrayList<ArrowField> fields,
    TreeMap<String, String> options)
    implements Serializable {

  private static final Logger LOG = LoggerFactory.getLogger(WriteTask.class);

  static WriteTask of(
      Table target,
      String jobId,
      StructType schema,
      List<Column> columns,
      Map<String, String> options) {
    return new WriteTask(
        target.describe().name(),
        target.writeSpec(jobId),
        schema,
        new ArrayList<>(ArrowField.of(columns)),
        new TreeMap<>(options));
  }

  TableWriter openWriter() {
    return TableWriter.open(Sessions.get(options), specification);
  }

  RowBatcher openBatcher(TableWriter writer) {
    return new RowBatcher(writer, schema, fields);
  }

  /**
   * Ends writing. A task that is killed or fails after this point is one whose message nobody gets:
   * it deletes what it wrote.
   */
  Written finish(TableWriter writer) {
    TaskContext running = TaskContext.get();
    running.killTaskIfInterrupted();
    Written written = new Written(writer.finish());
    TaskCompletionListener deletion =
        ended -> {
          if (ended.isInterrupted() || ended.isFailed()) {
            delete(written);
          }
        };
    running.addTaskCompletionListener(deletion);
    return written;
  }

  private void delete(Written written) {
    try (Table target = Sessions.get(options).openTable(table)) {
      target.abort(List.of(written.message()));
    } catch (BenoStreamException e) {
      LOG.warn("files of a task of {} that was killed or failed are left behind", table, e);
    }
  }

  /** Spark logs writes by their text: the options may hold credentials. */
  @Override
  public String toString() {
    return "write task of " + fields.size() + " columns";
  }

  /** What a task wrote, for the commit. No record: Kryo, if a session uses it, cannot fill one. */
  static final class Written implements WriterCommitMessage {
    private static final long serialVersionUID = 1L;

    private final byte[] message;

    Written(byte[] message) {
      this.message = message;
    }

    byte[] message() {
      return message;
    }
  }
}
