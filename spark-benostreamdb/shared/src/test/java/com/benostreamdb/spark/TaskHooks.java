package com.benostreamdb.spark;

import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.apache.spark.TaskContext;
import org.apache.spark.api.plugin.DriverPlugin;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.PluginContext;
import org.apache.spark.api.plugin.SparkPlugin;

/** Runs a test's code in the thread of each task before its work, and counts the ends. */
public final class TaskHooks implements SparkPlugin {
  private static final AtomicInteger SUCCEEDED = new AtomicInteger();
  private static volatile Consumer<TaskContext> start = task -> {};

  /** Until the result is closed. */
  static AutoCloseable atStart(Consumer<TaskContext> hook) {
    SUCCEEDED.set(0);
    start = hook;
    return () -> start = task -> {};
  }

  /** Tasks that succeeded since the hook was set. */
  static int succeeded() {
    return SUCCEEDED.get();
  }

  @Override
  public DriverPlugin driverPlugin() {
    return null;
  }

  @Override
  public ExecutorPlugin executorPlugin() {
    return new ExecutorPlugin() {
      @Override
      public void init(PluginContext context, Map<String, String> configuration) {}

      @Override
      public void onTaskStart() {
        start.accept(TaskContext.get());
      }

      @Override
      public void onTaskSucceeded() {
        SUCCEEDED.incrementAndGet();
      }
    };
  }
}
