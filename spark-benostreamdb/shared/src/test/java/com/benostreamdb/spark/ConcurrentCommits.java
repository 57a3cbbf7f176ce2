package com.benostreamdb.spark;

import static com.benostreamdb.spark.SparkFixture.spark;
import static com.benostreamdb.spark.SparkFixture.sql;

import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.apache.spark.sql.api.java.UDF1;
import org.apache.spark.sql.types.DataTypes;

/** Commits to a table while a statement on it runs: a function in the statement does it. */
final class ConcurrentCommits {
  /** True; the first row that asks makes somebody else commit. */
  static final String CONDITION = "commit_meanwhile(id)";

  private static final AtomicReference<Runnable> MEANWHILE = new AtomicReference<>();

  private ConcurrentCommits() {}

  /**
   * Runs a statement with {@link #CONDITION} over its column {@code id} in it; the outcome is an
   * error or null.
   */
  static void duringStatement(String table, String statement, Consumer<Throwable> outcome) {
    UDF1<Integer, Boolean> commit =
        id -> {
          Runnable meanwhile = MEANWHILE.getAndSet(null);
          if (meanwhile != null) {
            meanwhile.run();
          }
          return true;
        };
    spark()
        .udf()
        .register(
            "commit_meanwhile", org.apache.spark.sql.functions.udf(commit, DataTypes.BooleanType));
    MEANWHILE.set(
        () -> inAnotherThread(() -> sql("INSERT INTO bs.%s VALUES (99, 'other', null)", table)));
    Throwable error = null;
    try {
      spark().sql(statement);
    } catch (Exception e) {
      error = e;
    }
    outcome.accept(error);
  }

  /** A task's own thread must not submit jobs. */
  private static void inAnotherThread(Runnable body) {
    Thread thread = new Thread(body, "other-writer");
    thread.start();
    try {
      thread.join();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }
}
