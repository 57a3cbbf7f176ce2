package com.benostreamdb;

import com.benostreamdb.BenoStreamException.Kind;
import com.benostreamdb.arrow.ArrowBatch;
import com.benostreamdb.arrow.ArrowField;
import com.benostreamdb.arrow.ArrowSchemaReader;
import com.benostreamdb.memory.NativeMemory;
import java.lang.ref.Reference;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;

/**
 * Reads one split, batch by batch. {@link #next} belongs to one thread; {@link #cancel} and {@link
 * #close} may come from any, also while {@code next} waits.
 */
public final class SplitReader implements AutoCloseable {
  private static final int ARRAY_SIZE = 80;
  private static final int SCHEMA_SIZE = 72;
  private static final long SLICE_MS = 100;

  /** Where memory for batches is accounted, for example the task of an engine. */
  public interface MemoryGrant {
    /** Reserves so many bytes, or throws. */
    void acquire(long bytes);

    /** Gives reserved bytes back. */
    void release(long bytes);

    /** Accounts nothing. */
    MemoryGrant UNLIMITED =
        new MemoryGrant() {
          @Override
          public void acquire(long bytes) {}

          @Override
          public void release(long bytes) {}
        };
  }

  private final NativeHandle handle;
  private final MemoryGrant memory;
  private final ReentrantLock batchLock = new ReentrantLock();
  private final List<ArrowField> fields;
  private final ArrowBatch batch;
  private long array;
  private boolean filled;
  private long acquired;

  private SplitReader(long handle, MemoryGrant memory) {
    this.handle = new NativeHandle(this, handle, "split reader");
    this.memory = memory;
    try {
      this.fields = readFields(handle);
      this.batch = new ArrowBatch(fields);
    } catch (RuntimeException e) {
      this.handle.close();
      throw e;
    }
    this.array = NativeMemory.allocateZeroed(ARRAY_SIZE);
  }

  /** Opens a split without memory accounting. */
  public static SplitReader open(Session session, byte[] split) {
    return open(session, split, -1, MemoryGrant.UNLIMITED);
  }

  /** Opens a split whose batches are accounted. */
  public static SplitReader open(Session session, byte[] split, MemoryGrant memory) {
    return open(session, split, 0, memory);
  }

  private static SplitReader open(Session session, byte[] split, long granted, MemoryGrant memory) {
    try {
      return new SplitReader(Native.openSplit(session.handle(), split, granted), memory);
    } finally {
      Reference.reachabilityFence(session);
    }
  }

  private static List<ArrowField> readFields(long handle) {
    long schema = NativeMemory.allocateZeroed(SCHEMA_SIZE);
    try {
      Native.readerSchema(handle, schema);
      try {
        return ArrowSchemaReader.fields(schema);
      } finally {
        Native.releaseSchema(schema);
      }
    } finally {
      NativeMemory.free(schema, SCHEMA_SIZE);
    }
  }

  /** The columns of every batch. */
  public List<ArrowField> fields() {
    return fields;
  }

  /**
   * The next batch, or null at the end. Waits until there is one; an interrupt or {@link #cancel}
   * ends the wait with kind CANCELLED. The batch is valid until the next call or the close.
   */
  public ArrowBatch next() {
    return next(() -> false);
  }

  /**
   * As {@link #next()}; ends with kind CANCELLED also when {@code stop}, asked in each slice, says
   * so.
   */
  public ArrowBatch next(BooleanSupplier stop) {
    while (true) {
      batchLock.lock();
      try {
        long status = step();
        if (status == Native.BATCH) {
          return batch;
        } else if (status == Native.END) {
          return null;
        }
      } finally {
        batchLock.unlock();
      }
      if (Thread.currentThread().isInterrupted() || stop.getAsBoolean()) {
        throw new BenoStreamException(Kind.CANCELLED, "reading was interrupted");
      }
    }
  }

  private long step() {
    releaseBatch();
    long open = handle.get();
    long status = Native.nextBatch(open, array, SLICE_MS);
    if (status < 0) {
      memory.acquire(-status);
      acquired -= status;
      Native.grant(open, -status);
    } else if (status == Native.BATCH) {
      filled = true;
      batch.point(array);
    }
    return status;
  }

  private void releaseBatch() {
    if (filled) {
      filled = false;
      Native.releaseArray(array);
    }
  }

  /** Stops reading: a waiting or later {@link #next} ends with kind CANCELLED. */
  public void cancel() {
    Native.cancel(handle.get());
  }

  /** Frees the current batch and the reader; a running {@link #next} is cancelled first. */
  @Override
  public void close() {
    if (!batchLock.tryLock()) {
      handle.close();
      batchLock.lock();
    }
    try {
      handle.close();
      releaseBatch();
      if (array != 0) {
        NativeMemory.free(array, ARRAY_SIZE);
        array = 0;
        memory.release(acquired);
        acquired = 0;
      }
    } finally {
      batchLock.unlock();
    }
  }
}
