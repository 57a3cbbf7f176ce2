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
    this.state = new State(handle);
    this.what = what;
    this.cleanable = CLEANER.register(owner, state);
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

    State(long handle) {
      this.handle = new AtomicLong(handle);
    }

    @Override
    public void run() {
      long left = handle.getAndSet(0);
      if (left != 0) {
        LEAKS.incrementAndGet();
        Native.close(left);
      }
    }
  }
}
