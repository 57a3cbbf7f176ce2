package com.benostreamdb.spark;

import com.benostreamdb.BenoStreamException;
import com.benostreamdb.BenoStreamException.Kind;
import com.benostreamdb.CommitRequest;
import com.benostreamdb.Table;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import org.apache.spark.sql.connector.write.WriterCommitMessage;

/**
 * Ends a write job on the driver: one commit, or the removal of what its tasks wrote. After a
 * commit whose outcome is unknown nothing is removed, because it may be visible.
 */
final class JobCommit {
  private final Table table;
  private boolean outcomeUnknown;

  JobCommit(Table table) {
    this.table = table;
  }

  void commit(WriterCommitMessage[] messages, Function<List<byte[]>, CommitRequest> request) {
    try {
      table.commit(request.apply(bytes(messages)));
    } catch (BenoStreamException e) {
      outcomeUnknown = e.kind() == Kind.COMMIT_UNKNOWN;
      throw e;
    }
  }

  void abort(WriterCommitMessage[] messages) {
    if (!outcomeUnknown) {
      table.abort(bytes(messages));
    }
  }

  /** Tasks that did not finish have no message. */
  private static List<byte[]> bytes(WriterCommitMessage[] messages) {
    List<byte[]> result = new ArrayList<>(messages.length);
    for (WriterCommitMessage message : messages) {
      if (message instanceof WriteTask.Written written) {
        result.add(written.message());
      }
    }
    return result;
  }
}
