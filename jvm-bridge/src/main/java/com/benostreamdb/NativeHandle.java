package com.benostreamdb;

import java.lang.ref.Cleaner;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Owns one native handle. Closing twice is harmless here; a handle that nobody closed is closed
 * when its owner is collected, and counted as a leak.
 */
final class NativeHandle implements AutoCloseable {
  private static final Cleaner CLEANER = Cleaner.create();
  private static final AtomicLong LEAKS = new AtomicLong();

  private final State state;
  private final Cleaner.Cleanable cleanable;
  private final String what;

  NativeHandle(Object owner, long handle, String what) {
    this(owner, new State(handle, true), what);
  }

  private NativeHandle(Object owner, State state, String what) {
    this.state = state;
    this.what = what;
    this.cleanable = CLEANER.register(owner, state);
  }

  /** A handle that is closed by the collection of its owner, which is then no leak. */
  static NativeHandle collected(Object owner, long handle, String what) {
    return new NativeHandle(owner, new State(handle, false), what);
  }

  /** Handles that were collected instead of closed. */
  static long leakCount() {
    return LEAKS.get();
  }

  long get() {
    long handle = state.handle.get();
    if (handle == 0) {
      throw BenoStreamException.invalidInput(what + " is closed");
    }
    return handle;
  }

  /** Gives the handle up to a call that consumes it. */
  long take() {
    long handle = state.handle.getAndSet(0);
    if (handle == 0) {
      throw BenoStreamException.invalidInput(what + " is closed");
    }
    cleanable.clean();
    return handle;
  }

  boolean isClosed() {
    return state.handle.get() == 0;
  }

  @Override
  public void close() {
    long handle = state.handle.getAndSet(0);
    cleanable.clean();
    if (handle != 0) {
      Native.close(handle);
    }
  }

  private static final class State implements Runnable {
    private final AtomicLong handle;
    private final boolean mustBeClosed;

    State(long handle, boolean mustBeClosed) {
      this.handle = new AtomicLong(handle);
      this.mustBeClosed = mustBeClosed;
    }

    @Override
    public void run() {
      long left = handle.getAndSet(0);
      if (left != 0) {
        if (mustBeClosed) {
          LEAKS.incrementAndGet();
        }
        Native.close(left);
      }
    }
  }
}
