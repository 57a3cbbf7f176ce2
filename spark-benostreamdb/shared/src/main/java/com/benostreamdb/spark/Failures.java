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
}
