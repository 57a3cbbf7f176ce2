package com.benostreamdb.spark;

import com.benostreamdb.Column;
import com.benostreamdb.TableWriter;
import com.benostreamdb.arrow.ArrowField;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.types.StructType;

/**
 * What a task needs to write: the engine's specification, the schema of Spark's rows, the table's
 * columns in the same order, and the session's options.
 */
record WriteTask(
    byte[] specification,
    StructType schema,
    ArrayList<ArrowField> fields,
    TreeMap<String, String> options)
    implements Serializable {

  static WriteTask of(
      byte[] specification, StructType schema, List<Column> columns, Map<String, String> options) {
    return new WriteTask(
        specification, schema, new ArrayList<>(ArrowField.of(columns)), new TreeMap<>(options));
  }

  TableWriter openWriter() {
    return TableWriter.open(Sessions.get(options), specification);
  }

  RowBatcher openBatcher(TableWriter writer) {
    return new RowBatcher(writer, schema, fields);
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
