package com.benostreamdb;

/** The one exception of the bridge: a kind that says what to do, a text that names the thing. */
public final class BenoStreamException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** What the caller should do. The order is the code across the ABI: 1 to 12. */
  public enum Kind {
    /** The request is wrong and must be changed. */
    INVALID_INPUT,
    /** The named thing does not exist. */
    NOT_FOUND,
    /** The named thing exists already. */
    ALREADY_EXISTS,
    /** Somebody else committed first; plan again on the new state. */
    CONFLICT,
    /** It is unknown whether the commit landed; nothing may be deleted. */
    COMMIT_UNKNOWN,
    /** The store or the policy refuses. */
    PERMISSION_DENIED,
    /** Not supported, and not silently ignored. */
    UNSUPPORTED,
    /** A store or service did not answer; trying again may help. */
    UNAVAILABLE,
    /** A limit would be exceeded. */
    RESOURCE_EXHAUSTED,
    /** The caller cancelled. */
    CANCELLED,
    /** Stored bytes are damaged. */
    CORRUPT,
    /** A broken assumption of the engine. */
    INTERNAL;

    private static final Kind[] BY_CODE = values();

    /** The code of this kind across the ABI. */
    public int code() {
      return ordinal() + 1;
    }

    static Kind of(int code) {
      return code >= 1 && code <= BY_CODE.length ? BY_CODE[code - 1] : INTERNAL;
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
