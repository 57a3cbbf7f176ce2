package com.benostreamdb.spark;

import com.benostreamdb.BenoStreamException;
import com.benostreamdb.Session;
import java.util.TreeMap;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
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

  PieceBuild(TreeMap<String, String> options) {
    this.options = options;
  }

  @Override
  public byte[] call(byte[] piece) {
    TaskContext task = TaskContext.get();
    ScheduledExecutorService watch =
        Executors.newSingleThreadScheduledExecutor(
            body -> {
              Thread thread = new Thread(body, "benostream-index-watch");
              thread.setDaemon(true);
              return thread;
            });
    try (Session session = Session.open(options)) {
      watch.scheduleWithFixedDelay(
          () -> cancelIfKilled(task, session), POLL_MS, POLL_MS, TimeUnit.MILLISECONDS);
      return session.buildIndexPiece(piece);
    } catch (BenoStreamException e) {
      if (e.kind() == BenoStreamException.Kind.CANCELLED) {
        task.killTaskIfInterrupted();
      }
      throw e;
    } finally {
      watch.shutdownNow();
    }
  }

  private static void cancelIfKilled(TaskContext task, Session session) {
    if (task.isInterrupted()) {
      session.cancel();
    }
  }
}
