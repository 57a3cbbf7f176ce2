package com.benostreamdb;

/** The one exception of the bridge: a kind that says what to do, a text that names the thing. */
public final class BenoStreamException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** What the caller should do. */
  public enum Kind {
    /** The request is wrong and must be changed. */
    INVALID_INPUT(1),
    /** The named thing does not exist. */
    NOT_FOUND(2),
    /** The named thing exists already. */
    ALREADY_EXISTS(3),
    /** Somebody else committed first; plan again on the new state. */
    CONFLICT(4),
    /** It is unknown whether the commit landed; nothing may be deleted. */
    COMMIT_UNKNOWN(5),
    /** The store or the policy refuses. */
    PERMISSION_DENIED(6),
    /** Not supported, and not silently ignored. */
    UNSUPPORTED(7),
    /** A store or service did not answer; trying again may help. */
    UNAVAILABLE(8),
    /** A limit would be exceeded. */
    RESOURCE_EXHAUSTED(9),
    /** The caller cancelled. */
    CANCELLED(10),
    /** Stored bytes are damaged. */
    CORRUPT(11),
    /** A broken assumption of the engine. */
    INTERNAL(12);

    private final int code;

    Kind(int code) {
      this.code = code;
    }

    /** The code of this kind across the ABI. */
    public int code() {
      return code;
    }

    static Kind of(int code) {
      for (Kind kind : values()) {
        if (kind.code == code) {
          return kind;
        }
      }
      return INTERNAL;
    }
  }

  private final Kind kind;
  private final boolean retryable;

  /** Called by native code: keep the signature. */
  BenoStreamException(int code, boolean retryable, String message) {
    super(message);
    this.kind = Kind.of(code);
    this.retryable = retryable;
  }

  /** An error that the Java side found. */
  public BenoStreamException(Kind kind, String message) {
    this(kind.code(), kind == Kind.UNAVAILABLE, message);
  }

  /** An error that the Java side found, and what caused it. */
  public BenoStreamException(Kind kind, String message, Throwable cause) {
    super(message, cause);
    this.kind = kind;
    this.retryable = kind == Kind.UNAVAILABLE;
  }

  /** What the caller should do. */
  public Kind kind() {
    return kind;
  }

  /** Whether the same call may succeed later without change. */
  public boolean retryable() {
    return retryable;
  }

  static BenoStreamException invalidInput(String message) {
    return new BenoStreamException(Kind.INVALID_INPUT, message);
  }
}
