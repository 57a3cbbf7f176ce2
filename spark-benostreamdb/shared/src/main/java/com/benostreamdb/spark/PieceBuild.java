package com.benostreamdb.spark;

import com.benostreamdb.BenoStreamException;
import com.benostreamdb.Session;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.function.Function;

/**
 * Builds one piece of an index in a task. It has a session of its own, so that a killed task stops
 * its build and nobody else's.
 */
final class PieceBuild implements Function<byte[], byte[]> {
  private static final long serialVersionUID = 1L;
  private static final long POLL_MS = 100;

  private final TreeMap<String, String> options;

  PieceBuild(Map<String, String> options) {
    this.options = new TreeMap<>(options);
  }

  @Override
  public byte[] call(byte[] piece) {
    TaskContext task = TaskContext.get();
    try (Session session = Session.open(options)) {
      Thread watch = new Thread(() -> cancelWhenKilled(task, session), "benostream-index-watch");
      watch.setDaemon(true);
      watch.start();
      try {
        return session.buildIndexPiece(piece);
      } finally {
        watch.interrupt();
      }
    } catch (BenoStreamException e) {
      if (e.kind() == BenoStreamException.Kind.CANCELLED) {
        task.killTaskIfInterrupted();
      }
      throw e;
    }
  }

  private static void cancelWhenKilled(TaskContext task, Session session) {
    try {
      while (!task.isInterrupted()) {
        Thread.sleep(POLL_MS);
      }
      session.cancel();
    } catch (InterruptedException built) {
      Thread.currentThread().interrupt();
    }
  }
}
