package com.benostreamdb.spark;

import com.benostreamdb.BenoStreamException;
import com.benostreamdb.BenoStreamException.Kind;

/** Errors that this connector finds itself, of the same kinds as the engine's. */
final class Failures {
  private Failures() {}

  static BenoStreamException invalidInput(String message) {
    return new BenoStreamException(Kind.INVALID_INPUT, message);
  }

  static BenoStreamException unsupported(String message) {
    return new BenoStreamException(Kind.UNSUPPORTED, message);
  }

  static BenoStreamException notFound(String message) {
    return new BenoStreamException(Kind.NOT_FOUND, message);
  }

  static BenoStreamException internal(String message) {
    return new BenoStreamException(Kind.INTERNAL, message);
  }

  /** What Spark asks for on the driver. */
  interface DriverCall<T> {
    T run() throws Exception;
  }

  /**
   * Runs what Spark asks for while it analyses, plans or calls: our errors leave as errors of
   * analysis. A broken assumption stays what it is, because its stack trace is wanted.
   */
  static <T> T analyzed(DriverCall<T> call) {
    try {
      return call.run();
    } catch (BenoStreamException e) {
      throw e.kind() == Kind.INTERNAL
          ? e
          : Failures.<RuntimeException>unchecked(new BenoStreamAnalysisException(e));
    } catch (Exception e) {
      throw Failures.<RuntimeException>unchecked(e);
    }
  }

  /** Spark's errors of analysis are checked, its interfaces mostly do not declare them. */
  @SuppressWarnings({"unchecked", "TypeParameterUnusedInFormals"})
  private static <E extends Exception> RuntimeException unchecked(Exception e) throws E {
    throw (E) e;
  }
}
