package com.benostreamdb.spark;

import com.benostreamdb.BenoStreamException;
import com.benostreamdb.BenoStreamException.Kind;
import org.apache.spark.QueryContext;
import org.apache.spark.sql.AnalysisException;
import scala.Option;
import scala.Some;
import scala.collection.immutable.Map;

/**
 * An error of the connector or the engine while Spark analyses, plans or calls on the driver: Spark
 * shows its sentence without a stack trace, PySpark raises its own AnalysisException.
 */
public final class BenoStreamAnalysisException extends AnalysisException {
  private static final long serialVersionUID = 1L;

  /** Spark's condition whose template is the message alone; Spark loads no conditions of others. */
  private static final String CONDITION = "_LEGACY_ERROR_TEMP_1332";

  private final Kind kind;

  BenoStreamAnalysisException(BenoStreamException error) {
    this(
        error.kind(),
        error.getMessage(),
        Option.empty(),
        Option.empty(),
        new Map.Map1<>("errorMessage", error.getMessage()),
        new QueryContext[0]);
    setStackTrace(error.getStackTrace());
    // Spark's command line prints the stack of every error that has a cause.
    addSuppressed(error);
  }

  private BenoStreamAnalysisException(
      Kind kind,
      String message,
      Option<Object> line,
      Option<Object> position,
      Map<String, String> parameters,
      QueryContext[] context) {
    super(message, line, position, Option.empty(), new Some<>(CONDITION), parameters, context);
    this.kind = kind;
  }

  /** What the caller should do. */
  public Kind kind() {
    return kind;
  }

  @Override
  public String getSqlState() {
    return switch (kind) {
      case INVALID_INPUT -> "22023";
      case NOT_FOUND -> "42704";
      case ALREADY_EXISTS -> "42710";
      case CONFLICT -> "40001";
      case COMMIT_UNKNOWN -> "40003";
      case PERMISSION_DENIED -> "42501";
      case UNSUPPORTED -> "0A000";
      case UNAVAILABLE -> "08006";
      case RESOURCE_EXHAUSTED -> "54000";
      case CANCELLED -> "57014";
      case CORRUPT -> "XX001";
      case INTERNAL -> "XX000";
    };
  }

  /** Spark copies an error when it adds the place in the statement. */
  @Override
  public AnalysisException copy(
      String message,
      Option<Object> line,
      Option<Object> startPosition,
      Option<Throwable> cause,
      Option<String> errorClass,
      Map<String, String> messageParameters,
      QueryContext[] context) {
    BenoStreamAnalysisException copy =
        new BenoStreamAnalysisException(
            kind, message, line, startPosition, messageParameters, context);
    for (Throwable suppressed : getSuppressed()) {
      copy.addSuppressed(suppressed);
    }
    return copy;
  }
}
