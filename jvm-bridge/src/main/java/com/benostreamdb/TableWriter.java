package com.benostreamdb;

import com.benostreamdb.arrow.ArrowBatchBuilder;
import java.lang.ref.Reference;
import java.nio.charset.StandardCharsets;

/**
 * Writes rows and position deletes of one task. Ends with {@link #finish}, whose bytes go to {@link
 * Table#commit}, or with {@link #abort}; closing an unfinished writer aborts it. One thread.
 */
public final class TableWriter implements AutoCloseable {
  private final NativeHandle handle;

  private TableWriter(long handle) {
    this.handle = new NativeHandle(this, handle, "table writer");
  }

  /** Begins to write, in any process, what {@link Table#writeSpec} describes. */
  public static TableWriter open(Session session, byte[] writeSpec) {
    try {
      return new TableWriter(Native.beginWrite(session.handle(), writeSpec));
    } finally {
      Reference.reachabilityFence(session);
    }
  }

  /** Writes the rows of a batch; its memory may be reused afterwards. */
  public void write(ArrowBatchBuilder batch) {
    long writer = handle.get();
    batch.export(
        Native.noRelease(),
        (array, schema) -> {
          Native.append(writer, array, schema);
          return 0;
        });
  }

  /** Deletes rows of a data file by position; only the first {@code count} positions count. */
  public void delete(String file, long[] positions, int count) {
    Native.deletePositions(handle.get(), file.getBytes(StandardCharsets.UTF_8), positions, count);
  }

  /** Ends writing; the answer is serializable. The files are not visible until the commit. */
  public byte[] finish() {
    return Native.finishWrite(handle.take());
  }

  /** Deletes what was written. Harmless after the end. */
  public void abort() {
    if (!handle.isClosed()) {
      Native.abortWrite(handle.take());
    }
  }

  @Override
  public void close() {
    abort();
  }
}
